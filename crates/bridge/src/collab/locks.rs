//! What others changed in `locks.json`, as commands.

use super::edits::{Problems, Takeover};
use super::records::Entry;
use comity_api::LeasesAnswer;
use comity_core::command::{Command, LeaseChange};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_protocol::collab::{
    Change, Edit, LockRecord, OutsideLock, StateFile as Kind, read_lock,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

struct Wish {
    what: String,
    owner: AgentId,
    command: LeaseChange,
    /// When that was done there.
    since: Option<Timestamp>,
    /// What it is called there.
    name: String,
    /// The same of a new one, with what else is said of it.
    theirs: Option<OutsideLock>,
}

impl Takeover<'_> {
    pub(super) fn locks(
        &mut self,
        found: Vec<Edit>,
        text: &str,
    ) -> Result<Result<(), Problems>, Refusal> {
        // What has ended here is taken anew, however much of it is as it was.
        let found: Vec<Edit> = found.into_iter().map(|edit| self.anew(edit)).collect();
        let known = self.known(&found);
        let is_old = |takeover: &Self, entry: &Entry| {
            let id = id_of(entry);
            takeover.held(id).is_none() && known.get(id).is_some_and(|known| !is_news(entry, known))
        };
        let older =
            found.iter().any(|edit| matches!(edit, Edit::Added(_, entry) if is_old(self, entry)));
        let listed = self.file.get(Kind::Locks.list()).is_some();
        if !listed {
            let said = "locks.json: it has no list of locks; they are put back";
            self.syncer.report.conflicts.push(said.to_owned());
        }
        let mut wishes = Vec::new();
        let mut problems = Vec::new();
        for edit in found {
            match edit {
                // An older value is no edit.
                Edit::Added(_, entry) if is_old(self, &entry) => {}
                Edit::Changed(change) if self.is_known(&change.id, &known) => {}
                Edit::Added(n, entry) => match read_lock(&entry, n, text) {
                    Ok(lock) => wishes.extend(self.new_lock(lock)),
                    Err(found) => problems.extend(found.iter().map(ToString::to_string)),
                },
                Edit::Changed(change) => wishes.extend(self.changed_lock(&change)),
                Edit::Missing(..) if self.first_time || !listed => {}
                // A file that has what ended long ago is older than what it lacks.
                Edit::Missing(id, _) => wishes.extend(self.missing_lock(&id, older)),
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        for wish in wishes {
            self.grant(wish)?;
        }
        Ok(Ok(()))
    }

    fn anew(&self, edit: Edit) -> Edit {
        match edit {
            Edit::Changed(change) if self.held(&change.id).is_none() => {
                let entry = self.new.get(change.id.as_str()).copied().cloned();
                Edit::Added(change.place, entry.unwrap_or_default())
            }
            edit => edit,
        }
    }

    /// What is known of the locks that a file says something new of.
    fn known(&self, found: &[Edit]) -> BTreeMap<String, Vec<Entry>> {
        let said = found.iter().filter_map(|edit| match edit {
            Edit::Added(_, entry) => Some(id_of(entry)),
            Edit::Changed(change) => Some(change.id.as_str()),
            Edit::Missing(..) => None,
        });
        let said: BTreeSet<&str> = said.collect();
        if said.is_empty() {
            BTreeMap::new()
        } else {
            self.syncer.history.known(Kind::Locks, &said)
        }
    }

    /// Tells whether a lock was exactly so before.
    fn is_known(&self, id: &str, known: &BTreeMap<String, Vec<Entry>>) -> bool {
        let entry = self.new.get(id);
        entry.zip(known.get(id)).is_some_and(|(entry, known)| known.contains(*entry))
    }

    /// Another tool took it.
    fn new_lock(&mut self, lock: LockRecord) -> Option<Wish> {
        let LockRecord { theirs, path, owner, purpose, ttl, alive } = lock;
        if alive.plus(ttl) <= self.state.now {
            return self.refuse_lock(&theirs.lock_id, "it has run out");
        }
        let what = format!("lock {} on {path}", theirs.lock_id);
        let path = match self.syncer.context.root_mapper().pattern(&path) {
            Ok(path) => path,
            Err(refusal) => {
                let said = format!("on {path}: {}", refusal.message);
                return self.refuse_lock(&theirs.lock_id, &said);
            }
        };
        let mut leases = self.state.leases.iter();
        let same = leases.find(|lease| lease.path == path && lease.owner == owner.as_str());
        if let Some(lease) = same {
            let known = self.syncer.history.progress.outside.entry(lease.lock_id.clone());
            known.or_insert(theirs);
            return None;
        }
        let (ttl, shared) = (Some(ttl), false);
        let command =
            LeaseChange::Acquire { patterns: vec![path], task: None, purpose, ttl, shared };
        let (since, name) = (Some(alive), theirs.lock_id.clone());
        Some(Wish { what, owner, command, since, name, theirs: Some(theirs) })
    }

    /// Another tool renewed it, or says something else of it.
    fn changed_lock(&mut self, change: &Change) -> Option<Wish> {
        let Change { id: name, values, .. } = change;
        let (id, owner) = self.held(name)?;
        let fixed = ["path", "owner", "purpose", "ttl_seconds"];
        if let Some(key) = fixed.iter().find(|key| values.contains_key(**key)) {
            let said = format!("{key} stays; a lease is renewed or released, not changed");
            return self.refuse_lock(name, &said);
        }
        let other = values.iter().filter(|(key, _)| !key.ends_with("_at"));
        let other: Map<String, Value> =
            other.map(|(key, value)| (key.clone(), value.clone())).collect();
        if !other.is_empty() {
            let lock_id = name.clone();
            let known = self.syncer.history.progress.outside.entry(id.clone());
            known.or_insert(OutsideLock { lock_id, extras: Map::new() }).extras.extend(other);
        }
        let mut alive = None;
        for key in ["acquired_at", "heartbeat_at"] {
            let Some(said) = values.get(key) else { continue };
            let Some(time) = said.as_str().and_then(Timestamp::parse) else {
                return self.refuse_lock(name, &format!("{key} {said} is not a time"));
            };
            alive = alive.max(Some(time));
        }
        // What is older than the last sign of life is none. Files have their times to the second.
        let heard = self.state.leases.iter().find(|lease| lease.lock_id == id)?.heartbeat_at;
        alive.filter(|alive| alive.ms() / 1000 > heard.ms() / 1000).map(|alive| Wish {
            what: format!("lock {name}: renewed"),
            owner,
            command: LeaseChange::Renew { ids: vec![id], ttl: None },
            since: Some(alive),
            name: name.clone(),
            theirs: None,
        })
    }

    /// Another tool released it.
    fn missing_lock(&mut self, name: &str, older: bool) -> Option<Wish> {
        let (id, owner) = self.held(name)?;
        if let Some(task) = self.state.of_claims.get(&id) {
            let said = format!("lock {name}: it belongs to the claim on {task} and ends with it");
            self.refuse(said);
            return None;
        }
        if older {
            self.refuse(format!(
                "lock {name}: it is not in the file, which is older than the lock"
            ));
            return None;
        }
        let command = LeaseChange::Release { ids: vec![id], all: false };
        let (what, name) = (format!("lock {name}: released"), name.to_owned());
        Some(Wish { what, owner, command, since: None, name, theirs: None })
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Refusal> {
        let Wish { what, owner, command, since, name, theirs } = wish;
        let command = Command::LeaseFor { owner, since, command };
        let key = self.key(&name, &command);
        let done = match (self.execute(command, key), theirs) {
            (Ok(reply), Some(theirs)) => reply.take().map(|taken: LeasesAnswer| {
                let id = taken.leases.into_iter().next().map(|lease| lease.lock_id);
                self.syncer.history.progress.outside.extend(id.map(|id| (id, theirs)));
            }),
            (done, _) => done.map(drop),
        };
        if !self.noted(&what, done)? {
            self.keep_back(&name, &[Kind::Locks.key()]);
        }
        Ok(())
    }

    /// Says what is not done with a lock; it is looked at again when it is written again.
    fn refuse_lock(&mut self, name: &str, why: &str) -> Option<Wish> {
        self.refuse(format!("lock {name}: {why}"));
        self.keep_back(name, &[Kind::Locks.key()]);
        None
    }

    /// A live lease by what it is called in the file, with its owner.
    fn held(&self, lock: &str) -> Option<(String, AgentId)> {
        let id = self.syncer.history.progress.lease_named(lock)?;
        let lease = self.state.leases.iter().find(|lease| lease.lock_id == id)?;
        AgentId::parse(&lease.owner).ok().map(|owner| (id, owner))
    }
}

fn id_of(entry: &Entry) -> &str {
    entry.get(Kind::Locks.key()).and_then(Value::as_str).unwrap_or_default()
}

/// Tells whether a lock shows life after all that is known of it.
fn is_news(entry: &Entry, known: &[Entry]) -> bool {
    let alive = |entry: &Entry| {
        let time = |key: &str| entry.get(key).and_then(Value::as_str).and_then(Timestamp::parse);
        time("acquired_at").max(time("heartbeat_at"))
    };
    alive(entry) > known.iter().filter_map(alive).max()
}
