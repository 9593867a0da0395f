//! How rules read the facts.

use super::{Facts, Halt, Need, PREFIX_MATCHES_MAX, Presence, Ruling, Saved, place};
use crate::agent::{Agent, Counters};
use crate::budget::{Budget, Scope};
use crate::decision::Decision;
use crate::directive::Directive;
use crate::ids::{
    AgentId, DecisionId, DirectiveId, Fence, LeaseId, MemoryId, RepoName, RunId, Seq, TaskId,
};
use crate::lease::{Lease, PastLease};
use crate::memory::Memory;
use crate::pattern::CaseRule;
use crate::post::{Post, PostId};
use crate::run::{Run, run_of};
use crate::state::Key;
use crate::status::Status;
use crate::task::{Claim, Task};
use crate::time::Timestamp;
use std::collections::BTreeSet;

/// The candidates that have not been loaded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Beyond {
    /// All of them come after this place.
    pub last: Option<(u8, u64)>,
    /// What to load to see some of them.
    pub next: Need,
}

/// How rules read.
impl Facts {
    fn need_key(&self, key: Key) -> Ruling<()> {
        if self.known.contains(&key) { Ok(()) } else { Err(Halt::Need(Need::Entity(key))) }
    }

    fn need(&self, need: Need) -> Ruling<()> {
        if self.answered.contains(&need) { Ok(()) } else { Err(Halt::Need(need)) }
    }

    pub fn counters(&self, repo: &RepoName) -> Ruling<Counters> {
        self.need_key(Key::Repo(repo.clone()))?;
        Ok(self.state.repos.get(repo).cloned().unwrap_or_default())
    }

    /// Returns how paths are compared in a repository.
    pub fn case_rule_of(&self, repo: &RepoName) -> Ruling<CaseRule> {
        Ok(self.counters(repo)?.fold_case.map_or(self.case_rule, CaseRule::folding))
    }

    pub fn task(&self, repo: &RepoName, id: &TaskId) -> Ruling<Option<&Task>> {
        self.need_key(Key::Task(repo.clone(), id.clone()))?;
        Ok(self.state.task(repo, id))
    }

    pub fn lease(&self, repo: &RepoName, id: LeaseId) -> Ruling<Option<&Lease>> {
        self.need_key(Key::Lease(repo.clone(), id))?;
        Ok(self.state.leases.get(&(repo.clone(), id)))
    }

    pub fn decision(&self, repo: &RepoName, id: DecisionId) -> Ruling<Option<&Decision>> {
        self.need_key(Key::Decision(repo.clone(), id))?;
        Ok(self.state.decisions.get(&(repo.clone(), id)))
    }

    pub fn memory(&self, repo: &RepoName, id: MemoryId) -> Ruling<Option<&Memory>> {
        self.need_key(Key::Memory(repo.clone(), id))?;
        Ok(self.state.memories.get(&(repo.clone(), id)))
    }

    pub fn directive(&self, repo: &RepoName, id: DirectiveId) -> Ruling<Option<&Directive>> {
        self.need_key(Key::Directive(repo.clone(), id))?;
        Ok(self.state.directives.get(&(repo.clone(), id)))
    }

    pub fn post(&self, repo: &RepoName, id: &PostId) -> Ruling<Option<&Post>> {
        self.need_key(Key::Post(repo.clone(), id.clone()))?;
        Ok(self.state.posts.get(&(repo.clone(), id.clone())))
    }
    pub fn run(&self, repo: &RepoName, id: RunId) -> Ruling<Option<&Run>> {
        self.need_key(Key::Run(repo.clone(), id))?;
        Ok(self.state.runs.get(&(repo.clone(), id)))
    }

    pub fn budget(&self, repo: &RepoName, scope: &Scope) -> Ruling<Option<&Budget>> {
        self.need_key(Key::Budget(repo.clone(), scope.clone()))?;
        Ok(self.state.budgets.get(&(repo.clone(), scope.clone())))
    }

    /// Returns when a run is lost if nothing more is heard of it.
    pub fn run_expiry(&self, run: &Run) -> Ruling<Timestamp> {
        let life = self.last_life(&run.identity, run.fence, run.alive_since())?;
        Ok(life.max(self.moment.woke_at.unwrap_or_default()).plus(run.ttl))
    }

    /// Returns when a seat is free if nothing more is heard of its holder.
    pub fn seat_expiry(&self, seat: &crate::seat::Seat) -> Ruling<Timestamp> {
        let life = self.last_life(&seat.holder, seat.fence, seat.since)?;
        Ok(life.max(self.moment.woke_at.unwrap_or_default()).plus(seat.ttl))
    }

    pub fn agent(&self, id: &AgentId) -> Ruling<Option<&Agent>> {
        self.need_key(Key::Agent(id.clone()))?;
        Ok(self.state.agents.get(id))
    }

    pub fn presence(&self, id: &AgentId) -> Ruling<Presence> {
        self.need_key(Key::Agent(id.clone()))?;
        Ok(self.presence.get(id).cloned().unwrap_or_default())
    }

    /// Returns the tasks whose id starts so; more than one means that the prefix is ambiguous.
    pub fn tasks_by_prefix(&self, repo: &RepoName, prefix: &str) -> Ruling<Vec<TaskId>> {
        self.need(Need::TaskPrefix(repo.clone(), prefix.to_owned()))?;
        let loaded = self.prefixes.get(&(repo.clone(), prefix.to_owned())).into_iter().flatten();
        let mut ids: BTreeSet<TaskId> = loaded.cloned().collect();
        ids.extend(
            self.changed_tasks(repo)
                .map(|task| &task.id)
                .filter(|id| id.as_str().starts_with(prefix))
                .cloned(),
        );
        Ok(ids.into_iter().take(PREFIX_MATCHES_MAX).collect())
    }

    fn changed_tasks<'a>(&'a self, repo: &'a RepoName) -> impl Iterator<Item = &'a Task> {
        self.changed.iter().filter_map(move |key| {
            let Key::Task(of, id) = key else { return None };
            (of == repo).then(|| self.state.task(of, id))?
        })
    }

    pub fn number_taken(&self, repo: &RepoName, number: u64) -> Ruling<bool> {
        self.need(Need::TaskNumber(repo.clone(), number))?;
        Ok(self.tasks_in(repo).any(|task| task.number == number))
    }

    pub fn dependants(&self, repo: &RepoName, id: &TaskId) -> Ruling<Vec<&Task>> {
        self.need(Need::Dependants(repo.clone(), id.clone()))?;
        let loaded = self.dependants.get(&(repo.clone(), id.clone()));
        self.loaded_or_changed(repo, loaded, |task| task.dependencies.contains(id))
    }

    pub fn children(&self, repo: &RepoName, id: &TaskId) -> Ruling<Vec<&Task>> {
        self.need(Need::Children(repo.clone(), id.clone()))?;
        let loaded = self.children.get(&(repo.clone(), id.clone()));
        self.loaded_or_changed(repo, loaded, |task| task.parent.as_ref() == Some(id))
    }

    /// A list that was loaded earlier is completed from what has changed since.
    fn loaded_or_changed(
        &self,
        repo: &RepoName,
        loaded: Option<&Vec<TaskId>>,
        fits: impl Fn(&Task) -> bool,
    ) -> Ruling<Vec<&Task>> {
        let mut ids: BTreeSet<&TaskId> = loaded.into_iter().flatten().collect();
        ids.extend(self.changed_tasks(repo).map(|task| &task.id));
        let mut tasks = Vec::new();
        for id in ids {
            tasks.extend(self.task(repo, id)?.filter(|task| fits(task)));
        }
        Ok(tasks)
    }

    /// Makes sure that everything a task depends on, directly or not, is loaded.
    pub fn closure(&self, repo: &RepoName, id: &TaskId) -> Ruling<()> {
        self.need(Need::Closure(repo.clone(), id.clone()))
    }

    /// Returns the queued tasks that prefer an agent, by priority and number.
    pub fn preferred(&self, repo: &RepoName, agent: &AgentId) -> Ruling<Vec<&Task>> {
        self.need(Need::Preferred(repo.clone(), agent.clone()))?;
        let mut tasks: Vec<&Task> = self
            .tasks_in(repo)
            .filter(|task| task.status == Status::Queued && task.preferred.as_ref() == Some(agent))
            .collect();
        tasks.sort_by_key(|task| place(task));
        Ok(tasks)
    }

    /// Returns the work that reviews sent back to an agent, by priority and number.
    pub fn sent_back(&self, repo: &RepoName, agent: &AgentId) -> Ruling<Vec<&Task>> {
        self.need(Need::Preferred(repo.clone(), agent.clone()))?;
        let is_own = |task: &&Task| {
            task.status == Status::ChangesRequested && task.assignee.as_ref() == Some(agent)
        };
        let mut tasks: Vec<&Task> = self.tasks_in(repo).filter(is_own).collect();
        tasks.sort_by_key(|task| place(task));
        Ok(tasks)
    }

    fn tasks_in(&self, repo: &RepoName) -> impl Iterator<Item = &Task> + use<'_> {
        let from = (repo.clone(), TaskId::first());
        let repo = repo.clone();
        let tasks = self.state.tasks.range(from..).take_while(move |((of, _), _)| *of == repo);
        tasks.map(|(_, task)| task.as_ref())
    }

    /// Returns the queued tasks loaded so far by priority and number, and, unless that is all, up to
    /// which place and what to load next.
    pub fn candidates(&self, repo: &RepoName) -> Ruling<(Vec<&Task>, Option<Beyond>)> {
        let Some(frontier) = self.frontiers.get(repo) else {
            return Err(Halt::Need(Need::Candidates(repo.clone(), None)));
        };
        let mut tasks: Vec<&Task> = self
            .tasks_in(repo)
            .filter(|task| task.status == Status::Queued)
            .filter(|task| frontier.exhausted || Some(place(task)) <= frontier.last)
            .collect();
        tasks.sort_by_key(|task| place(task));
        let beyond = (!frontier.exhausted).then(|| Beyond {
            last: frontier.last,
            next: Need::Candidates(repo.clone(), frontier.last),
        });
        Ok((tasks, beyond))
    }

    pub fn waiting(&self, repo: &RepoName) -> Ruling<u64> {
        self.need(Need::Waiting(repo.clone()))?;
        Ok(self.waiting.get(repo).copied().unwrap_or(0))
    }

    /// Returns the live leases that may overlap a pattern with this literal prefix.
    pub fn leases_near(
        &self,
        repo: &RepoName,
        prefix: &str,
    ) -> Ruling<impl Iterator<Item = &Lease>> {
        self.need(Need::LeasesNear(repo.clone(), prefix.to_owned()))?;
        Ok(self.leases_in(repo))
    }

    /// Returns the leases near some paths: the live ones, and those that ended after a place in the log.
    pub fn held_near(
        &self,
        repo: &RepoName,
        after: Seq,
        paths: &[String],
    ) -> Ruling<(Vec<&Lease>, Vec<&PastLease>)> {
        self.need(Need::HeldNear(repo.clone(), after, paths.to_vec()))?;
        let from = (repo.clone(), LeaseId(0));
        let past = self.state.past_leases.range(from..).take_while(|((of, _), _)| of == repo);
        let past = past.map(|(_, lease)| lease).filter(|lease| lease.ended > after);
        Ok((self.leases_in(repo).collect(), past.collect()))
    }

    pub fn leases_of(&self, repo: &RepoName, owner: &AgentId) -> Ruling<Vec<&Lease>> {
        self.need(Need::LeasesOf(repo.clone(), owner.clone()))?;
        Ok(self.leases_in(repo).filter(|lease| lease.owner == *owner).collect())
    }

    fn leases_in(&self, repo: &RepoName) -> impl Iterator<Item = &Lease> {
        let from = (repo.clone(), LeaseId(0));
        let repo = repo.clone();
        self.state.leases.range(from..).take_while(move |((of, _), _)| *of == repo).map(|(_, l)| l)
    }

    pub fn due(&self) -> &[Key] {
        &self.due
    }

    pub fn saved(&self, actor: &AgentId, key: &str) -> Ruling<Option<&Saved>> {
        self.need(Need::Saved(actor.clone(), key.to_owned()))?;
        Ok(self.saved.get(&(actor.clone(), key.to_owned())).and_then(Option::as_ref))
    }

    /// Returns when a claim ends if nothing more is heard of its holder.
    pub fn claim_expiry(&self, claim: &Claim) -> Ruling<Timestamp> {
        let life = self.last_life(&claim.agent, claim.fence, claim.claimed_at)?;
        Ok(life.max(self.moment.woke_at.unwrap_or_default()).plus(claim.ttl))
    }

    /// Returns when the work under a claim must be handed in. A host that slept meanwhile gets one life of the
    /// claim as grace.
    pub fn work_deadline(&self, task: &Task, claim: &Claim) -> Option<Timestamp> {
        let started = claim.started_at?;
        let deadline = task.deadline()?;
        let woke = self.moment.woke_at.filter(|woke| *woke > started);
        Some(woke.map_or(deadline, |woke| deadline.max(woke.plus(claim.ttl))))
    }

    /// Returns when a claim ends: its holder is silent for too long, or the work takes too long.
    pub fn claim_end(&self, task: &Task, claim: &Claim) -> Ruling<Timestamp> {
        let expiry = self.claim_expiry(claim)?;
        Ok(self.work_deadline(task, claim).map_or(expiry, |deadline| deadline.min(expiry)))
    }

    /// Tells whether somebody acts in a run that waits for a labelled worker: until one takes it, nothing that it holds runs out.
    pub fn waits_for_worker(&self, repo: &RepoName, agent: &AgentId) -> Ruling<bool> {
        let Some(id) = run_of(agent) else { return Ok(false) };
        let run = self.run(repo, id)?;
        Ok(run.is_some_and(|run| {
            run.identity == *agent && run.state.is_live() && !run.must_be_heard_of()
        }))
    }

    /// Returns when a lease ends if nothing more is heard of its owner.
    pub fn lease_expiry(&self, lease: &Lease) -> Ruling<Timestamp> {
        if self.waits_for_worker(&lease.repo, &lease.owner)? {
            return Ok(self.moment.now.plus(lease.ttl));
        }
        let life = self.lease_life(lease)?;
        Ok(life.max(self.moment.woke_at.unwrap_or_default()).plus(lease.ttl))
    }

    /// Returns the last sign of life for a lease. One that counts for a claim counts for the leases that
    /// were added to it later, too: they live as long as it does.
    pub fn lease_life(&self, lease: &Lease) -> Ruling<Timestamp> {
        let life = self.last_life(&lease.owner, lease.fence, lease.renewed_at)?;
        if let Some(id) = &lease.claim_of
            && let Some(claim) = self.task(&lease.repo, id)?.and_then(|task| task.claim.as_ref())
        {
            return self.last_life(&claim.agent, claim.fence, life);
        }
        Ok(life)
    }

    /// Returns the last sign of life for a grant: it was given, or its owner was heard of.
    pub fn last_life(
        &self,
        owner: &AgentId,
        fence: Fence,
        granted: Timestamp,
    ) -> Ruling<Timestamp> {
        self.need_key(Key::Agent(owner.clone()))?;
        let heard = self.presence.get(owner).and_then(|presence| presence.for_grant(fence));
        Ok(granted.max(heard.unwrap_or_default()))
    }

    /// Returns the last sign of life of an agent, for any of its grants.
    pub fn last_heard(&self, agent: &AgentId) -> Ruling<Option<Timestamp>> {
        self.need_key(Key::Agent(agent.clone()))?;
        Ok(self.presence.get(agent).and_then(Presence::latest))
    }

    pub fn is_live(&self, lease: &Lease) -> Ruling<bool> {
        Ok(self.lease_expiry(lease)? > self.moment.now)
    }
}
