//! Processes of runs: none escapes, none survives, and what an agent wrote is kept whoever is killed.

use crate::runs::{
    DONE, Walls, alive, kill, path_without_bwrap, run, start, task, wait_for, waited, with_agent,
};
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `COMITY_LONG=1` runs many more.
pub fn cases(short: usize, long: usize) -> usize {
    if std::env::var_os("COMITY_LONG").is_some() { long } else { short }
}

/// Ways out of a sandbox. Each would leave the word `escaped` in a file outside, or end a process outside.
const ESCAPES: [&str; 20] = [
    "echo escaped > $OUT/a",
    "echo escaped >> $ROOT/README.md",
    "mkdir -p $OUT/b && echo escaped > $OUT/b/x",
    "ln -s $OUT link1 && echo escaped > link1/c",
    "ln $ROOT/README.md hard && echo escaped >> hard",
    "echo escaped > $ROOT/.git/hooks/post-commit && chmod +x $ROOT/.git/hooks/post-commit",
    "git -C $ROOT config core.fsmonitor escaped",
    "git -C $ROOT update-ref refs/heads/escaped HEAD",
    "echo escaped > $ROOT/.git/comity/escaped",
    "rm -f $ROOT/README.md",
    "mv $ROOT/README.md $ROOT/escaped",
    "chmod 777 $ROOT/README.md && echo escaped >> $ROOT/README.md",
    "truncate -s 0 $ROOT/README.md",
    "echo escaped > /tmp/escaped-$WORD",
    "echo escaped > $HOME/.bashrc",
    "mount -t tmpfs none $ROOT || unshare -rm sh -c \"mount -o remount,rw,bind / && echo escaped > $OUT/d\"",
    "kill -9 $PPID; kill -9 $(pgrep -f __keeper)",
    "(setsid sh -c \"sleep 1; echo escaped > $OUT/e\" &)",
    "for p in /proc/[0-9]*; do echo escaped > $p/root$OUT/f; echo escaped > $p/cwd/escaped; done",
    "git config core.fsmonitor \"echo escaped > $OUT/g; true\"; git config filter.x.clean \"echo escaped > $OUT/h; cat\"; echo '* filter=x' > .gitattributes; echo x > filtered",
];

fn nothing_escaped(sandbox: &Sandbox, word: &str) {
    let outside = sandbox.outside();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        assert!(!outside.join("out").join(name).exists(), "{name}");
    }
    let readme = std::fs::read_to_string(sandbox.root.join("README.md")).unwrap();
    assert_eq!(readme, "# tool\n");
    for path in [
        sandbox.root.join("escaped"),
        sandbox.root.join(".git/hooks/post-commit"),
        sandbox.root.join(".git/comity/escaped"),
        PathBuf::from(format!("/tmp/escaped-{word}")),
        outside.join(".bashrc"),
    ] {
        assert!(!path.exists(), "{}", path.display());
    }
    let config = std::fs::read_to_string(sandbox.root.join(".git/config")).unwrap();
    assert!(!config.contains("escaped"), "{config}");
    sandbox.git_fails(&sandbox.root, &["rev-parse", "--verify", "refs/heads/escaped"]);
}

#[test]
fn none_of_twenty_ways_leads_out_of_the_sandbox() {
    for (number, walls) in Walls::here().into_iter().enumerate() {
        let word = format!("{}-{number}", std::process::id());
        let tries: String =
            ESCAPES.iter().map(|escape| format!("( {escape} ) 2>/dev/null || true\n")).collect();
        let script = format!(
            "set +e\nOUT=$COMITY_ROOT/../out; ROOT=$COMITY_ROOT; WORD={word}\n{tries}\nsleep 2\n\
             git config --unset core.fsmonitor; echo 1 > date; git add date; git commit -q -m 'feat(T1): dates'\n{DONE}"
        );
        let sandbox = with_agent(&script, "[sandbox]\nrequire = 'landlock'");
        std::fs::create_dir(sandbox.outside().join("out")).unwrap();
        let done = walls.around(&sandbox, start(&sandbox)).args(&["--wait", "--json"]).done();
        let run = run(&sandbox, "R1");
        assert_eq!(run["sandbox"], walls.word(), "{}{}", done.stdout, done.stderr);
        nothing_escaped(&sandbox, &word);
        assert_eq!(run["state"], "succeeded", "{}{}", done.stdout, done.stderr);
    }
}

#[test]
fn a_host_that_cannot_shut_agents_in_as_demanded_refuses_them() {
    let sandbox = with_agent("exit 0", "[sandbox]\nrequire = 'bwrap'");
    let path = path_without_bwrap(&sandbox);
    let (error, status) = start(&sandbox).env("PATH", &path).refusal();
    assert_eq!((error["code"].as_str(), status), (Some("sandbox-unavailable"), 3), "{error}");
    assert_eq!(sandbox.json(&["runs"])["runs"], Value::Array(Vec::new()));
}

#[test]
fn no_process_of_an_agent_survives_its_run() {
    let word = format!("16180.{}", std::process::id());
    // Without walls the reaper alone has to find them: bubblewrap would take them all with its world.
    let script = format!(
        "setsid sleep {word} & nohup sleep {word} >/dev/null 2>&1 &\n(sleep {word} &)\n(setsid sh -c 'sleep {word} & sleep {word}' &)\n\
         trap '' TERM; sh -c 'trap \"\" TERM HUP; exec sleep {word}' &\necho x >> work; git add work; git commit -q -m 'feat(T1): work'\nexit 3"
    );
    let sandbox = with_agent(&script, "[limits]\nmax_attempts = 1000000");
    let path = path_without_bwrap(&sandbox);
    for number in 1..=cases(4, 1_000) {
        let done = start(&sandbox).env("PATH", &path).args(&["--wait", "--json"]).done();
        assert_eq!(done.exit, 3, "{}{}", done.stdout, done.stderr);
        assert_eq!(alive(&word), Vec::<u32>::new(), "after run {number}");
    }
}

/// How long a process may outlive its run.
const ORPHANS_END: Duration = Duration::from_secs(15);

/// Finds the process of a run by a word of its command line.
fn process_of(sandbox: &Sandbox, word: &str) -> Option<u32> {
    let of_run = |pid: &u32| {
        let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        dir.starts_with(sandbox.outside())
    };
    alive(word).into_iter().find(of_run)
}

#[test]
fn whoever_is_killed_with_kill_9_loses_no_edit_that_is_older_than_five_seconds() {
    let victims: Vec<(Walls, &str)> = Walls::here()
        .into_iter()
        .flat_map(|walls| walls.processes().iter().map(move |process| (walls, *process)))
        .collect();
    for number in 0..cases(victims.len(), 500) {
        let (walls, victim) = victims[number % victims.len()];
        let word = format!("14142.{}{number}", std::process::id());
        let script = format!("echo draft > draft.txt\nsetsid sleep {word} &\nsleep {word}");
        let sandbox = with_agent(&script, "[fleet]\nttl = '3s'");
        walls.around(&sandbox, start(&sandbox)).json();
        wait_for("the agent works", || alive(&format!("sleep {word}")).len() >= 2);
        let tree = PathBuf::from(run(&sandbox, "R1")["workspace"].as_str().unwrap());
        let wip = tree.join(".git/refs/comity/run/R1/wip");
        wait_for("the files are kept", || wip.exists());
        kill(process_of(&sandbox, victim).unwrap_or_else(|| panic!("{victim} is not there")));
        let killed = Instant::now();
        wait_for("no process is left", || alive(&word).is_empty());
        assert!(killed.elapsed() < ORPHANS_END, "{victim}: {:?}", killed.elapsed());
        wait_for("the task is free", || {
            sandbox.json(&["watchdog", "--once"]);
            task(&sandbox)["claim"].is_null()
        });
        let state = run(&sandbox, "R1")["state"].clone();
        assert!(["lost", "failed"].contains(&state.as_str().unwrap()), "{victim}: {state}");
        let kept = sandbox.git(&tree, &["show", "refs/comity/run/R1/wip:draft.txt"]);
        assert_eq!(kept, "draft", "{victim}");
        assert_eq!(sandbox.json(&["runs"])["runs"].as_array().unwrap().len(), 1, "none is doubled");
        assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    }
}

fn commit(number: u32) -> String {
    let comity = env!("CARGO_BIN_EXE_comity");
    format!(
        "echo {number} > step{number}; git add step{number}; git commit -q -m 'feat(T1): step {number}'\n\
         {comity} note milestone \"T{number} done — commit $(git rev-parse HEAD)\" --json >&2\n"
    )
}

#[test]
fn a_run_that_failed_goes_on_on_its_branch_and_knows_what_is_done() {
    let script = format!(
        "cat > prompt\nif head -n 1 prompt | grep -q 'RESUMING FROM CRASH'; then\n\
         grep -q 'Completed tasks: T1 (commit' prompt; grep -q 'start from T2' prompt; test -e step1; test -e draft; rm prompt draft\n{}{DONE}\n\
         else rm prompt; {}echo half > draft; sleep 6; exit 5; fi",
        commit(2),
        commit(1),
    );
    let sandbox = with_agent(&script, "");
    assert_eq!(start(&sandbox).args(&["--wait"]).done().exit, 3);
    let first = run(&sandbox, "R1");
    assert_eq!(first["milestones"].as_array().unwrap().len(), 1, "{first}");
    let resumed = sandbox.comity().by("human:ann").args(&["run", "resume", "R1"]).json();
    assert_eq!(resumed["run"]["resumed_from"], "R1");
    assert_eq!(resumed["run"]["meta"]["resumedFrom"], "R1");
    wait_for("it has ended", || run(&sandbox, "R2")["ended_at"] != Value::Null);
    let second = run(&sandbox, "R2");
    let said = sandbox.comity().args(&["run", "logs", "R2"]).done().stdout;
    assert_eq!(second["state"], "succeeded", "{second}\n{said}");
    assert_eq!((&second["branch"], &second["workspace"]), (&first["branch"], &first["workspace"]));
    let (code, _) = sandbox.refused(&["--as", "human:ann", "run", "resume", "R2"]);
    assert_eq!(code, "invalid-transition", "what succeeded does not go on");
}

#[test]
fn a_run_whose_commits_are_gone_from_the_branch_does_not_go_on() {
    let sandbox = with_agent(&format!("{}exit 5", commit(1)), "");
    assert_eq!(start(&sandbox).args(&["--wait"]).done().exit, 3);
    let first = run(&sandbox, "R1");
    let tree = first["workspace"].as_str().unwrap();
    sandbox.git(Path::new(tree), &["reset", "--quiet", "--hard", "HEAD~1"]);
    let call = sandbox.comity().by("human:ann").args(&["run", "resume", "R1"]);
    let (error, status) = call.refusal();
    assert_eq!((error["code"].as_str(), status), (Some("invalid-transition"), 3));
    assert_eq!(error["details"]["commit"], first["milestones"][0]["sha"], "{error}");
    assert_eq!(sandbox.json(&["runs"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_line_of_nine_mebibytes_stops_no_run() {
    let script = format!(
        "head -c 9437184 /dev/zero | tr '\\0' x; echo\necho 1 > date; git add date; git commit -q -m 'feat(T1): dates'\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    assert_eq!(waited(&sandbox)["state"], "succeeded");
}
