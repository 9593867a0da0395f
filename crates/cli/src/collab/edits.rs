//! What others changed in a state file, as commands.

use super::sync::Syncer;
use comity_core::command::Command;
use comity_core::ids::{AgentId, TaskId};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_core::view::TaskView;
use comity_engine::{CollabState, Query};
use comity_protocol::collab::{
    Edit, Kind, Patch, edits, lock_id, parse_lock_id, read_agent_at, read_lock, task_record,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Where imported tasks come from.
const SOURCE: &str = "collaboration/";

/// Tasks that are made in one transaction.
const AT_ONCE: usize = 200;

/// One file being taken over.
pub(super) struct Takeover<'s> {
    pub(super) syncer: &'s mut Syncer,
    pub(super) state: CollabState,
    pub(super) now: Timestamp,
    /// Whether nothing was exported there before; then what is missing was never there.
    pub(super) first_time: bool,
}

type Problems = Vec<String>;

/// An edit of a task that could be read.
enum TaskEdit {
    New(String, Patch),
    Old(String, Patch, Map<String, Value>, Map<String, Value>),
}

impl Takeover<'_> {
    /// Takes the edits over, or says everything that cannot be read; then nothing is taken.
    pub(super) fn run(
        &mut self,
        kind: Kind,
        base: &Value,
        file: &Value,
        text: &str,
    ) -> Result<Result<(), Problems>, Refusal> {
        let found = edits(kind, base, file);
        match kind {
            Kind::Tasks => match task_edits(found, text) {
                Ok(edits) => self.tasks(edits).map(Ok),
                Err(problems) => Ok(Err(problems)),
            },
            Kind::Agents => self.agents(found, text),
            Kind::Locks => self.locks(found, text),
        }
    }

    fn attempt(&mut self, what: &str, command: Command) -> Result<bool, Refusal> {
        let answer = self.syncer.execute(command, None);
        self.noted(what, answer)
    }

    /// Writes down what came of an edit; true when it was taken.
    fn noted(&mut self, what: &str, answer: Result<Value, Refusal>) -> Result<bool, Refusal> {
        match answer {
            Ok(_) => {
                self.syncer.report.taken.push(what.to_owned());
                Ok(true)
            }
            // The store itself does not answer: that is no verdict on the edit.
            Err(refusal) if refusal.code.exit_status() == 5 || refusal.code.exit_status() == 1 => {
                Err(refusal)
            }
            Err(refusal) => {
                let said = format!("{what}: {} ({})", refusal.message, refusal.code);
                self.syncer.report.refused.push(said);
                Ok(false)
            }
        }
    }

    fn tasks(&mut self, edits: Vec<TaskEdit>) -> Result<(), Refusal> {
        let mut new = Vec::new();
        let mut old = Vec::new();
        for edit in edits {
            match edit {
                TaskEdit::New(id, patch) => new.push((id, patch)),
                TaskEdit::Old(id, patch, values, was) => old.push((id, patch, values, was)),
            }
        }
        self.new_tasks(new)?;
        for (id, patch, values, was) in old {
            let Some(task) = self.task(&id)? else { continue };
            self.conflicts(&task, &values, &was);
            let keys: Vec<&str> = values.keys().map(String::as_str).collect();
            for command in patch.commands(&task, Some("edited in collaboration/")) {
                let what = format!("{id}: {}", what_of(&command, &keys));
                self.attempt(&what, command)?;
            }
        }
        Ok(())
    }

    /// Makes new tasks, each after what it depends on.
    fn new_tasks(&mut self, mut left: Vec<(String, Patch)>) -> Result<(), Refusal> {
        let mut known: BTreeSet<String> =
            self.state.tasks.iter().map(|task| task.id.clone()).collect();
        let mut ready = Vec::new();
        while !left.is_empty() {
            let fits = |patch: &Patch| patch.dependencies().iter().all(|on| known.contains(on));
            let place = left.iter().position(|(_, patch)| fits(patch));
            let (id, mut patch) = left.remove(place.unwrap_or(0));
            if place.is_none() {
                for on in patch.dependencies().to_vec() {
                    if !known.contains(&on) {
                        patch.forget_dependency(&on);
                        let said = format!("{id}: depends on {on}, which is not there before it");
                        self.syncer.report.refused.push(said);
                    }
                }
            }
            known.insert(id.clone());
            ready.push((id, patch));
        }
        for some in ready.chunks(AT_ONCE) {
            self.import(some)?;
        }
        Ok(())
    }

    /// Imports some tasks in one transaction.
    fn import(&mut self, tasks: &[(String, Patch)]) -> Result<(), Refusal> {
        let mut requests = Vec::new();
        let mut patches = Vec::new();
        for (id, patch) in tasks {
            let mut patch = patch.clone();
            self.complete(id, &mut patch);
            let command = Command::ImportTask(Box::new(patch.imported_task(id.clone(), SOURCE)));
            requests.push(self.syncer.request(command, None));
            patches.push((id, patch));
        }
        let answers = self.syncer.engine.execute_all(requests);
        for ((id, patch), answer) in patches.into_iter().zip(answers) {
            match answer {
                Err(refusal) if refusal.code == Code::DuplicateId => self.second(id, &patch)?,
                answer => {
                    self.noted(&format!("{id}: new task"), answer)?;
                }
            }
        }
        Ok(())
    }

    /// Says what a record leaves out and its state takes.
    fn complete(&mut self, id: &str, patch: &mut Patch) {
        patch.default_needs("not said where it was blocked");
        if patch.lacks_holder() {
            let word = patch.status.map(|status| status.to_string()).unwrap_or_default();
            patch.status = None;
            let said = format!("{id}: {word} and nobody is named who works on it; it is queued");
            self.syncer.report.conflicts.push(said);
        }
    }

    /// A task was made here under the same id meanwhile. Unless it is the same one, both are kept.
    fn second(&mut self, id: &str, patch: &Patch) -> Result<(), Refusal> {
        let mut imported = patch.imported_task(id.to_owned(), SOURCE);
        if self.task(id)?.is_some_and(|task| task.title == imported.task.title) {
            return Ok(());
        }
        imported.task.id = None;
        imported.task.id_prefix = Some("task-".to_owned());
        let said = format!("{id}: another task has this id; the one in the file gets a new one");
        self.syncer.report.conflicts.push(said);
        let what = format!("a second {id}: new task");
        self.attempt(&what, Command::ImportTask(Box::new(imported))).map(drop)
    }

    fn task(&mut self, id: &str) -> Result<Option<TaskView>, Refusal> {
        if TaskId::parse(id).is_err() {
            return Ok(None);
        }
        let asker = self.syncer.context.asker();
        let answer = self.syncer.engine.query(&asker, Query::Task { id: id.to_owned() });
        let value = match answer {
            Ok(mut value) => value.get_mut("task").map(Value::take).unwrap_or_default(),
            Err(refusal) if refusal.code.exit_status() == 4 || refusal.code.exit_status() == 2 => {
                return Ok(None);
            }
            Err(refusal) => return Err(refusal),
        };
        let task: Option<TaskView> = serde_json::from_value(value).ok();
        Ok(task.filter(|task| task.id == id))
    }

    /// Says what was changed in both places. The rules decide whether the file's value is taken.
    fn conflicts(
        &mut self,
        task: &TaskView,
        values: &Map<String, Value>,
        was: &Map<String, Value>,
    ) {
        let record = task_record(task);
        for (key, theirs) in values {
            let here = record.get(key).unwrap_or(&Value::Null);
            if was.get(key).is_some_and(|was| was != here) && here != theirs {
                let said = format!("{}: {key} is {here} here and {theirs} in the file", task.id);
                self.syncer.report.conflicts.push(said);
            }
        }
    }

    fn agents(&mut self, found: Vec<Edit>, text: &str) -> Result<Result<(), Problems>, Refusal> {
        let mut commands = Vec::new();
        let mut problems = Vec::new();
        for edit in found {
            let (id, n, values) = match edit {
                Edit::Added(n, entry) => (word(&entry, "id"), n, entry),
                Edit::Changed(id, n, values, _) => (id, n, values),
                // An agent that is not in an edited file is not gone.
                Edit::Missing(..) => continue,
            };
            match read_agent_at(&values, &id, n, text) {
                Ok(command) => commands.push((id, command)),
                Err(found) => problems.extend(found.iter().map(ToString::to_string)),
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        for (id, command) in commands {
            self.attempt(&format!("agent {id}"), command)?;
        }
        Ok(Ok(()))
    }

    fn locks(&mut self, found: Vec<Edit>, text: &str) -> Result<Result<(), Problems>, Refusal> {
        let mut wanted: Vec<(String, AgentId, Command)> = Vec::new();
        let mut problems = Vec::new();
        for edit in found {
            match edit {
                Edit::Added(n, entry) => match read_lock(&entry, n, text) {
                    Ok(lock) if lock.alive.plus(lock.ttl) < self.now => {
                        let said = format!("lock {}: it has run out", lock.lock_id);
                        self.syncer.report.refused.push(said);
                    }
                    Ok(lock) if self.is_held(&lock.path, &lock.owner) => {}
                    Ok(lock) => {
                        let what = format!("lock {} on {}", lock.lock_id, lock.path);
                        let path = match self.syncer.context.root_mapper().pattern(&lock.path) {
                            Ok(path) => path,
                            Err(refusal) => {
                                let said = format!("{what}: {}", refusal.message);
                                self.syncer.report.refused.push(said);
                                continue;
                            }
                        };
                        wanted.push((
                            what,
                            lock.owner,
                            Command::LeaseAcquire {
                                patterns: vec![path],
                                task: None,
                                purpose: lock.purpose,
                                ttl: Some(lock.ttl),
                                shared: false,
                            },
                        ));
                    }
                    Err(found) => problems.extend(found.iter().map(ToString::to_string)),
                },
                // Another tool renewed it.
                Edit::Changed(id, _, values, _) if values.contains_key("heartbeat_at") => {
                    if let Some((id, owner)) = self.held(&id) {
                        let ids = vec![id.clone()];
                        let command = Command::LeaseRenew { ids, ttl: None };
                        wanted.push((format!("lock {id}: renewed"), owner, command));
                    }
                }
                Edit::Changed(id, ..) => {
                    let said = format!("lock {id}: a lease is renewed or released, not changed");
                    self.syncer.report.refused.push(said);
                }
                // Another tool released it.
                Edit::Missing(..) if self.first_time => {}
                Edit::Missing(id, _) => {
                    if let Some((id, owner)) = self.held(&id) {
                        let command = Command::LeaseRelease { ids: vec![id.clone()], all: false };
                        wanted.push((format!("lock {id}: released"), owner, command));
                    }
                }
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        for (what, owner, command) in wanted {
            let command = Command::LeaseFor { owner, command: Box::new(command) };
            self.attempt(&what, command)?;
        }
        Ok(Ok(()))
    }

    fn is_held(&self, path: &str, owner: &AgentId) -> bool {
        let mut leases = self.state.leases.iter();
        leases.any(|lease| lease.path == path && lease.owner == owner.as_str())
    }

    /// A lease of ours that is still live, with its owner.
    fn held(&self, lock: &str) -> Option<(String, AgentId)> {
        let id = parse_lock_id(lock)?;
        let lease = self.state.leases.iter().find(|lease| lease.lock_id == id.to_string())?;
        // A lease of a claim ends with the claim, not by an edit.
        (lock_id(id) == lock).then_some(())?;
        AgentId::parse(&lease.owner).ok().map(|owner| (id.to_string(), owner))
    }
}

fn word(entry: &Map<String, Value>, key: &str) -> String {
    entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn task_edits(found: Vec<Edit>, text: &str) -> Result<Vec<TaskEdit>, Problems> {
    let mut out = Vec::new();
    let mut problems = Vec::new();
    for edit in found {
        let (n, values) = match &edit {
            Edit::Added(n, entry) => (*n, entry),
            Edit::Changed(_, n, values, _) => (*n, values),
            // A task that is not in an edited file is not deleted.
            Edit::Missing(..) => continue,
        };
        match (Patch::read_at(values, n, text), edit) {
            (Ok(patch), Edit::Added(_, entry)) => {
                let id = word(&entry, "id");
                match TaskId::parse(&id) {
                    Ok(_) if entry.contains_key("title") => out.push(TaskEdit::New(id, patch)),
                    Ok(_) => problems.push(format!("tasks[{n}]: {id} has no title")),
                    Err(refusal) => problems.push(format!("tasks[{n}].id: {}", refusal.message)),
                }
            }
            (Ok(patch), Edit::Changed(id, _, values, was)) => {
                out.push(TaskEdit::Old(id, patch, values, was));
            }
            (Ok(_), Edit::Missing(..)) => {}
            (Err(found), _) => problems.extend(found.iter().map(ToString::to_string)),
        }
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

/// Says which of the edited values a command is about.
fn what_of(command: &Command, keys: &[&str]) -> String {
    match command {
        Command::Transition { status, .. } => format!("status {status}"),
        Command::Assign { .. } => "assignee".to_owned(),
        Command::Depend { on, remove, .. } => {
            format!("{} dependency {on}", if *remove { "without" } else { "with" })
        }
        Command::Link { provider, .. } => format!("reference to {provider}"),
        _ => {
            let other = ["status", "assignee", "dependencies", "external_ids", "needs"];
            let rest: Vec<&str> = keys.iter().copied().filter(|key| !other.contains(key)).collect();
            rest.join(", ")
        }
    }
}
