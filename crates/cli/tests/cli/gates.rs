//! Gates that comity runs itself, with real git and real processes.

use crate::sandbox::{Call, Done, Sandbox};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A repository whose base branch has these settings, trusted by its person, and T1 begun by ada on a branch of its own.
fn begun(config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", config);
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["--as", "human:tester", "trust"]);
    begin(&sandbox);
    sandbox
}

fn begin(sandbox: &Sandbox) {
    sandbox.json(&["task", "create", "Parse dates"]);
    sandbox.comity().by("ada").args(&["task", "claim", "T1", "--start"]).json();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    sandbox.work();
}

fn run(sandbox: &Sandbox) -> Call {
    sandbox.comity().by("ada").args(&["gate", "run", "T1"])
}

/// What a run answered, whether it was a refusal or not.
fn answer(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr))
}

fn code(done: &Done) -> String {
    let error: Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    error["error"]["code"].as_str().unwrap().to_owned()
}

fn evidence(sandbox: &Sandbox) -> Vec<Value> {
    let events = sandbox.json(&["event", "list", "--type", "tests_run"]);
    events["events"].as_array().unwrap().clone()
}

/// The processes whose command line has a word.
fn alive(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(word).then_some(line)
    });
    lines.collect()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn cache(sandbox: &Sandbox) -> PathBuf {
    sandbox.outside().join(".cache/comity")
}

/// The clones that are left.
fn clones(sandbox: &Sandbox) -> usize {
    let repositories = std::fs::read_dir(cache(sandbox)).unwrap().flatten();
    let runs = repositories.filter_map(|dir| std::fs::read_dir(dir.path().join("runs")).ok());
    runs.map(Iterator::count).sum()
}

#[test]
fn rule_3_2_a_gate_that_passes_in_a_clean_clone_is_verified() {
    let sandbox = begun(
        "[gates]\nrequired = ['tests']\nmin_tier = 'verified'\n[gate.tests]\ncommand = 'cat README.md'\n",
    );
    let head = sandbox.git(&sandbox.root, &["rev-parse", "HEAD"]);
    let base = sandbox.git(&sandbox.root, &["rev-parse", "main"]);
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    sandbox.json(&["--as", "human:tester", "agent", "register", "eve", "--role", "critic"]);
    sandbox.comity().by("eve").args(&["gate", "record", "T1", "tests", "pass"]).json();
    let (error, _) = sandbox.comity().by("eve").args(&["task", "approve", "T1"]).refusal();
    assert_eq!(error["code"], "gate-unmet", "what somebody says is claimed");
    let answer = sandbox.comity().by("eve").args(&["gate", "run", "T1"]).json();
    assert_eq!(answer["settings"], json!({"from": "base", "commit": base}));
    let gate = &answer["gates"][0];
    assert_eq!((&gate["state"], &gate["tier"]), (&json!("met"), &json!("verified")));
    assert_eq!((&gate["exit_code"], &gate["commit"]), (&json!(0), &json!(head)));
    sandbox.comity().by("eve").args(&["task", "approve", "T1"]).json();
}

#[test]
fn a_clean_clone_has_the_files_of_the_commit_and_no_remote_branch_or_hook() {
    let script = "ls -A; git status --short; git remote; git branch --all; test ! -e .git/hooks";
    let sandbox = begun(&format!("[gate.tests]\ncommand = '{script}'\n"));
    sandbox.write("untracked", "1\n");
    sandbox.git(&sandbox.root, &["remote", "add", "origin", "/nowhere"]);
    let answer = run(&sandbox).json();
    let gate = &answer["gates"][0];
    let printed = gate["output_tail"].as_str().unwrap();
    assert!(
        printed.starts_with(".comity\n.git\nREADME.md\nwork\n* (HEAD detached at "),
        "{printed}"
    );
    assert_eq!(gate["required"], false);
    let event = &evidence(&sandbox)[0];
    assert_eq!((&event["tier"], &event["exit_code"]), (&json!("verified"), &json!(0)));
    assert_eq!(event["command"], script);
    assert_eq!(event["output_tail"], printed);
    assert_eq!(event["config_hash"].as_str().unwrap().len(), 64);
    assert!(event["duration_ms"].is_u64());
    let report = sandbox.root.join(".git/comity").join(event["report"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(report).unwrap(), printed);
    assert_eq!(clones(&sandbox), 0, "a clone is removed after the run");
}

#[test]
fn a_gate_that_fails_is_refused_with_its_output_and_recorded() {
    let sandbox =
        begun("[gate.tests]\ncommand = 'echo oh no; exit 7'\n[gate.fine]\ncommand = 'true'\n");
    let done = run(&sandbox).args(&["--json"]).done();
    assert_eq!((done.exit, code(&done).as_str()), (3, "gate-failed"));
    let gates = answer(&done)["gates"].clone();
    assert_eq!((&gates[0]["name"], &gates[0]["result"]), (&json!("fine"), &json!("pass")));
    assert_eq!((&gates[1]["state"], &gates[1]["exit_code"]), (&json!("failed"), &json!(7)));
    assert_eq!(gates[1]["output_tail"], "oh no\n");
    assert_eq!(evidence(&sandbox).len(), 2);
}

#[test]
fn a_gate_that_cannot_be_run_stays_open_and_is_no_failure() {
    let sandbox = begun(
        "[gate.gone]\ncommand = 'no-such-command-at-all'\n[gate.denied]\ncommand = './README.md'\n\
        [gate.slow]\ncommand = 'sleep 60'\ntimeout = '1s'\n",
    );
    for gate in ["gone", "denied", "slow"] {
        let done = run(&sandbox).args(&[gate, "--json"]).done();
        assert_eq!((done.exit, code(&done).as_str()), (3, "could-not-run"), "{gate}");
        let gates = answer(&done)["gates"].clone();
        assert_eq!((&gates[0]["state"], &gates[0]["exit_code"]), (&json!("open"), &json!(null)));
    }
    assert_eq!(evidence(&sandbox), Vec::<Value>::new());
    let done = run(&sandbox).args(&["slwo", "--json"]).done();
    assert_eq!((done.exit, code(&done).as_str()), (2, "unknown-name"));
}

#[test]
fn no_process_of_a_gate_outlives_it() {
    // A daemon of the old school, one that leaves its session, and one that does not listen to TERM.
    let script = "(setsid sh -c 'sleep 86301' &) ; (setsid setsid sh -c 'trap \"\" TERM; sleep 86302 & sleep 86302; sleep 86302' </dev/null >/dev/null 2>&1 &) ; nohup sleep 86303 >/dev/null 2>&1 & sleep 0.3";
    let sandbox = begun(&format!("[gate.tests]\ncommand = '''{script}'''\n"));
    let began = Instant::now();
    let answer = run(&sandbox).json();
    assert_eq!(answer["gates"][0]["result"], "pass");
    assert!(began.elapsed() > Duration::from_secs(5), "whoever ignores TERM has five seconds");
    assert_eq!(alive("sleep 8630"), Vec::<String>::new());
}

#[test]
fn a_timeout_ends_all_processes() {
    let script = "(setsid sleep 86311 &); sleep 86312";
    let sandbox = begun(&format!("[gate.tests]\ncommand = '{script}'\ntimeout = '1s'\n"));
    let done = run(&sandbox).args(&["--json"]).done();
    assert_eq!(code(&done), "could-not-run");
    assert_eq!(alive("sleep 8631"), Vec::<String>::new());
}

#[test]
fn a_gate_sees_no_secret_of_the_environment() {
    let sandbox = begun(
        "[gate.tests]\ncommand = 'env | cut -d= -f1 | sort | tr \"\\n\" \" \"; test -d \"$TMPDIR\"'\nenv = { MINE = 'x' }\n\
        [gate.passed]\ncommand = 'test \"$DATABASE\" = there'\nenv = ['DATABASE']\n",
    );
    let call = run(&sandbox).env("AWS_SECRET_ACCESS_KEY", "s3cr3t").env("LANG", "C.UTF-8");
    let call = call.env("GITHUB_TOKEN", "t").env("DATABASE", "there").env("CARGO_HOME", "/c");
    let answer = call.env("COMITY_FENCE", "1").args(&["tests", "passed", "--json"]).done();
    let answer = self::answer(&answer);
    let printed = answer["gates"][0]["output_tail"].as_str().unwrap();
    let shells_own = ["OLDPWD", "PWD", "SHLVL", "_"];
    let names: Vec<&str> =
        printed.split_whitespace().filter(|name| !shells_own.contains(name)).collect();
    assert_eq!(names, ["CARGO_HOME", "CI", "HOME", "LANG", "MINE", "PATH", "TMPDIR", "USER"]);
    assert_eq!(answer["gates"][1]["result"], "pass");
}

#[test]
fn what_the_work_changes_about_the_gates_does_not_count() {
    let sandbox =
        begun("[gates]\nrequired = ['tests']\n[gate.tests]\ncommand = 'test ! -e work'\n");
    sandbox.write(".comity/config.toml", "[gate.tests]\ncommand = 'true'\n");
    sandbox.commit(&sandbox.root, "Make it green");
    let done = run(&sandbox).args(&["--json"]).done();
    assert_eq!(code(&done), "gate-failed");
    assert_eq!(evidence(&sandbox)[0]["command"], "test ! -e work");
}

#[test]
fn without_settings_on_the_base_branch_those_of_the_root_count() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    sandbox.write(".comity/config.toml", "[gate.tests]\ncommand = 'true'\n");
    sandbox.json(&["--as", "human:tester", "trust"]);
    let answer = run(&sandbox).json();
    assert_eq!(answer["settings"], json!({"from": "checkout", "commit": null}));
}

#[test]
fn rule_1_7_a_command_of_the_repository_runs_after_its_user_trusted_it() {
    let sandbox = begun("[gate.tests]\ncommand = 'touch /tmp/never-comity'\n");
    sandbox.json(&["--as", "human:tester", "trust", "--remove"]);
    let (error, exit) = sandbox.comity().by("ada").args(&["gate", "run", "T1"]).refusal();
    assert_eq!((&error["code"], exit), (&json!("untrusted"), 3));
    assert_eq!(error["details"]["kind"], "gate.tests");
    // What comity finds by itself is no command of the repository.
    let sandbox = Sandbox::new();
    sandbox.write(".comity/config.toml", "");
    sandbox.write("Makefile", "test:\n\t@echo made\n");
    sandbox.commit(&sandbox.root, "Make");
    begin(&sandbox);
    let answer = run(&sandbox).json();
    assert_eq!(answer["gates"][0]["name"], "test");
    assert_eq!(answer["gates"][0]["output_tail"], "made\n");
}

#[test]
fn who_may_not_record_evidence_runs_no_gate() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ran");
    let sandbox = begun(&format!("[gate.tests]\ncommand = 'touch {}'\n", file.display()));
    sandbox.json(&["--as", "human:tester", "agent", "register", "scout", "--role", "observer"]);
    for (agent, expected) in [("scout", "role-forbidden"), ("bob", "not-holder")] {
        let (error, exit) = sandbox.comity().by(agent).args(&["gate", "run", "T1"]).refusal();
        assert_eq!((&error["code"], exit), (&json!(expected), 3));
    }
    assert!(!file.exists());
}

#[test]
fn a_directory_that_is_kept_makes_the_evidence_observed() {
    let sandbox = begun(
        "[gates]\nkeep = ['target']\njobs = 2\n[gate.tests]\ncommand = 'ls target; mkdir -p target; touch target/$(ls target | wc -l)'\n",
    );
    let first = run(&sandbox).json();
    assert_eq!(first["gates"][0]["tier"], "observed");
    let second = run(&sandbox).json();
    assert_eq!(second["gates"][0]["output_tail"], "0\n");
}

#[test]
fn gates_run_side_by_side_where_the_settings_say_so() {
    let meet = |own: &str, other: &str| {
        format!(
            "touch \"$MEET/{own}\"; i=0; while ! test -e \"$MEET/{other}\"; do sleep 0.05; i=$((i+1)); test $i -lt 200 || exit 1; done"
        )
    };
    let place = tempfile::tempdir().unwrap();
    let env = format!("env = {{ MEET = '{}' }}", place.path().display());
    let (a, b) = (meet("a", "b"), meet("b", "a"));
    let sandbox = begun(&format!(
        "[gates]\njobs = 2\n[gate.a]\ncommand = '''{a}'''\n{env}\n[gate.b]\ncommand = '''{b}'''\n{env}\n"
    ));
    let answer = run(&sandbox).json();
    assert_eq!(answer["gates"].as_array().unwrap().len(), 2);
}

#[test]
fn killed_or_interrupted_it_leaves_no_process_and_no_evidence() {
    let sandbox = begun("[gate.tests]\ncommand = '(setsid sleep 86321 &); sleep 86322'\n");
    for signal in ["KILL", "INT"] {
        let mut child = run(&sandbox).spawn();
        let is_up = |line: &str| alive(line).iter().any(|found| found.starts_with("sleep"));
        wait_for("the gate began", || is_up("sleep 86321") && is_up("sleep 86322"));
        let pid = child.id().to_string();
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success()
        );
        child.wait().unwrap();
        wait_for("a process is left", || alive("sleep 8632").is_empty());
        assert_eq!(evidence(&sandbox), Vec::<Value>::new());
        if signal == "KILL" {
            assert_eq!(clones(&sandbox), 1, "nobody was left to remove it");
        }
    }
    assert_eq!(clones(&sandbox), 0, "the next run has cleared up");
}

#[test]
fn built_in_gates_look_at_the_commits() {
    let sandbox = begun("[gates]\nrequired = ['secrets']\n");
    sandbox.json(&["task", "update", "T1", "--as", "human:tester", "--max-files", "1"]);
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    sandbox.write("conf.py", &format!("# one\ntoken = '{token}'\n"));
    sandbox.commit(&sandbox.root, "Conf");
    let done = run(&sandbox)
        .args(&["secrets", "constraints", "guard", "commit-template", "--json"])
        .done();
    let gates = answer(&done)["gates"].clone();
    let results: Vec<&str> =
        gates.as_array().unwrap().iter().map(|gate| gate["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["fail", "fail", "pass", "fail"], "{gates}");
    let said = gates[0]["output_tail"].as_str().unwrap();
    assert!(said.starts_with("conf.py:2: ") && !said.contains(&token), "{said}");
    assert_eq!(gates[0]["tier"], "verified");
}

#[test]
fn submodules_that_are_here_are_checked_out_and_lfs_pointers_stay_pointers() {
    let sandbox = begun("[gate.tests]\ncommand = 'cat sub/inner && cat big.bin && ls gone'\n");
    let inner = sandbox.outside().join("inner");
    std::fs::create_dir(&inner).unwrap();
    sandbox.git(&inner, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(inner.join("inner"), "inside\n").unwrap();
    sandbox.commit(&inner, "Inner");
    for name in ["sub", "gone"] {
        let from = inner.display().to_string();
        let args = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, name];
        sandbox.git(&sandbox.root, &args);
    }
    sandbox.write(".gitattributes", "*.bin filter=lfs\n");
    sandbox.write("big.bin", "pointer\n");
    sandbox.commit(&sandbox.root, "Submodules");
    std::fs::remove_dir_all(sandbox.root.join(".git/modules/gone")).unwrap();
    let done = sandbox.comity().by("ada").args(&["gate", "run", "T1", "--json"]).done();
    assert_eq!(answer(&done)["gates"][0]["output_tail"], "inside\npointer\n");
    assert!(done.stderr.contains("the submodule gone is not here"), "{}", done.stderr);
    assert!(done.stderr.contains("1 files of Git LFS"), "{}", done.stderr);
}

#[test]
fn init_writes_the_gates_that_a_project_has_by_its_looks_and_requires_none() {
    let sandbox = Sandbox::new();
    sandbox.write("go.mod", "module x\n");
    sandbox.json(&["init", "--clients", "none", "--no-hooks"]);
    let text = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
    assert!(text.contains("\ntest.command = \"go test ./...\""), "{text}");
    assert!(text.contains("\nvet.command = \"go vet ./...\""), "{text}");
    sandbox.json(&["task", "create", "Parse dates"]);
    assert_eq!(sandbox.json(&["gate", "list", "T1"])["gates"], json!([]));
}
