//! What belongs to a piece of work: everything from where it began to the commit that is handed in.

use crate::collab::Rpc;
use crate::mcp::Client;
use crate::people::{Server, token};
use crate::results::result;
use crate::sandbox::{Done, Sandbox};
use comity_api::op;
use comity_core::command::Submission;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Handlers, register};
use comity_guard::GitObserver;
use comity_project::store::Access;
use comity_project::{Asked, Context, Machine};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn by(sandbox: &Sandbox, agent: &str, args: &[&str]) -> Value {
    sandbox.comity().by(agent).args(args).json()
}

fn person(sandbox: &Sandbox, args: &[&str]) -> Value {
    by(sandbox, "human:ann", args)
}

fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.git(&sandbox.root, args)
}

fn create(sandbox: &Sandbox, id: &str, more: &[&str]) {
    let args = ["task", "create", "Parse dates", "--id", id];
    person(sandbox, &[&args, more].concat());
}

/// Commits files that are new.
fn commit(sandbox: &Sandbox, message: &str, files: &[&str]) -> String {
    commit_in(sandbox, &sandbox.root, message, files)
}

fn commit_in(sandbox: &Sandbox, tree: &Path, message: &str, files: &[&str]) -> String {
    for file in files {
        let path = tree.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{message}\n")).unwrap();
    }
    sandbox.commit(tree, message)
}

/// Hands a result in that lists files as created; returns nothing, or what is wrong with it.
fn hand_in(sandbox: &Sandbox, tree: &Path, agent: &str, id: &str, files: &[&str]) -> Vec<String> {
    let files: Vec<(&str, &str)> = files.iter().map(|file| ("created", *file)).collect();
    let mut said = result("completed", &files, &[]);
    said["task_id"] = id.into();
    let args = ["task", "submit", id, "--result", "-", "--json"];
    outcome(&sandbox.comity().by(agent).at(tree).args(&args).stdin(&said.to_string()).done())
}

/// Hands work in without a list.
fn plainly(sandbox: &Sandbox, agent: &str, id: &str) -> Vec<String> {
    outcome(&sandbox.comity().by(agent).args(&["task", "submit", id, "--json"]).done())
}

fn outcome(done: &Done) -> Vec<String> {
    if done.exit == 0 {
        assert_eq!(done.json()["task"]["status"], "review");
        return Vec::new();
    }
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    let list = error["error"]["details"]["violations"].as_array();
    let list = list.unwrap_or_else(|| panic!("{error}"));
    list.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

const NOTHING: [&str; 0] = [];

fn too_many(files: usize, most: usize) -> Vec<String> {
    vec![format!("{files} files are changed, but the limit is {most}")]
}

#[test]
fn the_log_says_where_the_work_under_a_claim_began() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &[]);
    let base = git(&sandbox, &["rev-parse", "main"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "early", &["a"]);
    by(&sandbox, "ada", &["task", "claim", "T1"]);
    let events = sandbox.json(&["event", "list", "--task", "T1", "--type", "task_claimed"]);
    assert_eq!(events["events"][0]["base"], base, "the tip of the base branch");
}

#[test]
fn work_on_a_branch_counts_from_where_it_left_the_base_branch() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "3"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "early", &["a", "b"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "later", &["c"]);
    by(&sandbox, "ada", &["task", "release", "T1"]);
    by(&sandbox, "bob", &["task", "start", "T1"]);
    let root = &sandbox.root;
    let missing = [
        "a is created, but the result does not list it",
        "b is created, but the result does not list it",
    ];
    assert_eq!(hand_in(&sandbox, root, "bob", "T1", &["c"]), missing, "whoever has it");
    commit(&sandbox, "more", &["d"]);
    assert_eq!(plainly(&sandbox, "bob", "T1"), too_many(4, 3));
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(hand_in(&sandbox, root, "bob", "T1", &["a", "b", "c"]), NOTHING);
}

#[test]
fn work_that_moves_to_another_work_tree_counts_there_as_a_whole() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "2"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a", "b"]);
    let tree = sandbox.worktree("second");
    let missing = [
        "a is created, but the result does not list it",
        "b is created, but the result does not list it",
    ];
    assert_eq!(hand_in(&sandbox, &tree, "ada", "T1", &[]), missing);
    assert_eq!(hand_in(&sandbox, &tree, "ada", "T1", &["a", "b"]), NOTHING);
}

#[test]
fn work_on_the_base_branch_counts_from_the_claim() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "2"]);
    commit(&sandbox, "before", &["o1", "o2"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a"]);
    commit(&sandbox, "whoever's", &["b", "c"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 2));
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(hand_in(&sandbox, &sandbox.root, "ada", "T1", &["a"]), NOTHING);
    person(&sandbox, &["task", "request-changes", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mended", &["d"]);
    assert_eq!(hand_in(&sandbox, &sandbox.root, "ada", "T1", &["d"]), NOTHING, "a new claim");
}

#[test]
fn work_that_was_merged_already_counts_from_the_claim_too() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "mine", &["a", "b"]);
    git(&sandbox, &["switch", "--quiet", "main"]);
    commit(&sandbox, "theirs", &["o"]);
    git(&sandbox, &["merge", "--quiet", "--no-edit", "work"]);
    git(&sandbox, &["switch", "--quiet", "work"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
}

#[test]
fn a_task_that_must_not_commit_is_not_blamed_for_commits_before_its_claim() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--no-git-commit"]);
    git(&sandbox, &["switch", "--quiet", "-c", "work"]);
    commit(&sandbox, "early", &["a"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.write("b", "1");
    assert_eq!(hand_in(&sandbox, &sandbox.root, "ada", "T1", &["a", "b"]), NOTHING);
    sandbox.commit(&sandbox.root, "integrated");
    person(&sandbox, &["task", "request-changes", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.write("c", "1");
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING, "what somebody committed for it");
}

#[test]
fn files_that_comity_writes_by_itself_count_for_nobody() {
    let sandbox = Sandbox::without_git();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    sandbox.json(&["init", "--yes"]);
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    person(&sandbox, &["export", "collab", "collaboration"]);
    person(&sandbox, &["sync", "collab"]);
    commit(&sandbox, "mine", &["a", "b"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1));
    person(&sandbox, &["task", "update", "T1", "--max-files", "2"]);
    let all = ["a", "b", ".comity/config.toml", "collaboration/state/tasks.json"];
    assert_eq!(hand_in(&sandbox, &sandbox.root, "ada", "T1", &all), NOTHING);
}

#[test]
fn a_directory_that_only_has_the_same_name_is_work_like_any_other() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--yes"]);
    sandbox.commit(&sandbox.root, "Settings");
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.write(".comity/config.toml", "[limits]\n");
    commit(&sandbox, "mine", &["collaboration/state/tasks.json", "collaboration/logs/log.md"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(3, 1));
    git(&sandbox, &["reset", "--quiet", "--hard", "HEAD~1"]);
    person(&sandbox, &["export", "collab", "collaboration"]);
    commit(&sandbox, "mine", &["collaboration/notes.md", "collaboration/state/x.json"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), too_many(2, 1), "comity does not write these");
}

/// Calls comity outside of the repository, with the repository's store.
fn from_outside(sandbox: &Sandbox, agent: &str, args: &[&str]) -> Done {
    elsewhere(sandbox, &nowhere(sandbox), agent, args)
}

/// A directory of no project: a door may write beside itself there.
fn nowhere(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.outside().join("nowhere");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn store_of(sandbox: &Sandbox) -> String {
    format!("sqlite:{}", sandbox.root.join(".git/comity/comity.db").display())
}

fn elsewhere(sandbox: &Sandbox, dir: &Path, agent: &str, args: &[&str]) -> Done {
    let outside = ["--store", &store_of(sandbox), "--repo", "tool", "--json"];
    sandbox.comity().by(agent).at(dir).args(&outside).args(args).done()
}

fn code(done: &Done) -> Value {
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(done.exit, 3, "{error}");
    error["error"]["code"].clone()
}

#[test]
fn rule_3_6_work_is_neither_handed_in_nor_finished_from_outside_of_the_repository() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &[]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.work();
    assert_eq!(code(&from_outside(&sandbox, "ada", &["task", "submit", "T1"])), "unobserved");
    let args = ["task", "transition", "T1", "review"];
    assert_eq!(code(&from_outside(&sandbox, "ada", &args)), "unobserved");
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
    person(&sandbox, &["task", "approve", "T1"]);
    person(&sandbox, &["task", "merge", "T1"]);
    let done = ["task", "done", "T1"];
    assert_eq!(code(&from_outside(&sandbox, "human:ann", &done)), "unobserved");
    assert_eq!(person(&sandbox, &done)["task"]["status"], "done");
}

/// Places from where the repository of the tasks cannot be seen: no project, a project without git, another repository.
fn blind_places(sandbox: &Sandbox) -> Vec<PathBuf> {
    let plain = sandbox.outside().join("plain");
    std::fs::create_dir_all(plain.join(".comity")).unwrap();
    let other = sandbox.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    sandbox.git(&other, &["init", "--quiet", "--initial-branch=main"]);
    commit_in(sandbox, &other, "Something else", &["x"]);
    vec![nowhere(sandbox), plain, other]
}

#[test]
fn rule_3_6_a_door_that_cannot_see_the_repository_is_refused_whichever_door_it_is() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "mine", &["a", "b"]);
    let places = blind_places(&sandbox);
    let vars = [("COMITY_STORE", &*store_of(&sandbox)), ("COMITY_REPO", "tool")];
    for dir in &places {
        for args in [
            &["task", "submit", "T1"][..],
            &["task", "submit", "T1", "--commit", "HEAD~0"],
            &["task", "transition", "T1", "review"],
        ] {
            let done = elsewhere(&sandbox, dir, "ada", args);
            // In another repository, HEAD is a commit; but the work did not begin there.
            assert_eq!(code(&done), "unobserved", "{dir:?} {args:?}");
        }
        let mut rpc = Rpc::with(dir, "ada", &vars);
        let said = rpc.fails("transition_task", &json!({"id": "T1", "new_status": "review"}));
        assert!(said.contains("could not ask git"), "{dir:?} {said}");
        rpc.end();
        for refusal in typed_refusals_at(&sandbox, dir, "ada") {
            assert_eq!(refusal.code, Code::Unobserved, "{dir:?} {refusal:?}");
        }
    }
    person(&sandbox, &["task", "update", "T1", "--max-files", "2"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
    person(&sandbox, &["task", "approve", "T1"]);
    person(&sandbox, &["task", "merge", "T1"]);
    for dir in &places {
        for args in [&["task", "done", "T1"][..], &["task", "done", "T1", "--merged", "deadbeef"]] {
            assert_eq!(code(&elsewhere(&sandbox, dir, "human:ann", args)), "unobserved", "{dir:?}");
        }
        let done =
            elsewhere(&sandbox, dir, "human:ann", &["task", "done", "T1", "--merged", "main"]);
        assert_ne!(done.exit, 0, "{dir:?}");
    }
    assert_eq!(person(&sandbox, &["task", "done", "T1"])["task"]["status"], "done");
}

#[test]
fn rule_2_9_a_claim_that_saw_no_repository_or_another_one_hands_nothing_in() {
    let sandbox = Sandbox::new();
    for dir in blind_places(&sandbox) {
        let id = person(&sandbox, &["task", "create", "Work"])["task"]["id"].clone();
        let id = id.as_str().unwrap();
        assert_eq!(elsewhere(&sandbox, &dir, "ada", &["task", "claim", id]).exit, 0, "{dir:?}");
        assert_eq!(elsewhere(&sandbox, &dir, "ada", &["task", "start", id]).exit, 0, "{dir:?}");
        let there = elsewhere(&sandbox, &dir, "ada", &["task", "submit", id, "--commit", "main"]);
        assert_eq!(code(&there), "unobserved", "{dir:?}");
        by(&sandbox, "ada", &["task", "release", id]);
        assert_eq!(elsewhere(&sandbox, &dir, "ada", &["task", "claim", id]).exit, 0, "{dir:?}");
        // Starting inside does not make up for it: the claim says where the work began.
        by(&sandbox, "ada", &["task", "start", id]);
        commit(&sandbox, id, &[id]);
        let submit = sandbox.comity().by("ada").args(&["task", "submit", id, "--json"]).done();
        assert_eq!(code(&submit), "unobserved", "{dir:?}");
        by(&sandbox, "ada", &["task", "release", id]);
    }
}

#[test]
fn rule_3_4_a_commit_that_is_named_as_merged_must_be_one_even_where_nothing_was_handed_in() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--deliverable", "document"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    by(&sandbox, "ada", &["task", "submit", "T1"]);
    person(&sandbox, &["task", "approve", "T1"]);
    let done = |merged: &str| {
        let args = ["task", "done", "T1", "--merged", merged, "--json"];
        sandbox.comity().by("human:ann").args(&args).done()
    };
    let unknown = done("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef");
    assert_eq!(code(&unknown), "unobserved");
    assert!(unknown.stderr.contains("git knows no commit deadbeef"), "{}", unknown.stderr);
    assert_eq!(done("no-such-branch").exit, 2);
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    assert_eq!(done("HEAD").json()["task"]["merged_sha"], head);
}

#[test]
fn rule_2_9_a_claim_from_outside_of_the_repository_is_made_again_inside() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &[]);
    assert_eq!(from_outside(&sandbox, "ada", &["task", "start", "T1"]).exit, 0);
    let events = sandbox.json(&["event", "list", "--task", "T1", "--type", "task_claimed"]);
    assert_eq!(events["events"][0]["base"], Value::Null);
    let submit = || sandbox.comity().by("ada").args(&["task", "submit", "T1", "--json"]).done();
    assert_eq!(code(&submit()), "unobserved");
    by(&sandbox, "ada", &["task", "release", "T1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    sandbox.work();
    assert_eq!(submit().exit, 0);
}

#[test]
fn a_project_without_git_hands_code_in_unseen() {
    let sandbox = Sandbox::without_git();
    sandbox.json(&["init", "--yes"]);
    create(&sandbox, "T1", &["--max-files", "1"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
    person(&sandbox, &["task", "approve", "T1"]);
    person(&sandbox, &["task", "merge", "T1"]);
    assert_eq!(person(&sandbox, &["task", "done", "T1"])["task"]["status"], "done");
}

/// Hands T1 in as a door inside another process does it: by the operation's type, and by its name with JSON.
fn typed_refusals(sandbox: &Sandbox, agent: &str) -> [Refusal; 2] {
    typed_refusals_at(sandbox, &sandbox.root, agent)
}

pub fn typed_context(sandbox: &Sandbox, agent: &str, dir: &Path) -> Context {
    let (cwd, login) = (dir.to_owned(), "tester".to_owned());
    let machine = Machine { cwd, login, ..Machine::default() };
    let (actor, store) = (Some(agent.to_owned()), Some(store_of(sandbox)));
    let asked = Asked { actor, store, repo: Some("tool".to_owned()), ..Asked::default() };
    let mut context = Context::find(&machine, &asked).unwrap();
    context.observer = Some(Arc::new(GitObserver {
        tree: context.git_tree().cloned(),
        base: None,
        head_counts: true,
        is_comitys: Box::new(|_, _| false),
    }));
    context
}

fn typed_refusals_at(sandbox: &Sandbox, dir: &Path, agent: &str) -> [Refusal; 2] {
    let context = typed_context(sandbox, agent, dir);
    let service = context.service(Access::Write).unwrap();
    let submission = Submission { id: "T1".to_owned(), ..Submission::default() };
    let by_type = service.call::<op::TaskSubmit>(&context.caller(), submission).unwrap_err();
    let mut handlers = Handlers::default();
    register(&service, &mut handlers);
    let input = json!({"id": "T1"});
    let by_name = handlers.call("task.submit", &context.caller(), input).map(|_| ()).unwrap_err();
    [by_type, by_name]
}

/// Hands T1 in over MCP and over HTTP, where a caller names the commit: what the server has checked out is not its work.
fn refusals_over_the_wire(sandbox: &Sandbox, agent: &str) -> [Value; 2] {
    let commit = git(sandbox, &["rev-parse", "HEAD"]);
    let mut client = Client::start(sandbox, &["--as", agent, "mcp", "--client", "codex"], &[], "t");
    let work = json!({"task": "T1", "outcome": "completed", "summary": "done", "commit": commit});
    let over_mcp = client.refused("submit_work", &work);
    let server = Server::start(sandbox, &[]);
    let headers = token(sandbox, agent, &[]);
    let body = json!({"commit": commit});
    let heard = server.send("POST", "/api/v1/tasks/T1/submit", &headers, Some(&body));
    assert!((400..500).contains(&heard.status), "{}", heard.body);
    let mut over_http = heard.json();
    over_http["message"] = over_http["detail"].take();
    [over_mcp, over_http]
}

#[test]
fn one_submission_gets_the_same_verdict_at_every_door() {
    let free: &[&str] = &[];
    for (constraints, breaks) in [
        (&["--max-files", "1"][..], Some("2 files are changed, but the limit is 1")),
        (&["--no-git-commit"], Some("T1 forbids commits, but there is ")),
        (&["--no-new-deps"], Some("go.mod adds the dependency example.org/a")),
        (&["--allow-delete", "docs/"], Some("README.md is deleted, but allow_delete does not")),
        (free, Some("nothing was changed for T1")),
        (&["--deliverable", "document"], None),
    ] {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", constraints);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        match constraints {
            ["--allow-delete", _] => {
                git(&sandbox, &["rm", "--quiet", "README.md"]);
                sandbox.commit(&sandbox.root, "Gone");
            }
            [] => {}
            _ => {
                sandbox.write("go.mod", "module x\nrequire example.org/a v1\n");
                commit(&sandbox, "Work", &["a"]);
            }
        }
        let plain = sandbox.comity().by("ada").args(&["task", "submit", "T1"]);
        let transition = sandbox.comity().by("ada").args(&["task", "transition", "T1", "review"]);
        let mut rpc = Rpc::start(&sandbox.root, "ada");
        let wish = json!({"id": "T1", "new_status": "review"});
        let Some(said) = breaks else {
            rpc.ok("transition_task", &wish);
            rpc.end();
            continue;
        };
        let mut codes = Vec::new();
        for call in [plain, transition] {
            let (error, exit) = call.refusal();
            assert_eq!(exit, 3, "{error}");
            assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
            codes.push(error["code"].as_str().unwrap().to_owned());
        }
        for refusal in typed_refusals(&sandbox, "ada") {
            assert!(refusal.message.contains(said), "{said}: {refusal:?}");
            codes.push(refusal.code.as_str().to_owned());
        }
        for refusal in refusals_over_the_wire(&sandbox, "ada") {
            assert!(refusal["message"].as_str().unwrap().contains(said), "{said}: {refusal}");
            codes.push(refusal["code"].as_str().unwrap().to_owned());
        }
        assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
        let heard = rpc.fails("transition_task", &wish);
        assert!(heard.contains(said), "{said}: {heard}");
        rpc.end();
    }
}

/// Hands T1 in at one door.
type Door = fn(&Sandbox);

const DOORS: [(&str, Door); 6] = [
    ("the command line", |sandbox| {
        let answer = by(sandbox, "ada", &["task", "submit", "T1"]);
        assert_eq!(answer["undeclared"], json!(["b"]));
    }),
    ("a transition", |sandbox| drop(by(sandbox, "ada", &["task", "transition", "T1", "review"]))),
    ("JSON-RPC", |sandbox| {
        let mut rpc = Rpc::start(&sandbox.root, "ada");
        rpc.ok("transition_task", &json!({"id": "T1", "new_status": "review"}));
        rpc.end();
    }),
    ("the typed call", |sandbox| {
        let context = typed_context(sandbox, "ada", &sandbox.root);
        let service = context.service(Access::Write).unwrap();
        let submission = Submission { id: "T1".to_owned(), ..Submission::default() };
        service.call::<op::TaskSubmit>(&context.caller(), submission).unwrap();
    }),
    ("MCP", |sandbox| {
        let commit = git(sandbox, &["rev-parse", "HEAD"]);
        let args = ["--as", "ada", "mcp", "--client", "codex"];
        let mut client = Client::start(sandbox, &args, &[], "t");
        let work =
            json!({"task": "T1", "outcome": "completed", "summary": "done", "commit": commit});
        client.ok("submit_work", &work);
    }),
    ("HTTP", |sandbox| {
        let commit = git(sandbox, &["rev-parse", "HEAD"]);
        let server = Server::start(sandbox, &[]);
        let headers = token(sandbox, "ada", &[]);
        let body = json!({"commit": commit});
        let heard = server.send("POST", "/api/v1/tasks/T1/submit", &headers, Some(&body));
        assert_eq!(heard.status, 200, "{}", heard.body);
    }),
];

#[test]
fn rule_2_9_every_door_accepts_the_same_work_and_notices_the_same_undeclared_files() {
    for (name, hand_in) in DOORS {
        let sandbox = Sandbox::new();
        create(&sandbox, "T1", &["--file", "a", "--max-files", "2"]);
        by(&sandbox, "ada", &["task", "start", "T1"]);
        let commit = commit(&sandbox, "Work", &["a", "b"]);
        hand_in(&sandbox);
        let task = person(&sandbox, &["task", "show", "T1"])["task"].clone();
        assert_eq!(
            (&task["status"], &task["commit"]),
            (&json!("review"), &json!(commit)),
            "{name}"
        );
        let events = person(&sandbox, &["event", "list", "--type", "review_requested"]);
        assert_eq!(events["events"][0]["undeclared"], json!(["b"]), "{name}: {events}");
    }
}

#[test]
fn a_waived_gate_deps_lets_new_dependencies_pass() {
    let sandbox = Sandbox::new();
    create(&sandbox, "T1", &["--no-new-deps"]);
    by(&sandbox, "ada", &["task", "start", "T1"]);
    commit(&sandbox, "Work", &["pom.xml"]);
    let cannot = ["comity cannot read pom.xml and cannot tell whether it adds a dependency"];
    assert_eq!(plainly(&sandbox, "ada", "T1"), cannot);
    person(&sandbox, &["gate", "waive", "T1", "deps", "--reason", "only the version"]);
    assert_eq!(plainly(&sandbox, "ada", "T1"), NOTHING);
}
