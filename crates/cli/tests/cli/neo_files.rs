//! neo's files, taken over and written back.

use crate::sandbox::Sandbox;
use comity_store::neo::{Changes, Row, TableChanges};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const DECISIONS: &str = include_str!("../../../protocol/tests/golden/neotx/decisions.jsonl");
const DIRECTIVES: &str = include_str!("../../../protocol/tests/golden/neotx/directives.jsonl");

fn row(value: &Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Writes rows into neo's database.
fn add_rows(dir: &Path, memories: Vec<Row>, tasks: Vec<Row>) {
    let adding = |add: Vec<Row>| TableChanges { add, ..TableChanges::default() };
    let changes = Changes { memories: adding(memories), tasks: adding(tasks) };
    comity_store::neo::prepare(&dir.join("memory.sqlite"), &changes).unwrap().keep().unwrap();
}

/// A supervisor's directory as neo would have left it.
fn supervisor(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.outside().join("neo/supervisors/supervisor");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("decisions.jsonl"), DECISIONS).unwrap();
    std::fs::write(dir.join("directives.jsonl"), DIRECTIVES).unwrap();
    let memory = json!({
        "id": "mem_3f2a91bc-77a", "type": "knowledge", "scope": "/srv/tool",
        "content": "CI runs compiled output only", "source": "developer", "tags": "[\"ci\"]",
        "created_at": "2026-01-01T09:00:00.000Z", "last_accessed_at": "2026-01-02T09:00:00.000Z",
        "access_count": 4, "expires_at": null, "outcome": null, "run_id": null, "category": null,
        "severity": null, "subtype": "procedure",
    });
    let task = |id: &str, status: &str, on: Value| {
        row(&json!({
            "id": id, "title": format!("Task {id}"), "scope": "/srv/tool", "status": status,
            "priority": "high", "initiative": "auth-v2", "depends_on": on, "context": "neo runs 3f2a",
            "run_id": null, "created_at": "2026-01-01T09:00:00.000Z",
            "updated_at": "2026-01-01T09:00:00.000Z",
        }))
    };
    let tasks = vec![
        task("mem_aaaaaaaa-001", "done", Value::Null),
        task("mem_bbbbbbbb-002", "pending", json!("mem_aaaaaaaa-001")),
        task("mem_cccccccc-003", "blocked", Value::Null),
    ];
    add_rows(&dir, vec![row(&memory)], tasks);
    std::fs::write(dir.join("activity.jsonl"), "{\"id\":\"1\"}\n").unwrap();
    dir
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_supervisor_keeps_is_taken_over_once_and_its_ids_go_on_working() {
    let sandbox = Sandbox::new();
    let dir = supervisor(&sandbox);
    let root = dir.parent().unwrap().parent().unwrap().display().to_string();
    let import = ["import", "neo", &root, "--with-state", "--as", "human:ann"];
    let answer = sandbox.json(&import);
    assert_eq!(answer["decisions"], json!({"imported": 4, "existing": 0}), "{answer}");
    assert_eq!(answer["directives"], json!({"imported": 2, "existing": 0}), "{answer}");
    assert_eq!(answer["memories"], json!({"imported": 1, "existing": 0}), "{answer}");
    let states: Vec<&str> =
        answer["tasks"].as_array().unwrap().iter().map(|t| t["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["done", "queued", "blocked"]);
    assert!(answer["left_out"].to_string().contains("activity.jsonl"), "{answer}");
    let head = sandbox.head();
    let again = sandbox.json(&import);
    assert_eq!((&again["imported"], &again["existing"]), (&json!(0), &json!(10)), "{again}");
    assert_eq!(sandbox.head(), head, "a second import changes nothing");
    let neo = |args: &[&str]| {
        let done = sandbox.comity().by("human:ann").args(&["neo"]).args(args).done();
        assert_eq!(done.exit, 0, "{args:?}: {}", done.stderr);
        done.stdout
    };
    let shown = neo(&["decision", "get", "dec_01234567"]);
    assert!(
        shown.starts_with("ID:       dec_0123456789abcdef0123\nStatus:   pending\n"),
        "{shown}"
    );
    assert!(shown.contains("\nContext:\nTen users\n"), "{shown}");
    assert!(neo(&["decision", "get", "dec_bbbb"]).contains("Answer:   only X"));
    assert!(neo(&["decision", "get", "dec_cccc"]).contains("Status:   expired"));
    assert!(neo(&["directive", "show", "dir_aaaaaaaa-bbb"]).contains("Status:      disabled"));
    assert!(neo(&["memory", "list", "--type", "procedure"]).contains("mem_3f2a91bc-77a"));
    neo(&["decision", "answer", "dec_aaaa", "approved"]);
    assert!(neo(&["task", "list"]).contains("mem_bbbbbbbb-002"));
}

#[test]
fn what_was_taken_over_is_written_back_as_it_was() {
    let sandbox = Sandbox::new();
    let dir = supervisor(&sandbox);
    let place = dir.display().to_string();
    sandbox.json(&["import", "neo", &place, "--with-state", "--as", "human:ann"]);
    let out = sandbox.outside().join("out");
    let given = sandbox.json(&["export", "neo", &out.display().to_string()]);
    assert_eq!(
        given["exported"],
        json!({"decisions": 4, "directives": 2, "memories": 1, "tasks": 3})
    );
    assert_eq!(lines(&out.join("decisions.jsonl")), lines(&dir.join("decisions.jsonl")));
    assert_eq!(lines(&out.join("directives.jsonl")), lines(&dir.join("directives.jsonl")));
    let before = comity_store::neo::read(&dir.join("memory.sqlite")).unwrap();
    let after = comity_store::neo::read(&out.join("memory.sqlite")).unwrap();
    assert_eq!(after.memories, before.memories);
    let plain = |rows: &[serde_json::Map<String, Value>]| -> Vec<Value> {
        let mut rows = rows.to_vec();
        for row in &mut rows {
            // Times are those of the import.
            row.remove("created_at");
            row.remove("updated_at");
        }
        rows.into_iter().map(Value::Object).collect()
    };
    assert_eq!(plain(&after.tasks), plain(&before.tasks));
}

#[test]
fn an_export_leaves_alone_what_is_not_ours_and_takes_answers_back() {
    let sandbox = Sandbox::new();
    sandbox.comity().by("arch").args(&["neo", "decision", "create", "Which?"]).done();
    sandbox.comity().by("arch").args(&["neo", "task", "create", "Ours"]).done();
    sandbox.comity().by("arch").args(&["neo", "memory", "write", "Ours, too"]).done();
    let out = sandbox.outside().join("out");
    std::fs::create_dir_all(&out).unwrap();
    let foreign = "{\"id\":\"dec_ffffffffffffffffffff\",\"question\":\"theirs\",\"x\":1}\n";
    std::fs::write(out.join("decisions.jsonl"), foreign).unwrap();
    let place = out.display().to_string();
    let refused = sandbox.refused(&["export", "neo", &place]);
    assert_eq!(refused, ("etag-mismatch".to_owned(), 3), "comity never read that file");
    sandbox.json(&["export", "neo", &place, "--overwrite"]);
    sandbox.json(&["export", "neo", &place]);
    let text = std::fs::read_to_string(out.join("decisions.jsonl")).unwrap();
    assert!(text.starts_with(foreign) && text.lines().count() == 2, "{text}");
    // neo answers in its file; an import takes the answer over.
    let answered =
        text.replace("\"question\":\"Which?\"", "\"question\":\"Which?\",\"answer\":\"this\"");
    std::fs::write(out.join("decisions.jsonl"), answered).unwrap();
    let taken = sandbox.json(&["import", "neo", &place, "--with-state", "--as", "human:ann"]);
    assert_eq!(taken["decisions"], json!({"imported": 1, "existing": 1}), "{taken}");
    assert_eq!(sandbox.json(&["decision", "show", "D1"])["decision"]["answer"], "this");
    assert_eq!(taken["memories"], json!({"imported": 0, "existing": 1}), "{taken}");
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 1);
    std::fs::write(out.join("decisions.jsonl"), "{oops\n").unwrap();
    assert_eq!(sandbox.refused(&["export", "neo", &place]), ("etag-mismatch".to_owned(), 3));
    assert_eq!(std::fs::read_to_string(out.join("decisions.jsonl")).unwrap(), "{oops\n");
}

#[test]
fn what_is_no_directory_of_neos_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("memory.sqlite", "this is no database, only some text that is long enough");
    for dir in ["missing", "README.md", "."] {
        assert_eq!(sandbox.refused(&["import", "neo", dir]).1, 2, "{dir}");
    }
}

#[test]
fn directives_are_given_listed_switched_and_taken_back() {
    let sandbox = Sandbox::new();
    let neo = |args: &[&str]| {
        sandbox.comity().by("human:ann").args(&["neo", "directive"]).args(args).done()
    };
    assert_eq!(neo(&["list"]).stdout, "No directives found.\n");
    let made =
        neo(&["create", "launch scout", "-t", "idle", "-d", "for 2 hours", "-p", "5"]).stdout;
    let id = made.lines().next().unwrap().strip_prefix("✓ Directive created: ").unwrap().to_owned();
    // What is left is counted from the moment of printing, which may be the very millisecond of creation.
    let said = |left: &str| {
        made.ends_with(&format!("\n  Trigger: idle\n  Action: launch scout\n  Duration: {left}\n"))
    };
    assert!(said("1h 59m") || said("2h 0m"), "{made}");
    let list = neo(&["list"]).stdout;
    assert!(
        list.contains(&id) && list.contains("active") && list.contains("launch scout"),
        "{list}"
    );
    assert_eq!(neo(&["toggle", &id]).stdout, format!("✓ Directive {id} disabled\n"));
    let shown = neo(&["show", &id[..12]]).stdout;
    assert!(shown.contains("Status:      disabled\nPriority:    5\n"), "{shown}");
    assert_eq!(neo(&["delete", &id]).stdout, format!("✓ Directive deleted: {id}\n"));
    for (args, said) in [
        (&["show", "dir_00000009"][..], "✗ Directive not found: dir_00000009"),
        (&["create", "x", "-t", "never"], "✗ Invalid trigger \"never\". Must be one of: idle,"),
        (&["create", "x", "-d", "soon"], "✗ Invalid --duration format \"soon\". Use: \"2h\","),
    ] {
        let done = neo(args);
        assert_eq!(done.exit, 1);
        assert!(done.stderr.starts_with(said), "{}", done.stderr);
    }
}

#[test]
fn memories_are_written_found_changed_and_forgotten() {
    let sandbox = Sandbox::new();
    let neo = |args: &[&str]| sandbox.comity().by("dev").args(&["neo", "memory"]).args(args).done();
    let write = |args: &[&str]| {
        let said = neo(&[&["write"], args].concat());
        assert_eq!(said.exit, 0, "{}", said.stderr);
        said.stdout.trim_end().strip_prefix("✓ Memory written: ").unwrap().to_owned()
    };
    let fact = write(&["--type", "fact", "--scope", "/srv/a", "Builds are compiled"]);
    write(&["--type", "procedure", "Run the build first"]);
    write(&[
        "--type",
        "warning",
        "--category",
        "testing",
        "--severity",
        "high",
        "Dates are untested",
    ]);
    let list = |args: &[&str]| neo(&[&["list"], args].concat()).stdout;
    assert!(list(&["--type", "fact"]).contains(&fact), "aliases work in lists as in write");
    assert_eq!(list(&["--type", "knowledge"]).lines().count(), 4);
    assert_eq!(list(&["--type", "feedback"]).lines().count(), 3);
    assert_eq!(
        list(&["--scope", "/srv/b"]).lines().count(),
        4,
        "global ones belong to every scope"
    );
    let found = neo(&["search", "compile"]).stdout;
    assert!(found.contains("Builds are compiled"), "{found}");
    assert_eq!(neo(&["search", "nonsense"]).stdout, "No memories found.\n");
    assert_eq!(
        neo(&["update", &fact, "Builds are interpreted"]).stdout,
        format!("✓ Memory updated: {fact}\n")
    );
    assert_eq!(neo(&["update", &fact, "--outcome", "kept"]).exit, 0);
    let json = sandbox.json(&["neo", "memory", "list", "--type", "fact"]);
    assert_eq!(json["memories"][0]["content"], "Builds are interpreted");
    assert_eq!(json["memories"][0]["outcome"], "kept");
    assert!(neo(&["stats"]).stdout.starts_with("Total memories: 3\n\nTYPE"));
    assert_eq!(neo(&["forget", &fact]).stdout, format!("✓ Memory forgotten: {fact}\n"));
    let gone = neo(&["forget", "mem_ffffffff-fff"]);
    assert!(gone.exit == 1 && gone.stderr.starts_with("✗ Memory not found: mem_ffffffff-fff"));
    let task = neo(&["write", "x", "--type", "task"]);
    assert!(task.exit == 1 && task.stderr.starts_with("✗ Invalid type \"task\". Must be one of:"));
    sandbox
        .comity()
        .by("dev")
        .args(&["neo", "log", "discovery", "It is flat", "--repo", "/srv/a"])
        .done();
    assert!(list(&["--scope", "/srv/a"]).contains("It is flat"), "discoveries are remembered");
}
