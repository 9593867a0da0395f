//! What is going on: counts, who holds what, what needs somebody.

use crate::batch::settle;
use crate::read::Reader;
use comity_api::{Attention, Counts, StatusAnswer, TaskFilter, Working};
use comity_core::decision::DecisionPurpose;
use comity_core::hint::op;
use comity_core::limits;
use comity_core::refusal::Refusal;
use comity_core::run::{Run, RunState};
use comity_core::state::Key;
use comity_core::status::Status;
use std::collections::BTreeMap;

/// Open questions that are counted.
const OPEN_MAX: usize = 100_000;
/// Entries of each kind in the list of what needs attention.
const ATTENTION_MAX: usize = 20;
/// Tasks at work that are named.
const WORKING_MAX: usize = 50;

pub(crate) fn status(reader: &mut Reader<'_>) -> Result<StatusAnswer, Refusal> {
    let counts = counts(reader)?;
    let mut agents = Vec::new();
    let known = reader.tx.agents(None, limits::PAGE_MAX)?;
    for (agent, presence) in known {
        agents.push(reader.agent_view(&agent, &presence)?);
    }
    let leases = reader.live_leases(None, None, usize::MAX)?.len();
    let open = reader.decision_rows(false, None, OPEN_MAX)?;
    let mut attention = Vec::new();
    for decision in open.iter().take(ATTENTION_MAX) {
        let kind = match decision.purpose {
            DecisionPurpose::Question => "decision",
            DecisionPurpose::Exhausted => "exhausted",
            DecisionPurpose::Grace => "stuck",
            DecisionPurpose::Budget => "budget",
        };
        let to = decision.to.as_str();
        let about = decision.task.as_ref().map(|id| reader.find(id.as_str())).transpose()?;
        attention.push(Attention {
            kind: kind.to_owned(),
            id: decision.id.to_string(),
            title: about.map(|task| task.title),
            reason: format!("{} asks {to}: {}", decision.asked_by, decision.question),
            since: decision.created_at,
            next: op("decision.answer").id(&decision.id).ask("answer", "ANSWER").into(),
        });
    }
    attention.extend(clock(reader));
    attention.extend(waiting_tasks(reader)?);
    let live = reader.live_runs()?;
    attention.extend(live.iter().filter_map(waiting_run).take(ATTENTION_MAX));
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    for run in &live {
        *runs.entry(run.state.to_string()).or_default() += 1;
    }
    let spent_today_usd = reader.spent_today()?;
    let working = working(reader)?;
    let decisions_open = open.len();
    let counts = Counts(counts.into_iter().collect());
    Ok(StatusAnswer {
        counts,
        agents,
        leases,
        decisions_open,
        working,
        attention,
        runs,
        spent_today_usd,
    })
}

/// A run that waits for somebody. One that waits for the answer to a question shows as that question.
fn waiting_run(run: &Run) -> Option<Attention> {
    let kind = match run.state {
        RunState::Waiting => "run-waiting",
        RunState::Paused if run.waiting_on.is_none() => "run-paused",
        _ => return None,
    };
    let next = match run.waiting_on {
        Some(decision) => op("decision.answer").id(&decision).ask("answer", "ANSWER"),
        None => op("run.resume").id(&run.id),
    };
    let why = run.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    Some(Attention {
        kind: kind.to_owned(),
        id: run.id.to_string(),
        title: None,
        reason: format!("{} on {} is {}{why}", run.agent, run.task, run.state),
        since: run.alive_since(),
        next: next.into(),
    })
}

/// Says that nothing expires because the log is ahead of the clock.
fn clock(reader: &Reader<'_>) -> Option<Attention> {
    let moment = reader.facts.moment;
    let ahead = moment.ahead();
    (ahead > limits::CLOCK_SLACK).then(|| Attention {
        kind: "clock".to_owned(),
        id: "log".to_owned(),
        title: None,
        reason: format!(
            "the log is {ahead} ahead of the clock, so nothing expires; if the clock is right, a person lets doctor fix the log"
        ),
        since: moment.clock,
        next: op("doctor").flag("fix").into(),
    })
}

/// Counts by status as it is in effect: what the sweep changed is moved to where it would be.
fn counts(reader: &mut Reader<'_>) -> Result<BTreeMap<Status, i64>, Refusal> {
    let repo = reader.caller.repo.clone();
    let stored = reader.tx.status_counts(&repo)?;
    let mut counts: BTreeMap<Status, i64> =
        Status::ALL.into_iter().map(|status| (status, 0)).collect();
    for (status, n) in stored {
        counts.insert(status, i64::try_from(n).unwrap_or(i64::MAX));
    }
    let changed: Vec<_> = reader.changed.iter().cloned().collect();
    for key in changed {
        let Key::Task(of, id) = &key else { continue };
        if *of != repo {
            continue;
        }
        let mut before = comity_core::facts::Facts::default();
        let need = comity_core::facts::Need::Entity(key.clone());
        reader.tx.load(&[need], &mut before)?;
        let place = (of.clone(), id.clone());
        if let Some(task) = before.state.tasks.get(&place) {
            *counts.entry(task.status).or_default() -= 1;
        }
        if let Some(task) = reader.facts.state.tasks.get(&place) {
            *counts.entry(task.status).or_default() += 1;
        }
    }
    Ok(counts)
}

fn working(reader: &mut Reader<'_>) -> Result<Vec<Working>, Refusal> {
    let statuses = vec![Status::Claimed, Status::InProgress];
    let filter = TaskFilter { statuses, ..TaskFilter::default() };
    let (tasks, _) = reader.task_rows(&filter, 0, WORKING_MAX)?;
    let mut working = Vec::new();
    for task in tasks.into_iter().take(WORKING_MAX) {
        let Some(claim) = &task.claim else { continue };
        let expires_at = settle(reader.tx, &mut reader.facts, |facts| facts.claim_expiry(claim))?;
        working.push(Working {
            id: task.id.to_string(),
            status: task.status,
            agent: claim.agent.to_string(),
            expires_at,
            title: task.title,
        });
    }
    Ok(working)
}

fn waiting_tasks(reader: &mut Reader<'_>) -> Result<Vec<Attention>, Refusal> {
    let mut found = Vec::new();
    for (status, kind) in [
        (Status::Blocked, "blocked"),
        (Status::Review, "review"),
        (Status::Failed, "failed"),
        (Status::Approved, "merge"),
        (Status::ChangesRequested, "sent_back"),
    ] {
        let filter = TaskFilter { statuses: vec![status], ..TaskFilter::default() };
        let (tasks, _) = reader.task_rows(&filter, 0, ATTENTION_MAX)?;
        for task in tasks.into_iter().take(ATTENTION_MAX) {
            let detail = match (&task.block, &task.last_error) {
                (Some(block), _) => format!("{} needs: {}", task.title, block.needs),
                (None, Some(error)) if status == Status::Failed => {
                    format!("{}: {error}", task.title)
                }
                _ => match task.feedback.as_ref().filter(|_| status == Status::ChangesRequested) {
                    Some(feedback) => format!("{}: {}", task.title, feedback.words()),
                    None => format!("{} is in {status}", task.title),
                },
            };
            let next = reader.why(task.id.as_str())?.why.next;
            found.push(Attention {
                kind: kind.to_owned(),
                id: task.id.to_string(),
                title: Some(task.title),
                reason: detail,
                since: task.updated_at,
                next,
            });
        }
    }
    Ok(found)
}
