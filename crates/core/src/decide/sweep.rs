//! What time does: claims and leases that ran out, deadlines, retries, grace periods.
//!
//! Every mutation applies this first, as actor `watchdog`; every read sees the state as if it had.

use super::leases::held;
use super::queue::with_consequence;
use super::stop::{Wear, by_watchdog, choice, exhausted};
use crate::budget::Scope;
use crate::decision::{Decision, DecisionPurpose, DecisionState};
use crate::directive::Directive;
use crate::event::{
    DecisionAnswered, DecisionExpired, Draft, Event, Held, LocksReclaimed, ReclaimedLock,
    StatusChanged,
};
use crate::facts::{Facts, Ruling};
use crate::ids::{AgentId, DecisionId, RepoName, TaskId};
use crate::lease::Lease;
use crate::policy::Policy;
use crate::run::{Run, run_of};
use crate::state::Key;
use crate::status::Status;
use crate::task::{Claim, Task};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    pub events: Vec<Draft>,
    /// Entities that turned out to have time left, and until when.
    pub later: Vec<(Key, Timestamp)>,
}

/// Returns when the time of an entity may be up, leaving signs of life aside: never too late.
pub fn due_at(facts: &Facts, key: &Key, policy: &Policy) -> Option<Timestamp> {
    match key {
        Key::Task(repo, id) => {
            let task = facts.state.tasks.get(&(repo.clone(), id.clone()))?;
            if let Some(claim) = &task.claim {
                let expiry = claim.claimed_at.plus(claim.ttl);
                return Some(task.deadline().map_or(expiry, |deadline| deadline.min(expiry)));
            }
            task.sent_back_until(policy.default_ttl).or_else(|| block_due(task, policy))
        }
        Key::Lease(repo, id) => {
            let lease = facts.state.leases.get(&(repo.clone(), *id))?;
            Some(lease.renewed_at.plus(lease.ttl))
        }
        Key::Decision(repo, id) => {
            let decision = facts.state.decisions.get(&(repo.clone(), *id))?;
            decision.expires_at.filter(|_| decision.state == DecisionState::Open)
        }
        Key::Memory(repo, id) => facts.state.memories.get(&(repo.clone(), *id))?.expires_at,
        Key::Directive(repo, id) => facts.state.directives.get(&(repo.clone(), *id))?.removed_at(),
        Key::Run(repo, id) => {
            let run = facts.state.runs.get(&(repo.clone(), *id))?;
            run.must_be_heard_of().then(|| run.alive_since().plus(run.ttl))
        }
        Key::Repo(_) | Key::Agent(_) | Key::Budget(..) | Key::PastLease(..) | Key::Post(..) => None,
    }
}

fn block_due(task: &Task, policy: &Policy) -> Option<Timestamp> {
    let block = task.block.as_ref()?;
    let grace = (!block.escalated).then(|| block.since.plus(policy.blocked_grace));
    match (block.retry_at, grace) {
        (Some(retry), Some(grace)) => Some(retry.min(grace)),
        (retry, grace) => retry.or(grace),
    }
}

/// Finds what has expired among the entities that are due.
pub fn sweep(facts: &Facts, policy: &Policy) -> Ruling<Swept> {
    let mut sweeper = Sweeper {
        facts,
        policy,
        swept: Swept::default(),
        asked: BTreeMap::new(),
        stale: BTreeMap::new(),
        resumed: BTreeMap::new(),
    };
    // Answers that time gives come first: they may set tasks free that are due themselves.
    let due: BTreeSet<&Key> = facts.due().iter().collect();
    for key in &due {
        if let Key::Decision(repo, id) = key
            && let Some(decision) = facts.decision(repo, *id)?
        {
            sweeper.decision(decision)?;
        }
    }
    sweeper.resume()?;
    for key in due {
        match key {
            Key::Task(repo, id) => {
                if let Some(task) = facts.task(repo, id)?
                    && !sweeper.moves(task)
                {
                    sweeper.task(key, task)?;
                }
            }
            Key::Lease(repo, id) => {
                if let Some(lease) = facts.lease(repo, *id)? {
                    sweeper.lease(key, lease)?;
                }
            }
            Key::Memory(repo, id) => {
                let expired = facts.memory(repo, *id)?.filter(|m| m.is_expired(sweeper.now()));
                sweeper.swept.events.extend(expired.map(super::memories::expired));
            }
            Key::Directive(repo, id) => {
                let due = |d: &&Directive| d.removed_at().is_some_and(|at| at <= sweeper.now());
                let gone = facts.directive(repo, *id)?.filter(due);
                sweeper.swept.events.extend(gone.map(super::directives::expired));
            }
            Key::Run(repo, id) => {
                if let Some(run) = facts.run(repo, *id)? {
                    sweeper.run(key, run)?;
                }
            }
            Key::Decision(..)
            | Key::Repo(_)
            | Key::Agent(_)
            | Key::Budget(..)
            | Key::PastLease(..)
            | Key::Post(..) => {}
        }
    }
    sweeper.reclaim_stale_leases()?;
    let mut swept = sweeper.swept;
    super::run_again::queue_again(facts, policy, &mut swept)?;
    Ok(swept)
}

/// Leases that end together: same repository, owner and claim.
type LeaseGroup = (RepoName, AgentId, Option<TaskId>);

struct Sweeper<'a> {
    facts: &'a Facts,
    policy: &'a Policy,
    swept: Swept,
    /// Decisions asked in this sweep, by repository.
    asked: BTreeMap<RepoName, u64>,
    stale: BTreeMap<LeaseGroup, Vec<&'a Lease>>,
    /// Decisions that got their default in this sweep, by the task that waits for them.
    resumed: BTreeMap<(RepoName, TaskId), Vec<DecisionId>>,
}

impl<'a> Sweeper<'a> {
    fn now(&self) -> Timestamp {
        self.facts.moment.now
    }

    fn push(&mut self, task: &Task, event: Event) {
        self.swept.events.push(by_watchdog(task, event));
    }

    fn queue(&mut self, task: &Task, change: StatusChanged) -> Ruling<()> {
        for event in with_consequence(self.facts, task, change, None)? {
            self.push(task, event);
        }
        Ok(())
    }

    fn next_decision(&mut self, repo: &RepoName) -> Ruling<DecisionId> {
        let before = self.facts.counters(repo)?.decisions;
        let asked = self.asked.entry(repo.clone()).or_default();
        *asked += 1;
        Ok(DecisionId(before + *asked))
    }

    fn task(&mut self, key: &Key, task: &'a Task) -> Ruling<()> {
        if let Some(claim) = &task.claim {
            let end = self.facts.claim_end(task, claim)?;
            if end > self.now() {
                self.swept.later.push((key.clone(), end));
                return Ok(());
            }
            if self.facts.waits_for_worker(&task.repo, &claim.agent)? {
                self.swept.later.push((key.clone(), self.now().plus(claim.ttl)));
                return Ok(());
            }
            // Whichever came first is what happened.
            if self.facts.work_deadline(task, claim) == Some(end) {
                return self.time_out(task, claim);
            }
            return self.reclaim(task, claim);
        }
        if let Some(until) = task.sent_back_until(self.policy.default_ttl) {
            return self.sent_back(key, task, until);
        }
        let Some(block) = &task.block else { return Ok(()) };
        if block.retry_at.is_some_and(|at| at <= self.now()) {
            let why = Some("the time to try again has come".to_owned());
            let mut change = StatusChanged::new(task.status, Status::Queued, why);
            change.prefers = task.assignee.clone();
            self.queue(task, change)?;
        } else if !block.escalated && block.since.plus(self.policy.blocked_grace) <= self.now() {
            self.escalate(task, &block.needs)?;
        } else if let Some(at) = block_due(task, self.policy) {
            self.swept.later.push((key.clone(), at));
        }
        Ok(())
    }

    /// Work that a review sent back goes to the queue again when its assignee is silent for as long as its claim lived.
    fn sent_back(&mut self, key: &Key, task: &Task, until: Timestamp) -> Ruling<()> {
        let Some(assignee) = &task.assignee else { return Ok(()) };
        let ttl = task.last_ttl.unwrap_or(self.policy.default_ttl);
        let heard = self.facts.last_heard(assignee)?.unwrap_or_default();
        let woke = self.facts.moment.woke_at.unwrap_or_default();
        let end = until.max(heard.max(woke).plus(ttl));
        if end > self.now() {
            self.swept.later.push((key.clone(), end));
            return Ok(());
        }
        let why = format!("{assignee} did not take it up again after the review");
        let mut change = StatusChanged::new(task.status, Status::Queued, Some(why));
        change.prefers = Some(assignee.clone());
        self.queue(task, change)
    }

    fn escalate(&mut self, task: &Task, needs: &str) -> Ruling<()> {
        let decision = self.next_decision(&task.repo)?;
        let asked = choice(
            decision,
            &format!("{} has been blocked for {}. What now?", task.id, self.policy.blocked_grace),
            Some(needs.to_owned()),
            DecisionPurpose::Grace,
            &[
                ("requeue", "Put it back into the queue"),
                ("split", "Break it into smaller tasks"),
                ("abandon", "Give it up"),
            ],
        );
        self.push(task, Event::DecisionAsked(Box::new(asked)));
        Ok(())
    }

    /// Ends the leases of a claim; returns the last sign of life of its holder.
    fn take_back(&mut self, task: &Task, claim: &Claim) -> Ruling<Timestamp> {
        self.lose_run_of(task, &claim.agent)?;
        let life = self.facts.last_life(&claim.agent, claim.fence, claim.claimed_at)?;
        let mut locks = Vec::new();
        for id in &claim.leases {
            if let Some(lease) = self.facts.lease(&task.repo, *id)? {
                locks.push(reclaimed(self.facts, lease)?);
            }
        }
        let body = LocksReclaimed { owner: claim.agent.clone(), last_seen: Some(life), locks };
        self.push(task, Event::LocksReclaimed(body));
        Ok(life)
    }

    /// The work took longer than it may: the attempt has failed, however alive its holder is.
    fn time_out(&mut self, task: &Task, claim: &Claim) -> Ruling<()> {
        self.take_back(task, claim)?;
        let why = format!("the work of {} took longer than {}", claim.agent, task.timeout);
        self.fail(task, &why, "failed")
    }

    /// Fails an attempt; the last one asks what to do.
    fn fail(&mut self, task: &Task, why: &str, how: &str) -> Ruling<()> {
        let attempts = task.attempts + 1;
        let mut failed = StatusChanged::new(task.status, Status::Failed, Some(why.to_owned()));
        failed.uses_attempt = true;
        self.push(task, Event::StatusChanged(failed));
        if attempts < self.policy.max_attempts {
            return Ok(());
        }
        let decision = self.next_decision(&task.repo)?;
        let what = format!("{attempts} attempts {how}");
        let of_run = task.claim.as_ref().is_some_and(|claim| run_of(&claim.agent).is_some());
        let wear = Wear { attempts, what, log: Some(why.to_owned()), of_run };
        for event in exhausted(task, Status::Failed, &wear, decision) {
            self.push(task, event);
        }
        Ok(())
    }

    fn reclaim(&mut self, task: &Task, claim: &Claim) -> Ruling<()> {
        let life = self.take_back(task, claim)?;
        // A holder that had no chance to be heard since the host woke is not to blame.
        let slept = self.facts.moment.woke_at.is_some_and(|woke| life < woke);
        let attempts = task.attempts + u32::from(!slept);
        let why = format!("{} has shown no sign of life since {life}", claim.agent);
        if attempts >= self.policy.max_attempts && !slept {
            return self.fail(task, &why, "ended without a result");
        }
        let mut change = StatusChanged::new(task.status, Status::Queued, Some(why));
        change.uses_attempt = !slept;
        self.queue(task, change)
    }

    /// A run that nobody is heard of ends, and so does its claim.
    fn run(&mut self, key: &Key, run: &Run) -> Ruling<()> {
        if !run.must_be_heard_of() || self.has_lost(run) {
            return Ok(());
        }
        let expiry = self.facts.run_expiry(run)?;
        if expiry > self.now() {
            self.swept.later.push((key.clone(), expiry));
            return Ok(());
        }
        let task = self.facts.task(&run.repo, &run.task)?;
        self.lose(run, task)?;
        if let Some(task) = task.filter(|task| !self.moves(task))
            && let Some(claim) = task.claim.as_ref().filter(|claim| claim.agent == run.identity)
        {
            self.reclaim(task, claim)?;
        }
        Ok(())
    }

    fn lose(&mut self, run: &Run, task: Option<&Task>) -> Ruling<()> {
        let seen = self.facts.last_life(&run.identity, run.fence, run.alive_since())?;
        for scope in Scope::of(run) {
            self.facts.budget(&run.repo, &scope)?;
        }
        self.swept.events.extend(super::runs::lost(run, task, seen));
        Ok(())
    }

    /// The claim of a run ends, and with it the run.
    fn lose_run_of(&mut self, task: &Task, holder: &AgentId) -> Ruling<()> {
        let Some(id) = run_of(holder) else { return Ok(()) };
        match self.facts.run(&task.repo, id)? {
            Some(run) if run.identity == *holder && run.state.is_live() && !self.has_lost(run) => {
                self.lose(run, Some(task))
            }
            _ => Ok(()),
        }
    }

    fn has_lost(&self, run: &Run) -> bool {
        self.swept.events.iter().any(|draft| {
            matches!(&draft.event, Event::BudgetReleased(body) if body.run == run.id)
                && draft.repo == run.repo
        })
    }

    fn lease(&mut self, key: &Key, lease: &'a Lease) -> Ruling<()> {
        let expiry = self.facts.lease_expiry(lease)?;
        if expiry > self.now() {
            self.swept.later.push((key.clone(), expiry));
            return Ok(());
        }
        let group = (lease.repo.clone(), lease.owner.clone(), lease.claim_of.clone());
        self.stale.entry(group).or_default().push(lease);
        Ok(())
    }

    /// Leases go with their claim when that has run out too; the rest end by themselves.
    fn reclaim_stale_leases(&mut self) -> Ruling<()> {
        for ((repo, owner, claim_of), leases) in std::mem::take(&mut self.stale) {
            let gone: Vec<_> = self.reclaimed_already(&repo);
            let mut locks: Vec<ReclaimedLock> = Vec::new();
            for lease in leases.iter().filter(|lease| !gone.contains(&lease.id)) {
                locks.push(reclaimed(self.facts, lease)?);
            }
            let Some(first) = leases.first().filter(|_| !locks.is_empty()) else { continue };
            let life = self.facts.lease_life(first)?;
            let body = LocksReclaimed { owner, last_seen: Some(life), locks };
            let draft = Draft::by_watchdog(repo, claim_of, Event::LocksReclaimed(body));
            self.swept.events.push(draft);
        }
        Ok(())
    }

    fn reclaimed_already(&self, repo: &RepoName) -> Vec<crate::ids::LeaseId> {
        let here = self.swept.events.iter().filter(|draft| draft.repo == *repo);
        here.filter_map(|draft| {
            let Event::LocksReclaimed(body) = &draft.event else { return None };
            Some(body.locks.iter().map(|lock| lock.lock_id))
        })
        .flatten()
        .collect()
    }

    fn decision(&mut self, decision: &Decision) -> Ruling<()> {
        let open = decision.state == DecisionState::Open;
        if !open || decision.expires_at.is_none_or(|at| at > self.now()) {
            return Ok(());
        }
        let woken = super::decisions::woken(self.facts, decision, &AgentId::watchdog())?;
        self.swept.events.extend(woken);
        let draft = |event| Draft::by_watchdog(decision.repo.clone(), decision.task.clone(), event);
        let Some(default) = &decision.default else {
            let body = DecisionExpired { decision: decision.id };
            self.swept.events.push(draft(Event::DecisionExpired(body)));
            return Ok(());
        };
        // The default was checked when the question was asked.
        let (answer, text) = decision.read_answer(default).unwrap_or((default.clone(), None));
        self.swept.events.push(draft(Event::DecisionAnswered(DecisionAnswered {
            decision: decision.id,
            answer,
            text,
            state: DecisionState::Defaulted,
        })));
        if let Some(id) = &decision.task {
            let place = (decision.repo.clone(), id.clone());
            self.resumed.entry(place).or_default().push(decision.id);
        }
        Ok(())
    }

    /// Lets the tasks go on whose last questions were answered by time.
    fn resume(&mut self) -> Ruling<()> {
        for ((repo, id), answered) in std::mem::take(&mut self.resumed) {
            if let Some(task) = self.facts.task(&repo, &id)? {
                let watchdog = AgentId::watchdog();
                let step = super::decisions::resume_after(self.facts, task, &answered, &watchdog)?;
                self.swept.events.extend(step);
            }
        }
        Ok(())
    }

    /// Tells whether this sweep has changed the task's status already.
    fn moves(&self, task: &Task) -> bool {
        self.swept.events.iter().any(|draft| {
            matches!(draft.event, Event::StatusChanged(_))
                && draft.repo == task.repo
                && draft.task.as_ref() == Some(&task.id)
        })
    }
}

/// Ends one lease that has run out.
pub(super) fn reclaimed_alone(facts: &Facts, lease: &Lease) -> Ruling<Draft> {
    let (owner, locks) = (lease.owner.clone(), vec![reclaimed(facts, lease)?]);
    let body = LocksReclaimed { owner, last_seen: Some(facts.lease_life(lease)?), locks };
    let task = lease.claim_of.clone();
    Ok(Draft::by_watchdog(lease.repo.clone(), task, Event::LocksReclaimed(body)))
}

/// A lease that ran out ended then, and not when it was noticed.
fn reclaimed(facts: &Facts, lease: &Lease) -> Ruling<ReclaimedLock> {
    let expired_at = Some(facts.lease_expiry(lease)?.min(facts.moment.now));
    Ok(ReclaimedLock {
        lock_id: lease.id,
        path: lease.path.clone(),
        claim_of: lease.claim_of.clone(),
        held: Some(Held { expired_at, ..held(lease) }),
    })
}
