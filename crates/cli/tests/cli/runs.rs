//! Runs of agents with real git and real processes, and the budgets that they spend.

use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What a developer prints when it is done.
pub const DONE: &str = r#"printf '```json\n{"status":"DONE","summary":"dates are parsed"}\n```\n'"#;

/// A repository with one task, and a driver whose agent is this script.
pub fn with_agent(script: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let agent = sandbox.outside().join("agent.sh");
    std::fs::write(&agent, format!("set -e\n{script}\n")).unwrap();
    let config = format!("{settings}\n[drivers.script]\ncommand = ['sh', '{}']\n", agent.display());
    sandbox.write(".comity/config.toml", &config);
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["--as", "human:ann", "trust"]);
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/date.rs"]);
    sandbox
}

pub fn start(sandbox: &Sandbox) -> Call {
    sandbox.comity().by("human:ann").args(&[
        "run",
        "developer",
        "--task",
        "T1",
        "--driver",
        "script",
    ])
}

pub fn waited(sandbox: &Sandbox) -> Value {
    start(sandbox).args(&["--wait"]).json()["run"].clone()
}

pub fn run(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.json(&["run", "show", id])["run"].clone()
}

pub fn task(sandbox: &Sandbox) -> Value {
    sandbox.json(&["task", "show", "T1"])["task"].clone()
}

pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The processes whose command line has a word.
pub fn alive(word: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        String::from_utf8_lossy(&line).replace('\0', " ").contains(word).then_some(pid)
    });
    pids.collect()
}

pub fn kill(pid: u32) {
    let sandbox_free = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(sandbox_free.is_ok());
}

/// Directories of programs without bubblewrap, so that Landlock is what is left.
pub fn path_without_bwrap(sandbox: &Sandbox) -> String {
    let own = sandbox.outside().join("programs");
    std::fs::create_dir(&own).unwrap();
    let path = std::env::var("PATH").unwrap();
    for dir in path.split(':').rev() {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for entry in entries.flatten().filter(|entry| entry.file_name() != "bwrap") {
            let link = own.join(entry.file_name());
            let _ = std::fs::remove_file(&link);
            let _ = std::os::unix::fs::symlink(entry.path(), link);
        }
    }
    own.display().to_string()
}

/// What shuts an agent in.
#[derive(Clone, Copy, PartialEq)]
pub enum Walls {
    Bwrap,
    Landlock,
}

impl Walls {
    /// Those that this host has: bubblewrap may be missing, or may not be allowed to make namespaces.
    pub fn here() -> Vec<Self> {
        let bwrap = std::process::Command::new("bwrap")
            .args([
                "--unshare-user",
                "--unshare-pid",
                "--disable-userns",
                "--ro-bind",
                "/",
                "/",
                "true",
            ])
            .output();
        let mut walls = vec![Self::Landlock];
        if bwrap.is_ok_and(|output| output.status.success()) {
            walls.push(Self::Bwrap);
        }
        walls
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
        }
    }

    /// A call whose agent is shut in by these.
    pub fn around(self, sandbox: &Sandbox, call: Call) -> Call {
        match self {
            Self::Bwrap => call,
            Self::Landlock => call.env("PATH", &path_without_bwrap(sandbox)),
        }
    }

    /// The processes of a run, by words of their command lines.
    pub fn processes(self) -> &'static [&'static str] {
        match self {
            Self::Bwrap => &["__keeper", "__child keep", "agent.sh", "bwrap"],
            Self::Landlock => &["__keeper", "__child confine", "agent.sh"],
        }
    }
}

#[test]
fn an_agent_works_in_a_tree_of_its_own_and_its_report_hands_the_task_in() {
    let script = format!(
        "cat > prompt; grep -q 'Parse dates' prompt; rm prompt\nmkdir -p src; echo 1 > src/date.rs\n\
         git add -A; git commit -q -m 'feat(T1): parse dates'\ntest \"$COMITY_AGENT\" = developer:R1\n\
         echo '{{\"comity\":\"usage\",\"call\":\"c1\",\"model\":\"m\",\"input\":100,\"output\":20}}'\n\
         echo '{{\"comity\":\"cost\",\"call\":\"c1\",\"usd\":0.25}}'\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    let run = waited(&sandbox);
    assert_eq!((&run["state"], &run["report"]), (&json!("succeeded"), &json!("developer")));
    assert_eq!((&run["cost_usd"], &run["cost_basis"]), (&json!(0.25), &json!("reported")));
    assert_eq!(run["tokens"]["input"], 100);
    assert_eq!(run["reserved_usd"], 0.0);
    let task = task(&sandbox);
    assert_eq!((&task["status"], &task["commit"]), (&json!("review"), &run["head"]));
    assert_eq!(task["claim"], Value::Null);
    let branch = task["branch"].as_str().unwrap();
    let there = sandbox.git(&sandbox.root, &["rev-parse", branch]);
    assert_eq!(run["head"], there, "the branch is in the project's repository");
    assert!(!sandbox.root.join("src").exists(), "the checkout of the person is as it was");
    assert_eq!(sandbox.json(&["cost"])["cost"]["all"]["by"]["developer"]["usd"], 0.25);
    let said = sandbox.comity().args(&["run", "logs", "R1", "--json"]).done().stdout;
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["kind"] == "usage"), "{said}");
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    let completed = sandbox.comity().args(&["__complete", "run", "show", ""]).done().stdout;
    assert!(completed.starts_with("R1\tsucceeded developer T1"), "{completed}");
}

#[test]
fn an_agent_that_breaks_or_reports_nothing_fails_and_lets_go_of_its_task() {
    for (script, fault, exit) in [("exit 7", "crash", 7), ("echo done", "bad_report", 0)] {
        let sandbox = with_agent(script, "");
        let done = start(&sandbox).args(&["--wait", "--json"]).done();
        assert_eq!(done.exit, 3, "{}{}", done.stdout, done.stderr);
        let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(error["error"]["code"], "run-failed");
        let run = run(&sandbox, "R1");
        assert_eq!((&run["state"], &run["error"]["type"]), (&json!("failed"), &json!(fault)));
        let task = task(&sandbox);
        assert_eq!((&task["status"], &task["attempts"]), (&json!("failed"), &json!(1)), "{exit}");
        assert_eq!(task["claim"], Value::Null);
    }
}

#[test]
fn a_run_that_is_stopped_ends_every_process_of_its_agent() {
    let word = "31415.9265";
    let script = format!(
        "setsid sleep {word} & nohup sleep {word} >/dev/null 2>&1 &\n(sleep {word} &)\necho began\nsleep {word}"
    );
    let sandbox = with_agent(&script, "");
    start(&sandbox).json();
    wait_for("the agent works", || alive(&format!("sleep {word}")).len() == 4);
    sandbox.comity().by("human:ann").args(&["run", "stop", "R1", "--reason", "enough"]).json();
    assert_eq!(task(&sandbox)["status"], "queued", "the task is free at once");
    wait_for("no process is left", || alive(word).is_empty());
    let run = run(&sandbox, "R1");
    assert_eq!(run["reason"], "stopped by human:ann: enough");
}

#[test]
fn whoever_is_killed_leaves_no_process_and_no_held_task() {
    let keepers = Walls::here()
        .into_iter()
        .flat_map(|walls| walls.processes()[..2].iter().map(move |process| (walls, *process)));
    for (number, (walls, victim)) in keepers.enumerate() {
        let word = format!("27182.{number}818");
        let script = format!("setsid sleep {word} &\necho began\nsleep {word}");
        let sandbox = with_agent(&script, "[fleet]\nttl = '3s'");
        walls.around(&sandbox, start(&sandbox)).json();
        wait_for("the agent works", || alive(&format!("sleep {word}")).len() == 2);
        let of_run: Vec<u32> = alive(victim)
            .into_iter()
            .filter(|pid| {
                let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
                dir.starts_with(&sandbox.root) || dir.starts_with(sandbox.outside())
            })
            .collect();
        assert_eq!(of_run.len(), 1, "{victim}");
        kill(of_run[0]);
        wait_for("no process is left", || alive(&word).is_empty());
        wait_for("the task is free", || {
            sandbox.json(&["watchdog", "--once"]);
            task(&sandbox)["claim"].is_null()
        });
        let state = run(&sandbox, "R1")["state"].clone();
        assert!(["lost", "failed"].contains(&state.as_str().unwrap()), "{victim}: {state}");
        assert_eq!(sandbox.json(&["status"])["runs"], json!({}));
    }
}

#[test]
fn what_an_agent_wrote_is_kept_although_it_committed_nothing() {
    let sandbox = with_agent("echo draft > draft.txt; exit 1", "");
    start(&sandbox).args(&["--wait"]).done();
    let kept = sandbox.git(&sandbox.root, &["show", "refs/comity/run/R1/wip:draft.txt"]);
    assert_eq!(kept, "draft");
}

#[test]
fn a_run_whose_budget_is_used_up_pauses_and_goes_on_when_a_person_says_so() {
    let script = format!(
        "test -e paid || {{ touch paid; echo '{{\"comity\":\"cost\",\"call\":\"c1\",\"usd\":0.4}}'; sleep 60; }}\n\
         echo 1 > date; git add date; git commit -q -m 'feat(T1): dates'\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    start(&sandbox).args(&["--budget", "0.5"]).json();
    wait_for("it is paused", || run(&sandbox, "R1")["state"] == "paused");
    let agent = sandbox.outside().join("agent.sh");
    wait_for("its agent has stopped", || alive(&agent.display().to_string()).is_empty());
    let status = sandbox.json(&["status"]);
    assert_eq!(status["attention"][0]["kind"], "budget", "{status}");
    sandbox.comity().by("human:ann").args(&["decision", "answer", "D1", "raise: 3"]).json();
    wait_for("it has ended", || run(&sandbox, "R1")["ended_at"] != Value::Null);
    assert_eq!(run(&sandbox, "R1")["state"], "succeeded");
    assert_eq!(task(&sandbox)["status"], "review");
}

#[test]
fn a_reviewer_looks_at_what_was_handed_in_and_may_change_nothing() {
    let script = format!(
        "case $COMITY_AGENT in\n\
         developer*) echo 1 > date; git add date; git commit -q -m 'feat(T1): dates'; {DONE};;\n\
         reviewer:R2) test -e date; echo 2 > date;;\n\
         reviewer*) test -e date; printf '{{\"verdict\":\"APPROVED\",\"issues\":[],\"summary\":\"good\"}}\\n';;\nesac"
    );
    let sandbox = with_agent(&script, "");
    waited(&sandbox);
    let review = || {
        let call = sandbox.comity().by("human:ann").args(&["run", "reviewer", "--task", "T1"]);
        call.args(&["--driver", "script", "--wait"])
    };
    assert_eq!(review().done().exit, 3);
    assert_eq!(run(&sandbox, "R2")["error"]["type"], "scope");
    assert_eq!(task(&sandbox)["reviewer"], Value::Null, "the review is free again");
    let third = review().args(&["--json"]).done();
    assert_eq!(third.exit, 0, "{}{}", third.stdout, third.stderr);
    assert_eq!(task(&sandbox)["status"], "approved");
}

#[test]
fn a_driver_of_a_repository_is_run_only_after_its_user_trusted_it() {
    let sandbox = with_agent("exit 0", "");
    let config = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("['sh'", "['bash'");
    std::fs::write(&config, text).unwrap();
    let (error, status) = start(&sandbox).refusal();
    assert_eq!((&error["code"], status), (&json!("untrusted"), 3));
    assert_eq!(sandbox.json(&["runs"])["runs"], json!([]));
}

#[test]
fn wrong_words_are_refused_with_what_would_be_right() {
    let sandbox = with_agent("exit 0", "");
    let refused = |args: &[&str]| sandbox.comity().by("human:ann").args(args).refusal();
    let (error, status) = refused(&["run", "develper", "--task", "T1", "--driver", "script"]);
    assert_eq!((&error["code"], status), (&json!("unknown-name"), 2));
    let (error, _) = refused(&["run", "developer", "--task", "T1", "--driver", "codez"]);
    assert_eq!(error["code"], "unknown-name", "{error}");
    let (error, _) = refused(&["run", "developer", "--driver", "script"]);
    assert_eq!(error["code"], "invalid-input", "{error}");
    let (error, status) = refused(&["run", "show", "R9"]);
    assert_eq!((&error["code"], status), (&json!("not-found"), 4));
    let (error, _) = refused(&["budget", "set", "team:x", "--usd", "1"]);
    assert_eq!(error["code"], "invalid-input");
    let budgets = sandbox.json(&["budget", "list"])["budgets"].clone();
    assert_eq!(budgets[0]["scope"], "repo");
    assert_eq!((&budgets[0]["usd"], &budgets[0]["default"]), (&json!(50.0), &json!(true)));
}

#[test]
fn a_prompt_of_a_hundred_kibibytes_is_taken_and_a_longer_one_is_refused() {
    let script = format!(
        "test $(wc -c < \"$COMITY_PROMPT_FILE\") -le 102400; grep -q 'is left out' \"$COMITY_PROMPT_FILE\"\n\
         echo 1 > date; git add date; git commit -q -m 'feat: dates'\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    let file = sandbox.outside().join("prompt");
    let ask = |bytes: usize| {
        std::fs::write(&file, format!("Parse dates\n{}", "x".repeat(bytes - 12))).unwrap();
        let (file, agent) = (file.display().to_string(), ["run", "developer", "--prompt-file"]);
        let call = sandbox.comity().by("human:ann").args(&agent).args(&[&file]);
        call.args(&["--driver", "script", "--wait"]).done()
    };
    assert_eq!(ask(100 * 1024 + 1).exit, 2);
    let run = ask(100 * 1024);
    assert_eq!(run.exit, 0, "{}{}", run.stdout, run.stderr);
}
