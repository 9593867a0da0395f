//! Commands that are made of several: all of it is done, or nothing.

use crate::results::{report, submitted};
use crate::verbs::task;
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, PLANNER, World};
use comity_core::command::{
    Command, NewTask, PlannedTask, ReportStatus, ReportedEvidence, TaskVerb, WorkReport,
};
use comity_core::decide::Answer;
use comity_core::decision::DecisionState;
use comity_core::event::TaskLinked;
use comity_core::observed::Observed;
use comity_core::refusal::Code;
use comity_core::status::Status;

fn planned(key: &str, depends_on: &[&str]) -> PlannedTask {
    PlannedTask {
        key: Some(key.to_owned()),
        task: NewTask {
            depends_on: depends_on.iter().map(|text| (*text).to_owned()).collect(),
            ..task(key)
        },
    }
}

fn create(tasks: &[PlannedTask]) -> Command {
    Command::CreateTasks { tasks: tasks.to_vec() }
}

fn blocked_with_two_questions() -> World {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks_with("T1", "answers", &["which?", "when?"], None).accepted();
    w
}

#[test]
fn a_full_answer_to_a_blocked_task_resumes_it_in_one_step() {
    let mut w = blocked_with_two_questions();
    let done = w.by(ANN).answers_all("T1", &[("D1", "this"), ("D2", "now")]).accepted();
    assert_eq!(
        done.names(),
        ["decision_answered", "decision_answered", "status_changed"],
        "resumed once"
    );
    assert_eq!(w.status("T1"), Status::Queued);
    assert_eq!(w.decision("D2").answer.as_deref(), Some("now"));
}

#[test]
fn a_partial_answer_leaves_the_task_blocked() {
    let mut w = blocked_with_two_questions();
    w.by(ANN).answers_all("T1", &[("D2", "now")]).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    w.by(ANN).answers_all("T1", &[("D1", "this")]).accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn when_one_answer_is_refused_none_is_given() {
    let mut w = blocked_with_two_questions();
    w.by(ANN).answers("D2", "later").accepted();
    w.by(ANN).answers_all("T1", &[("D1", "this"), ("D2", "now")]).refused(Code::AlreadyAnswered);
    assert_eq!(w.decision("D1").state, DecisionState::Open);
    w.by(IMPL).answers_all("T1", &[("D1", "this")]).refused(Code::RoleForbidden);
    w.by(ANN).answers_all("T1", &[]).refused(Code::InvalidInput);
    w.by(ANN).creates(task("other")).accepted();
    w.by(ANN).answers_all("T2", &[("D1", "this")]).refused(Code::InvalidInput);
}

#[test]
fn a_persons_feedback_answers_what_is_open_and_resumes_the_task() {
    let mut w = blocked_with_two_questions();
    w.by(PLANNER).intervenes("T1", "use the second").refused(Code::HumanOnly);
    w.by(ANN).intervenes("T1", "use the second").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
    for id in ["D1", "D2"] {
        assert_eq!(w.decision(id).answer.as_deref(), Some("use the second"));
    }
}

#[test]
fn feedback_on_a_worn_out_task_gives_it_new_attempts() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    for _ in 0..3 {
        w.by(IMPL).starts("T1").accepted();
        w.by(IMPL).fails("T1").accepted();
    }
    assert_eq!(w.status("T1"), Status::Blocked);
    w.by(ANN).intervenes("T1", "the button is #toggle").accepted();
    assert_eq!((w.status("T1"), w.task("T1").attempts), (Status::Queued, 0));
    let decision = w.decision("D1");
    assert_eq!(decision.answer.as_deref(), Some("retry"));
    assert_eq!(decision.text.as_deref(), Some("the button is #toggle"));
}

#[test]
fn feedback_that_nobody_asked_for_is_kept_for_the_next_mission() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks("T1", "a look").accepted();
    w.by(ANN).intervenes("T1", "go on").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
    assert_eq!(w.decision("D1").answer.as_deref(), Some("go on"));
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).fails("T1").accepted();
    w.by(ANN).intervenes("T1", "again").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
    w.by(ANN).abandons("T1").accepted();
    w.by(ANN).intervenes("T1", "again").refused(Code::InvalidTransition);
}

#[test]
fn a_plan_makes_its_tasks_with_dependencies_between_them() {
    let mut w = World::new();
    w.by(ANN).creates(task("first")).accepted();
    let plan =
        [planned("ui", &["api", "T1"]), planned("api", &[]), planned("docs", &["ui", "api"])];
    let done = w.by(OTHER).does(create(&plan)).accepted();
    let Answer::Tasks(ids) = &done.answer else { panic!("{:?}", done.answer) };
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["T3", "T2", "T4"], "answered in the order of the plan");
    let waits = |id: &str| -> Vec<String> {
        w.task(id).dependencies.iter().map(ToString::to_string).collect()
    };
    assert_eq!(waits("T3"), ["T2", "T1"]);
    assert_eq!(waits("T4"), ["T3", "T2"]);
}

#[test]
fn a_plan_with_a_mistake_makes_nothing() {
    let mut w = World::new();
    let refused = |w: &mut World, plan: &[PlannedTask], code: Code| {
        let refusal = w.by(ANN).does(create(plan)).unwrap_err();
        assert_eq!(refusal.code, code, "{}", refusal.message);
        refusal.message
    };
    let cycle = [planned("a", &["b"]), planned("b", &["a"])];
    assert!(refused(&mut w, &cycle, Code::DependencyCycle).contains("a, b"));
    let twice = [planned("a", &[]), planned("a", &[])];
    refused(&mut w, &twice, Code::InvalidInput);
    let unknown = [planned("a", &[]), planned("b", &["T9"])];
    assert!(refused(&mut w, &unknown, Code::NotFound).starts_with("b: "));
    let mut same_id = [planned("a", &[]), planned("b", &[])];
    same_id.iter_mut().for_each(|plan| plan.task.id = Some("X1".to_owned()));
    refused(&mut w, &same_id, Code::DuplicateId);
    refused(&mut w, &[], Code::InvalidInput);
    w.by(ANN).creates(task("the first of all")).accepted();
    assert_eq!(w.task("T1").title, "the first of all");
}

fn with_tests(pass: bool) -> WorkReport {
    WorkReport {
        pr: Some("https://example.org/pull/5".to_owned()),
        evidence: vec![ReportedEvidence { gate: "tests".to_owned(), pass, report: None }],
        ..report(ReportStatus::Completed)
    }
}

#[test]
fn a_result_hands_in_with_its_pull_request_and_what_it_claims_about_gates() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).does(submitted(with_tests(true))).accepted();
    let task = w.task("T1");
    assert_eq!(task.status, Status::Review);
    assert_eq!(task.pr.as_deref(), Some("https://example.org/pull/5"));
    assert!(task.gate("tests").unwrap().evidence.as_ref().unwrap().pass);
}

#[test]
fn a_claim_that_is_one_failure_too_many_stops_the_task_instead_of_handing_it_in() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).records("T1", "tests", false).accepted();
    w.by(IMPL).records("T1", "tests", false).accepted();
    w.by(IMPL).does(submitted(with_tests(false))).accepted();
    assert_eq!(w.status("T1"), Status::Blocked);
    assert_eq!(w.task("T1").pr, None);
}

#[test]
fn a_branch_may_be_named_after_the_issue() {
    let mut w = World::new();
    w.policy.branch_pattern = "feat/issue-{issue}".to_owned();
    let link = |id: &str, value: &str| Command::Link {
        id: id.to_owned(),
        provider: "github".to_owned(),
        key: "issue".to_owned(),
        value: value.to_owned(),
    };
    for (id, value, branch) in [
        ("T1", Some("#42"), "feat/issue-42"),
        ("T2", Some("../main"), "feat/issue-2"),
        ("T3", None, "feat/issue-3"),
    ] {
        w.by(ANN).creates(task("a")).accepted();
        if let Some(value) = value {
            w.by(ANN).does(link(id, value)).accepted();
        }
        w.by(IMPL).starts(id).accepted();
        assert_eq!(w.task(id).branch.as_deref(), Some(branch));
    }
}

fn to(id: &str, status: Status) -> Command {
    Command::Transition { id: id.to_owned(), status, reason: None, needs: None }
}

fn on(id: &str, on: &str) -> Command {
    Command::Depend { id: id.to_owned(), on: on.to_owned(), remove: false, awaits_unknown: false }
}

fn several(id: &str, steps: &[Command]) -> Command {
    Command::Several { ids: vec![id.to_owned()], steps: steps.to_vec() }
}

#[test]
fn several_changes_of_one_task_are_made_in_order_or_not_at_all() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    w.by(ANN).creates(task("other")).accepted();
    let all = [to("T1", Status::Claimed), to("T1", Status::InProgress)];
    w.by(IMPL).does(several("T1", &all)).accepted();
    assert_eq!(w.status("T1"), Status::InProgress);
    let good = Command::Link {
        id: "T2".to_owned(),
        provider: "github".to_owned(),
        key: "issue".to_owned(),
        value: "7".to_owned(),
    };
    let steps = [good, to("T2", Status::Claimed), on("T2", "T9")];
    w.by(IMPL).does(several("T2", &steps)).refused(Code::NotFound);
    assert_eq!(w.status("T2"), Status::Queued);
    assert!(w.task("T2").external_ids.is_empty(), "the first step was taken back, too");
}

#[test]
fn several_changes_are_all_about_their_one_task() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    w.by(ANN).creates(task("other")).accepted();
    for steps in [vec![on("T2", "T1")], vec![several("T1", &[])], vec![Command::Heartbeat]] {
        w.by(ANN).does(several("T1", &steps)).refused(Code::InvalidInput);
    }
    let many = vec![on("T1", "T2"); 1001];
    w.by(ANN).does(several("T1", &many)).refused(Code::InvalidInput);
}

#[test]
fn several_tasks_change_together_or_not_at_all() {
    let mut w = World::new();
    for title in ["one", "two", "three"] {
        w.by(ANN).creates(task(title)).accepted();
    }
    let abandon = |ids: &[&str]| Command::Several {
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        steps: ids.iter().map(|id| TaskVerb::Abandon.on(*id, Some("no".to_owned()))).collect(),
    };
    w.by(ANN).does(abandon(&["T1", "T2"])).accepted();
    assert_eq!((w.status("T1"), w.status("T2")), (Status::Abandoned, Status::Abandoned));
    // The second one is abandoned already, or is not there, or is the first one again.
    w.by(ANN).does(abandon(&["T3", "T1"])).refused(Code::InvalidTransition);
    w.by(ANN).does(abandon(&["T3", "T9"])).refused(Code::NotFound);
    w.by(ANN).does(abandon(&["T3", "3"])).refused(Code::InvalidInput);
    assert_eq!(w.status("T3"), Status::Queued, "the first step was taken back");
}

#[test]
fn a_task_is_made_together_with_its_references() {
    let mut w = World::new();
    let link = |value: &str| TaskLinked {
        provider: "github".to_owned(),
        key: "issue".to_owned(),
        value: value.to_owned(),
    };
    w.by(ANN).creates(NewTask { links: vec![link("7")], ..task("linked") }).accepted();
    assert_eq!(w.task("T1").external_ids["github"]["issue"], "7");
    let wrong = NewTask { links: vec![link("7\n8")], ..task("broken") };
    w.by(ANN).creates(wrong).refused(Code::InvalidInput);
}

fn land(id: &str) -> Command {
    Command::Land { id: id.to_owned(), merged: "0bad1dea".to_owned(), reason: None }
}

#[test]
fn rule_3_4_landing_is_merging_and_finishing_at_once_by_the_rules_of_both() {
    for status in [Status::Approved, Status::Merging] {
        let mut w = World::new();
        w.have_one(status);
        w.by(IMPL).does(land("T1")).refused(Code::RoleForbidden);
        let missing = |seen: &mut Observed| seen.merge.as_mut().unwrap().contains = false;
        w.by(INTEGRATOR).does_seeing(land("T1"), missing).refused(Code::NotMerged);
        w.blind = true;
        w.by(INTEGRATOR).does(land("T1")).refused(Code::Unobserved);
        w.blind = false;
        assert_eq!(w.status("T1"), status, "nothing of it is done");
        w.by(INTEGRATOR).does(land("T1")).accepted();
        assert_eq!(w.status("T1"), Status::Done);
        assert_eq!(w.task("T1").merged_sha.as_deref(), Some("0bad1dea"));
    }
    let mut w = World::new();
    w.have_one(Status::Review);
    w.by(ANN).does(land("T1")).refused(Code::InvalidTransition);
}

#[test]
fn rule_4_6_a_landing_with_a_fence_needs_the_live_grant_of_its_task() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let fence = w.task("T1").claim.as_ref().unwrap().fence.get();
    w.by(IMPL).submits("T1").unwrap();
    w.by(CRITIC).approves("T1").unwrap();
    w.by(INTEGRATOR).with_fence(fence).does(land("T1")).refused(Code::StaleFence);
    w.by(INTEGRATOR).does(land("T1")).accepted();
}

#[test]
fn what_ends_a_claim_without_its_work_wants_the_work_kept_first() {
    let wants = |command: Command| command.wants_seen().keep;
    for verb in [TaskVerb::Release, TaskVerb::Fail, TaskVerb::Abandon] {
        assert!(wants(verb.on("T1", None)), "{verb:?}");
    }
    for status in [Status::Queued, Status::Failed, Status::Abandoned] {
        let (id, reason) = ("T1".to_owned(), None);
        assert!(wants(Command::Transition { id, status, reason, needs: None }), "{status}");
    }
    assert!(!wants(TaskVerb::Approve.on("T1", None)) && !wants(land("T1")));
}
