//! Runs and budgets: an agent is dispatched, at work, and ended, and never spends what is not reserved.

use crate::verbs::{question, task, task_on};
use crate::world::{ANN, CRITIC, Expect, IMPL, OBSERVER, PLANNER, Verdict, WATCHER, World};
use comity_core::budget::{Per, Scope};
use comity_core::command::{
    Command, ModelCall, NewBudget, NewRun, RunChange, RunEnd, RunProgress, Submission, TaskVerb,
};
use comity_core::decision::DecisionState;
use comity_core::ids::RunId;
use comity_core::money::Usd;
use comity_core::refusal::Code;
use comity_core::run::{CostBasis, Run, RunError, RunFault, RunState, Stage, Tokens};
use comity_core::status::Status;
use serde_json::{Map, json};

pub const DEV: &str = "developer:R1";

pub fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).unwrap()
}

pub fn new_run(agent: &str, task: Option<&str>, stage: Stage) -> NewRun {
    NewRun {
        agent: agent.to_owned(),
        task: task.map(str::to_owned),
        new_task: None,
        stage,
        writable: matches!(stage, Stage::Develop | Stage::Plan),
        driver: "command".to_owned(),
        model: None,
        branch: None,
        base: None,
        meta: Map::new(),
        prompt_sha256: "00".to_owned(),
        prompt_bytes: 2,
        sandbox: None,
        labels: Vec::new(),
        resumed_from: None,
        parent: None,
        rule: None,
        max_cost: None,
        skip_design: None,
    }
}

pub fn dispatch(new: NewRun) -> Command {
    Command::RunDispatch(Box::new(new))
}

pub fn change(id: &str, change: RunChange) -> Command {
    Command::RunChange { id: id.to_owned(), change }
}

pub fn take() -> RunChange {
    RunChange::Take {
        worker: None,
        workspace: None,
        driver_version: None,
        sandbox: None,
        session: None,
    }
}

pub fn call(dollars: f64) -> RunChange {
    let call = ModelCall {
        call: "c".to_owned(),
        tokens: Tokens { input: 10, output: 2, ..Tokens::default() },
        usd: Some(usd(dollars)),
        basis: CostBasis::Reported,
    };
    RunChange::Progress(Box::new(RunProgress { calls: vec![call], ..RunProgress::default() }))
}

pub fn end(state: RunState, error: Option<RunFault>) -> RunChange {
    RunChange::End(Box::new(RunEnd {
        state,
        reason: None,
        error: error.map(|kind| RunError::new(kind, "it broke")),
        exit: None,
        head: None,
        wip: None,
        report_kind: None,
        steps: Vec::new(),
        said: Map::new(),
    }))
}

pub fn run<'w>(w: &'w World, id: &str) -> &'w Run {
    &w.state.runs[&(w.repo.clone(), RunId::parse(id).unwrap())]
}

fn spent(w: &World, scope: &str) -> Usd {
    let key = (w.repo.clone(), Scope::parse(scope).unwrap());
    w.state.budgets[&key].spent(Per::Total, w.now()).usd
}

fn reserved(w: &World, scope: &str) -> Usd {
    w.state.budgets[&(w.repo.clone(), Scope::parse(scope).unwrap())].reserved()
}

fn set_budget(w: &mut World, scope: &str, per: Per, dollars: f64) {
    let new = NewBudget { scope: scope.to_owned(), per, usd: Some(usd(dollars)), runs: None };
    w.by(ANN).does(Command::BudgetSet(new)).accepted();
}

/// A developer at work on T1.
fn at_work() -> World {
    let mut w = World::new();
    w.have(task_on("parse", &["src/a.rs"]));
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
    w.by(DEV).does(change("R1", take())).accepted();
    w
}

fn with_run(w: &mut World, id: &str, of: RunChange) -> Verdict {
    let who = run(w, id).identity.to_string();
    w.by(&who).does(change(id, of))
}

#[test]
fn a_dispatch_is_run_claim_leases_fence_and_reservation_in_one_go() {
    let mut w = World::new();
    w.have(task_on("parse", &["src/a.rs"]));
    let new = dispatch(new_run("developer", Some("T1"), Stage::Develop));
    let done = w.by(ANN).does(new).accepted();
    assert_eq!(
        done.names(),
        [
            "agent_registered",
            "task_claimed",
            "file_locked",
            "status_changed",
            "run_queued",
            "budget_reserved"
        ]
    );
    assert_eq!(w.status("T1"), Status::Claimed);
    assert_eq!(w.paths_of(DEV), ["src/a.rs"]);
    assert_eq!(run(&w, "R1").fence.get(), w.fence("T1"));
    assert_eq!(run(&w, "R1").state, RunState::Queued);
    for scope in ["repo", "task:T1", "agent:developer", "run:R1"] {
        assert_eq!(reserved(&w, scope), usd(2.0), "{scope}");
    }
}

#[test]
fn there_is_no_run_without_a_task() {
    let mut w = World::new();
    let new = new_run("scout", None, Stage::Scout);
    w.by(ANN).does(dispatch(new.clone())).refused(Code::InvalidInput);
    let new = NewRun { new_task: Some(Box::new(task("look around"))), ..new };
    w.by(ANN).does(dispatch(new)).accepted();
    assert_eq!(run(&w, "R1").task.as_str(), "T1");
    assert_eq!(w.task("T1").title, "look around");
    assert_eq!(w.status("T1"), Status::Claimed);
}

#[test]
fn one_run_is_live_per_task_and_stage_and_one_that_writes_per_task() {
    let mut w = at_work();
    let again = dispatch(new_run("fixer", Some("T1"), Stage::Develop));
    let refusal = w.by(ANN).does(again).refused(Code::RunLive);
    assert_eq!(refusal.details["run"], json!("R1"));
    w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).refused(Code::RunLive);
    w.have(task("other"));
    w.by(ANN).does(dispatch(new_run("developer", Some("T2"), Stage::Develop))).accepted();
}

#[test]
fn planners_and_implementers_dispatch_and_nobody_else() {
    for (who, allowed) in [(PLANNER, true), (IMPL, true), (CRITIC, false), (OBSERVER, false)] {
        let mut w = World::new();
        w.have(task("a"));
        let new = dispatch(new_run("developer", Some("T1"), Stage::Develop));
        let verdict = w.by(who).does(new);
        assert_eq!(verdict.is_ok(), allowed, "{who}");
    }
}

#[test]
fn only_its_own_keeper_a_worker_or_a_person_reports_for_a_run() {
    let mut w = at_work();
    w.by(IMPL).does(change("R1", call(0.1))).refused(Code::RoleForbidden);
    w.by(WATCHER).does(change("R1", call(0.1))).accepted();
    w.by(DEV).does(change("R1", call(0.1))).accepted();
    assert_eq!(run(&w, "R1").cost, usd(0.2));
}

/// What each command makes of a live run in each state; none is a refusal.
fn led_to(state: RunState, of: &RunChange) -> Option<RunState> {
    let mut w = at_work();
    w.by(ANN).asks(question("Which one?")).accepted();
    let key = (w.repo.clone(), RunId(1));
    w.state.runs.get_mut(&key).unwrap().state = state;
    w.replayed.runs.get_mut(&key).unwrap().state = state;
    w.by(ANN).does(change("R1", of.clone())).ok().map(|_| run(&w, "R1").state)
}

fn stop() -> RunChange {
    RunChange::Stop { now: false, reason: None }
}

fn pause() -> RunChange {
    RunChange::Pause { reason: None, until: None, decision: None }
}

fn resume() -> RunChange {
    RunChange::Resume { fresh: false }
}

fn wait() -> RunChange {
    RunChange::Wait { decision: "D1".to_owned() }
}

fn checkpoint() -> RunChange {
    RunChange::Checkpoint { sha: "c0ffee1".to_owned(), subject: "feat".to_owned(), step: None }
}

fn succeed() -> RunChange {
    let steps = vec![Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() })];
    match end(RunState::Succeeded, None) {
        RunChange::End(of) => RunChange::End(Box::new(RunEnd { steps, ..*of })),
        other => other,
    }
}

#[test]
fn a_run_goes_from_state_to_state_as_the_specification_says_and_no_other_way() {
    let table = [
        ("queued", "starting stopped failed"),
        ("starting", "running queued failed stopped lost"),
        ("running", "waiting paused finishing failed stopped lost"),
        ("waiting", "running paused failed stopped lost"),
        ("paused", "queued running stopped failed"),
        ("finishing", "succeeded failed lost"),
        ("succeeded", ""),
        ("failed", ""),
        ("stopped", ""),
        ("lost", ""),
    ];
    for from in RunState::ALL {
        let (_, next) = table.iter().find(|(name, _)| *name == from.as_str()).unwrap();
        let allowed: Vec<&str> = next.split_whitespace().collect();
        for to in RunState::ALL {
            assert_eq!(from.may_become(to), allowed.contains(&to.as_str()), "{from} to {to}");
        }
    }
}

#[test]
fn every_command_in_every_state_of_a_run_follows_the_table() {
    use RunState::*;
    let fail = end(Failed, Some(RunFault::Crash));
    for state in RunState::ALL.into_iter().filter(|state| state.is_live()) {
        let may = |to: RunState| state.may_become(to).then_some(to);
        assert_eq!(led_to(state, &take()), may(Starting), "take {state}");
        assert_eq!(led_to(state, &pause()), may(Paused), "pause {state}");
        let resumed = (state == Paused).then_some(Running);
        assert_eq!(led_to(state, &resume()), resumed, "resume {state}");
        assert_eq!(led_to(state, &stop()), may(Stopped), "stop {state}");
        assert_eq!(led_to(state, &fail), may(Failed), "fail {state}");
        assert_eq!(led_to(state, &wait()), may(Waiting), "wait {state}");
        assert_eq!(led_to(state, &checkpoint()), Some(state), "checkpoint {state}");
        let succeeds = may(Finishing).or(may(Succeeded)).map(|_| Succeeded);
        assert_eq!(led_to(state, &succeed()), succeeds, "succeed {state}");
        let works = match state {
            Starting | Running | Waiting => Some(Running),
            // What was under way when it was paused is paid all the same.
            Paused => Some(Paused),
            _ => None,
        };
        assert_eq!(led_to(state, &call(0.01)), works, "progress {state}");
    }
}

#[test]
fn a_run_that_ended_takes_no_command_and_acts_no_more() {
    use RunState::*;
    for ended in [Succeeded, Failed, Stopped, Lost] {
        let mut w = at_work();
        w.by(DEV).does(change("R1", call(0.1))).accepted();
        match ended {
            Succeeded => drop(w.by(DEV).does(change("R1", succeed())).accepted()),
            Failed => {
                drop(w.by(DEV).does(change("R1", end(Failed, Some(RunFault::Crash)))).accepted());
            }
            Stopped => drop(w.by(ANN).does(change("R1", stop())).accepted()),
            _ => {
                w.pass(10_000);
                w.sweep();
            }
        }
        assert_eq!(run(&w, "R1").state, ended);
        let fail = end(Failed, Some(RunFault::Crash));
        for of in
            [take(), call(0.1), pause(), resume(), stop(), wait(), checkpoint(), succeed(), fail]
        {
            assert!(w.by(ANN).does(change("R1", of.clone())).is_err(), "{of:?} of {ended}");
            assert_eq!(run(&w, "R1").state, ended);
        }
        w.have(task("other"));
        w.by(DEV).claims("T2").refused(Code::StaleFence);
        w.by(DEV).does(change("R1", call(0.1))).refused(Code::StaleFence);
    }
}

#[test]
fn an_agent_in_a_run_claims_no_other_task() {
    let mut w = at_work();
    w.have(task("other"));
    w.by(DEV).claims("T2").refused(Code::RoleForbidden);
}

#[test]
fn a_run_that_did_not_succeed_leaves_its_task_unheld() {
    for (state, fault, status, attempts) in [
        (RunState::Failed, Some(RunFault::Crash), Status::Failed, 1),
        (RunState::Failed, Some(RunFault::Api), Status::Queued, 0),
        (RunState::Failed, Some(RunFault::RateLimit), Status::Queued, 0),
        (RunState::Failed, Some(RunFault::Auth), Status::Queued, 0),
        (RunState::Stopped, None, Status::Queued, 0),
    ] {
        let mut w = at_work();
        w.by(DEV).does(change("R1", end(state, fault))).accepted();
        assert_eq!(w.status("T1"), status, "{state} {fault:?}");
        assert_eq!(w.task("T1").attempts, attempts, "{state} {fault:?}");
        assert_eq!(reserved(&w, "repo"), Usd::ZERO);
        assert!(w.paths_of(DEV).is_empty());
    }
}

#[test]
fn the_third_failure_of_a_task_blocks_it_with_one_decision() {
    let mut w = at_work();
    for round in 1..=3 {
        let id = format!("R{round}");
        if round > 1 {
            w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
            with_run(&mut w, &id, take()).accepted();
        }
        assert_eq!(run(&w, &id).attempt, round);
        with_run(&mut w, &id, end(RunState::Failed, Some(RunFault::Crash))).accepted();
    }
    assert_eq!(w.status("T1"), Status::Blocked);
    assert_eq!(w.decision("D1").state, DecisionState::Open);
    w.by(ANN)
        .does(dispatch(new_run("developer", Some("T1"), Stage::Develop)))
        .refused(Code::LoopGuard);
    let keys: Vec<&str> = w.decision("D1").options.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["retry", "fresh", "abandon"]);
    w.by(ANN).answers("D1", "fresh").accepted();
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
}

#[test]
fn the_report_of_a_run_is_carried_out_with_its_end() {
    let mut w = at_work();
    let submit = Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() });
    let RunChange::End(mut ended) = end(RunState::Succeeded, None) else { unreachable!() };
    ended.steps = vec![submit];
    w.by(DEV).does(change("R1", call(0.3))).accepted();
    w.by(DEV).does(change("R1", RunChange::End(ended))).accepted();
    assert_eq!(w.status("T1"), Status::Review);
    assert_eq!(run(&w, "R1").state, RunState::Succeeded);
    assert_eq!(spent(&w, "agent:developer"), usd(0.3));
}

#[test]
fn a_developer_that_hands_nothing_in_has_failed_whatever_it_says() {
    let mut w = at_work();
    w.by(DEV).does(change("R1", call(0.3))).accepted();
    w.by(DEV).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Failed);
    assert_eq!(run(&w, "R1").error.as_ref().unwrap().kind, RunFault::BadReport);
    assert_eq!(w.status("T1"), Status::Failed);
}

#[test]
fn a_reviewer_takes_the_review_and_its_end_gives_it_back() {
    let mut w = at_work();
    w.by(DEV)
        .does(Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() }))
        .accepted();
    w.by(DEV).does(change("R1", call(0.1))).accepted();
    w.by(DEV).does(change("R1", end(RunState::Succeeded, None))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Succeeded);
    w.by(ANN).does(dispatch(new_run("reviewer", Some("T1"), Stage::Review))).accepted();
    assert_eq!(w.task("T1").reviewer.as_ref().unwrap().as_str(), "reviewer:R2");
    w.by(CRITIC).does(TaskVerb::Review.on("T1".to_owned(), None)).refused(Code::NotHolder);
    with_run(&mut w, "R2", take()).accepted();
    with_run(&mut w, "R2", end(RunState::Failed, Some(RunFault::Stall))).accepted();
    assert_eq!(w.task("T1").reviewer, None);
    w.by(ANN).does(dispatch(new_run("reviewer", Some("T1"), Stage::Review))).accepted();
    w.pass(600);
    w.sweep();
    assert_eq!(run(&w, "R3").state, RunState::Failed, "nobody took it");
    assert_eq!(w.task("T1").reviewer, None);
    assert_eq!(w.status("T1"), Status::Review);
}

#[test]
fn work_that_was_sent_back_goes_to_a_new_run_on_the_same_branch() {
    let mut w = at_work();
    w.by(DEV)
        .does(Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() }))
        .accepted();
    w.by(DEV).does(change("R1", call(0.1))).accepted();
    w.by(DEV).does(change("R1", end(RunState::Succeeded, None))).accepted();
    w.by(CRITIC)
        .does(TaskVerb::RequestChanges.on("T1".to_owned(), Some("tests".to_owned())))
        .accepted();
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
    assert_eq!(w.task("T1").claim.as_ref().unwrap().agent.as_str(), "developer:R2");
    assert_eq!(run(&w, "R2").branch, run(&w, "R1").branch);
    assert_eq!(w.task("T1").attempts, 0);
}

#[test]
fn a_run_that_nobody_hears_of_is_lost_with_its_claim() {
    let mut w = at_work();
    w.pass(100);
    let fence = run(&w, "R1").fence.get();
    w.by(DEV).with_fence(fence).does(Command::Heartbeat).accepted();
    w.pass(100);
    w.sweep();
    assert_eq!(run(&w, "R1").state, RunState::Starting, "it was heard of");
    w.pass(121);
    let done = w.sweep();
    assert!(done.expired_names().contains(&"run_lost"), "{:?}", done.expired_names());
    assert_eq!(run(&w, "R1").state, RunState::Lost);
    assert_eq!(w.status("T1"), Status::Queued);
    assert_eq!(w.task("T1").attempts, 1);
    assert_eq!(reserved(&w, "repo"), Usd::ZERO);
    w.by(DEV).with_fence(fence).does(change("R1", call(0.1))).refused(Code::StaleFence);
}

#[test]
fn a_run_that_waits_for_a_labelled_worker_waits_for_ever() {
    let mut w = World::new();
    w.have(task("a"));
    let new = new_run("developer", Some("T1"), Stage::Develop);
    w.by(ANN).does(dispatch(NewRun { labels: vec!["gpu".to_owned()], ..new })).accepted();
    w.pass(100_000);
    w.sweep();
    assert_eq!(run(&w, "R1").state, RunState::Queued);
    assert_eq!(w.status("T1"), Status::Claimed);
}

#[test]
fn a_dispatch_that_does_not_fit_is_refused_with_every_budget_that_is_in_the_way() {
    let mut w = World::new();
    w.have(task("a"));
    set_budget(&mut w, "repo", Per::Month, 1.5);
    set_budget(&mut w, "agent:developer", Per::Total, 1.9);
    let new = new_run("developer", Some("T1"), Stage::Develop);
    let refusal = w.by(ANN).does(dispatch(new.clone())).refused(Code::BudgetExceeded);
    let scopes = refusal.details["scopes"].as_array().unwrap();
    let named: Vec<&str> = scopes.iter().map(|one| one["scope"].as_str().unwrap()).collect();
    assert_eq!(named, ["repo", "agent:developer"]);
    assert_eq!(scopes[0]["wanted"], json!(2.0));
    assert_eq!(w.status("T1"), Status::Queued);
    w.by(ANN).does(dispatch(NewRun { max_cost: Some(usd(1.0)), ..new })).accepted();
}

#[test]
fn a_budget_of_runs_counts_runs() {
    let mut w = at_work();
    let new = NewBudget { scope: "repo".to_owned(), per: Per::Day, usd: None, runs: Some(1) };
    w.by(ANN).does(Command::BudgetSet(new)).accepted();
    w.have(task("b"));
    let again = dispatch(new_run("developer", Some("T2"), Stage::Develop));
    w.by(ANN).does(again.clone()).refused(Code::BudgetExceeded);
    w.pass(86_400);
    w.by(ANN).does(again).accepted();
}

#[test]
fn a_run_whose_budget_is_used_up_pauses_and_a_person_decides() {
    let mut w = World::new();
    w.have(task("a"));
    set_budget(&mut w, "task:T1", Per::Total, 1.0);
    let new = new_run("developer", Some("T1"), Stage::Develop);
    w.by(ANN).does(dispatch(NewRun { max_cost: Some(usd(0.5)), ..new })).accepted();
    w.by(DEV).does(change("R1", take())).accepted();
    w.by(DEV).does(change("R1", call(0.1))).accepted();
    assert_eq!(run(&w, "R1").state, RunState::Running);
    let done = w.by(DEV).does(change("R1", call(0.3))).accepted();
    assert!(done.names().contains(&"budget_breached"), "{:?}", done.names());
    assert_eq!(run(&w, "R1").state, RunState::Paused);
    assert_eq!(
        w.decision("D1").question,
        "The budget run:R1 is used up: $0.40 of $0.50. What now?"
    );
    w.by(DEV).answers("D1", "raise").refused(Code::HumanOnly);
    w.by(ANN).answers("D1", "raise: 0.4").refused(Code::InvalidAnswer);
    w.by(ANN).answers("D1", "raise: 5").accepted();
    assert_eq!(run(&w, "R1").state, RunState::Running);
    let done = w.by(DEV).does(change("R1", call(0.3))).accepted();
    assert!(done.names().contains(&"budget_breached"), "now that of the task");
    w.by(ANN).answers("D2", "stop").accepted();
    assert_eq!(run(&w, "R1").state, RunState::Stopped);
    assert_eq!(w.status("T1"), Status::Queued);
    assert_eq!(spent(&w, "task:T1"), usd(0.7));
}

#[test]
fn a_planner_lowers_a_budget_and_only_a_person_raises_it() {
    let mut w = World::new();
    let set = |dollars: f64| {
        let usd = Some(usd(dollars));
        Command::BudgetSet(NewBudget { scope: "repo".to_owned(), per: Per::Day, usd, runs: None })
    };
    w.by(PLANNER).does(set(60.0)).refused(Code::HumanOnly);
    w.by(PLANNER).does(set(40.0)).accepted();
    w.by(IMPL).does(set(30.0)).refused(Code::HumanOnly);
    w.by(ANN).does(set(60.0)).accepted();
    let unknown = NewBudget { scope: "task:T9".to_owned(), ..NewBudget::default() };
    w.by(ANN).does(Command::BudgetSet(unknown)).refused(Code::NotFound);
}

#[test]
fn a_run_without_a_price_is_charged_what_was_kept_for_it() {
    let mut w = at_work();
    let RunChange::Progress(mut told) = call(0.0) else { unreachable!() };
    told.calls[0].usd = None;
    told.calls[0].basis = CostBasis::Unpriced;
    w.by(DEV).does(change("R1", RunChange::Progress(told))).accepted();
    assert_eq!(run(&w, "R1").cost_basis, Some(CostBasis::Unpriced));
    w.by(DEV).does(change("R1", end(RunState::Stopped, None))).accepted();
    assert_eq!(run(&w, "R1").cost_basis, Some(CostBasis::Estimated));
    assert_eq!(spent(&w, "repo"), usd(2.0));
}
