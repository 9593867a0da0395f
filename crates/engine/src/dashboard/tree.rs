//! Which paths are held, by whom, and who else wants them.

use super::DAY;
use super::scene::covers;
use crate::batch::settle;
use crate::read::Reader;
use comity_api::{Held, TaskFilter, TreeAnswer, TreeEntry};
use comity_core::lease::Lease;
use comity_core::pattern::{Pattern, overlap};
use comity_core::ready::file_conflicts;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use std::collections::{BTreeMap, BTreeSet};

/// Leases that the page shows.
const LEASES_MAX: usize = 2_000;
/// Queued tasks that are looked at for who wants a path.
const QUEUED_MAX: usize = 1_000;

impl Reader<'_> {
    pub(crate) fn tree(&mut self) -> Result<TreeAnswer, Refusal> {
        let leases = self.live_leases(None, None, LEASES_MAX)?;
        let wanted = if leases.is_empty() { BTreeMap::new() } else { self.wanted_by()? };
        let (now, repo) = (self.now(), self.caller.repo.to_string());
        let mut by_path: BTreeMap<String, Vec<(Lease, Held)>> = BTreeMap::new();
        for lease in &leases {
            let until = settle(self.tx, &mut self.facts, |facts| facts.lease_expiry(lease))?;
            let held = Held {
                lock_id: lease.id.to_string(),
                agent: lease.owner.to_string(),
                task: lease.claim_of.as_ref().map(ToString::to_string),
                since: lease.acquired_at,
                until,
                life: super::life(until, lease.ttl, now),
            };
            by_path.entry(lease.path.clone()).or_default().push((lease.clone(), held));
        }
        let (seq, at) = (self.seq(), self.at());
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let lately: Vec<(&str, bool)> = past
            .writes
            .iter()
            .rev()
            .take_while(|write| now.since(write.ts) < DAY)
            .map(|write| (past.name(write.path), write.refused))
            .collect();
        let mut entries = Vec::new();
        for (path, held) in by_path {
            let Some((lease, _)) = held.first() else { continue };
            let inside = |name: &str| covers(lease, name);
            let refused = lately.iter().filter(|(name, refused)| *refused && inside(name)).count();
            let seen = lately.iter().any(|(name, refused)| !refused && inside(name));
            let wanted_by: BTreeSet<String> = held
                .iter()
                .filter_map(|(lease, _)| wanted.get(&lease.id.to_string()))
                .flatten()
                .cloned()
                .collect();
            entries.push(TreeEntry {
                mode: lease.mode.to_string(),
                refused_24h: refused,
                wanted_by: wanted_by.into_iter().collect(),
                write_seen: seen,
                held: held.into_iter().map(|(_, held)| held).collect(),
                path,
            });
        }
        drop(fold);
        let holders: BTreeSet<&str> = leases.iter().map(|lease| lease.owner.as_str()).collect();
        let contended = entries.iter().filter(|entry| !entry.wanted_by.is_empty()).count();
        Ok(TreeAnswer {
            seq,
            at,
            now,
            leases: leases.len(),
            holders: holders.len(),
            contended,
            entries,
            under: None,
            files: Vec::new(),
            free: BTreeMap::new(),
        })
    }

    /// Returns the queued tasks that wait for each lease.
    fn wanted_by(&mut self) -> Result<BTreeMap<String, Vec<String>>, Refusal> {
        let filter = TaskFilter { statuses: vec![Status::Queued], ..TaskFilter::default() };
        let (queued, _) = self.task_rows(&filter, 0, QUEUED_MAX)?;
        let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let nobody = comity_core::ids::AgentId::watchdog();
        for task in queued.iter().filter(|task| !task.files.is_empty()) {
            let policy = self.policy;
            let found = settle(self.tx, &mut self.facts, |facts| {
                file_conflicts(facts, task, &nobody, policy)
            })?;
            for conflict in found {
                let waiting = wanted.entry(conflict.held.id.to_string()).or_default();
                if !waiting.contains(&task.id.to_string()) {
                    waiting.push(task.id.to_string());
                }
            }
        }
        Ok(wanted)
    }
}

/// Tells whether two patterns have a path in common.
pub(super) fn meet(one: &str, other: &str) -> bool {
    let parsed = (Pattern::parse(one), Pattern::parse(other));
    matches!(parsed, (Ok(one), Ok(other)) if overlap(&one, &other).is_some())
}
