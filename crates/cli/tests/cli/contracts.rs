//! Contracts from outside: checked, explained, written.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const RESULT: &str = r#"version: "1"
task_id: "T1"
status: completed
files_modified: []
log:
  - {level: info, message: Began, timestamp: "2025-01-15T10:30:00Z"}
  - {level: info, message: Ended, timestamp: "2025-01-15T10:35:00Z"}
completed_at: "2025-01-15T10:45:00Z"
"#;

fn validate(sandbox: &Sandbox, text: &str, more: &[&str]) -> (Value, i32) {
    let call = sandbox.comity().args(&["contract", "validate", "-", "--json"]).args(more);
    let done = call.stdin(text).done();
    assert_eq!(done.stdout.lines().count(), 1, "{}{}", done.stdout, done.stderr);
    (serde_json::from_str(&done.stdout).unwrap(), done.exit)
}

#[test]
fn a_valid_contract_is_recognised_and_exits_0() {
    // Nothing but the file is needed: no project, no store.
    let sandbox = Sandbox::without_git();
    let (answer, exit) = validate(&sandbox, RESULT, &[]);
    assert_eq!((answer, exit), (json!({"valid": true, "kind": "result", "problems": []}), 0));
    assert_eq!(std::fs::read_dir(&sandbox.root).unwrap().count(), 0);
}

#[test]
fn problems_come_all_at_once_with_their_places_and_exit_2() {
    let sandbox = Sandbox::without_git();
    let text = RESULT.replace("completed\n", "done\n").replace("info, message: Ended", "loud");
    let (answer, exit) = validate(&sandbox, &text, &[]);
    assert_eq!(exit, 2);
    let expected = json!([
        {"message": "Invalid status: done (expected: completed, failed, blocked)", "path": "status",
         "line": 3, "column": 9, "level": "error"},
        {"message": "log[1]: invalid level 'loud'", "path": "log[1].level",
         "line": 7, "column": 13, "level": "error"},
        {"message": "log[1]: missing message", "path": "log[1].message",
         "line": 7, "column": 5, "level": "error"},
    ]);
    assert_eq!(answer, json!({"valid": false, "kind": "result", "problems": expected}));
}

#[test]
fn compat_gives_the_verdict_of_the_original_and_full_a_warning() {
    let sandbox = Sandbox::without_git();
    let text = RESULT.replace("\"1\"", "1");
    let (answer, exit) = validate(&sandbox, &text, &[]);
    assert_eq!(
        (&answer["valid"], &answer["problems"][0]["level"]),
        (&json!(true), &json!("warning"))
    );
    assert_eq!(exit, 0);
    let (answer, exit) = validate(&sandbox, &text, &["--compat"]);
    assert_eq!(answer["problems"][0]["message"], "Unsupported version: 1 (expected 1)");
    assert_eq!(exit, 2);
}

#[test]
fn a_result_in_a_fence_with_prose_around_it_has_the_places_of_the_whole_file() {
    let sandbox = Sandbox::without_git();
    let message = |text: &str| format!("I did it: all of it.\n\n```yaml\n{text}```\n\nBye.\n");
    let text = message(RESULT);
    let (answer, exit) = validate(&sandbox, &text, &[]);
    assert_eq!((answer, exit), (json!({"valid": true, "kind": "result", "problems": []}), 0));
    let (answer, exit) = validate(&sandbox, &text, &["--compat"]);
    assert_eq!((&answer["kind"], exit), (&json!("result"), 2), "the original reads no fence");
    let (answer, _) = validate(&sandbox, &message(&RESULT.replace("completed\n", "done\n")), &[]);
    let problem = &answer["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&json!(6), &json!(9)), "{problem}");
    let (answer, exit) = validate(&sandbox, &format!("{text}{text}"), &[]);
    assert_eq!((exit, &answer["problems"][0]["line"]), (2, &json!(18)));
    let said = answer["problems"][0]["message"].as_str().unwrap();
    assert_eq!(said, "this text has 2 parts that could be the result (lines 4, 18); leave one");
}

#[test]
fn what_cannot_be_read_says_where() {
    let sandbox = Sandbox::without_git();
    let text = format!("---\n{RESULT}---\n\nAll done!\n");
    let (answer, exit) = validate(&sandbox, &text, &["--kind", "result"]);
    assert_eq!((answer["valid"].as_bool(), exit), (Some(false), 2));
    assert_eq!(answer["problems"][0]["line"], 10);
    let (answer, _) = validate(&sandbox, "a: b", &[]);
    assert_eq!(answer["kind"], Value::Null);
    assert_eq!(sandbox.refused(&["contract", "validate", "no-such-file"]).1, 2);
    assert_eq!(sandbox.refused(&["contract", "validate", "-", "--kind", "poem"]).1, 2);
}

#[test]
fn people_see_file_line_and_column() {
    let sandbox = Sandbox::without_git();
    sandbox.write("r.yaml", &RESULT.replace("completed\n", "done\n"));
    let done = sandbox.comity().args(&["contract", "validate", "r.yaml"]).done();
    let expected = "r.yaml:3:9: error: Invalid status: done (expected: completed, failed, blocked)\n\
                    r.yaml is not valid (result)\n";
    assert_eq!((done.stdout.as_str(), done.exit), (expected, 2));
}

#[test]
fn a_schema_is_printed_for_each_kind() {
    let sandbox = Sandbox::without_git();
    for kind in ["mission", "result"] {
        let answer = sandbox.json(&["contract", "schema", kind]);
        assert_eq!(answer["kind"], kind);
        assert_eq!(answer["schema"]["type"], "object");
        let done = sandbox.comity().args(&["contract", "schema", kind]).done();
        assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap(), answer["schema"]);
    }
}

#[test]
fn a_mission_of_any_task_is_one_that_the_original_accepts() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--description", "Fast:\n- and right"]);
    sandbox.json(&[
        "task",
        "create",
        "Odd",
        "--id",
        "task-007-01",
        "--epic",
        "big one",
        "--prd",
        "PRD-7",
        "--timeout",
        "10m",
        "--max-files",
        "3",
        "--no-git-commit",
        "--context",
        "dev_md=DEV.md",
    ]);
    for (id, number) in [("T1", "T1"), ("task-007-01", "T2")] {
        let done = sandbox.comity().args(&["contract", "render", "mission", id]).done();
        assert!(done.stdout.starts_with("version: '1'\n"), "{}", done.stdout);
        assert!(done.stdout.contains("instruction: |\n"));
        let (answer, exit) = validate(&sandbox, &done.stdout, &["--compat"]);
        assert_eq!((&answer["kind"], exit), (&json!("mission"), 0), "{answer}");
        let answer = sandbox.json(&["contract", "render", "mission", id]);
        assert_eq!(answer["mission"]["task_id"], number);
        for file in answer["files"].as_array().unwrap() {
            assert!(sandbox.root.join(file.as_str().unwrap()).is_file(), "{file}");
        }
        assert_eq!(answer["files"].as_array().unwrap().len(), 2);
    }
    let answer = sandbox.json(&["contract", "render", "mission", "task-007-01"]);
    assert_eq!(answer["mission"]["timeout"], 600);
    assert_eq!(
        (&answer["mission"]["epic_id"], &answer["mission"]["prd_id"]),
        (&json!("E0"), &json!("PRD-7"))
    );
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), "", "kept out of commits");
    assert_eq!(sandbox.refused(&["contract", "render", "mission", "T9"]).1, 4);
    assert_eq!(sandbox.refused(&["contract", "render", "poem", "T1"]).1, 2);
}

#[test]
fn a_claim_writes_the_files_of_its_mission_where_the_agent_works() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--require", "leap years", "--epic", "E7"]);
    let tree = sandbox.worktree("side");
    let answer = sandbox.comity().by("ada").at(&tree).args(&["task", "claim", "T1"]).json();
    for key in ["task_file", "epic_file"] {
        let path = answer["mission"]["context"][key].as_str().unwrap();
        for place in [&tree, &sandbox.root] {
            assert!(place.join(path).is_file(), "{path}");
        }
    }
    let task = std::fs::read_to_string(tree.join(".comity/missions/T1/task.md")).unwrap();
    assert!(task.starts_with("# T1: Parse dates\n") && task.contains("- leap years"), "{task}");
    let epic = std::fs::read_to_string(tree.join(".comity/missions/T1/epic.md")).unwrap();
    assert!(epic.starts_with("# Epic E7\n"), "{epic}");
    assert_eq!(sandbox.git(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn no_link_is_followed_when_the_files_of_a_mission_are_written() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates"]);
    let elsewhere = sandbox.outside().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir_all(sandbox.root.join(".comity")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.root.join(".comity/missions")).unwrap();
    let done = sandbox.comity().by("ada").args(&["task", "claim", "T1"]).done();
    assert_eq!(done.exit, 0, "the claim stands");
    assert!(done.stderr.contains("is not a directory"), "{}", done.stderr);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn strict_takes_only_what_comity_would_write() {
    let sandbox = Sandbox::without_git();
    assert_eq!(validate(&sandbox, RESULT, &["--strict"]).1, 0);
    let text = format!("{}cost: 1\n", RESULT.replace("\"1\"", "1"));
    assert_eq!(validate(&sandbox, &text, &[]).1, 0);
    let (answer, exit) = validate(&sandbox, &text, &["--strict"]);
    assert_eq!(exit, 2);
    let said: Vec<&str> = answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["message"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Unsupported version: 1 (expected 1)", "cost is not a key of this contract"]);
    let both = ["contract", "validate", "-", "--strict", "--compat"];
    assert_eq!(sandbox.comity().args(&both).done().exit, 2);
}

#[test]
fn what_is_not_utf_8_says_where() {
    let sandbox = Sandbox::without_git();
    std::fs::write(sandbox.root.join("r.yaml"), b"a: b\nc: \xff\n").unwrap();
    let (error, exit) = sandbox.comity().args(&["contract", "validate", "r.yaml"]).refusal();
    assert_eq!(exit, 2);
    assert_eq!((&error["details"]["line"], &error["details"]["column"]), (&json!(2), &json!(4)));
}

#[test]
fn a_context_file_outside_the_root_is_refused() {
    let sandbox = Sandbox::new();
    let out = "epic_file=../../etc/passwd";
    let create = ["task", "create", "x", "--context", out];
    assert_eq!(sandbox.refused(&create), ("invalid-input".into(), 2));
    sandbox.json(&["task", "create", "x", "--context", "epic_file=docs/e.md"]);
    let update = ["task", "update", "T1", "--context", out];
    assert_eq!(sandbox.refused(&update), ("invalid-input".into(), 2));
}
