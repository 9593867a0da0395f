//! Claiming: the best ready task or a named one, with its leases, in one go.

use super::{Answer, Rule};
use crate::command::ClaimWish;
use crate::event::{Event, FileLocked, StatusChanged, TaskClaimed};
use crate::facts::{CANDIDATE_PAGE, Halt, Ruling, place};
use crate::hint::{op, say};
use crate::ids::{AgentId, Fence, LeaseId, TaskId};
use crate::lease::LeaseMode;
use crate::limits;
use crate::pattern::Pattern;
use crate::ready::{Caller, Obstacle, first_obstacle, obstacles, waits_for};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::status::Status;
use crate::task::{Deliverable, Task};
use crate::time::Millis;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many candidates are looked at for one that prefers nobody, once one that prefers another fits.
const PREFERENCE_LOOKAHEAD: usize = CANDIDATE_PAGE;
/// How many are looked at for one that shares less. A longer look would put off all tasks on hot files until they meet each
/// other at the end.
const SHARING_LOOKAHEAD: usize = 8;

/// The search for the best candidate, so far.
#[derive(Default)]
struct Search<'t> {
    best: Option<FittingTask<'t>>,
    looked_at: usize,
    /// How many of the priority of the best were looked at in vain for a better one.
    rivals: usize,
    counts: BTreeMap<&'static str, u64>,
}

/// A task that fits, and how many leases of others its files would be shared with.
#[derive(Clone, Copy)]
struct FittingTask<'t> {
    task: &'t Task,
    shared_with: usize,
    /// How many more are looked at for a better one.
    lookahead: usize,
}

/// Whom a task prefers; the best for the caller first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Preference {
    Caller,
    Nobody,
    Another,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        let enough = self.best.is_some_and(|best| self.rivals >= best.lookahead);
        self.looked_at >= limits::CANDIDATES_MAX || enough
    }
}

/// Adds to the refusal of a claim, where nothing is queued, whose work was sent back and until when it waits for them.
pub fn waits_for_others(mut refusal: Refusal, sent_back: &[Task], default_ttl: Millis) -> Refusal {
    let is_empty = |reasons: &Value| reasons.as_object().is_some_and(serde_json::Map::is_empty);
    let nothing =
        refusal.code == Code::NothingReady && refusal.details.get("reasons").is_some_and(is_empty);
    let waits = |task: &Task| {
        let (who, until) = (task.assignee.clone()?, task.sent_back_until(default_ttl)?);
        Some((
            task.id.clone(),
            format!("{} was sent back and waits for {who} until {until}", task.id),
        ))
    };
    let all: Vec<_> = sent_back.iter().filter_map(waits).collect();
    let Some((first, _)) = all.first().filter(|_| nothing) else { return refusal };
    let hint = say("look again then, or see ").quote(op("task.why").id(first));
    let words: Vec<&str> = all.iter().map(|(_, words)| words.as_str()).collect();
    let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    refusal.message = format!("{}; {}", refusal.message, words.join(", "));
    refusal.hint(hint).detail("sent_back", ids)
}

impl<'a> Rule<'a> {
    pub(super) fn claim(&mut self, wish: &'a ClaimWish) -> Ruling<Answer> {
        if let Some(owner) = wish.owner.as_ref().filter(|owner| **owner != self.request.actor) {
            self.stand_in(owner, wish)?;
        }
        let task = match &wish.id {
            Some(id) => self.named_candidate(id, wish)?,
            None => {
                if let Some(task) = self.own_sent_back(wish)? {
                    let leases = self.grant_claim(task, wish.ttl, wish.no_lease)?;
                    self.step(task, Status::InProgress, None)?;
                    return Ok(Answer::Claimed(task.id.clone(), leases));
                }
                self.best_candidate(wish)?
            }
        };
        self.take(task, wish)
    }

    /// Finds the caller's own work that a review sent back and that it can go on with.
    fn own_sent_back(&self, wish: &ClaimWish) -> Ruling<Option<&'a Task>> {
        for task in self.facts.sent_back(&self.request.repo, &self.request.actor)? {
            if !self.is_wished(task, wish) || !self.may_claim(task) {
                continue;
            }
            let free =
                || crate::ready::file_conflicts(self.facts, task, &self.request.actor, self.policy);
            if wish.no_lease || free()?.is_empty() {
                return Ok(Some(task));
            }
        }
        Ok(None)
    }

    fn take(&mut self, task: &'a Task, wish: &ClaimWish) -> Ruling<Answer> {
        let leases = self.grant_claim(task, wish.ttl, wish.no_lease)?;
        let to = if wish.start { Status::InProgress } else { Status::Claimed };
        self.step(task, to, None)?;
        Ok(Answer::Claimed(task.id.clone(), leases))
    }

    /// Takes a task by its id, without any other wish.
    pub(super) fn claim_named(&mut self, id: &TaskId) -> Ruling<Answer> {
        let wish = ClaimWish { id: Some(id.to_string()), ..ClaimWish::default() };
        let task = self.named_candidate(id.as_str(), &wish)?;
        self.take(task, &wish)
    }

    /// A claim for an owner that the caller names. It takes who may assign work; from here on the rules look at the
    /// owner, who has to be fit for the task, while the caller stays the one who acts.
    fn stand_in(&mut self, owner: &'a AgentId, wish: &ClaimWish) -> Ruling<()> {
        let Some(id) = &wish.id else {
            return Err(Refusal::input("a claim for somebody else must name the task").into());
        };
        let task = self.task(id)?;
        if task.status != Status::Queued {
            return Err(not_ready(task, &self.status_obstacle(task)).into());
        }
        if !self.may(Verb::Assign) {
            return Err(self
                .forbidden(Verb::Assign)
                .hint(format!(
                    "let {owner} claim the task, or let a planner or a person claim it for {owner}"
                ))
                .into());
        }
        self.not_for_a_person(owner)?;
        self.meet(owner)?;
        let known = self.facts.agent(owner)?;
        self.roles = known.map_or_else(|| vec![Role::Implementer], |agent| agent.roles.clone());
        self.owner = Some(owner);
        Ok(())
    }

    fn caller(&self) -> Caller<'_> {
        Caller { id: self.owner(), roles: &self.roles }
    }

    /// A task with a role is for whoever has that role; any other is for implementers.
    fn may_claim(&self, task: &Task) -> bool {
        self.may(Verb::Claim) || task.role.is_some_and(|role| self.roles.contains(&role))
    }

    fn named_candidate(&self, id: &str, wish: &ClaimWish) -> Ruling<&'a Task> {
        let task = self.task(id)?;
        if task.status != Status::Queued {
            return Err(not_ready(task, &self.status_obstacle(task)).into());
        }
        if !self.may_claim(task) {
            return Err(self.forbidden(Verb::Claim).into());
        }
        self.check_obstacles(task, wish.no_lease)?;
        Ok(task)
    }

    /// A task with a role is for those who have it; that comes before anything else in the way.
    pub(super) fn check_role(&self, task: &Task) -> Ruling<()> {
        match task.role {
            Some(role) if !self.is_person() && !self.roles.contains(&role) => Err(Refusal::new(
                Code::RoleForbidden,
                format!("{} is for the role {role}", task.id),
            )
            .detail("role", role.as_str())
            .into()),
            _ => Ok(()),
        }
    }

    fn status_obstacle(&self, task: &Task) -> Vec<Obstacle> {
        let holder = task.claim.as_ref().map(|claim| claim.agent.clone());
        vec![Obstacle::Status(task.status, holder)]
    }

    /// Refuses with the code of the first thing in the way, and lists everything that is.
    pub(super) fn check_obstacles(&self, task: &Task, no_lease: bool) -> Ruling<()> {
        self.check_role(task)?;
        let mut found = obstacles(self.facts, task, self.caller(), self.policy)?;
        found.retain(|obstacle| match obstacle {
            Obstacle::Status(..) => false,
            Obstacle::Files(_) => !no_lease,
            Obstacle::Dependency(..)
            | Obstacle::Blocker(_)
            | Obstacle::Assigned(_)
            | Obstacle::Role(_) => true,
        });
        if found.is_empty() {
            return Ok(());
        }
        let all_files = found.iter().all(|obstacle| matches!(obstacle, Obstacle::Files(_)));
        if all_files {
            let conflicts: Vec<_> = found
                .into_iter()
                .filter_map(|obstacle| {
                    let Obstacle::Files(conflict) = obstacle else { return None };
                    Some(*conflict)
                })
                .collect();
            return Err(super::leases::lease_held(self.facts, &conflicts)?.into());
        }
        Err(not_ready(task, &found).into())
    }

    fn best_candidate(&self, wish: &ClaimWish) -> Ruling<&'a Task> {
        if !self.may(Verb::Claim) && self.roles.is_empty() {
            return Err(self.forbidden(Verb::Claim).into());
        }
        let repo = &self.request.repo;
        let mut search = Search::default();
        // Those that prefer the caller come first within their priority, wherever they stand in it.
        for task in self.facts.preferred(repo, &self.request.actor)? {
            self.examine(&mut search, task, wish)?;
            if search.best.is_some() {
                break;
            }
        }
        let (candidates, beyond) = self.facts.candidates(repo)?;
        for task in candidates.iter().filter(|task| self.preference(task) != Preference::Caller) {
            if search.is_over() || self.is_best(&search, place(task)) {
                break;
            }
            self.examine(&mut search, task, wish)?;
        }
        match (search.best, beyond) {
            (best, Some(beyond))
                if !search.is_over()
                    && (best.is_none()
                        || !self.is_best(&search, beyond.last.unwrap_or_default())) =>
            {
                Err(Halt::Need(beyond.next))
            }
            (Some(best), _) => Ok(best.task),
            (None, _) => Err(self.nothing_ready(search.looked_at, search.counts)?.into()),
        }
    }

    /// Tells that nothing from this place on can be better than what was found. Candidates come by
    /// priority and number, and those that prefer the caller have been looked at before.
    fn is_best(&self, search: &Search<'_>, (priority, number): (u8, u64)) -> bool {
        let next = (priority, Preference::Nobody, 0, number);
        search.best.is_some_and(|best| self.rank(best) <= next)
    }

    fn examine(&self, search: &mut Search<'a>, task: &'a Task, wish: &ClaimWish) -> Ruling<()> {
        // Not a candidate at all: the facts only happen to know it.
        if !waits_for(self.facts, task)?.is_empty() {
            return Ok(());
        }
        search.looked_at += 1;
        if search.best.is_some_and(|best| best.task.priority == task.priority) {
            search.rivals += 1;
        }
        let lookahead = match self.preference(task) {
            Preference::Another => PREFERENCE_LOOKAHEAD,
            Preference::Caller | Preference::Nobody => SHARING_LOOKAHEAD,
        };
        let at_best = FittingTask { task, shared_with: 0, lookahead };
        if search.best.is_some_and(|best| self.rank(best) <= self.rank(at_best)) {
            return Ok(());
        }
        if !self.is_wished(task, wish) {
            *search.counts.entry("not_wished").or_default() += 1;
            return Ok(());
        }
        match self.obstacle_for_claim(task, wish.no_lease)? {
            None => {
                let shared_with = match wish.no_lease {
                    true => 0,
                    false => crate::ready::shared_with(self.facts, task, self.owner())?,
                };
                let found = FittingTask { task, shared_with, lookahead };
                if search.best.is_none_or(|best| self.rank(found) < self.rank(best)) {
                    // Only a task of a better priority begins the search for a better one anew.
                    let anew = search.best.is_none_or(|best| best.task.priority != task.priority);
                    search.rivals = if anew { 0 } else { search.rivals };
                    search.best = Some(found);
                }
            }
            Some(obstacle) => *search.counts.entry(obstacle.kind()).or_default() += 1,
        }
        Ok(())
    }

    fn is_wished(&self, task: &Task, wish: &ClaimWish) -> bool {
        let role_fits = wish.role.is_none_or(|role| task.role.unwrap_or(Role::Implementer) == role);
        let skill_fits =
            wish.skills.is_empty() || wish.skills.iter().any(|skill| task.labels.contains(skill));
        role_fits && skill_fits
    }

    fn obstacle_for_claim(&self, task: &Task, no_lease: bool) -> Ruling<Option<Obstacle>> {
        if !self.may_claim(task) {
            return Ok(Some(Obstacle::Role(task.role.unwrap_or(Role::Implementer))));
        }
        let obstacle = first_obstacle(self.facts, task, self.caller(), self.policy)?;
        Ok(obstacle.filter(|obstacle| !(no_lease && matches!(obstacle, Obstacle::Files(_)))))
    }

    fn preference(&self, task: &Task) -> Preference {
        match &task.preferred {
            Some(agent) if *agent == self.request.actor => Preference::Caller,
            None => Preference::Nobody,
            Some(_) => Preference::Another,
        }
    }

    /// The order of claiming: priority, then preference, then how many share the files, then number.
    fn rank(&self, found: FittingTask<'_>) -> (u8, Preference, usize, u64) {
        let (priority, number) = place(found.task);
        (priority, self.preference(found.task), found.shared_with, number)
    }

    fn nothing_ready(
        &self,
        looked_at: usize,
        mut counts: BTreeMap<&'static str, u64>,
    ) -> Ruling<Refusal> {
        let waiting = self.facts.waiting(&self.request.repo)?;
        if waiting > 0 {
            counts.insert("dependencies", waiting);
        }
        let reasons: Vec<String> =
            counts.iter().map(|(kind, count)| format!("{count} {}", kind_words(kind))).collect();
        let message = if reasons.is_empty() {
            "no task is queued".to_owned()
        } else {
            format!("no queued task is ready for {}: {}", self.request.actor, reasons.join(", "))
        };
        let counts: serde_json::Map<String, Value> =
            counts.into_iter().map(|(kind, count)| (kind.to_owned(), Value::from(count))).collect();
        let mut refusal = Refusal::new(Code::NothingReady, message);
        if counts.is_empty() {
            let make = op("task.create").ask("title", "TITLE");
            refusal = refusal.hint(say("ask what to do, or make a task: ").quote(make));
        }
        Ok(refusal.detail("reasons", Value::Object(counts)).detail("looked_at", looked_at))
    }

    /// Pushes the claim and its leases, and returns the leases; the change of status is the caller's.
    pub(super) fn grant_claim(
        &mut self,
        task: &'a Task,
        ttl: Option<Millis>,
        no_lease: bool,
    ) -> Ruling<Vec<LeaseId>> {
        let ttl = ttl.unwrap_or(self.policy.default_ttl);
        self.is_task_of_run(self.owner(), task)?;
        if !no_lease {
            // Stored patterns were parsed when they came in; one that no longer parses has no rivals.
            let files: Vec<Pattern> =
                task.files.iter().filter_map(|text| self.pattern(text).ok()).collect();
            let mode = |file: &Pattern| self.policy.claim_mode(self.owner(), file);
            let (shared, alone): (Vec<_>, Vec<_>) =
                files.into_iter().partition(|file| mode(file) == LeaseMode::Shared);
            self.reclaim_rivals(&alone, LeaseMode::Exclusive)?;
            self.reclaim_rivals(&shared, LeaseMode::Shared)?;
            self.end_kept_leases(task)?;
        }
        let seq = self.next_seq();
        let fence =
            Fence::new(seq).ok_or_else(|| Refusal::new(Code::Internal, "no seq is left"))?;
        let actor = self.owner().clone();
        // Where somebody works who only is spoken for is not known.
        let here = self.owner.is_none();
        let branch = (task.deliverable == Deliverable::Code).then(|| {
            task.branch
                .clone()
                .unwrap_or_else(|| branch_name(self.policy.branches_of(task).0, task))
        });
        let is_code = task.deliverable == Deliverable::Code;
        let seen = self.request.observed.claim.as_ref();
        let is_first = task.first_base.is_none();
        let first_base = seen.filter(|_| is_first).map(|seen| seen.base.clone());
        let seen = seen.filter(|_| is_code);
        self.push(
            Some(&task.id),
            Event::TaskClaimed(TaskClaimed {
                assignee: actor.clone(),
                fence,
                branch,
                ttl,
                host: self.request.via.host.clone().filter(|_| here),
                workspace: self.request.workspace.clone().filter(|_| here),
                base: seen.map(|seen| seen.base.clone()),
                head: seen.and_then(|seen| seen.head.clone()).filter(|_| here),
                first_base,
            }),
        );
        if no_lease {
            return Ok(Vec::new());
        }
        let mut next = self.facts.counters(&self.request.repo)?.leases;
        let mut ids = Vec::new();
        for path in &task.files {
            next += 1;
            ids.push(LeaseId(next));
            let declared = self.pattern(path).ok();
            let mode = declared.map(|file| self.policy.claim_mode(&actor, &file));
            self.push(
                Some(&task.id),
                Event::FileLocked(FileLocked {
                    lock_id: LeaseId(next),
                    path: path.clone(),
                    mode: mode.unwrap_or_default(),
                    owner: actor.clone(),
                    purpose: Some(task.id.to_string()),
                    claim_of: Some(task.id.clone()),
                    fence,
                    ttl,
                    since: None,
                    late: false,
                }),
            );
        }
        Ok(ids)
    }

    /// Ends the leases that the caller kept when it submitted: the new claim takes the files again.
    fn end_kept_leases(&mut self, task: &Task) -> Ruling<()> {
        if task.round == 0 {
            return Ok(());
        }
        let purpose = Some(task.id.to_string());
        let own = self.facts.leases_of(&self.request.repo, self.owner())?;
        for lease in own.into_iter().filter(|lease| lease.claim_of.is_none()) {
            if lease.purpose == purpose && task.files.contains(&lease.path) {
                let event = super::leases::released(lease, Some("claimed again".to_owned()));
                self.push(Some(&task.id), event);
            }
        }
        Ok(())
    }

    /// Ends the leases of a claim that is about to end.
    pub(super) fn end_leases(&mut self, task: &Task, reason: &str) -> Ruling<()> {
        let Some(claim) = &task.claim else { return Ok(()) };
        for id in &claim.leases {
            if let Some(lease) = self.facts.lease(&self.request.repo, *id)? {
                let event = super::leases::released(lease, Some(reason.to_owned()));
                self.push(Some(&task.id), event);
            }
        }
        Ok(())
    }

    /// Ends the claim, if there is one, and takes the step.
    pub(super) fn end_claim_and_step(&mut self, task: &Task, change: StatusChanged) -> Ruling<()> {
        self.end_leases(task, change.new_status.as_str())?;
        self.push_step(task, change)?;
        Ok(())
    }
}

fn not_ready(task: &Task, found: &[Obstacle]) -> Refusal {
    let reasons: Vec<String> = found.iter().map(Obstacle::sentence).collect();
    Refusal::new(Code::NotReady, format!("{} is not ready: {}", task.id, reasons.join("; ")))
        .hint(say("see ").quote(op("task.why").id(&task.id)))
        .detail("task", task.id.as_str())
        .detail("status", task.status.as_str())
        .detail("reasons", found.iter().map(Obstacle::to_json).collect::<Vec<_>>())
}

fn kind_words(kind: &str) -> &'static str {
    match kind {
        "dependencies" => "wait for dependencies",
        "blockers" => "have a blocker",
        "assigned_to_others" => "are assigned to others",
        "role" => "are for another role",
        "files_leased" => "have files leased by others",
        "not_wished" => "do not match the role or skill that you asked for",
        _ => "are not queued",
    }
}

/// Longest slug in a branch name.
const SLUG_CHARS_MAX: usize = 40;

/// Makes a word for a branch name from a title: lower case, runs of anything else become one dash.
pub fn slug(title: &str) -> String {
    let mut out = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
        if out.len() >= SLUG_CHARS_MAX {
            break;
        }
    }
    let trimmed = out.trim_matches('-');
    if trimmed.is_empty() { "task".to_owned() } else { trimmed.to_owned() }
}

/// The number of the task's issue, as `task link ID github N --key issue` set it; else its own.
fn issue_number(task: &Task) -> String {
    linked_issue(task).map_or_else(|| task.number.to_string(), str::to_owned)
}

/// Returns the number of the issue at home that a task is linked to.
pub fn linked_issue(task: &Task) -> Option<&str> {
    let linked = task.external_ids.get("github").and_then(|ids| ids.get("issue")?.as_str());
    let number = linked.map(|text| text.trim_start_matches('#'));
    // Only a number: what others write must not steer a branch's name.
    number.filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
}

/// What is filled into the branch pattern.
pub const BRANCH_WORDS: [&str; 4] = ["{id}", "{number}", "{issue}", "{slug}"];

/// Fills in the branch pattern.
pub fn branch_name(pattern: &str, task: &Task) -> String {
    pattern
        .replace("{id}", task.id.as_str())
        .replace("{number}", &task.number.to_string())
        .replace("{issue}", &issue_number(task))
        .replace("{slug}", &slug(&task.title))
}
