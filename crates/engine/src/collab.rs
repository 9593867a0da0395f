//! What a `collaboration/` tree shows of a repository, from one snapshot.

use crate::batch::settle;
use crate::engine::{Asker, Engine};
use crate::query::TaskFilter;
use crate::read::Reader;
use comity_core::agent::Agent;
use comity_core::ids::TaskId;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_core::view::{self, LeaseView, TaskView};
use std::collections::BTreeMap;

/// The state of a repository as a tree of files shows it.
#[derive(Clone, Debug)]
pub struct CollabState {
    /// Every task, by number.
    pub tasks: Vec<TaskView>,
    /// Every live lease, by number.
    pub leases: Vec<LeaseView>,
    /// Those of them that belong to a claim, with its task.
    pub of_claims: BTreeMap<String, TaskId>,
    /// Every agent, with its status and when it was last seen.
    pub agents: Vec<(Agent, String, Option<Timestamp>)>,
    /// The end of the log.
    pub head: u64,
    /// The store's time.
    pub now: Timestamp,
}

impl Engine {
    /// Reads everything that the tree shows.
    pub fn collab_state(&mut self, asker: &Asker) -> Result<CollabState, Refusal> {
        let mut tx = self.store.read()?;
        let head = tx.head()?.seq.0;
        let mut reader = Reader::open(tx.as_mut(), &self.settings.policy, asker)?;
        let now = reader.facts.moment.now;
        let tasks = all_tasks(&mut reader)?;
        let mut leases = Vec::new();
        let mut of_claims = BTreeMap::new();
        for lease in reader.live_leases(None, None, usize::MAX)? {
            of_claims.extend(lease.claim_of.clone().map(|task| (lease.id.to_string(), task)));
            leases.push(settle(reader.tx, &mut reader.facts, |facts| view::lease(facts, &lease))?);
        }
        let mut agents = Vec::new();
        let mut after = None;
        loop {
            let page = reader.tx.agents(after.as_ref(), PAGE_MAX)?;
            let full = page.len() == PAGE_MAX;
            after = page.last().map(|(agent, _)| agent.id.clone());
            for (agent, presence) in page {
                let seen = reader.agent_view(&agent, &presence)?;
                agents.push((agent, seen.status, seen.last_seen));
            }
            if !full {
                break;
            }
        }
        Ok(CollabState { tasks, leases, of_claims, agents, head, now })
    }

    /// Reads every task.
    pub fn collab_tasks(&mut self, asker: &Asker) -> Result<Vec<TaskView>, Refusal> {
        let mut tx = self.store.read()?;
        all_tasks(&mut Reader::open(tx.as_mut(), &self.settings.policy, asker)?)
    }
}

fn all_tasks(reader: &mut Reader<'_>) -> Result<Vec<TaskView>, Refusal> {
    let filter = TaskFilter::default();
    let mut tasks = Vec::new();
    let mut after = 0;
    loop {
        let (rows, next) = reader.task_rows(&filter, after, PAGE_MAX)?;
        for task in &rows {
            tasks.push(reader.task_view(task)?);
        }
        match next {
            Some(next) => after = next,
            None => return Ok(tasks),
        }
    }
}
