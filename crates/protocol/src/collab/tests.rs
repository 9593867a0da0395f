//! Golden forms of the tree, both ways, and what must hold for any input.

use super::*;
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::status::Status;
use comity_core::view::{LeaseView, TaskView};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

mod texts;

const TASKS: &str = include_str!("../../tests/golden/collab/tasks.json");
const LOCKS: &str = include_str!("../../tests/golden/collab/locks.json");
const AGENTS: &str = include_str!("../../tests/golden/collab/agents.json");
const EVENTS: &str = include_str!("../../tests/golden/collab/events.jsonl");
const LOG: &str = include_str!("../../tests/golden/collab/log.md");

/// A task as comity has it, with the fields that the tree shows.
fn task(record: &Map<String, Value>) -> TaskView {
    let patch = Patch::read(record).unwrap();
    let new = patch.new_task(None);
    let status = patch.status.unwrap_or(Status::Queued);
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let dod: Vec<Value> = new
        .dod
        .iter()
        .map(|text| json!({"text": text, "state": "open", "by": null, "at": null}))
        .collect();
    let mut context = new.context.clone();
    let created = text("created_at").filter(|time| !time.is_empty());
    if let Some(Value::Object(extras)) = context.get_mut(EXTRAS) {
        extras.extend(created.clone().map(|time| ("created_at".to_owned(), json!(time))));
    }
    let mut view = json!({
        "id": text("id"), "number": 1, "version": 1, "repo": "r", "title": new.title,
        "description": new.description, "type": null, "complexity": null, "deliverable": "code",
        "status": status, "priority": new.priority.unwrap_or(comity_core::task::Priority::DEFAULT),
        "labels": new.labels, "role": null, "assignee": new.assignee, "reviewer": null,
        "fence": null, "dependencies": new.depends_on, "blockers": new.blockers, "files": [],
        "branch": text("branch"), "commit": null, "pr": null, "merged_sha": null, "round": 0,
    });
    let rest = json!({
               "requirements": [], "dod": dod, "gates": [],
        "constraints": {"max_files": null, "no_git_commit": false, "no_new_deps": false, "allow_delete": []},
        "context": context, "timeout_seconds": 0, "attempts": 0, "max_attempts": 3,
        "needs": text("needs"), "epic": null, "prd": null, "initiative": null, "parent": null,
        "external_ids": record.get("external_ids").cloned().unwrap_or(json!({})),
        "subtasks": [], "decisions": [], "retry_at": null, "claim": null, "created_by": "human:ann",
        "created_at": created, "updated_at": text("updated_at"),
    });
    view.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    serde_json::from_value(view).unwrap()
}

fn entries(kind: StateFile, text: &str) -> Vec<Map<String, Value>> {
    let value = read(kind, text).unwrap();
    value[kind.list()].as_array().unwrap().iter().map(|e| e.as_object().unwrap().clone()).collect()
}

#[test]
fn the_example_of_tasks_reads_and_writes_back_byte_for_byte() {
    let records: Vec<_> =
        entries(StateFile::Tasks, TASKS).iter().map(|r| task_record(&task(r))).collect();
    let template = read(StateFile::Tasks, TASKS).unwrap();
    let over = document(StateFile::Tasks, Some(&template), records, &|_| true);
    assert_eq!(pretty(&over), TASKS);
}

#[test]
fn a_new_file_has_the_keys_in_the_order_in_which_a_task_is_created() {
    let record = entries(StateFile::Tasks, TASKS).remove(0);
    let fresh = document(StateFile::Tasks, None, vec![task_record(&task(&record))], &|_| true);
    let keys: Vec<&String> = fresh["tasks"][0].as_object().unwrap().keys().collect();
    let wanted = [
        "id",
        "title",
        "description",
        "status",
        "assignee",
        "priority",
        "labels",
        "dependencies",
        "blockers",
        "branch",
        "created_at",
        "updated_at",
        "dod",
        "needs",
    ];
    assert_eq!(keys, wanted);
    assert!(
        pretty(&fresh).starts_with("{\n  \"version\": 1,\n  \"tasks\": [\n    {\n      \"id\"")
    );
}

#[test]
fn what_is_empty_has_the_tag_of_nothing() {
    assert_eq!(etag(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn locks_and_agents_read_and_write_back_byte_for_byte() {
    let lock = &entries(StateFile::Locks, LOCKS)[0];
    let found = read_lock(lock, 0, LOCKS).unwrap();
    assert_eq!(
        (found.path.as_str(), found.owner.as_str()),
        ("src/queue/runner.py", "agent.impl.1")
    );
    let view: LeaseView = serde_json::from_value(json!({
        "lock_id": "L26426", "repo": "r", "path": found.path, "mode": "exclusive", "owner": found.owner,
        "purpose": found.purpose, "fence": 1, "acquired_at": "2025-09-03T10:00:00Z",
        "ttl_seconds": 900, "heartbeat_at": found.alive, "expires_at": found.alive,
    }))
    .unwrap();
    let text =
        pretty(&document(StateFile::Locks, None, vec![lock_record(&view, None)], &|_| false));
    assert_eq!(text, LOCKS);
    for (n, record) in entries(StateFile::Agents, AGENTS).iter().enumerate() {
        let command = read_agent_at(record, record["id"].as_str().unwrap(), n, AGENTS).unwrap();
        let Command::AgentDescribe { id, roles, skills, about } = command else { panic!() };
        let agent = comity_core::agent::Agent {
            id,
            roles,
            skills: skills.unwrap_or_default(),
            registered_at: Timestamp::default(),
            about,
        };
        let seen = Timestamp::parse(record["last_seen"].as_str().unwrap());
        assert_eq!(&agent_record(&agent, "away", seen), record);
    }
}

#[test]
fn a_renewed_lease_is_not_stale_by_the_test_of_the_trees_own_tools() {
    let view: LeaseView = serde_json::from_value(json!({
        "lock_id": "L1", "repo": "r", "path": "a", "mode": "exclusive", "owner": "x", "purpose": null,
        "fence": 1, "acquired_at": "2025-09-03T10:00:00Z", "ttl_seconds": 900,
        "heartbeat_at": "2025-09-03T12:00:00.400Z", "expires_at": "2025-09-03T12:15:00.400Z",
    }))
    .unwrap();
    let record = lock_record(&view, None);
    assert_eq!(record["acquired_at"], "2025-09-03T12:00:00Z");
    assert_eq!(
        (&record["heartbeat_at"], &record["ttl_seconds"]),
        (&json!("2025-09-03T12:00:00Z"), &json!(900))
    );
    assert_eq!(
        (record["lock_id"].as_str(), record["purpose"].as_str()),
        (Some("L-00000001"), Some(""))
    );
}

#[test]
fn both_forms_of_a_lease_id_read_and_no_other() {
    use comity_core::ids::LeaseId;
    assert_eq!(parse_lock_id("L-0000001f"), Some(LeaseId(31)));
    assert_eq!(parse_lock_id("L31"), Some(LeaseId(31)));
    for bad in ["", "L", "L-", "L-673a", "L-0000001F", "L-00000000", "31", "L-zzzzzzzz"] {
        assert_eq!(parse_lock_id(bad), None, "{bad}");
    }
}

#[test]
fn events_are_written_with_the_event_first_the_time_last_and_spaces_between() {
    let tags = |_: StateFile| Some(Etags { prev: "a".to_owned(), new: "b".to_owned() });
    let written = |event: Value| line(&Value::Object(event_line(&event, &tags)));
    let header = |name: &str, task: Value| {
        json!({"seq": 7, "ts": "2025-09-03T10:41:00.123Z", "event": name, "v": 1, "repo": "r",
            "agent": "x", "task": task})
    };
    let with = |name: &str, task: Value, fields: Value| {
        let mut event = header(name, task);
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
            .as_object_mut()
            .unwrap()
            .extend(json!({"prev": "0", "hash": "1"}).as_object().unwrap().clone());
        event
    };
    let mut lines = String::new();
    for event in [
        with("task_created", json!("T-142"), json!({"number": 1, "title": "t", "assignee": null})),
        with(
            "status_changed",
            json!("T-142"),
            json!({"old_status": "queued", "new_status": "claimed", "reason": null}),
        ),
        with(
            "file_locked",
            json!(null),
            json!({"lock_id": "L9", "path": "a b", "mode": "exclusive",
            "owner": "o", "purpose": "T-142", "claim_of": null, "fence": 7, "ttl": 900_000}),
        ),
        with(
            "lease_released",
            json!(null),
            json!({"lock_id": "L9", "path": "a b", "owner": "o", "claim_of": null, "reason": null}),
        ),
        with(
            "tests_run",
            json!("T-142"),
            json!({"reported": true, "result": "pass", "notes": "größer",
            "reported_ts": "2025-09-03T11:02:33Z", "reported_agent": "y"}),
        ),
    ] {
        lines.push_str(&written(event));
        lines.push('\n');
    }
    assert_eq!(lines, EVENTS);
}

#[test]
fn the_log_has_a_section_a_task_with_what_is_known_and_a_timeline() {
    let events: Vec<Map<String, Value>> =
        EVENTS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let loose = json!({"event": "note", "notes": "# not a\nheading", "ts": "2025-09-03T12:00:00Z"});
    let claimed = json!({"event": "task_claimed", "task": "T-142", "assignee": "agent.impl.1",
        "branch": "feat/T-142-x", "ts": "2025-09-03T10:41:00Z"});
    let mut all = events;
    all.extend([loose, claimed].map(|event| event.as_object().unwrap().clone()));
    assert_eq!(log(&all, "2025-09-04T00:00:00Z", &BTreeMap::new()), LOG);
}

#[test]
fn how_a_task_stands_is_what_is_known_of_it_and_not_what_a_line_says() {
    let said = json!({"event": "status_changed", "task": "T1", "new_status": "done", "reported": true,
        "ts": "2025-09-04T00:00:00Z"});
    let known = Known { status: "queued".to_owned(), ..Known::default() };
    let known = BTreeMap::from([("T1".to_owned(), known)]);
    let events = [said.as_object().unwrap().clone()];
    let text = log(&events, "now", &known);
    assert!(text.contains("- Status: queued\n"), "{text}");
    assert!(text.contains("- 2025-09-04T00:00:00Z status_changed (reported)\n"), "{text}");
    assert!(!log(&events, "now", &BTreeMap::new()).contains("Status"));
}

#[test]
fn a_change_of_an_agent_has_the_name_and_the_agent_that_its_own_tools_write() {
    let event = json!({"event": "agent_described", "agent": "front-end", "id": "codex", "about": {},
        "seq": 3, "ts": "2025-09-03T10:41:00Z"});
    let line = event_line(&event, &|_| None);
    assert_eq!((&line["event"], &line["agent"]), (&json!("agent_updated"), &json!("codex")));
    assert_eq!(line["actor"], "front-end");
    let first = json!({"event": "agent_registered", "agent": "codex", "id": "codex", "seq": 1});
    assert_eq!(event_line(&first, &|_| None)["event"], "agent_registered");
}

#[test]
fn a_problem_says_line_column_and_path() {
    let broken = "{\n  \"version\": 1,\n  \"tasks\": [\n    {\"id\": \"a\"},,\n  ]\n}\n";
    let problem = &read(StateFile::Tasks, broken).unwrap_err()[0];
    assert_eq!((problem.line, problem.column), (4, 17), "{problem}");
    let text = "{\n  \"tasks\": [\n    {\"id\": \"a\", \"title\": \"x\"},\n    {\"id\": \"b\",\n     \"labels\": 7}\n  ]\n}\n";
    let value = read(StateFile::Tasks, text).unwrap();
    let record = value["tasks"][1].as_object().unwrap();
    let problem = &Patch::read_at(record, 1, text).unwrap_err()[0];
    assert_eq!(problem.to_string(), "line 5, column 16: tasks[1].labels: must be a list of texts");
    let twice = r#"{"tasks": [{"id": "a"}, {"id": "a"}, 3, {}]}"#;
    let said: Vec<String> =
        read(StateFile::Tasks, twice).unwrap_err().iter().map(|p| p.path.clone()).collect();
    assert_eq!(said, ["tasks[1].id", "tasks[2]", "tasks[3]"]);
}

#[test]
fn the_tree_of_the_successor_is_recognised_and_not_read() {
    let praxis = r#"[{"resourceId": "a", "agentId": "x", "expiresAt": 1}]"#;
    let problem = &read(StateFile::Locks, praxis).unwrap_err()[0];
    assert!(problem.message.contains("kyros-praxis"), "{problem}");
}

#[test]
fn a_lock_with_a_time_that_cannot_be_read_is_a_problem() {
    let text =
        r#"{"locks": [{"lock_id": "L-1", "path": "a", "owner": "x", "acquired_at": "soon"}]}"#;
    let lock = &entries(StateFile::Locks, text)[0];
    let problem = &read_lock(lock, 0, text).unwrap_err()[0];
    assert_eq!((problem.path.as_str(), problem.column), ("locks[0].acquired_at", 73));
}

#[test]
fn an_edit_is_seen_against_the_export_it_was_made_on() {
    let base =
        json!({"tasks": [{"id": "a", "title": "1", "updated_at": "x"}, {"id": "b", "title": "2"}]});
    let file =
        json!({"tasks": [{"id": "c", "title": "3"}, {"id": "a", "title": "9", "updated_at": "y"}]});
    let found = edits(StateFile::Tasks, &base, &file);
    assert_eq!(found.len(), 3);
    assert!(matches!(&found[0], Edit::Added(0, entry) if entry["id"] == "c"));
    assert!(matches!(&found[1], Edit::Changed(Change { id, place: 1, values, was, .. })
        if id == "a" && values.len() == 1 && values["title"] == "9" && was["title"] == "1"));
    assert!(matches!(&found[2], Edit::Missing(id, _) if id == "b"));
    assert_eq!(distance(StateFile::Tasks, &base, &file), 4);
    assert_eq!(distance(StateFile::Tasks, &base, &base), 0);
}

#[test]
fn the_stamp_of_an_entry_names_the_export_it_was_made_on() {
    let value = |time: &str, title: &str, text: &str| {
        let value = json!({"id": "a", "updated_at": time, "title": title, "description": text});
        value.as_object().unwrap().clone()
    };
    let all: Vec<_> = (0..100).map(|n| value(&format!("t{n}"), "A", &format!("d{n}"))).collect();
    let all: Vec<&Map<String, Value>> = all.iter().collect();
    let old = value("t0", "B", "d0");
    assert_eq!(base(StateFile::Tasks, &all, &old).unwrap()["description"], "d0");
    // A tool that sets its own time read what is nearest, the newest of equals.
    let now = value("now", "B", "d7");
    assert_eq!(base(StateFile::Tasks, &all, &now).unwrap()["description"], "d7");
    assert_eq!(
        base(StateFile::Tasks, &all, &value("now", "A", "x")).unwrap()["description"],
        "d99"
    );
    // Within one second it is the nearest; where that cannot be told, what changed in between is a conflict.
    let [a, b] = [value("t", "A", "d"), value("t", "B", "d")];
    let both = [&a, &b];
    assert_eq!(base(StateFile::Tasks, &both, &value("t", "B", "e")).unwrap()["title"], "B");
    assert_eq!(base(StateFile::Tasks, &both, &value("t", "C", "d")).unwrap()["title"], "A");
    assert_eq!(base(StateFile::Tasks, &[], &a), None);
}

fn stamped(at: &str, title: &str, text: &str) -> Map<String, Value> {
    let value = json!({"id": "a", "title": title, "description": text,
        "updated_at": format!("2026-01-01T00:00:0{at}Z")});
    value.as_object().unwrap().clone()
}

#[test]
fn a_stamp_after_the_newest_value_sets_an_older_one_again() {
    let known = [stamped("1", "A", "d"), stamped("2", "B", "d"), stamped("3", "C", "d")];
    let known: Vec<&Map<String, Value>> = known.iter().collect();
    let of = |entry: Map<String, Value>| {
        base(StateFile::Tasks, &known, &entry).unwrap()["title"].clone()
    };
    assert_eq!(of(stamped("9", "A", "d")), "C", "it is set back, just now");
    assert_eq!(of(stamped("9", "A", "new")), "A", "somebody had read it long ago");
    assert_eq!(of(stamped("0", "A", "d")), "A", "an old copy, of an export that is forgotten");
    assert_eq!(of(stamped("1", "A", "d")), "A");
    let mut bare = stamped("1", "B", "d");
    bare.shift_remove("updated_at");
    assert_eq!(of(bare), "B");
}

#[test]
fn an_agent_that_was_seen_later_is_an_edit_and_an_earlier_sight_is_none() {
    let at = |seen: Value| json!({"agents": [{"id": "a", "last_seen": seen}]});
    let heard =
        |before: Value, after: Value| edits(StateFile::Agents, &at(before), &at(after)).len();
    let [early, late] = [json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:05:00Z")];
    assert_eq!(heard(early.clone(), late.clone()), 1);
    assert_eq!(heard(Value::Null, early.clone()), 1);
    assert_eq!(heard(late.clone(), early), 0);
    assert_eq!(heard(late.clone(), json!("soon")) + heard(late, Value::Null), 0);
}

#[test]
fn what_may_be_set_back_on_purpose_is_doubtful() {
    let keys = |base: &Map<String, Value>, entry: &Map<String, Value>| {
        let newest = stamped("3", "C", "d");
        let found = doubtful(StateFile::Tasks, &newest, base, entry);
        found.into_iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
    };
    let old = stamped("1", "A", "d");
    assert_eq!(keys(&old, &old), [""; 0], "an old copy");
    assert_eq!(keys(&old, &stamped("9", "A", "new")), ["title"], "the description is an edit");
    let same = stamped("3", "A", "d");
    assert_eq!(keys(&same, &same), ["title"], "changed twice within a second");
    let mut bare = old;
    bare.shift_remove("updated_at");
    assert_eq!(keys(&bare, &bare), ["title"]);
}

#[test]
fn what_a_reader_would_change_without_a_word_is_a_problem() {
    let twice = "{\"tasks\": [{\"id\": \"a\"}],\n \"tasks\": []}";
    assert_eq!(
        read(StateFile::Tasks, twice).unwrap_err()[0].to_string(),
        "line 2, column 2: tasks: the object has the key \"tasks\" twice"
    );
    let large = "{\"tasks\": [{\"id\": \"a\", \"x\": [1, {\"n\": 18446744073709551616}]}]}";
    let kept = read(StateFile::Tasks, large).unwrap();
    assert_eq!(line(&kept), large, "a large integer stays what it is");
    for fine in ["18446744073709551615", "-9223372036854775808", "1e400000", "0.5", "-0"] {
        let text = format!("{{\"tasks\": [], \"n\": {fine}, \"m\": \"{fine}\\\"}}{{,\"}}");
        let said = read(StateFile::Tasks, &text).map_err(|problems| problems[0].message.clone());
        assert!(said.as_ref().is_ok() || said.unwrap_err().contains("out of range"), "{fine}");
    }
    let problem = &read_bytes(StateFile::Tasks, b"{\n \"x\xff\"}").unwrap_err()[0];
    assert_eq!(problem.to_string(), "line 2, column 4: the file is not UTF-8");
}

#[test]
fn a_new_task_without_a_title_is_a_problem_with_its_place() {
    let text = "{\"tasks\": [\n  {\"id\": \"a\"}]}";
    let problem = &Patch::read_new_at(&entries(StateFile::Tasks, text)[0], 0, text).unwrap_err()[0];
    assert_eq!(problem.to_string(), "line 2, column 3: tasks[0].title: a has no title");
}

#[test]
fn references_keep_the_form_that_they_were_given_in() {
    let given =
        json!({"github": {"issue": 87, "prs": [1, 2], "sha": "x", "old": null}, "jira": "J-1"});
    let mut record = entries(StateFile::Tasks, TASKS).remove(0);
    record.insert("external_ids".to_owned(), given.clone());
    let patch = Patch::read(&record).unwrap();
    let mut view = task(&record);
    view.external_ids = json!({"github": {"issue": "87", "sha": "x"}}).as_object().unwrap().clone();
    assert_eq!(task_record(&view)["external_ids"], given);
    let links: Vec<_> = patch.new_task(None).links.into_iter().map(|l| (l.key, l.value)).collect();
    assert_eq!(links, [("issue".into(), "87".into()), ("sha".into(), "x".into())]);
    // Linked anew, the number that was kept says nothing any more.
    view.external_ids["github"]["issue"] = json!("88");
    assert_eq!(task_record(&view)["external_ids"]["github"]["issue"], "88");
    let emptied = Patch::read(json!({"external_ids": {}}).as_object().unwrap()).unwrap();
    assert_eq!(emptied.lost_references(&view), ["github.issue", "github.sha"]);
}

#[test]
fn what_is_needed_is_changed_while_blocked_and_kept_otherwise() {
    let mut view = task(&entries(StateFile::Tasks, TASKS).remove(1));
    let patch = Patch::read(json!({"needs": "two keys"}).as_object().unwrap()).unwrap();
    let actor = AgentId::parse("x").unwrap();
    let change = |view: &TaskView| match patch.commands(view, &actor, None).remove(0) {
        Command::UpdateTask { changes, .. } => *changes,
        other => panic!("{other:?}"),
    };
    assert_eq!(change(&view).needs.as_deref(), Some("two keys"));
    view.status = Status::Abandoned;
    view.needs = None;
    let context = change(&view).context.unwrap();
    assert_eq!(context[EXTRAS]["needs"], "two keys");
    view.context = context;
    assert_eq!(task_record(&view)["needs"], "two keys");
}

/// Found by fuzzing: a long number came back as its neighbour.
#[test]
fn a_number_is_read_back_as_it_was_written() {
    let text = r#"{"version": 1, "tasks": [{"id": "T-142", "estimate": {"hours": 1111111111111111111112.5}}]}"#;
    let value = read(StateFile::Tasks, text).unwrap();
    let again = read(StateFile::Tasks, &pretty(&value)).unwrap();
    assert_eq!(again, value);
}

#[test]
fn a_key_that_is_null_is_kept_and_one_that_is_gone_is_taken_away() {
    let mut view = task(&entries(StateFile::Tasks, TASKS).remove(1));
    let actor = AgentId::parse("x").unwrap();
    let mut patch = Patch::read(json!({"foo": null}).as_object().unwrap()).unwrap();
    assert_eq!(patch.without(&["estimate".to_owned(), "labels".to_owned()]), ["labels"]);
    let Command::UpdateTask { changes, .. } = patch.commands(&view, &actor, None).remove(0) else {
        panic!()
    };
    view.context = changes.context.unwrap();
    let record = task_record(&view);
    assert_eq!((record.get("foo"), record.get("estimate")), (Some(&Value::Null), None));
}

#[test]
fn a_claim_goes_to_whoever_is_named() {
    let view = task(&entries(StateFile::Tasks, TASKS).remove(0));
    let said = json!({"status": "in_progress", "assignee": "x"});
    let patch = Patch::read(said.as_object().unwrap()).unwrap();
    let commands = |actor: &str| patch.commands(&view, &AgentId::parse(actor).unwrap(), None);
    assert!(matches!(commands("x").as_slice(), [Command::Transition { .. }]));
    let [Command::Claim(wish)] = &commands("human:ann")[..] else { panic!() };
    assert!(wish.start);
    assert_eq!(wish.owner.as_ref().map(AgentId::as_str), Some("x"));
}

#[test]
fn commands_of_a_patch_go_through_the_rules() {
    let actor = AgentId::parse("human:ann").unwrap();
    let record = entries(StateFile::Tasks, TASKS).remove(0);
    let view = task(&record);
    assert!(
        Patch::read(&record).unwrap().commands(&view, &actor, None).is_empty(),
        "the same is no change"
    );
    let patch = json!({"id": "T-142", "status": "claimed", "title": "New", "priority": "urgent", "foo": 1,
        "dependencies": ["T-9"], "external_ids": {"github": {"issue": 7}}, "assignee": "x"});
    let commands =
        Patch::read(patch.as_object().unwrap()).unwrap().commands(&view, &actor, Some("why"));
    let names: Vec<&str> = commands
        .iter()
        .map(|command| match command {
            Command::Claim(_) => "claim",
            Command::Depend { remove: false, .. } => "depend",
            Command::Depend { remove: true, .. } => "free",
            Command::Link { value, .. } if value == "7" => "link",
            Command::UpdateTask { .. } => "update",
            _ => "?",
        })
        .collect();
    assert_eq!(names, ["claim", "depend", "free", "link", "update"]);
    let Some(Command::UpdateTask { changes, .. }) = commands.last() else { panic!() };
    assert_eq!(
        changes.context.as_ref().unwrap()[EXTRAS],
        json!({
        "foo": 1, "priority": "urgent", "external_ids": {"github": {"issue": 7}}})
    );
    let bad = json!({"status": "finished"});
    assert_eq!(Patch::read(bad.as_object().unwrap()).unwrap_err()[0].1, "Invalid status");
}

#[test]
fn the_older_form_of_events_is_rewritten() {
    let rewrite = |event: Value| normal_event(event.as_object().unwrap().clone());
    for (old, name) in [
        (json!({"kind": "task", "action": "in_progress", "task": "t"}), "status_changed"),
        (json!({"kind": "pr", "action": "opened", "pr_number": 7}), "pr_opened"),
        (json!({"kind": "test", "action": "completed", "result": "pass"}), "tests_run"),
        (json!({"kind": "review", "action": "requested"}), "review_requested"),
        (json!({"kind": "review", "action": "approved"}), "approved"),
        (json!({"kind": "merge", "action": "completed"}), "merged"),
    ] {
        let Legacy::Rewritten(event) = rewrite(old) else { panic!("{name}") };
        assert_eq!(event["event"], name);
    }
    assert!(matches!(rewrite(json!({"event": "x"})), Legacy::Fine(_)));
    assert!(
        matches!(rewrite(json!({"kind": "x"})), Legacy::Unknown(event) if event["kind"] == "x")
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof![
            "[a-z_]{1,8}",
            Just("tasks".to_owned()),
            Just("id".to_owned()),
            Just("status".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|list| Value::Object(list.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_garbage_never_panics(text in ".{0,200}") {
        for kind in StateFile::ALL {
            let _ = read(kind, &text);
        }
        let _ = read_v1(text.as_bytes());
        let _ = check_commit_message(&text);
        let _ = parse_lock_id(&text);
    }

    #[test]
    fn nor_does_reading_json_of_any_shape(value in any_json()) {
        let text = pretty(&value);
        for kind in StateFile::ALL {
            if let Ok(document) = read(kind, &text) {
                let _ = edits(kind, &document, &value);
            }
        }
        let _ = read_v1(text.as_bytes());
        if let Value::Object(record) = &value {
            let _ = Patch::read_at(record, 3, &text);
            let _ = read_lock(record, 0, &text);
            let _ = normal_event(record.clone());
            let _ = log(std::slice::from_ref(record), "now", &BTreeMap::new());
            let _ = board(std::slice::from_ref(record), "now");
        }
        let _ = event_line(&value, &|_| None);
    }

    #[test]
    fn a_document_reads_back_as_it_was_written(value in any_json()) {
        prop_assert_eq!(&serde_json::from_str::<Value>(&pretty(&value)).unwrap(), &value);
        prop_assert_eq!(&serde_json::from_str::<Value>(&line(&value)).unwrap(), &value);
    }

    #[test]
    fn unknown_keys_and_their_order_are_kept(extra in proptest::collection::btree_map("x_[a-z]{1,6}", any_json(), 0..4), first in any::<bool>()) {
        let mut record = entries(StateFile::Tasks, TASKS).remove(0);
        let extras = extra.into_iter().filter(|(_, value)| !value.is_null());
        if first {
            let mut moved: Map<String, Value> = extras.collect();
            moved.extend(record);
            record = moved;
        } else {
            record.extend(extras);
        }
        let template = json!({"tasks": [record.clone()], "version": 1, "note": "kept"});
        let over = document(StateFile::Tasks, Some(&template), vec![task_record(&task(&record))], &|_| true);
        prop_assert_eq!(pretty(&over), pretty(&template));
    }
}
