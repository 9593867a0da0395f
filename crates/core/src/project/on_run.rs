//! What events do to runs and budgets.

use crate::budget::{Budget, Cap, Scope};
use crate::event::{BudgetSettled, Draft, Event, Placed, RunEnded, RunQueued};
use crate::ids::RunId;
use crate::money::Usd;
use crate::run::{CALLS_KEPT, DaySpent, Milestone, Run, RunState, Tokens};
use crate::state::Key;
use crate::task::Task;
use serde_json::Map;

/// Names the entities that an event about a run or a budget changes.
pub(super) fn touched(draft: &Draft) -> Vec<Key> {
    let run = |id: RunId| Key::Run(draft.repo.clone(), id);
    let budget = |scope: &Scope| Key::Budget(draft.repo.clone(), scope.clone());
    let with_scopes = |id: RunId, scopes: &[Scope]| {
        scopes.iter().map(budget).chain([run(id)]).collect::<Vec<_>>()
    };
    let task = || draft.task.clone().map(|id| Key::Task(draft.repo.clone(), id));
    match &draft.event {
        Event::RunQueued(e) => [e.run].into_iter().chain(e.parent).map(run).collect(),
        Event::RunStarted(e) => vec![run(e.run)],
        Event::RunProgressed(e) => vec![run(e.run)],
        Event::RunWaiting(e) => vec![run(e.run)],
        Event::RunPaused(e) => vec![run(e.run)],
        Event::RunResumed(e) => vec![run(e.run)],
        Event::RunEnded(e) => {
            let freed = e.frees_review_of.as_ref().and_then(|_| task());
            [run(e.run)].into_iter().chain(freed).collect()
        }
        Event::RunLost(e) => {
            let freed = e.frees_review_of.as_ref().and_then(|_| task());
            [run(e.run)].into_iter().chain(freed).collect()
        }
        Event::Checkpoint(e) => vec![run(e.run)],
        Event::BudgetSet(e) => vec![budget(&e.scope)],
        Event::BudgetReserved(e) => with_scopes(e.run, &e.scopes),
        Event::BudgetSettled(e) => with_scopes(e.run, &e.scopes),
        Event::BudgetReleased(e) => with_scopes(e.run, &e.scopes),
        Event::BudgetBreached(e) => vec![budget(&e.scope)],
        _ => Vec::new(),
    }
}

/// A review that a run had in hand is free again when the run ends.
pub(super) fn free_review(task: &mut Task, event: &Event) {
    let reviewer = match event {
        Event::RunEnded(e) => e.frees_review_of.as_ref(),
        Event::RunLost(e) => e.frees_review_of.as_ref(),
        _ => None,
    };
    if reviewer.is_some() && task.review_taken && task.reviewer.as_ref() == reviewer {
        task.review_taken = false;
        task.reviewer = None;
    }
}

pub fn run(before: Option<Run>, placed: &Placed) -> Option<Run> {
    if let Event::RunQueued(e) = &placed.draft.event {
        return match before {
            Some(mut parent) if parent.id != e.run => {
                parent.children.push(e.run);
                Some(parent)
            }
            _ => queued(e, placed),
        };
    }
    let mut run = before?;
    match &placed.draft.event {
        Event::RunStarted(e) => {
            run.state = RunState::Starting;
            run.started_at = Some(placed.ts);
            run.worker = Some(e.worker.clone());
            run.host.clone_from(&e.host);
            run.workspace.clone_from(&e.workspace);
            run.sandbox = e.sandbox.clone().or(run.sandbox);
            run.session = e.session.clone().or(run.session);
        }
        Event::RunProgressed(e) => {
            if matches!(run.state, RunState::Starting | RunState::Waiting) {
                run.state = RunState::Running;
                run.waiting_on = None;
            }
            run.turns = e.turn;
            run.cost_basis = e.cost_basis.or(run.cost_basis);
            run.head = e.head.clone().or(run.head);
            run.session = e.session.clone().or(run.session);
            run.pr = e.pr.clone().or(run.pr);
        }
        Event::RunWaiting(e) => {
            run.state = RunState::Waiting;
            run.waiting_on = Some(e.decision);
        }
        Event::RunPaused(e) => {
            run.state = RunState::Paused;
            run.reason.clone_from(&e.reason);
            run.not_before = e.until;
            run.waiting_on = e.decision;
        }
        Event::RunResumed(_) => {
            run.state = RunState::Running;
            run.reason = None;
            run.not_before = None;
            run.waiting_on = None;
        }
        Event::RunEnded(e) => ended(&mut run, e, placed),
        Event::RunLost(_) => {
            run.state = RunState::Lost;
            run.ended_at = Some(placed.ts);
            run.waiting_on = None;
        }
        Event::Checkpoint(e) => {
            run.head = Some(e.sha.clone());
            let (step, sha) = (e.step.clone(), e.sha.clone());
            run.milestones.push(Milestone { step, sha, verified: true });
        }
        Event::BudgetReserved(e) => run.reserved = run.reserved.plus(e.usd),
        Event::BudgetSettled(e) => settled(&mut run, e, placed),
        Event::BudgetReleased(_) => run.reserved = Usd::ZERO,
        _ => {}
    }
    Some(run)
}

fn queued(e: &RunQueued, placed: &Placed) -> Option<Run> {
    Some(Run {
        repo: placed.draft.repo.clone(),
        id: e.run,
        task: placed.draft.task.clone()?,
        agent: e.agent.clone(),
        identity: e.identity.clone(),
        driver: e.driver.clone(),
        model: e.model.clone(),
        stage: e.stage,
        writable: e.writable,
        meta: e.meta.clone(),
        branch: e.branch.clone(),
        base: e.base.clone(),
        head: None,
        state: RunState::Queued,
        reason: None,
        error: None,
        attempt: e.attempt,
        resumed_from: e.resumed_from,
        parent: e.parent,
        parent_task: e.parent_task.clone(),
        children: Vec::new(),
        priority: e.priority,
        labels: e.labels.clone(),
        rule: e.rule.clone(),
        prompt_sha256: e.prompt_sha256.clone(),
        prompt_bytes: e.prompt_bytes,
        worker: None,
        host: placed.draft.via.host.clone(),
        workspace: None,
        sandbox: e.sandbox.clone(),
        session: None,
        fence: e.fence,
        ttl: e.ttl,
        turns: 0,
        tokens: Tokens::default(),
        cost: Usd::ZERO,
        cost_basis: None,
        reserved: Usd::ZERO,
        last_calls: Vec::new(),
        days: Vec::new(),
        waiting_on: None,
        not_before: None,
        report: None,
        said: Map::new(),
        pr: e.pr.clone(),
        wip: None,
        exit: None,
        milestones: Vec::new(),
        created_at: placed.ts,
        started_at: None,
        ended_at: None,
    })
}

fn ended(run: &mut Run, e: &RunEnded, placed: &Placed) {
    run.state = e.state;
    run.reason.clone_from(&e.reason);
    run.error.clone_from(&e.error);
    run.exit = e.exit;
    run.head = e.head.clone().or_else(|| run.head.take());
    run.wip.clone_from(&e.wip);
    run.report.clone_from(&e.report_kind);
    run.said.clone_from(&e.said);
    run.pr = e.pr.clone().or_else(|| run.pr.take());
    run.cost_basis = e.cost_basis;
    run.turns = e.turns;
    run.waiting_on = None;
    run.ended_at = Some(placed.ts);
}

fn settled(run: &mut Run, e: &BudgetSettled, placed: &Placed) {
    run.reserved = run.reserved.less(e.usd);
    run.cost = run.cost.plus(e.usd);
    run.tokens = run.tokens.plus(e.tokens);
    run.last_calls.push(e.usd);
    if run.last_calls.len() > CALLS_KEPT {
        run.last_calls.remove(0);
    }
    let day = placed.ts.day();
    match run.days.last_mut().filter(|last| last.day == day) {
        Some(last) => {
            last.usd = last.usd.plus(e.usd);
            last.tokens = last.tokens.plus(e.tokens);
        }
        None => run.days.push(DaySpent { day, usd: e.usd, tokens: e.tokens }),
    }
}

pub fn budget(before: Option<Budget>, scope: &Scope, placed: &Placed) -> Option<Budget> {
    let new = || Budget::new(placed.draft.repo.clone(), scope.clone());
    let mut budget = before.unwrap_or_else(new);
    match &placed.draft.event {
        Event::BudgetSet(e) => {
            let cap = Cap { usd: e.usd, runs: e.runs };
            if cap == Cap::default() {
                budget.caps.remove(&e.per);
            } else {
                budget.caps.insert(e.per, cap);
            }
        }
        Event::BudgetReserved(e) => budget.reserve(e.run, e.usd, placed.ts),
        Event::BudgetSettled(e) => budget.settle(e.run, e.usd, placed.ts),
        Event::BudgetReleased(e) => {
            budget.live.remove(&e.run);
        }
        Event::BudgetBreached(e) => budget.decision = Some(e.decision),
        _ => {}
    }
    Some(budget)
}
