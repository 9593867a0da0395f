//! Taking over what other trackers keep.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const BEADS: &str = include_str!("../../../protocol/tests/golden/beads/issues.jsonl");
const TAGGED: &str = include_str!("../../../protocol/tests/golden/taskmaster/tagged.json");

fn statuses(answer: &Value) -> Vec<String> {
    let tasks = answer["tasks"].as_array().unwrap();
    let line = |task: &Value| {
        format!("{} {}", task["id"].as_str().unwrap(), task["status"].as_str().unwrap())
    };
    tasks.iter().map(line).collect()
}

fn left_out(answer: &Value) -> Vec<String> {
    let left = answer["left_out"].as_array().unwrap();
    let line = |left: &Value| {
        format!("{}: {}", left["item"].as_str().unwrap(), left["what"].as_str().unwrap())
    };
    left.iter().map(line).collect()
}

#[test]
fn a_person_takes_issues_over_with_links_and_states() {
    let sandbox = Sandbox::new();
    sandbox.write("issues.jsonl", BEADS);
    let import = ["import", "beads", "issues.jsonl", "--as", "human:ann"];
    let answer = sandbox.json(&import);
    assert_eq!(answer["imported"], 7);
    assert_eq!(
        statuses(&answer),
        [
            "bd-1 queued",
            "bd-1.1 done",
            "bd-1.2 queued",
            "bd-a1b2 queued",
            "bd-ice queued",
            "bd-odd queued",
            "bd-stop blocked"
        ]
    );
    let task = sandbox.json(&["task", "show", "bd-1.2"])["task"].clone();
    assert_eq!(task["dependencies"], json!(["bd-1.1"]));
    assert_eq!(task["parent"], "bd-1");
    assert_eq!(task["priority"], "P0");
    assert_eq!(task["assignee"], "ann");
    assert_eq!(task["external_ids"]["beads"]["id"], "bd-1.2");
    let notes = sandbox.json(&["event", "list", "--task", "bd-1.2", "--type", "note"]);
    assert!(notes["events"][0]["text"].as_str().unwrap().contains("Half of it is there."));
    let done = sandbox.json(&["task", "show", "bd-1.1"])["task"].clone();
    assert_eq!(done["assignee"], "import:beads");
    assert_eq!(done["external_ids"]["beads"]["external_ref"], "gh-9");
    assert_eq!(done["blockers"], json!([]));
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    let ready = sandbox.json(&["task", "list", "--ready", "--as", "zoe"]);
    let ready: Vec<&str> =
        ready["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert_eq!(ready, ["bd-1", "bd-a1b2"]);
}

#[test]
fn a_second_import_changes_nothing_and_says_what_changed_over_there() {
    let sandbox = Sandbox::new();
    sandbox.write("issues.jsonl", BEADS);
    let import = ["import", "beads", "issues.jsonl", "--as", "human:ann"];
    let first = sandbox.json(&import);
    let head = sandbox.head();
    let second = sandbox.json(&import);
    assert_eq!(sandbox.head(), head);
    assert_eq!((&second["imported"], &second["existing"]), (&json!(0), &json!(7)));
    assert_eq!(second["changed"], json!([]));
    assert_eq!(second["tasks"], first["tasks"]);
    let edited = BEADS.replace("Rename the module", "Rename two modules").replace(
        "\"id\":\"bd-stop\",\"title\":\"Needs a key\",\"description\":\"\",\"status\":\"blocked\"",
        "\"id\":\"bd-stop\",\"title\":\"Needs a key\",\"description\":\"\",\"status\":\"open\"",
    );
    sandbox.write("issues.jsonl", &edited);
    let third = sandbox.json(&import);
    assert_eq!(
        third["changed"],
        json!([
            {"item": "bd-a1b2", "id": "bd-a1b2", "fields": ["title"]},
            {"item": "bd-stop", "id": "bd-stop", "fields": ["status"]},
        ])
    );
    assert_eq!(sandbox.head(), head);
}

#[test]
fn without_a_person_closed_work_is_kept_back_and_a_person_finishes_it_later() {
    let sandbox = Sandbox::new();
    sandbox.write("issues.jsonl", BEADS);
    let answer = sandbox.json(&["import", "beads", "issues.jsonl", "--as", "codex-cli"]);
    assert_eq!(answer["imported"], 7);
    assert!(left_out(&answer).contains(&"bd-1.1: status done".to_owned()), "{answer}");
    assert!(left_out(&answer).contains(&"bd-1.2: assignee ann".to_owned()));
    assert_eq!(statuses(&answer)[1], "bd-1.1 queued");
    assert_eq!(sandbox.refused(&["task", "claim", "bd-1.1"]), ("not-ready".to_owned(), 3));
    let again = sandbox.json(&["import", "beads", "issues.jsonl", "--as", "human:ann"]);
    assert_eq!((&again["imported"], &again["existing"]), (&json!(0), &json!(7)));
    assert_eq!(statuses(&again)[1], "bd-1.1 done");
    assert!(!left_out(&again).contains(&"bd-1.1: status done".to_owned()));
}

#[test]
fn task_master_tasks_and_subtasks_are_taken_over() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.json", TAGGED);
    let answer = sandbox.json(&["import", "taskmaster", "tasks.json", "--as", "human:ann"]);
    assert_eq!(
        statuses(&answer)[..6],
        [
            "tm-1 done",
            "tm-2 queued",
            "tm-2.1 queued",
            "tm-2.2 queued",
            "tm-3 review",
            "tm-4 abandoned"
        ]
    );
    assert!(statuses(&answer)[6].ends_with(" blocked"));
    let part = sandbox.json(&["task", "show", "tm-2.2"])["task"].clone();
    assert_eq!(part["parent"], "tm-2");
    assert_eq!(part["dependencies"], json!(["tm-2.1", "tm-3"]));
    assert!(left_out(&answer).contains(&"4: field metadata".to_owned()));
}

#[test]
fn a_closed_whole_with_closed_parts_is_done_and_required_gates_are_waived_by_the_person() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    sandbox.write(".comity/config.toml", "[gates]\nrequired = [\"tests\"]\n");
    let line = |id: &str, more: &str| {
        format!("{{\"id\":\"{id}\",\"title\":\"{id}\",\"status\":\"closed\"{more}}}\n")
    };
    let after = ",\"dependencies\":[{\"depends_on_id\":\"x.1\",\"type\":\"blocks\"}]";
    let text = line("x.2", after) + &line("x", "") + &line("x.1", "");
    sandbox.write("issues.jsonl", &text);
    let answer = sandbox.json(&["import", "beads", "issues.jsonl", "--as", "human:ann"]);
    assert_eq!(statuses(&answer), ["x done", "x.2 done", "x.1 done"], "{answer}");
    assert_eq!(answer["left_out"], json!([]));
    let gate = &sandbox.json(&["gate", "list", "x.1"])["gates"][0];
    assert_eq!((&gate["state"], &gate["by"]), (&json!("waived"), &json!("human:ann")));
}

#[test]
fn an_id_that_another_task_has_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Mine", "--id", "bd-9"]);
    sandbox.write("i.jsonl", "{\"id\":\"bd-9\",\"title\":\"Theirs\"}\n{\"id\":\"bd-8\",\"title\":\"t\",\"dependencies\":[{\"depends_on_id\":\"bd-9\"}]}\n");
    let answer = sandbox.json(&["import", "beads", "i.jsonl"]);
    assert_eq!(statuses(&answer), ["bd-8 queued"]);
    assert_eq!(left_out(&answer), ["bd-9: the task", "bd-8: dependency on bd-9"]);
    assert_eq!(sandbox.json(&["task", "show", "bd-9"])["task"]["title"], "Mine");
}

#[test]
fn a_file_with_problems_is_refused_whole_with_all_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write("i.jsonl", "{\"id\":\"a\",\"title\":\"ok\"}\n{\"id\":\"b\"}\nnope\n");
    let (error, exit) = sandbox.comity().args(&["import", "beads", "i.jsonl"]).refusal();
    assert_eq!(exit, 2);
    assert_eq!(error["details"]["problems"].as_array().unwrap().len(), 2);
    assert_eq!(error["details"]["problems"][1]["line"], 3);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"], json!([]));
    assert_eq!(sandbox.refused(&["import", "beads", "missing.jsonl"]).1, 2);
    std::fs::write(sandbox.root.join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    for tool in ["beads", "taskmaster"] {
        assert_eq!(sandbox.refused(&["import", tool, "bytes"]).1, 2);
        assert_eq!(sandbox.refused(&["import", tool, "."]).1, 2);
    }
    let dry = sandbox.comity().args(&["import", "beads", "--dry-run", "i2.jsonl"]);
    sandbox.write("i2.jsonl", BEADS);
    assert_eq!(dry.json()["tasks"].as_array().unwrap().len(), 7);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"], json!([]));
}
