//! Task records: out of a task, and into the commands that make or change one.

use super::document::{Kind, problem_at};
use super::{Problem, seconds};
use comity_core::command::{Command, ImportedTask, NewTask};
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
    let created = extras.get("created_at").and_then(Value::as_str);
    let mut record = Map::new();
    let mut put = |key: &str, value: Value| record.insert(key.to_owned(), value);
    put("id", json!(task.id));
    put("title", json!(task.title));
    put("description", json!(task.description));
    put("status", json!(task.status));
    put("assignee", json!(task.assignee));
    put("priority", json!(priority_word(task, extras)));
    put("labels", json!(task.labels));
    put("dependencies", json!(task.dependencies));
    put("blockers", json!(task.blockers));
    put("branch", json!(task.branch));
    put("created_at", json!(created.map_or_else(|| seconds(task.created_at), str::to_owned)));
    put("updated_at", json!(seconds(task.updated_at)));
    put("dod", json!(dod));
    put("needs", json!(task.needs));
    if !task.external_ids.is_empty() {
        put("external_ids", json!(task.external_ids));
    }
    for (key, value) in extras {
        record.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    record
}

/// The word that somebody gave, as long as it still says what the priority is.
fn priority_word(task: &TaskView, extras: &Map<String, Value>) -> String {
    match extras.get("priority").and_then(Value::as_str) {
        Some(word) if priority(word).to_string() == task.priority => word.to_owned(),
        _ => task.priority.clone(),
    }
}

/// A word that is not known counts as the default.
fn priority(word: &str) -> Priority {
    Priority::parse(word).unwrap_or(Priority::DEFAULT)
}

/// What a record, or a part of one, says about a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    title: Option<String>,
    description: Option<String>,
    /// The state that is asked for.
    pub status: Option<Status>,
    assignee: Option<Option<AgentId>>,
    priority: Option<String>,
    labels: Option<Vec<String>>,
    dependencies: Option<Vec<String>>,
    blockers: Option<Vec<String>>,
    branch: Option<String>,
    dod: Option<Vec<String>>,
    needs: Option<String>,
    created_at: Option<String>,
    external_ids: Vec<TaskLinked>,
    extras: Map<String, Value>,
}

type Read<T> = Result<T, (&'static str, String)>;

fn text(key: &'static str, value: &Value) -> Read<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err((key, "not a text".to_owned())),
    }
}

fn texts(key: &'static str, value: &Value) -> Read<Vec<String>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err((key, "not a list of texts".to_owned())),
    };
    let mut out: Vec<String> = Vec::new();
    for item in list {
        let item = item.as_str().ok_or_else(|| (key, "not a list of texts".to_owned()))?;
        // Said twice is said once.
        if !out.iter().any(|known| known == item) {
            out.push(item.to_owned());
        }
    }
    Ok(out)
}

fn references(value: &Value) -> Read<Vec<TaskLinked>> {
    let bad = || ("external_ids", "not an object of objects".to_owned());
    let mut out = Vec::new();
    let providers = match value {
        Value::Null => return Ok(out),
        Value::Object(providers) => providers,
        _ => return Err(bad()),
    };
    for (provider, keys) in providers {
        for (key, value) in keys.as_object().ok_or_else(bad)? {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Null => continue,
                other => other.to_string(),
            };
            out.push(TaskLinked { provider: provider.clone(), key: key.clone(), value });
        }
    }
    Ok(out)
}

impl Patch {
    /// Reads a record or a part of one; every key that is wrong is said.
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

    /// Reads the record at a place of `tasks.json`.
    pub fn read_at(
        record: &Map<String, Value>,
        n: usize,
        text: &str,
    ) -> Result<Patch, Vec<Problem>> {
        let place =
            |(key, message): (String, String)| problem_at(Kind::Tasks, text, n, &key, message);
        Patch::read(record).map_err(|problems| problems.into_iter().map(place).collect())
    }

    fn set(&mut self, key: &str, value: &Value) -> Read<()> {
        match key {
            "id" | "updated_at" => {}
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
            "priority" => self.priority = text("priority", value)?,
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
            "needs" => self.needs = text("needs", value)?.filter(|needs| !needs.trim().is_empty()),
            "created_at" => self.created_at = text("created_at", value)?,
            "external_ids" => self.external_ids = references(value)?,
            other => {
                self.extras.insert(other.to_owned(), value.clone());
            }
        }
        Ok(())
    }

    /// Takes out what the task waits for, to be given when it is there.
    pub fn dependencies(&self) -> &[String] {
        self.dependencies.as_deref().unwrap_or_default()
    }

    /// Drops a dependency.
    pub fn forget_dependency(&mut self, id: &str) {
        self.dependencies.iter_mut().for_each(|list| list.retain(|known| known != id));
    }

    /// Sets what a blocked task needs, where nothing is said.
    pub fn default_needs(&mut self, needs: &str) {
        if self.status == Some(Status::Blocked) && self.needs.is_none() {
            self.needs = Some(needs.to_owned());
        }
    }

    /// Tells whether the state takes somebody who works on the task, and nobody is named.
    pub fn lacks_holder(&self) -> bool {
        self.status.is_some_and(Status::is_held) && !matches!(self.assignee, Some(Some(_)))
    }

    /// Adds a key that comity has no field for.
    pub fn extra(&mut self, key: &str, value: Value) {
        self.extras.insert(key.to_owned(), value);
    }

    /// Returns the task that a whole record describes.
    pub fn new_task(&self, id: Option<String>) -> NewTask {
        let mut extras = self.extras.clone();
        if let Some(word) = self.unusual_priority() {
            extras.insert("priority".to_owned(), json!(word));
        }
        let mut context = Map::new();
        if !extras.is_empty() {
            context.insert(EXTRAS.to_owned(), Value::Object(extras));
        }
        NewTask {
            id,
            title: self.title.clone().unwrap_or_default(),
            description: self.description.clone().unwrap_or_default(),
            priority: self.priority.as_deref().map(priority),
            labels: self.labels.clone().unwrap_or_default(),
            depends_on: self.dependencies.clone().unwrap_or_default(),
            blockers: self.blockers.clone().unwrap_or_default(),
            dod: self.dod.clone().unwrap_or_default(),
            context,
            assignee: self.assignee.clone().flatten(),
            links: self.external_ids.clone(),
            ..NewTask::default()
        }
    }

    /// Returns the same with the state that the record gives, and when it was made there.
    pub fn imported_task(&self, id: String, source: &str) -> ImportedTask {
        let mut with_time = self.clone();
        if let Some(time) = &self.created_at {
            with_time.extras.insert("created_at".to_owned(), json!(time));
        }
        ImportedTask {
            task: with_time.new_task(Some(id)),
            status: self.status,
            needs: self.needs.clone(),
            branch: self.branch.clone().filter(|branch| !branch.is_empty()),
            source: source.to_owned(),
            ..ImportedTask::default()
        }
    }

    /// The commands that link the references of a record.
    fn links(&self, id: &str) -> Vec<Command> {
        let link = |link: &TaskLinked| Command::Link {
            id: id.to_owned(),
            provider: link.provider.clone(),
            key: link.key.clone(),
            value: link.value.clone(),
        };
        self.external_ids.iter().map(link).collect()
    }

    /// Returns the commands that bring a task to what is said, in the order in which each can be done.
    pub fn commands(&self, task: &TaskView, reason: Option<&str>) -> Vec<Command> {
        let mut out = Vec::new();
        let id = || task.id.clone();
        let assign = self
            .assignee
            .as_ref()
            .filter(|agent| agent.as_ref().map(AgentId::as_str) != task.assignee.as_deref());
        let assign = assign.map(|agent| Command::Assign { id: id(), agent: agent.clone() });
        let step = self.status.filter(|status| *status != task.status);
        let before = step.is_some_and(Status::is_held);
        out.extend(assign.clone().filter(|_| before));
        out.extend(step.map(|status| Command::Transition {
            id: id(),
            status,
            reason: reason.map(str::to_owned),
            needs: self.needs.clone(),
        }));
        out.extend(assign.filter(|_| !before));
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

    fn depend(&self, task: &TaskView) -> Vec<Command> {
        let Some(wanted) = &self.dependencies else { return Vec::new() };
        let edge =
            |on: &String, remove| Command::Depend { id: task.id.clone(), on: on.clone(), remove };
        let added = wanted.iter().filter(|on| !task.dependencies.contains(on));
        let gone = task.dependencies.iter().filter(|on| !wanted.contains(on));
        added.map(|on| edge(on, false)).chain(gone.map(|on| edge(on, true))).collect()
    }

    fn changes(&self, task: &TaskView) -> TaskUpdated {
        let differs = |new: &Option<String>, old: &str| new.clone().filter(|new| new != old);
        let dod: Vec<String> = task.dod.iter().map(|item| item.text.clone()).collect();
        let rank = self.priority.as_deref().map(priority);
        TaskUpdated {
            title: differs(&self.title, &task.title),
            description: differs(&self.description, &task.description),
            priority: rank.filter(|rank| rank.to_string() != task.priority),
            labels: self.labels.clone().filter(|labels| *labels != task.labels),
            blockers: self.blockers.clone().filter(|blockers| *blockers != task.blockers),
            dod: self.dod.clone().filter(|new| *new != dod),
            branch: differs(&self.branch, task.branch.as_deref().unwrap_or_default()),
            context: self.extras_of(task),
            ..TaskUpdated::default()
        }
    }

    /// The extras as they are after the change, when it changes any; null takes one away.
    fn extras_of(&self, task: &TaskView) -> Option<Map<String, Value>> {
        let old = task.context.get(EXTRAS).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut new = old.clone();
        for (key, value) in &self.extras {
            if value.is_null() {
                new.shift_remove(key);
            } else {
                new.insert(key.clone(), value.clone());
            }
        }
        if let Some(word) = self.unusual_priority() {
            new.insert("priority".to_owned(), json!(word));
        } else if self.priority.is_some() {
            new.shift_remove("priority");
        }
        let value = if new.is_empty() { Value::Null } else { Value::Object(new.clone()) };
        (new != old).then(|| Map::from_iter([(EXTRAS.to_owned(), value)]))
    }

    /// A word for the priority that comity writes otherwise.
    fn unusual_priority(&self) -> Option<&str> {
        self.priority.as_deref().filter(|word| priority(word).to_string() != *word)
    }
}

fn is_news(task: &TaskView, link: &Command) -> bool {
    let Command::Link { provider, key, value, .. } = link else { return true };
    let known = task.external_ids.get(provider).and_then(|keys| keys.get(key));
    known.and_then(Value::as_str) != Some(value)
}
