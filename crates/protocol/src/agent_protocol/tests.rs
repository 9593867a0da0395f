use crate::contract::{Mode, check, kind, recognise};
use crate::document::{Style, read, to_yaml};
use crate::problem::Level;
use comity_core::command::{FileAction, IssueKind, ReportStatus};

const MISSION: &str = include_str!("../../goldens/mission.yaml");

const RESULT: &str = include_str!("../../goldens/result.yaml");

fn errors(name: &str, text: &str, mode: Mode) -> Vec<String> {
    let checked = check(text, kind(name), mode);
    checked.problems.errors().into_iter().map(str::to_owned).collect()
}

/// The published example with one line exchanged; the new text may be several lines or none.
fn with(text: &str, line: &str, instead: &str) -> String {
    assert!(text.contains(line), "{line}");
    text.replacen(line, instead, 1)
}

/// One row: the line that is exchanged, what for, and all messages in their order.
type Row = (&'static str, &'static str, &'static [&'static str]);

const MISSION_ROWS: &[Row] = &[
    ("version: \"1\"", "", &["Missing required field: version"]),
    ("version: \"1\"", "version: ''", &["Missing required field: version"]),
    ("version: \"1\"", "version: 0", &["Missing required field: version"]),
    ("version: \"1\"", "version: null", &["Missing required field: version"]),
    ("version: \"1\"", "version: \"2\"", &["Unsupported version: 2 (expected 1)"]),
    ("version: \"1\"", "version: 1.5", &["Unsupported version: 1.5 (expected 1)"]),
    ("task_id: \"T042\"", "", &["Missing required field: task_id"]),
    ("task_id: \"T042\"", "task_id: task-7", &["Invalid task_id format: task-7 (expected TNNN)"]),
    ("task_id: \"T042\"", "task_id: 42", &["Invalid task_id format: 42 (expected TNNN)"]),
    ("task_id: \"T042\"", "task_id: T", &["Invalid task_id format: T (expected TNNN)"]),
    ("task_id: \"T042\"", "task_id: xT1", &["Invalid task_id format: xT1 (expected TNNN)"]),
    (
        "task_id: \"T042\"",
        "task_id: {}",
        &["Invalid task_id format: [object Object] (expected TNNN)"],
    ),
    ("epic_id: \"E005\"", "", &["Missing required field: epic_id"]),
    ("epic_id: \"E005\"", "epic_id: X5", &["Invalid epic_id format: X5 (expected ENNN)"]),
    ("prd_id: \"PRD-001\"", "", &["Missing required field: prd_id"]),
    ("prd_id: \"PRD-001\"", "prd_id: PRD1", &["Invalid prd_id format: PRD1 (expected PRD-NNN)"]),
    ("instruction: |", "instructions: |", &["Missing required field: instruction"]),
    (
        "instruction: |\n  Implement the user authentication module.",
        "instruction: [a]",
        &["Field instruction must be a string"],
    ),
    ("context:", "contexts:", &["Missing required field: context"]),
    (
        "context:\n  dev_md: \"path/to/DEV.md\"\n  epic_file: \"path/to/epic.md\"\n  task_file: \"path/to/task.md\"\n  memory: \"path/to/memory.md\"\n  toolset: \"path/to/TOOLSET.md\"",
        "context: here",
        &["Field context must be an object"],
    ),
    (
        "  epic_file: \"path/to/epic.md\"",
        "  epic_file: null",
        &["Missing required field: context.epic_file"],
    ),
    (
        "  epic_file: \"path/to/epic.md\"\n  task_file: \"path/to/task.md\"",
        "",
        &["Missing required field: context.epic_file", "Missing required field: context.task_file"],
    ),
    (
        "constraints:\n  max_files: 10          # max files to modify\n  no_git_commit: true    # agent must not commit\n  no_new_deps: false     # can add dependencies",
        "constraints: none",
        &["Field constraints must be an object"],
    ),
    (
        "constraints:\n  max_files: 10          # max files to modify\n  no_git_commit: true    # agent must not commit\n  no_new_deps: false     # can add dependencies",
        "constraints: null",
        &["Field constraints must be an object"],
    ),
    ("  max_files: 10", "  max_files: '10'", &["Field constraints.max_files must be a number"]),
    ("  max_files: 10", "  max_files: null", &["Field constraints.max_files must be a number"]),
    (
        "  no_git_commit: true",
        "  no_git_commit: 1",
        &["Field constraints.no_git_commit must be a boolean"],
    ),
    (
        "  no_new_deps: false",
        "  no_new_deps: 'no'",
        &["Field constraints.no_new_deps must be a boolean"],
    ),
    ("timeout: 600", "timeout: -1", &["Field timeout must be a non-negative number"]),
    ("timeout: 600", "timeout: '600'", &["Field timeout must be a non-negative number"]),
    ("timeout: 600", "timeout: null", &["Field timeout must be a non-negative number"]),
    ("timeout: 600", "timeout: 0", &[]),
    ("timeout: 600", "", &[]),
    ("timeout: 600", "more: {a: [b]}", &[]),
    ("  memory: \"path/to/memory.md\"", "  memory: null", &[]),
];

const RESULT_ROWS: &[Row] = &[
    ("version: \"1\"", "", &["Missing required field: version"]),
    ("version: \"1\"", "version: \"1.0\"", &["Unsupported version: 1.0 (expected 1)"]),
    ("task_id: \"T042\"", "task_id: 'T4 2'", &["Invalid task_id format: T4 2 (expected TNNN)"]),
    ("task_id: \"T042\"", "", &["Missing required field: task_id"]),
    ("status: \"completed\"", "", &["Missing required field: status"]),
    (
        "status: \"completed\"",
        "status: done",
        &["Invalid status: done (expected: completed, failed, blocked)"],
    ),
    ("files_modified:", "files:", &["Missing required field: files_modified"]),
    (
        "files_modified:\n  - path: \"src/auth/login.js\"\n    action: \"created\"\n  - path: \"src/auth/logout.js\"\n    action: \"modified\"",
        "files_modified: src/a.js",
        &["Field files_modified must be an array"],
    ),
    (
        "files_modified:\n  - path: \"src/auth/login.js\"\n    action: \"created\"\n  - path: \"src/auth/logout.js\"\n    action: \"modified\"",
        "files_modified: []",
        &[],
    ),
    (
        "  - path: \"src/auth/login.js\"\n    action",
        "  - action",
        &["files_modified[0]: missing path"],
    ),
    (
        "  - path: \"src/auth/logout.js\"\n    action: \"modified\"",
        "  - src/auth/logout.js",
        &["files_modified[1]: missing path", "files_modified[1]: missing action"],
    ),
    (
        "  - path: \"src/auth/logout.js\"\n    action: \"modified\"",
        "  - null",
        &["files_modified[1]: must be an object"],
    ),
    ("    action: \"created\"", "", &["files_modified[0]: missing action"]),
    (
        "    action: \"created\"",
        "    action: added",
        &["files_modified[0]: invalid action 'added'"],
    ),
    ("log:", "logs:", &["Missing required field: log"]),
    ("log:", "log: nothing\nlogs:", &["Field log must be an array"]),
    ("log:", "log: []\nlogs:", &["Log must contain at least 2 entries"]),
    (
        "log:",
        "log: [{}]\nlogs:",
        &[
            "Log must contain at least 2 entries",
            "log[0]: missing level",
            "log[0]: missing message",
            "log[0]: missing timestamp",
        ],
    ),
    (
        "log:",
        "log: [null]\nlogs:",
        &["Log must contain at least 2 entries", "log[0]: must be an object"],
    ),
    ("  - level: \"info\"\n    message", "  - message", &["log[0]: missing level"]),
    ("  - level: \"info\"", "  - level: debug", &["log[0]: invalid level 'debug'"]),
    (
        "    message: \"Created authentication module\"",
        "    message: ''",
        &["log[0]: missing message"],
    ),
    ("    timestamp: \"2025-01-15T10:30:00Z\"", "", &["log[0]: missing timestamp"]),
    ("issues: []", "", &[]),
    ("issues: []", "issues: null", &["Field issues must be an array"]),
    ("issues: []", "issues: none", &["Field issues must be an array"]),
    ("issues: []", "issues: [{}]", &["issues[0]: missing type", "issues[0]: missing description"]),
    ("issues: []", "issues: [{type: bug, description: x}]", &["issues[0]: invalid type 'bug'"]),
    ("issues: []", "issues: [{type: question}]", &["issues[0]: missing description"]),
    ("issues: []", "issues: [{type: concern, description: x}]", &[]),
    ("completed_at: \"2025-01-15T10:45:00Z\"", "", &["Missing required field: completed_at"]),
];

#[test]
fn each_check_of_the_original_has_its_message_in_both_modes() {
    for (name, example, rows) in
        [("mission", MISSION, MISSION_ROWS), ("result", RESULT, RESULT_ROWS)]
    {
        for mode in [Mode::Compat, Mode::Full] {
            assert_eq!(errors(name, example, mode), [""; 0], "{name} {mode:?}");
            for (line, instead, wanted) in rows {
                let text = with(example, line, instead);
                assert_eq!(errors(name, &text, mode), *wanted, "{name} {mode:?}: {instead}");
            }
        }
    }
}

#[test]
fn what_is_no_object_has_one_error_and_a_list_has_all_that_are_missing() {
    for mode in [Mode::Compat, Mode::Full] {
        for text in ["", "just text", "7", "null"] {
            assert_eq!(errors("mission", text, mode), ["Mission must be an object"], "{text}");
            assert_eq!(errors("result", text, mode), ["Result must be an object"], "{text}");
        }
        let missing = ["version", "task_id", "epic_id", "prd_id", "instruction", "context"];
        let wanted = missing.map(|field| format!("Missing required field: {field}"));
        assert_eq!(errors("mission", "[]", mode), wanted);
    }
}

#[test]
fn all_errors_come_at_once_in_the_order_of_the_checks() {
    let text =
        "timeout: -1\ncontext: {}\ntask_id: 7\nconstraints: {max_files: x, no_new_deps: 0}\n";
    let wanted = [
        "Missing required field: version",
        "Invalid task_id format: 7 (expected TNNN)",
        "Missing required field: epic_id",
        "Missing required field: prd_id",
        "Missing required field: instruction",
        "Missing required field: context.epic_file",
        "Missing required field: context.task_file",
        "Field constraints.max_files must be a number",
        "Field constraints.no_new_deps must be a boolean",
        "Field timeout must be a non-negative number",
    ];
    assert_eq!(errors("mission", text, Mode::Compat), wanted);
    assert_eq!(errors("mission", text, Mode::Full), wanted);
}

#[test]
fn an_unquoted_version_is_a_warning_and_an_error_where_the_original_says_so() {
    for unquoted in ["version: 1", "version: 1.0"] {
        let text = with(RESULT, "version: \"1\"", unquoted);
        let wanted = ["Unsupported version: 1 (expected 1)"];
        assert_eq!(errors("result", &text, Mode::Compat), wanted);
        let checked = check(&text, None, Mode::Full);
        assert!(checked.is_valid());
        let warning = checked.problems.iter().next().unwrap();
        assert_eq!((warning.level, warning.line, warning.column), (Level::Warning, 1, 10));
        assert!(warning.message.contains("not in quotes"));
    }
}

#[test]
fn what_the_original_misses_is_found_and_left_to_it_in_compat() {
    let rows: &[(&str, &str, &str)] = &[
        (
            "src/auth/login.js",
            "../../etc/passwd",
            "files_modified[0].path: '../../etc/passwd' leaves the root",
        ),
        (
            "src/auth/login.js",
            "/etc/passwd",
            "files_modified[0].path: '/etc/passwd' leaves the root",
        ),
        (
            "src/auth/login.js",
            "src/x/../auth/logout.js",
            "files_modified[1]: 'src/auth/logout.js' is listed already, as files_modified[0]",
        ),
        ("path: \"src/auth/login.js\"", "path: 7", "files_modified[0].path must be a string"),
        ("Created authentication module", "  ", "log[0]: message is blank"),
        ("\"Created authentication module\"", "[a]", "log[0]: message must be a string"),
        (
            "2025-01-15T10:30:00Z",
            "half past ten",
            "log[0]: timestamp 'half past ten' is not an ISO 8601 time",
        ),
        (
            "2025-01-15T10:45:00Z",
            "2025-02-30T10:45:00Z",
            "completed_at '2025-02-30T10:45:00Z' is not an ISO 8601 time",
        ),
        (
            "issues: []",
            "issues: [{type: question, description: ' '}]",
            "issues[0]: description is blank",
        ),
        ("task_id: \"T042\"", "task_id: [T042]", "Field task_id must be a string"),
    ];
    for (line, instead, wanted) in rows {
        let text = with(RESULT, line, instead);
        assert_eq!(errors("result", &text, Mode::Compat), [""; 0], "{instead}");
        let found = errors("result", &text, Mode::Full);
        assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}");
    }
    let rows: &[(&str, &str, &str)] = &[
        ("path/to/epic.md", "../../secret", "context.epic_file: '../../secret' leaves the root"),
        (
            "  max_files: 10",
            "  max_files: -1",
            "Field constraints.max_files must be a whole number",
        ),
        (
            "  max_files: 10",
            "  max_files: 1.5",
            "Field constraints.max_files must be a whole number",
        ),
        ("  max_files: 10", "  allow_delete: ['../x']", "constraints.allow_delete[0]: '../x'"),
        ("timeout: 600", "timeout: .inf", "Field timeout must be a non-negative number"),
        (
            "instruction: |\n  Implement the user authentication module.",
            "instruction: ' '",
            "instruction is blank",
        ),
    ];
    for (line, instead, wanted) in rows {
        let text = with(MISSION, line, instead);
        assert_eq!(errors("mission", &text, Mode::Compat), [""; 0], "{instead}");
        let found = errors("mission", &text, Mode::Full);
        assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}");
    }
}

#[test]
fn times_are_taken_as_iso_8601_has_them() {
    for time in [
        "2025-01-15T10:30:00Z",
        "2025-01-15T10:30:00.123+02:00",
        "2025-01-15",
        "2025-01-15T10:30:00",
        "2025-01-15 10:30:00Z",
        "2025-01-15T10:30:00+0200",
        "2025-01-15T10:30Z",
        "2025-01-15T10:30+00:00",
        "20250115T103000Z",
        "\"2025-01-15T10:30:00,5Z\"",
        "1969-07-20T20:17:40Z",
    ] {
        let text = with(RESULT, "\"2025-01-15T10:30:00Z\"", time);
        assert_eq!(errors("result", &text, Mode::Full), [""; 0], "{time}");
    }
    for time in ["2025-01-15T10:30:00+-1:-5", "2025-01-15T10:30:00++1:00", "tomorrow"] {
        let text = with(RESULT, "2025-01-15T10:30:00Z", time);
        assert_eq!(errors("result", &text, Mode::Full).len(), 1, "{time}");
    }
}

#[test]
fn a_value_stands_in_a_message_as_it_is_written_and_a_list_as_javascript_writes_it() {
    let long = "x".repeat(300);
    for (written, shown) in [
        ("7.0", "7"),
        ("1e-7", "1e-7"),
        ("2025-01-15", "2025-01-15"),
        ("[1, null, [a]]", "1,,a"),
        (long.as_str(), long.as_str()),
    ] {
        let text = with(RESULT, "\"T042\"", written);
        let wanted = format!("Invalid task_id format: {shown} (expected TNNN)");
        assert_eq!(errors("result", &text, Mode::Compat), [wanted], "{written}");
    }
    let text = with(RESULT, "\"T042\"", &long);
    assert!(errors("result", &text, Mode::Full)[0].contains("xxx… (expected"), "long ones are cut");
}

#[test]
fn a_whole_number_of_files_may_be_written_in_any_way() {
    for (written, errors_wanted) in [("10.0", 0), ("1e1", 0), ("0", 0), ("1.5", 1), ("-1", 1)] {
        let text = with(MISSION, "max_files: 10", &format!("max_files: {written}"));
        assert_eq!(errors("mission", &text, Mode::Full).len(), errors_wanted, "{written}");
    }
}

#[test]
fn each_repetition_of_a_file_names_the_first() {
    let files = "files_modified: [{path: a, action: created}, {path: a, action: created}, {path: a, action: created}]";
    let text = with(RESULT, "files_modified:", &format!("{files}\nothers:"));
    let found = errors("result", &text, Mode::Full);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|said| said.ends_with("as files_modified[0]")), "{found:?}");
}

#[test]
fn a_strict_reader_takes_the_goldens_and_nothing_that_is_only_tolerated() {
    for (name, example) in [("mission", MISSION), ("result", RESULT)] {
        assert_eq!(errors(name, example, Mode::Strict), [""; 0]);
        let unquoted = with(example, "version: \"1\"", "version: 1");
        let wanted = ["Unsupported version: 1 (expected 1)"];
        assert_eq!(errors(name, &unquoted, Mode::Strict), wanted);
    }
    let more = with(RESULT, "    action: \"created\"", "    action: \"created\"\n    lines: 3");
    let checked = check(&format!("{more}cost: 1\n"), None, Mode::Strict);
    let found: Vec<(&str, u32)> =
        checked.problems.iter().map(|p| (p.message.as_str(), p.line)).collect();
    let wanted = [
        ("files_modified[0].lines is not a key of this contract", 8),
        ("cost is not a key of this contract", 23),
    ];
    assert_eq!(found, wanted);
    let context = with(MISSION, "  dev_md:", "  notes: x\n  dev_md:");
    assert_eq!(errors("mission", &context, Mode::Strict), [""; 0], "context is open");
}

#[test]
fn unknown_keys_and_the_order_of_all_survive_a_report() {
    let text = r#"{"agent": "a1", "status": "completed", "version": "1", "task_id": "T1",
        "files_modified": [{"lines": 3, "path": "a", "action": "created"}],
        "log": [{"level": "info", "file": "a", "message": "m", "timestamp": "2025-01-15"},
                {"level": "tip", "message": "n", "timestamp": "2025-01-15"}],
        "cost": {"usd": 1}, "issues": [{"type": "question", "description": "d", "options": ["x"]}],
        "completed_at": "2025-01-15T10:45:00Z"}"#;
    let tree = read(text).unwrap();
    let report = super::result::report(&tree);
    let sent: comity_core::command::WorkReport =
        serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    let back = super::result::to_value(&sent);
    assert_eq!(back.to_string(), tree.to_value().to_string());
    assert!(super::result::to_yaml(&sent).starts_with("agent: a1\nstatus: completed\n"));
}

#[test]
fn a_date_without_quotes_is_an_object_to_the_original_only() {
    let text = with(MISSION, "|\n  Implement the user authentication module.", "2025-01-15");
    assert_eq!(errors("mission", &text, Mode::Compat), ["Field instruction must be a string"]);
    assert_eq!(errors("mission", &text, Mode::Full), [""; 0]);
}

#[test]
fn every_problem_says_where_it_is() {
    let text = with(RESULT, "    action: \"modified\"", "    action: moved");
    let checked = check(&text, None, Mode::Full);
    let problem = checked.problems.iter().next().unwrap();
    assert_eq!(problem.path, "files_modified[1].action");
    assert_eq!((problem.line, problem.column), (9, 13));
    let text = with(RESULT, "    action: \"modified\"", "");
    let checked = check(&text, None, Mode::Full);
    let problem = checked.problems.iter().next().unwrap();
    assert_eq!((problem.line, problem.column), (8, 5), "a missing field is missing in its map");
}

#[test]
fn mission_and_result_are_told_apart_by_their_content() {
    let name = |text: &str| recognise(text).map(|kind| kind.name);
    assert_eq!(name(MISSION), Some("mission"));
    assert_eq!(name(RESULT), Some("result"));
    assert_eq!(name(&read(RESULT).unwrap().to_value().to_string()), Some("result"));
    assert_eq!(name("a: b"), None);
    assert_eq!(name("status: completed"), Some("result"));
    let unknown = check("a: b", None, Mode::Full);
    assert!(!unknown.is_valid() && unknown.problems.errors()[0].contains("name the kind"));
}

#[test]
fn a_result_reports_files_log_issues_and_what_it_adds() {
    let text = with(
        RESULT,
        "issues: []",
        "issues: [{type: question, description: Which?}]\ncost: {usd: 1.5}",
    );
    let report = super::result::report(&read(&text).unwrap());
    assert_eq!(report.status, ReportStatus::Completed);
    assert_eq!(report.files_modified[0].action, FileAction::Created);
    assert_eq!(report.files_modified[1].path, "src/auth/logout.js");
    assert_eq!(report.tips(), ["Use bcrypt for password hashing"]);
    assert_eq!(report.issues[0].kind, IssueKind::Question);
    assert_eq!(report.other["cost"]["usd"], 1.5);
    assert_eq!(report.completed_at.as_deref(), Some("2025-01-15T10:45:00Z"));
}

#[test]
fn a_contract_is_read_written_and_read_again_without_loss() {
    for text in [MISSION, RESULT] {
        let text = format!("{text}custom: {{x: [1, null, true]}}\n");
        let value = read(&text).unwrap().to_value();
        let again = to_yaml(&value, &Style::default());
        assert_eq!(read(&again).unwrap().to_value(), value);
        let keys =
            |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&read(&again).unwrap().to_value()), keys(&value));
        assert!(again.starts_with("version: '1'\n"));
    }
}

#[test]
fn every_kind_has_a_schema_that_names_its_required_fields() {
    for kind in crate::contract::KINDS {
        let schema = (kind.schema)();
        assert!(schema["$schema"].is_string() && schema["title"].is_string(), "{}", kind.name);
        let required = schema["required"].as_array().is_some_and(|r| !r.is_empty());
        // Some kinds come in two forms, each of which says what it needs.
        assert!(required || schema["anyOf"].is_array(), "{}", kind.name);
    }
}

#[test]
fn what_a_result_reports_is_written_as_the_same_result() {
    for text in [RESULT, include_str!("../../goldens/result.json")] {
        let tree = read(text).unwrap();
        let report = super::result::report(&tree);
        let yaml = super::result::to_yaml(&report);
        assert_eq!(read(&yaml).unwrap().to_value(), tree.to_value());
        assert_eq!(super::result::report(&read(&yaml).unwrap()), report);
        assert!(check(&yaml, kind("result"), Mode::Compat).problems.is_empty());
    }
}
