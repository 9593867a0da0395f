//! Gathers what may need somebody, for the one rule that says what does.

use crate::batch::settle;
use crate::read::Reader;
use comity_api::TaskFilter;
use comity_core::attention::{Item, Loose, Scene, Seen, WRITE_SEEN_LIFE, Write, attention};
use comity_core::ids::AgentId;
use comity_core::lease::Lease;
use comity_core::limits::PAGE_MAX;
use comity_core::pattern::{Pattern, overlap};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_store::EventQuery;
use serde_json::Value;
use std::collections::BTreeSet;

/// Tasks of the scene at the most, and open questions.
const SCENE_MAX: usize = 10_000;

/// States in which a task may need somebody.
const OPEN: [Status; 8] = [
    Status::Claimed,
    Status::InProgress,
    Status::Review,
    Status::ChangesRequested,
    Status::Approved,
    Status::Merging,
    Status::Blocked,
    Status::Failed,
];

/// Returns when a task came into its status, as far as the task itself says so.
fn since(task: &Task) -> Timestamp {
    match task.status {
        Status::Blocked => task.block.as_ref().map(|block| block.since),
        Status::ChangesRequested => task.feedback.as_ref().map(|feedback| feedback.at),
        Status::Claimed => task.claim.as_ref().map(|claim| claim.claimed_at),
        _ => None,
    }
    .unwrap_or(task.updated_at)
}

impl Reader<'_> {
    /// Lists what needs the caller, the most urgent first, with what to do about it.
    pub(crate) fn attention(&mut self) -> Result<Vec<Item>, Refusal> {
        let scene = self.scene()?;
        let mut items = attention(&scene, &self.caller.actor, self.facts.moment, self.policy);
        for item in &mut items {
            if let (true, Some(task)) = (item.next.is_empty(), &item.task) {
                item.next = self.why(task.as_str())?.why.next;
            }
        }
        Ok(items)
    }

    fn scene(&mut self) -> Result<Scene, Refusal> {
        let mut decisions = Vec::new();
        for decision in self.decision_rows(false, None, SCENE_MAX)? {
            let about = decision.task.as_ref().map(|id| self.find(id.as_str())).transpose()?;
            decisions.push((decision, about.map(|task| task.title)));
        }
        let filter = TaskFilter { statuses: OPEN.to_vec(), ..TaskFilter::default() };
        let (rows, _) = self.task_rows(&filter, 0, SCENE_MAX)?;
        let mut tasks = Vec::new();
        for task in rows {
            let life = match &task.claim {
                Some(claim) => {
                    let until =
                        settle(self.tx, &mut self.facts, |facts| facts.claim_expiry(claim))?;
                    Some((super::life(until, claim.ttl, self.now()).last_seen, until))
                }
                None => None,
            };
            tasks.push(Seen { since: since(&task), life, task });
        }
        let leases = self.live_leases(None, None, SCENE_MAX)?;
        let workers: BTreeSet<AgentId> = tasks
            .iter()
            .filter_map(|seen| seen.task.claim.as_ref().map(|claim| claim.agent.clone()))
            .collect();
        let mut loose = Vec::new();
        for lease in leases.iter().filter(|lease| lease.claim_of.is_none()) {
            let until = settle(self.tx, &mut self.facts, |facts| facts.lease_expiry(lease))?;
            let last_seen = super::life(until, lease.ttl, self.now()).last_seen;
            let works = workers.contains(&lease.owner);
            loose.push(Loose { lease: lease.clone(), last_seen, works });
        }
        let writes = self.writes_seen(&leases)?;
        let runs = self.live_runs()?;
        let lost_workers = self.lost_workers()?;
        Ok(Scene { decisions, tasks, loose, writes, runs, lost_workers })
    }

    /// Returns the last write to each path that its holder still holds.
    fn writes_seen(&mut self, leases: &[Lease]) -> Result<Vec<Write>, Refusal> {
        let now = self.now().ms();
        let query = EventQuery {
            repo: Some(self.caller.repo.clone()),
            event: Some("write_seen".to_owned()),
            since: Some(Timestamp::from_ms(now.saturating_sub(WRITE_SEEN_LIFE.ms()))),
            limit: PAGE_MAX,
            ..EventQuery::default()
        };
        let mut writes: Vec<Write> = Vec::new();
        for stored in self.tx.events(&query)? {
            let event = crate::view::event(&stored);
            let (Some(path), Some(holder)) = (event.text("path"), event.text("holder")) else {
                continue;
            };
            let held =
                leases.iter().any(|lease| lease.owner.as_str() == holder && covers(lease, path));
            if !held || event.fields.get("reported") != Some(&Value::Bool(true)) {
                continue;
            }
            let Ok(by) = AgentId::parse(&event.agent) else { continue };
            writes.retain(|write| write.path != path);
            let (path, holder) = (path.to_owned(), holder.to_owned());
            writes.push(Write { seq: stored.seq, at: stored.ts, by, path, holder });
        }
        Ok(writes)
    }
}

/// Tells whether a lease covers a path.
pub(super) fn covers(lease: &Lease, path: &str) -> bool {
    let parsed = (Pattern::parse(&lease.path), Pattern::parse(path));
    matches!(parsed, (Ok(held), Ok(path)) if overlap(&held, &path).is_some())
}
