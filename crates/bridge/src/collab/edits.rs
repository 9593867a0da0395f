//! What others changed in a state file, as commands.

use super::history::by_id;
use super::methods::ID_PREFIX;
use super::records::Entry;
use super::sync::Syncer;
use comity_api::SyncReport;
use comity_core::command::{Command, ImportedTask};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::view::TaskView;
use comity_engine::{CollabState, Reply};
use comity_protocol::collab::{
    Change, Edit, Patch, StateFile as Kind, edits, etag, file_record, read_agent_at,
};
use comity_protocol::plan::kept;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What a task needs whose record does not say it.
pub(super) const NOT_SAID: &str = "not said where it was blocked";

/// Tasks that are made in one transaction.
const AT_ONCE: usize = 200;

pub(super) struct Takeover<'s> {
    pub(super) syncer: &'s mut Syncer,
    pub(super) state: CollabState,
    kind: Kind,
    base: &'s Value,
    pub(super) file: &'s Value,
    /// The entries of both by what tells them apart.
    old: BTreeMap<&'s str, &'s Entry>,
    pub(super) new: BTreeMap<&'s str, &'s Entry>,
    /// Whether nothing was exported there before; then what is missing was never there.
    pub(super) first_time: bool,
    /// The keys that the rules refused, by entry; the one that names the entry stands for all of it.
    refused: BTreeMap<String, BTreeSet<String>>,
}

pub(super) type Problems = Vec<String>;

/// What of a file could be read.
pub(super) enum Read {
    /// All but these entries; what is wrong with each of them is said.
    AllBut(BTreeSet<String>, Problems),
    /// Nothing is taken while something in it cannot be read.
    Nothing(Problems),
}

/// A task that is new in a file: its id, what it says, and all of its record.
type NewTask = (String, Patch, Map<String, Value>);

/// An edit of a task that could be read.
enum TaskEdit {
    New(NewTask),
    Old(Patch, Change),
}

impl<'s> Takeover<'s> {
    /// Begins with a file and what it was made from.
    pub(super) fn new(
        syncer: &'s mut Syncer,
        state: CollabState,
        kind: Kind,
        (base, file): (&'s Value, &'s Value),
        first_time: bool,
    ) -> Takeover<'s> {
        let (old, new) = (by_id(kind)(base), by_id(kind)(file));
        let refused = BTreeMap::new();
        Takeover { syncer, state, kind, base, file, old, new, first_time, refused }
    }

    /// Takes the edits over, and says everything that cannot be read.
    pub(super) fn run(&mut self, text: &str) -> Result<Read, Refusal> {
        let found = edits(self.kind, self.base, self.file);
        let (unread, problems) = match self.kind {
            Kind::Tasks => {
                let (edits, unread, problems) = task_edits(found, text);
                self.tasks(edits)?;
                (unread, problems)
            }
            Kind::Agents => self.agents(found, text)?,
            Kind::Locks => match self.locks(found, text)? {
                Ok(()) => (BTreeSet::new(), Vec::new()),
                Err(problems) => return Ok(Read::Nothing(problems)),
            },
        };
        for id in &unread {
            self.keep_back(id, &[self.kind.key()]);
        }
        Ok(Read::AllBut(unread, problems))
    }

    /// Returns the entries as they are settled now: whoever writes one again has changed nothing. What the rules refused
    /// is not settled, so that it is looked at again.
    pub(super) fn settled(&self) -> Vec<Entry> {
        let differ = |(id, entry): &(&&str, &&Entry)| self.old.get(**id) != Some(*entry);
        let looked_at = self.new.iter().filter(|pair| self.first_time || differ(pair));
        looked_at.filter_map(|(id, entry)| self.settled_entry(id, entry)).collect()
    }

    fn settled_entry(&self, id: &str, entry: &Entry) -> Option<Entry> {
        let mut known = entry.clone();
        for key in self.refused.get(id).into_iter().flatten() {
            if key == self.kind.key() {
                return None;
            }
            match self.old.get(id).and_then(|old| old.get(key)) {
                Some(value) => known.insert(key.clone(), value.clone()),
                None => known.shift_remove(key),
            };
        }
        Some(known)
    }

    /// Remembers which values of an entry the rules refused.
    pub(super) fn keep_back(&mut self, id: &str, keys: &[&str]) {
        let refused = self.refused.entry(id.to_owned()).or_default();
        refused.extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// The key of a command that an entry leads to. A process may be killed before it has written down what it took
    /// over; the same edit of the same value is then not done a second time, also when what is left to do of it has
    /// become another command meanwhile.
    pub(super) fn key(&self, id: &str, command: &Command) -> Option<String> {
        let tree = self.syncer.history.name();
        let edit =
            (tree, self.kind.list(), id, self.old.get(id), self.new.get(id), part_of(command));
        let text = serde_json::to_string(&edit).ok()?;
        Some(format!("collab-edit:{}", etag(text.as_bytes())))
    }

    /// Does what an entry asks for; true when the rules allow it.
    fn attempt(&mut self, id: &str, what: &str, command: Command) -> Result<bool, Refusal> {
        let key = self.key(id, &command);
        let done = self.execute(command, key).map(drop);
        self.noted(what, done)
    }

    pub(super) fn execute(&self, command: Command, key: Option<String>) -> Result<Reply, Refusal> {
        self.syncer.execute(&self.path(), command, key)
    }

    fn path(&self) -> PathBuf {
        self.syncer.tree.state(self.kind)
    }

    /// Whether the states of tasks are asked for.
    fn with_state(&self) -> bool {
        self.syncer.imports == Some(true)
    }

    /// Writes down what came of an edit; true when it was taken.
    pub(super) fn noted(&mut self, what: &str, done: Result<(), Refusal>) -> Result<bool, Refusal> {
        match done {
            // It was taken over before, and what came after counts.
            Err(refusal) if refusal.code == Code::IdempotencyMismatch => Ok(true),
            done => noted(&mut self.syncer.report, what, done),
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
        if self.with_state() {
            self.settle()?;
        }
        for (mut patch, change) in old {
            let id = change.id.clone();
            let Some(task) = self.syncer.task(&id)? else {
                self.refuse(format!("{id}: there is no such task here"));
                self.keep_back(&id, &["id"]);
                continue;
            };
            self.conflicts(&task, &change.values, &change.was);
            let left_out = patch.without(&change.gone);
            for key in &left_out {
                self.refuse(format!("{id}: {key} is not taken away by leaving it out"));
            }
            let mut keys: Vec<&str> = change.values.keys().map(String::as_str).collect();
            let gone = change.gone.iter().filter(|key| !left_out.contains(key));
            keys.extend(gone.map(String::as_str));
            self.change(&task, &patch, &keys)?;
        }
        Ok(())
    }

    /// Brings tasks to their states that an earlier import, or a sync, has kept back.
    fn settle(&mut self) -> Result<(), Refusal> {
        let waits = |task: &&TaskView| kept(task).is_some();
        let waiting = self.state.tasks.iter().filter(waits).filter_map(|task| {
            let patch = Patch::read(self.new.get(task.id.as_str())?).ok()?;
            let moved = !matches!(patch.status?, Status::Queued | Status::Blocked);
            moved.then(|| (task.id.clone(), patch, task.title.clone()))
        });
        for (id, patch, title) in in_order(waiting.collect(), |_, _| {}) {
            let mut imported = self.imported(&id, &patch);
            (imported.task.title, imported.settles) = (title, true);
            let what = format!("{id}: {}", imported.status.map_or("", Status::as_str));
            let done = self.execute(Command::ImportTask(Box::new(imported)), None);
            self.noted(&what, done.map(drop))?;
        }
        Ok(())
    }

    fn imported(&self, id: &str, patch: &Patch) -> ImportedTask {
        let source = self.syncer.named(&self.path());
        let with_state = self.with_state();
        ImportedTask { with_state, ..patch.imported_task(id.to_owned(), &source) }
    }

    pub(super) fn refuse(&mut self, said: String) {
        self.syncer.report.refused.push(said);
    }

    fn change(&mut self, task: &TaskView, patch: &Patch, keys: &[&str]) -> Result<(), Refusal> {
        let id = &task.id;
        for reference in patch.lost_references(task) {
            self.refuse(format!("{id}: the reference {reference} is changed, not taken away"));
        }
        let actor = &self.syncer.actor(&self.path());
        let all = patch.edits(task, actor, Some("edited in collaboration/"));
        // Who works on it and its state belong together; what else was changed does not depend on them.
        let (steps, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_step);
        let words: Vec<String> = steps.iter().map(|step| what_of(step, keys)).collect();
        let steps = match steps.len() {
            0 | 1 => steps,
            _ => vec![Command::Several { ids: vec![id.clone()], steps }],
        };
        for command in steps {
            if !self.attempt(id, &format!("{id}: {}", words.join(", ")), command)? {
                let said = ["status", "assignee", "needs"];
                let said: Vec<&str> = said.into_iter().filter(|key| keys.contains(key)).collect();
                self.keep_back(id, &said);
            }
        }
        for command in rest {
            let what = format!("{id}: {}", what_of(&command, keys));
            let about = keys_of(&command, keys);
            if !self.attempt(id, &what, command)? {
                self.keep_back(id, &about);
            }
        }
        Ok(())
    }

    /// Makes new tasks, each after what it depends on.
    fn new_tasks(&mut self, new: Vec<NewTask>) -> Result<(), Refusal> {
        let ready = in_order(new, |id, on| {
            self.refuse(in_a_circle(id, on));
            self.keep_back(id, &["dependencies"]);
        });
        for some in ready.chunks(AT_ONCE) {
            self.import(some)?;
        }
        Ok(())
    }

    fn import(&mut self, tasks: &[NewTask]) -> Result<(), Refusal> {
        let mut requests = Vec::new();
        let mut patches = Vec::new();
        for (id, patch, entry) in tasks {
            let mut patch = patch.clone();
            patch.default_needs(NOT_SAID);
            let command = Command::ImportTask(Box::new(self.imported(id, &patch)));
            let key = self.key(id, &command);
            requests.push(self.syncer.request(&self.path(), command, key));
            patches.push((id, patch, entry));
        }
        let answers = self.syncer.service.execute_all(requests);
        for ((id, patch, entry), answer) in patches.into_iter().zip(answers) {
            match answer {
                Err(refusal) if refusal.code == Code::DuplicateId => {
                    self.second(id, &patch, entry)?;
                }
                answer => {
                    self.syncer.report.kept_back.extend(kept_line(&patch, &answer));
                    if !self.noted(&format!("{id}: new task"), answer.map(drop))? {
                        self.keep_back(id, &["id"]);
                    }
                }
            }
        }
        Ok(())
    }

    /// A task was made here under the same id meanwhile. Unless it is the same one, both are kept.
    fn second(
        &mut self,
        id: &str,
        patch: &Patch,
        entry: &Map<String, Value>,
    ) -> Result<(), Refusal> {
        let mut imported = self.imported(id, patch);
        if let Some(task) = self.syncer.task(id)?.filter(|task| task.title == imported.task.title) {
            return self.same_task(&task, entry);
        }
        imported.task.id = None;
        imported.task.id_prefix = Some(ID_PREFIX.to_owned());
        let said = format!("{id}: another task has this id; the one in the file gets a new one");
        self.syncer.report.conflicts.push(said);
        let what = format!("a second {id}: new task");
        let command = Command::ImportTask(Box::new(imported));
        let key = self.key(id, &command);
        let done = self.execute(command, key);
        self.syncer.report.kept_back.extend(kept_line(patch, &done));
        if !self.noted(&what, done.map(drop))? {
            self.keep_back(id, &["id"]);
        }
        Ok(())
    }

    /// The same task was made in both places: what the file says otherwise is an edit of the one that is here.
    fn same_task(&mut self, task: &TaskView, entry: &Map<String, Value>) -> Result<(), Refusal> {
        let here = file_record(task);
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

    /// Says what was changed in both places. The rules decide whether the file's value is taken.
    fn conflicts(
        &mut self,
        task: &TaskView,
        values: &Map<String, Value>,
        was: &Map<String, Value>,
    ) {
        let record = file_record(task);
        for (key, theirs) in values {
            let here = record.get(key).unwrap_or(&Value::Null);
            if was.get(key).is_some_and(|was| was != here) && here != theirs {
                let said = format!("{}: {key} is {here} here and {theirs} in the file", task.id);
                self.syncer.report.conflicts.push(said);
            }
        }
    }

    fn agents(
        &mut self,
        found: Vec<Edit>,
        text: &str,
    ) -> Result<(BTreeSet<String>, Problems), Refusal> {
        let mut commands = Vec::new();
        let (mut unread, mut problems) = (BTreeSet::new(), Vec::new());
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
                Err(found) => {
                    problems.extend(found.iter().map(ToString::to_string));
                    unread.insert(id);
                }
            }
        }
        for (id, command) in commands {
            if !self.attempt(&id, &format!("agent {id}"), command)? {
                self.keep_back(&id, &["id"]);
            }
        }
        Ok((unread, problems))
    }
}

/// Says that the state which a file gives to a new task was kept back.
pub(super) fn kept_line(patch: &Patch, done: &Result<Reply, Refusal>) -> Option<String> {
    let task = done.as_ref().ok()?.task(None).filter(|task| task.status == Status::Blocked)?;
    patch.status.filter(|said| !matches!(said, Status::Queued | Status::Blocked))?;
    Some(format!("{}: {}", task.id, task.needs.as_deref().unwrap_or_default()))
}

/// Writes down whether something was taken over.
pub(super) fn noted(
    report: &mut SyncReport,
    what: &str,
    done: Result<(), Refusal>,
) -> Result<bool, Refusal> {
    let Err(refusal) = done else {
        report.taken.push(what.to_owned());
        return Ok(true);
    };
    // The store itself does not answer: that is no verdict on the edit.
    if matches!(refusal.code.exit_status(), 1 | 5) {
        return Err(refusal);
    }
    report.refused.push(format!("{what}: {} ({})", refusal.message, refusal.code));
    Ok(false)
}

pub(super) fn in_a_circle(id: &str, on: &str) -> String {
    format!("{id}: depends on {on}, which waits for it in turn")
}

/// Puts new tasks into an order in which each comes after what it depends on. What nobody has made is waited for by its
/// name; `lost` hears what closes a circle.
pub(super) fn in_order<T>(
    mut left: Vec<(String, Patch, T)>,
    mut lost: impl FnMut(&str, &str),
) -> Vec<(String, Patch, T)> {
    let mut to_come: BTreeSet<String> = left.iter().map(|(id, ..)| id.clone()).collect();
    let mut ready = Vec::new();
    while !left.is_empty() {
        let fits = |patch: &Patch| patch.dependencies().iter().all(|on| !to_come.contains(on));
        let place = left.iter().position(|(_, patch, _)| fits(patch));
        let (id, mut patch, rest) = left.remove(place.unwrap_or(0));
        for on in patch.dependencies().to_vec() {
            if to_come.contains(&on) {
                patch.forget_dependency(&on);
                lost(&id, &on);
            }
        }
        to_come.remove(&id);
        ready.push((id, patch, rest));
    }
    ready
}

fn word(entry: &Map<String, Value>, key: &str) -> String {
    entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the edits that can be read, which entries cannot, and why.
fn task_edits(found: Vec<Edit>, text: &str) -> (Vec<TaskEdit>, BTreeSet<String>, Problems) {
    let mut out = Vec::new();
    let (mut unread, mut problems) = (BTreeSet::new(), Vec::new());
    for edit in found {
        let (id, read) = match edit {
            Edit::Added(n, entry) => {
                let id = word(&entry, "id");
                let read = Patch::read_new_at(&entry, n, text);
                (id.clone(), read.map(|patch| TaskEdit::New((id, patch, entry))))
            }
            Edit::Changed(change) => {
                let read = Patch::read_at(&change.values, change.place, text);
                (change.id.clone(), read.map(|patch| TaskEdit::Old(patch, change)))
            }
            // A task that is not in an edited file is not deleted.
            Edit::Missing(..) => continue,
        };
        match read {
            Ok(edit) => out.push(edit),
            Err(found) => {
                problems.extend(found.iter().map(ToString::to_string));
                unread.insert(id);
            }
        }
    }
    (out, unread, problems)
}

fn is_step(command: &Command) -> bool {
    matches!(command, Command::Claim(_) | Command::Assign { .. } | Command::Transition { .. })
}

/// Names the part of an edit that a command does.
fn part_of(command: &Command) -> String {
    match command {
        Command::ImportTask(imported) => format!("new {:?}", imported.task.id),
        Command::Depend { on, remove, .. } => format!("dependency {on} {remove}"),
        Command::Link { provider, key, .. } => format!("reference {provider} {key}"),
        Command::UpdateTask { .. } => "values".to_owned(),
        _ => "state".to_owned(),
    }
}

/// Keys that have a command of their own.
const APART: [&str; 3] = ["status", "assignee", "dependencies"];

/// Returns which of the edited keys are settled by a command, beside the state and who works on it.
fn keys_of<'k>(command: &Command, keys: &[&'k str]) -> Vec<&'k str> {
    match command {
        Command::Depend { .. } => vec!["dependencies"],
        Command::Link { .. } => vec!["external_ids"],
        _ => keys.iter().copied().filter(|key| !APART.contains(key)).collect(),
    }
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
        Command::Depend { on, remove: false, .. } => format!("with dependency {on}"),
        Command::Depend { on, .. } => format!("without dependency {on}"),
        Command::Link { provider, .. } => format!("reference to {provider}"),
        command => keys_of(command, keys).join(", "),
    }
}
