//! The event files: nothing of the history is lost, and nothing is taken twice.

use super::files::{seeded, sync, texts};
use super::{Rpc, state};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::path::Path;

fn lines(root: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(root.join("collaboration/events/events.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn append(root: &Path, file: &str, text: &str) {
    let path = root.join("collaboration/events").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, old + text).unwrap();
}

fn count(sandbox: &Sandbox, name: &str) -> usize {
    sandbox.json(&["event", "list", "--type", name])["events"].as_array().unwrap().len()
}

#[test]
fn history_is_written_again_where_it_was_deleted_or_cut() {
    let (sandbox, root) = seeded();
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    append(&root, "events.jsonl", "{\"event\": \"note\", \"ts\": \"2025-01-01T00:00:00Z\"}\n");
    sync(&sandbox);
    let whole = lines(&root);
    let path = root.join("collaboration/events/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let first = text.lines().next().unwrap().to_owned() + "\n";
    for left in [None, Some(String::new()), Some(first)] {
        match &left {
            None => std::fs::remove_dir_all(root.join("collaboration")).unwrap(),
            Some(left) => std::fs::write(&path, left).unwrap(),
        }
        sync(&sandbox);
        let now = lines(&root);
        assert_eq!(now.len(), whole.len(), "{left:?}");
        for name in ["task_created", "note"] {
            assert!(now.iter().any(|line| line["event"] == name), "{left:?}: {name}");
        }
        assert_eq!(count(&sandbox, "note"), 1);
    }
    let log = std::fs::read_to_string(root.join("collaboration/logs/log.md")).unwrap();
    assert!(log.contains("task_created"), "{log}");
}

#[test]
fn imported_events_are_in_every_export_and_imported_once() {
    let (sandbox, root) = seeded();
    std::fs::create_dir_all(root.join("t/state")).unwrap();
    sandbox.write(
        "t/events/events.jsonl",
        "{\"event\": \"note\", \"notes\": \"old\", \"ts\": \"2025-01-01T00:00:00Z\"}\n{\"event\": \"x\", \"seq\": 1}",
    );
    let report = sandbox.comity().by("human:ann").args(&["import", "collab", "t"]).done();
    assert!(report.stdout.contains("2 events from"), "{}", report.stdout);
    for place in ["./t", "t", "../tool/t"] {
        let report = sandbox.json(&["import", "collab", place]);
        assert_eq!(report["taken"], json!([]), "{place}");
    }
    assert_eq!((count(&sandbox, "note"), count(&sandbox, "x")), (1, 1));
    sandbox.json(&["export", "collab", "o2"]);
    let text = std::fs::read_to_string(root.join("o2/events/events.jsonl")).unwrap();
    assert!(text.contains("\"notes\": \"old\"") && text.contains("\"event\": \"x\""), "{text}");
}

#[test]
fn a_line_with_a_number_is_not_ours_for_that_and_one_without_its_end_stays_a_line() {
    let (sandbox, root) = seeded();
    sync(&sandbox);
    append(
        &root,
        "events.jsonl",
        "{\"event\": \"a\", \"seq\": 1}\n{\"event\": \"b\", \"ts\": \"2025-01-01T00:00:00Z\"}",
    );
    sandbox.json(&["task", "create", "One", "--id", "task-001"]);
    sync(&sandbox);
    sync(&sandbox);
    let all = lines(&root);
    assert_eq!((count(&sandbox, "a"), count(&sandbox, "b")), (1, 1));
    assert_eq!(all.iter().filter(|line| line["event"] == "task_created").count(), 1);
    assert_eq!(all.iter().filter(|line| line["event"] == "b").count(), 1);
    let seqs: Vec<&Value> = all.iter().filter_map(|line| line.get("seq")).collect();
    assert!(seqs.contains(&&json!(1)) && seqs.contains(&&json!(2)), "{all:?}");
}

#[test]
fn a_file_of_an_agent_that_begins_anew_is_read_and_names_its_agent() {
    let (sandbox, root) = seeded();
    append(&root, "agents/codex-cli.jsonl", "{\"event\": \"commit_pushed\", \"sha\": \"a1\"}\n");
    sync(&sandbox);
    std::fs::remove_file(root.join("collaboration/events/agents/codex-cli.jsonl")).unwrap();
    append(&root, "agents/codex-cli.jsonl", "{\"event\": \"commit_pushed\", \"sha\": \"b2\"}\n");
    let report = sync(&sandbox);
    assert!(texts(&report["taken"]).contains("1 event from"), "{report}");
    let pushed: Vec<Value> =
        lines(&root).into_iter().filter(|line| line["event"] == "commit_pushed").collect();
    let said: Vec<&str> = pushed.iter().map(|line| line["sha"].as_str().unwrap()).collect();
    assert_eq!(said, ["a1", "b2"]);
    assert!(pushed.iter().all(|line| line["agent"] == "codex-cli"), "{pushed:?}");
}

#[test]
fn what_is_only_reported_is_marked_and_makes_no_state() {
    let (sandbox, root) = seeded();
    let mut rpc = Rpc::start(&root, "human:ann");
    rpc.ok("create_task", &json!({"title": "One"}));
    let event = json!({"event": "status_changed", "task": "task-001", "new_status": "done"});
    rpc.ok("emit_event", &event);
    rpc.ok("update_agent", &json!({"id": "codex-cli-1", "role": "implementer"}));
    rpc.ok("update_agent", &json!({"id": "codex-cli-1", "model": "m"}));
    let log = rpc.ok("generate_log", &json!({}))["text"].as_str().unwrap().to_owned();
    rpc.end();
    assert!(log.contains("- Status: queued") && log.contains("status_changed (reported)"), "{log}");
    let all = lines(&root);
    let said: Vec<&Value> = all.iter().filter(|line| line["event"] == "status_changed").collect();
    assert!(said.len() == 1 && said[0]["reported"] == true, "{said:?}");
    let updated =
        |line: &&Value| line["event"] == "agent_updated" && line["agent"] == "codex-cli-1";
    assert_eq!(all.iter().filter(updated).count(), 2, "{all:?}");
    assert_eq!(state(&root, "tasks")["tasks"][0]["status"], "queued");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
}
