//! Working: start, submit, release, steps, checklist.

use super::access::wrong_status;
use super::{Answer, HandedIn, Rule};
use crate::command::{StepVerb, Submission};
use crate::event::{
    ContextReset, Event, ItemChecked, LeaseRenewed, PrOpened, Released, ReviewRequested,
    StatusChanged, Subtask,
};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::status::Status;
use crate::task::{CheckState, Task};
use crate::time::Millis;

impl<'a> Rule<'a> {
    pub(super) fn start(
        &mut self,
        id: &str,
        ttl: Option<Millis>,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.held_task(id)?;
        self.may_become(task, Status::InProgress)?;
        self.require_worker(task, Verb::Start)?;
        match task.status {
            Status::Claimed => self.require_holder(task)?,
            Status::Queued => {
                self.check_obstacles(task, false)?;
                self.grant_claim(task, ttl, false)?;
            }
            Status::ChangesRequested => {
                // The assignee goes on with its own work; whoever else wants it has it re-queued first.
                self.require_holder(task)?;
                self.check_files_free(task)?;
                self.grant_claim(task, ttl, false)?;
            }
            Status::Failed => {
                self.check_role(task)?;
                self.check_reset(task)?;
                self.check_obstacles(task, false)?;
                self.grant_claim(task, ttl, false)?;
            }
            Status::Blocked => {
                // Who stopped goes on by itself; whoever else wants the task has it unblocked first.
                self.require_holder(task)?;
                self.check_reset(task)?;
                self.check_obstacles(task, false)?;
                self.grant_claim(task, ttl, false)?;
            }
            Status::InProgress
            | Status::Review
            | Status::Approved
            | Status::Merging
            | Status::Done
            | Status::Abandoned => return Err(wrong_status(task, " and cannot be started").into()),
        }
        let mut change = StatusChanged::new(task.status, Status::InProgress, reason.cloned());
        // Whoever may answer what becomes of a worn-out task answers by going on with it.
        change.resets_attempts =
            matches!(task.status, Status::Failed | Status::Blocked) && self.resets(task);
        self.push_step(task, change)?;
        Ok(Answer::Task(task.id.clone()))
    }

    fn check_files_free(&self, task: &Task) -> Ruling<()> {
        let found =
            crate::ready::file_conflicts(self.facts, task, &self.request.actor, self.policy)?;
        if found.is_empty() {
            return Ok(());
        }
        Err(super::leases::lease_held(self.facts, &found)?.into())
    }

    pub(super) fn check_attempts(&self, task: &Task) -> Ruling<()> {
        if task.attempts < self.policy.max_attempts {
            return Ok(());
        }
        let message = format!("{} has used all its {} attempts", task.id, self.policy.max_attempts);
        Err(Refusal::new(Code::AttemptsExhausted, message).detail("attempts", task.attempts).into())
    }

    /// A task with a role is worked on by whoever has that role.
    pub(super) fn require_worker(&self, task: &Task, verb: Verb) -> Ruling<()> {
        if task.role.is_some_and(|role| self.roles.contains(&role)) {
            return Ok(());
        }
        self.require(verb)
    }

    pub(super) fn submit(&mut self, submission: &Submission) -> Ruling<Answer> {
        let task = self.held_task(&submission.id)?;
        for given in &submission.gates {
            self.knows_gate(task, &given.gate, submission.new)?;
        }
        self.may_become(task, Status::Review)?;
        self.require_worker(task, Verb::Submit)?;
        self.require_holder(task)?;
        let work = self.work_seen(task)?.cloned();
        let mut said = HandedIn::default();
        let mut land = None;
        if let Some(work) = &work {
            said.undeclared = self.judge_work(task, work, submission)?;
            said.shared_with.clone_from(&work.shared_with);
            land = self.land_record(task, work)?;
        }
        if let Some(land) = &land {
            said.violations.clone_from(&land.violations);
        }
        if submission.keep_leases {
            self.detach_leases(task)?;
        } else {
            self.end_leases(task, "submitted")?;
        }
        let (commit, branch) = match work {
            Some(work) => (Some(work.commit), work.branch),
            None => (submission.commit.clone(), submission.branch.clone()),
        };
        let branch = branch.or_else(|| task.branch.clone());
        self.hand_in_evidence(task, &submission.gates, commit.as_ref())?;
        if let Some(pr) = submission.pr.as_ref().filter(|pr| task.pr.as_ref() != Some(pr)) {
            let branch = branch.clone();
            self.push(Some(&task.id), Event::PrOpened(PrOpened { pr: pr.clone(), branch }));
        }
        let request = ReviewRequested {
            commit,
            branch,
            pr: submission.pr.clone().or_else(|| task.pr.clone()),
            reviewer: submission.reviewer.clone(),
            round: task.round,
            undeclared: said.undeclared.clone(),
            shared_with: said.shared_with.clone(),
            land,
        };
        self.push(Some(&task.id), Event::ReviewRequested(request));
        self.step(task, Status::Review, submission.reason.as_ref())?;
        Ok(Answer::HandedIn(task.id.clone(), said))
    }

    fn detach_leases(&mut self, task: &Task) -> Ruling<()> {
        let Some(claim) = &task.claim else { return Ok(()) };
        for id in &claim.leases {
            if let Some(lease) = self.facts.lease(&self.request.repo, *id)? {
                let event = Event::LeaseRenewed(LeaseRenewed {
                    lock_id: lease.id,
                    path: lease.path.clone(),
                    owner: lease.owner.clone(),
                    ttl: lease.ttl,
                    mode: lease.mode,
                    detached_from: Some(task.id.clone()),
                    since: None,
                });
                self.push(Some(&task.id), event);
            }
        }
        Ok(())
    }

    pub(super) fn release(&mut self, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        let task = self.held_task(id)?;
        self.may_become(task, Status::Queued)?;
        if !task.status.is_held() {
            return Err(wrong_status(task, "; only a claimed task can be released")
                .hint(
                    say("a planner or a person puts it back into the queue with ")
                        .quote(op("task.requeue").id(&task.id)),
                )
                .into());
        }
        self.require_worker(task, Verb::Release)?;
        self.require_holder(task)?;
        self.push(Some(&task.id), Event::Released(Released::task(reason.cloned())));
        let why = reason.cloned().or_else(|| Some("released".to_owned()));
        self.end_claim_and_step(task, StatusChanged::new(task.status, Status::Queued, why))?;
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn subtask(&mut self, id: &str, step: StepVerb, text: &str) -> Ruling<Answer> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Refusal::input("the step is empty").into());
        }
        let task = self.held_task(id)?;
        if task.claim.is_none() {
            return Err(wrong_status(task, "; only a claimed task has steps")
                .hint(say("claim it first: ").call(op("task.claim").id(&task.id)))
                .into());
        }
        self.require_worker(task, Verb::Subtask)?;
        self.require_holder(task)?;
        // The same text may be started again once it is complete: the open one is meant.
        let mut named = task.steps.iter().filter(|step| step.id == text || step.text == text);
        let last = named.clone().next_back();
        let known = named.find(|step| !step.complete).or(last);
        match step {
            StepVerb::Start => {
                self.list_bound("steps", task.steps.len() + 1)?;
                if let Some(known) = known.filter(|step| !step.complete) {
                    let message = format!("step {} has already started", known.id);
                    return Err(Refusal::new(Code::DuplicateId, message).into());
                }
                let subtask = format!("{}-{:02}", task.id, task.steps.len() + 1);
                let body = Subtask { subtask, notes: text.to_owned() };
                self.push(Some(&task.id), Event::SubtaskStarted(body));
            }
            StepVerb::Complete => {
                let known = known.ok_or_else(|| {
                    super::access::not_found("step", text)
                        .hint("give the step's id or the text it was started with")
                })?;
                if known.complete {
                    let message = format!("step {} is already complete", known.id);
                    return Err(Refusal::new(Code::InvalidTransition, message).into());
                }
                let body = Subtask { subtask: known.id.clone(), notes: known.text.clone() };
                self.push(Some(&task.id), Event::SubtaskCompleted(body));
            }
        }
        Ok(Answer::Task(task.id.clone()))
    }

    /// Says that the work goes on in a fresh context; a step that is named by its goal is found by it.
    pub(super) fn hand_off(&mut self, id: &str, subtask: Option<&String>) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.require(Verb::Note)?;
        let mut steps = task.steps.iter();
        let known = match subtask {
            Some(text) => steps.find(|step| step.id == *text || step.text == *text),
            None => steps.find(|step| !step.complete),
        };
        // The snippet and the event name the same step: one that is there, or the one that comes next.
        let next = || format!("{}-{:02}", task.id, task.steps.len() + 1);
        let subtask = Some(known.map_or_else(next, |step| step.id.clone()));
        let body = ContextReset { subtask, reason: "boundary".to_owned() };
        self.push(Some(&task.id), Event::ContextReset(body));
        Ok(Answer::Task(task.id.clone()))
    }

    pub(super) fn check_item(
        &mut self,
        id: &str,
        item: &str,
        waive: bool,
        reason: Option<&String>,
    ) -> Ruling<Answer> {
        if waive && reason.is_none_or(|why| why.trim().is_empty()) {
            return Err(Refusal::input("a waiver needs a reason")
                .hint(say("say why with ").ask("reason", "TEXT"))
                .into());
        }
        let task = self.task(id)?;
        let by_place = item.parse::<usize>().ok().and_then(|n| task.dod.get(n.checked_sub(1)?));
        let found =
            task.dod.iter().find(|known| known.text == item).or(by_place).ok_or_else(|| {
                super::access::not_found("checklist item", item)
                    .hint("give the item's text, or its number, counted from 1")
            })?;
        if task.status.is_finished() {
            return Err(wrong_status(task, "; its checklist is closed").into());
        }
        let state = if waive {
            self.require(Verb::Waive)?;
            self.not_own_waiver(task)?;
            CheckState::Waived
        } else {
            self.require_worker(task, Verb::Check)?;
            if !self.policy.allows(&self.roles, Verb::Waive) {
                self.require_holder(task)?;
            }
            // The holder may check its own list; another name of its session may not.
            if !self.worked_on(task) {
                self.not_own_work(task, "check off items of")?;
            }
            CheckState::Met
        };
        let body = ItemChecked { item: found.text.clone(), state, reason: reason.cloned() };
        self.push(Some(&task.id), Event::ItemChecked(body));
        Ok(Answer::Task(task.id.clone()))
    }
}
