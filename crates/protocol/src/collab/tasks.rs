//! Task records: out of a task, and into the commands that make or change one.

use super::document::{StateFile, problem_at};
use super::references::{REFERENCES, References};
use super::{Problem, large_integer, seconds};
use crate::plan::kept;
use comity_core::command::{ClaimWish, Command, ImportedTask, NewTask};
use comity_core::event::{TaskLinked, TaskUpdated};
use comity_core::ids::{AgentId, TaskId};
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::view::TaskView;
use serde_json::{Map, Value, json};

/// The entry of a task's context where keys are kept that comity has no field for.
pub const EXTRAS: &str = "collab";

/// Returns the record of a task, in the order in which `create_task` writes one.
pub fn task_record(task: &TaskView) -> Map<String, Value> {
    let empty = Map::new();
    let extras = task.context.get(EXTRAS).and_then(Value::as_object).unwrap_or(&empty);
    let dod: Vec<&str> = task.dod.iter().map(|item| item.text.as_str()).collect();
    let told = |key: &str| extras.get(key).and_then(Value::as_str).map(str::to_owned);
    // When it was changed elsewhere counts until something happens to it here.
    let updated = told("updated_at").filter(|_| task.updated_at == task.created_at);
    let needs =
        task.needs.clone().or_else(|| told("needs").filter(|_| task.status != Status::Blocked));
    let mut record = Map::new();
    let mut put = |key: &str, value: Value| record.insert(key.to_owned(), value);
    put("id", json!(task.id));
    put("title", json!(task.title));
    put("description", json!(task.description));
    put("status", json!(task.status));
    put("assignee", json!(task.assignee));
    put("priority", priority_word(task, extras));
    put("labels", json!(task.labels));
    put("dependencies", json!(task.dependencies));
    put("blockers", json!(task.blockers));
    put("branch", json!(task.branch));
    put("created_at", json!(told("created_at").unwrap_or_else(|| seconds(task.created_at))));
    put("updated_at", json!(updated.unwrap_or_else(|| seconds(task.updated_at))));
    put("dod", json!(dod));
    put("needs", json!(needs));
    let references = References::shown(&task.external_ids, extras.get(REFERENCES));
    references.map(|references| put(REFERENCES, references));
    for (key, value) in extras {
        record.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    record
}

/// The same as a file has it: a state that was kept back here stays as it was written there.
pub fn file_record(task: &TaskView) -> Map<String, Value> {
    let Some(status) = kept(task) else { return task_record(task) };
    task_record(&TaskView { status, needs: None, ..task.clone() })
}

/// The word that somebody gave, as long as it still says what the priority is.
fn priority_word(task: &TaskView, extras: &Map<String, Value>) -> Value {
    match extras.get("priority") {
        Some(word) if priority(word.as_str()).to_string() == task.priority => word.clone(),
        _ => json!(task.priority),
    }
}

/// None and a word that is not known count as the default.
fn priority(word: Option<&str>) -> Priority {
    word.and_then(|word| Priority::parse(word).ok()).unwrap_or(Priority::DEFAULT)
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    title: Option<String>,
    description: Option<String>,
    pub status: Option<Status>,
    assignee: Option<Option<AgentId>>,
    /// None for null, which counts as the default.
    priority: Option<Option<String>>,
    labels: Option<Vec<String>>,
    dependencies: Option<Vec<String>>,
    blockers: Option<Vec<String>>,
    branch: Option<String>,
    dod: Option<Vec<String>>,
    /// Empty for nothing.
    needs: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    references: Option<References>,
    extras: Map<String, Value>,
    gone: Vec<String>,
}

pub(super) type Read<T> = Result<T, (&'static str, String)>;

fn text(key: &'static str, value: &Value) -> Read<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if large_integer(value).is_none() => Ok(Some(text.clone())),
        _ => Err((key, "must be a text".to_owned())),
    }
}

pub(super) fn texts(key: &'static str, value: &Value) -> Read<Vec<String>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err((key, "must be a list of texts".to_owned())),
    };
    let mut out: Vec<String> = Vec::new();
    for item in list {
        let item = item.as_str().filter(|_| large_integer(item).is_none());
        let item = item.ok_or_else(|| (key, "must be a list of texts".to_owned()))?;
        // Said twice is said once.
        if !out.iter().any(|known| known == item) {
            out.push(item.to_owned());
        }
    }
    Ok(out)
}

/// Tells whether comity has a field for a key; what it has none for becomes an extra.
fn has_field(key: &str) -> bool {
    let mut patch = Patch::default();
    // A field may refuse null, and is one all the same.
    let _ = patch.set(key, &Value::Null);
    patch.extras.is_empty()
}

impl Patch {
    pub fn read(record: &Map<String, Value>) -> Result<Patch, Vec<(String, String)>> {
        let mut patch = Patch::default();
        let mut problems = Vec::new();
        for (key, value) in record {
            if let Err((key, message)) = patch.set(key, value) {
                problems.push((key.to_owned(), message));
            }
        }
        if problems.is_empty() { Ok(patch) } else { Err(problems) }
    }

    pub fn to(status: Status) -> Patch {
        Patch { status: Some(status), ..Patch::default() }
    }

    /// Says what a task is called elsewhere, beside what is known of that already.
    pub fn reference(task: &TaskView, provider: &str, key: &str, value: &Value) -> Patch {
        let shown = task_record(task).shift_remove(REFERENCES);
        let mut all = shown.and_then(|all| all.as_object().cloned()).unwrap_or_default();
        let slot = all.entry(provider).or_insert_with(|| json!({}));
        if let Value::Object(keys) = slot {
            keys.insert(key.to_owned(), value.clone());
        }
        let references = References::read(&Value::Object(all)).ok();
        Patch { references, ..Patch::default() }
    }

    pub fn read_at(
        record: &Map<String, Value>,
        n: usize,
        text: &str,
    ) -> Result<Patch, Vec<Problem>> {
        let place =
            |(key, message): (String, String)| problem_at(StateFile::Tasks, text, n, &key, message);
        Patch::read(record).map_err(|problems| problems.into_iter().map(place).collect())
    }

    /// Reads a record of a task that is new: it has an id and a title.
    pub fn read_new_at(
        record: &Map<String, Value>,
        n: usize,
        text: &str,
    ) -> Result<Patch, Vec<Problem>> {
        let patch = Patch::read_at(record, n, text)?;
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
        let wrong = |key: &str, message: String| {
            Err(vec![problem_at(StateFile::Tasks, text, n, key, message)])
        };
        match TaskId::parse(id) {
            Err(refusal) => wrong("id", refusal.message),
            Ok(_) if patch.title.is_none() => wrong("title", format!("{id} has no title")),
            Ok(_) => Ok(patch),
        }
    }

    fn set(&mut self, key: &str, value: &Value) -> Read<()> {
        match key {
            "id" => {}
            "title" => {
                let title = text("title", value)?.filter(|title| !title.trim().is_empty());
                self.title = Some(title.ok_or_else(|| ("title", "the title is empty".to_owned()))?);
            }
            "description" => {
                self.description = Some(text("description", value)?.unwrap_or_default());
            }
            "status" => {
                let word = text("status", value)?.unwrap_or_default();
                let known = Status::ALL.into_iter().find(|status| status.as_str() == word);
                self.status = Some(known.ok_or_else(|| ("status", "Invalid status".to_owned()))?);
            }
            "assignee" => {
                let agent = text("assignee", value)?.filter(|agent| !agent.is_empty());
                let parsed = agent.map(|agent| AgentId::parse(&agent)).transpose();
                self.assignee = Some(parsed.map_err(|refusal| ("assignee", refusal.message))?);
            }
            "priority" => self.priority = Some(text("priority", value)?),
            "labels" => self.labels = Some(texts("labels", value)?),
            "dependencies" => {
                let list = texts("dependencies", value)?;
                for id in &list {
                    TaskId::parse(id).map_err(|refusal| ("dependencies", refusal.message))?;
                }
                self.dependencies = Some(list);
            }
            "blockers" => self.blockers = Some(texts("blockers", value)?),
            "branch" => self.branch = Some(text("branch", value)?.unwrap_or_default()),
            "dod" => self.dod = Some(texts("dod", value)?),
            "needs" => self.needs = Some(text("needs", value)?.unwrap_or_default()),
            "created_at" => self.created_at = text("created_at", value)?,
            "updated_at" => self.updated_at = text("updated_at", value)?,
            REFERENCES => self.references = Some(References::read(value)?),
            other => {
                self.extras.insert(other.to_owned(), value.clone());
            }
        }
        Ok(())
    }

    /// Says which keys were taken away. What comity has a field for is not taken away by leaving its key out; those
    /// keys are returned.
    pub fn without(&mut self, gone: &[String]) -> Vec<String> {
        let (fields, extras): (Vec<_>, Vec<_>) =
            gone.iter().cloned().partition(|key| has_field(key));
        self.gone = extras;
        fields
    }

    /// Returns the references of a task that are not among those that are said; a reference cannot be taken away.
    pub fn lost_references(&self, task: &TaskView) -> Vec<String> {
        self.references.as_ref().map(|said| said.lacks(&task.external_ids)).unwrap_or_default()
    }

    pub fn dependencies(&self) -> &[String] {
        self.dependencies.as_deref().unwrap_or_default()
    }

    pub fn forget_dependency(&mut self, id: &str) {
        self.dependencies.iter_mut().for_each(|list| list.retain(|known| known != id));
    }

    pub fn default_needs(&mut self, needs: &str) {
        if self.status == Some(Status::Blocked) && self.needed().is_none() {
            self.needs = Some(needs.to_owned());
        }
    }

    fn needed(&self) -> Option<&String> {
        self.needs.as_ref().filter(|needs| !needs.trim().is_empty())
    }

    pub fn extra(&mut self, key: &str, value: Value) {
        self.extras.insert(key.to_owned(), value);
    }

    pub fn new_task(&self, id: Option<String>) -> NewTask {
        let mut extras = self.extras.clone();
        if let Some(word) = self.unusual_priority() {
            extras.insert("priority".to_owned(), word);
        }
        let kept = self.references.as_ref().and_then(|references| references.kept.clone());
        extras.extend(kept.map(|kept| (REFERENCES.to_owned(), kept)));
        let mut context = Map::new();
        if !extras.is_empty() {
            context.insert(EXTRAS.to_owned(), Value::Object(extras));
        }
        NewTask {
            id,
            title: self.title.clone().unwrap_or_default(),
            description: self.description.clone().unwrap_or_default(),
            priority: self.rank(),
            labels: self.labels.clone().unwrap_or_default(),
            depends_on: self.dependencies.clone().unwrap_or_default(),
            blockers: self.blockers.clone().unwrap_or_default(),
            dod: self.dod.clone().unwrap_or_default(),
            context,
            assignee: self.assignee.clone().flatten(),
            links: self.references.as_ref().map(|said| said.links.clone()).unwrap_or_default(),
            awaits_unknown: true,
            new: true,
            ..NewTask::default()
        }
    }

    /// Returns the same with the state that the record gives, and when it was made there.
    pub fn imported_task(&self, id: String, source: &str) -> ImportedTask {
        let mut told = self.clone();
        let blocked = self.status == Some(Status::Blocked);
        for (key, text) in [
            ("created_at", self.created_at.as_ref()),
            ("updated_at", self.updated_at.as_ref()),
            ("needs", self.needed().filter(|_| !blocked)),
        ] {
            told.extras.extend(text.map(|text| (key.to_owned(), json!(text))));
        }
        ImportedTask {
            task: told.new_task(Some(id)),
            status: self.status,
            needs: self.needed().cloned(),
            branch: self.branch.clone().filter(|branch| !branch.is_empty()),
            source: source.to_owned(),
            ..ImportedTask::default()
        }
    }

    fn links(&self, id: &str) -> Vec<Command> {
        let link = |link: &TaskLinked| Command::Link {
            id: id.to_owned(),
            provider: link.provider.clone(),
            key: link.key.clone(),
            value: link.value.clone(),
        };
        self.references.iter().flat_map(|said| &said.links).map(link).collect()
    }

    /// Returns the commands that bring a task to what is said, in the order in which each can be done. Who asks for it
    /// claims also for whoever is named.
    pub fn commands(&self, task: &TaskView, actor: &AgentId, reason: Option<&str>) -> Vec<Command> {
        self.all_of(self.steps(task, actor, reason, true), task)
    }

    /// The same for what a file says: a file claims nothing in another's name.
    pub fn edits(&self, task: &TaskView, actor: &AgentId, reason: Option<&str>) -> Vec<Command> {
        self.all_of(self.steps(task, actor, reason, false), task)
    }

    fn all_of(&self, mut out: Vec<Command>, task: &TaskView) -> Vec<Command> {
        let id = || task.id.clone();
        out.extend(self.depend(task));
        out.extend(self.links(&task.id).into_iter().filter(|link| is_news(task, link)));
        let changes = self.changes(task);
        if changes != TaskUpdated::default() {
            out.push(Command::UpdateTask {
                id: id(),
                changes: Box::new(changes),
                constraints: comity_core::command::ConstraintChanges::default(),
                if_match: None,
            });
        }
        out
    }

    fn steps(
        &self,
        task: &TaskView,
        actor: &AgentId,
        reason: Option<&str>,
        for_others: bool,
    ) -> Vec<Command> {
        let assign = self
            .assignee
            .as_ref()
            .filter(|agent| agent.as_ref().map(AgentId::as_str) != task.assignee.as_deref());
        let wanted = self.status.filter(|status| *status != task.status);
        let taken = wanted.is_some_and(Status::is_held);
        // Who takes a task does not have to be assigned to it first.
        let assign = assign.filter(|agent| !(taken && agent.as_ref() == Some(actor)));
        let named = assign.cloned().flatten();
        let claim = wanted.filter(|_| for_others);
        let claim = claim.map(|to| claim_for(task, to, named.as_ref(), actor)).unwrap_or_default();
        let claimed = !claim.is_empty();
        let assign = assign.filter(|_| !claimed);
        let assign = assign.map(|agent| Command::Assign {
            id: task.id.clone(),
            agent: agent.clone(),
            new: true,
        });
        let step = wanted.filter(|_| !claimed).map(|status| Command::Transition {
            id: task.id.clone(),
            status,
            reason: reason.map(str::to_owned),
            needs: self.needed().cloned().or_else(|| told_needs(task, status)),
        });
        let (before, after) = if taken { (assign, None) } else { (None, assign) };
        claim.into_iter().chain(before).chain(step).chain(after).collect()
    }

    fn depend(&self, task: &TaskView) -> Vec<Command> {
        let Some(wanted) = &self.dependencies else { return Vec::new() };
        let id = || task.id.clone();
        let added = wanted.iter().filter(|on| !task.dependencies.contains(on));
        let added = added.map(|on| Command::Depend {
            id: id(),
            on: on.clone(),
            remove: false,
            awaits_unknown: true,
        });
        let gone = task.dependencies.iter().filter(|on| !wanted.contains(on));
        let gone = gone.map(|on| Command::Depend {
            id: id(),
            on: on.clone(),
            remove: true,
            awaits_unknown: false,
        });
        added.chain(gone).collect()
    }

    fn changes(&self, task: &TaskView) -> TaskUpdated {
        let differs = |new: &Option<String>, old: &str| new.clone().filter(|new| new != old);
        let dod: Vec<String> = task.dod.iter().map(|item| item.text.clone()).collect();
        TaskUpdated {
            title: differs(&self.title, &task.title),
            description: differs(&self.description, &task.description),
            priority: self.rank().filter(|rank| rank.to_string() != task.priority),
            labels: self.labels.clone().filter(|labels| *labels != task.labels),
            blockers: self.blockers.clone().filter(|blockers| *blockers != task.blockers),
            dod: self.dod.clone().filter(|new| *new != dod),
            branch: differs(&self.branch, task.branch.as_deref().unwrap_or_default()),
            context: self.extras_of(task),
            needs: self.new_needs(task),
            ..TaskUpdated::default()
        }
    }

    fn new_needs(&self, task: &TaskView) -> Option<String> {
        let stays =
            task.status == Status::Blocked && self.status.is_none_or(|to| to == Status::Blocked);
        self.needs.clone().filter(|needs| stays && task.needs.as_ref() != Some(needs))
    }

    fn extras_of(&self, task: &TaskView) -> Option<Map<String, Value>> {
        let old = task.context.get(EXTRAS).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut new = old.clone();
        new.extend(self.extras.clone());
        for key in &self.gone {
            new.shift_remove(key);
        }
        let here = old.get("created_at").cloned();
        let here = here.unwrap_or_else(|| json!(seconds(task.created_at)));
        let time = self.created_at.as_ref().map(|time| json!(time)).filter(|time| *time != here);
        new.extend(time.map(|time| ("created_at".to_owned(), time)));
        let blocked = self.status.unwrap_or(task.status) == Status::Blocked;
        match self.needed() {
            // What is needed has a field of its own only while the task is blocked.
            Some(needs) if !blocked => {
                new.insert("needs".to_owned(), json!(needs));
            }
            _ if self.needs.is_some() => {
                new.shift_remove("needs");
            }
            _ => {}
        }
        if let Some(references) = &self.references {
            match &references.kept {
                Some(kept) => new.insert(REFERENCES.to_owned(), kept.clone()),
                None => new.shift_remove(REFERENCES),
            };
        }
        if let Some(word) = self.unusual_priority() {
            new.insert("priority".to_owned(), word);
        } else if self.priority.is_some() {
            new.shift_remove("priority");
        }
        let value = if new.is_empty() { Value::Null } else { Value::Object(new.clone()) };
        (new != old).then(|| Map::from_iter([(EXTRAS.to_owned(), value)]))
    }

    fn rank(&self) -> Option<Priority> {
        self.priority.as_ref().map(|word| priority(word.as_deref()))
    }

    /// A word for the priority, or none, that comity writes otherwise.
    fn unusual_priority(&self) -> Option<Value> {
        let word = self.priority.as_ref()?.as_deref();
        (word != Some(priority(word).to_string().as_str())).then(|| json!(word))
    }
}

/// What was said that a task needs before it is blocked; it counts when nothing else is said then.
pub fn told_needs(task: &TaskView, to: Status) -> Option<String> {
    let told = task.context.get(EXTRAS)?.get("needs")?.as_str()?;
    (to == Status::Blocked && !told.trim().is_empty()).then(|| told.to_owned())
}

/// The claim for whoever is named, or was assigned before, where that is not who acts. Who was stopped goes on through
/// the queue.
fn claim_for(
    task: &TaskView,
    to: Status,
    named: Option<&AgentId>,
    actor: &AgentId,
) -> Vec<Command> {
    let assigned = || task.assignee.as_deref().and_then(|agent| AgentId::parse(agent).ok());
    let owner = named.cloned().or_else(assigned).filter(|owner| owner != actor);
    let goes_on = task.status == Status::Blocked && to == Status::InProgress;
    let Some(owner) = owner.filter(|_| goes_on || task.status == Status::Queued && to.is_held())
    else {
        return Vec::new();
    };
    let id = task.id.clone();
    let queue = Command::Transition {
        id: id.clone(),
        status: Status::Queued,
        reason: Some(format!("{owner} goes on with it")),
        needs: None,
    };
    let claim = Command::Claim(ClaimWish {
        id: Some(id),
        owner: Some(owner),
        start: to == Status::InProgress,
        ..ClaimWish::default()
    });
    if goes_on { vec![queue, claim] } else { vec![claim] }
}

fn is_news(task: &TaskView, link: &Command) -> bool {
    let Command::Link { provider, key, value, .. } = link else { return true };
    let known = task.external_ids.get(provider).and_then(|keys| keys.get(key));
    known.and_then(Value::as_str) != Some(value)
}
