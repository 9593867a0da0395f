//! What is due now.

use super::acts::{self, answered, guarded, step};
use super::facts::{Index, Known, Subject};
use super::hand_over::{self, recommendation};
use super::table::{Table, Trigger};
use super::view::{Deed, Step, View};
use crate::decision::{Decision, DecisionState};
use crate::directive::{Directive, Trigger as When};
use crate::ids::TaskId;
use crate::run::{Run, RunFault, RunState, Stage};
use crate::status::Status;
use crate::task::Task;
use crate::time::{Millis, Timestamp};
use serde_json::Value;
use std::cell::OnceCell;

/// Where a task says that it is an objective, or of which one it is a part.
pub const OBJECTIVE: &str = "objective";

/// Ready tickets that are looked at in one pass, when there is room for fewer.
const LOOKED_AT: usize = 200;

/// Returns every step that is due. It is pure: the same view, table and time give the same steps.
pub fn due(view: &View, table: &Table, now: Timestamp) -> Vec<Step> {
    let index = Index::new(view, now);
    let mut due = Due { index: &index, table, steps: Vec::new(), slots: index.free_slots() };
    for decision in &view.decisions {
        due.decision(decision);
    }
    for run in &view.runs {
        due.remembered(run);
    }
    for task in &view.tasks {
        if task.feedback.as_ref().is_some_and(|said| said.by.is_person()) {
            due.first(Trigger::PersonText, Subject { task: Some(task), ..Subject::default() });
        }
    }
    let mut open: Vec<&Task> = view.tasks.iter().filter(|task| is_open(task)).collect();
    open.sort_by_key(|task| (task.priority, task.number));
    let mut ready = 0;
    for task in open {
        if view.seen.passed_over.contains(&task.id) {
            continue;
        }
        let is_ready = matches!(task.status, Status::Queued | Status::Failed);
        if is_ready && (due.slots == 0 || ready >= LOOKED_AT || !due.may_start(task)) {
            continue;
        }
        ready += usize::from(is_ready);
        due.task(task);
    }
    due.directives();
    due.steps
}

/// Tells whether there is nothing to do and nothing under way.
pub fn is_idle(view: &View, steps: &[Step], now: Timestamp) -> bool {
    let index = Index::new(view, now);
    let under_way = |task: &Task| match task.status {
        Status::Queued | Status::Failed => may_start(&index, task),
        Status::Blocked | Status::Done | Status::Abandoned => false,
        Status::Claimed
        | Status::InProgress
        | Status::Review
        | Status::ChangesRequested
        | Status::Approved
        | Status::Merging => true,
    };
    steps.is_empty() && index.live == 0 && !view.tasks.iter().any(under_way)
}

fn is_open(task: &Task) -> bool {
    !task.status.is_finished() && task.status != Status::Blocked
}

/// Tells whether a queued ticket waits for nothing but somebody to work on it.
fn may_start(index: &Index<'_>, task: &Task) -> bool {
    let done =
        |id: &TaskId| index.task(id.as_str()).is_none_or(|other| other.status == Status::Done);
    let is_free = task.blockers.is_empty()
        && task.reserved_for.is_none()
        && task.role.is_none_or(|role| role == crate::role::Role::Implementer)
        && task.dependencies.iter().all(done);
    is_free
        && !is_of_objective(index, task)
        && !index.runs(&task.id).iter().any(|run| run.state.is_live())
}

/// Tells whether a focused supervisor looks after a ticket: its objective itself, and what it made for that while the objective is
/// open.
fn is_of_objective(index: &Index<'_>, task: &Task) -> bool {
    match task.context.get(OBJECTIVE) {
        Some(Value::Bool(is_objective)) => *is_objective,
        Some(Value::String(id)) => {
            index.task(id).is_some_and(|objective| !objective.status.is_finished())
        }
        _ => false,
    }
}

fn was_kept_out(run: &Run) -> bool {
    run.error.as_ref().is_some_and(|error| error.kind == RunFault::Auth)
}

struct Due<'v, 'i> {
    index: &'i Index<'v>,
    table: &'i Table,
    steps: Vec<Step>,
    /// Runs that may still be started.
    slots: usize,
}

impl<'v> Due<'v, '_> {
    fn may_start(&self, task: &Task) -> bool {
        may_start(self.index, task) && !self.waits_after_error(task)
    }

    /// A vendor that did not serve gets some time, and more each time. One that lets nobody in is no matter of time.
    fn waits_after_error(&self, task: &Task) -> bool {
        if self.index.last(&task.id).is_some_and(was_kept_out) {
            return false;
        }
        let free = |run: &&&Run| {
            let kind = run.error.as_ref().map(|error| error.kind);
            kind.is_some_and(|kind: RunFault| !kind.uses_attempt())
        };
        let ended = self.index.runs(&task.id).iter().rev();
        let count = ended.clone().take_while(free).count();
        let last = ended.clone().next().and_then(|run| run.ended_at);
        let (Some(last), true) = (last, count > 0) else { return false };
        let (first, longest) = self.index.view.settings.retry_backoff;
        let doubled = u32::try_from(count - 1).unwrap_or(u32::MAX).min(20);
        let wait = Millis::from_ms(first.ms().saturating_mul(1 << doubled)).min(longest);
        self.index.now < last.plus(wait)
    }

    fn known<'k>(&'k self, of: Subject<'v>) -> Known<'v, 'k> {
        Known { index: self.index, of, rules: &self.table.triage, evaluated: OnceCell::new() }
    }

    /// Adds what the first row of a trigger that fits asks for; tells whether one fitted.
    fn first(&mut self, on: Trigger, of: Subject<'v>) -> bool {
        let known = self.known(of);
        let fitting = self.table.on(on).find_map(|row| Some((row, known.fits(row)?)));
        let Some((row, facts)) = fitting else { return false };
        let made = step(self.table, &known, row, facts);
        let made = made.and_then(|made| guarded(self.table, &known, made));
        self.add(made);
        true
    }

    fn add(&mut self, made: Option<Step>) {
        let Some(made) = made else { return };
        if let Deed::Dispatch(new) = &made.deed {
            if self.slots == 0 || self.index.is_kept_out(&new.agent) {
                return;
            }
            self.slots -= 1;
        }
        self.steps.push(made);
    }

    fn task_of(&self, decision: &Decision) -> Option<&'v Task> {
        self.index.task(decision.task.as_ref()?.as_str())
    }

    fn decision(&mut self, decision: &'v Decision) {
        let of = Subject {
            decision: Some(decision),
            task: self.task_of(decision),
            ..Subject::default()
        };
        match (decision.state, &decision.proposes) {
            (DecisionState::Open, _) => drop(self.first(Trigger::DecisionOpen, of)),
            (DecisionState::Answered | DecisionState::Defaulted, Some(_)) => {
                let made = self.index.is_made_for(&decision.id.to_string());
                // A yes makes its task by itself; what becomes of that is for the task to say.
                if !made && decision.answer.as_deref() != Some("yes") {
                    self.first(Trigger::DecisionFinding, of);
                }
            }
            (DecisionState::Answered | DecisionState::Defaulted, None) => {
                if decision.is_design() {
                    self.first(Trigger::DecisionDesign, of);
                }
                if decision.answered_by.as_ref().is_some_and(|by| by.is_person()) {
                    self.first(Trigger::PersonText, of);
                }
            }
            (DecisionState::Expired, _) => {}
        }
    }

    /// Runs that ended well leave something to remember.
    fn remembered(&mut self, run: &'v Run) {
        if run.state != RunState::Succeeded {
            return;
        }
        let task = self.index.task(run.task.as_str());
        let of = Subject { run: Some(run), task, ..Subject::default() };
        self.first(Trigger::RunSucceeded, of);
        if run.stage == Stage::Review {
            self.first(Trigger::ReportReviewer, of);
        }
        // A branch that leaves does so while its task waits for its review.
        if run.stage == Stage::Develop && matches!(recommendation(run), Some("keep" | "discard")) {
            self.first(Trigger::ReportBranch, of);
        }
    }

    fn task(&mut self, task: &'v Task) {
        let last = self.index.last(&task.id);
        let of = Subject { task: Some(task), run: last, ..Subject::default() };
        if last.is_some_and(|run| run.state.is_live()) {
            return;
        }
        let known = self.known(of);
        if let Some(made) = answered(&known, task) {
            return self.add(made.and_then(|made| guarded(self.table, &known, made)));
        }
        match task.status {
            Status::Queued | Status::Failed => self.start(task, of),
            Status::Review => self.review(task),
            Status::ChangesRequested => drop(self.first(Trigger::TaskChangesRequested, of)),
            Status::Approved => drop(self.first(Trigger::TaskApproved, of)),
            Status::Claimed
            | Status::InProgress
            | Status::Merging
            | Status::Blocked
            | Status::Done
            | Status::Abandoned => {}
        }
    }

    /// A ticket that waits for somebody: what was done on it last says who is next.
    fn start(&mut self, task: &'v Task, of: Subject<'v>) {
        let is_fresh = acts::begins_anew(self.index, task);
        let trigger = match of.run {
            None => None,
            Some(_) if is_fresh => None,
            Some(run) => match (run.state, run.stage) {
                (RunState::Failed | RunState::Lost, _) => Some(Trigger::RunFailed),
                (RunState::Succeeded, Stage::Plan) => Some(Trigger::ReportArchitect),
                (RunState::Succeeded, Stage::Develop) => Some(Trigger::ReportDeveloper),
                _ => None,
            },
        };
        if trigger.is_some_and(|trigger| self.first(trigger, of)) {
            return;
        }
        // Whatever a person said yes to has a row of its own.
        if task.context.contains_key("effort") && of.run.is_none() {
            let named = task.context.get("decision").and_then(|id| id.as_str());
            let asked = self.index.view.decisions.iter();
            let decision = asked.into_iter().find(|one| Some(one.id.to_string().as_str()) == named);
            if decision.is_some()
                && self.first(Trigger::DecisionFinding, Subject { decision, ..of })
            {
                return;
            }
        }
        self.first(Trigger::TaskReady, of);
    }

    fn review(&mut self, task: &'v Task) {
        let run = self.index.developed(&task.id);
        let of = Subject { task: Some(task), run, ..Subject::default() };
        let waits = self
            .index
            .decisions(&task.id)
            .iter()
            .any(|one| one.state == DecisionState::Open && one.rule.is_some());
        if waits || self.waits_after_error(task) {
            return;
        }
        let last = self.index.last(&task.id).filter(|last| was_kept_out(last));
        let answered = self.index.asked(&task.id, acts::AUTH).and_then(|one| one.answered_at);
        if let Some(last) = last.filter(|last| answered < Some(last.created_at)) {
            self.first(Trigger::RunFailed, Subject { run: Some(last), ..of });
            return;
        }
        if run.is_some_and(|run| hand_over::is_due(run, task)) {
            let before = self.steps.len();
            self.first(Trigger::ReportBranch, of);
            if self.steps.iter().skip(before).any(|step| matches!(step.deed, Deed::Push(_))) {
                return;
            }
        }
        let accepted = self
            .index
            .asked(&task.id, acts::CONCERNS)
            .is_some_and(|one| Some(one.created_at) >= run.and_then(|run| run.ended_at));
        let before = self.steps.len();
        if run.is_some() && !accepted {
            self.first(Trigger::ReportDeveloper, of);
        }
        if self.steps.len() == before {
            self.first(Trigger::TaskReview, of);
        }
    }

    /// With nothing else to do, the most urgent directive that may be followed again.
    fn directives(&mut self) {
        let view = self.index.view;
        let when = match view.seen.moment {
            Some(moment) => moment,
            None if is_idle(view, &self.steps, self.index.now) => When::Idle,
            None => return,
        };
        let (now, cooldown) = (self.index.now, view.settings.cooldown);
        let rested = |one: &&Directive| {
            let last = one.last_triggered_at;
            when != When::Idle || last.is_none_or(|last| now.since(last) >= cooldown)
        };
        let fitting = |one: &&Directive| {
            let feasible = !view.seen.not_feasible.contains(&one.id);
            one.trigger == when && one.is_active(now) && feasible
        };
        let mut all: Vec<&Directive> =
            view.directives.iter().filter(fitting).filter(rested).collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.priority), one.id));
        for directive in all {
            let of = Subject { directive: Some(directive), ..Subject::default() };
            let before = self.steps.len();
            self.first(Trigger::Directive, of);
            if when == When::Idle && self.steps.len() > before {
                return;
            }
        }
    }
}
