//! What is going on: counts, who holds what, what needs somebody.

use crate::read::Reader;
use comity_api::{Attention, Counts, StatusAnswer, TaskFilter, Working};
use comity_core::limits;
use comity_core::refusal::Refusal;
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
    let attention = attention(reader)?;
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    for run in &reader.live_runs()? {
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

/// Lists what needs the caller, so many of each kind.
fn attention(reader: &mut Reader<'_>) -> Result<Vec<Attention>, Refusal> {
    let mut found: Vec<Attention> = Vec::new();
    for item in reader.attention()? {
        let kind = item.kind.to_string();
        if found.iter().filter(|known| known.kind == kind).count() < ATTENTION_MAX {
            let (id, title, reason) = (item.id, item.title, item.reason);
            found.push(Attention { kind, id, title, reason, since: item.since, next: item.next });
        }
    }
    Ok(found)
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
        let expires_at = reader.settled(|facts| facts.claim_expiry(claim))?;
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
