//! What others changed in a state file, as commands.

use super::sync::Syncer;
use comity_core::command::Command;
use comity_core::ids::TaskId;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_core::view::TaskView;
use comity_engine::{CollabState, Query};
use comity_protocol::collab::{Change, Edit, Kind, Patch, edits, read_agent_at, task_record};
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

pub(super) type Problems = Vec<String>;

/// A task that is new in a file: its id, what it says, and all of its record.
type NewTask = (String, Patch, Map<String, Value>);

/// An edit of a task that could be read.
enum TaskEdit {
    New(NewTask),
    Old(Patch, Change),
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

    pub(super) fn attempt(&mut self, what: &str, command: Command) -> Result<bool, Refusal> {
        let answer = self.syncer.execute(command, None);
        self.noted(what, answer)
    }

    /// Writes down what came of an edit; true when it was taken.
    pub(super) fn noted(
        &mut self,
        what: &str,
        answer: Result<Value, Refusal>,
    ) -> Result<bool, Refusal> {
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
                TaskEdit::New(task) => new.push(task),
                TaskEdit::Old(patch, change) => old.push((patch, change)),
            }
        }
        self.new_tasks(new)?;
        for (mut patch, change) in old {
            let id = change.id.clone();
            let Some(task) = self.task(&id)? else {
                self.refuse(format!("{id}: there is no such task here"));
                continue;
            };
            self.conflicts(&task, &change.values, &change.was);
            for key in patch.without(&change.gone) {
                self.refuse(format!("{id}: {key} is not taken away by leaving it out"));
            }
            let mut keys: Vec<&str> = change.values.keys().map(String::as_str).collect();
            keys.extend(change.gone.iter().map(String::as_str));
            self.change(&task, &patch, &keys)?;
        }
        Ok(())
    }

    pub(super) fn refuse(&mut self, said: String) {
        self.syncer.report.refused.push(said);
    }

    /// Brings a task to what a file says.
    fn change(&mut self, task: &TaskView, patch: &Patch, keys: &[&str]) -> Result<(), Refusal> {
        let id = &task.id;
        for reference in patch.lost_references(task) {
            self.refuse(format!("{id}: the reference {reference} is changed, not taken away"));
        }
        let actor = self.syncer.context.asker().actor;
        let all = patch.commands(task, &actor, Some("edited in collaboration/"));
        // Who works on it and its state belong together; what else was changed does not depend on them.
        let (steps, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_step);
        let words: Vec<String> = steps.iter().map(|step| what_of(step, keys)).collect();
        let steps = match steps.len() {
            0 | 1 => steps,
            _ => vec![Command::Several { id: id.clone(), steps }],
        };
        for command in steps {
            self.attempt(&format!("{id}: {}", words.join(", ")), command)?;
        }
        for command in rest {
            let what = format!("{id}: {}", what_of(&command, keys));
            self.attempt(&what, command)?;
        }
        Ok(())
    }

    /// Makes new tasks, each after what it depends on.
    fn new_tasks(&mut self, mut left: Vec<NewTask>) -> Result<(), Refusal> {
        let mut known: BTreeSet<String> =
            self.state.tasks.iter().map(|task| task.id.clone()).collect();
        let mut ready = Vec::new();
        while !left.is_empty() {
            let fits = |patch: &Patch| patch.dependencies().iter().all(|on| known.contains(on));
            let place = left.iter().position(|(_, patch, _)| fits(patch));
            let (id, mut patch, entry) = left.remove(place.unwrap_or(0));
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
            ready.push((id, patch, entry));
        }
        for some in ready.chunks(AT_ONCE) {
            self.import(some)?;
        }
        Ok(())
    }

    /// Imports some tasks in one transaction.
    fn import(&mut self, tasks: &[NewTask]) -> Result<(), Refusal> {
        let mut requests = Vec::new();
        let mut patches = Vec::new();
        for (id, patch, entry) in tasks {
            let mut patch = patch.clone();
            self.complete(id, &mut patch);
            let command = Command::ImportTask(Box::new(patch.imported_task(id.clone(), SOURCE)));
            requests.push(self.syncer.request(command, None));
            patches.push((id, patch, entry));
        }
        let answers = self.syncer.engine.execute_all(requests);
        for ((id, patch, entry), answer) in patches.into_iter().zip(answers) {
            match answer {
                Err(refusal) if refusal.code == Code::DuplicateId => {
                    self.second(id, &patch, entry)?;
                }
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
    fn second(
        &mut self,
        id: &str,
        patch: &Patch,
        entry: &Map<String, Value>,
    ) -> Result<(), Refusal> {
        let mut imported = patch.imported_task(id.to_owned(), SOURCE);
        if let Some(task) = self.task(id)?.filter(|task| task.title == imported.task.title) {
            return self.same_task(&task, entry);
        }
        imported.task.id = None;
        imported.task.id_prefix = Some("task-".to_owned());
        let said = format!("{id}: another task has this id; the one in the file gets a new one");
        self.syncer.report.conflicts.push(said);
        let what = format!("a second {id}: new task");
        self.attempt(&what, Command::ImportTask(Box::new(imported))).map(drop)
    }

    /// The same task was made in both places: what the file says otherwise is an edit of the one that is here.
    fn same_task(&mut self, task: &TaskView, entry: &Map<String, Value>) -> Result<(), Refusal> {
        let here = task_record(task);
        let differs = |(key, value): &(&String, &Value)| {
            let time = ["created_at", "updated_at"].contains(&key.as_str());
            !time && here.get(key.as_str()).unwrap_or(&Value::Null) != *value
        };
        let values = entry.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone()));
        let values: Map<String, Value> = values.collect();
        let Ok(patch) = Patch::read(&values) else { return Ok(()) };
        // Neither was there before the other.
        let was = values.keys().map(|key| (key.clone(), Value::Null)).collect();
        self.conflicts(task, &values, &was);
        let keys: Vec<&str> = values.keys().map(String::as_str).collect();
        self.change(task, &patch, &keys)
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
                Edit::Changed(change) => {
                    let mut values = change.values;
                    // Null takes away what is known beside role and skills.
                    let told = |key: &String| !["role", "skills", "status"].contains(&key.as_str());
                    let gone = change.gone.into_iter().filter(told);
                    values.extend(gone.map(|key| (key, Value::Null)));
                    (change.id, change.place, values)
                }
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
}

fn word(entry: &Map<String, Value>, key: &str) -> String {
    entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn task_edits(found: Vec<Edit>, text: &str) -> Result<Vec<TaskEdit>, Problems> {
    let mut out = Vec::new();
    let mut problems = Vec::new();
    for edit in found {
        let read = match edit {
            Edit::Added(n, entry) => Patch::read_new_at(&entry, n, text)
                .map(|patch| TaskEdit::New((word(&entry, "id"), patch, entry))),
            Edit::Changed(change) => Patch::read_at(&change.values, change.place, text)
                .map(|patch| TaskEdit::Old(patch, change)),
            // A task that is not in an edited file is not deleted.
            Edit::Missing(..) => continue,
        };
        match read {
            Ok(edit) => out.push(edit),
            Err(found) => problems.extend(found.iter().map(ToString::to_string)),
        }
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

fn is_step(command: &Command) -> bool {
    matches!(command, Command::Claim(_) | Command::Assign { .. } | Command::Transition { .. })
}

/// Says which of the edited values a command is about.
fn what_of(command: &Command, keys: &[&str]) -> String {
    match command {
        Command::Transition { status, .. } => format!("status {status}"),
        Command::Assign { .. } => "assignee".to_owned(),
        Command::Claim(wish) => {
            let owner = wish.owner.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("claimed for {owner}")
        }
        Command::Depend { on, remove, .. } => {
            format!("{} dependency {on}", if *remove { "without" } else { "with" })
        }
        Command::Link { provider, .. } => format!("reference to {provider}"),
        _ => {
            let other = ["status", "assignee", "dependencies"];
            let rest: Vec<&str> = keys.iter().copied().filter(|key| !other.contains(key)).collect();
            rest.join(", ")
        }
    }
}
