//! Each kind is found by its own marks, and a faulty contract never passes for another kind.

use crate::contract::*;

fn kind_of(text: &str) -> Option<&'static str> {
    recognise(text).map(|kind| kind.name)
}

fn said(text: &str) -> String {
    check(text, None, Mode::Full).problems.errors().join("; ")
}

const WHOLE_RESULT: &str = r#"{"version":"1","task_id":"T1","status":"completed","files_modified":[],
    "log":[{"level":"info","message":"a","timestamp":"2025-01-15"},
           {"level":"info","message":"b","timestamp":"2025-01-15"}],
    "completed_at":"2025-01-15"}"#;

#[test]
fn each_contract_is_what_its_marks_say() {
    for (name, text) in [
        ("result", "status: completed"),
        ("result", "{version: '1', task_id: T1, status: nope}"),
        ("result", r#"{"version":"1","task_id":"T99","status":"success","files_modified":[]}"#),
        ("result", "status: COMPLETED\nversion: '1'\ntask_id: T1\nlog: []"),
        ("result", WHOLE_RESULT),
        ("mission", "version: '1'\ntask_id: T1\nepic_id: E1"),
        ("neo-result", "status: success\nfiles_modified: [a.rs]"),
        ("neo-result", "status: success\ntest_results: Failed (1/3)"),
        ("neo-result", "pr_url: https://x.org/1"),
        ("neo-error", "status: blocked\nreason: stuck"),
        (
            "developer",
            r#"{"task_id":"T25","status":"INCOMPLETE","files_changed":3,"concerns":["x"]}"#,
        ),
        ("developer", r#"{"task_id":"T1","status":"DONE | DONE_WITH_CONCERNS | BLOCKED"}"#),
        ("developer", r#"{"task_id":"T1","status":"DONE "}"#),
        ("developer", r#"{"status":"IN_TROUBLE","tests":"3 failing"}"#),
        ("developer", r#"{"task_id":"T1","status":"FAILED"}"#),
        ("developer", r#"{"status":"completed","concerns":[]}"#),
        ("developer", r#"{"status":"DONE","pr_url":"https://x.org/1"}"#),
        ("developer", r#"{"status":"DONE","summary":"did it"}"#),
        ("developer", r#"{"tasks":[{"task_id":"T1","status":"DONE"}]}"#),
        ("ace-done", r#"{"task_id":"T99","summary":"ok","files_changed":[]}"#),
        (
            "ace-done",
            r#"{"task_id":"task-1","summary":"s","status":"completed","commands_run":[]}"#,
        ),
        ("supervisor", r#"{"summary":"s","evidence":["x"]}"#),
        ("supervisor", r#"{"reason":"r","question":"q","urgency":"low"}"#),
        ("reviewer", r#"{"verdict":"MAYBE"}"#),
    ] {
        assert_eq!(kind_of(text), Some(name), "{text}");
    }
}

#[test]
fn an_invalid_report_is_not_taken_for_another_kind() {
    for (text, wanted) in [
        (
            r#"{"task_id":"T25","status":"INCOMPLETE","files_changed":3,"concerns":["it breaks"]}"#,
            "status must be one of DONE, DONE_WITH_CONCERNS",
        ),
        (r#"{"task_id":"T1","status":"DONE "}"#, "not \"DONE \""),
        (r#"{"task_id":"T1","status":"FAILED","files_changed":1}"#, "not \"FAILED\""),
        (
            r#"{"version":"1","task_id":"T99","status":"success","files_modified":[]}"#,
            "Invalid status: success",
        ),
        (r#"{"task_id":"T1","summary":"s","files_changed":[],"status":"HALF"}"#, "not \"HALF\""),
        (
            r#"{"task_id":"T1","summary":"s","commands_run":[],"files_changed":3}"#,
            "files_changed must be a list, not 3",
        ),
    ] {
        let checked = check(text, None, Mode::Full);
        assert!(!checked.is_valid(), "{text}");
        assert!(said(text).contains(wanted), "{text}: {}", said(text));
    }
}

#[test]
fn what_has_marks_of_several_kinds_is_refused_with_what_each_lacks() {
    let text =
        r#"{"version":"1","task_id":"T99","status":"error","summary":"s","files_changed":[]}"#;
    let checked = check(text, None, Mode::Full);
    assert!(checked.kind.is_none() && !checked.is_valid());
    let said = said(text);
    assert!(
        said.starts_with("the content of this contract fits several kinds (result, ace-done)"),
        "{said}"
    );
    assert!(said.contains("as result: Missing required field: log"), "{said}");
}

#[test]
fn a_good_result_stays_one_whatever_keys_it_adds() {
    for more in [
        r#""summary":"s","commands_run":["make"],"#,
        r#""concerns":["x"],"commit_message":"m","#,
        r#""pr_url":"https://x.org/1","test_results":"ok","#,
        r#""verdict":"fine","#,
    ] {
        let text = WHOLE_RESULT.replacen('{', &format!("{{{more}"), 1);
        assert_eq!(kind_of(&text), Some("result"), "{text}");
        assert!(check(&text, None, Mode::Full).is_valid());
    }
}

#[test]
fn a_result_in_a_message_is_one_and_two_are_none() {
    let block = format!("```json\n{WHOLE_RESULT}\n```\n");
    let message = format!("Done: all of it.\n\n{block}\nPR_URL: https://x.org/pull/1\n");
    for (mode, valid) in [(Mode::Full, true), (Mode::Compat, false), (Mode::Strict, false)] {
        let checked = check(&message, None, mode);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("result"), "{mode:?}");
        assert_eq!(checked.is_valid(), valid, "{mode:?}: {:?}", checked.problems);
    }
    let twice = format!("First:\n{block}No, this:\n{block}");
    assert_eq!(kind_of(&twice), Some("result"));
    assert!(said(&twice).starts_with("this text has 2 parts"), "{}", said(&twice));
}

#[test]
fn a_header_inside_a_text_decides_nothing() {
    for header in ["# AGENT ERROR REPORT", "# AGENT RESULT CONTRACT", "# AGENT TASK CONTRACT"] {
        let line = |message: &str| {
            format!(
                "  - level: info\n    timestamp: 2025-01-15T10:30:00Z\n    message: {message}\n"
            )
        };
        let text = format!(
            "version: '1'\ntask_id: T1\nstatus: completed\nfiles_modified: []\nlog:\n{}{}completed_at: 2025-01-15\n",
            line(&format!("|\n      The report was:\n      {header}\n      status: blocked")),
            line("done"),
        );
        let checked = check(&text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("result"), "{text}");
        assert!(checked.is_valid(), "{:?}", checked.problems);
    }
    assert_eq!(kind_of("---\n# note\n# AGENT ERROR REPORT\nstatus: blocked\n"), Some("neo-error"));
}

#[test]
fn what_has_no_marks_is_told_what_the_nearest_kind_lacks() {
    let text = "task_id: T1\nstatus: nope\n";
    let checked = check(text, None, Mode::Full);
    assert!(checked.kind.is_none());
    let said = said(text);
    assert!(
        said.contains("name the kind") && said.contains("as result: Invalid status: nope"),
        "{said}"
    );
    assert_eq!(check("a: b", None, Mode::Full).problems.iter().count(), 1);
    let prose = self::said("I did it: all of it: really.");
    assert!(prose.contains("name the kind (mission, result,"), "{prose}");
}

#[test]
fn whatever_the_kind_the_task_that_a_report_names_is_the_one_it_is_about() {
    let named = |name: &str, text: &str| {
        let checked = check(text, kind(name), Mode::Full);
        report(checked.kind.unwrap(), &checked.tree.unwrap()).unwrap().task_id
    };
    let t9 = Some("T9".to_owned());
    assert_eq!(named("neo-result", "{task_id: T9, status: success}"), t9);
    assert_eq!(named("neo-error", "{task_id: T9, status: blocked, reason: r}"), t9);
    assert_eq!(named("ace-done", r#"{"task_id":"T9","summary":"s"}"#), t9);
    assert_eq!(named("ace-done", r#"{"task_id":"task-1","summary":"s"}"#), None);
    assert_eq!(named("developer", r#"{"task_id":"T9","status":"DONE"}"#), t9);
}

/// A fenced result that is valid and has that status.
fn fenced_result(status: &str) -> String {
    format!("```json\n{}\n```\n", WHOLE_RESULT.replace("completed\",", &format!("{status}\",")))
}

#[test]
fn reports_that_contradict_each_other_are_refused_and_both_places_named() {
    let (result, created) = (fenced_result("completed"), "PR Created: https://x.org/pull/1");
    let developer = r#"{"task_id":"T1","status":"BLOCKED","concerns":["no db"]}"#;
    let done = r#"{"task_id":"T1","status":"DONE","files_changed":1}"#;
    for (text, first, second) in [
        (
            format!("{developer}\n\n{result}"),
            "blocked (line 1, developer)",
            "completed (line 4, result)",
        ),
        (
            format!("```json\n{developer}\n```\n{result}"),
            "blocked (line 2, developer)",
            "completed (line 5,",
        ),
        (
            format!("BLOCKED: which key?\n\n{result}"),
            "blocked (line 1, ace-comment)",
            "completed (line 4,",
        ),
        (
            format!("{result}\nBLOCKED: which key?\n"),
            "completed (line 2, result)",
            "blocked (line 8,",
        ),
        (
            format!("**Agent Failed**\n\n{result}"),
            "failed (line 1, ace-comment)",
            "completed (line 4,",
        ),
        (
            format!("**Agent Failed**\n\nboom\n\n{done}\n"),
            "failed (line 1,",
            "completed (line 5, developer)",
        ),
        (
            format!("{created}\n\nBLOCKED: which key?\n"),
            "completed (line 1, neo-result)",
            "blocked (line 3,",
        ),
        (
            format!("{created}\n\n{}", fenced_result("failed")),
            "completed (line 1,",
            "failed (line 4, result)",
        ),
        (
            "**Agent Complete**\n\nPR: #5\n\n**Agent Failed**\n\nboom\n".to_owned(),
            "completed (line 1)",
            "failed (line 5)",
        ),
        ("PR opened: #5\nBLOCKED: why?\n".to_owned(), "completed (line 1)", "blocked (line 2)"),
    ] {
        let checked = check(&text, None, Mode::Full);
        assert!(!checked.is_valid(), "{text}");
        let said = said(&text);
        assert!(
            said.starts_with(&format!("this text reports {first}"))
                && said.contains(&format!(" and {second}")),
            "{text}: {said}"
        );
        assert!(!check_handed_in(&text, None).is_valid());
    }
    let text = format!("BLOCKED: which key?\n\n{result}");
    for name in ["result", "ace-comment"] {
        assert!(
            check(&text, kind(name), Mode::Full).is_valid(),
            "who says which is meant is heard"
        );
    }
}

#[test]
fn words_of_other_reports_decide_nothing_where_they_are_not_said() {
    let result = fenced_result("completed");
    for around in [
        "The BLOCKED: mark is gone, and so is **Agent Failed**.",
        "> BLOCKED: which key?",
        "`BLOCKED: which key?`",
        "```\nBLOCKED: which key?\n```",
        "```ts\nBLOCKED: 1,\n```",
        "    **Agent Failed**",
        "PR opened: #5",
        "**Agent Complete**\n\nPR: #5",
        "PR Created: https://x.org/pull/1",
        "```json\n{\"status\": \"BLOCKED\"}\n```",
        "```json\n{\"task_id\":\"T1\",\"status\":\"DONE\",\"files_changed\":1}\n```",
    ] {
        let text = format!("{around}\n\n{result}\n{around}\n");
        let checked = check(&text, None, Mode::Full);
        assert!(checked.is_valid(), "{text}: {:?}", checked.problems);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("result"), "{text}");
    }
    let bare = "version: '1'\ntask_id: T1\nstatus: completed\nfiles_modified: []\nlog:\n- {level: info, message: a, timestamp: 2025-01-15}\n- level: info\n  timestamp: 2025-01-15\n  message: |\n   It said:\n   BLOCKED: x\nnotes: |\n BLOCKED: y\ncompleted_at: 2025-01-15\n";
    assert!(check(bare, None, Mode::Full).is_valid(), "{}", said(bare));
    let message = format!("Done.\n\n```yaml\n{bare}```\n");
    assert!(check(&message, None, Mode::Full).is_valid(), "{}", said(&message));
    // Of neo's own reports the last is meant.
    let neo =
        "{\"task_id\":\"T1\",\"status\":\"BLOCKED\"}\n\n{\"task_id\":\"T1\",\"status\":\"DONE\"}\n";
    assert_eq!(kind_of(&format!("First:\n{neo}")), Some("developer"));
}

#[test]
fn what_an_agent_was_given_may_be_repeated_in_what_it_hands_in() {
    let mission = include_str!("../../../goldens/mission.yaml");
    let quoted = format!("I was asked:\n```yaml\n{mission}```\n");
    let name = |text: &str| {
        let checked = check_handed_in(text, None);
        (checked.kind.map(|kind| kind.name), checked.is_valid())
    };
    let result = fenced_result("completed");
    assert_eq!(name(&format!("{quoted}{result}")), (Some("result"), true));
    assert_eq!(name(&format!("{result}{quoted}")), (Some("result"), true));
    assert_eq!(name(&format!("{quoted}\nBLOCKED: which key?\n")), (Some("ace-comment"), true));
    let broken = result.replace("\"log\":[", "\"log\":[[");
    assert_eq!(
        name(&format!("{quoted}{broken}")),
        (Some("result"), false),
        "its own problem is said"
    );
    assert_eq!(name(&quoted), (Some("mission"), true), "which reports nothing");
    assert_eq!(name(mission), (Some("mission"), true));
    assert!(
        said(&format!("{quoted}{result}")).contains("(mission, result)"),
        "to look at, both count"
    );
}

#[test]
fn what_is_meant_as_a_result_and_cannot_be_read_has_its_own_problem_alone() {
    let result = include_str!("../../../goldens/result.yaml");
    let mission = include_str!("../../../goldens/mission.yaml");
    for (text, name, wanted) in [
        (format!("{result}---\nThat is all I did.\n"), "result", "expected a single document"),
        (format!("{result}---\nBLOCKED: which key?\n"), "result", "expected a single document"),
        (format!("{result}status: failed\n"), "result", "the key \"status\" is given twice"),
        (format!("Done.\n```yaml\n{result}status: failed\n```\n"), "result", "the key \"status\""),
        (format!("{mission}timeout: 1\n"), "mission", "the key \"timeout\" is given twice"),
    ] {
        let checked = check(&text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some(name), "{text}");
        let errors = checked.problems.errors();
        assert!(errors.len() == 1 && errors[0].starts_with(wanted), "{errors:?}");
    }
    let developer = "```json\n{\"task_id\":\"T1\",\"status\":\"DONE\"}\n```\n";
    let both = format!("```yaml\n{result}status: failed\n```\n{developer}");
    assert_eq!(kind_of(&both), Some("result"), "it is not replaced by what can be read");
}
