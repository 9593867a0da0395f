//! Result contracts: what an agent hands in becomes events, and its status decides the step.

use crate::world::{ANN, Expect, IMPL, OTHER, World};
use comity_core::command::{
    Command, Extra, FileAction, IssueKind, ReportStatus, ReportedFile, ReportedIssue, ReportedLine,
    Submission, WorkReport,
};
use comity_core::event::Event;
use comity_core::refusal::Code;
use comity_core::status::Status;

/// A report of two log lines, the second a tip.
pub fn report(status: ReportStatus) -> WorkReport {
    let line = |level: &str, message: &str| ReportedLine {
        level: level.to_owned(),
        message: message.to_owned(),
        timestamp: Some("2025-01-15T10:30:00Z".to_owned()),
        more: Extra::default(),
    };
    WorkReport {
        contract: "result".to_owned(),
        task_id: Some("T1".to_owned()),
        status,
        files_modified: vec![ReportedFile::new("a.rs", FileAction::Created)],
        lists_files: true,
        log: vec![line("error", "It does not link"), line("tip", "Use the other linker")],
        issues: Vec::new(),
        completed_at: Some("2025-01-15T10:45:00Z".to_owned()),
        pr: None,
        evidence: Vec::new(),
        other: serde_json::Map::new(),
        keys: Vec::new(),
    }
}

fn issue(kind: IssueKind, description: &str) -> ReportedIssue {
    ReportedIssue::new(kind, description)
}

pub fn submitted(report: WorkReport) -> Command {
    Command::Submit(Submission {
        id: "T1".into(),
        report: Some(Box::new(report)),
        ..Submission::default()
    })
}

fn begun() -> World {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w
}

#[test]
fn a_completed_result_goes_to_review_with_what_it_says_recorded() {
    let mut w = begun();
    let mut said = report(ReportStatus::Completed);
    said.issues = vec![
        issue(IssueKind::Question, "Which calendar?"),
        issue(IssueKind::Concern, "It is slow"),
        issue(IssueKind::Blocker, "No key"),
    ];
    let done = w.by(IMPL).does(submitted(said.clone())).accepted();
    assert_eq!(
        done.names(),
        [
            "result_reported",
            "memory_written",
            "decision_asked",
            "note",
            "decision_asked",
            "review_requested",
            "status_changed",
        ]
    );
    let Event::ResultReported(body) = &done.events[0].draft.event else { panic!("no result") };
    assert_eq!((&body.files_modified, &body.log), (&said.files_modified, &said.log));
    assert_eq!(body.tips, ["Use the other linker"]);
    let memory = w.state.memories.values().next().unwrap();
    assert_eq!(
        (memory.text.as_str(), &memory.tags[..]),
        ("Use the other linker", &["tip".into()][..])
    );
    assert_eq!(memory.source.task.as_ref().map(|id| id.as_str()), Some("T1"));
    let task = w.task("T1");
    assert_eq!(task.status, Status::Review);
    assert_eq!(task.decisions.len(), 2);
}

#[test]
fn an_answer_to_a_question_of_completed_work_leaves_the_review_alone() {
    let mut w = begun();
    let mut said = report(ReportStatus::Completed);
    said.issues = vec![issue(IssueKind::Question, "Which calendar?")];
    w.by(IMPL).does(submitted(said)).accepted();
    w.by(ANN).answers("D1", "the old one").accepted();
    assert_eq!(w.task("T1").status, Status::Review);
}

#[test]
fn a_blocked_result_opens_a_decision_for_each_issue_and_answers_resume_it() {
    let mut w = begun();
    let mut said = report(ReportStatus::Blocked);
    said.issues = vec![
        issue(IssueKind::Question, "Which calendar?"),
        issue(IssueKind::Blocker, "Where is the key?"),
        issue(IssueKind::Question, "Which calendar?"),
    ];
    w.by(IMPL).does(submitted(said)).accepted();
    let task = w.task("T1");
    assert_eq!(task.status, Status::Blocked);
    let block = task.block.as_ref().unwrap();
    let needs = "Which calendar?; Where is the key?";
    assert_eq!((block.needs.as_str(), block.questions.len()), (needs, 2), "all of them");
    for (id, question) in [("D1", "Which calendar?"), ("D2", "Where is the key?")] {
        assert_eq!(w.decision(id).question, question);
        assert_eq!(w.decision(id).context.as_deref(), Some("It does not link"));
    }
    w.by(ANN).answers("D1", "the old one").accepted();
    w.by(ANN).answers("D2", "in the drawer").accepted();
    assert_eq!(w.task("T1").status, Status::Queued);
}

#[test]
fn a_blocked_result_without_issues_says_what_its_log_says() {
    let mut w = begun();
    w.by(IMPL).does(submitted(report(ReportStatus::Blocked))).accepted();
    assert_eq!(w.task("T1").block.as_ref().unwrap().needs, "It does not link");
    let mut w = begun();
    let said = WorkReport { log: Vec::new(), ..report(ReportStatus::Blocked) };
    w.by(IMPL).does(submitted(said)).accepted();
    assert!(w.task("T1").block.as_ref().unwrap().needs.contains("did not say"));
}

#[test]
fn a_failed_result_uses_an_attempt_and_the_third_asks_what_to_do() {
    let mut w = begun();
    for attempt in 1..=3 {
        w.by(IMPL).does(submitted(report(ReportStatus::Failed))).accepted();
        let task = w.task("T1");
        assert_eq!(task.attempts, attempt);
        if attempt < 3 {
            assert_eq!(task.last_error.as_deref(), Some("It does not link"));
            w.by(IMPL).starts("T1").accepted();
        }
    }
    assert_eq!(w.task("T1").status, Status::Blocked);
    assert_eq!(w.task("T1").decisions.len(), 1);
}

#[test]
fn the_report_on_the_third_failure_has_the_issue_and_the_log() {
    let mut w = begun();
    let mut said = report(ReportStatus::Failed);
    said.issues = vec![issue(IssueKind::Blocker, "No key")];
    for _ in 1..3 {
        w.by(IMPL).does(submitted(said.clone())).accepted();
        assert_eq!(w.task("T1").last_error.as_deref(), Some("No key"));
        w.by(IMPL).starts("T1").accepted();
    }
    let mut last = Submission { id: "T1".into(), ..Submission::default() };
    (last.report, last.reason) = (Some(Box::new(said)), Some("I give up".into()));
    let done = w.by(IMPL).does(Command::Submit(last)).accepted();
    let errors = done.events.iter().filter_map(|happened| match &happened.draft.event {
        Event::Error(error) => error.error_log.as_deref(),
        _ => None,
    });
    let whole = "I give up\n\nNo key\n\nIt does not link";
    assert_eq!(errors.collect::<Vec<_>>(), [whole]);
    assert_eq!(w.decision("D1").context.as_deref(), Some(whole));
    assert_eq!(w.task("T1").attempts, 3);
}

#[test]
fn a_result_for_another_task_is_refused_and_nothing_moves() {
    let mut w = begun();
    let before = w.log.len();
    let other = WorkReport { task_id: Some("T2".into()), ..report(ReportStatus::Completed) };
    w.by(IMPL).does(submitted(other)).refused(Code::ContractInvalid);
    assert_eq!((w.task("T1").status, w.log.len()), (Status::InProgress, before));
    let padded = WorkReport { task_id: Some("T001".into()), ..report(ReportStatus::Completed) };
    w.by(IMPL).does(submitted(padded)).accepted();
}

#[test]
fn only_the_holder_hands_a_result_in_whatever_its_status() {
    for status in [ReportStatus::Completed, ReportStatus::Blocked, ReportStatus::Failed] {
        let mut w = begun();
        w.by(OTHER).does(submitted(report(status))).refused(Code::NotHolder);
        assert_eq!(w.task("T1").status, Status::InProgress);
    }
}

#[test]
fn a_result_has_bounds() {
    let mut w = begun();
    let mut said = report(ReportStatus::Completed);
    said.log = vec![said.log[0].clone(); 1001];
    w.by(IMPL).does(submitted(said)).refused(Code::InvalidInput);
    let mut said = report(ReportStatus::Completed);
    said.issues = vec![issue(IssueKind::Question, " ")];
    w.by(IMPL).does(submitted(said)).refused(Code::InvalidInput);
    let mut said = report(ReportStatus::Completed);
    said.issues = (0..201).map(|n| issue(IssueKind::Question, &format!("q{n}"))).collect();
    w.by(IMPL).does(submitted(said)).refused(Code::LimitExceeded);
}

#[test]
fn a_result_that_stops_work_is_refused_when_none_is_under_way() {
    for stopped in [ReportStatus::Blocked, ReportStatus::Failed] {
        for status in [Status::Queued, Status::Review, Status::Approved] {
            let mut w = World::new();
            w.have_one(status);
            let refusal = w.by(IMPL).does(submitted(report(stopped))).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidTransition, "{status}: {refusal}");
            assert_eq!(w.task("T1").status, status);
        }
    }
}

#[test]
fn a_result_for_another_issue_is_refused() {
    let mut w = begun();
    let link = |value: &str| Command::Link {
        id: "T1".into(),
        provider: "github".into(),
        key: "issue".into(),
        value: value.into(),
    };
    let about = |issue: serde_json::Value| {
        let mut said = report(ReportStatus::Completed);
        said.other.insert("issue".to_owned(), issue);
        submitted(said)
    };
    w.by(ANN).does(link("12")).accepted();
    w.by(IMPL).does(about("#13".into())).refused(Code::ContractInvalid);
    w.by(IMPL).does(about(7.into())).refused(Code::ContractInvalid);
    w.by(IMPL).does(about(12.into())).accepted();
}

#[test]
fn what_entries_say_beyond_the_protocol_is_recorded_and_bounded() {
    let mut w = begun();
    let mut said = report(ReportStatus::Completed);
    said.log[0].more.other.insert("file".into(), "src/main.rs".into());
    let done = w.by(IMPL).does(submitted(said)).accepted();
    let Event::ResultReported(body) = &done.events[0].draft.event else { panic!("no result") };
    assert_eq!(body.log[0].more.other["file"], "src/main.rs");
    let mut w = begun();
    let mut said = report(ReportStatus::Completed);
    said.log[0].more.other.insert("x".into(), "y".repeat(70_000).into());
    w.by(IMPL).does(submitted(said)).refused(Code::InvalidInput);
}

#[test]
fn who_answers_a_blocked_result_sees_why_the_agent_stopped_and_what_its_tools_said() {
    let mut w = begun();
    let mut said = report(ReportStatus::Blocked);
    said.issues = vec![issue(IssueKind::Question, "Which selector?")];
    said.other.insert("reason".to_owned(), "Test failure loop".into());
    w.by(IMPL).does(submitted(said)).accepted();
    let decision = w.decision("D1");
    assert_eq!(decision.question, "Which selector?");
    assert_eq!(decision.context.as_deref(), Some("Test failure loop\n\nIt does not link"));
    let needs = "Test failure loop; Which selector?";
    assert_eq!(w.task("T1").block.as_ref().unwrap().needs, needs);
}

#[test]
fn what_an_agent_says_beside_its_question_is_what_one_must_know_to_answer_it() {
    let mut w = begun();
    let mut said = report(ReportStatus::Blocked);
    said.issues = vec![issue(IssueKind::Question, "Which?")];
    said.other.insert("reason".to_owned(), "Two designs".into());
    said.other.insert("context".to_owned(), "A is faster".into());
    w.by(IMPL).does(submitted(said)).accepted();
    let context = w.decision("D1").context.as_deref();
    assert_eq!(context, Some("Two designs\n\nA is faster\n\nIt does not link"));
    assert_eq!(w.task("T1").block.as_ref().unwrap().needs, "Two designs; Which?");
}

#[test]
fn a_question_that_comes_alone_is_not_said_twice() {
    let mut w = begun();
    let mut said = report(ReportStatus::Blocked);
    said.issues = vec![issue(IssueKind::Question, "Which?")];
    said.other.insert("reason".to_owned(), "Which?".into());
    said.log = vec![ReportedLine::new("error", "Which?"), ReportedLine::new("info", "Began")];
    w.by(IMPL).does(submitted(said)).accepted();
    assert_eq!(w.decision("D1").question, "Which?");
    assert_eq!(w.decision("D1").context, None);
}

#[test]
fn what_one_must_know_to_answer_is_bounded() {
    let mut w = begun();
    let mut said = report(ReportStatus::Blocked);
    let line = said.log[0].clone();
    said.log = (0..3)
        .map(|n| ReportedLine { message: format!("{n}{}", "é".repeat(20_000)), ..line.clone() })
        .collect();
    let long = |word: &str| issue(IssueKind::Question, &word.repeat(16_000));
    said.issues = vec![issue(IssueKind::Question, "Which?"), long("one "), long("two ")];
    w.by(IMPL).does(submitted(said)).accepted();
    let context = w.decision("D1").context.as_ref().unwrap().len();
    for length in [context, w.task("T1").block.as_ref().unwrap().needs.len()] {
        assert!((64 * 1024 - 1..=64 * 1024).contains(&length), "{length}");
    }
}
