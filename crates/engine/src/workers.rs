//! The workers of a repository: what each said of itself beside the log, and when it was last heard of.

use crate::batch::settle;
use crate::kept::rows_of;
use crate::read::Reader;
use comity_api::{WorkerView, WorkersAnswer};
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Refusal;
use comity_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The space of the rows of workers.
pub const WORKERS: &str = "workers";
/// A worker gives signs of life more often than this; after it, its host is taken for lost.
const SILENT_AFTER: Millis = Millis::from_secs(120);

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    pub repo: String,
    pub id: String,
    pub host: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub capacity: usize,
    pub drain: bool,
    pub sandbox: String,
    pub drivers: BTreeMap<String, Option<String>>,
    /// Its process, and when that began, in the words of its host.
    pub pid: i32,
    pub began: Option<String>,
    /// Where it keeps the files of its runs.
    pub home: String,
}

impl WorkerRow {
    /// Returns the key of a worker's row.
    pub fn key(repo: &RepoName, id: &str) -> String {
        format!("{repo} {id}")
    }
}

/// Reads the rows of the workers of a repository.
pub fn worker_rows(rows: &crate::KeptRows, repo: &RepoName) -> Vec<WorkerRow> {
    let rows = rows.values().filter_map(|row| serde_json::from_slice::<WorkerRow>(row).ok());
    rows.filter(|row| row.repo == repo.as_str()).collect()
}

impl Reader<'_> {
    pub(crate) fn workers(&mut self) -> Result<WorkersAnswer, Refusal> {
        let rows = worker_rows(&rows_of(self.tx, WORKERS)?, &self.caller.repo);
        let runs = if rows.is_empty() { Vec::new() } else { self.live_runs()? };
        let mut workers = Vec::new();
        for row in rows {
            let last_seen = self.last_heard(&row.id)?;
            let has = |run: &&comity_core::run::Run| {
                run.worker.as_ref().is_some_and(|worker| worker.as_str() == row.id)
            };
            let live = runs.iter().filter(has).map(|run| run.id.to_string()).collect();
            let WorkerRow { id, host, labels, capacity, drain, sandbox, drivers, .. } = row;
            let view =
                WorkerView { id, host, labels, capacity, live, last_seen, drain, sandbox, drivers };
            workers.push(view);
        }
        Ok(WorkersAnswer { workers })
    }

    fn last_heard(&mut self, id: &str) -> Result<Option<Timestamp>, Refusal> {
        let id = AgentId::parse(id)?;
        settle(self.tx, &mut self.facts, |facts| facts.last_heard(&id))
    }

    /// Lists the workers that did not leave and are not heard of any more, with their last signs of life.
    pub(crate) fn lost_workers(&mut self) -> Result<Vec<(AgentId, Timestamp)>, Refusal> {
        let rows = worker_rows(&rows_of(self.tx, WORKERS)?, &self.caller.repo);
        let (mut lost, now) = (Vec::new(), self.facts.moment.now);
        for row in rows {
            let last = self.last_heard(&row.id)?.unwrap_or_default();
            if now.since(last) > SILENT_AFTER {
                lost.push((AgentId::parse(&row.id)?, last));
            }
        }
        Ok(lost)
    }
}
