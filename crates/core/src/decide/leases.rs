//! Leases: taking, renewing and releasing them, and what they run into.

use super::{Answer, Rule};
use crate::command::LeaseChange;
use crate::event::{Event, FileLocked, Held, LeaseReleased, LeaseRenewed};
use crate::facts::{Facts, Ruling};
use crate::hint::{op, say};
use crate::ids::{AgentId, Fence, LeaseId, RepoName, TaskId};
use crate::lease::{Lease, LeaseMode};
use crate::pattern::{Pattern, overlap, surely_apart};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::task::Task;
use crate::time::{Millis, Timestamp};
use serde_json::json;

/// A wanted pattern and a live lease that overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The pattern that was asked for.
    pub wanted: String,
    /// A path that both cover.
    pub witness: String,
    /// The lease that is in the way.
    pub held: Lease,
}

impl Conflict {
    pub fn sentence(&self) -> String {
        format!(
            "{} overlaps {} held by {} ({}; both cover {})",
            self.wanted, self.held.path, self.held.owner, self.held.id, self.witness
        )
    }
}

/// Returns the live leases of other owners that a lease on the pattern would conflict with.
pub fn conflicts(
    facts: &Facts,
    repo: &RepoName,
    pattern: &Pattern,
    owner: &AgentId,
    mode: LeaseMode,
) -> Ruling<Vec<Conflict>> {
    let mut found = Vec::new();
    for (lease, witness) in rivals(facts, repo, pattern, owner, mode)? {
        if facts.is_live(lease)? {
            let wanted = pattern.as_str().to_owned();
            found.push(Conflict { wanted, witness, held: lease.clone() });
        }
    }
    Ok(found)
}

/// Counts the live leases of others that cover what the pattern covers, shared ones too.
pub fn overlapping(
    facts: &Facts,
    repo: &RepoName,
    pattern: &Pattern,
    owner: &AgentId,
) -> Ruling<usize> {
    Ok(conflicts(facts, repo, pattern, owner, LeaseMode::Exclusive)?.len())
}

/// Returns the leases of others that cannot be held beside one on the pattern, run out or not.
fn rivals<'f>(
    facts: &'f Facts,
    repo: &RepoName,
    pattern: &Pattern,
    owner: &AgentId,
    mode: LeaseMode,
) -> Ruling<Vec<(&'f Lease, String)>> {
    let mut found = Vec::new();
    for lease in facts.leases_near(repo, pattern.literal_prefix())? {
        let shared = mode == LeaseMode::Shared && lease.mode == LeaseMode::Shared;
        if lease.owner != *owner
            && !shared
            && !surely_apart(pattern.literal_prefix(), &lease.path, pattern.case_rule())
            && let Some(witness) = witness(pattern, lease)
        {
            found.push((lease, witness));
        }
    }
    Ok(found)
}

/// A stored pattern that no longer parses counts as covering everything: never a false "free".
fn witness(pattern: &Pattern, lease: &Lease) -> Option<String> {
    match Pattern::parse_with(&lease.path, pattern.case_rule()) {
        Ok(held) => overlap(pattern, &held),
        Err(_) => Some(lease.path.clone()),
    }
}

/// Makes the refusal that lists every conflict; the first one gives message and hint.
pub(super) fn lease_held(facts: &Facts, conflicts: &[Conflict]) -> Ruling<Refusal> {
    let mut list = Vec::new();
    for conflict in conflicts {
        list.push(json!({
            "wanted": conflict.wanted,
            "witness": conflict.witness,
            "held": crate::view::lease(facts, &conflict.held)?,
        }));
    }
    let Some(first) = conflicts.first() else {
        return Ok(Refusal::new(Code::LeaseHeld, "the files are leased"));
    };
    let more = match conflicts.len() - 1 {
        0 => String::new(),
        1 => ", and 1 more conflict".to_owned(),
        n => format!(", and {n} more conflicts"),
    };
    let left = facts.lease_expiry(&first.held)?.since(facts.moment.now);
    let wait = op("lease.acquire").arg("patterns", &first.wanted).ask("wait", "DUR");
    let hint = say(format!("the lease ends in {left} unless it is renewed; wait with "))
        .quote(wait)
        .say(format!(", take other work, or ask {}", first.held.owner));
    let message = format!("{}{more}", first.sentence());
    Ok(Refusal::new(Code::LeaseHeld, message).hint(hint).detail("conflicts", list))
}

pub(super) fn released(lease: &Lease, reason: Option<String>) -> Event {
    Event::LeaseReleased(LeaseReleased {
        lock_id: lease.id,
        path: lease.path.clone(),
        owner: lease.owner.clone(),
        claim_of: lease.claim_of.clone(),
        reason,
        held: Some(held(lease)),
    })
}

/// Says how a lease was held, for the event that ends it.
pub(super) fn held(lease: &Lease) -> Held {
    let Lease { mode, fence, acquired_at, late, .. } = *lease;
    Held { mode, fence, since: acquired_at, late, expired_at: None }
}

/// What a lease is asked for with.
struct Wish<'w> {
    task: Option<&'w TaskId>,
    /// The task whose claim it belongs to.
    claim_of: Option<&'w Task>,
    purpose: Option<&'w String>,
    ttl: Option<Millis>,
    mode: LeaseMode,
}

impl<'a> Rule<'a> {
    pub(super) fn lease_command(&mut self, command: &'a LeaseChange) -> Ruling<Answer> {
        match command {
            LeaseChange::Acquire { patterns, task, purpose, ttl, shared } => {
                let mode = if *shared { LeaseMode::Shared } else { LeaseMode::Exclusive };
                self.acquire(patterns, task.as_deref(), purpose.as_ref(), *ttl, mode)
            }
            LeaseChange::Renew { ids, ttl } => self.renew(ids, *ttl),
            LeaseChange::Release { ids, all } => self.release_leases(ids, *all),
        }
    }

    /// A lease command for an owner that the caller names. The caller stays the one who acts; naming the
    /// owner is what proves a hold here, so it has to be the right one, also for a person.
    pub(super) fn lease_command_for(
        &mut self,
        owner: &'a AgentId,
        since: Option<Timestamp>,
        command: &'a LeaseChange,
    ) -> Ruling<Answer> {
        self.not_for_a_person(owner)?;
        if matches!(command, LeaseChange::Acquire { .. }) {
            self.meet(owner)?;
        }
        self.owner = Some(owner);
        // A clock that runs ahead elsewhere gives nobody a longer life here.
        self.since = since.map(|since| since.min(self.facts.moment.now));
        self.lease_command(command)
    }

    /// No agent acts for a person.
    pub(super) fn not_for_a_person(&self, owner: &AgentId) -> Ruling<()> {
        if !owner.is_person() || *owner == self.request.actor || self.is_person() {
            return Ok(());
        }
        let message = format!("{} may not act for {owner}", self.request.actor);
        Err(Refusal::new(Code::HumanOnly, message).into())
    }

    /// Whose leases and claims are meant.
    pub(super) fn owner(&self) -> &'a AgentId {
        self.owner.unwrap_or(&self.request.actor)
    }

    fn acquire(
        &mut self,
        texts: &[String],
        task: Option<&str>,
        purpose: Option<&String>,
        ttl: Option<Millis>,
        mode: LeaseMode,
    ) -> Ruling<Answer> {
        let task = task.map(|text| self.task(text)).transpose()?;
        self.require(Verb::Lease)?;
        self.still_lives(ttl.unwrap_or(self.policy.default_ttl))?;
        let actor = self.owner();
        let held_by_caller = |claim: &crate::task::Claim| claim.agent == *actor;
        let claim_of = task.filter(|task| task.claim.as_ref().is_some_and(held_by_caller));
        if let Some(task) = task
            && let Some(claim) = &task.claim
            && claim_of.is_none()
            && !self.is_person()
        {
            return Err(self
                .not_holder(&format!("task {}", task.id), Some(claim.agent.as_str()))
                .into());
        }
        let mut patterns = Vec::new();
        let mut found = Vec::new();
        for text in texts {
            let pattern = self.pattern(text)?;
            if patterns.iter().any(|seen: &Pattern| seen.as_str() == pattern.as_str()) {
                continue;
            }
            found.extend(conflicts(self.facts, &self.request.repo, &pattern, actor, mode)?);
            patterns.push(pattern);
        }
        if !found.is_empty() {
            return Err(lease_held(self.facts, &found)?.into());
        }
        if let Some(claim) = claim_of.and_then(|task| task.claim.as_ref()) {
            self.list_bound("leases of one claim", claim.leases.len() + patterns.len())?;
        }
        self.reclaim_rivals(&patterns, mode)?;
        let wish = Wish { task: task.map(|task| &task.id), claim_of, purpose, ttl, mode };
        self.grant_leases(&patterns, &wish)
    }

    /// Ends leases that have run out but were not swept yet, where new ones take their place: a late sign
    /// of life of their owner must not bring them back beside these.
    pub(super) fn reclaim_rivals(&mut self, patterns: &[Pattern], mode: LeaseMode) -> Ruling<()> {
        let facts = self.facts;
        let mut ended: Vec<LeaseId> = Vec::new();
        for pattern in patterns {
            let actor = self.owner();
            for (lease, _) in rivals(facts, &self.request.repo, pattern, actor, mode)? {
                if ended.contains(&lease.id) {
                    continue;
                }
                ended.push(lease.id);
                self.append(super::sweep::reclaimed_alone(facts, lease)?);
            }
        }
        Ok(())
    }

    /// One that was taken elsewhere has only what is left of its life.
    fn still_lives(&self, ttl: Millis) -> Ruling<()> {
        let now = self.facts.moment.now;
        match self.since.map(|since| since.plus(ttl)) {
            Some(end) if end <= now => {
                let message = format!("the lease expired {} ago", now.since(end));
                Err(Refusal::input(message).hint("take a new lease").into())
            }
            _ => Ok(()),
        }
    }

    fn grant_leases(&mut self, patterns: &[Pattern], wish: &Wish<'_>) -> Ruling<Answer> {
        let mut next = self.facts.counters(&self.request.repo)?.leases;
        let mut ids = Vec::new();
        for pattern in patterns {
            let own = self.own_lease(pattern)?;
            if let Some(own) = own.filter(|own| own.mode == wish.mode) {
                ids.push(own.id);
                self.push_renewal(own, wish.ttl.unwrap_or(own.ttl));
                continue;
            }
            // Exclusive or shared is said once for the whole life of a lease: what it kept others from can be told later.
            let before = own.and_then(|own| own.claim_of.as_ref());
            if let Some(own) = own {
                self.push(before, released(own, Some(format!("now {}", wish.mode.as_str()))));
            }
            let claim_of = wish.claim_of.map(|task| &task.id).or(before);
            next += 1;
            let seq = self.next_seq();
            let fence =
                Fence::new(seq).ok_or_else(|| Refusal::new(Code::Internal, "no seq is left"))?;
            ids.push(LeaseId(next));
            let event = Event::FileLocked(FileLocked {
                lock_id: LeaseId(next),
                path: pattern.as_str().to_owned(),
                mode: wish.mode,
                owner: self.owner().clone(),
                purpose: wish.purpose.cloned().or_else(|| wish.task.map(ToString::to_string)),
                claim_of: claim_of.cloned(),
                fence,
                ttl: wish.ttl.unwrap_or(self.policy.default_ttl),
                since: self.since,
                late: self.is_late(pattern, wish.claim_of),
            });
            self.push(claim_of.or(wish.task), event);
        }
        Ok(Answer::Leases(ids))
    }

    /// Tells whether a lease comes too late to excuse changes: some were made already, or nobody could see whether they were.
    fn is_late(&self, pattern: &Pattern, claim_of: Option<&Task>) -> bool {
        let Some(seen) = &self.request.observed.lease else {
            let has_round = claim_of.and_then(|task| task.claim.as_ref()?.base.as_ref()).is_some();
            return self.policy.has_git && (has_round || self.owner.is_some());
        };
        let covered =
            |path: &String| super::handed_in::covered(path, std::slice::from_ref(pattern));
        seen.is_ambiguous || seen.changed.iter().any(covered)
    }

    /// The same owner asking for the same pattern gets its lease renewed.
    fn own_lease(&self, pattern: &Pattern) -> Ruling<Option<&'a Lease>> {
        for lease in self.facts.leases_near(&self.request.repo, pattern.literal_prefix())? {
            let same = lease.owner == *self.owner() && lease.path == pattern.as_str();
            if same && self.facts.is_live(lease)? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    fn push_renewal(&mut self, lease: &Lease, ttl: Millis) {
        let event = Event::LeaseRenewed(LeaseRenewed {
            lock_id: lease.id,
            path: lease.path.clone(),
            owner: lease.owner.clone(),
            ttl,
            mode: lease.mode,
            detached_from: None,
            since: self.since,
        });
        self.push(None, event);
    }

    /// Finds the leases that are named, each once, and checks fence, role and owner of all of them.
    fn owned(&self, texts: &[String]) -> Ruling<Vec<&'a Lease>> {
        let mut leases: Vec<&Lease> = Vec::new();
        for text in texts {
            let lease = self.lease(text)?;
            if !leases.iter().any(|seen| seen.id == lease.id) {
                leases.push(lease);
            }
        }
        for lease in &leases {
            self.fence_fits_lease(lease)?;
        }
        self.require(Verb::Lease)?;
        for lease in &leases {
            let trusted = self.is_person() && self.owner.is_none();
            if lease.owner != *self.owner() && !trusted {
                let what = format!("lease {}", lease.id);
                return Err(self.not_holder(&what, Some(lease.owner.as_str())).into());
            }
        }
        Ok(leases)
    }

    fn renew(&mut self, texts: &[String], ttl: Option<Millis>) -> Ruling<Answer> {
        if texts.is_empty() {
            return Err(Refusal::input("no lease is named")
                .hint(op("lease.renew").arg("ids", "L1"))
                .into());
        }
        let leases = self.owned(texts)?;
        for lease in &leases {
            self.push_renewal(lease, ttl.unwrap_or(lease.ttl));
        }
        Ok(Answer::Leases(leases.iter().map(|lease| lease.id).collect()))
    }

    fn release_leases(&mut self, texts: &[String], all: bool) -> Ruling<Answer> {
        if texts.is_empty() && !all {
            return Err(Refusal::input("no lease is named")
                .hint(say("name leases, or give ").mention("all"))
                .into());
        }
        let mut leases = self.owned(texts)?;
        if all {
            for lease in self.facts.leases_of(&self.request.repo, self.owner())? {
                if !leases.iter().any(|seen| seen.id == lease.id) {
                    leases.push(lease);
                }
            }
        }
        for lease in &leases {
            // The claim that a lease belongs to changes with it, so it is looked at first.
            if let Some(task) = &lease.claim_of {
                self.facts.task(&self.request.repo, task)?;
            }
            self.push(lease.claim_of.as_ref(), released(lease, None));
        }
        Ok(Answer::Released(leases.iter().map(|lease| lease.id).collect()))
    }
}
