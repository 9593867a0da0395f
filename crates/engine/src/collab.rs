//! What a `collaboration/` tree shows of a repository, from one snapshot.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::TaskFilter;
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
    pub tasks: Vec<TaskView>,
    pub leases: Vec<LeaseView>,
    /// Those of them that belong to a claim, with its task.
    pub of_claims: BTreeMap<String, TaskId>,
    /// Every agent, with its status and when it was last seen.
    pub agents: Vec<(Agent, String, Option<Timestamp>)>,
    pub head: u64,
    pub now: Timestamp,
}

impl Service {
    pub fn collab_state(&self, caller: &Caller) -> Result<CollabState, Refusal> {
        self.read(caller, collab_state)
    }

    pub fn all_tasks(&self, caller: &Caller) -> Result<Vec<TaskView>, Refusal> {
        self.read(caller, all_tasks)
    }
}

fn collab_state(reader: &mut Reader<'_>) -> Result<CollabState, Refusal> {
    let head = reader.tx.head()?.seq.0;
    let now = reader.facts.moment.now;
    let tasks = all_tasks(reader)?;
    let mut leases = Vec::new();
    let mut of_claims = BTreeMap::new();
    for lease in reader.live_leases(None, None, usize::MAX)? {
        of_claims.extend(lease.claim_of.clone().map(|task| (lease.id.to_string(), task)));
        leases.push(reader.settled(|facts| view::lease(facts, &lease))?);
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

fn all_tasks(reader: &mut Reader<'_>) -> Result<Vec<TaskView>, Refusal> {
    let filter = TaskFilter::default();
    let mut tasks = Vec::new();
    let mut after = 0;
    loop {
        let (rows, next) = reader.task_rows(&filter, after, PAGE_MAX)?;
        for task in &rows {
            let policy = reader.policy;
            let view = |facts: &_| view::task(facts, task, policy, None);
            tasks.push(reader.settled(view)?);
        }
        match next {
            Some(next) => after = next,
            None => return Ok(tasks),
        }
    }
}
