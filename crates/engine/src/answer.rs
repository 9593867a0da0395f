//! Answers to commands, read from the facts after the events are applied.

use crate::batch::settle;
use crate::view::event;
use comity_api::{
    AgentAnswer, AnsweredDecision, BudgetsAnswer, ClaimAnswer, DecisionAnswer, DirectiveAnswer,
    EventAnswer, GateAnswer, InterfaceAnswer, LeasesAnswer, MemoryAnswer, PadAnswer,
    ReleasedAnswer, RunAnswer, SeatAnswer, SubmitAnswer, SweptAnswer, TaskAnswer, TasksAnswer,
    ToldAnswer,
};
use comity_core::chain::Stored;
use comity_core::command::Request;
use comity_core::decide;
use comity_core::decision::{Decision, DecisionState};
use comity_core::facts::{Facts, Ruling};
use comity_core::ids::{AgentId, LeaseId, RepoName, TaskId};
use comity_core::limits;
use comity_core::policy::Policy;
use comity_core::post::{Post, PostKind};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::time::Millis;
use comity_core::view::{self, HoldsView, LeaseView, TaskView};
use comity_protocol::mission::{Mission, mission};
use comity_store::{LeaseQuery, ReadTx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a command is answered with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Task(Box<TaskAnswer>),
    Submitted(Box<SubmitAnswer>),
    Tasks(TasksAnswer),
    Claim(Box<ClaimAnswer>),
    Leases(Box<LeasesAnswer>),
    Released(ReleasedAnswer),
    Agent(AgentAnswer),
    Decision(Box<DecisionAnswer>),
    Answered(Box<AnsweredDecision>),
    Gate(Box<GateAnswer>),
    Memory(Box<MemoryAnswer>),
    Directive(Box<DirectiveAnswer>),
    Run(Box<RunAnswer>),
    Budget(Box<BudgetsAnswer>),
    Seat(SeatAnswer),
    Event(Box<EventAnswer>),
    Message(ToldAnswer),
    Pad(Box<PadAnswer>),
    Interface(Box<InterfaceAnswer>),
    Swept(SweptAnswer),
}

/// The answer to a command: a new one, or the first one again, as it was given under the same idempotency key.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    New(Answer),
    /// The JSON of the first answer.
    Again(String),
}

/// An output that is the answer to commands.
pub trait CommandOutput: DeserializeOwned {
    /// Takes the answer apart; none when it is of another kind.
    fn of(answer: Answer) -> Option<Self>;

    /// Reads an answer that was remembered.
    fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Returns the task that the answer is about, where it is about one.
    fn task(&self) -> Option<&TaskView> {
        None
    }
}

macro_rules! outputs {
    ($($variant:ident($type:ty): $read:expr;)*) => {
        $(impl CommandOutput for $type {
            fn of(answer: Answer) -> Option<Self> {
                match answer {
                    Answer::$variant(answer) => Some($read(answer)),
                    _ => None,
                }
            }
        })*
    };
}

outputs! {
    Leases(LeasesAnswer): |answer: Box<LeasesAnswer>| *answer;
    Released(ReleasedAnswer): |answer| answer;
    Agent(AgentAnswer): |answer| answer;
    Decision(DecisionAnswer): |answer: Box<DecisionAnswer>| *answer;
    Answered(AnsweredDecision): |answer: Box<AnsweredDecision>| *answer;
    Gate(GateAnswer): |answer: Box<GateAnswer>| *answer;
    Memory(MemoryAnswer): |answer: Box<MemoryAnswer>| *answer;
    Directive(DirectiveAnswer): |answer: Box<DirectiveAnswer>| *answer;
    Run(RunAnswer): |answer: Box<RunAnswer>| *answer;
    Budget(BudgetsAnswer): |answer: Box<BudgetsAnswer>| *answer;
    Seat(SeatAnswer): |answer| answer;
    Event(EventAnswer): |answer: Box<EventAnswer>| *answer;
    Message(ToldAnswer): |answer| answer;
    Pad(PadAnswer): |answer: Box<PadAnswer>| *answer;
    Interface(InterfaceAnswer): |answer: Box<InterfaceAnswer>| *answer;
    Swept(SweptAnswer): |answer| answer;
}

impl CommandOutput for ClaimAnswer {
    fn of(answer: Answer) -> Option<ClaimAnswer> {
        match answer {
            Answer::Claim(answer) => Some(*answer),
            _ => None,
        }
    }

    fn task(&self) -> Option<&TaskView> {
        Some(&self.task)
    }
}

impl CommandOutput for TaskAnswer {
    fn task(&self) -> Option<&TaskView> {
        Some(&self.task)
    }

    fn of(answer: Answer) -> Option<TaskAnswer> {
        match answer {
            Answer::Task(answer) => Some(*answer),
            // A claim is a change of its task, for whoever asked for no more.
            Answer::Claim(answer) => Some(TaskAnswer { task: answer.task }),
            Answer::Submitted(answer) => Some(TaskAnswer { task: answer.task }),
            _ => None,
        }
    }
}

/// Several operations may be about one task: then that one is the list.
impl CommandOutput for TasksAnswer {
    fn of(answer: Answer) -> Option<TasksAnswer> {
        match answer {
            Answer::Tasks(answer) => Some(answer),
            other => Some(one_task(TaskAnswer::of(other)?)),
        }
    }

    fn read(text: &str) -> serde_json::Result<TasksAnswer> {
        serde_json::from_str(text).or_else(|_| serde_json::from_str(text).map(one_task))
    }
}

fn one_task(TaskAnswer { task }: TaskAnswer) -> TasksAnswer {
    TasksAnswer { tasks: vec![task], next: None }
}

impl CommandOutput for SubmitAnswer {
    fn task(&self) -> Option<&TaskView> {
        Some(&self.task)
    }

    fn of(answer: Answer) -> Option<SubmitAnswer> {
        match answer {
            Answer::Submitted(answer) => Some(*answer),
            // A report that is not completed stops the task instead.
            Answer::Task(answer) => Some(SubmitAnswer::of_task(answer.task)),
            _ => None,
        }
    }
}

impl Reply {
    pub fn take<T: CommandOutput>(self) -> Result<T, Refusal> {
        match self {
            Reply::New(answer) => T::of(answer)
                .ok_or_else(|| Refusal::new(Code::Internal, "BUG: an answer of another kind")),
            Reply::Again(text) => T::read(&text).map_err(|error| {
                Refusal::new(Code::Internal, format!("a remembered answer does not read: {error}"))
            }),
        }
    }

    /// Returns a task of a new answer: the one that it is about, or the one with that id among several.
    pub fn task(&self, id: Option<&str>) -> Option<&TaskView> {
        match self {
            Reply::New(Answer::Tasks(answer)) => {
                answer.tasks.iter().find(|task| Some(task.id.as_str()) == id)
            }
            Reply::New(Answer::Task(answer)) => Some(&answer.task),
            Reply::New(Answer::Submitted(answer)) => Some(&answer.task),
            Reply::New(Answer::Claim(answer)) => Some(&answer.task),
            _ => None,
        }
    }

    pub fn into_json(self) -> Result<Value, Refusal> {
        let made = match self {
            Reply::New(answer) => serde_json::to_value(answer),
            Reply::Again(text) => serde_json::from_str(&text),
        };
        made.map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))
    }

    /// Returns the JSON that is remembered under a key.
    pub(crate) fn text(&self) -> Result<String, Refusal> {
        match self {
            Reply::New(answer) => serde_json::to_string(answer)
                .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}"))),
            Reply::Again(text) => Ok(text.clone()),
        }
    }
}

fn submitted(task: TaskView, said: decide::HandedIn) -> SubmitAnswer {
    let decide::HandedIn { undeclared, shared_with, violations } = said;
    SubmitAnswer { task, undeclared, shared_with, violations }
}

/// Makes the answer to a command whose own events are given.
#[expect(clippy::too_many_lines, reason = "one arm a kind of answer")]
pub(crate) fn render(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    request: &Request,
    answer: &decide::Answer,
    events: &[Stored],
    policy: &Policy,
) -> Result<Answer, Refusal> {
    let (repo, caller) = (&request.repo, &request.actor);
    match answer {
        decide::Answer::Task(id) => settle(tx, facts, |facts| {
            let task = view::task(facts, task(facts, repo, id)?, policy, Some(caller))?;
            Ok(Answer::Task(Box::new(TaskAnswer { task })))
        }),
        decide::Answer::HandedIn(id, said) => settle(tx, facts, |facts| {
            let task = view::task(facts, task(facts, repo, id)?, policy, Some(caller))?;
            Ok(Answer::Submitted(Box::new(submitted(task, said.clone()))))
        }),
        decide::Answer::Tasks(ids) => settle(tx, facts, |facts| {
            let mut tasks = Vec::new();
            for id in ids {
                tasks.push(view::task(facts, task(facts, repo, id)?, policy, Some(caller))?);
            }
            Ok(Answer::Tasks(TasksAnswer { tasks, next: None }))
        }),
        decide::Answer::Gate(id, name) => settle(tx, facts, |facts| {
            let gates = view::gates(task(facts, repo, id)?, policy);
            let gate = gates.into_iter().find(|gate| gate.name == *name);
            Ok(Answer::Gate(Box::new(GateAnswer { gate: gate.ok_or_else(|| lost("gate"))? })))
        }),
        decide::Answer::Claimed(id, leases) => settle(tx, facts, |facts| {
            Ok(Answer::Claim(Box::new(claimed(facts, repo, id, leases, policy)?)))
        }),
        decide::Answer::Leases(ids) => settle(tx, facts, |facts| {
            let leases = leases(facts, repo, ids)?;
            Ok(Answer::Leases(Box::new(LeasesAnswer { leases, brief: None })))
        }),
        decide::Answer::Released(ids) => Ok(released(ids)),
        decide::Answer::Agent(id) => agent(tx, facts, repo, id),
        decide::Answer::Decision(id) => settle(tx, facts, |facts| {
            let decision = facts.decision(repo, *id)?.ok_or_else(|| lost("decision"))?;
            let decision = view::decision(decision);
            Ok(Answer::Decision(Box::new(DecisionAnswer { decision })))
        }),
        decide::Answer::Answered(id, made) => settle(tx, facts, |facts| {
            let decision = facts.decision(repo, *id)?.ok_or_else(|| lost("decision"))?;
            let decision = view::decision(decision);
            let made = match made {
                Some(id) => Some(view::task(facts, task(facts, repo, id)?, policy, Some(caller))?),
                None => None,
            };
            Ok(Answer::Answered(Box::new(AnsweredDecision { decision, task: made })))
        }),
        decide::Answer::Memory(id) => settle(tx, facts, |facts| {
            let memory = facts.memory(repo, *id)?.ok_or_else(|| lost("memory"))?;
            Ok(Answer::Memory(Box::new(MemoryAnswer { memory: view::memory(memory) })))
        }),
        decide::Answer::Forgotten(memory) => {
            Ok(Answer::Memory(Box::new(MemoryAnswer { memory: view::memory(memory) })))
        }
        decide::Answer::Directive(id) => settle(tx, facts, |facts| {
            let directive = facts.directive(repo, *id)?.ok_or_else(|| lost("directive"))?;
            let directive = view::directive(directive);
            Ok(Answer::Directive(Box::new(DirectiveAnswer { directive })))
        }),
        decide::Answer::Deleted(directive) => {
            let directive = view::directive(directive);
            Ok(Answer::Directive(Box::new(DirectiveAnswer { directive })))
        }
        decide::Answer::Run(id) => settle(tx, facts, |facts| {
            let run = facts.run(repo, *id)?.ok_or_else(|| lost("run"))?;
            Ok(Answer::Run(Box::new(RunAnswer { run: view::run(run) })))
        }),
        decide::Answer::Budget(scope) => settle(tx, facts, |facts| {
            let budget = facts.budget(repo, scope)?.ok_or_else(|| lost("budget"))?;
            let budgets = view::budget(budget, &policy.fleet, facts.moment.now);
            Ok(Answer::Budget(Box::new(BudgetsAnswer { budgets })))
        }),
        decide::Answer::Seat(name) => settle(tx, facts, |facts| {
            let counters = facts.counters(repo)?;
            let seat = counters.seats.get(name);
            Ok(Answer::Seat(SeatAnswer { seat: seat.map(|seat| view::seat(name, seat)) }))
        }),
        decide::Answer::Event(place) => {
            let stored = events.get(*place).ok_or_else(|| lost("event"))?;
            Ok(Answer::Event(Box::new(EventAnswer { event: event(stored) })))
        }
        decide::Answer::Post(id) => settle(tx, facts, |facts| {
            Ok(posted(facts.post(repo, id)?.ok_or_else(|| lost("post"))?))
        }),
        decide::Answer::Swept => Ok(Answer::Swept(SweptAnswer::default())),
    }
}

fn posted(post: &Post) -> Answer {
    match post.kind {
        PostKind::Pad => {
            let pad = view::pad(post.id.name(), Some(post));
            Answer::Pad(Box::new(PadAnswer { pad }))
        }
        PostKind::Interface => {
            let interface = view::interface(post);
            Answer::Interface(Box::new(InterfaceAnswer { interface, diff: None }))
        }
        PostKind::Change | PostKind::Message => {
            Answer::Message(ToldAnswer { message: view::message(post) })
        }
    }
}

fn released(ids: &[LeaseId]) -> Answer {
    let released = ids.iter().map(ToString::to_string).collect();
    Answer::Released(ReleasedAnswer { released })
}

fn lost(what: &str) -> Refusal {
    Refusal::new(Code::Internal, format!("BUG: the {what} is not there after the command"))
}

fn task<'a>(facts: &'a Facts, repo: &RepoName, id: &TaskId) -> Ruling<&'a Task> {
    Ok(facts.task(repo, id)?.ok_or_else(|| lost("task"))?)
}

fn leases(facts: &Facts, repo: &RepoName, ids: &[LeaseId]) -> Ruling<Vec<LeaseView>> {
    let mut views = Vec::new();
    for id in ids {
        let lease = facts.lease(repo, *id)?.ok_or_else(|| lost("lease"))?;
        views.push(view::lease(facts, lease)?);
    }
    Ok(views)
}

fn claimed(
    facts: &Facts,
    repo: &RepoName,
    id: &TaskId,
    ids: &[LeaseId],
    policy: &Policy,
) -> Ruling<ClaimAnswer> {
    let task = task(facts, repo, id)?;
    Ok(ClaimAnswer {
        task: view::task(facts, task, policy, None)?,
        fence: task.claim.as_ref().map(|claim| claim.fence.get()),
        leases: leases(facts, repo, ids)?,
        branch: task.branch.clone(),
        checkout: None,
        mission: mission_of(facts, task)?,
        brief: None,
    })
}

/// Makes the mission for a task, with the answers to its questions.
pub(crate) fn mission_of(facts: &Facts, task: &Task) -> Ruling<Mission> {
    let mut answered: Vec<&Decision> = Vec::new();
    for id in &task.decisions {
        if let Some(decision) = facts.decision(&task.repo, *id)?
            && matches!(decision.state, DecisionState::Answered | DecisionState::Defaulted)
        {
            answered.push(decision);
        }
    }
    Ok(mission(task, &answered))
}

fn agent(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    repo: &RepoName,
    id: &AgentId,
) -> Result<Answer, Refusal> {
    let holds = holds(tx, facts, repo, id)?;
    let now = facts.moment.now;
    settle(tx, facts, |facts| {
        let agent = facts.agent(id)?.ok_or_else(|| lost("agent"))?;
        let agent = view::agent(agent, &facts.presence(id)?, holds.clone(), now);
        Ok(Answer::Agent(AgentAnswer { agent }))
    })
}
/// Lists what an agent holds, as far as a page goes: ids of this repository, and `REPO#ID` for others.
pub(crate) fn holds(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    here: &RepoName,
    agent: &AgentId,
) -> Result<HoldsView, Refusal> {
    let stored = tx.held_by(agent, limits::PAGE_MAX)?;
    let mut holds = HoldsView::default();
    let named = |repo: &RepoName, id: String| {
        if repo == here { id } else { format!("{repo}#{id}") }
    };
    let mut repos: Vec<RepoName> = Vec::new();
    for (repo, id) in stored {
        let live = settle(tx, facts, |facts| {
            let task = facts.task(&repo, &id)?;
            Ok(task.and_then(|task| task.claim.as_ref()).is_some_and(|claim| claim.agent == *agent))
        })?;
        if live {
            holds.tasks.push(named(&repo, id.to_string()));
        }
        if !repos.contains(&repo) {
            repos.push(repo);
        }
    }
    for repo in facts.state.repos.keys() {
        if !repos.contains(repo) {
            repos.push(repo.clone());
        }
    }
    for repo in repos {
        let query = LeaseQuery {
            repo: repo.clone(),
            owner: Some(agent.clone()),
            after: None,
            limit: limits::PAGE_MAX,
        };
        for lease in tx.leases(&query)? {
            let id = lease.id;
            if settle(tx, facts, |facts| Ok(facts.lease(&repo, id)?.is_some()))? {
                holds.leases.push(named(&repo, id.to_string()));
            }
        }
    }
    Ok(holds)
}

/// Returns the shortest life among the grants of an agent, and among the work that reviews sent back to it: that work
/// stays its own as long as it is heard of.
pub(crate) fn shortest_ttl(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    agent: &AgentId,
) -> Result<Option<Millis>, Refusal> {
    let mut shortest: Option<Millis> = None;
    let mut note = |ttl: Millis| shortest = Some(shortest.map_or(ttl, |known| known.min(ttl)));
    for (repo, id) in tx.held_by(agent, limits::PAGE_MAX)? {
        let ttl = settle(tx, facts, |facts| {
            let task = facts.task(&repo, &id)?;
            Ok(task.and_then(|task| task.claim.as_ref()).map(|claim| claim.ttl))
        })?;
        ttl.into_iter().for_each(&mut note);
    }
    let repos: Vec<RepoName> = facts.state.repos.keys().cloned().collect();
    for repo in repos {
        let sent_back = settle(tx, facts, |facts| {
            let tasks = facts.sent_back(&repo, agent)?;
            Ok(tasks.iter().filter_map(|task| task.last_ttl).min())
        })?;
        sent_back.into_iter().for_each(&mut note);
        let owner = Some(agent.clone());
        let query = LeaseQuery { repo, owner, after: None, limit: limits::PAGE_MAX };
        let leases = tx.leases(&query)?;
        leases.iter().map(|lease| lease.ttl).for_each(&mut note);
    }
    Ok(shortest)
}
