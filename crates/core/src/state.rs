//! Entities by key: the whole state in a model, or the part of it that a rule needs.

use crate::agent::{Agent, Counters};
use crate::decision::Decision;
use crate::directive::Directive;
use crate::event::Placed;
use crate::ids::{AgentId, DecisionId, DirectiveId, LeaseId, MemoryId, RepoName, TaskId};
use crate::lease::Lease;
use crate::memory::Memory;
use crate::task::Task;
use std::collections::BTreeMap;

/// What an entity is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The counters of a repository.
    Repo(RepoName),
    /// A task.
    Task(RepoName, TaskId),
    /// A live lease.
    Lease(RepoName, LeaseId),
    /// A decision.
    Decision(RepoName, DecisionId),
    /// An agent.
    Agent(AgentId),
    /// A memory.
    Memory(RepoName, MemoryId),
    /// A directive.
    Directive(RepoName, DirectiveId),
}

/// Everything that is projected from the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Counters by repository.
    pub repos: BTreeMap<RepoName, Counters>,
    /// Tasks. They are large, and a box moves between the facts and a store's cache as it is.
    pub tasks: BTreeMap<(RepoName, TaskId), Box<Task>>,
    /// Live leases.
    pub leases: BTreeMap<(RepoName, LeaseId), Lease>,
    /// Decisions.
    pub decisions: BTreeMap<(RepoName, DecisionId), Decision>,
    /// Agents.
    pub agents: BTreeMap<AgentId, Agent>,
    /// Memories.
    pub memories: BTreeMap<(RepoName, MemoryId), Memory>,
    /// Directives.
    pub directives: BTreeMap<(RepoName, DirectiveId), Directive>,
}

impl State {
    pub fn task(&self, repo: &RepoName, id: &TaskId) -> Option<&Task> {
        self.tasks.get(&(repo.clone(), id.clone())).map(Box::as_ref)
    }

    /// Projects an event and returns the keys of what it may have changed.
    ///
    /// Entities that are not here are left alone, so that a part of the state can be replayed by
    /// itself; `wanted` says which ones may come into being.
    pub fn apply(&mut self, placed: &Placed, wanted: impl Fn(&Key) -> bool) -> Vec<Key> {
        let mut keys = crate::project::touched(placed);
        keys.retain(wanted);
        for key in &keys {
            match key {
                Key::Repo(repo) => {
                    crate::project::counters(self.repos.entry(repo.clone()).or_default(), placed);
                }
                Key::Task(repo, id) => {
                    let place = (repo.clone(), id.clone());
                    let created =
                        crate::project::task(self.tasks.get_mut(&place).map(Box::as_mut), placed);
                    if let Some(task) = created {
                        self.tasks.insert(place, Box::new(task));
                    }
                }
                Key::Lease(repo, id) => {
                    let place = (repo.clone(), *id);
                    let before = self.leases.remove(&place);
                    if let Some(after) = crate::project::lease(before, *id, placed) {
                        self.leases.insert(place, after);
                    }
                }
                Key::Decision(repo, id) => {
                    let place = (repo.clone(), *id);
                    let before = self.decisions.remove(&place);
                    if let Some(after) = crate::project::decision(before, placed) {
                        self.decisions.insert(place, after);
                    }
                }
                Key::Agent(id) => {
                    let before = self.agents.remove(id);
                    if let Some(after) = crate::project::agent(before, placed) {
                        self.agents.insert(id.clone(), after);
                    }
                }
                Key::Memory(repo, id) => {
                    let place = (repo.clone(), *id);
                    let before = self.memories.remove(&place);
                    if let Some(after) = crate::project::memory(before, placed) {
                        self.memories.insert(place, after);
                    }
                }
                Key::Directive(repo, id) => {
                    let place = (repo.clone(), *id);
                    let before = self.directives.remove(&place);
                    if let Some(after) = crate::project::directive(before, placed) {
                        self.directives.insert(place, after);
                    }
                }
            }
        }
        keys
    }
}
