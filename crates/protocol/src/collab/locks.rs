//! Lock records: leases as the tools of the tree see them.

use super::document::{StateFile, problem_at};
use super::{Problem, seconds};
use comity_core::ids::{AgentId, LeaseId};
use comity_core::time::{Millis, Timestamp};
use comity_core::view::LeaseView;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Writes a lease's id in the form that the tools of the tree give out: `L-` and eight hexadecimal digits.
pub fn lock_id(id: LeaseId) -> String {
    format!("L-{:08x}", id.0)
}

pub fn parse_lock_id(text: &str) -> Option<LeaseId> {
    if let Some(id) = LeaseId::parse(text) {
        return Some(id);
    }
    let digits = text.strip_prefix("L-").filter(|digits| digits.len() >= 8)?;
    if !digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok().filter(|n| *n > 0).map(LeaseId)
}

/// Returns the record of a lease. One that another tool took keeps the id and the keys that it has there.
///
/// The tools of the tree take a lease for stale once `acquired_at + ttl_seconds` is past, however often it was renewed.
/// So `acquired_at` is the last sign of life, too. A longer `ttl_seconds` would break the other half of their test,
/// which asks how old the heartbeat is.
pub fn lock_record(lease: &LeaseView, theirs: Option<&OutsideLock>) -> Map<String, Value> {
    let ours = || LeaseId::parse(&lease.lock_id).map_or_else(|| lease.lock_id.clone(), lock_id);
    let id = theirs.map_or_else(ours, |theirs| theirs.lock_id.clone());
    let alive = seconds(lease.heartbeat_at);
    let mut record = Map::new();
    let mut put = |key: &str, value: Value| record.insert(key.to_owned(), value);
    put("path", json!(lease.path));
    put("owner", json!(lease.owner));
    put("purpose", json!(lease.purpose.clone().unwrap_or_default()));
    put("lock_id", json!(id));
    put("acquired_at", json!(alive));
    put("ttl_seconds", json!(lease.ttl_seconds));
    put("heartbeat_at", json!(alive));
    for (key, value) in theirs.iter().flat_map(|theirs| &theirs.extras) {
        record.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    record
}

/// What another tool calls a lease, and what else it says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutsideLock {
    pub lock_id: String,
    pub extras: Map<String, Value>,
}

const FIELDS: [&str; 7] =
    ["path", "owner", "purpose", "lock_id", "acquired_at", "ttl_seconds", "heartbeat_at"];

#[derive(Clone, Debug, PartialEq)]
pub struct LockRecord {
    pub theirs: OutsideLock,
    pub path: String,
    pub owner: AgentId,
    pub purpose: Option<String>,
    pub ttl: Millis,
    pub alive: Timestamp,
}

const TTL_SECONDS: i64 = 900;

/// Reads the record at a place of `locks.json`. A time that cannot be read is a problem, not the year 1970.
pub fn read_lock(
    record: &Map<String, Value>,
    n: usize,
    text: &str,
) -> Result<LockRecord, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut complain = |key: &str, message: String| {
        problems.push(problem_at(StateFile::Locks, text, n, key, message));
    };
    let word = |key: &str| record.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let time = |key: &str| word(key).map(|text| Timestamp::parse(text).ok_or(text));
    let path = word("path").map(str::to_owned);
    if path.is_none() {
        complain("path", "path is missing or not a text".to_owned());
    }
    let missing = || "owner is missing or not a text".to_owned();
    let owner = word("owner").ok_or_else(missing);
    let owner = owner.and_then(|owner| AgentId::parse(owner).map_err(|refusal| refusal.message));
    let owner = owner.map_err(|message| complain("owner", message)).ok();
    let mut alive = None;
    for key in ["acquired_at", "heartbeat_at"] {
        match time(key) {
            Some(Ok(time)) => alive = alive.max(Some(time)),
            Some(Err(bad)) => complain(key, format!("{bad:?} is not a time")),
            None if key == "acquired_at" => complain(key, "acquired_at is missing".to_owned()),
            None => {}
        }
    }
    let ttl = match record.get("ttl_seconds") {
        None | Some(Value::Null) => Some(TTL_SECONDS),
        Some(value) => value.as_i64().filter(|n| *n > 0),
    };
    if ttl.is_none() {
        complain("ttl_seconds", "ttl_seconds must be a number of seconds above 0".to_owned());
    }
    match (path, owner, alive, ttl) {
        (Some(path), Some(owner), Some(alive), Some(ttl)) if problems.is_empty() => {
            let unknown = record.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
            let extras = unknown.map(|(key, value)| (key.clone(), value.clone())).collect();
            let lock_id = word("lock_id").unwrap_or_default().to_owned();
            Ok(LockRecord {
                theirs: OutsideLock { lock_id, extras },
                path,
                owner,
                purpose: word("purpose").map(str::to_owned),
                ttl: Millis::from_secs(ttl),
                alive,
            })
        }
        _ => Err(problems),
    }
}
