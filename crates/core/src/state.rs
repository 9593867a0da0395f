//! Entities by key: the whole state in a model, or the part of it that a rule needs.

mod by_key;

use crate::agent::{Agent, Counters};
use crate::budget::{Budget, Scope};
use crate::decision::Decision;
use crate::directive::Directive;
use crate::event::Placed;
use crate::ids::{AgentId, DecisionId, DirectiveId, LeaseId, MemoryId, RepoName, RunId, TaskId};
use crate::lease::{Lease, PastLease};
use crate::memory::Memory;
use crate::post::{Post, PostId};
use crate::project::{
    agent, budget, correct, counters, decision, directive, lease, memory, past_lease, post, run,
    task, touched,
};
use crate::run::Run;
use crate::task::Task;
use std::collections::BTreeMap;

/// What an entity is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    Repo(RepoName),
    Task(RepoName, TaskId),
    Lease(RepoName, LeaseId),
    Decision(RepoName, DecisionId),
    Agent(AgentId),
    Memory(RepoName, MemoryId),
    Directive(RepoName, DirectiveId),
    PastLease(RepoName, LeaseId),
    Post(RepoName, PostId),
    Run(RepoName, RunId),
    Budget(RepoName, Scope),
}

/// Everything that is projected from the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub repos: BTreeMap<RepoName, Counters>,
    /// Tasks are large, and a box moves between the facts and a store's cache as it is.
    pub tasks: BTreeMap<(RepoName, TaskId), Box<Task>>,
    pub leases: BTreeMap<(RepoName, LeaseId), Lease>,
    pub decisions: BTreeMap<(RepoName, DecisionId), Decision>,
    pub agents: BTreeMap<AgentId, Agent>,
    pub memories: BTreeMap<(RepoName, MemoryId), Memory>,
    pub directives: BTreeMap<(RepoName, DirectiveId), Directive>,
    pub past_leases: BTreeMap<(RepoName, LeaseId), PastLease>,
    pub posts: BTreeMap<(RepoName, PostId), Post>,
    pub runs: BTreeMap<(RepoName, RunId), Run>,
    pub budgets: BTreeMap<(RepoName, Scope), Budget>,
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
        let mut keys = touched(placed);
        keys.retain(wanted);
        // A corrected clock concerns whatever is here.
        let moved = correct(self, placed);
        for key in &keys {
            match key {
                Key::Repo(repo) => {
                    counters(self.repos.entry(repo.clone()).or_default(), placed);
                }
                Key::Task(repo, id) => {
                    let place = (repo.clone(), id.clone());
                    let known = self.tasks.get_mut(&place).map(Box::as_mut);
                    if let Some(created) = task(known, placed) {
                        self.tasks.insert(place, Box::new(created));
                    }
                }
                Key::Lease(repo, id) => {
                    step(&mut self.leases, (repo.clone(), *id), |it| lease(it, *id, placed));
                }
                Key::Decision(repo, id) => {
                    step(&mut self.decisions, (repo.clone(), *id), |it| decision(it, placed));
                }
                Key::Agent(id) => step(&mut self.agents, id.clone(), |it| agent(it, placed)),
                Key::Memory(repo, id) => {
                    step(&mut self.memories, (repo.clone(), *id), |it| memory(it, placed));
                }
                Key::Directive(repo, id) => {
                    step(&mut self.directives, (repo.clone(), *id), |it| directive(it, placed));
                }
                Key::PastLease(repo, id) => {
                    let place = (repo.clone(), *id);
                    step(&mut self.past_leases, place, |it| past_lease(it, *id, placed));
                }
                Key::Post(repo, id) => {
                    step(&mut self.posts, (repo.clone(), id.clone()), |it| post(it, id, placed));
                }
                Key::Run(repo, id) => {
                    step(&mut self.runs, (repo.clone(), *id), |it| run(it, placed));
                }
                Key::Budget(repo, scope) => {
                    let place = (repo.clone(), scope.clone());
                    step(&mut self.budgets, place, |it| budget(it, scope, placed));
                }
            }
        }
        keys.extend(moved);
        keys
    }
}

/// Takes an entity out, and puts back what an event makes of it.
fn step<K: Ord, V>(
    entities: &mut BTreeMap<K, V>,
    key: K,
    project: impl FnOnce(Option<V>) -> Option<V>,
) {
    if let Some(after) = project(entities.remove(&key)) {
        entities.insert(key, after);
    }
}
