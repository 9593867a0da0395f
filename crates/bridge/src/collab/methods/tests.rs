use super::*;
use comity_api::{Door, TABLE};
use comity_project::{Asked, Machine};
use serde_json::json;

/// The methods of the tree's own server, each with parameters that it accepts.
fn calls(lock: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("collab.get_state", json!({"kind": "tasks"})),
        ("collab.list_tasks", json!({"status": "queued"})),
        ("collab.create_task", json!({"title": "Two"})),
        ("collab.update_task", json!({"id": "task-0001", "title": "Uno", "labels": ["a"]})),
        ("collab.transition_task", json!({"id": "task-0001", "new_status": "claimed"})),
        ("collab.suggest_assignee", json!({"labels": ["a"]})),
        ("collab.auto_assign", json!({"id": "task-0002"})),
        (
            "collab.link_external",
            json!({"id": "task-0001", "provider": "github", "key": "issue", "value": 7}),
        ),
        ("collab.emit_event", json!({"event": "commit_pushed"})),
        ("collab.acquire_lease", json!({"path": "b", "owner": "agent.2"})),
        ("collab.renew_lease", json!({"lock_id": lock, "owner": "agent.1"})),
        ("collab.release_lease", json!({"lock_id": lock, "owner": "agent.1"})),
        ("collab.reclaim", json!({})),
        ("collab.generate_log", json!({})),
        ("collab.list_agents", json!({})),
        ("collab.update_agent", json!({"id": "agent.3", "skills": ["rust"], "model": "x"})),
    ]
}

fn called(collab: &Collab) -> Vec<&'static str> {
    std::mem::take(&mut *collab.called.lock().unwrap())
}

#[test]
fn every_method_calls_the_handler_of_the_row_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let machine =
        Machine { cwd: dir.path().to_owned(), login: "ann".to_owned(), ..Machine::default() };
    let root = Some(dir.path().display().to_string());
    let asked = Asked { root, actor: Some("human:ann".to_owned()), ..Asked::default() };
    let context = Context::find_or_here(&machine, &asked).unwrap();
    let mut collab = Collab::open(context, None, Arc::new(|_: &str| ())).unwrap();
    let mut call = |method: &str, params: Value| {
        let Value::Object(params) = params else { panic!("{params}") };
        let answer = collab.call(method, params).unwrap().expect("there is such a method");
        (answer, called(&collab))
    };
    call("collab.create_task", json!({"title": "One"}));
    let (leased, _) = call("collab.acquire_lease", json!({"path": "a", "owner": "agent.1"}));
    let calls = calls(leased["lock_id"].as_str().unwrap());
    for (method, params) in calls.clone() {
        let (_, rows) = call(method, params);
        let names_it = |name: &&&str| {
            let row = comity_api::row(name).unwrap();
            row.doors.contains(&Door::Rpc(method))
        };
        assert!(rows.iter().any(|name| names_it(&name)), "{method} called {rows:?}");
    }
    let mut named: Vec<&str> = Vec::new();
    for door in TABLE.iter().flat_map(|row| row.doors) {
        named.extend(match door {
            Door::Rpc(method) => Some(*method),
            Door::CommandLine | Door::Mcp | Door::Http => None,
        });
    }
    named.sort_unstable();
    let mut walked: Vec<&str> = calls.iter().map(|(method, _)| *method).collect();
    walked.sort_unstable();
    assert_eq!(walked, named, "each method belongs to one row, and all were called");
}
