//! The table of operations against what the engine does.

use crate::support::{World, caller, claim, request, start, submit};
use comity_api::{Kind, Row, TABLE};
use comity_core::command::{Command, NewRun, TaskVerb};
use comity_core::observed::{
    ClaimSeen, GateSeen, LandingSeen, LeaseSeen, MergeSeen, Observed, RunReport, RunSeen, TreeSeen,
    WorkSeen,
};
use comity_core::refusal::Code;
use comity_core::role::{Role, Verb};
use comity_core::run::Stage;
use comity_core::task::Tier;
use comity_engine::{Handlers, register};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn handlers(world: &World) -> Handlers {
    let mut handlers = Handlers::default();
    register(&world.engine, &mut handlers);
    handlers
}

#[test]
fn help_is_one_imperative_sentence_without_a_full_stop() {
    for row in TABLE {
        let first = row.help.split(' ').next().unwrap_or_default();
        let capital = first.chars().next().is_some_and(char::is_uppercase);
        assert!(capital && !row.help.ends_with('.') && !row.help.contains(". "), "{}", row.help);
        // "Creates", "Listing" and "The" say what it is, not what to do.
        let imperative = !first.ends_with("es") && !first.ends_with("ing") && first != "The";
        assert!(imperative && row.help.len() <= 100, "{}: {:?}", row.name, row.help);
    }
}

/// Fields that a door observes. A caller that could say them could claim what nobody has seen.
const OBSERVED: [&str; 45] = [
    "observed",
    "claim",
    "work",
    "merge",
    "unseen",
    "contains",
    "written_by_comity",
    "new_dependencies",
    "is_on_branch",
    "shared_with",
    "task_version",
    "commit_seen",
    "branch_seen",
    "found",
    "containment",
    "contained",
    "violations",
    "land_rule",
    "tier",
    "via",
    "client",
    "session",
    "login",
    "host",
    "workspace",
    "actor",
    "rules",
    "outside",
    "check",
    "dead",
    "as_submitted",
    "is_other_command",
    "is_ambiguous",
    "exit_code",
    "config_hash",
    "duration_ms",
    "output_tail",
    "terminal",
    "landing",
    "judged_by",
    "changed",
    "commits",
    "snapshot",
    "added",
    "tree",
];

/// Every field of what a door saw is in the list above, or is named here with the reason why callers may say the same word.
#[test]
fn what_a_door_observes_is_a_closed_list() {
    let Observed {
        claim: _,
        work: _,
        merge: _,
        lease: _, // a lease that a caller names by its id
        unseen: _,
        run: _,   // a run that a caller names by its id
        gates: _, // the gates that a task requires
        rules: _,
        landing: _,
        outside: _,
        check: _,
        plan: _, // a plan of tasks, in words
        dead: _,
        steps: _, // the steps of one command
    } = Observed::default();
    let nothing = String::new;
    let report = RunReport {
        exit_code: 0,
        duration_ms: 0,
        command: nothing(),
        config_hash: nothing(),
        output_tail: nothing(),
    };
    let RunReport {
        exit_code: _,
        duration_ms: _,
        command: _, // the command that an agent is started with
        config_hash: _,
        output_tail: _,
    } = report;
    let RunSeen {
        is_other_command: _,
        tree: _,
        report: _, // what the caller says where the evidence is
    } = RunSeen { is_other_command: false, tree: TreeSeen::Fresh, report: None };
    let GateSeen {
        gate: _, // the gate that evidence is for
        tier: _,
        report: _, // as above
        run: _,    // as above
    } = GateSeen { gate: nothing(), tier: Tier::Claimed, report: None, run: report };
    let LandingSeen {
        work: _,
        merged: _, // the commit that the caller says has the work; git is asked
        judged_by: _,
    } = LandingSeen { work: nothing(), merged: nothing(), judged_by: None };
    what_git_says_is_a_closed_list();
}

fn what_git_says_is_a_closed_list() {
    let nothing = String::new;
    let ClaimSeen {
        base: _, // what the caller wants compared, and the branch of a run
        head: _, // the commit that a run or a check ends with
    } = ClaimSeen { base: nothing(), head: None };
    let LeaseSeen { changed: _, is_ambiguous: _ } = LeaseSeen::default();
    let WorkSeen {
        task_version: _,
        commit: _, // the commit that the caller hands in; git is asked
        branch: _, // the branch that the caller hands in; git is asked
        base: _,   // as above
        files: _,  // the files that a task declares
        as_submitted: _,
        written_by_comity: _,
        commits: _,
        new_dependencies: _,
        snapshot: _,
        is_on_branch: _,
        shared_with: _,
    } = WorkSeen::default();
    let MergeSeen {
        task_version: _,
        merged: _, // as above
        contains: _,
        added: _,
        files: _,   // as above
        subject: _, // what a step of the supervisor is about
    } = MergeSeen {
        task_version: 0,
        merged: nothing(),
        contains: true,
        added: Vec::new(),
        files: Vec::new(),
        subject: None,
    };
}

fn properties(schema: &Value, path: &str, out: &mut Vec<(String, String)>) {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("properties").and_then(Value::as_object);
            for (name, field) in own.into_iter().flatten() {
                let path = format!("{path}.{name}");
                out.push((path.clone(), name.clone()));
                properties(field, &path, out);
            }
            let others = fields.iter().filter(|(key, _)| key.as_str() != "properties");
            others.for_each(|(_, part)| properties(part, path, out));
        }
        Value::Array(parts) => parts.iter().for_each(|part| properties(part, path, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_input_reaches_what_a_door_observes() {
    let mut reached = Vec::new();
    for row in TABLE {
        let mut all = Vec::new();
        properties((row.input)().as_value(), row.name, &mut all);
        reached.extend(all.into_iter().filter(|(_, name)| OBSERVED.contains(&name.as_str())));
    }
    let paths: Vec<String> = reached.into_iter().map(|(path, _)| path).collect();
    assert!(paths.is_empty(), "a caller can say {paths:?}");
}

/// Objects where a caller may write any field: `context`, `event`, `about`, `meta` and `other` are free in form; the others are
/// written into events as they are, which later versions may extend. What comity does not know it does not read.
const FREE: [&str; 9] =
    ["context", "event", "other", "links", "files_modified", "log", "issues", "about", "meta"];

#[test]
fn an_input_takes_no_field_that_its_schema_does_not_name() {
    let mut open = Vec::new();
    for row in TABLE {
        open_objects((row.input)().as_value(), row.name, &mut open);
    }
    assert!(open.is_empty(), "{open:?}");
}

fn open_objects(schema: &Value, path: &str, out: &mut Vec<String>) {
    let Value::Object(fields) = schema else { return };
    let last = path.rsplit('.').next().unwrap_or_default();
    let is_object = fields.get("type").is_some_and(|kind| kind.to_string().contains("object"));
    let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
    if is_object && !closed && !FREE.contains(&last) {
        out.push(path.to_owned());
    }
    let own = fields.get("properties").and_then(Value::as_object);
    for (name, field) in own.into_iter().flatten() {
        open_objects(field, &format!("{path}.{name}"), out);
    }
    for key in ["items", "anyOf", "oneOf", "allOf"] {
        match fields.get(key) {
            Some(Value::Array(parts)) => {
                parts.iter().for_each(|part| open_objects(part, path, out));
            }
            Some(part) => open_objects(part, path, out),
            None => {}
        }
    }
}

/// A world with one task in each state that the verbs need, and an observer.
fn busy_world() -> World {
    let mut world = World::memory();
    world.register("watcher", Role::Observer);
    world.register("critic", Role::Critic);
    for id in ["queued", "claimed", "review", "approved", "merging", "failed", "blocked", "done"] {
        world.create(id, |new| {
            new.id = Some(format!("T-{id}"));
            match id {
                "claimed" => new.dod = vec!["a test".to_owned()],
                "review" => new.gates = vec!["tests".to_owned()],
                _ => {}
            }
        });
    }
    let all = ["claimed", "review", "approved", "merging", "failed"];
    for id in all.map(|id| format!("T-{id}")) {
        world.run("worker", claim(&id));
        world.run("worker", start(&id));
    }
    let reason = || Some("a reason".to_owned());
    for id in ["T-review", "T-approved", "T-merging"] {
        world.run("worker", submit(id, "abcdef1"));
    }
    for id in ["T-approved", "T-merging"] {
        world.run("critic", TaskVerb::Approve.on(id.to_owned(), reason()));
    }
    world.run("human:ann", TaskVerb::Merge.on("T-merging".to_owned(), reason()));
    world.run("worker", TaskVerb::Fail.on("T-failed".to_owned(), reason()));
    // Who gives up too often leaves a question to a planner.
    while world.status("T-blocked") != "blocked" {
        world.run("worker", claim("T-blocked"));
        world.run("worker", start("T-blocked"));
        world.run("worker", TaskVerb::Fail.on("T-blocked".to_owned(), reason()));
        if world.status("T-blocked") == "failed" {
            let id = "T-blocked".to_owned();
            world.run("human:ann", TaskVerb::Requeue.on(id, reason()));
        }
    }
    world.run("human:ann", TaskVerb::Abandon.on("T-done".to_owned(), reason()));
    let directive = json!({"text": "Be brief", "trigger": "idle"});
    world.engine_json("human:ann", "directive.create", directive);
    world.create("at work", |new| new.id = Some("T-run".to_owned()));
    world.run("human:ann", Command::RunDispatch(Box::new(a_run("T-run"))));
    world
}

fn a_run(task: &str) -> NewRun {
    NewRun {
        agent: "developer".to_owned(),
        task: Some(task.to_owned()),
        new_task: None,
        stage: Stage::Develop,
        writable: true,
        driver: "script".to_owned(),
        model: None,
        branch: None,
        base: None,
        meta: Map::new(),
        prompt_sha256: String::new(),
        prompt_bytes: 0,
        sandbox: None,
        labels: Vec::new(),
        resumed_from: None,
        parent: None,
        rule: None,
        max_cost: None,
        skip_design: None,
    }
}

impl World {
    fn engine_json(&self, actor: &str, name: &str, input: Value) -> Value {
        let answer = handlers(self).call(name, &caller(actor), input);
        answer.unwrap_or_else(|refusal| panic!("{name}: {refusal}")).output
    }
}

/// An input for each row whose verb some role lacks.
fn samples() -> BTreeMap<&'static str, Value> {
    let on = |id: &str| json!({"id": id, "reason": "a reason"});
    BTreeMap::from([
        ("task.update", json!({"id": "T-claimed", "changes": {"title": "Other"}})),
        ("task.depend", json!({"id": "T-claimed", "on": "T-queued"})),
        ("task.assign", json!({"id": "T-queued", "agent": "worker"})),
        (
            "task.link",
            json!({"id": "T-queued", "provider": "github", "key": "issue", "value": "7"}),
        ),
        ("task.claim", json!({"id": "T-queued"})),
        ("task.start", json!({"id": "T-queued"})),
        ("task.submit", json!({"id": "T-claimed", "commit": "abcdef1"})),
        ("task.review", on("T-review")),
        ("task.approve", on("T-review")),
        ("task.request-changes", on("T-review")),
        ("task.merge", on("T-approved")),
        ("task.done", on("T-merging")),
        ("task.block", json!({"id": "T-review", "needs": "help"})),
        ("task.answer", json!({"id": "T-blocked", "text": "retry"})),
        ("task.unblock", on("T-blocked")),
        ("task.fail", on("T-review")),
        ("task.release", on("T-claimed")),
        ("task.abandon", on("T-queued")),
        ("task.requeue", on("T-failed")),
        ("task.reopen", on("T-done")),
        ("task.check", json!({"id": "T-claimed", "item": "1"})),
        ("task.subtask", json!({"id": "T-claimed", "step": "start", "text": "a step"})),
        ("agent.register", json!({"id": "somebody", "roles": ["critic"]})),
        ("gate.record", json!({"id": "T-review", "gate": "tests", "pass": true})),
        ("gate.waive", json!({"id": "T-review", "gate": "tests", "reason": "a reason"})),
        ("decision.answer", json!({"id": "D1", "answer": "this"})),
        ("directive.create", json!({"text": "Be brief", "trigger": "idle"})),
        ("directive.toggle", json!({"id": "I1"})),
        ("run.stop", json!({"id": "R1"})),
        ("run.pause", json!({"id": "R1"})),
        ("budget.set", json!({"scope": "repo", "usd": 5.0})),
        ("budget.clear", json!({"scope": "repo"})),
        ("directive.delete", json!({"id": "I1"})),
        ("directive.trigger", json!({"id": "I1"})),
    ])
}

fn is_for_every_role(row: &Row) -> bool {
    row.verb.is_some_and(|verb| verb.roles() == Role::ALL)
}

#[test]
fn rule_1_who_lacks_the_verb_of_a_row_is_refused_by_its_rule() {
    let samples = samples();
    let mut left: BTreeSet<&str> = samples.keys().copied().collect();
    for row in TABLE.iter().filter(|row| row.kind == Kind::Write && !is_for_every_role(row)) {
        let Some(verb) = row.verb else { continue };
        // What needs a checkout is tried by the command line's tests.
        if !handlers(&busy_world()).rows().any(|own| own.name == row.name) {
            continue;
        }
        assert!(!verb.roles().contains(&Role::Observer), "{verb}: another role must be tried");
        let input = samples.get(row.name).unwrap_or_else(|| panic!("no sample of {}", row.name));
        left.remove(row.name);
        let world = busy_world();
        let before = world.head();
        let outcome = handlers(&world).call(row.name, &caller("watcher"), input.clone());
        let refusal =
            outcome.map(|answer| panic!("{} was done: {answer:?}", row.name)).unwrap_err();
        // A verb that no role has is for persons.
        let nobody = verb.roles().is_empty();
        let code = if nobody { Code::HumanOnly } else { Code::RoleForbidden };
        assert_eq!(refusal.code, code, "{}: {refusal}", row.name);
        if let Some(asked) = refusal.details.get("verb") {
            assert_eq!(*asked, verb.as_str(), "{} asks for another verb", row.name);
        }
        assert_eq!(world.head(), before);
    }
    assert!(left.is_empty(), "samples of rows that need none: {left:?}");
}

#[test]
fn a_row_without_a_verb_reads_or_is_for_persons_or_has_its_verb_in_the_input() {
    let writes = TABLE.iter().filter(|row| row.kind == Kind::Write && row.verb.is_none());
    assert_eq!(
        writes.map(|row| row.name).collect::<Vec<_>>(),
        [
            "task.several",
            "task.intervene",
            "task.undo",
            "task.transition",
            // Whoever runs it ends its own run.
            "objective.complete",
            "contract.apply",
            "import.beads",
            "import.neo",
            "import.taskmaster",
            "import.collab",
            "import.v1",
            "sync.collab",
            "github.setup",
            "github.sync",
            "github.forget",
        ]
    );
    let reads = TABLE.iter().filter(|row| row.kind != Kind::Write);
    assert!(reads.into_iter().all(|row| row.verb.is_none()));
    let world = busy_world();
    let input = json!({"id": "T-review", "status": "approved"});
    let feedback = json!({"id": "T-blocked", "feedback": "go on"});
    let refusal =
        handlers(&world).call("task.intervene", &caller("watcher"), feedback).unwrap_err();
    assert_eq!(refusal.code, Code::HumanOnly);
    let refusal = handlers(&world).call("task.transition", &caller("watcher"), input).unwrap_err();
    assert_eq!(refusal.details["verb"], Verb::Approve.as_str());
    assert!(world.engine.execute(request("watcher", Command::Heartbeat)).is_ok());
}
