//! The auditor: the properties that never bend, checked from outside the rules.

use comity_core::budget::{Budget, Scope};
use comity_core::chain::Stored;
use comity_core::facts::Entity;
use comity_core::ids::{AgentId, Seq};
use comity_core::lease::{Lease, LeaseMode};
use comity_core::pattern::{Pattern, overlap};
use comity_core::run::Run;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_store::{EventQuery, ReadTx, StoreError};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A property that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

pub(crate) fn violation(what: impl Into<String>) -> Violation {
    Violation { what: what.into() }
}

impl From<StoreError> for Violation {
    fn from(error: StoreError) -> Violation {
        violation(format!("the store failed: {error}"))
    }
}

/// What the auditor knows from the events alone.
#[derive(Default)]
pub(crate) struct Auditor {
    seen: u64,
    status: BTreeMap<String, Status>,
    fence: BTreeMap<String, u64>,
    worker: BTreeMap<String, String>,
    last_fence: u64,
    created: BTreeSet<String>,
    /// Claims that ended because their holder was silent.
    reclaimed: BTreeSet<(String, u64)>,
    /// Answers given to creations, which must all be found in the end.
    pub(crate) acknowledged: BTreeSet<String>,
}

impl Auditor {
    /// Reads the new events and checks each against what was before it.
    pub(crate) fn read_log(&mut self, tx: &mut dyn ReadTx) -> Result<(), Violation> {
        loop {
            let query = EventQuery { after: Seq(self.seen), limit: 500, ..EventQuery::default() };
            let events = tx.events(&query)?;
            if events.is_empty() {
                return Ok(());
            }
            for event in &events {
                if event.seq.0 != self.seen + 1 {
                    return Err(violation(format!("gap in the log before {}", event.seq)));
                }
                self.seen = event.seq.0;
                self.check(event)?;
            }
        }
    }

    fn check(&mut self, event: &Stored) -> Result<(), Violation> {
        let body = event.body.as_deref().unwrap_or_default();
        let fields: Value = serde_json::from_slice(body).unwrap_or_default();
        if fields.get("reported").is_some() {
            return Ok(());
        }
        let Some(task) = event.task.clone() else { return Ok(()) };
        let text =
            |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match event.event.as_str() {
            "task_created" => {
                if !self.created.insert(task.clone()) {
                    return Err(violation(format!("{task} was created twice")));
                }
                self.status.insert(task, Status::Queued);
            }
            "task_claimed" => {
                let fence = fields.get("fence").and_then(Value::as_u64).unwrap_or(0);
                if fence <= self.last_fence || fence != event.seq.0 {
                    return Err(violation(format!("fence {fence} of {task} does not grow")));
                }
                if self.fence.contains_key(&task) {
                    return Err(violation(format!("{task} was claimed twice at {}", event.seq)));
                }
                self.last_fence = fence;
                self.fence.insert(task.clone(), fence);
                self.worker.insert(task, text("assignee"));
            }
            "status_changed" => {
                self.check_step(&task, &text("old_status"), &text("new_status"), event)?;
            }
            "approved" if self.worker.get(&task) == Some(&event.agent) => {
                return Err(violation(format!("{} approved its own {task}", event.agent)));
            }
            _ => {}
        }
        Ok(())
    }

    fn check_step(
        &mut self,
        task: &str,
        old: &str,
        new: &str,
        event: &Stored,
    ) -> Result<(), Violation> {
        let (Ok(old), Ok(new)) = (Status::parse(old), Status::parse(new)) else {
            return Err(violation(format!("event {} has no statuses", event.seq)));
        };
        let known = self.status.get(task).copied();
        if known != Some(old) {
            return Err(violation(format!("{task} was {known:?}, event {} says {old}", event.seq)));
        }
        if !old.may_become(new) {
            return Err(violation(format!("{task} went from {old} to {new} at {}", event.seq)));
        }
        if !new.is_held()
            && let Some(fence) = self.fence.remove(task)
            && event.agent == "watchdog"
        {
            self.reclaimed.insert((task.to_owned(), fence));
        }
        self.status.insert(task.to_owned(), new);
        Ok(())
    }

    /// Returns the fences that are live now, by task.
    pub(crate) fn live_fences(&self) -> BTreeMap<String, u64> {
        self.fence.clone()
    }

    /// A command that was accepted under a fence must have been sent by the holder of that very grant:
    /// live before the batch, and not ended by the watchdog at its start.
    pub(crate) fn was_live(
        &self,
        before: &BTreeMap<String, u64>,
        task: &str,
        fence: u64,
    ) -> Result<(), Violation> {
        if before.get(task) == Some(&fence) && !self.reclaimed.contains(&(task.to_owned(), fence)) {
            return Ok(());
        }
        Err(violation(format!("a command on {task} was accepted under the dead fence {fence}")))
    }

    /// Nothing acknowledged is lost.
    pub(crate) fn all_there(&self) -> Result<(), Violation> {
        match self.acknowledged.difference(&self.created).next() {
            Some(id) => Err(violation(format!("{id} was acknowledged and is not in the log"))),
            None => Ok(()),
        }
    }
}

/// Checks every row of a store: invariants of tasks, and one holder for every path.
pub(crate) fn check_rows(tx: &mut dyn ReadTx) -> Result<(), Violation> {
    let mut leases: Vec<Lease> = Vec::new();
    let mut claimed: BTreeSet<comity_core::ids::LeaseId> = BTreeSet::new();
    let mut after: Option<Key> = None;
    let mut fleet = Fleet::default();
    loop {
        let rows = tx.entities(after.as_ref(), 1000)?;
        let Some((last, _)) = rows.last() else { break };
        after = Some(last.clone());
        for (_, row) in rows {
            match row {
                Entity::Task(task) => {
                    if let Some(broken) = task.broken_invariant() {
                        return Err(violation(broken));
                    }
                    fleet.holders.extend(task.claim.iter().map(|claim| claim.agent.clone()));
                    claimed
                        .extend(task.claim.iter().flat_map(|claim| claim.leases.iter().copied()));
                }
                Entity::Lease(lease) => leases.push(*lease),
                Entity::Run(run) => fleet.runs.push(*run),
                Entity::Budget(budget) => fleet.budgets.push(*budget),
                _ => {}
            }
        }
    }
    fleet.check()?;
    one_holder(&leases)?;
    for lease in &leases {
        if lease.claim_of.is_some() != claimed.contains(&lease.id) {
            return Err(violation(format!("{} and its claim do not agree", lease.id)));
        }
    }
    Ok(())
}

/// What is known of runs.
#[derive(Default)]
struct Fleet {
    runs: Vec<Run>,
    budgets: Vec<Budget>,
    /// Who holds a task.
    holders: BTreeSet<AgentId>,
}

impl Fleet {
    /// No task is held by a run that ended, no two runs do the same, and what is kept is kept for live runs.
    fn check(&self) -> Result<(), Violation> {
        let mut stages = BTreeSet::new();
        for run in &self.runs {
            if !run.state.is_live() {
                if self.holders.contains(&run.identity) {
                    return Err(violation(format!("{} ended and holds its task", run.id)));
                }
            } else if !stages.insert((&run.repo, &run.task, run.stage)) {
                return Err(violation(format!("{} does what another does", run.id)));
            }
        }
        for budget in &self.budgets {
            let counts = |run: &&Run| {
                run.repo == budget.repo
                    && run.state.is_live()
                    && Scope::of(run).contains(&budget.scope)
            };
            let live: BTreeMap<_, _> =
                self.runs.iter().filter(counts).map(|run| (run.id, run.reserved)).collect();
            if live != budget.live {
                return Err(violation(format!(
                    "{} keeps {:?} for {live:?}",
                    budget.scope, budget.live
                )));
            }
        }
        Ok(())
    }
}

fn one_holder(leases: &[Lease]) -> Result<(), Violation> {
    let parsed: Vec<(&Lease, Pattern)> = leases
        .iter()
        .filter_map(|lease| Pattern::parse(&lease.path).ok().map(|pattern| (lease, pattern)))
        .collect();
    for (place, (a, pattern_a)) in parsed.iter().enumerate() {
        for (b, pattern_b) in parsed.iter().skip(place + 1) {
            let shared = a.mode == LeaseMode::Shared && b.mode == LeaseMode::Shared;
            if a.owner == b.owner || shared || a.repo != b.repo {
                continue;
            }
            if let Some(witness) = overlap(pattern_a, pattern_b) {
                return Err(violation(format!(
                    "two holders of {witness}: {} ({}) and {} ({})",
                    a.owner, a.id, b.owner, b.id
                )));
            }
        }
    }
    Ok(())
}
