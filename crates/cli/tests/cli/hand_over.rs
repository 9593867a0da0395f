//! The branch of a run leaves the host, runs wait for a place, and a branch that lost commits is settled.

use crate::runs::{run, task, wait_for, with_agent};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// A developer that commits a file and recommends something for the branch.
fn developer(file: &str, advice: &str) -> String {
    format!(
        "mkdir -p docs src; echo 1 > {file}; git add -A; git commit -q -m 'feat(T1): work'\n\
         printf '```json\\n{{\"status\":\"DONE\",\"summary\":\"done\",\"branch_completion\":\
         {{\"branch\":\"feat/dates\",\"tests\":\"passing\",\"recommendation\":\"{advice}\"}}}}\\n```\\n'"
    )
}

fn bare_remote(sandbox: &Sandbox) -> std::path::PathBuf {
    let remote = sandbox.outside().join("remote.git");
    let path = remote.display().to_string();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--bare", &path]);
    sandbox.git(&sandbox.root, &["remote", "add", "origin", &path]);
    remote
}

fn developed(sandbox: &Sandbox, more: &[&str]) {
    let args = ["run", "developer", "--task", "T1", "--driver", "script", "--branch", "feat/dates"];
    let call = sandbox.comity().by("human:ann").args(&args).args(&["--wait"]).args(more);
    assert_eq!(call.json()["run"]["state"], "succeeded");
}

fn supervised(sandbox: &Sandbox) -> Value {
    sandbox.comity().by("human:ann").args(&["supervise", "--once"]).json()
}

/// What notes say about the branch.
fn said(sandbox: &Sandbox) -> String {
    let notes =
        sandbox.json(&["event", "list", "--type", "note", "--task", "T1"])["events"].clone();
    let texts = notes.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap());
    texts.filter(|text| text.contains("feat/dates") || text.contains("branch of")).collect()
}

/// Reviews wait for nobody here: no agent reviews without this driver.
const ALONE: &str = "[fleet]\ndriver = 'script'\n[supervisor]\n";

#[test]
fn a_branch_with_passing_tests_is_pushed_and_gets_its_pull_request_once() {
    let opener = "printf 'opened {branch} of {task} into {base}\\nhttps://x.example/pull/7\\n' >> \
        ../opened; tail -n 1 ../opened";
    let settings = format!("{ALONE}[pr]\ncreate = \"{}\"", opener.replace('\\', "\\\\"));
    let sandbox = with_agent(&developer("src/date.rs", "pr"), &settings);
    let remote = bare_remote(&sandbox);
    developed(&sandbox, &[]);
    let head = run(&sandbox, "R1")["head"].as_str().unwrap().to_owned();
    let steps = supervised(&sandbox)["steps"].clone();
    assert_eq!(steps[0]["rule"], "branch.push", "{steps}");
    assert_eq!(sandbox.git(&remote, &["rev-parse", "refs/heads/feat/dates"]), head);
    assert_eq!(task(&sandbox)["pr"], "https://x.example/pull/7");
    assert_eq!(run(&sandbox, "R1")["pr"], "https://x.example/pull/7");
    let text =
        "pushed feat/dates of R1 to origin, and opened the pull request https://x.example/pull/7";
    assert_eq!(said(&sandbox), text);
    supervised(&sandbox);
    let opened = std::fs::read_to_string(sandbox.outside().join("opened")).unwrap();
    assert_eq!(opened.lines().next(), Some("opened feat/dates of T1 into main"));
    assert_eq!(opened.lines().count(), 2, "once");
}

#[test]
fn files_that_need_no_pull_request_are_pushed_alone() {
    let settings = format!("{ALONE}[pr]\ncreate = 'exit 9'");
    let sandbox = with_agent(&developer("docs/dates.md", "push"), &settings);
    let remote = bare_remote(&sandbox);
    developed(&sandbox, &[]);
    supervised(&sandbox);
    sandbox.git(&remote, &["cat-file", "-e", "refs/heads/feat/dates:docs/dates.md"]);
    assert_eq!(
        (said(&sandbox), &task(&sandbox)["pr"]),
        ("pushed feat/dates of R1 to origin".to_owned(), &Value::Null)
    );
}

#[test]
fn a_branch_that_cannot_leave_stays_and_a_note_says_why() {
    let sandbox = with_agent(&developer("src/date.rs", "pr"), ALONE);
    developed(&sandbox, &[]);
    supervised(&sandbox);
    assert_eq!(said(&sandbox), "the branch of R1 stays here: there is no remote origin");
    let settings = format!("{ALONE}[pr]\ncreate = 'echo no entry; exit 9'");
    let sandbox = with_agent(&developer("src/date.rs", "pr"), &settings);
    bare_remote(&sandbox);
    developed(&sandbox, &[]);
    supervised(&sandbox);
    let text = "pushed feat/dates of R1 to origin; there is no pull request: the command ended with \
        Exited(9): no entry";
    assert_eq!(said(&sandbox), text);
}

#[test]
fn work_of_an_agent_whose_strategy_is_branch_stays_where_it_is() {
    let settings = format!("{ALONE}[agent.developer]\ngit_strategy = 'branch'");
    let sandbox = with_agent(&developer("src/date.rs", "pr"), &settings);
    bare_remote(&sandbox);
    developed(&sandbox, &[]);
    assert_eq!(run(&sandbox, "R1")["meta"]["gitStrategy"], "branch");
    let steps = supervised(&sandbox)["steps"].clone();
    assert_ne!(steps[0]["rule"], "branch.push", "{steps}");
    assert_eq!(said(&sandbox), "");
}

#[test]
fn runs_beyond_the_places_of_the_host_wait_until_one_of_them_ends() {
    let sandbox = with_agent("echo working; sleep 120", "[fleet]\nmax_runs = 1");
    sandbox.json(&["task", "create", "Parse times", "--file", "src/time.rs"]);
    let ann = |args: &[&str]| sandbox.comity().by("human:ann").args(args);
    for task in ["T1", "T2"] {
        ann(&["run", "developer", "--task", task, "--driver", "script"]).json();
        wait_for("its keeper says something", || {
            let id = if task == "T1" { "R1" } else { "R2" };
            ann(&["run", "logs", id]).done().stdout.lines().count() > 0
        });
    }
    wait_for("the first works", || run(&sandbox, "R1")["state"] == "running");
    let logs = ann(&["run", "logs", "R2"]).done().stdout;
    assert!(logs.contains("waits until another run of this host ends"), "{logs}");
    assert_eq!(run(&sandbox, "R2")["state"], "queued");
    ann(&["run", "stop", "R1", "--now"]).json();
    wait_for("the second works", || run(&sandbox, "R2")["state"] == "running");
    ann(&["run", "stop", "R2", "--now"]).json();
}

#[test]
fn a_branch_that_lost_a_commit_of_its_run_is_put_back_when_a_person_says_so() {
    let script = "if test -e src/date.rs; then printf '```json\\n{\"status\":\"DONE\",\"summary\":\
        \"done\"}\\n```\\n'; exit 0; fi\n\
        mkdir -p src; echo 1 > src/date.rs; git add -A; git commit -q -m 'feat(T1): dates'; exit 7";
    let sandbox = with_agent(script, ALONE);
    let args = ["run", "developer", "--task", "T1", "--driver", "script", "--branch", "feat/dates"];
    sandbox.comity().by("human:ann").args(&args).args(&["--wait"]).done();
    let failed = run(&sandbox, "R1");
    assert_eq!(failed["state"], "failed", "{failed}");
    let lost = failed["head"].as_str().unwrap().to_owned();
    let other = sandbox.git(&sandbox.root, &["commit-tree", "-m", "Other", "HEAD^{tree}"]);
    sandbox.git(&sandbox.root, &["update-ref", "refs/heads/feat/dates", &other]);
    let asked = supervised(&sandbox)["steps"].clone();
    assert_eq!(asked[0]["rule"], "resume.diverged", "{asked}");
    let id = asked[0]["decision"].as_str().unwrap().to_owned();
    sandbox.comity().by("human:ann").args(&["decision", "answer", &id, "restore"]).json();
    let steps = supervised(&sandbox)["steps"].clone();
    let went_on =
        steps.as_array().unwrap().iter().find(|step| step["rule"] == "resume.diverged.restore");
    assert_eq!(went_on.map(|step| &step["run"]), Some(&json!("R2")), "{steps}");
    wait_for("the next run ends", || run(&sandbox, "R2")["ended_at"].is_string());
    assert_eq!(run(&sandbox, "R2")["state"], "succeeded");
    assert_eq!(sandbox.git(&sandbox.root, &["rev-parse", "refs/heads/feat/dates"]), lost);
    let kept = sandbox.git(&sandbox.root, &["rev-parse", "refs/comity/run/R1/diverged"]);
    assert_eq!(kept, other, "what the branch had is kept");
}
