//! How the world answers what a rule wants to see: by looking at everything.

use crate::world::World;
use comity_core::facts::{
    Entity, Facts, Need, PREFIX_MATCHES_MAX, WAITING_COUNT_MAX, candidate_page, place,
};
use comity_core::ids::{RepoName, TaskId};
use comity_core::lease::Lease;
use comity_core::pattern::Pattern;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;

/// How the world looks things up.
impl World {
    fn entity(&self, key: &Key) -> Option<Entity> {
        let state = &self.state;
        match key {
            Key::Repo(repo) => state.repos.get(repo).cloned().map(Entity::Repo),
            Key::Task(repo, id) => {
                let task = state.tasks.get(&(repo.clone(), id.clone()));
                task.cloned().map(Entity::Task)
            }
            Key::Lease(repo, id) => {
                let lease = state.leases.get(&(repo.clone(), *id));
                lease.cloned().map(|lease| Entity::Lease(Box::new(lease)))
            }
            Key::Decision(repo, id) => {
                let decision = state.decisions.get(&(repo.clone(), *id));
                decision.cloned().map(|decision| Entity::Decision(Box::new(decision)))
            }
            Key::Agent(id) => state.agents.get(id).cloned().map(Entity::Agent),
            Key::Memory(repo, id) => {
                let memory = state.memories.get(&(repo.clone(), *id));
                memory.cloned().map(|memory| Entity::Memory(Box::new(memory)))
            }
            Key::Directive(repo, id) => {
                let directive = state.directives.get(&(repo.clone(), *id));
                directive.cloned().map(|directive| Entity::Directive(Box::new(directive)))
            }
            Key::PastLease(repo, id) => {
                let lease = state.past_leases.get(&(repo.clone(), *id));
                lease.cloned().map(|lease| Entity::PastLease(Box::new(lease)))
            }
            Key::Post(repo, id) => {
                let post = state.posts.get(&(repo.clone(), id.clone()));
                post.cloned().map(|post| Entity::Post(Box::new(post)))
            }
            Key::Run(repo, id) => {
                let run = state.runs.get(&(repo.clone(), *id));
                run.cloned().map(|run| Entity::Run(Box::new(run)))
            }
            Key::Budget(repo, scope) => {
                let budget = state.budgets.get(&(repo.clone(), scope.clone()));
                budget.cloned().map(|budget| Entity::Budget(Box::new(budget)))
            }
        }
    }

    fn put_tasks(&self, facts: &mut Facts, wanted: impl Fn(&Task) -> bool) -> Vec<TaskId> {
        let tasks = self.state.tasks.values().filter(|task| wanted(task));
        tasks
            .map(|task| {
                let key = Key::Task(task.repo.clone(), task.id.clone());
                facts.put(key, Some(Entity::Task(task.clone())));
                task.id.clone()
            })
            .collect()
    }

    fn put_leases(&self, facts: &mut Facts, wanted: impl Fn(&Lease) -> bool) {
        for lease in self.state.leases.values().filter(|lease| wanted(lease)) {
            let key = Key::Lease(lease.repo.clone(), lease.id);
            facts.put(key, Some(Entity::Lease(Box::new(lease.clone()))));
        }
    }

    fn is_done(&self, repo: &RepoName, id: &TaskId) -> bool {
        let found = self.state.tasks.get(&(repo.clone(), id.clone()));
        found.is_some_and(|task| task.status == Status::Done)
    }

    fn waits(&self, task: &Task) -> bool {
        task.status == Status::Queued
            && task.dependencies.iter().any(|id| !self.is_done(&task.repo, id))
    }

    fn put_candidates(&self, facts: &mut Facts, repo: &RepoName, after: Option<(u8, u64)>) {
        let mut tasks: Vec<&Task> = self.state.tasks.values().map(Box::as_ref).collect();
        tasks.retain(|t| t.repo == *repo && t.status == Status::Queued && !self.waits(t));
        tasks.retain(|t| after.is_none_or(|after| place(t) > after));
        tasks.sort_by_key(|task| place(task));
        tasks.truncate(candidate_page(after));
        let places: Vec<_> = tasks.iter().map(|task| place(task)).collect();
        self.put_tasks(facts, |task| tasks.iter().any(|t| t.id == task.id && t.repo == task.repo));
        facts.put_candidates(repo.clone(), after, &places);
    }

    pub fn load(&self, need: &Need, facts: &mut Facts) {
        match need {
            Need::Entity(key) => {
                facts.put(key.clone(), self.entity(key));
                if let Key::Agent(id) = key {
                    let presence = self.presence.get(id).cloned().unwrap_or_default();
                    facts.put_presence(id.clone(), presence);
                }
            }
            Need::TaskNumber(repo, number) => {
                self.put_tasks(facts, |t| t.repo == *repo && t.number == *number);
            }
            Need::TaskPrefix(repo, prefix) => {
                let fits = |t: &Task| t.repo == *repo && t.id.as_str().starts_with(prefix);
                let mut ids = self.put_tasks(facts, fits);
                ids.truncate(PREFIX_MATCHES_MAX);
                facts.put_prefix(repo.clone(), prefix.clone(), ids);
            }
            Need::Candidates(repo, after) => self.put_candidates(facts, repo, *after),
            Need::Preferred(repo, agent) => {
                let prefers = |t: &Task| t.repo == *repo && t.preferred.as_ref() == Some(agent);
                let ready = |t: &Task| t.status == Status::Queued && !self.waits(t);
                let sent_back = |t: &Task| {
                    t.repo == *repo
                        && t.status == Status::ChangesRequested
                        && t.assignee.as_ref() == Some(agent)
                };
                self.put_tasks(facts, |t| (prefers(t) && ready(t)) || sent_back(t));
            }
            Need::LeasesNear(repo, prefix) => {
                // Exactly those that the contract names, so that a rule cannot rely on more.
                self.put_leases(facts, |lease| lease.repo == *repo && is_near(&lease.path, prefix));
            }
            Need::HeldNear(repo, after, paths) => {
                let near = |pattern: &str| paths.iter().any(|path| is_near(pattern, path));
                self.put_leases(facts, |lease| lease.repo == *repo && near(&lease.path));
                for lease in self.state.past_leases.values() {
                    if lease.repo == *repo && lease.ended > *after && near(&lease.path) {
                        let key = Key::PastLease(repo.clone(), lease.id);
                        facts.put(key, Some(Entity::PastLease(Box::new(lease.clone()))));
                    }
                }
            }
            Need::LeasesOf(repo, owner) => {
                self.put_leases(facts, |lease| lease.repo == *repo && lease.owner == *owner);
            }
            Need::Dependants(repo, id) => {
                let ids = self.put_tasks(facts, |t| t.repo == *repo && t.dependencies.contains(id));
                facts.put_dependants(repo.clone(), id.clone(), ids);
            }
            Need::Children(repo, id) => {
                let ids =
                    self.put_tasks(facts, |t| t.repo == *repo && t.parent.as_ref() == Some(id));
                facts.put_children(repo.clone(), id.clone(), ids);
            }
            // The rule walks on by single entities where this gives too little.
            Need::Closure(..) => {}
            Need::Waiting(repo) => {
                let waiting = self.state.tasks.values();
                let count = waiting.filter(|t| t.repo == *repo && self.waits(t)).count() as u64;
                facts.put_waiting(repo.clone(), count.min(WAITING_COUNT_MAX));
            }
            Need::Saved(actor, key) => facts.put_saved(actor.clone(), key.clone(), None),
        }
        facts.mark_answered(need.clone());
    }
}

fn is_near(pattern: &str, prefix: &str) -> bool {
    let own = Pattern::parse(pattern).unwrap().literal_prefix().to_owned();
    let below = |path: &str, above: &str| {
        above.is_empty() || path == above || path.starts_with(&format!("{above}/"))
    };
    below(&own, prefix) || below(prefix, &own)
}
