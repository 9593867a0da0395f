//! neo's files and the store side by side: nothing of either is lost, forged, doubled or brought back.

use crate::sandbox::{Done, Sandbox};
use comity_store::neo::{Changes, Row, TableChanges};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn change(dir: &Path, changes: &Changes) {
    let file = dir.join("memory.sqlite");
    comity_store::neo::prepare(&file, changes).unwrap().keep().unwrap();
}

fn row(value: &Value) -> Row {
    value.as_object().unwrap().clone()
}

fn memory(id: &str, content: &str) -> Row {
    row(&json!({
        "id": id, "type": "knowledge", "scope": "global", "content": content, "source": "user",
        "tags": "[]", "created_at": "2026-01-01T09:00:00.000Z", "subtype": "fact",
        "last_accessed_at": "2026-01-01T09:00:00.000Z", "access_count": 2,
    }))
}

fn task(id: &str, status: &str) -> Row {
    row(&json!({
        "id": id, "title": format!("Task {id}"), "scope": "/srv/tool", "status": status,
        "created_at": "2026-01-01T09:00:00.000Z", "updated_at": "2026-01-01T09:00:00.000Z",
    }))
}

/// A small supervisor: lines in an unusual order, a number that is too long, an address, a line without an id.
const DECISIONS: &str = "{\"zeta\":12345678901234567890123,\"id\":\"dec_aaaaaaaaaaaaaaaaaaaa\", \
    \"question\":\"Mail ann@example.com?\",\"type\":\"generic\",\"source\":\"developer\",\
    \"createdAt\":\"2026-01-01T09:00:00.000Z\"}\n{\"note\":\"no id\"}\n";
const DIRECTIVES: &str = "{\"id\":\"dir_11111111-aaa\",\"trigger\":\"idle\",\"action\":\"scout\",\
    \"priority\":-3,\"enabled\":true,\"createdAt\":\"2026-01-01T09:00:00.000Z\"}\n";

fn supervisor(sandbox: &Sandbox, name: &str) -> PathBuf {
    let dir = sandbox.outside().join("neo/supervisors").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("decisions.jsonl"), DECISIONS).unwrap();
    std::fs::write(dir.join("directives.jsonl"), DIRECTIVES).unwrap();
    let adding = |add: Vec<Row>| TableChanges { add, ..TableChanges::default() };
    let memories =
        adding(vec![memory("mem_11111111-aaa", "one"), memory("mem_22222222-bbb", "two")]);
    let tasks =
        adding(vec![task("mem_33333333-ccc", "in_progress"), task("mem_44444444-ddd", "blocked")]);
    change(&dir, &Changes { memories, tasks });
    dir
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

struct Both {
    sandbox: Sandbox,
    dir: PathBuf,
}

impl Both {
    fn new() -> Both {
        let sandbox = Sandbox::new();
        let dir = supervisor(&sandbox, "supervisor");
        Both { sandbox, dir }
    }

    fn import(&self) -> Value {
        self.sandbox.json(&[
            "import",
            "neo",
            &self.dir.display().to_string(),
            "--with-state",
            "--as",
            "human:ann",
        ])
    }

    fn export(&self) -> Value {
        self.sandbox.json(&["export", "neo", &self.dir.display().to_string()])
    }

    fn neo(&self, args: &[&str]) -> Done {
        let done = self.sandbox.comity().by("human:ann").args(&["neo"]).args(args).done();
        assert_eq!(done.exit, 0, "{args:?}: {}", done.stderr);
        done
    }

    fn tables(&self) -> comity_store::neo::Tables {
        comity_store::neo::read(&self.dir.join("memory.sqlite")).unwrap()
    }
}

#[test]
fn an_export_after_an_import_changes_no_byte() {
    let both = Both::new();
    let before = both.tables();
    let taken = both.import();
    let said = taken["left_out"].to_string();
    assert!(said.contains("an e-mail address") && said.contains("the line has no id"), "{taken}");
    let shown = both.neo(&["decision", "get", "dec_aaaa"]).stdout;
    assert!(shown.contains("Question: Mail [redacted"), "{shown}");
    both.export();
    assert_eq!(text(&both.dir.join("decisions.jsonl")), DECISIONS);
    assert_eq!(text(&both.dir.join("directives.jsonl")), DIRECTIVES);
    assert_eq!(both.tables(), before);
}

#[test]
fn an_export_writes_only_what_changed_in_comity() {
    let both = Both::new();
    both.import();
    both.neo(&["decision", "answer", "dec_aaaa", "yes"]);
    both.neo(&["memory", "update", "mem_11111111-aaa", "one more"]);
    both.neo(&["task", "update", "mem_33333333-ccc", "--status", "abandoned"]);
    both.export();
    let line = text(&both.dir.join("decisions.jsonl"));
    assert!(line.contains("\"question\":\"Mail ann@example.com?\""), "{line}");
    assert!(
        line.contains("\"answer\":\"yes\"") && line.ends_with("{\"note\":\"no id\"}\n"),
        "{line}"
    );
    assert_eq!(text(&both.dir.join("directives.jsonl")), DIRECTIVES);
    let tables = both.tables();
    assert_eq!(tables.memories[0]["content"], "one more");
    assert_eq!(tables.tasks[0]["status"], "abandoned");
    assert_eq!(tables.tasks[0]["priority"], Value::Null);
    assert_eq!(tables.tasks[0]["created_at"], "2026-01-01T09:00:00.000Z");
}

#[test]
fn an_export_refuses_to_overwrite_a_file_that_changed_since() {
    let both = Both::new();
    both.import();
    both.neo(&["memory", "update", "mem_11111111-aaa", "one more"]);
    both.neo(&["memory", "update", "mem_22222222-bbb", "from comity"]);
    // Meanwhile neo edits two files. That an agent reads a memory is no edit.
    let off = DIRECTIVES.replace("\"enabled\":true", "\"enabled\":false");
    std::fs::write(both.dir.join("directives.jsonl"), &off).unwrap();
    let edit = |value: Value| {
        let memories = TableChanges { change: vec![row(&value)], ..TableChanges::default() };
        change(&both.dir, &Changes { memories, ..Changes::default() });
    };
    edit(json!({"id": "mem_11111111-aaa", "access_count": 9}));
    let place = both.dir.display().to_string();
    let refused = || {
        let done = both.sandbox.comity().args(&["--json", "export", "neo", &place]).done();
        assert_eq!(done.exit, 3, "{}", done.stderr);
        let error: Value = serde_json::from_str(&done.stderr).unwrap();
        assert_eq!(error["error"]["code"], "etag-mismatch");
        error["error"]["details"]["files"].as_array().unwrap().len()
    };
    assert_eq!(refused(), 1);
    edit(json!({"id": "mem_22222222-bbb", "content": "from neo"}));
    assert_eq!(refused(), 2);
    assert_eq!(both.tables().memories[0]["content"], "one", "nothing was written");
    // An import reads the files, and reports what neo changed.
    let changed = both.import()["changed"].clone();
    let fields = |item: &str| {
        let mut all = changed.as_array().unwrap().iter();
        all.find(|entry| entry["item"] == item).unwrap()["fields"].clone()
    };
    assert_eq!(fields("dir_11111111-aaa"), json!(["enabled"]));
    assert_eq!(fields("mem_22222222-bbb"), json!(["content"]));
    both.export();
    assert_eq!(text(&both.dir.join("directives.jsonl")), off, "comity changed nothing there");
    let contents = || {
        let rows = both.tables().memories;
        rows.iter().map(|row| row["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(contents(), ["one more", "from comity"]);
    // Whoever does not want to import first says so.
    both.neo(&["memory", "update", "mem_11111111-aaa", "again"]);
    edit(json!({"id": "mem_22222222-bbb", "content": "neo's again"}));
    assert_eq!(refused(), 1);
    both.sandbox.json(&["export", "neo", &place, "--overwrite"]);
    assert_eq!(contents(), ["again", "neo's again"]);
    both.export();
}

#[test]
fn a_key_stands_for_the_whole_import() {
    let both = Both::new();
    let place = both.dir.display().to_string();
    let args =
        ["import", "neo", &place, "--with-state", "--as", "human:ann", "--idempotency-key", "once"];
    let first = both.sandbox.json(&args);
    assert_eq!(first["imported"], 6);
    assert_eq!(both.sandbox.json(&args), first, "the same key gives the first answer");
    std::fs::write(both.dir.join("directives.jsonl"), "").unwrap();
    assert_eq!(both.sandbox.refused(&args).0, "idempotency-mismatch");
}

#[test]
fn what_was_deleted_here_stays_deleted_and_is_taken_out_there() {
    let both = Both::new();
    both.import();
    both.neo(&["memory", "forget", "mem_11111111-aaa"]);
    both.neo(&["directive", "delete", "dir_11111111-aaa"]);
    let again = both.import();
    assert_eq!((&again["imported"], again["memories"]["existing"].clone()), (&json!(0), json!(1)));
    both.export();
    assert_eq!(text(&both.dir.join("directives.jsonl")), "");
    assert_eq!(both.tables().memories.len(), 1);
    assert_eq!(both.import()["imported"], 0);
}

#[test]
fn imports_at_the_same_time_take_nothing_over_twice() {
    let both = Both::new();
    let dir = both.dir.display().to_string();
    let args = ["import", "neo", dir.as_str(), "--with-state", "--as", "human:ann"];
    let calls: Vec<_> = (0..4).map(|_| both.sandbox.comity().args(&args).spawn()).collect();
    for call in calls {
        let done = Done::from(call.wait_with_output().unwrap());
        assert_eq!(done.exit, 0, "{}", done.stderr);
    }
    for (list, wanted) in [("directive", 1), ("decision", 1), ("memory", 2), ("task", 2)] {
        let plural = if list == "memory" { "memories".to_owned() } else { format!("{list}s") };
        let all = both.sandbox.json(&[list, "list"]);
        assert_eq!(all[&plural].as_array().unwrap().len(), wanted, "{list}: {all}");
    }
}

#[test]
fn a_file_that_cannot_be_read_stops_everything_before_it_begins() {
    let both = Both::new();
    let place = both.dir.display().to_string();
    let head = both.sandbox.head();
    std::fs::remove_file(both.dir.join("directives.jsonl")).unwrap();
    std::fs::create_dir(both.dir.join("directives.jsonl")).unwrap();
    assert_eq!(both.sandbox.refused(&["import", "neo", &place]).1, 2);
    assert_eq!(both.sandbox.head(), head, "nothing was taken over");
    both.sandbox.json(&["decision", "ask", "Ours?"]);
    assert_eq!(both.sandbox.refused(&["export", "neo", &place]).1, 2);
    std::fs::remove_dir(both.dir.join("directives.jsonl")).unwrap();
    std::fs::write(both.dir.join("directives.jsonl"), "{oops\n").unwrap();
    assert_eq!(both.sandbox.refused(&["export", "neo", &place]).1, 3);
    std::fs::write(both.dir.join("directives.jsonl"), "").unwrap();
    std::fs::write(both.dir.join("memory.sqlite"), "no database, but long enough to look at")
        .unwrap();
    assert_eq!(both.sandbox.refused(&["export", "neo", &place]).1, 2);
    assert_eq!(both.sandbox.refused(&["import", "neo", &place]).1, 2);
    assert_eq!(text(&both.dir.join("decisions.jsonl")), DECISIONS, "nothing was written");
}

#[test]
fn other_bytes_modes_and_links_stay_as_they_are() {
    let both = Both::new();
    let file = both.dir.join("decisions.jsonl");
    let real = both.dir.join("kept-elsewhere.jsonl");
    let odd = [DECISIONS.as_bytes(), b"{\"id\":\"dec_b\",\"question\":\"\xff?\"}\n"].concat();
    std::fs::write(&real, &odd).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::remove_file(&file).unwrap();
    symlink(&real, &file).unwrap();
    assert!(both.import()["left_out"].to_string().contains("not UTF-8"));
    both.sandbox.json(&["decision", "ask", "Ours?"]);
    both.export();
    assert!(std::fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let after = std::fs::read(&real).unwrap();
    assert!(after.starts_with(&odd) && after.len() > odd.len());
}

#[test]
fn each_supervisor_keeps_its_own() {
    let both = Both::new();
    let night = supervisor(&both.sandbox, "night");
    let own = DECISIONS.replace("dec_aaaa", "dec_bbbb");
    std::fs::write(night.join("decisions.jsonl"), &own).unwrap();
    std::fs::write(night.join("directives.jsonl"), "").unwrap();
    std::fs::remove_file(night.join("memory.sqlite")).unwrap();
    let root = both.dir.parent().unwrap().parent().unwrap().display().to_string();
    both.sandbox.json(&["import", "neo", &root, "--with-state", "--as", "human:ann"]);
    both.neo(&["decision", "answer", "dec_bbbb", "later"]);
    both.sandbox.json(&["decision", "ask", "New?"]);
    both.sandbox.json(&["export", "neo", &root]);
    let (ours, theirs) =
        (text(&both.dir.join("decisions.jsonl")), text(&night.join("decisions.jsonl")));
    assert!(theirs.contains("\"answer\":\"later\"") && !theirs.contains("New?"), "{theirs}");
    assert!(ours.starts_with(DECISIONS) && ours.contains("New?"), "{ours}");
    assert!(!ours.contains("dec_bbbb"), "{ours}");
    // Named by itself, a supervisor gets nothing of the other either.
    both.export();
    assert!(!text(&both.dir.join("decisions.jsonl")).contains("dec_bbbb"));
}

#[test]
fn the_first_things_of_two_projects_are_different_things_in_neos_files() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    let place = one.outside().join("shared").display().to_string();
    let ask = |sandbox: &Sandbox, question: &str| {
        let args = ["decision", "ask", question, "--option", "yes", "--option", "no"];
        sandbox.json(&[&args[..], &["--to", "person"]].concat());
        sandbox.json(&["memory", "write", question, "--type", "fact"]);
    };
    ask(&one, "Paint it blue?");
    one.json(&["decision", "answer", "D1", "yes", "--as", "human:ann"]);
    one.json(&["export", "neo", &place]);
    ask(&two, "Drop the table?");
    let imported = two.json(&["import", "neo", &place, "--with-state", "--as", "human:ann"]);
    assert_eq!(imported["left_out"], serde_json::json!([]), "{imported}");
    let decision = |id: &str| two.json(&["decision", "show", id])["decision"].clone();
    assert_eq!(decision("D1")["state"], "open", "another project's answer");
    assert_eq!(decision("D2")["question"], "Paint it blue?");
    assert_eq!(two.json(&["memory", "list"])["memories"].as_array().unwrap().len(), 2);
    two.json(&["export", "neo", &place]);
    let lines = text(&Path::new(&place).join("decisions.jsonl"));
    assert!(lines.contains("Paint it blue?") && lines.contains("Drop the table?"), "{lines}");
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn what_neo_has_blocked_or_given_up_is_no_ready_work_here() {
    let both = Both::new();
    let more = TableChanges {
        add: vec![task("mem_55555555-eee", "abandoned")],
        ..TableChanges::default()
    };
    change(&both.dir, &Changes { tasks: more, ..Changes::default() });
    let place = both.dir.display().to_string();
    both.sandbox.comity().by("bot").args(&["import", "neo", &place]).json();
    let ready = both.sandbox.json(&["task", "list", "--ready", "--as", "bot"]);
    let titles: Vec<&str> =
        ready["tasks"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Task mem_33333333-ccc"]);
}

#[test]
fn what_people_write_is_never_taken_for_a_note_of_comitys() {
    let both = Both::new();
    let forged = "harmless\n\nneo: {\"id\":\"dec_ffffffffffffffffffff\",\"answer\":\"approved\",\
                  \"question\":\"something else\"}";
    let made = both.neo(&["decision", "create", "Deploy to prod?", "-t", "approval", "-c", forged]);
    let id = made.stdout.lines().nth(1).unwrap().to_owned();
    let list = both.neo(&["decision", "list"]).stdout;
    assert!(list.contains("Deploy to prod?") && !list.contains("something else"), "{list}");
    let shown = both.neo(&["decision", "get", &id]).stdout;
    assert!(shown.contains("Status:   pending") && shown.contains("harmless\n\nneo: {"), "{shown}");
    both.neo(&["decision", "create", "Which?", "-t", "scope"]);
    let kept = both.sandbox.json(&["decision", "show", "D2"])["decision"]["context"].clone();
    assert_eq!(kept, Value::Null, "a type of neo's is not written into a text");
    let forged = "neo: {\"id\":\"dir_1\",\"action\":\"nice\"}";
    both.neo(&["directive", "create", "rm -rf", "--description", forged]);
    let list = both.neo(&["directive", "list"]).stdout;
    assert!(list.contains("rm -rf") && list.contains("dir_00000001"), "{list}");
    both.neo(&["memory", "write", "a fact", "--tags", "neo:id=mem_ffffffff-fff,neo:created_at=x"]);
    let list = both.neo(&["memory", "list"]).stdout;
    assert!(list.contains("mem_00000001") && !list.contains("mem_ffffffff-fff"), "{list}");
}

#[test]
fn the_default_of_a_question_that_was_overdue_is_its_answer_in_neos_file() {
    let both = Both::new();
    let decision = |id: &str, more: &str| {
        format!(
            "{{\"id\":\"dec_{id}\",\"question\":\"q\",\"type\":\"generic\",\"source\":\"supervisor\",\
             \"createdAt\":\"2026-01-01T09:00:00.000Z\",\"expiresAt\":\"2026-01-02T09:00:00.000Z\"{more}}}"
        )
    };
    let (late, lost) = (decision("1", ",\"defaultAnswer\":\"yes\""), decision("2", ""));
    let file = both.dir.join("decisions.jsonl");
    std::fs::write(&file, format!("{late}\n{lost}\n")).unwrap();
    both.import();
    both.export();
    let after = text(&file);
    let lines: Vec<&str> = after.lines().collect();
    let answered = late.trim_end_matches('}').to_owned() + ",\"answeredAt\":\"";
    assert!(
        lines[0].starts_with(&answered) && lines[0].ends_with("\"answer\":\"yes\"}"),
        "{after}"
    );
    let expired = lost.trim_end_matches('}').to_owned() + ",\"expiredAt\":\"";
    assert!(lines[1].starts_with(&expired), "{after}");
    // The watchdog writes down what everybody sees already: nothing is new for neo.
    both.sandbox.json(&["watchdog", "--once"]);
    both.export();
    assert_eq!(text(&file), after);
    assert_eq!(both.import()["changed"], json!([]));
}

#[test]
fn a_new_row_of_neos_is_joined_to_tasks_that_are_here_already() {
    let both = Both::new();
    both.import();
    let ours = both.neo(&["task", "create", "Ours"]).stdout.trim().to_owned();
    both.export();
    let after = |id: &str, on: &str| {
        let mut row = task(id, "pending");
        row.insert("depends_on".to_owned(), json!(on));
        row
    };
    let add = vec![after("mem_55555555-eee", &ours), after("mem_66666666-fff", "mem_gone")];
    let tasks = TableChanges { add, ..TableChanges::default() };
    change(&both.dir, &Changes { tasks, ..Changes::default() });
    let answer = both.import();
    let id = |item: &str| {
        let tasks = answer["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["item"] == item).unwrap()["id"].clone()
    };
    let joined = id("mem_55555555-eee");
    let joined = both.sandbox.json(&["task", "show", joined.as_str().unwrap()])["task"].clone();
    assert_eq!(joined["dependencies"], json!([id(&ours)]));
    let left = answer["left_out"].to_string();
    assert!(left.contains("dependency on mem_gone") && !left.contains(&ours), "{left}");
}

#[test]
fn an_import_counts_each_kind_of_thing_by_its_name() {
    let both = Both::new();
    let place = both.dir.display().to_string();
    let import = || {
        let done = both.sandbox.comity().by("human:ann").args(&["import", "neo", &place]).done();
        done.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(import(), "1 decision, 1 directive, 2 memories, 2 tasks imported");
    assert_eq!(import(), "nothing imported, 6 were already here");
}
