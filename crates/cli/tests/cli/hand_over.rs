//! The branch of a run leaves the host, runs wait for a place, and a branch that lost commits is settled.

use crate::runs::{DONE, run, task, wait_for, waited, with_agent};
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

#[test]
fn an_agent_that_makes_the_same_call_again_and_again_is_paused_until_a_person_says_so() {
    let call = r#"{"comity":"tool","id":"1","name":"Bash","input":"ls"}"#;
    let script = format!(
        "if test -e again; then sleep 120; fi; touch again\nfor n in 1 2 3; do echo '{call}'; done; sleep 120"
    );
    for (answer, state) in [("stop", "stopped"), ("go-on", "running")] {
        let sandbox = with_agent(&script, "[budget]\nsame_tool_call = 3");
        let ann = |args: &[&str]| sandbox.comity().by("human:ann").args(args);
        ann(&["run", "developer", "--task", "T1", "--driver", "script"]).json();
        wait_for("it is paused", || run(&sandbox, "R1")["state"] == "paused");
        let paused = run(&sandbox, "R1");
        let why = "it called Bash 3 times in the same way";
        assert_eq!((&paused["reason"], &paused["waiting_on"]), (&json!(why), &json!("D1")));
        ann(&["decision", "answer", "D1", answer]).json();
        wait_for("the answer is followed", || run(&sandbox, "R1")["state"] == state);
        if answer == "go-on" {
            ann(&["run", "stop", "R1", "--now"]).json();
        }
    }
}

#[test]
fn a_large_new_file_is_left_out_of_snapshots_and_a_run_ends_when_its_time_is_up() {
    let script = "printf '%2000000s' x > large.bin; echo 1 > small.txt; echo written; sleep 120";
    let sandbox = with_agent(script, "[workspace]\nuntracked_file_max = '1MiB'");
    let args = ["run", "developer", "--task", "T1", "--driver", "script", "--timeout", "3s"];
    sandbox.comity().by("human:ann").args(&args).args(&["--wait"]).done();
    let ended = run(&sandbox, "R1");
    assert_eq!(ended["error"]["type"], "timeout", "{ended}");
    let kept = sandbox.git(&sandbox.root, &["ls-tree", "--name-only", "refs/comity/run/R1/wip"]);
    assert!(kept.contains("small.txt") && !kept.contains("large.bin"), "{kept}");
    let logs = sandbox.comity().by("human:ann").args(&["run", "logs", "R1"]).done().stdout;
    assert!(logs.contains("large.bin is too large for a snapshot"), "{logs}");
}

#[test]
fn a_work_tree_gets_the_ignored_files_that_the_project_names() {
    let sandbox = with_agent("cp local.env kept.txt; ls; echo 'no report'", "");
    sandbox.write(".gitignore", "*.env\n*.log\n");
    sandbox.write(".worktreeinclude", "local.env\nREADME.md\n");
    sandbox.commit(&sandbox.root, "Ignore");
    for name in ["local.env", "other.env", "big.log"] {
        sandbox.write(name, name);
    }
    let args = ["run", "developer", "--task", "T1", "--driver", "script", "--wait"];
    sandbox.comity().by("human:ann").args(&args).done();
    let tree = run(&sandbox, "R1")["workspace"].as_str().unwrap().to_owned();
    let has = |name: &str| std::path::Path::new(&tree).join(name).is_file();
    assert!(has("local.env") && has("kept.txt"), "{tree}");
    assert!(!has("other.env") && !has("big.log"));
}

#[test]
fn a_run_whose_vendor_serves_no_more_waits_until_it_does_and_goes_on_by_itself() {
    let script = format!(
        "if test -e again; then mkdir -p src; echo 1 > src/date.rs; git add src\n\
         git commit -q -m 'feat(T1): dates'; {DONE}; exit 0; fi\ntouch again\n\
         until=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)\n\
         echo '{{\"comity\":\"limited\",\"until\":\"'$until'\"}}'; exit 1"
    );
    let sandbox = with_agent(&script, "");
    assert_eq!(waited(&sandbox)["state"], "succeeded");
    let events = |kind: &str| sandbox.json(&["event", "list", "--type", kind])["events"].clone();
    let paused = events("run_paused");
    assert_eq!(paused.as_array().map(Vec::len), Some(1), "{paused}");
    assert!(paused[0]["until"].is_string(), "{paused}");
    assert_eq!(events("run_resumed").as_array().map(Vec::len), Some(1));
    assert_eq!(sandbox.json(&["runs"])["runs"].as_array().map(Vec::len), Some(1), "no new run");
}
