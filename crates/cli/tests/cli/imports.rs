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
    let import = ["import", "beads", "issues.jsonl", "--with-state", "--as", "human:ann"];
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
    let import = ["import", "beads", "issues.jsonl", "--with-state", "--as", "human:ann"];
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
    let answer =
        sandbox.json(&["import", "beads", "issues.jsonl", "--with-state", "--as", "codex-cli"]);
    assert_eq!(answer["imported"], 7);
    assert!(left_out(&answer).contains(&"bd-1.1: status done".to_owned()), "{answer}");
    assert!(left_out(&answer).contains(&"bd-1.2: assignee ann".to_owned()));
    assert_eq!(statuses(&answer)[1], "bd-1.1 blocked");
    assert_eq!(sandbox.refused(&["task", "claim", "bd-1.1"]), ("not-ready".to_owned(), 3));
    let again =
        sandbox.json(&["import", "beads", "issues.jsonl", "--with-state", "--as", "human:ann"]);
    assert_eq!((&again["imported"], &again["existing"]), (&json!(0), &json!(7)));
    assert_eq!(statuses(&again)[1], "bd-1.1 done");
    assert!(!left_out(&again).contains(&"bd-1.1: status done".to_owned()));
}

#[test]
fn task_master_tasks_and_subtasks_are_taken_over() {
    let sandbox = Sandbox::new();
    sandbox.write("tasks.json", TAGGED);
    let answer =
        sandbox.json(&["import", "taskmaster", "tasks.json", "--with-state", "--as", "human:ann"]);
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
    let answer =
        sandbox.json(&["import", "beads", "issues.jsonl", "--with-state", "--as", "human:ann"]);
    assert_eq!(statuses(&answer), ["x done", "x.2 done", "x.1 done"], "{answer}");
    assert_eq!(answer["left_out"], json!([]));
    let gate = &sandbox.json(&["gate", "list", "x.1"])["gates"][0];
    assert_eq!((&gate["state"], &gate["by"]), (&json!("waived"), &json!("human:ann")));
}

#[test]
fn an_item_whose_id_another_task_has_is_taken_over_under_another_id_and_its_links_lead_there() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Mine", "--id", "bd-9"]);
    let on = |kind: &str| json!([{"depends_on_id": "bd-9", "type": kind}]);
    let text = lines(&[
        json!({"id": "bd-9", "title": "Theirs", "issue_type": "epic"}),
        json!({"id": "bd-9.1", "title": "A part"}),
        json!({"id": "bd-8", "title": "After it", "dependencies": on("blocks")}),
    ]);
    sandbox.write("i.jsonl", &text);
    let answer = sandbox.json(&["import", "beads", "i.jsonl"]);
    assert_eq!((&answer["imported"], left_out(&answer)), (&json!(3), vec!["bd-9: id bd-9".into()]));
    let task = |id: &str| sandbox.json(&["task", "show", id])["task"].clone();
    let theirs = answer["tasks"][0]["id"].as_str().unwrap();
    assert_eq!(
        (&task("bd-9")["title"], &task(theirs)["title"]),
        (&json!("Mine"), &json!("Theirs"))
    );
    assert_eq!(task("bd-9.1")["parent"], theirs);
    assert_eq!(task("bd-8")["dependencies"], json!([theirs]));
    let head = sandbox.head();
    let again = sandbox.json(&["import", "beads", "i.jsonl"]);
    assert_eq!((&again["imported"], &again["existing"]), (&json!(0), &json!(3)));
    assert_eq!((&again["tasks"], &again["left_out"]), (&answer["tasks"], &answer["left_out"]));
    assert_eq!(sandbox.head(), head);
}

/// Imports as somebody, after a dry run that has to tell all of it and to change nothing.
fn foretold(sandbox: &Sandbox, who: &str, import: &[&str]) -> Value {
    let run = || sandbox.comity().by(who).args(import);
    let head = sandbox.head();
    let mut told = run().args(&["--dry-run"]).json();
    assert_eq!(sandbox.head(), head);
    assert_eq!(told.as_object_mut().unwrap().remove("dry_run"), Some(json!(true)));
    let done = run().json();
    assert_eq!(told, done);
    done
}

#[test]
fn a_dry_run_tells_what_the_import_then_does() {
    let sandbox = Sandbox::new();
    let import = ["import", "beads", "i.jsonl", "--with-state"];
    let mut issues = [
        json!({"id": "bd-1", "title": "Epic", "issue_type": "epic"}),
        json!({"id": "bd-2", "title": "Child", "assignee": "bob", "dependencies":
               [{"depends_on_id": "bd-1", "type": "parent-child"}, {"depends_on_id": "bd-3"}]}),
        json!({"id": "bd-3", "title": "Closed", "status": "closed"}),
        json!({"id": "bd-4", "title": "Blocked", "status": "blocked"}),
        json!({"id": "T1", "title": "its number is taken"}),
        json!({"id": "no\nreference", "title": "refused"}),
    ];
    sandbox.write("i.jsonl", &lines(&issues));
    sandbox.json(&["task", "create", "Mine", "--id", "bd-1"]);
    let by_agent = foretold(&sandbox, "codex-cli", &import);
    assert_eq!(by_agent["imported"], 5, "{by_agent}");
    for left in ["bd-1: id bd-1", "bd-3: status done", "bd-2: assignee bob", "T1: id T1"] {
        assert!(left_out(&by_agent).contains(&left.to_owned()), "{left} in {by_agent}");
    }
    // A person brings on what was kept back, in the same run that sees what changed over there.
    issues[1]["title"] = json!("Child, renamed");
    issues[3]["status"] = json!("closed");
    sandbox.write("i.jsonl", &lines(&issues));
    let by_person = foretold(&sandbox, "human:ann", &import);
    assert_eq!(
        by_person["changed"],
        json!([
            {"item": "bd-2", "id": "bd-2", "fields": ["title"]},
            {"item": "bd-4", "id": "bd-4", "fields": ["status"]},
        ])
    );
    assert!(statuses(&by_person).contains(&"bd-3 done".to_owned()), "{by_person}");
    assert!(statuses(&by_person).contains(&"bd-4 blocked".to_owned()), "{by_person}");
    // A key that was used gives the first answer, told or done.
    let keyed = ["import", "beads", "i.jsonl", "--idempotency-key", "k"];
    let once = foretold(&sandbox, "human:ann", &keyed);
    sandbox.json(&["task", "update", "bd-4", "--title", "Mine now", "--as", "human:ann"]);
    assert_eq!(foretold(&sandbox, "human:ann", &keyed), once);
}

#[test]
fn a_dry_run_of_task_master_tells_the_same_and_makes_no_store() {
    let sandbox = Sandbox::new();
    sandbox.write("t.json", TAGGED);
    let files = || std::fs::read_dir(sandbox.root.join(".git")).unwrap().count();
    let before = files();
    let told = sandbox.json(&["import", "taskmaster", "t.json", "--dry-run", "--as", "dev"]);
    assert_eq!((&told["imported"], files()), (&json!(7), before));
    foretold(&sandbox, "dev", &["import", "taskmaster", "t.json"]);
    foretold(&sandbox, "human:ann", &["import", "taskmaster", "t.json", "--with-state"]);
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

fn lines(issues: &[Value]) -> String {
    issues.iter().map(|issue| format!("{issue}\n")).collect()
}

#[test]
fn items_whose_ids_meet_are_all_taken_over_and_that_is_said() {
    let sandbox = Sandbox::new();
    let text = lines(&[
        json!({"id": "1", "title": "open one"}),
        json!({"id": "bd-1", "title": "closed one", "status": "closed"}),
        json!({"id": "2", "title": "two", "dependencies": [{"depends_on_id": "1"}]}),
        json!({"id": "T1", "title": "three"}),
    ]);
    sandbox.write("i.jsonl", &text);
    let answer = sandbox.json(&["import", "beads", "i.jsonl", "--with-state", "--as", "human:ann"]);
    assert_eq!(answer["imported"], 4, "{answer}");
    let of = |item: &str| {
        let tasks = answer["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["item"] == item).unwrap();
        sandbox.json(&["task", "show", task["id"].as_str().unwrap()])["task"].clone()
    };
    assert_eq!((&of("1")["title"], &of("1")["status"]), (&json!("open one"), &json!("queued")));
    assert_eq!((&of("bd-1")["id"], &of("bd-1")["status"]), (&json!("bd-1"), &json!("done")));
    assert_eq!(of("2")["dependencies"], json!([of("1")["id"]]));
    // Its number was given to the first one by then.
    assert_eq!(of("T1")["title"], "three");
    assert_eq!(left_out(&answer), ["1: id bd-1", "T1: id T1"]);
    let again = sandbox.json(&["import", "beads", "i.jsonl", "--with-state", "--as", "human:ann"]);
    assert_eq!((&again["imported"], &again["existing"]), (&json!(0), &json!(4)));
}

#[test]
fn imports_at_the_same_time_take_everything_over_once() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    // Every tenth has an id whose number one of the first has by then.
    let id = |n: usize| if n % 10 == 9 { format!("T{}", n / 10 + 1) } else { format!("p-{n}") };
    let issue = |n: usize| {
        let said = json!([{"author": "ann", "text": "one"}, {"author": "bob", "text": "two"}]);
        json!({"id": id(n), "title": format!("p {n}"), "comments": said,
               "dependencies": [{"depends_on_id": id(n.saturating_sub(1))}]})
    };
    sandbox.write("i.jsonl", &lines(&(0..60).map(issue).collect::<Vec<_>>()));
    let running: Vec<_> = (0..4)
        .map(|n| {
            let who = format!("human:p{n}");
            sandbox.comity().args(&["--json", "import", "beads", "i.jsonl", "--as", &who]).spawn()
        })
        .collect();
    let mut imported = 0;
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (new, old) =
            (answer["imported"].as_u64().unwrap(), answer["existing"].as_u64().unwrap());
        assert_eq!(new + old, 60, "{answer}");
        imported += new;
    }
    assert_eq!(imported, 60);
    let notes = sandbox.json(&["event", "list", "--type", "note", "--limit", "500"]);
    assert_eq!(notes["events"].as_array().unwrap().len(), 120);
}

#[test]
fn what_is_blocked_over_there_is_blocked_here_whoever_imports_it() {
    let sandbox = Sandbox::new();
    sandbox.write("i.jsonl", &lines(&[json!({"id": "a", "title": "a", "status": "blocked"})]));
    sandbox.write("t.json", "{\"tasks\":[{\"id\":1,\"title\":\"t\",\"status\":\"blocked\"}]}");
    for (import, id) in
        [(["import", "beads", "i.jsonl"], "a"), (["import", "taskmaster", "t.json"], "tm-1")]
    {
        let answer = sandbox.comity().by("codex-cli").args(&import).json();
        assert_eq!(statuses(&answer), [format!("{id} blocked")]);
        assert_eq!(left_out(&answer), Vec::<String>::new());
        assert_eq!(sandbox.refused(&["task", "claim", id]), ("not-ready".to_owned(), 3));
    }
}

#[test]
fn every_dependency_that_is_lost_is_listed() {
    let sandbox = Sandbox::new();
    let mut issues: Vec<Value> =
        (0..300).map(|n| json!({"id": format!("n-{n}"), "title": "n"})).collect();
    let on: Vec<Value> = (0..300).map(|n| json!({"depends_on_id": format!("n-{n}")})).collect();
    issues.push(json!({"id": "all", "title": "all", "dependencies": on}));
    sandbox.write("i.jsonl", &lines(&issues));
    let answer = sandbox.json(&["import", "beads", "i.jsonl"]);
    assert_eq!(answer["imported"], 301);
    let kept = sandbox.json(&["task", "show", "all"])["task"]["dependencies"].clone();
    assert_eq!(kept.as_array().unwrap().len(), 200);
    assert_eq!(left_out(&answer).len(), 100);
    assert_eq!(left_out(&answer)[99], "all: dependency on n-299");
}

#[test]
fn what_changed_over_there_is_listed_field_by_field() {
    let sandbox = Sandbox::new();
    let issue = |more: Value| {
        let mut issue = json!({"id": "a", "title": "a"});
        issue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        lines(&[issue, json!({"id": "b", "title": "b"})])
    };
    sandbox.write("i.jsonl", &issue(json!({})));
    let import = ["import", "beads", "i.jsonl", "--with-state", "--as", "human:ann"];
    sandbox.json(&import);
    // What is edited here did not change over there.
    sandbox.json(&["task", "update", "a", "--title", "better", "--as", "human:ann"]);
    assert_eq!(sandbox.json(&import)["changed"], json!([]));
    let more = json!({"comments": [{"text": "new"}], "assignee": "bob", "external_ref": "gh-1",
                      "dependencies": [{"depends_on_id": "b"}]});
    sandbox.write("i.jsonl", &issue(more));
    let fields = json!(["assignee", "dependencies", "comments", "references"]);
    assert_eq!(
        sandbox.json(&import)["changed"],
        json!([{"item": "a", "id": "a", "fields": fields}])
    );
}

#[test]
fn what_an_agent_may_not_reserve_a_person_reserves_later() {
    let sandbox = Sandbox::new();
    sandbox.write("i.jsonl", &lines(&[json!({"id": "a", "title": "a", "assignee": "bob"})]));
    let import = ["import", "beads", "i.jsonl"];
    for _ in 0..2 {
        let answer = sandbox.comity().by("codex-cli").args(&import).json();
        assert_eq!(left_out(&answer), ["a: assignee bob"]);
    }
    let answer = sandbox.comity().by("human:ann").args(&import).json();
    assert_eq!(left_out(&answer), Vec::<String>::new());
    assert_eq!(sandbox.json(&["task", "show", "a"])["task"]["assignee"], "bob");
    let head = sandbox.head();
    sandbox.comity().by("human:ann").args(&import).json();
    assert_eq!(sandbox.head(), head);
}

#[test]
fn problems_come_with_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "i.jsonl",
        "{\"id\":\"a\",\"title\":\"t\"}\n{\"id\":\"b\",\"title\":\"t\",\"labels\":[1]}\n",
    );
    sandbox.write("t.json", "{\"tasks\":[\n  {\"id\":1,\"title\":\"t\",\"priority\":\"soon\"}]}");
    for (tool, file, at) in [("beads", "i.jsonl", (2, 33)), ("taskmaster", "t.json", (2, 34))] {
        let (error, exit) = sandbox.comity().args(&["import", tool, file]).refusal();
        let problem = &error["details"]["problems"][0];
        assert_eq!(exit, 2);
        assert_eq!((&problem["line"], &problem["column"]), (&json!(at.0), &json!(at.1)), "{error}");
        let said = format!("line {}, column {}, ", at.0, at.1);
        assert!(error["message"].as_str().unwrap().contains(&said), "{error}");
    }
    sandbox.write("i.jsonl", "{\"id\":\"a\",\"title\":\"t\",\"title\":\"u\"}\n");
    let (error, exit) = sandbox.comity().args(&["import", "beads", "i.jsonl"]).refusal();
    assert_eq!((exit, &error["details"]["problems"][0]["path"]), (2, &json!("title")));
}

#[test]
fn the_same_key_gives_the_first_answer_of_an_import_again() {
    let sandbox = Sandbox::new();
    sandbox.write("i.jsonl", &lines(&[json!({"id": "a", "title": "a"})]));
    let import = ["import", "beads", "i.jsonl", "--idempotency-key", "k1"];
    let first = sandbox.json(&import);
    assert_eq!(first["imported"], 1);
    assert_eq!(sandbox.json(&import), first);
    sandbox.write("i.jsonl", &lines(&[json!({"id": "b", "title": "b"})]));
    assert_eq!(sandbox.refused(&import), ("idempotency-mismatch".to_owned(), 2));
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_closed_issue_that_was_deferred_is_done_and_a_part_does_not_wait_for_its_whole() {
    let sandbox = Sandbox::new();
    let text = lines(&[
        json!({"id": "x", "title": "whole"}),
        json!({"id": "x.1", "title": "part", "dependencies": [{"depends_on_id": "x"}]}),
        json!({"id": "y", "title": "y", "status": "closed", "defer_until": "2030-01-01"}),
    ]);
    sandbox.write("i.jsonl", &text);
    let answer = sandbox.json(&["import", "beads", "i.jsonl", "--with-state", "--as", "human:ann"]);
    assert_eq!(statuses(&answer), ["x queued", "x.1 queued", "y done"]);
    assert_eq!(left_out(&answer), ["y: defer_until 2030-01-01", "x.1: dependency on x"]);
    assert_eq!(sandbox.json(&["task", "show", "x.1"])["task"]["parent"], "x");
}

#[test]
fn a_later_part_of_an_export_is_joined_to_what_an_earlier_one_became() {
    let sandbox = Sandbox::new();
    let import = |name: &str, issues: &[Value]| {
        sandbox.write(name, &lines(issues));
        sandbox.json(&["import", "beads", name, "--with-state", "--as", "human:ann"])
    };
    let on = |kind: &str, id: &str| json!({"depends_on_id": id, "type": kind});
    import(
        "1.jsonl",
        &[
            json!({"id": "bd-1", "title": "whole", "issue_type": "epic"}),
            json!({"id": "1", "title": "another id here", "status": "closed"}),
        ],
    );
    let second = [
        json!({"id": "bd-3", "title": "three", "dependencies":
               [on("blocks", "1"), on("parent-child", "bd-1"), on("blocks", "bd-9")]}),
        json!({"id": "bd-1.1", "title": "a part by its id"}),
    ];
    let answer = import("2.jsonl", &second);
    assert_eq!(left_out(&answer), ["bd-3: dependency on bd-9"]);
    let task = |id: &str| sandbox.json(&["task", "show", id])["task"].clone();
    let first = sandbox.json(&["import", "beads", "1.jsonl", "--dry-run"]);
    assert_eq!(first["existing"], 2);
    let one =
        first["tasks"].as_array().unwrap().iter().find(|t| t["item"] == "1").unwrap()["id"].clone();
    assert_eq!(
        (&task("bd-3")["dependencies"], &task("bd-3")["parent"]),
        (&json!([one]), &json!("bd-1"))
    );
    assert_eq!(task("bd-1.1")["parent"], "bd-1");
    // What was unknown is joined when it is there, and then a repeated import changes nothing.
    let head = sandbox.head();
    assert_eq!(left_out(&import("2.jsonl", &second)), ["bd-3: dependency on bd-9"]);
    assert_eq!(sandbox.head(), head);
    import("3.jsonl", &[json!({"id": "bd-9", "title": "nine"})]);
    let again = import("2.jsonl", &second);
    assert_eq!((&again["changed"], &again["left_out"]), (&json!([]), &json!([])));
    assert_eq!(task("bd-3")["dependencies"], json!([one, "bd-9"]));
    let head = sandbox.head();
    import("2.jsonl", &second);
    assert_eq!(sandbox.head(), head);
}

#[test]
fn a_tag_of_task_master_is_joined_to_what_another_file_became() {
    let sandbox = Sandbox::new();
    let import = |text: &str| {
        sandbox.write("t.json", text);
        sandbox.json(&["import", "taskmaster", "t.json", "--with-state", "--as", "human:ann"])
    };
    import("{\"tasks\":[{\"id\":1,\"title\":\"a\",\"subtasks\":[{\"id\":2,\"title\":\"b\"}]}]}");
    let more = "{\"tasks\":[{\"id\":\"2\",\"title\":\"c\",\"dependencies\":[\"1.2\",1,7]}]}";
    assert_eq!(left_out(&import(more)), ["2: dependency on 7"]);
    let task = sandbox.json(&["task", "show", "tm-2"])["task"].clone();
    assert_eq!(task["dependencies"], json!(["tm-1.2", "tm-1"]));
}

#[test]
fn work_in_review_elsewhere_that_is_sent_back_is_for_whoever_claims_it() {
    let sandbox = Sandbox::new();
    sandbox.write("t.json", "{\"tasks\":[{\"id\":3,\"title\":\"t\",\"status\":\"review\"}]}");
    sandbox.json(&["import", "taskmaster", "t.json", "--with-state", "--as", "human:ann"]);
    let task = |args: &[&str], who: &str| {
        sandbox.comity().by(who).args(&["task"]).args(args).json()["task"].clone()
    };
    assert_eq!(task(&["show", "tm-3"], "dev")["assignee"], "import:taskmaster");
    let sent_back = task(&["request-changes", "tm-3", "--reason", "no tests"], "human:ann");
    assert_eq!((&sent_back["status"], &sent_back["assignee"]), (&json!("queued"), &Value::Null));
    assert_eq!(task(&["claim"], "dev")["id"], "tm-3");
    task(&["start", "tm-3"], "dev");
    sandbox.work();
    task(&["submit", "tm-3", "--commit", "HEAD"], "dev");
    sandbox.json(&["agent", "register", "dev", "--role", "critic", "--as", "human:ann"]);
    let own = sandbox.comity().by("dev").args(&["task", "approve", "tm-3"]).refusal();
    assert_eq!(own.0["code"], "self-review");
    assert_eq!(task(&["approve", "tm-3"], "human:ann")["status"], "approved");
}

#[test]
fn a_whole_that_comes_after_its_part_is_listed_each_time() {
    let sandbox = Sandbox::new();
    let part = json!({"id": "p", "title": "p", "dependencies":
                      [{"depends_on_id": "w", "type": "parent-child"}]});
    sandbox.write("p.jsonl", &lines(&[part]));
    sandbox.write("w.jsonl", &lines(&[json!({"id": "w", "title": "w"})]));
    for file in ["p.jsonl", "w.jsonl", "p.jsonl", "p.jsonl"] {
        let answer = sandbox.json(&["import", "beads", file, "--with-state", "--as", "human:ann"]);
        let left = if file == "p.jsonl" { vec!["p: parent w".to_owned()] } else { Vec::new() };
        assert_eq!((left_out(&answer), &answer["changed"]), (left, &json!([])));
    }
    assert_eq!(sandbox.json(&["task", "show", "p"])["task"]["parent"], Value::Null);
}
