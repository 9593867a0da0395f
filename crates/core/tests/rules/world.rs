//! A store and an engine for tests: everything in maps, found by looking at everything.

use crate::invariants;
use comity_core::chain::{Head, Stored};
use comity_core::command::{Command, FileAction, Request};
use comity_core::decide::{Answer, check_input, decide, needs, sweep};
use comity_core::decision::Decision;
use comity_core::event::{Draft, Event, Placed};
use comity_core::facts::{Facts, Halt, Moment, Presence, Ruling};
use comity_core::ids::{AgentId, DecisionId, Fence, LeaseId, RepoName, TaskId};
use comity_core::lease::Lease;
use comity_core::observed::{
    ClaimSeen, FileChange, LeaseSeen, MergeSeen, Observed, RulesSeen, WorkSeen,
};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::state::{Key, State};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use std::collections::BTreeMap;

/// Loads that one rule may ask for.
const LOADS_MAX: usize = 10_000;

pub const ANN: &str = "human:ann";
pub const BOB: &str = "human:bob";
pub const IMPL: &str = "agent.impl.1";
pub const OTHER: &str = "agent.impl.2";
pub const CRITIC: &str = "agent.critic";
pub const PLANNER: &str = "agent.planner";
pub const INTEGRATOR: &str = "agent.integrator";
pub const WATCHER: &str = "agent.watchdog";
pub const OBSERVER: &str = "agent.scout";

pub fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

/// What an accepted command did.
#[derive(Debug)]
pub struct Done {
    pub answer: Answer,
    /// What time did first.
    pub expired: Vec<Placed>,
    /// What the command did.
    pub events: Vec<Placed>,
}

impl Done {
    /// The names of the command's own events.
    pub fn names(&self) -> Vec<&str> {
        self.events.iter().map(|placed| placed.draft.event.name()).collect()
    }

    /// The names of the events of what had expired.
    pub fn expired_names(&self) -> Vec<&str> {
        self.expired.iter().map(|placed| placed.draft.event.name()).collect()
    }

    pub fn task_id(&self) -> String {
        match &self.answer {
            Answer::Task(id) | Answer::Claimed(id, _) | Answer::HandedIn(id, _) => id.to_string(),
            other => panic!("no task in {other:?}"),
        }
    }

    pub fn lease_ids(&self) -> Vec<String> {
        match &self.answer {
            Answer::Claimed(_, ids) | Answer::Leases(ids) | Answer::Released(ids) => {
                ids.iter().map(ToString::to_string).collect()
            }
            other => panic!("no leases in {other:?}"),
        }
    }
}

pub type Verdict = Result<Done, Refusal>;

/// Makes tests read as sentences.
pub trait Expect {
    fn accepted(self) -> Done;
    fn refused(self, code: Code) -> Refusal;
}

impl Expect for Verdict {
    #[track_caller]
    fn accepted(self) -> Done {
        match self {
            Ok(done) => done,
            Err(refusal) => panic!("refused: {refusal} {:?}", refusal.details),
        }
    }

    #[track_caller]
    fn refused(self, code: Code) -> Refusal {
        match self {
            Ok(done) => panic!("accepted with {:?} instead of {code}", done.names()),
            Err(refusal) => {
                assert_eq!(refusal.code, code, "{refusal}");
                refusal
            }
        }
    }
}

/// What a door sees where all is well.
pub fn good_eyes(command: &Command, task: Option<&Task>) -> Observed {
    let wanted = command.wants_seen();
    let claim = ClaimSeen { base: "b45e".to_owned(), head: None };
    let version = task.map_or(0, |task| task.version);
    let work = wanted.work.map(|given| {
        let reported = given.report.as_ref().and_then(|report| report.listed_files());
        let file =
            |path: &str, action| FileChange { path: path.to_owned(), action, moved_from: None };
        let said = reported.unwrap_or_default().iter();
        let mut files: Vec<FileChange> = said.map(|said| file(&said.path, said.action)).collect();
        if reported.is_none() {
            files.push(file("src/lib.rs", FileAction::Modified));
        }
        WorkSeen {
            task_version: version,
            commit: given.commit.clone().unwrap_or_else(|| "c0ffee1".to_owned()),
            branch: given.branch.clone(),
            base: "b45e".to_owned(),
            files,
            ..WorkSeen::default()
        }
    });
    let merge = wanted.merge.map(|merged| MergeSeen {
        task_version: version,
        merged: merged.unwrap_or("0bad1dea").to_owned(),
        contains: true,
        added: Vec::new(),
        files: Vec::new(),
        subject: None,
    });
    let lease = wanted.lease.map(|_| LeaseSeen::default());
    Observed {
        claim: wanted.claim.then_some(claim),
        work,
        merge,
        lease,
        rules: wanted.rules.then_some(RulesSeen::NoneThere),
        ..Observed::default()
    }
}

#[derive(Clone)]
pub struct World {
    pub state: State,
    pub log: Vec<Placed>,
    pub stored: Vec<Stored>,
    /// What the stored events give when they are replayed from empty.
    pub replayed: State,
    pub moment: Moment,
    pub presence: BTreeMap<AgentId, Presence>,
    pub policy: Policy,
    pub repo: RepoName,
    /// How many due keys a sweep is shown at most.
    pub due_max: usize,
    /// Whether the doors of this world see nothing.
    pub blind: bool,
}

impl World {
    /// A world without anybody in it.
    pub fn empty() -> World {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        World {
            state: State::default(),
            log: Vec::new(),
            stored: Vec::new(),
            replayed: State::default(),
            moment: Moment { now, woke_at: None, clock: now },
            presence: BTreeMap::new(),
            policy: Policy::default(),
            repo: RepoName::parse("acme/app").unwrap(),
            due_max: usize::MAX,
            blind: false,
        }
    }

    /// A world with one agent of each role, and a second implementer.
    pub fn new() -> World {
        let mut world = World::empty();
        for (who, role) in [
            (IMPL, Role::Implementer),
            (OTHER, Role::Implementer),
            (CRITIC, Role::Critic),
            (PLANNER, Role::Planner),
            (INTEGRATOR, Role::Integrator),
            (WATCHER, Role::Watchdog),
            (OBSERVER, Role::Observer),
        ] {
            world.give_roles(who, &[role]);
        }
        world
    }

    pub fn give_roles(&mut self, who: &str, roles: &[Role]) {
        let command =
            Command::AgentRegister { id: id(who), roles: roles.to_vec(), skills: Vec::new() };
        self.by(ANN).does(command).accepted();
    }

    pub fn head(&self) -> Head {
        self.stored.last().map(Stored::head).unwrap_or_default()
    }

    pub fn now(&self) -> Timestamp {
        self.moment.now
    }

    /// Lets time go by.
    pub fn pass(&mut self, secs: i64) {
        self.moment.now = self.moment.now.plus(Millis::from_secs(secs));
    }

    /// Lets the host sleep for a time; it wakes now.
    pub fn sleep_host(&mut self, secs: i64) {
        self.pass(secs);
        self.moment.woke_at = Some(self.moment.now);
    }

    pub fn request(&self, who: &str, fence: Option<u64>, command: Command) -> Request {
        Request {
            actor: id(who),
            repo: self.repo.clone(),
            fence: fence.and_then(Fence::new),
            key: None,
            via: Via { host: Some("host-1".to_owned()), ..Via::default() },
            workspace: Some("/trees/one".to_owned()),
            command,
            observed: Observed::default(),
        }
    }

    /// Runs one command as an engine would: form, expiry, rule, projection, sign of life.
    pub fn run(&mut self, request: &Request) -> Verdict {
        check_input(request)?;
        let mut facts = self.facts();
        facts.put_due(self.due());
        let policy = self.policy.clone();
        let swept = self.settle(&mut facts, |facts| sweep(facts, &policy)).unwrap();
        let expired = self.append(&mut facts, swept.events);
        let request = &self.with_eyes(request, &facts);
        for need in needs(request) {
            self.load(&need, &mut facts);
        }
        let before = facts.clone();
        let verdict = self.settle(&mut facts, |facts| decide(facts, request, &policy));
        assert_eq!(before.head, facts.head, "deciding changes nothing");
        let verdict = verdict.map(|outcome| {
            let events = self.append(&mut facts, outcome.events);
            if request.command != Command::Sweep
                && facts.touch(&request.actor, request.fence, Millis::default())
            {
                self.note_life(&request.actor, request.fence);
            }
            Done { answer: outcome.answer, expired, events }
        });
        self.write_rows(&mut facts);
        invariants::check(self);
        verdict
    }

    /// Fills in what a door would see of good work, where nothing else was seen.
    pub fn with_eyes(&self, request: &Request, facts: &Facts) -> Request {
        let mut request = request.clone();
        if self.blind {
            return request;
        }
        if request.observed != Observed::default() {
            let rules = request.command.wants_seen().rules.then_some(RulesSeen::NoneThere);
            request.observed.rules = request.observed.rules.or(rules);
            return request;
        }
        let id = request.command.task_ref().unwrap_or_default();
        let swept = facts.state.tasks.values().find(|task| task.id.as_str() == id);
        let task =
            swept.or(self.state.tasks.values().find(|task| task.id.as_str().starts_with(id)));
        request.observed = good_eyes(&request.command, task.map(Box::as_ref));
        request
    }

    pub fn facts(&self) -> Facts {
        let mut facts = Facts::at(self.moment, self.head());
        facts.case_rule = self.policy.case_rule();
        facts
    }

    fn note_life(&mut self, agent: &AgentId, fence: Option<Fence>) {
        let presence = self.presence.entry(agent.clone()).or_default();
        match fence {
            Some(fence) => {
                presence.by_fence.insert(fence, self.moment.now);
            }
            None => presence.general = Some(self.moment.now),
        }
    }

    /// Runs a rule, loading what it asks for.
    pub fn settle<T>(
        &self,
        facts: &mut Facts,
        rule: impl Fn(&Facts) -> Ruling<T>,
    ) -> Result<T, Refusal> {
        for _ in 0..LOADS_MAX {
            match rule(facts) {
                Ok(answer) => return Ok(answer),
                Err(Halt::Refuse(refusal)) => return Err(*refusal),
                Err(Halt::Need(need)) => {
                    assert!(!facts.has_answer(&need), "asked again for {need:?}");
                    self.load(&need, facts);
                }
            }
        }
        panic!("a rule asked for more without end");
    }

    /// Reads through facts that nothing was loaded into yet.
    pub fn read<T>(&self, rule: impl Fn(&Facts) -> Ruling<T>) -> T {
        self.settle(&mut self.facts(), rule).unwrap()
    }

    pub fn append(&mut self, facts: &mut Facts, drafts: Vec<Draft>) -> Vec<Placed> {
        let mut placed = Vec::new();
        for draft in drafts {
            if let Event::StatusChanged(change) = &draft.event {
                let task = draft.task.clone().unwrap();
                let found = facts.state.tasks.get(&(draft.repo.clone(), task)).unwrap();
                assert_eq!(found.status, change.old_status, "{} says what it was", found.id);
                let (old, new) = (change.old_status, change.new_status);
                assert!(old.may_become(new), "the table has no {old} → {new}");
            }
            let event = facts.apply(draft);
            let stored = Stored::seal(&event, self.head().hash).unwrap();
            assert_eq!(stored.problem_after(&self.head()), None);
            facts.head.hash = stored.hash;
            // Through the bytes that are stored, not through memory.
            let body = stored.body.as_deref().unwrap();
            let read = Event::decode(&stored.event, body).unwrap();
            assert_eq!(read, event.draft.event);
            assert_eq!(Via::of_body(body), event.draft.via);
            let draft = Draft { event: read, ..event.draft.clone() };
            self.replayed.apply(&Placed { draft, ..event.clone() }, |_| true);
            self.stored.push(stored);
            self.log.push(event.clone());
            placed.push(event);
        }
        placed
    }

    /// Writes the rows that changed, absent meaning deleted, as a store does.
    pub fn write_rows(&mut self, facts: &mut Facts) {
        fn copy<K: Ord + Clone, V: Clone>(key: &K, from: &BTreeMap<K, V>, to: &mut BTreeMap<K, V>) {
            match from.get(key) {
                Some(value) => to.insert(key.clone(), value.clone()),
                None => to.remove(key),
            };
        }
        for key in facts.take_dirty() {
            let (from, to) = (&facts.state, &mut self.state);
            match key {
                Key::Repo(repo) => copy(&repo, &from.repos, &mut to.repos),
                Key::Task(repo, id) => copy(&(repo, id), &from.tasks, &mut to.tasks),
                Key::Lease(repo, id) => copy(&(repo, id), &from.leases, &mut to.leases),
                Key::Decision(repo, id) => copy(&(repo, id), &from.decisions, &mut to.decisions),
                Key::Agent(id) => copy(&id, &from.agents, &mut to.agents),
                Key::Memory(repo, id) => copy(&(repo, id), &from.memories, &mut to.memories),
                Key::Directive(repo, id) => {
                    copy(&(repo, id), &from.directives, &mut to.directives);
                }
                Key::PastLease(repo, id) => {
                    copy(&(repo, id), &from.past_leases, &mut to.past_leases);
                }
                Key::Post(repo, id) => copy(&(repo, id), &from.posts, &mut to.posts),
                Key::Run(repo, id) => copy(&(repo, id), &from.runs, &mut to.runs),
                Key::Budget(repo, scope) => copy(&(repo, scope), &from.budgets, &mut to.budgets),
            }
        }
    }

    /// Everything that could be due: too many, never too few.
    pub fn due(&self) -> Vec<Key> {
        let state = &self.state;
        let mut keys: Vec<Key> =
            state.leases.keys().map(|(repo, id)| Key::Lease(repo.clone(), *id)).collect();
        keys.extend(state.tasks.keys().map(|(repo, id)| Key::Task(repo.clone(), id.clone())));
        keys.extend(state.decisions.keys().map(|(repo, id)| Key::Decision(repo.clone(), *id)));
        keys.extend(state.memories.keys().map(|(repo, id)| Key::Memory(repo.clone(), *id)));
        keys.extend(state.directives.keys().map(|(repo, id)| Key::Directive(repo.clone(), *id)));
        keys.extend(state.runs.keys().map(|(repo, id)| Key::Run(repo.clone(), *id)));
        keys.truncate(self.due_max);
        keys
    }
}

/// How tests look at the world.
impl World {
    #[track_caller]
    pub fn task(&self, text: &str) -> &Task {
        let key = (self.repo.clone(), TaskId::parse(text).unwrap());
        self.state.tasks.get(&key).unwrap_or_else(|| panic!("there is no task {text}"))
    }

    #[track_caller]
    pub fn status(&self, text: &str) -> Status {
        self.task(text).status
    }

    #[track_caller]
    pub fn fence(&self, text: &str) -> u64 {
        self.task(text).claim.as_ref().expect("the task has no claim").fence.get()
    }

    pub fn lease(&self, text: &str) -> Option<&Lease> {
        self.state.leases.get(&(self.repo.clone(), LeaseId::parse(text).unwrap()))
    }

    #[track_caller]
    pub fn decision(&self, text: &str) -> &Decision {
        let key = (self.repo.clone(), DecisionId::parse(text).unwrap());
        self.state.decisions.get(&key).unwrap_or_else(|| panic!("there is no decision {text}"))
    }

    /// The paths of an agent's leases, in the order they were taken.
    pub fn paths_of(&self, who: &str) -> Vec<&str> {
        let leases = self.state.leases.values().filter(|lease| lease.owner.as_str() == who);
        leases.map(|lease| lease.path.as_str()).collect()
    }
}
