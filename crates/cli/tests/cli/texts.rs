//! Texts that are not on the command line: standard input, an editor, a plan.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// An editor that runs this script on the file.
fn editor(sandbox: &Sandbox, script: &str) -> String {
    let path = sandbox.outside().join("editor");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn a_dash_reads_standard_input_wherever_a_text_is_taken() {
    let sandbox = Sandbox::new();
    let piped =
        |args: &[&str], text: &str| sandbox.comity().by("ada").args(args).stdin(text).json();
    let person = |args: &[&str], text: &str| {
        sandbox.comity().by("human:tester").args(args).stdin(text).json()
    };
    let task = piped(&["task", "create", "Parse dates", "--description", "-"], "all\nof them\n\n");
    assert_eq!(task["task"]["description"], "all\nof them");
    assert_eq!(piped(&["task", "create", "-"], "Print dates\n")["task"]["title"], "Print dates");
    let task = piped(&["task", "create", "Three", "--require", "-", "--dod", "x"], "fast");
    assert_eq!(task["task"]["requirements"][0], "fast");
    let task = person(&["task", "update", "T1", "--description", "-"], "some");
    assert_eq!(task["task"]["description"], "some");
    assert_eq!(piped(&["note", "progress", "-"], "half way\n")["event"]["text"], "half way");
    let asked = piped(&["decision", "ask", "-"], "Which calendar?\n");
    assert_eq!(asked["decision"]["question"], "Which calendar?");
    let answer = person(&["decision", "answer", "D1", "-"], "the old one\n");
    assert_eq!(answer["decision"]["answer"], "the old one");
    piped(&["task", "claim", "T1", "--start"], "");
    let blocked = piped(&["task", "block", "T1", "--needs", "-"], "a server\n");
    assert_eq!(blocked["task"]["needs"], "a server");
    let queued = person(&["task", "unblock", "T1", "--reason", "-"], "it is back");
    assert_eq!(queued["task"]["status"], "queued");
    let memory = piped(&["memory", "write", "-", "--type", "fact"], "tests need a database");
    assert_eq!(memory["memory"]["text"], "tests need a database");
}

#[test]
fn standard_input_is_read_once_and_no_more_of_it_than_a_text_can_have() {
    let sandbox = Sandbox::new();
    let refused = |args: &[&str], text: &str| sandbox.comity().args(args).stdin(text).refusal();
    let head = sandbox.head();
    let (error, exit) = refused(&["task", "create", "-", "--description", "-"], "x");
    assert_eq!(exit, 2);
    assert!(error["message"].as_str().unwrap().contains("only one - can stand for"), "{error}");
    let (error, exit) = refused(&["note", "progress", "-"], &"x".repeat(64 * 1024 + 1));
    assert_eq!(exit, 2);
    assert!(error["message"].as_str().unwrap().contains("more than 65536 bytes"), "{error}");
    let (error, _) = refused(&["note", "progress", "-"], "\n");
    assert!(error["message"].as_str().unwrap().contains("standard input is empty"), "{error}");
    let (error, exit) = refused(&["task", "create", "--contract", "-", "--description", "-"], "x");
    assert_eq!(exit, 2, "{error}");
    assert_eq!(sandbox.head(), head);
}

#[test]
fn a_task_is_written_in_an_editor() {
    let sandbox = Sandbox::new();
    let edit = |script: &str, args: &[&str]| {
        let editor = editor(&sandbox, script);
        let call = sandbox.comity().env("EDITOR", &editor);
        call.args(&["task", "create", "--edit"]).args(args)
    };
    let text = "cat >\"$1\" <<'END'\n# a comment\nParse dates\n\n## How\nWith care\n# more\nEND";
    let task = edit(text, &["--priority", "P1"]).json()["task"].clone();
    assert_eq!(
        (&task["title"], &task["description"]),
        (&"Parse dates".into(), &"## How\nWith care".into())
    );
    assert_eq!(task["priority"], "P1");
    // What is given is there to begin with.
    let task = edit("sed -i s/dates/times/ \"$1\"", &["Parse dates"]).json()["task"].clone();
    assert_eq!((&task["title"], &task["description"]), (&"Parse times".into(), &"".into()));
    let head = sandbox.head();
    let (error, exit) = edit("true", &[]).refusal();
    assert_eq!((error["message"].as_str(), exit), (Some("the text is empty"), 2));
    let (error, exit) = edit("exit 3", &["Parse dates"]).refusal();
    assert_eq!(exit, 2);
    assert!(error["message"].as_str().unwrap().contains("ended with status 3"), "{error}");
    let done = edit("echo Kept >\"$1\"", &["--depends-on", "T9"]).done();
    assert_eq!(done.exit, 4);
    let kept = done.stderr.lines().find_map(|line| line.strip_prefix("note: your text is in "));
    let kept = kept.unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "Kept\n");
    std::fs::remove_file(kept).unwrap();
    assert_eq!(sandbox.head(), head);
}

const PLAN: &str = "\
- key: parse
  title: Parse dates
  description: ISO 8601 and nothing else
  priority: high
  files: [./src/date.rs, 'tests/date/**']
  gates: [tests]
  dod: [documented]
  requires: [leap years work]
- title: Print dates
  depends_on: [parse, T1]
  labels: [rust]
  role: implementer
  constraints: {max_files: 3, no_new_deps: true}
";

#[test]
fn a_plan_in_comitys_own_words_becomes_tasks_and_nothing_is_dropped() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Begin"]);
    sandbox.write("plan.yaml", PLAN);
    let made = sandbox.json(&["task", "breakdown", "plan.yaml", "--epic", "E7"])["tasks"].clone();
    let [first, second] = made.as_array().unwrap().as_slice() else { panic!("two tasks: {made}") };
    assert_eq!(first["files"], serde_json::json!(["src/date.rs", "tests/date/**"]));
    assert_eq!(
        (&first["gates"][0]["name"], &first["dod"][0]["text"]),
        (&"tests".into(), &"documented".into())
    );
    assert_eq!(
        (&first["requirements"][0], &first["priority"]),
        (&"leap years work".into(), &"P1".into())
    );
    assert_eq!(
        (&first["description"], &first["epic"]),
        (&"ISO 8601 and nothing else".into(), &"E7".into())
    );
    assert_eq!(second["dependencies"], serde_json::json!([first["id"], "T1"]));
    assert_eq!(second["constraints"]["max_files"], 3);
    assert_eq!(second["role"], "implementer");
}

#[test]
fn a_plan_with_a_word_that_is_not_known_is_refused_with_line_and_column() {
    let sandbox = Sandbox::new();
    let refused = |text: &str| {
        let (error, exit) =
            sandbox.comity().args(&["task", "breakdown", "-"]).stdin(text).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("contract-invalid"), 3));
        error
    };
    let error = refused("- title: Parse dates\n  file: src/date.rs\n");
    let problem: &Value = &error["details"]["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&2.into(), &3.into()));
    assert!(
        error["message"].as_str().unwrap().contains("the key \"file\" is not known"),
        "{error}"
    );
    let error = refused("- goal: Parse dates\n  requirements: [fast]\n  files: [src/date.rs]\n");
    assert_eq!(error["details"]["problems"][0]["line"], 3);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 0);
}
