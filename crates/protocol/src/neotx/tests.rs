//! The contracts of neo's agents.

use super::{agent, developer, effect, reviewer, scout, wrapped};
use crate::contract::{self, Mode, kind};
use crate::document;
use crate::problem::Level;
use comity_core::command::{Command, IssueKind, ReportStatus, TaskVerb};
use proptest::prelude::*;

const DEVELOPER: &str = include_str!("../../tests/golden/neotx/developer.json");
const PLAN: &str = include_str!("../../tests/golden/neotx/developer-plan.md");
const REVIEWER: &str = include_str!("../../tests/golden/neotx/reviewer.json");
const SCOUT: &str = include_str!("../../tests/golden/neotx/scout.json");
const AGENT: &str = include_str!("../../tests/golden/neotx/agent.yml");
const ARCHITECT: &str = r#"{"plan_path":".neo/specs/auth-plan.md","summary":"Three tasks."}"#;
const COMPLETE: &str = r#"{"summary":"Done","evidence":["https://x/pull/1"],"criteriaResults":
    [{"criterion":"logs in","met":true,"evidence":"test output"}]}"#;
const BLOCKED: &str =
    r#"{"reason":"two designs","question":"Which?","context":"A or B","urgency":"high"}"#;

fn problems(name: &str, text: &str) -> Vec<String> {
    let checked = contract::check(text, kind(name), Mode::Full);
    let line = |p: &crate::problem::Problem| {
        let level = if p.level == Level::Error { "error" } else { "warning" };
        format!("{level} {}:{} {}", p.line, p.column, p.message)
    };
    checked.problems.iter().map(line).collect()
}

#[test]
fn every_kind_is_recognised_and_valid() {
    for (name, text) in [
        ("developer", DEVELOPER),
        ("developer", PLAN),
        ("reviewer", REVIEWER),
        ("scout", SCOUT),
        ("agent", AGENT),
        ("architect", ARCHITECT),
        ("supervisor", COMPLETE),
        ("supervisor", BLOCKED),
    ] {
        let checked = contract::check(text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some(name), "{text}");
        assert!(checked.is_valid(), "{name}: {:?}", checked.problems);
    }
}

#[test]
fn schemas_name_what_is_required() {
    for name in ["developer", "reviewer", "scout", "architect", "supervisor", "agent"] {
        let schema = (kind(name).unwrap().schema)();
        assert!(schema["$schema"].as_str().unwrap().contains("2020-12"), "{name}");
    }
    let schema = (kind("reviewer").unwrap().schema)();
    assert_eq!(schema["required"], serde_json::json!(["verdict", "summary"]));
    let severity = &schema["properties"]["issues"]["items"]["properties"]["severity"];
    assert_eq!(severity["enum"], serde_json::json!(["CRITICAL", "WARNING", "SUGGESTION"]));
}

#[test]
fn all_problems_of_a_review_come_at_once_with_their_places() {
    let text = "{\"verdict\": \"MAYBE\",\n \"issues\": [{\"severity\": \"BAD\", \"line\": -1}],\n \
                \"verification\": 3}";
    assert_eq!(
        problems("reviewer", text),
        [
            "error 1:13 verdict must be one of APPROVED, CHANGES_REQUESTED, not \"MAYBE\"",
            "error 1:1 summary is missing: the review in a sentence or two",
            "error 3:18 verification must be an object, not 3",
            "error 2:26 issues[0].severity must be one of CRITICAL, WARNING, SUGGESTION, not \"BAD\"",
            "warning 2:41 issues[0].line should be a whole number from 0 up, not -1",
            "error 2:13 issues[0].description is missing: what is wrong",
        ]
    );
    assert_eq!(problems("reviewer", "[]"), ["error 1:1 the contract must be an object"]);
}

fn review(verdict: &str, spec: &str, criticals: usize, warnings: usize) -> reviewer::Outcome {
    let issue = |severity: &str| format!("{{\"severity\":\"{severity}\",\"description\":\"x\"}}");
    let issues: Vec<String> = std::iter::repeat_n(issue("CRITICAL"), criticals)
        .chain(std::iter::repeat_n(issue("WARNING"), warnings))
        .chain([issue("SUGGESTION")])
        .collect();
    let text = format!(
        "{{\"verdict\":\"{verdict}\",\"spec_compliance\":\"{spec}\",\"summary\":\"s\",\"issues\":[{}]}}",
        issues.join(",")
    );
    reviewer::outcome(&document::read(&text).unwrap())
}

#[test]
fn a_review_blocks_on_one_critical_five_warnings_or_a_failed_spec_whatever_it_says() {
    assert!(review("APPROVED", "PASS", 0, 4).approved);
    assert!(!review("APPROVED", "PASS", 1, 0).approved);
    assert!(!review("APPROVED", "PASS", 0, 5).approved);
    assert!(!review("APPROVED", "FAIL", 0, 0).approved);
    assert!(!review("CHANGES_REQUESTED", "PASS", 0, 0).approved);
    let said = problems("reviewer", REVIEWER);
    assert_eq!(said, ["warning 2:14 comity counts the verdict as CHANGES_REQUESTED: 1 CRITICAL"]);
    let commands = effect::commands("reviewer", &document::read(REVIEWER).unwrap(), Some("T1"));
    assert_eq!(
        commands.unwrap(),
        [TaskVerb::RequestChanges.on("T1".to_owned(), Some(
                "Solid, one hole.\nBlocks: 1 CRITICAL\n- CRITICAL src/auth.ts:42: The token is not \
                 checked. (check it)\n- SUGGESTION src/a.ts:3: A longer name would help. (rename it)"
                    .to_owned()
            ))]
    );
}

#[test]
fn words_that_no_document_fixes_are_remarked_and_never_make_a_report_worthless() {
    let review = |verdict: &str| {
        format!(
            r#"{{"verdict":"{verdict}","summary":"s","pr_comment":"LGTM","verification":{{"typecheck":"passed",
            "secrets_scan":["none"]}},"spec_deviations":[{{"type":"wrong","description":"d"}},{{"description":"e"}}],
            "issues":[{{"severity":"CRITICAL","lens":"correctness","line":"10-12","file":"a","description":"f"}}]}}"#
        )
    };
    let said = problems("reviewer", &review("CHANGES_REQUESTED"));
    let wanted = [
        r#"spec_deviations[0].type should be one of missing, extra, misunderstood, not "wrong""#,
        r#"pr_comment should be one of posted, failed, not "LGTM""#,
        r#"verification.typecheck should be one of pass, fail, skipped, not "passed""#,
        "verification.secrets_scan should be one of clean, flagged, skipped, not a list",
        "issues[0].lens should be one of quality, standards, security, performance, coverage, not \
         \"correctness\"",
        r#"issues[0].line should be a whole number from 0 up, not "10-12""#,
    ];
    assert_eq!(said.len(), wanted.len(), "{said:#?}");
    for (said, wanted) in said.iter().zip(wanted) {
        assert!(said.starts_with("warning ") && said.ends_with(wanted), "{said}");
    }
    let outcome = reviewer::outcome(&document::read(&review("APPROVED")).unwrap());
    let notes = "s\nBlocks: 1 CRITICAL\n- spec, wrong: d\n- spec: e\n- CRITICAL a:10-12: f";
    assert_eq!((outcome.approved, outcome.notes.as_str()), (false, notes));
    let developer = r#"{"status":"DONE","task_id":"","commit":"","pr_url":"","concerns":[""],"tests":{"passed":3},
        "files_changed":["a"],"evidence":{"command":"make","exit_code":0},
        "branch_completion":{"branch":"b","commits":["abc"],"recommendation":"merge"}}"#;
    let scout =
        r#"{"summary":"s","findings":[],"decisions_created":["dec_1"],"memories_written":"two"}"#;
    for (name, text, remarks) in [
        ("reviewer", review("APPROVED"), 7),
        ("developer", developer.into(), 4),
        ("scout", scout.into(), 2),
    ] {
        let said = problems(name, &text);
        assert!(said.iter().all(|line| line.starts_with("warning ")), "{said:#?}");
        assert_eq!(said.len(), remarks, "{said:#?}");
        assert!(!contract::check(&text, kind(name), Mode::Strict).is_valid(), "{name}");
    }
}

#[test]
fn a_developer_report_ends_as_its_worst_task() {
    let one = developer::report(&document::read(DEVELOPER).unwrap());
    assert_eq!(one.status, ReportStatus::Completed);
    assert_eq!(one.issues.len(), 1);
    assert_eq!(one.issues[0].kind, IssueKind::Concern);
    let plan = developer::report(&wrapped::read(PLAN).unwrap());
    assert_eq!(plan.status, ReportStatus::Blocked);
    assert_eq!(plan.issues[0].kind, IssueKind::Blocker);
    assert_eq!(plan.issues[0].description, "T2: Which key signs the tokens?");
    assert_eq!(plan.log[0].message, "T1 DONE — commit abc1234");
    assert_eq!(plan.other["pr_url"], "https://github.com/example/tool/pull/7");
}

#[test]
fn what_a_developer_says_about_tests_is_claimed_wherever_it_stands() {
    let claimed = |text: &str| {
        let checked = contract::check(text, kind("developer"), Mode::Full);
        assert!(checked.is_valid(), "{text}: {:?}", checked.problems);
        let report = contract::report(checked.kind.unwrap(), &checked.tree.unwrap()).unwrap();
        let one = report.evidence.first().cloned();
        one.map(|said| (said.gate, said.pass, said.report.unwrap_or_default()))
    };
    let tests = |pass: bool, said: &str| Some(("tests".to_owned(), pass, said.to_owned()));
    let plan = |step: &str, more: &str| {
        let other = r#"{"task_id":"T2","status":"DONE"}"#;
        format!(r#"{{"tasks":[{{"task_id":"T1","status":"DONE"{step}}},{other}]{more}}}"#)
    };
    let ran = r#","evidence":{"command":"make test","exit_code":0,"summary":"34/34\npassing"}"#;
    let branch = |said: &str| {
        format!(r#","branch_completion":{{"branch":"b","tests":"{said}","recommendation":"keep"}}"#)
    };
    assert_eq!(claimed(&plan("", ran)), tests(true, "make test (exit 0) 34/34 passing"));
    assert_eq!(claimed(&plan(ran, "")), tests(true, "T1: make test (exit 0) 34/34 passing"));
    assert_eq!(claimed(&plan(r#","tests":"3 passed""#, "")), tests(true, "T1: 3 passed"));
    assert_eq!(claimed(&plan("", &branch("all passing"))), tests(true, "all passing"));
    assert_eq!(claimed(&plan("", r#","tests":"all passing""#)), tests(true, "all passing"));
    assert_eq!(claimed(&plan(ran, &branch("2 failed"))), tests(false, "2 failed"));
    assert_eq!(claimed(&plan("", &branch("not run"))), None);
    assert_eq!(claimed(r#"{"status":"DONE","tests":"all passing"}"#), tests(true, "all passing"));
    let failed = plan(&ran.replace(":0", ":1"), "");
    let wanted = "DONE contradicts the evidence: the command failed with exit code 1";
    assert!(problems("developer", &failed)[0].ends_with(wanted), "{failed}");
}

#[test]
fn a_developer_cannot_be_done_with_failing_tests_or_stopped_without_a_word() {
    let failing = DEVELOPER.replace("\"exit_code\": 0", "\"exit_code\": 1");
    assert_eq!(
        problems("developer", &failing),
        [
            "error 5:53 DONE_WITH_CONCERNS contradicts the evidence: the command failed with exit code 1",
            "warning 18:23 a branch with failing tests can only be kept",
        ]
    );
    assert_eq!(
        problems("developer", "{\"status\":\"BLOCKED\"}"),
        ["error 1:11 BLOCKED must say in concerns or notes what is needed"]
    );
    assert_eq!(problems("developer", "{}"), ["error 1:1 status is missing: how the work ended"]);
}

#[test]
fn grave_findings_become_decisions_and_the_rest_notes() {
    let commands = effect::commands("scout", &document::read(SCOUT).unwrap(), None).unwrap();
    let said: Vec<String> = commands
        .iter()
        .map(|command| match command {
            Command::DecisionAsk(q) => {
                let keys: Vec<&str> = q.options.iter().map(|o| o.key.as_str()).collect();
                format!("ask {} [{}]", q.question, keys.join(" "))
            }
            Command::Note { kind, text, .. } => {
                format!("{kind} {}", text.lines().next().unwrap())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        said,
        [
            "ask F-1 CRITICAL: Secrets in the log [yes later no]",
            "discovery F-2 HIGH: Off by one (asked as dec_0123456789abcdef0123)",
            "discovery F-3 LOW: No test for dates",
            "discovery Small and tidy, thin on tests.",
        ]
    );
    assert!(scout::findings(&document::read(SCOUT).unwrap())[0].details.contains("Files: src/log"));
}

#[test]
fn a_supervisor_is_complete_only_with_evidence_and_every_criterion_met() {
    let unmet = COMPLETE.replace("true", "false").replace("\"https://x/pull/1\"", "");
    let said = problems("supervisor", &unmet);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("evidence must not be empty"));
    let report =
        |tree: &document::Node| contract::report(kind("supervisor").unwrap(), tree).unwrap();
    let blocked = report(&document::read(BLOCKED).unwrap());
    assert_eq!(blocked.status, ReportStatus::Blocked);
    assert_eq!(blocked.issues[0].description, "Which?");
    assert_eq!((blocked.reason(), blocked.context()), (Some("two designs"), Some("A or B")));
    assert_eq!(blocked.needs().as_deref(), Some("two designs; Which?"));
    assert_eq!(report(&document::read(COMPLETE).unwrap()).log.len(), 3);
}

#[test]
fn the_message_of_a_supervisor_to_its_parent_ends_work_as_its_report_does() {
    let message =
        |word: &str, more: &str| format!(r#"{{"type":"{word}","supervisorId":"sup_1",{more}}}"#);
    let reported = |text: &str| {
        let checked = contract::check(text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("supervisor"), "{text}");
        assert!(checked.is_valid(), "{text}: {:?}", checked.problems);
        contract::report(checked.kind.unwrap(), &checked.tree.unwrap()).unwrap()
    };
    let url = "https://github.com/org/repo/pull/42";
    let done = message("complete", &format!(r#""summary":"Done","evidence":["CI ran","{url}"]"#));
    let done = reported(&done);
    assert_eq!((done.status, done.pr.as_deref()), (ReportStatus::Completed, Some(url)));
    assert_eq!(done.log.len(), 3);
    let failed = reported(&message("failed", r#""error":"budget exceeded""#));
    assert_eq!((failed.status, failed.cause()), (ReportStatus::Failed, Some("budget exceeded")));
    let asks = r#""reason":"two designs","question":"Which?","urgency":"high""#;
    assert_eq!(reported(&message("blocked", asks)).issues[0].description, "Which?");
    reported(r#"{"type":"failed","error":"boom"}"#);
    reported(&format!(r#"{{"type":"complete","summary":"Done","evidence":["{url}"]}}"#));
    for (text, wanted) in [
        (message("complete", r#""summary":"s","evidence":[]"#), "evidence must not be empty"),
        (message("failed", r#""summary":"s""#), "error is missing: what went wrong"),
        (
            message("progress", r#""summary":"s","costDelta":0.1"#),
            "type must be one of complete, blocked, failed, not \"progress\", which ends nothing",
        ),
        (message("done", r#""summary":"s""#), "type must be one of complete, blocked, failed"),
    ] {
        let checked = contract::check(&text, None, Mode::Full);
        let said = checked.problems.errors().join("; ");
        assert!(said.contains(wanted), "{text}: {said}");
    }
}

#[test]
fn an_agent_definition_is_written_as_it_was_read() {
    let tree = document::read(AGENT).unwrap();
    assert_eq!(agent::render(&tree), AGENT);
    assert_eq!(agent::roles(&tree), [comity_core::role::Role::Implementer]);
    assert_eq!(
        problems("agent", "name: x\ntools: [$inherited, Fly]\nsandbox: maybe\n"),
        [
            "error 3:10 sandbox must be one of writable, readonly, not \"maybe\"",
            "error 2:9 $inherited needs extends: there is nothing to inherit",
            "warning 2:21 tools[1]: \"Fly\" is none of the known tools: Read, Write, Edit, Bash, Glob, \
             Grep, Agent, WebSearch, WebFetch, NotebookEdit",
            "warning 1:1 the agent has no prompt and extends no other agent",
        ]
    );
}

proptest! {
    /// Whatever is fed in, there is an answer.
    #[test]
    fn no_text_makes_a_check_panic(text in "\\PC*", cut in 0usize..600, which in 0usize..6) {
        let golden = [DEVELOPER, PLAN, REVIEWER, SCOUT, AGENT, COMPLETE][which];
        let mut end = cut.min(golden.len());
        while !golden.is_char_boundary(end) {
            end -= 1;
        }
        let mutated = format!("{}{text}{}", &golden[..end], &golden[end..]);
        for text in [text.as_str(), &golden[..end], mutated.as_str()] {
            for kind in contract::KINDS {
                let checked = contract::check(text, Some(kind), Mode::Full);
                if let (true, Some(tree)) = (checked.is_valid(), &checked.tree) {
                    let _ = effect::commands(kind.name, tree, Some("T1"));
                    let _ = kind.report.map(|report| report(tree));
                }
            }
            let _ = contract::recognise(text);
            let _ = super::resume::read(text);
        }
    }
}
