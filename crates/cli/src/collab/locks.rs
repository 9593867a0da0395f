//! What others changed in `locks.json`, as commands.

use super::edits::{Problems, Takeover};
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_protocol::collab::{Change, Edit, Kind, LockRecord, OutsideLock, read_lock};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Something to be done with a lease.
struct Wish {
    what: String,
    owner: AgentId,
    command: Command,
    /// What a new one is called there.
    theirs: Option<OutsideLock>,
}

impl Takeover<'_> {
    pub(super) fn locks(
        &mut self,
        found: Vec<Edit>,
        text: &str,
    ) -> Result<Result<(), Problems>, Refusal> {
        let ended = self.ended(&found);
        let mut wishes = Vec::new();
        let mut problems = Vec::new();
        for edit in found {
            match edit {
                // It was exported, and is no more: an older value is no edit.
                Edit::Added(_, entry) if ended.contains(&id_of(&entry)) => {}
                Edit::Added(n, entry) => match read_lock(&entry, n, text) {
                    Ok(lock) => wishes.extend(self.new_lock(lock)),
                    Err(found) => problems.extend(found.iter().map(ToString::to_string)),
                },
                Edit::Changed(change) => wishes.extend(self.changed_lock(&change)),
                Edit::Missing(..) if self.first_time => {}
                // A file that has what ended long ago is older than what it lacks.
                Edit::Missing(id, _) => {
                    wishes.extend(self.missing_lock(&id, !ended.is_empty()));
                }
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

    /// Locks that were exported once and have ended since.
    fn ended(&self, found: &[Edit]) -> BTreeSet<String> {
        let added = found.iter().filter_map(|edit| match edit {
            Edit::Added(_, entry) => entry.get(Kind::Locks.key())?.as_str(),
            _ => None,
        });
        let added: BTreeSet<&str> = added.collect();
        if added.is_empty() {
            return BTreeSet::new();
        }
        let mut known = self.syncer.history.were_exported(Kind::Locks, &added);
        known.retain(|id| self.held(id).is_none());
        known
    }

    /// Another tool took it.
    fn new_lock(&mut self, lock: LockRecord) -> Option<Wish> {
        let LockRecord { theirs, path, owner, purpose, ttl, alive } = lock;
        if alive.plus(ttl) < self.now {
            self.refuse(format!("lock {}: it has run out", theirs.lock_id));
            return None;
        }
        let what = format!("lock {} on {path}", theirs.lock_id);
        let path = match self.syncer.context.root_mapper().pattern(&path) {
            Ok(path) => path,
            Err(refusal) => {
                self.refuse(format!("{what}: {}", refusal.message));
                return None;
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
            Command::LeaseAcquire { patterns: vec![path], task: None, purpose, ttl, shared };
        Some(Wish { what, owner, command, theirs: Some(theirs) })
    }

    /// Another tool renewed it, or says something else of it.
    fn changed_lock(&mut self, change: &Change) -> Option<Wish> {
        let Change { id: name, values, was, .. } = change;
        let (id, owner) = self.held(name)?;
        let fixed = ["path", "owner", "purpose", "ttl_seconds"];
        if let Some(key) = fixed.iter().find(|key| values.contains_key(**key)) {
            let said =
                format!("lock {name}: {key} stays; a lease is renewed or released, not changed");
            self.refuse(said);
            return None;
        }
        let other = values.iter().filter(|(key, _)| !key.ends_with("_at"));
        let other: Map<String, Value> =
            other.map(|(key, value)| (key.clone(), value.clone())).collect();
        if !other.is_empty() {
            let lock_id = name.clone();
            let known = self.syncer.history.progress.outside.entry(id.clone());
            known.or_insert(OutsideLock { lock_id, extras: Map::new() }).extras.extend(other);
        }
        let time = |record: &Map<String, Value>| {
            record.get("heartbeat_at").and_then(Value::as_str).and_then(Timestamp::parse)
        };
        let said = values.get("heartbeat_at")?;
        let Some(alive) = time(values) else {
            self.refuse(format!("lock {name}: heartbeat_at {said} is not a time"));
            return None;
        };
        // What is older is no sign of life.
        (time(was).is_none_or(|before| before < alive)).then(|| Wish {
            what: format!("lock {name}: renewed"),
            owner,
            command: Command::LeaseRenew { ids: vec![id], ttl: None },
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
        let command = Command::LeaseRelease { ids: vec![id], all: false };
        Some(Wish { what: format!("lock {name}: released"), owner, command, theirs: None })
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Refusal> {
        let Wish { what, owner, command, theirs } = wish;
        let command = Command::LeaseFor { owner, since: None, command: Box::new(command) };
        let answer = self.syncer.execute(command, None);
        if let (Ok(answer), Some(theirs)) = (&answer, theirs) {
            let lease = answer.get("leases").and_then(|leases| leases.get(0));
            let id = lease.and_then(|lease| lease.get("lock_id")).and_then(Value::as_str);
            let outside = &mut self.syncer.history.progress.outside;
            outside.extend(id.map(|id| (id.to_owned(), theirs)));
        }
        self.noted(&what, answer).map(drop)
    }

    /// A live lease by what it is called in the file, with its owner.
    fn held(&self, lock: &str) -> Option<(String, AgentId)> {
        let id = self.syncer.history.progress.lease_named(lock)?;
        let lease = self.state.leases.iter().find(|lease| lease.lock_id == id)?;
        AgentId::parse(&lease.owner).ok().map(|owner| (id, owner))
    }
}

fn id_of(entry: &Map<String, Value>) -> String {
    entry.get(Kind::Locks.key()).and_then(Value::as_str).unwrap_or_default().to_owned()
}
