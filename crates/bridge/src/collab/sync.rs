//! Keeping a tree and the store in step: outside edits in, exports out.

use super::documents::{fresh, ids, put_entries};
use super::edits::{Read, Takeover};
use super::history::{History, by_id};
use super::tree::{Published, Tree, failed};
use crate::Bridge;
use comity_api::{ById, SyncReport, op};
use comity_core::command::{Command, Request};
use comity_core::hint;
use comity_core::ids::{AgentId, TaskId};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::redact::secrets_of;
use comity_engine::{Caller, CollabState, Reply, Service};
use comity_project::Context;
use comity_protocol::collab::{Etags, StateFile as Kind, etag, pretty, read_bytes};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Times that a file is read again before it counts as invalid.
pub const ROUNDS_MAX: usize = 6;
/// Times that a file is written again when somebody else writes it, too, before others get their turn.
const WRITES_MAX: usize = 2;

/// A tree with the store beside it.
pub struct Syncer {
    pub(super) context: Context,
    pub(super) service: Service,
    pub(super) caller: Caller,
    pub(super) tree: Tree,
    pub(super) history: History,
    pub(super) report: SyncReport,
    /// Whether the caller imports the tree, and then whether with the states of tasks; otherwise it is kept in step.
    pub(super) imports: Option<bool>,
    /// What was said of the files when they were last looked at.
    said: BTreeMap<Kind, BTreeSet<String>>,
}

pub(super) struct ReadFile {
    pub(super) bytes: Vec<u8>,
    pub(super) value: Value,
}

impl Syncer {
    pub fn open(bridge: &Bridge, caller: &Caller, dir: &Path) -> Result<Syncer, Refusal> {
        let Bridge { context, service } = bridge.clone();
        // What others wrote is not done under the grant and the key of who syncs.
        let caller = Caller { fence: None, key: None, ..caller.clone() };
        let tree = Tree::at(dir, &context.root.dir);
        let history = History::open(&context.beside_store(), &tree)?;
        let (report, said) = (SyncReport::default(), BTreeMap::new());
        Ok(Syncer { context, service, caller, tree, history, report, imports: None, said })
    }

    /// Takes over what others wrote, and writes what is new. With `log`, also the log for people.
    pub fn once(&mut self, log: bool) -> Result<SyncReport, Refusal> {
        let hold = self.history.hold()?;
        let outcome = self.exchange(log);
        drop(hold);
        let report = std::mem::take(&mut self.report);
        outcome.map(|()| report)
    }

    /// The same until nobody writes in between, with the time between two tries that agents.md promises. Others get
    /// their turn meanwhile.
    pub fn settle(&mut self, log: bool, rounds: usize) -> Result<SyncReport, Refusal> {
        let mut all = self.once(log)?;
        for round in 2..=rounds {
            if !all.unsettled {
                break;
            }
            jitter(round);
            all.add(self.once(log)?);
        }
        Ok(all)
    }

    fn exchange(&mut self, log: bool) -> Result<(), Refusal> {
        let mut found: BTreeMap<Kind, Option<ReadFile>> = BTreeMap::new();
        self.is_ours_to_read()?;
        self.recover()?;
        for kind in [Kind::Agents, Kind::Tasks, Kind::Locks] {
            if let Some(mut file) = self.look(kind)? {
                if let Some(file) = &mut file
                    && !self.take_file(kind, file)?
                {
                    continue;
                }
                found.insert(kind, file);
            }
        }
        let there = self.consume_events()?;
        let tags = self.write_states(found)?;
        self.write_events(&tags, there)?;
        if log {
            self.write_log()?;
        }
        self.history.save()
    }

    /// The successor keeps other things under the same names: of such a tree nothing is read and nothing written.
    pub(super) fn is_ours_to_read(&self) -> Result<(), Refusal> {
        self.tree.has_no_links()?;
        let path = self.tree.state(Kind::Locks);
        // What cannot be read is said when it is looked at.
        let bytes = self.tree.read(&path).ok().flatten().unwrap_or_default();
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(Value::Array(_)) => Err(Refusal::input(format!(
                "{} is a list: this is a kyros-praxis tree, which comity does not read; nothing is changed",
                path.display()
            ))
            .hint("give another directory, or move that tree away")),
            _ => Ok(()),
        }
    }

    /// Takes over what a killed process had in its hands.
    fn recover(&mut self) -> Result<(), Refusal> {
        for kind in Kind::ALL {
            for path in self.tree.left_behind(&self.tree.state(kind)) {
                let taken = match self.found(kind, &path)?.transpose() {
                    Ok(None) => continue,
                    Ok(Some(file)) => self.take_edits(kind, &file)?,
                    Err(_) => false,
                };
                if taken {
                    self.tree.remove(&path);
                } else {
                    // Half of our own text, or half of somebody's: who wrote it may want to see it.
                    self.set_aside(kind, &path)?;
                }
            }
        }
        Ok(())
    }

    fn set_aside(&mut self, kind: Kind, path: &Path) -> Result<(), Refusal> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default().replace(".comity-", ".left-");
        let aside = path.with_file_name(name.trim_start_matches('.'));
        std::fs::rename(path, &aside).map_err(|error| failed("move", path, &error))?;
        self.complain(
            &aside,
            &[format!("left by a process that was killed while it wrote {}", kind.file())],
        );
        Ok(())
    }

    /// Reads a state file. None when it is there and cannot be read: then it is left alone, and said.
    pub(super) fn look(&mut self, kind: Kind) -> Result<Option<Option<ReadFile>>, Refusal> {
        let path = self.tree.state(kind);
        let mut problems = Vec::new();
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                // Somebody may be in the middle of writing it.
                if !self.tree.is_young(&path) {
                    break;
                }
                jitter(round);
            }
            match self.found(kind, &path)?.transpose() {
                Ok(file) => return Ok(Some(file)),
                Err(found) => problems = found,
            }
        }
        self.complain(&path, &problems);
        Ok(None)
    }

    /// Reads a state file, or says why it cannot be read; none when it is not there.
    fn found(
        &self,
        kind: Kind,
        path: &Path,
    ) -> Result<Option<Result<ReadFile, Vec<String>>>, Refusal> {
        let bytes = match self.tree.read(path) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => bytes,
            Err(refusal) if refusal.code == Code::InvalidInput => {
                let said = refusal.message.strip_prefix(&format!("{}: ", path.display()));
                return Ok(Some(Err(vec![said.unwrap_or(&refusal.message).to_owned()])));
            }
            Err(refusal) => return Err(refusal),
        };
        let found = read_bytes(kind, &bytes).map(|value| ReadFile { value, bytes });
        Ok(Some(found.map_err(|problems| problems.iter().map(ToString::to_string).collect())))
    }

    pub(super) fn complain(&mut self, path: &Path, problems: &[String]) {
        let file = path.display();
        self.report.problems.extend(problems.iter().map(|text| format!("{file}: {text}")));
    }

    /// Tells whether events can be read from a file and added to it; what is no plain file is a problem of its own.
    pub(super) fn is_plain(&mut self, path: &Path) -> Result<bool, Refusal> {
        match self.tree.is_there(path) {
            Err(refusal) if refusal.code == Code::InvalidInput => {
                self.report.problems.push(refusal.message);
                Ok(false)
            }
            looked => looked.map(|_| true),
        }
    }

    fn take_file(&mut self, kind: Kind, file: &mut ReadFile) -> Result<bool, Refusal> {
        let tag = etag(&file.bytes);
        // Nobody wrote it since; but what was refused may be allowed by now.
        if self.history.is_newest(kind, &tag) && self.history.progress.waiting.contains(kind.list())
        {
            let document = self.history.newest(kind).cloned().unwrap_or_default();
            return self.take_over(kind, file, Some(document));
        }
        // The last lock that is released leaves a file that was exported before. It is an edit all the same, unless
        // the rest of the tree is older, too.
        if !self.history.is_older(kind, &tag) {
            return self.take_edits(kind, file);
        }
        if kind == Kind::Locks && !self.tree_is_older()? {
            let newest = self.history.newest(kind).cloned();
            return self.take_over(kind, file, newest);
        }
        // Also what the store has not: entries that were refused, and what stands beside the list.
        file.value = self.history.newest(kind).cloned().unwrap_or_default();
        let said = format!(
            "{}: it is as it was exported before; what came after is put back",
            kind.file()
        );
        self.report.conflicts.push(said);
        Ok(true)
    }

    /// Tells whether somebody brought an older tree back, as `git checkout` and `git stash` do.
    fn tree_is_older(&self) -> Result<bool, Refusal> {
        for kind in [Kind::Tasks, Kind::Agents] {
            let bytes = self.tree.read(&self.tree.state(kind)).ok().flatten().unwrap_or_default();
            if bytes.is_empty() || self.history.is_older(kind, &etag(&bytes)) {
                return Ok(true);
            }
        }
        Ok(!self.history.progress.events.fits(&self.tree, &self.tree.events()))
    }

    /// Takes over what a file has that was not exported.
    fn take_edits(&mut self, kind: Kind, file: &ReadFile) -> Result<bool, Refusal> {
        let tag = etag(&file.bytes);
        if self.history.knows(kind, &tag) {
            return Ok(true);
        }
        let base = self.history.base(kind, &file.value);
        let base = base.map(|base| {
            self.report.conflicts.extend(base.doubts);
            base.document
        });
        self.take_over(kind, file, base)
    }

    /// Takes over the edits of a file; false when there is something in it that cannot be read.
    pub(super) fn take_over(
        &mut self,
        kind: Kind,
        file: &ReadFile,
        base: Option<Value>,
    ) -> Result<bool, Refusal> {
        let state = self.service.collab_state(&self.caller)?;
        let first_time = base.is_none();
        let outside = &self.history.progress.outside;
        let mut base = base.unwrap_or_else(|| fresh(kind, &state, outside, None));
        self.look_again(kind, &state, &mut base);
        let (beside, lost) = self.outside_the_store(kind, &file.value, &state);
        if kind != Kind::Locks {
            // What the store has not is new, whatever was exported.
            let ours = ids(kind, &state, &base);
            let list = base.get_mut(kind.list()).and_then(Value::as_array_mut);
            let is_ours = |entry: &Value| {
                entry.get(kind.key()).and_then(Value::as_str).is_some_and(|id| ours.contains(id))
            };
            list.into_iter().for_each(|list| list.retain(is_ours));
        }
        let untouched = self.history.is_newest(kind, &etag(&file.bytes));
        let before = (self.report.refused.len(), self.report.conflicts.len());
        let mut takeover = Takeover::new(self, state, kind, (&base, &file.value), first_time);
        let outcome = takeover.run(&String::from_utf8_lossy(&file.bytes))?;
        let settled = takeover.settled();
        self.say_once(kind, untouched, before);
        match outcome {
            Read::AllBut(unread, problems) => {
                let path = self.tree.state(kind);
                self.complain(&path, &problems);
                self.history.progress.unread.insert(kind.list().to_owned(), unread);
                self.report.taken.extend(beside);
                self.report.conflicts.extend(lost);
                self.history.learn(kind, &settled)?;
                Ok(true)
            }
            Read::Nothing(problems) => {
                let path = self.tree.state(kind);
                self.complain(&path, &problems);
                Ok(false)
            }
        }
    }

    /// An entry that could not be read is still compared with the store, not with itself.
    fn look_again(&self, kind: Kind, state: &CollabState, base: &mut Value) {
        let unread = self.history.progress.unread(kind);
        if unread.is_empty() {
            return;
        }
        let here = fresh(kind, state, &self.history.progress.outside, None);
        put_entries(kind, base, &unread, &here);
    }

    /// Says what changed in a file that the store has no place for: what stands beside the list, and entries that were
    /// refused and have gone.
    fn outside_the_store(
        &mut self,
        kind: Kind,
        file: &Value,
        state: &CollabState,
    ) -> (Option<String>, Vec<String>) {
        let Some(newest) = self.history.newest(kind) else { return (None, Vec::new()) };
        // The history has no secrets.
        let (mut newest, mut file) = (newest.clone(), file.clone());
        secrets_of(&mut newest);
        secrets_of(&mut file);
        let (newest, file) = (&newest, &file);
        let name = kind.file();
        let documents = [newest, file].into_iter().filter_map(Value::as_object);
        let keys: BTreeSet<&str> = documents.flat_map(Map::keys).map(String::as_str).collect();
        let differs = |key: &&str| *key != kind.list() && newest.get(*key) != file.get(*key);
        let keys: Vec<&str> = keys.into_iter().filter(differs).collect();
        let beside = (!keys.is_empty()).then(|| format!("{name}: {}", keys.join(", ")));
        let (ours, there) = (ids(kind, state, newest), by_id(kind)(file));
        let lost = |id: &&str| !ours.contains(*id) && !there.contains_key(id);
        let lost = by_id(kind)(newest).into_keys().filter(lost);
        let said = |id: &str| format!("{name}: {id} was refused and is no longer in the file");
        (beside, lost.map(said).collect())
    }

    /// Leaves out what was said before of a file that nobody touched since.
    fn say_once(&mut self, kind: Kind, untouched: bool, (refused, conflicts): (usize, usize)) {
        let report = &mut self.report;
        let now: BTreeSet<String> = report
            .refused
            .iter()
            .skip(refused)
            .chain(report.conflicts.iter().skip(conflicts))
            .cloned()
            .collect();
        let known = self.said.insert(kind, now).filter(|_| untouched).unwrap_or_default();
        for (lines, old) in [(&mut report.refused, refused), (&mut report.conflicts, conflicts)] {
            let new = lines.split_off(old);
            lines.extend(new.into_iter().filter(|line| !known.contains(line)));
        }
    }

    /// Writes the state files that differ from the store.
    fn write_states(
        &mut self,
        mut found: BTreeMap<Kind, Option<ReadFile>>,
    ) -> Result<BTreeMap<Kind, Etags>, Refusal> {
        let mut tags = BTreeMap::new();
        let mut state = self.service.collab_state(&self.caller)?;
        let live = |id: &String| state.leases.iter().any(|lease| lease.lock_id == *id);
        self.history.progress.outside.retain(|id, _| live(id));
        for kind in Kind::ALL {
            let Some(mut file) = found.remove(&kind) else { continue };
            let before = file.as_ref().map_or_else(|| etag(b""), |file| etag(&file.bytes));
            for round in 1.. {
                let template = file.as_ref().map(|file| &file.value);
                let next = self.next(kind, &state, template);
                let unread = self.history.progress.unread(kind);
                let ours = ids(kind, &state, &next).difference(&unread).cloned().collect();
                // Where nothing else is new, what cannot be read stays to the letter.
                let same = file.as_ref().filter(|file| !unread.is_empty() && file.value == next);
                let same = same.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
                let text = same.unwrap_or_else(|| pretty(&next));
                let next = Next { text: &text, value: next, ours };
                let next_tag = etag(text.as_bytes());
                match self.write_state(kind, next, file.as_ref())? {
                    None => {
                        tags.insert(kind, Etags { prev: before, new: next_tag });
                        break;
                    }
                    Some(theirs) => {
                        // Taken over in any case: the file has ours by now, and theirs is nowhere else.
                        let fine = self.take_edits(kind, &theirs)?;
                        self.report.unsettled |= round == WRITES_MAX;
                        if !fine || round == WRITES_MAX {
                            break;
                        }
                        let ours = ReadFile { bytes: text.into_bytes(), value: theirs.value };
                        file = Some(ours);
                        state = self.service.collab_state(&self.caller)?;
                    }
                }
            }
        }
        Ok(tags)
    }

    /// Makes a state file over what is there. What cannot be read stays as it is.
    fn next(&self, kind: Kind, state: &CollabState, there: Option<&Value>) -> Value {
        let mut next = fresh(kind, state, &self.history.progress.outside, there);
        if let Some(there) = there {
            put_entries(kind, &mut next, &self.history.progress.unread(kind), there);
        }
        next
    }

    /// Replaces one state file. Returns what somebody else wrote meanwhile.
    fn write_state(
        &mut self,
        kind: Kind,
        next: Next<'_>,
        file: Option<&ReadFile>,
    ) -> Result<Option<ReadFile>, Refusal> {
        let path = self.tree.state(kind);
        let tag = file.map(|file| etag(&file.bytes));
        let Next { text, value, ours } = next;
        let next = text.as_bytes();
        let waiting = &mut self.history.progress.waiting;
        if by_id(kind)(&value).keys().all(|id| ours.contains(*id)) {
            waiting.remove(kind.list());
        } else {
            waiting.insert(kind.list().to_owned());
        }
        // Kept before it can be seen: whoever edits it has edited something that is known. What was exported before is
        // kept again, so that the last one is the newest.
        if !self.history.is_newest(kind, &etag(next)) {
            self.history.keep(kind, next, value, &|id| ours.contains(id))?;
        }
        if file.is_some_and(|file| file.bytes == next) {
            return Ok(None);
        }
        let displaced = match self.tree.publish(&path, next, tag.as_deref())? {
            Published::Done => {
                self.report.written.push(path.display().to_string());
                return Ok(None);
            }
            Published::Overtaken(displaced) => displaced,
        };
        let mut problems = Vec::new();
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                jitter(round);
            }
            match self.found(kind, &displaced)?.transpose() {
                Ok(theirs) => {
                    self.tree.remove(&displaced);
                    return Ok(theirs);
                }
                Err(found) => problems = found,
            }
        }
        // It stays as they left it.
        self.tree.put_back(&path, &displaced, &etag(next))?;
        self.complain(&path, &problems);
        Ok(None)
    }

    /// Who acts on what a file says: who imports it, or else the file itself, seen by whoever keeps the tree in step.
    pub(super) fn actor(&self, path: &Path) -> AgentId {
        match self.imports {
            Some(_) => self.caller.actor.clone(),
            None => AgentId::file(&self.named(path)),
        }
    }

    /// What a file of the tree is called: its path from the root, where it is below that.
    pub(super) fn named(&self, path: &Path) -> String {
        path.strip_prefix(&self.context.root.dir).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Runs a command that a file of the tree leads to.
    pub(super) fn execute(
        &self,
        path: &Path,
        command: Command,
        key: Option<String>,
    ) -> Result<Reply, Refusal> {
        let caller = Caller { key, actor: self.actor(path), ..self.caller.clone() };
        Ok(self.service.run(&caller, command)?.output)
    }

    pub(super) fn task(&self, id: &str) -> Result<Option<TaskView>, Refusal> {
        whole_task(&self.service, &self.caller, id)
    }

    pub(super) fn request(&self, path: &Path, command: Command, key: Option<String>) -> Request {
        Request { key, actor: self.actor(path), ..self.caller.request(command) }
    }

    /// Writes the tree where nobody else has written since the last export.
    pub fn export(&mut self) -> Result<SyncReport, Refusal> {
        let hold = self.history.hold()?;
        self.is_ours_to_read()?;
        for kind in Kind::ALL {
            let path = self.tree.state(kind);
            let known = match self.tree.read(&path) {
                Ok(bytes) => bytes.is_none_or(|bytes| self.history.knows(kind, &etag(&bytes))),
                Err(refusal) if refusal.code == Code::InvalidInput => false,
                Err(refusal) => return Err(refusal),
            };
            if !known {
                return Err(Refusal::new(
                    Code::EtagMismatch,
                    format!("{} is not what was exported last", path.display()),
                )
                .hint(
                    hint::say("take over what is in it: ")
                        .quote(hint::op("sync.collab").ask("dir", "DIR")),
                ));
            }
        }
        drop(hold);
        self.settle(true, ROUNDS_MAX)
    }
}

pub(super) fn whole_task(
    service: &Service,
    caller: &Caller,
    id: &str,
) -> Result<Option<TaskView>, Refusal> {
    if TaskId::parse(id).is_err() {
        return Ok(None);
    }
    match service.call::<op::TaskShow>(caller, ById { id: id.to_owned() }) {
        Ok(answer) => Ok(Some(answer.task).filter(|task| task.id == id)),
        Err(refusal) if matches!(refusal.code, Code::NotFound | Code::AmbiguousId) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// A state file that is to be written.
struct Next<'t> {
    text: &'t str,
    value: Value,
    /// The entries that come from the store.
    ours: BTreeSet<String>,
}

/// Sleeps for the time that agents.md promises, a little shorter at first.
pub(super) fn jitter(round: usize) {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let chance = RandomState::new().build_hasher().finish();
    let longest: u64 = if round > 1 { 600 } else { 100 };
    let least: u64 = if round > 1 { 200 } else { 50 };
    std::thread::sleep(Duration::from_millis(least + chance % longest));
}
