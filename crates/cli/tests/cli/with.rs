//! `comity with`: a command runs, the claim lives, the exit status is evidence.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};
use std::io::Read;
use std::process::Command;
use std::time::Duration;

/// T1 with the gate `tests`, begun by ada, with one commit of work.
fn begun(ttl: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--gate", "tests"]);
    sandbox.comity().by("ada").args(&["task", "claim", "--start", "--ttl", ttl]).json();
    sandbox.work();
    sandbox
}

fn with(sandbox: &Sandbox, args: &[&str]) -> Done {
    sandbox.comity().by("ada").args(&["with"]).args(args).done()
}

/// The object on the last line of stderr.
fn told(done: &Done) -> Value {
    serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap()
}

fn gate(sandbox: &Sandbox) -> Value {
    sandbox.json(&["gate", "list", "T1"])["gates"][0].clone()
}

#[test]
fn rule_3_7_a_run_in_a_clean_work_tree_is_observed_and_lets_the_work_be_approved() {
    let sandbox = begun("15m");
    std::fs::create_dir_all(sandbox.root.join(".comity")).unwrap();
    sandbox.write(".comity/config.toml", "[gates]\nmin_tier = 'observed'\n");
    let done = with(&sandbox, &["--gate", "tests", "--", "sh", "-c", "cat README.md; exit 0"]);
    assert_eq!((done.stdout.as_str(), done.exit), ("# tool\n", 0));
    assert_eq!(done.stderr, "note: T1, gate tests: pass (observed)\n");
    let head = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    assert_eq!(gate(&sandbox)["commit"], *head);
    assert_eq!(gate(&sandbox)["tier"], "observed");
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    sandbox.json(&["--as", "human:tester", "agent", "register", "eve", "--role", "critic"]);
    let task = sandbox.comity().by("eve").args(&["task", "approve", "T1"]).json();
    assert_eq!(task["task"]["status"], "approved");
}

#[test]
fn the_exit_status_and_the_streams_are_those_of_the_command() {
    let sandbox = begun("15m");
    let run = |script: &str| {
        let call = sandbox.comity().by("ada").stdin("given");
        call.args(&["with", "--json", "--", "sh", "-c", script]).done()
    };
    let done = run("cat; echo oh >&2; exit 7");
    assert_eq!((done.stdout.as_str(), done.exit), ("given", 7));
    assert_eq!(done.stderr.lines().next(), Some("oh"));
    let answer = told(&done);
    assert_eq!((&answer["exit_code"], &answer["signal"]), (&json!(7), &json!(null)));
    assert_eq!((&answer["task"], &answer["claim_kept"]), (&json!("T1"), &json!(true)));
    assert_eq!((&answer["gate"], &answer["tier"]), (&json!(null), &json!(null)));
    let done = run("kill -9 $$");
    assert_eq!((done.exit, &told(&done)["signal"]), (128 + 9, &json!(9)));
    let done = with(&sandbox, &["--gate", "tests", "--", "no-such-program"]);
    assert_eq!(done.exit, 127);
    assert!(done.stderr.contains("no-such-program: command not found"), "{}", done.stderr);
    assert!(done.stderr.contains("recorded nothing for gate tests"), "{}", done.stderr);
    assert_eq!(gate(&sandbox)["state"], "open");
    let done = with(&sandbox, &["--", "/etc/hostname"]);
    assert_eq!(done.exit, 126);
}

#[test]
fn rule_3_7_what_comity_did_not_really_see_is_claimed_and_said() {
    let sandbox = begun("15m");
    sandbox.write("README.md", "# changed\n");
    let done = with(&sandbox, &["--gate", "tests", "--", "false"]);
    assert_eq!(done.exit, 1);
    let note = "gate tests: fail (claimed only, because the work tree has uncommitted changes (README.md))";
    assert!(done.stderr.contains(note), "{}", done.stderr);
    assert_eq!(
        (&gate(&sandbox)["tier"], &gate(&sandbox)["state"]),
        (&json!("claimed"), &json!("failed"))
    );
    sandbox.git(&sandbox.root, &["checkout", "README.md"]);
    let done = with(&sandbox, &["--gate", "tests", "--", "git", "checkout", "--quiet", "HEAD^"]);
    assert!(done.stderr.contains("another commit was checked out"), "{}", done.stderr);
    sandbox.git(&sandbox.root, &["checkout", "--quiet", "main"]);
    sandbox.write(".comity/config.toml", "[gate.tests]\ncommand = 'test -f README.md'\n");
    let done = with(&sandbox, &["--gate", "tests", "--", "true"]);
    assert!(done.stderr.contains("the settings name another command"), "{}", done.stderr);
    assert_eq!(gate(&sandbox)["tier"], "claimed");
    let done = with(&sandbox, &["--gate", "tests", "--", "test", "-f", "README.md"]);
    assert!(done.stderr.contains("pass (observed)"), "{}", done.stderr);
}

#[test]
fn the_claim_outlives_its_time_to_live_while_the_command_runs() {
    let sandbox = begun("1s");
    let done = with(&sandbox, &["--json", "--", "sleep", "3"]);
    assert_eq!(told(&done)["claim_kept"], true, "{}", done.stderr);
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["claim"]["agent"]), (&json!("in_progress"), &json!("ada")));
}

#[test]
fn a_claim_that_is_lost_meanwhile_is_told_at_the_end() {
    let sandbox = begun("15m");
    let binary = env!("CARGO_BIN_EXE_comity");
    let script = format!("{binary} task release T1 --as ada >/dev/null");
    let done = with(&sandbox, &["--gate", "tests", "--", "sh", "-c", &script]);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains("your claim on T1 ended while the command ran; it is queued now"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("comity recorded nothing: "), "{}", done.stderr);
}

#[test]
fn a_signal_reaches_the_command_and_comity_ends_after_it() {
    let sandbox = begun("15m");
    let script = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let call = sandbox.comity().by("ada");
    let mut child = call.args(&["with", "--gate", "tests", "--", "sh", "-c", script]).spawn();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((rest.as_str(), status.code()), ("bye\n", Some(9)));
    // A run that somebody stopped says nothing about the work.
    assert_eq!(gate(&sandbox)["state"], "open");
}

#[test]
fn the_task_is_the_only_one_that_the_caller_holds() {
    let sandbox = begun("15m");
    sandbox.json(&["task", "create", "Print dates"]);
    sandbox.comity().by("ada").args(&["task", "claim", "T2"]).json();
    let done = with(&sandbox, &["--gate", "tests", "--", "true"]);
    assert_eq!(done.exit, 2);
    assert!(done.stderr.contains("you hold several tasks: T1, T2"), "{}", done.stderr);
    // The fence tells which of them is meant; a fence of an ended claim means nothing here.
    let fence = sandbox.json(&["task", "show", "T2"])["task"]["fence"].to_string();
    let done = with(&sandbox, &["--fence", &fence, "--json", "--", "true"]);
    assert_eq!(told(&done)["task"], "T2");
    sandbox.comity().by("ada").args(&["task", "release", "T2"]).json();
    let done = with(&sandbox, &["--fence", &fence, "--json", "--", "true"]);
    assert_eq!((&told(&done)["task"], &told(&done)["claim_kept"]), (&json!("T1"), &json!(true)));
    let nobody = sandbox.comity().by("bob").args(&["with", "--", "echo", "hi"]).done();
    assert_eq!((nobody.stdout.as_str(), nobody.exit), ("hi\n", 0));
    let nobody = sandbox.comity().by("bob").args(&["with", "--gate", "tests", "--", "true"]).done();
    assert_eq!(nobody.exit, 2);
    let started = std::time::Instant::now();
    assert_eq!(with(&sandbox, &["--task", "T9", "--", "sleep", "9"]).exit, 4);
    assert!(started.elapsed() < Duration::from_secs(5), "nothing ran");
}
