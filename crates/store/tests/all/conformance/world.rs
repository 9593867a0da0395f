//! One store under test, a clock that is set by hand, and short ways to make history.

use super::Opener;
use comity_core::chain::Stored;
use comity_core::decision::{Addressee, DecisionPurpose, DecisionState, DecisionType};
use comity_core::event::{
    AgentRegistered, DecisionAnswered, DecisionAsked, Draft, Event, FileLocked, Held,
    LeaseReleased, LocksReclaimed, Placed, ReclaimedLock, RepositorySet, StatusChanged,
    TaskClaimed, TaskCreated,
};
use comity_core::facts::{Facts, Need, Saved};
use comity_core::ids::{AgentId, DecisionId, Fence, LeaseId, RepoName, Seq, TaskId};
use comity_core::lease::LeaseMode;
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::{Constraints, Deliverable, Priority};
use comity_core::time::{Millis, Timestamp};
use comity_store::{Changes, Clock, ManualClock, Rows, Store, StoreError};
use serde_json::Map;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a commit carries beside events.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) due: BTreeMap<Key, Option<Timestamp>>,
    pub(super) presence: Vec<(AgentId, Option<Fence>, Timestamp)>,
    pub(super) saved: Vec<(AgentId, String, Saved)>,
    pub(super) kept: Vec<(String, String, Option<Vec<u8>>)>,
}

pub struct World {
    pub clock: Arc<ManualClock>,
    pub store: Box<dyn Store>,
    open: Opener,
}

impl World {
    pub fn new(open: Opener, clock: Arc<ManualClock>) -> World {
        World { clock, store: open(), open }
    }

    /// Opens another handle on the same data.
    pub fn another(&self) -> Box<dyn Store> {
        (self.open)()
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.read().wall_ms)
    }

    /// Appends and projects events in one transaction.
    pub fn commit(&mut self, drafts: Vec<Draft>) -> Result<Vec<Stored>, StoreError> {
        commit(&mut *self.store, drafts, &Extras::default())
    }

    pub(super) fn commit_with(&mut self, drafts: Vec<Draft>, extras: &Extras) -> super::Outcome {
        commit(&mut *self.store, drafts, extras).map(drop)
    }

    /// Loads one need into new facts.
    pub fn load(&mut self, need: &Need) -> Result<Facts, StoreError> {
        let mut tx = self.store.read()?;
        let mut facts = Facts::at(tx.moment()?, tx.head()?);
        tx.load(std::slice::from_ref(need), &mut facts)?;
        assert!(facts.has_answer(need), "{need:?} was not answered");
        Ok(facts)
    }
}

/// Appends and projects events through any handle.
pub(super) fn commit(
    store: &mut dyn Store,
    drafts: Vec<Draft>,
    extras: &Extras,
) -> Result<Vec<Stored>, StoreError> {
    let mut tx = store.write()?;
    let head = tx.head()?;
    let mut facts = Facts::at(tx.moment()?, head);
    let mut stored: Vec<Stored> = Vec::new();
    for draft in drafts {
        let placed = Placed { seq: Seq(0), ts: Timestamp::default(), draft: draft.clone() };
        let touched = comity_core::project::touched(&placed);
        let needs: Vec<Need> = touched.into_iter().map(Need::Entity).collect();
        tx.load(&needs, &mut facts)?;
        let prev = stored.last().map_or(head.hash, |event| event.hash);
        stored.push(Stored::seal(&facts.apply(draft), prev).unwrap());
    }
    let dirty = facts.take_dirty();
    let rows = Rows { facts: &facts, dirty: &dirty, due: &extras.due };
    let Extras { presence, saved, kept, .. } = extras;
    tx.commit(Changes { events: &stored, rows, presence, saved, kept })?;
    store.keep(facts);
    Ok(stored)
}

/// The repository of most cases.
pub fn repo() -> RepoName {
    RepoName::parse("acme/app").unwrap()
}

pub(super) fn other_repo() -> RepoName {
    RepoName::parse("acme/other").unwrap()
}

pub(super) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

pub(super) fn task_id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

pub(super) fn fence(number: u64) -> Fence {
    Fence::new(number).unwrap()
}

pub(super) fn task_key(id: &str) -> Key {
    Key::Task(repo(), task_id(id))
}

fn draft(task: Option<&str>, event: Event) -> Draft {
    Draft {
        repo: repo(),
        agent: agent("ann"),
        task: task.map(task_id),
        event,
        via: comity_core::via::Via::default(),
    }
}

/// Moves an event to the other repository.
pub(super) fn elsewhere(draft: Draft) -> Draft {
    Draft { repo: other_repo(), ..draft }
}

pub(super) fn created(number: u64, change: impl FnOnce(&mut TaskCreated)) -> Draft {
    let mut task = TaskCreated {
        number,
        title: format!("Task {number}"),
        description: String::new(),
        kind: None,
        complexity: None,
        deliverable: Deliverable::Code,
        priority: Priority::DEFAULT,
        labels: Vec::new(),
        role: None,
        assignee: None,
        dependencies: Vec::new(),
        blockers: Vec::new(),
        files: Vec::new(),
        requirements: Vec::new(),
        dod: Vec::new(),
        gates: Vec::new(),
        constraints: Constraints::default(),
        context: Map::new(),
        timeout: Millis::default(),
        epic: None,
        prd: None,
        initiative: None,
        parent: None,
        body: None,
    };
    change(&mut task);
    draft(Some(&format!("T{number}")), Event::TaskCreated(Box::new(task)))
}

pub(super) fn status(id: &str, from: Status, to: Status) -> Draft {
    draft(Some(id), Event::StatusChanged(StatusChanged::new(from, to, None)))
}

/// Puts a task back into the queue for the agent that may go on with it.
pub(super) fn preferring(id: &str, name: &str) -> Draft {
    let mut back = StatusChanged::new(Status::InProgress, Status::Queued, None);
    back.prefers = Some(agent(name));
    draft(Some(id), Event::StatusChanged(back))
}

/// Takes a task from queued to done, as far as a store can tell.
pub(super) fn done(id: &str) -> Draft {
    status(id, Status::Queued, Status::Done)
}

pub(super) fn claimed(id: &str, by: &str, number: u64) -> Vec<Draft> {
    let claim = TaskClaimed {
        assignee: agent(by),
        fence: fence(number),
        branch: None,
        ttl: Millis::from_secs(60),
        host: None,
        base: None,
        head: None,
        first_base: None,
        workspace: None,
    };
    let step = status(id, Status::Queued, Status::Claimed);
    vec![draft(Some(id), Event::TaskClaimed(claim)), step]
}

pub(super) fn locked(number: u64, path: &str, owner: &str, fence_number: u64) -> Draft {
    let lock = FileLocked {
        lock_id: LeaseId(number),
        path: path.to_owned(),
        mode: if number.is_multiple_of(2) { LeaseMode::Shared } else { LeaseMode::Exclusive },
        owner: agent(owner),
        purpose: (number.is_multiple_of(3)).then(|| "a purpose".to_owned()),
        claim_of: (number.is_multiple_of(5)).then(|| task_id("T1")),
        fence: fence(fence_number),
        ttl: Millis::from_secs(60),
        since: (number.is_multiple_of(7)).then(|| Timestamp::from_ms(1_000)),
        late: number.is_multiple_of(11),
    };
    draft(None, Event::FileLocked(lock))
}

pub(super) fn unlocked(number: u64, path: &str, owner: &str) -> Draft {
    let released = LeaseReleased {
        lock_id: LeaseId(number),
        path: path.to_owned(),
        owner: agent(owner),
        claim_of: (number.is_multiple_of(5)).then(|| task_id("T1")),
        reason: None,
        held: Some(held(number)),
    };
    draft(None, Event::LeaseReleased(released))
}

/// How the lease of a number was held: as [`locked`] makes it.
fn held(number: u64) -> Held {
    Held {
        mode: if number.is_multiple_of(2) { LeaseMode::Shared } else { LeaseMode::Exclusive },
        fence: fence(number),
        since: Timestamp::from_ms(1_000),
        late: number.is_multiple_of(11),
        expired_at: None,
    }
}

/// Ends leases that ran out.
pub(super) fn reclaimed(numbers: &[u64], path: &str, owner: &str, at: Timestamp) -> Draft {
    let lock = |number: &u64| ReclaimedLock {
        lock_id: LeaseId(*number),
        path: path.to_owned(),
        claim_of: None,
        held: Some(Held { expired_at: Some(at), ..held(*number) }),
    };
    let locks = numbers.iter().map(lock).collect();
    let body = LocksReclaimed { owner: agent(owner), last_seen: None, locks };
    draft(None, Event::LocksReclaimed(body))
}

pub(super) fn asked(number: u64) -> Draft {
    let question = DecisionAsked {
        decision: DecisionId(number),
        question: format!("Question {number}?"),
        context: None,
        kind: DecisionType::Free,
        options: Vec::new(),
        default: None,
        to: Addressee::Person,
        purpose: DecisionPurpose::Question,
        expires_at: None,
        proposes: None,
        budget: None,
        rule: None,
    };
    draft(None, Event::DecisionAsked(Box::new(question)))
}

pub(super) fn answered(number: u64) -> Draft {
    let answer = DecisionAnswered {
        decision: DecisionId(number),
        answer: "yes".to_owned(),
        text: None,
        state: DecisionState::Answered,
    };
    draft(None, Event::DecisionAnswered(answer))
}

pub(super) fn repository_set(fold_case: bool) -> Draft {
    draft(None, Event::RepositorySet(RepositorySet { fold_case }))
}

pub(super) fn registered(id: &str) -> Draft {
    let roles = vec![Role::Implementer];
    let body = AgentRegistered { id: agent(id), roles, skills: vec!["rust".to_owned()] };
    draft(None, Event::AgentRegistered(body))
}
