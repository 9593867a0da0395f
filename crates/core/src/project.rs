//! Projection: what each event does to each entity. Pure, total, and local: an entity changes by the
//! event and its own past alone.

mod clock;
mod on_memory;
mod on_post;
mod on_run;
mod on_task;

pub use clock::correct;
pub use on_memory::{directive, memory};
pub use on_post::post;
pub use on_run::{budget, run};

use crate::agent::{Agent, Counters};
use crate::decision::{Decision, DecisionState};
use crate::event::{Event, Held, Placed, TakenOver};
use crate::ids::{LeaseId, RepoName};
use crate::lease::{Lease, PastLease};
use crate::seat::Seat;
use crate::state::Key;
use crate::task::Task;
use on_task::{change_task, new_task};
use serde_json::{Map, Value};

/// Names the entities that an event changes.
#[expect(clippy::too_many_lines, reason = "every event is named, so that none is forgotten")]
pub fn touched(placed: &Placed) -> Vec<Key> {
    let draft = &placed.draft;
    let repo = || draft.repo.clone();
    let mut keys = Vec::new();
    match &draft.event {
        Event::TaskCreated(_) | Event::RepositorySet(_) => keys.push(Key::Repo(repo())),
        Event::SeatTaken(_) | Event::SeatLeft(_) => return vec![Key::Repo(repo())],
        Event::FileLocked(e) => {
            keys.push(Key::Repo(repo()));
            keys.push(Key::Lease(repo(), e.lock_id));
        }
        Event::LeaseRenewed(e) => keys.push(Key::Lease(repo(), e.lock_id)),
        Event::LeaseReleased(e) => keys.extend(ended(&draft.repo, e.lock_id, e.held.as_ref())),
        Event::LocksReclaimed(e) => {
            let each = e.locks.iter();
            keys.extend(each.flat_map(|lock| ended(&draft.repo, lock.lock_id, lock.held.as_ref())));
        }
        Event::DecisionAsked(e) => {
            keys.push(Key::Repo(repo()));
            keys.push(Key::Decision(repo(), e.decision));
        }
        Event::DecisionAnswered(e) => keys.push(Key::Decision(repo(), e.decision)),
        Event::DecisionExpired(e) => keys.push(Key::Decision(repo(), e.decision)),
        Event::TakenOver(e) => return taken_over(e, &draft.repo),
        Event::AgentRegistered(e) | Event::AgentUpdated(e) => keys.push(Key::Agent(e.id.clone())),
        Event::AgentDescribed(e) => keys.push(Key::Agent(e.id.clone())),
        Event::Merged(_) => keys.extend(on_post::touched(placed.seq, draft)),
        Event::Reported(_)
        | Event::OutsideRefused(_)
        | Event::IssuePaused(_)
        | Event::IssueResumed(_)
        | Event::TextAccepted(_)
        | Event::Note(_)
        | Event::Error(_)
        | Event::ResultReported(_)
        | Event::EventsLost(_)
        | Event::ClockCorrected(_)
        | Event::Supervised(_)
        | Event::ContextReset(_) => {
            return keys;
        }
        Event::MemoryWritten(_)
        | Event::MemoryUpdated(_)
        | Event::MemorySuperseded(_)
        | Event::MemoryForgotten(_)
        | Event::MemoryExpired(_)
        | Event::DirectiveCreated(_)
        | Event::DirectiveToggled(_)
        | Event::DirectiveTriggered(_)
        | Event::DirectiveDeleted(_) => return on_memory::touched(draft),
        Event::ChangeNoted(_)
        | Event::MessageSent(_)
        | Event::PadWritten(_)
        | Event::InterfacePublished(_) => {
            return on_post::touched(placed.seq, draft).into_iter().collect();
        }
        Event::RunQueued(_)
        | Event::RunStarted(_)
        | Event::RunProgressed(_)
        | Event::RunWaiting(_)
        | Event::RunPaused(_)
        | Event::RunResumed(_)
        | Event::RunEnded(_)
        | Event::RunLost(_)
        | Event::Checkpoint(_)
        | Event::BudgetSet(_)
        | Event::BudgetReserved(_)
        | Event::BudgetSettled(_)
        | Event::BudgetReleased(_)
        | Event::BudgetBreached(_) => return on_run::touched(draft),
        Event::MergeStarted(e) => {
            return e.tasks.iter().map(|id| Key::Task(repo(), id.clone())).collect();
        }
        Event::MergeLanded(_) | Event::MergeEjected(_) | Event::MergeProbed(_) => return keys,
        Event::TaskUpdated(_)
        | Event::MergeQueued(_)
        | Event::TaskAssigned(_)
        | Event::TaskLinked(_)
        | Event::TaskClaimed(_)
        | Event::DependencyAdded(_)
        | Event::DependencyRemoved(_)
        | Event::StatusChanged(_)
        | Event::ReviewRequested(_)
        | Event::PrOpened(_)
        | Event::ReviewTaken(_)
        | Event::ReviewFeedback(_)
        | Event::Approved(_)
        | Event::Released(_)
        | Event::TestsRun(_)
        | Event::GateWaived(_)
        | Event::ItemChecked(_)
        | Event::SubtaskStarted(_)
        | Event::SubtaskCompleted(_) => {}
    }
    if changes_task(&draft.event)
        && let Some(task) = &draft.task
    {
        keys.push(Key::Task(repo(), task.clone()));
    }
    keys
}

/// The end of a lease leaves a record of it, if the event says how it was held.
fn ended(repo: &RepoName, id: LeaseId, held: Option<&Held>) -> impl Iterator<Item = Key> {
    let past = held.map(|_| Key::PastLease(repo.clone(), id));
    std::iter::once(Key::Lease(repo.clone(), id)).chain(past)
}

fn taken_over(event: &TakenOver, repo: &RepoName) -> Vec<Key> {
    let decision = event.decision.map(|id| Key::Decision(repo.clone(), id));
    let memory = event.memory.map(|id| Key::Memory(repo.clone(), id));
    let directive = event.directive.map(|id| Key::Directive(repo.clone(), id));
    decision.into_iter().chain(memory).chain(directive).collect()
}

/// Events that only tell about a task leave its row and version alone.
fn changes_task(event: &Event) -> bool {
    !matches!(
        event,
        Event::DecisionAnswered(_)
            | Event::DecisionExpired(_)
            | Event::Released(_)
            | Event::ReviewFeedback(_)
            | Event::Approved(_)
            | Event::AgentRegistered(_)
            | Event::AgentUpdated(_)
            | Event::AgentDescribed(_)
    )
}

/// Projects the numbers given out, and what was set.
pub fn counters(counters: &mut Counters, placed: &Placed) {
    match &placed.draft.event {
        Event::TaskCreated(e) => counters.tasks = counters.tasks.max(e.number),
        Event::FileLocked(e) => counters.leases = counters.leases.max(e.lock_id.0),
        Event::DecisionAsked(e) => counters.decisions = counters.decisions.max(e.decision.0),
        Event::MemoryWritten(e) => counters.memories = counters.memories.max(e.memory.0),
        Event::DirectiveCreated(e) => counters.directives = counters.directives.max(e.directive.0),
        Event::RepositorySet(e) => counters.fold_case = Some(e.fold_case),
        Event::SeatTaken(e) => {
            let seat = Seat {
                holder: placed.draft.agent.clone(),
                host: e.host.clone(),
                fence: e.fence,
                ttl: e.ttl,
                since: placed.ts,
            };
            counters.seats.insert(e.seat.clone(), seat);
        }
        Event::SeatLeft(e) => {
            counters.seats.remove(&e.seat);
        }
        _ => {}
    }
}

pub fn agent(before: Option<Agent>, placed: &Placed) -> Option<Agent> {
    match &placed.draft.event {
        Event::AgentRegistered(e) | Event::AgentUpdated(e) => {
            let (registered_at, about) = match before {
                Some(agent) => (agent.registered_at, agent.about),
                None => (placed.ts, Map::new()),
            };
            let (roles, skills) = (e.roles.clone(), e.skills.clone());
            Some(Agent { id: e.id.clone(), roles, skills, registered_at, about })
        }
        Event::AgentDescribed(e) => {
            let mut agent = before?;
            set_entries(&mut agent.about, &e.about);
            Some(agent)
        }
        _ => before,
    }
}

/// Null removes an entry.
fn set_entries(entries: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, value) in changes {
        if value.is_null() {
            entries.shift_remove(key);
        } else {
            entries.insert(key.clone(), value.clone());
        }
    }
}

/// Projects a lease; the answer is none once it has ended.
pub fn lease(before: Option<Lease>, id: LeaseId, placed: &Placed) -> Option<Lease> {
    let e = match &placed.draft.event {
        Event::FileLocked(e) => {
            return Some(Lease {
                repo: placed.draft.repo.clone(),
                id,
                path: e.path.clone(),
                mode: e.mode,
                owner: e.owner.clone(),
                purpose: e.purpose.clone(),
                claim_of: e.claim_of.clone(),
                fence: e.fence,
                acquired_at: e.since.unwrap_or(placed.ts),
                renewed_at: e.since.unwrap_or(placed.ts),
                ttl: e.ttl,
                late: e.late,
            });
        }
        Event::LeaseRenewed(e) => e,
        Event::LeaseReleased(_) | Event::LocksReclaimed(_) => return None,
        _ => return before,
    };
    let mut lease = before?;
    lease.renewed_at = lease.renewed_at.max(e.since.unwrap_or(placed.ts));
    lease.ttl = e.ttl;
    lease.mode = e.mode;
    if e.detached_from.is_some() {
        lease.claim_of = None;
    }
    Some(lease)
}

/// Projects the end of a lease. Nothing changes it any more.
pub fn past_lease(before: Option<PastLease>, id: LeaseId, placed: &Placed) -> Option<PastLease> {
    let (path, owner, claim_of, held) = match &placed.draft.event {
        Event::LeaseReleased(e) => (&e.path, &e.owner, &e.claim_of, &e.held),
        Event::LocksReclaimed(e) => {
            let Some(lock) = e.locks.iter().find(|lock| lock.lock_id == id) else { return before };
            (&lock.path, &e.owner, &lock.claim_of, &lock.held)
        }
        _ => return before,
    };
    let Some(held) = held else { return before };
    Some(PastLease {
        repo: placed.draft.repo.clone(),
        id,
        path: path.clone(),
        mode: held.mode,
        owner: owner.clone(),
        claim_of: claim_of.clone(),
        fence: held.fence,
        acquired_at: held.since,
        late: held.late,
        ended: placed.seq,
        ended_at: held.expired_at.unwrap_or(placed.ts),
        expired: held.expired_at.is_some(),
    })
}

pub fn decision(before: Option<Decision>, placed: &Placed) -> Option<Decision> {
    if let Event::DecisionAsked(e) = &placed.draft.event {
        return Some(Decision {
            repo: placed.draft.repo.clone(),
            id: e.decision,
            question: e.question.clone(),
            context: e.context.clone(),
            kind: e.kind,
            options: e.options.clone(),
            default: e.default.clone(),
            to: e.to.clone(),
            task: placed.draft.task.clone(),
            purpose: e.purpose,
            asked_by: placed.draft.agent.clone(),
            created_at: placed.ts,
            expires_at: e.expires_at,
            state: DecisionState::Open,
            answer: None,
            text: None,
            answered_by: None,
            answered_at: None,
            origin: None,
            proposes: e.proposes.clone(),
            budget: e.budget.clone(),
            rule: e.rule.clone(),
        });
    }
    let mut decision = before?;
    match &placed.draft.event {
        Event::DecisionAnswered(e) => {
            decision.state = e.state;
            decision.answer = Some(e.answer.clone());
            decision.text = e.text.clone();
            decision.answered_by = Some(placed.draft.agent.clone());
            decision.answered_at = Some(placed.ts);
        }
        Event::DecisionExpired(_) => decision.state = DecisionState::Expired,
        Event::TakenOver(e) => decision.origin = Some(e.origin.clone()),
        _ => {}
    }
    Some(decision)
}

/// Projects a task: changes the one that is there, or returns one that comes into being. In place, since
/// a task is large and most events change one.
pub fn task(before: Option<&mut Task>, placed: &Placed) -> Option<Task> {
    if let Event::TaskCreated(e) = &placed.draft.event {
        return placed.draft.task.clone().map(|id| new_task(id, e, placed));
    }
    let task = before?;
    change_task(task, placed);
    on_run::free_review(task, &placed.draft.event);
    task.version += 1;
    task.updated_at = placed.ts;
    None
}
