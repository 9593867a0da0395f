//! The part of the state that a batch of commands needs, and how a rule asks for more of it.
//!
//! A rule reads through the accessors here. What has not been loaded yet stops the rule with the
//! [`Need`] it ran into; the caller loads it and runs the rule again. Rules stay pure, and a store can
//! load for a whole batch at once. What is loaded once is never overwritten by a later load, so that
//! the events of earlier commands in the batch stay visible.

mod read;

pub use read::Beyond;

use crate::chain::Head;
use crate::event::{Draft, Event, Placed};
use crate::ids::{AgentId, Fence, RepoName, Seq, TaskId};
use crate::lease::Lease;
use crate::pattern::CaseRule;
use crate::refusal::Refusal;
use crate::state::{Key, State};
use crate::task::Task;
use crate::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// State that a rule wants to see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// One entity. An agent comes with its signs of life.
    Entity(Key),
    /// The task that has this number.
    TaskNumber(RepoName, u64),
    /// Up to [`PREFIX_MATCHES_MAX`] tasks whose id starts so.
    TaskPrefix(RepoName, String),
    /// The next queued tasks without open dependencies, by priority and number, after this place.
    Candidates(RepoName, Option<(u8, u64)>),
    /// The first [`PREFERRED_MAX`] queued tasks without open dependencies that prefer this agent, by priority and
    /// number, and as many tasks that a review sent back to it, by number.
    Preferred(RepoName, AgentId),
    /// Every live lease whose literal prefix lies on the way to, at, or below this one.
    LeasesNear(RepoName, String),
    /// Every live lease that lies near one of these paths, and every lease there that ended after this place in the log.
    HeldNear(RepoName, Seq, Vec<String>),
    /// Every live lease of this owner.
    LeasesOf(RepoName, AgentId),
    /// Every task that depends on this one.
    Dependants(RepoName, TaskId),
    /// Every task that is part of this one.
    Children(RepoName, TaskId),
    /// Every task that this one depends on, directly or not.
    Closure(RepoName, TaskId),
    /// How many queued tasks wait for dependencies, counted up to [`WAITING_COUNT_MAX`].
    Waiting(RepoName),
    /// The answer remembered under an idempotency key.
    Saved(AgentId, String),
}

/// Candidates loaded at first: one of them nearly always fits, and they are enough for the claims of most batches.
pub const CANDIDATES_FIRST: usize = 16;
/// Candidates loaded at a time when the first did not fit.
pub const CANDIDATE_PAGE: usize = 64;
/// Tasks that prefer an agent, loaded at most.
pub const PREFERRED_MAX: usize = 64;
/// Tasks loaded for a prefix; two are enough to know that it is ambiguous.
pub const PREFIX_MATCHES_MAX: usize = 5;
/// Where counting of waiting tasks stops.
pub const WAITING_COUNT_MAX: u64 = 1000;

/// Why a rule stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    Need(Need),
    Refuse(Box<Refusal>),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Halt {
        Halt::Refuse(Box::new(refusal))
    }
}

impl Halt {
    /// Names what a refusal is about, where one command has several parts.
    pub(crate) fn about(self, what: &str) -> Halt {
        match self {
            Halt::Refuse(mut refusal) => {
                refusal.message = format!("{what}: {}", refusal.message);
                Halt::Refuse(refusal)
            }
            need @ Halt::Need(_) => need,
        }
    }
}

pub type Ruling<T> = Result<T, Halt>;

impl Moment {
    /// Returns how far the log's time is ahead of the clock.
    pub fn ahead(&self) -> Millis {
        self.now.since(self.clock)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// The store's clock, never before the last event.
    pub now: Timestamp,
    /// When the host last woke from sleep or its clock jumped ahead; counts as a sign of life of all.
    pub woke_at: Option<Timestamp>,
    /// The store's clock itself, which may be behind the last event.
    pub clock: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The digest of the input that it answered.
    pub input: crate::chain::Hash,
    /// The answer, as JSON text.
    pub answer: String,
    /// When it was given; it is remembered from then on, wherever the store moves.
    pub at: Timestamp,
}

/// Signs of life of one agent: in general, and for single grants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Presence {
    /// The last one without a fence.
    pub general: Option<Timestamp>,
    /// The last one with each fence.
    pub by_fence: BTreeMap<Fence, Timestamp>,
}

impl Presence {
    pub fn for_grant(&self, fence: Fence) -> Option<Timestamp> {
        self.general.max(self.by_fence.get(&fence).copied())
    }

    /// Forgets signs of life that are dated after a corrected clock.
    fn correct(&mut self, at: Timestamp) {
        self.general = self.general.filter(|seen| *seen <= at);
        self.by_fence.retain(|_, seen| *seen <= at);
    }

    pub fn latest(&self) -> Option<Timestamp> {
        self.general.max(self.by_fence.values().copied().max())
    }
}

/// How far the candidates of a repository have been loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frontier {
    last: Option<(u8, u64)>,
    exhausted: bool,
}

/// Loaded state, with the changes of the commands so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub state: State,
    pub moment: Moment,
    /// How paths are compared in repositories for which nothing is set.
    pub case_rule: CaseRule,
    /// The end of the log, moved on by each applied event.
    pub head: Head,
    known: BTreeSet<Key>,
    dirty: BTreeSet<Key>,
    /// Everything that changed since these facts were started; unlike `dirty` it is never taken away,
    /// because lists that were loaded earlier are completed from it.
    changed: BTreeSet<Key>,
    answered: BTreeSet<Need>,
    presence: BTreeMap<AgentId, Presence>,
    prefixes: BTreeMap<(RepoName, String), Vec<TaskId>>,
    dependants: BTreeMap<(RepoName, TaskId), Vec<TaskId>>,
    children: BTreeMap<(RepoName, TaskId), Vec<TaskId>>,
    frontiers: BTreeMap<RepoName, Frontier>,
    waiting: BTreeMap<RepoName, u64>,
    due: Vec<Key>,
    saved: BTreeMap<(AgentId, String), Option<Saved>>,
}

/// An entity on its way from a store into the facts.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    Repo(crate::agent::Counters),
    Task(Box<Task>),
    Lease(Box<Lease>),
    Decision(Box<crate::decision::Decision>),
    Agent(crate::agent::Agent),
    Memory(Box<crate::memory::Memory>),
    Directive(Box<crate::directive::Directive>),
    PastLease(Box<crate::lease::PastLease>),
    Post(Box<crate::post::Post>),
    Run(Box<crate::run::Run>),
    Budget(Box<crate::budget::Budget>),
}

/// How stores fill in the facts.
impl Facts {
    pub fn at(moment: Moment, head: Head) -> Facts {
        Facts { moment, head, ..Facts::default() }
    }

    /// Tells whether the entity of this key has been loaded or is known not to exist.
    pub fn knows(&self, key: &Key) -> bool {
        self.known.contains(key)
    }

    pub fn has_answer(&self, need: &Need) -> bool {
        if let Need::Entity(key) = need { self.knows(key) } else { self.answered.contains(need) }
    }

    /// Puts in an entity, or its absence. What is known already stays as it is.
    pub fn put(&mut self, key: Key, entity: Option<Entity>) {
        if !self.known.insert(key.clone()) {
            return;
        }
        if let Some(entity) = entity {
            self.state.put(key, entity);
        }
    }

    /// Returns how paths are compared in a repository as far as it is loaded; otherwise the rule that tells fewer apart.
    pub fn known_case_rule(&self, repo: &RepoName) -> CaseRule {
        if !self.knows(&Key::Repo(repo.clone())) {
            return CaseRule::Insensitive;
        }
        let set = self.state.repos.get(repo).and_then(|counters| counters.fold_case);
        set.map_or(self.case_rule, CaseRule::folding)
    }

    pub fn put_presence(&mut self, agent: AgentId, presence: Presence) {
        self.presence.entry(agent).or_insert(presence);
    }

    /// Marks a need whose entities have been put in as answered.
    pub fn mark_answered(&mut self, need: Need) {
        self.answered.insert(need);
    }

    pub fn put_prefix(&mut self, repo: RepoName, prefix: String, ids: Vec<TaskId>) {
        self.answered.insert(Need::TaskPrefix(repo.clone(), prefix.clone()));
        self.prefixes.entry((repo, prefix)).or_insert(ids);
    }

    pub fn put_dependants(&mut self, repo: RepoName, id: TaskId, ids: Vec<TaskId>) {
        self.answered.insert(Need::Dependants(repo.clone(), id.clone()));
        self.dependants.entry((repo, id)).or_insert(ids);
    }

    pub fn put_children(&mut self, repo: RepoName, id: TaskId, ids: Vec<TaskId>) {
        self.answered.insert(Need::Children(repo.clone(), id.clone()));
        self.children.entry((repo, id)).or_insert(ids);
    }

    /// Answers [`Need::Candidates`]: the places loaded, in order; fewer than a page means that is all.
    pub fn put_candidates(
        &mut self,
        repo: RepoName,
        after: Option<(u8, u64)>,
        places: &[(u8, u64)],
    ) {
        self.answered.insert(Need::Candidates(repo.clone(), after));
        let frontier =
            self.frontiers.entry(repo).or_insert(Frontier { last: None, exhausted: false });
        if frontier.last == after {
            frontier.last = places.last().copied().or(after);
            frontier.exhausted = places.len() < candidate_page(after);
        }
    }

    pub fn put_waiting(&mut self, repo: RepoName, count: u64) {
        self.answered.insert(Need::Waiting(repo.clone()));
        self.waiting.insert(repo, count);
    }

    pub fn put_due(&mut self, keys: Vec<Key>) {
        self.due = keys;
    }

    pub fn put_saved(&mut self, actor: AgentId, key: String, saved: Option<Saved>) {
        self.answered.insert(Need::Saved(actor.clone(), key.clone()));
        self.saved.entry((actor, key)).or_insert(saved);
    }
}

/// How the engine moves the facts on.
impl Facts {
    /// Gives an event its place, projects it, and returns it placed.
    pub fn apply(&mut self, draft: Draft) -> Placed {
        let seq = Seq(self.head.seq.0 + 1);
        let corrected = matches!(draft.event, Event::ClockCorrected(_));
        let ts = if corrected { self.moment.clock } else { self.moment.now.max(self.head.ts) };
        let placed = Placed { seq, ts, draft };
        let creates = |key: &Key| match key {
            Key::Task(..) => matches!(placed.draft.event, Event::TaskCreated(_)),
            Key::Lease(..) => matches!(placed.draft.event, Event::FileLocked(_)),
            Key::Decision(..) => matches!(placed.draft.event, Event::DecisionAsked(_)),
            Key::Memory(..) => matches!(placed.draft.event, Event::MemoryWritten(_)),
            Key::Directive(..) => matches!(placed.draft.event, Event::DirectiveCreated(_)),
            // Only the end of a lease names it.
            Key::PastLease(..) => true,
            Key::Post(..) => matches!(
                placed.draft.event,
                Event::ChangeNoted(_) | Event::MessageSent(_) | Event::Merged(_)
            ),
            Key::Run(..) => matches!(placed.draft.event, Event::RunQueued(_)),
            Key::Budget(..) => false,
            Key::Repo(_) | Key::Agent(_) => true,
        };
        // Changing what was never loaded would look like a deletion to the store.
        let keys = self.state.apply(&placed, |key| {
            let seen = self.known.contains(key) || creates(key);
            debug_assert!(seen, "BUG: an event changes {key:?}, which no rule has looked at");
            seen
        });
        for key in keys {
            self.known.insert(key.clone());
            self.dirty.insert(key.clone());
            self.changed.insert(key);
        }
        self.head.seq = seq;
        self.head.ts = ts;
        if corrected {
            self.moment = Moment { now: ts, woke_at: None, clock: ts };
            self.presence.values_mut().for_each(|signs| signs.correct(ts));
        }
        placed
    }

    /// Notes a sign of life, unless the last one is younger than `every`; tells whether it did.
    pub fn touch(&mut self, agent: &AgentId, fence: Option<Fence>, every: Millis) -> bool {
        let now = self.moment.now;
        let presence = self.presence.entry(agent.clone()).or_default();
        let last = match fence {
            Some(fence) => presence.by_fence.get(&fence).copied(),
            None => presence.general,
        };
        if last.is_some_and(|last| now.since(last) < every && last <= now) {
            return false;
        }
        // A clock that was set back does not take a sign of life back.
        let seen = last.unwrap_or_default().max(now);
        match fence {
            Some(fence) => {
                presence.by_fence.insert(fence, seen);
            }
            None => presence.general = Some(seen),
        }
        true
    }

    pub fn remember(&mut self, actor: AgentId, key: String, saved: Saved) {
        self.saved.insert((actor, key), Some(saved));
    }

    /// Takes the entities out, and the signs of life of agents that were loaded.
    pub fn into_known(mut self) -> (State, BTreeMap<AgentId, Presence>) {
        // Only with its agent are signs of life loaded whole.
        self.presence.retain(|agent, _| self.known.contains(&Key::Agent(agent.clone())));
        (self.state, self.presence)
    }

    pub fn take_dirty(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.dirty)
    }
}

pub fn candidate_page(after: Option<(u8, u64)>) -> usize {
    if after.is_none() { CANDIDATES_FIRST } else { CANDIDATE_PAGE }
}

/// Where a task stands in the order of claiming.
pub fn place(task: &Task) -> (u8, u64) {
    (task.priority.rank(), task.number)
}
