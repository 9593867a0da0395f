//! Rows to entities, the same for both databases. A row that does not decode is damage, and the error says which.

use comity_core::agent::Counters;
use comity_core::chain::{Hash, Stored};
use comity_core::facts::{Entity, Presence, Saved};
use comity_core::ids::{
    AgentId, DecisionId, DirectiveId, Fence, LeaseId, MemoryId, RepoName, RunId, Seq, TaskId,
};
use comity_core::lease::{Lease, LeaseMode, PastLease};
use comity_core::pattern::Pattern;
use comity_core::refusal::Refusal;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Why a row cannot be read.
#[derive(Debug)]
pub(crate) struct BadRow(pub(crate) String);

/// The columns of one row, as a database hands them over.
pub(crate) trait Columns {
    type Error: From<BadRow>;
    fn int(&self, at: usize) -> Result<i64, Self::Error>;
    fn flag(&self, at: usize) -> Result<bool, Self::Error>;
    fn text(&self, at: usize) -> Result<Option<&str>, Self::Error>;
    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, Self::Error>;
}

/// A kind of entity, in the order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum EntityKind {
    Repo,
    Task,
    Lease,
    Decision,
    Agent,
    Memory,
    Directive,
    PastLease,
    Post,
    Run,
    Budget,
}

fn valid<T, E: From<BadRow>>(parsed: Result<T, Refusal>) -> Result<T, E> {
    parsed.map_err(|refusal| BadRow(refusal.message).into())
}

fn present<T, E: From<BadRow>>(value: Option<T>, at: usize) -> Result<T, E> {
    value.ok_or_else(|| BadRow(format!("column {at} is empty")).into())
}

fn text<R: Columns>(row: &R, at: usize) -> Result<&str, R::Error> {
    present(row.text(at)?, at)
}

pub(crate) fn entity<T: DeserializeOwned, R: Columns>(row: &R, at: usize) -> Result<T, R::Error> {
    let text = text(row, at)?;
    serde_json::from_str(text).map_err(|error| {
        let start: String = text.chars().take(60).collect();
        BadRow(format!("a row does not decode ({error}): {start}")).into()
    })
}

pub(crate) fn repo<R: Columns>(row: &R, at: usize) -> Result<RepoName, R::Error> {
    valid(RepoName::parse(text(row, at)?))
}

pub(crate) fn task_id<R: Columns>(row: &R, at: usize) -> Result<TaskId, R::Error> {
    valid(TaskId::parse(text(row, at)?))
}

pub(crate) fn agent_id<R: Columns>(row: &R, at: usize) -> Result<AgentId, R::Error> {
    valid(AgentId::parse(text(row, at)?))
}

pub(crate) fn status<R: Columns>(row: &R, at: usize) -> Result<Status, R::Error> {
    valid(Status::parse(text(row, at)?))
}

/// Reads a count or a number that is never negative.
pub(crate) fn number<R: Columns>(row: &R, at: usize) -> Result<u64, R::Error> {
    let value = row.int(at)?;
    u64::try_from(value).map_err(|_| BadRow(format!("column {at} is negative: {value}")).into())
}

pub(crate) fn time<R: Columns>(row: &R, at: usize) -> Result<Timestamp, R::Error> {
    Ok(Timestamp::from_ms(row.int(at)?))
}

pub(crate) fn hash<R: Columns>(row: &R, at: usize) -> Result<Hash, R::Error> {
    let bytes = row.bytes(at)?.unwrap_or_default();
    Hash::from_slice(bytes).ok_or_else(|| BadRow(format!("column {at} is not a digest")).into())
}

/// How the columns have it that case is folded, and that it is not; zero is that nobody has set it.
const FOLDS_CASE: i64 = 1;
const KEEPS_CASE: i64 = 2;

/// Writes whether a repository folds case.
pub(crate) fn fold_case(counters: &Counters) -> i64 {
    counters.fold_case.map_or(0, |folds| if folds { FOLDS_CASE } else { KEEPS_CASE })
}

/// Writes who sits where in a repository.
pub(crate) fn seats(counters: &Counters) -> String {
    serde_json::to_string(&counters.seats).unwrap_or_else(|_| "{}".to_owned())
}

/// Reads the counters of a repository from seven columns.
pub(crate) fn counters<R: Columns>(row: &R, at: usize) -> Result<Counters, R::Error> {
    Ok(Counters {
        tasks: number(row, at)?,
        leases: number(row, at + 1)?,
        decisions: number(row, at + 2)?,
        memories: number(row, at + 3)?,
        directives: number(row, at + 4)?,
        fold_case: match row.int(at + 5)? {
            0 => None,
            set => Some(set == FOLDS_CASE),
        },
        seats: entity(row, at + 6)?,
    })
}

pub(crate) fn lease<R: Columns>(row: &R, repo: RepoName) -> Result<Lease, R::Error> {
    let fence = Fence::new(number(row, 7)?);
    Ok(Lease {
        repo,
        id: LeaseId(number(row, 1)?),
        path: text(row, 2)?.to_owned(),
        mode: if row.flag(3)? { LeaseMode::Shared } else { LeaseMode::Exclusive },
        owner: agent_id(row, 4)?,
        purpose: row.text(5)?.map(str::to_owned),
        claim_of: valid(row.text(6)?.map(TaskId::parse).transpose())?,
        fence: fence.ok_or_else(|| BadRow("a grant has fence 0".to_owned()))?,
        acquired_at: time(row, 8)?,
        renewed_at: time(row, 9)?,
        ttl: Millis::from_ms(row.int(10)?),
        late: row.flag(11)?,
    })
}

pub(crate) fn past_lease<R: Columns>(row: &R) -> Result<PastLease, R::Error> {
    let fence = Fence::new(number(row, 6)?);
    Ok(PastLease {
        repo: repo(row, 0)?,
        id: LeaseId(number(row, 1)?),
        path: text(row, 2)?.to_owned(),
        mode: if row.flag(3)? { LeaseMode::Shared } else { LeaseMode::Exclusive },
        owner: agent_id(row, 4)?,
        claim_of: valid(row.text(5)?.map(TaskId::parse).transpose())?,
        fence: fence.ok_or_else(|| BadRow("a grant has fence 0".to_owned()))?,
        acquired_at: time(row, 7)?,
        late: row.flag(8)?,
        ended: Seq(number(row, 9)?),
        ended_at: time(row, 10)?,
        expired: row.flag(11)?,
    })
}

/// Reads an event that follows the one with the hash `prev`.
pub(crate) fn stored<R: Columns>(row: &R, prev: Hash) -> Result<Stored, R::Error> {
    let version = u32::try_from(row.int(3)?);
    Ok(Stored {
        seq: Seq(number(row, 0)?),
        ts: time(row, 1)?,
        event: text(row, 2)?.to_owned(),
        v: version.map_err(|_| BadRow("an event has no version".to_owned()))?,
        repo: text(row, 4)?.to_owned(),
        agent: text(row, 5)?.to_owned(),
        task: row.text(6)?.map(str::to_owned),
        body: row.bytes(7)?.map(<[u8]>::to_vec),
        body_hash: hash(row, 8)?,
        prev,
        hash: hash(row, 9)?,
    })
}

/// Reads a remembered answer from three columns.
pub(crate) fn saved<R: Columns>(row: &R, at: usize) -> Result<Saved, R::Error> {
    let answer = text(row, at + 1)?.to_owned();
    Ok(Saved { input: hash(row, at)?, answer, at: time(row, at + 2)? })
}

/// Reads an entity of a kind, from a row of the statement that finds it by its key.
pub(crate) fn found<R: Columns>(kind: EntityKind, row: &R) -> Result<Entity, R::Error> {
    Ok(match kind {
        EntityKind::Repo => Entity::Repo(counters(row, 0)?),
        EntityKind::Task => Entity::Task(entity(row, 0)?),
        EntityKind::Lease => Entity::Lease(Box::new(lease(row, repo(row, 0)?)?)),
        EntityKind::Decision => Entity::Decision(entity(row, 0)?),
        EntityKind::Agent => Entity::Agent(entity(row, 0)?),
        EntityKind::Memory => Entity::Memory(entity(row, 0)?),
        EntityKind::Directive => Entity::Directive(entity(row, 0)?),
        EntityKind::PastLease => Entity::PastLease(Box::new(past_lease(row)?)),
        EntityKind::Post => Entity::Post(entity(row, 0)?),
        EntityKind::Run => Entity::Run(entity(row, 0)?),
        EntityKind::Budget => Entity::Budget(entity(row, 0)?),
    })
}

/// Reads an entity of a kind with its key, from a row of the statements that end in `_AFTER`. Those about repositories
/// have the name first, and those about tasks have the body last.
pub(crate) fn keyed<R: Columns>(kind: EntityKind, row: &R) -> Result<(Key, Entity), R::Error> {
    if kind == EntityKind::Repo {
        return Ok((Key::Repo(repo(row, 0)?), Entity::Repo(counters(row, 1)?)));
    }
    if kind == EntityKind::Task {
        return Ok((Key::Task(repo(row, 0)?, task_id(row, 1)?), Entity::Task(entity(row, 2)?)));
    }
    let found = found(kind, row)?;
    let key = match &found {
        Entity::Repo(_) | Entity::Task(_) => return Err(BadRow("no key".to_owned()).into()),
        Entity::Lease(it) => Key::Lease(it.repo.clone(), it.id),
        Entity::Decision(it) => Key::Decision(it.repo.clone(), it.id),
        Entity::Agent(it) => Key::Agent(it.id.clone()),
        Entity::Memory(it) => Key::Memory(it.repo.clone(), it.id),
        Entity::Directive(it) => Key::Directive(it.repo.clone(), it.id),
        Entity::PastLease(it) => Key::PastLease(it.repo.clone(), it.id),
        Entity::Post(it) => Key::Post(it.repo.clone(), it.id.clone()),
        Entity::Run(it) => Key::Run(it.repo.clone(), it.id),
        Entity::Budget(it) => Key::Budget(it.repo.clone(), it.scope.clone()),
    };
    Ok((key, found))
}

/// Reads when an entity is due and its key, from a row of the statements that end in `_DUE`.
pub(crate) fn due<R: Columns>(kind: EntityKind, row: &R) -> Result<(Timestamp, Key), R::Error> {
    let repo = repo(row, 1)?;
    let key = match kind {
        EntityKind::Task => Key::Task(repo, task_id(row, 2)?),
        EntityKind::Lease => Key::Lease(repo, LeaseId(number(row, 2)?)),
        EntityKind::Decision => Key::Decision(repo, DecisionId(number(row, 2)?)),
        EntityKind::Memory => Key::Memory(repo, MemoryId(number(row, 2)?)),
        EntityKind::Directive => Key::Directive(repo, DirectiveId(number(row, 2)?)),
        EntityKind::Run => Key::Run(repo, RunId(number(row, 2)?)),
        EntityKind::Repo
        | EntityKind::Agent
        | EntityKind::Budget
        | EntityKind::PastLease
        | EntityKind::Post => {
            return Err(BadRow("this kind of row is never due".to_owned()).into());
        }
    };
    Ok((time(row, 0)?, key))
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, BadRow> {
    serde_json::to_string(value).map_err(|error| BadRow(format!("cannot encode: {error}")))
}

/// A path that this build cannot read gets the empty prefix: it is then looked at every time, which is slow but never
/// misses an overlap.
pub(crate) fn literal_prefix(path: &str) -> String {
    Pattern::prefix_of(path).unwrap_or_default()
}

/// Adds a sign of life from a row of fence and time.
pub(crate) fn sign<R: Columns>(presence: &mut Presence, row: &R) -> Result<(), R::Error> {
    let seen = time(row, 1)?;
    match Fence::new(number(row, 0)?) {
        Some(fence) => drop(presence.by_fence.insert(fence, seen)),
        None => presence.general = Some(seen),
    }
    Ok(())
}

/// Turns a number into what a database keeps; numbers beyond its range do not occur.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the places where a pattern may begin that covers one of these paths: the root, the directories on the way, and
/// the paths themselves.
pub(crate) fn ways_to<'p>(paths: &[&'p str]) -> BTreeSet<&'p str> {
    let mut at = BTreeSet::from([""]);
    for path in paths {
        at.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..at)));
        at.insert(path);
    }
    at
}

/// Turns a limit into what a database takes.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
