//! Answers in the shapes of the interface, read from the facts after the events are applied.

use crate::batch::settle;
use comity_core::chain::Stored;
use comity_core::decide::Answer;
use comity_core::decision::{Decision, DecisionState};
use comity_core::facts::{Facts, Ruling};
use comity_core::ids::{AgentId, LeaseId, RepoName, TaskId};
use comity_core::limits;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::time::Millis;
use comity_core::view::{self, HoldsView, LeaseView, TaskView};
use comity_protocol::mission::mission;
use comity_store::{LeaseQuery, ReadTx};
use serde_json::{Value, json};

/// An answer that has been read from the facts. The larger ones become JSON only where they are wanted:
/// the caller's thread has time for it, the one that writes has not.
pub(crate) enum Rendered {
    Value(Value),
    Task(Box<TaskView>),
    Claimed(Box<ClaimedView>),
}

/// What a claim is answered with, in the order of the interface.
pub(crate) struct ClaimedView {
    task: TaskView,
    fence: Option<u64>,
    leases: Vec<LeaseView>,
    branch: Option<String>,
    mission: Value,
}

impl Rendered {
    pub(crate) fn into_value(self) -> Value {
        match self {
            Rendered::Value(value) => value,
            Rendered::Task(task) => json!({"task": task}),
            Rendered::Claimed(claimed) => json!({
                "task": claimed.task,
                "fence": claimed.fence,
                "leases": claimed.leases,
                "branch": claimed.branch,
                "mission": claimed.mission,
            }),
        }
    }
}

/// Renders the answer to a command whose own events are given.
pub(crate) fn render(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    repo: &RepoName,
    answer: &Answer,
    events: &[Stored],
    policy: &Policy,
) -> Result<Rendered, Refusal> {
    let value = match answer {
        Answer::Task(id) => {
            return settle(tx, facts, |facts| {
                let view = view::task(facts, task(facts, repo, id)?, policy)?;
                Ok(Rendered::Task(Box::new(view)))
            });
        }
        Answer::Tasks(ids) => settle(tx, facts, |facts| {
            let mut views = Vec::new();
            for id in ids {
                views.push(view::task(facts, task(facts, repo, id)?, policy)?);
            }
            Ok(json!({"tasks": views, "next": null}))
        }),
        Answer::Claimed(id, leases) => {
            return settle(tx, facts, |facts| {
                Ok(Rendered::Claimed(Box::new(claimed(facts, repo, id, leases, policy)?)))
            });
        }
        Answer::Leases(ids) => {
            settle(tx, facts, |facts| Ok(json!({"leases": leases(facts, repo, ids)?})))
        }
        Answer::Released(ids) => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            Ok(json!({"released": ids}))
        }
        Answer::Agent(id) => agent(tx, facts, repo, id),
        Answer::Decision(id) => settle(tx, facts, |facts| {
            let decision = facts.decision(repo, *id)?.ok_or_else(|| lost("decision"))?;
            Ok(json!({"decision": view::decision(decision)}))
        }),
        Answer::Memory(id) => settle(tx, facts, |facts| {
            let memory = facts.memory(repo, *id)?.ok_or_else(|| lost("memory"))?;
            Ok(json!({"memory": view::memory(memory)}))
        }),
        Answer::Forgotten(memory) => Ok(json!({"memory": view::memory(memory)})),
        Answer::Directive(id) => settle(tx, facts, |facts| {
            let directive = facts.directive(repo, *id)?.ok_or_else(|| lost("directive"))?;
            Ok(json!({"directive": view::directive(directive)}))
        }),
        Answer::Deleted(directive) => Ok(json!({"directive": view::directive(directive)})),
        Answer::Event(place) => {
            let event = events.get(*place).ok_or_else(|| lost("event"))?;
            Ok(json!({"event": view::event(event)}))
        }
        Answer::Swept => Ok(Value::Null),
    };
    value.map(Rendered::Value)
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
) -> Ruling<ClaimedView> {
    let task = task(facts, repo, id)?;
    Ok(ClaimedView {
        task: view::task(facts, task, policy)?,
        fence: task.claim.as_ref().map(|claim| claim.fence.get()),
        leases: leases(facts, repo, ids)?,
        branch: task.branch.clone(),
        mission: mission_of(facts, task)?,
    })
}

/// Makes the mission for a task, with the answers to its questions.
pub(crate) fn mission_of(facts: &Facts, task: &Task) -> Ruling<Value> {
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
) -> Result<Value, Refusal> {
    let holds = holds(tx, facts, repo, id)?;
    let now = facts.moment.now;
    settle(tx, facts, |facts| {
        let agent = facts.agent(id)?.ok_or_else(|| lost("agent"))?;
        Ok(json!({"agent": view::agent(agent, &facts.presence(id)?, holds.clone(), now)}))
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

/// Returns the shortest life among the grants of an agent.
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
    for repo in facts.state.repos.keys() {
        let query = LeaseQuery {
            repo: repo.clone(),
            owner: Some(agent.clone()),
            after: None,
            limit: limits::PAGE_MAX,
        };
        let leases = tx.leases(&query)?;
        leases.iter().map(|lease| lease.ttl).for_each(&mut note);
    }
    Ok(shortest)
}
