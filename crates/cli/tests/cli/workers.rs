//! Many hosts: clones of one repository, a store on PostgreSQL and a remote between them. A run with labels starts where a worker
//! offers them, and a host that is lost loses nothing.

use crate::runs::{DONE, alive, wait_for};
use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Child;

const SETTINGS: &str = "[fleet]\nttl = '4s'\npush_every = '1s'";

/// An office that asks for runs, and hosts that do them.
struct Field {
    office: Sandbox,
    url: String,
    remote: PathBuf,
}

impl Field {
    fn new(script: &str) -> Field {
        let office = Sandbox::new();
        let (url, remote) =
            (comity_store::test_server::empty_store(), office.outside().join("remote.git"));
        let agent = office.outside().join("agent.sh");
        std::fs::write(&agent, format!("set -e\n{script}\n")).unwrap();
        let config =
            format!("{SETTINGS}\n[drivers.script]\ncommand = ['sh', '{}']\n", agent.display());
        office.write(".comity/config.toml", &config);
        office.commit(&office.root, "Settings");
        office.git(&office.root, &["init", "--quiet", "--bare", &remote.display().to_string()]);
        office.git(&office.root, &["remote", "add", "origin", &remote.display().to_string()]);
        office.git(&office.root, &["push", "--quiet", "origin", "main"]);
        let field = Field { office, url, remote };
        field.at(&field.office.root.clone()).args(&["trust"]).json();
        let args = ["task", "create", "Parse dates", "--file", "src/date.rs"];
        field.at(&field.office.root.clone()).args(&args).json();
        field
    }

    /// Calls comity as a person in one of the clones.
    fn at(&self, root: &Path) -> Call {
        let call = self.office.comity().at(root).by("human:ann");
        call.env("COMITY_STORE", &self.url).env("COMITY_REPO", "acme/app")
    }

    fn ask(&self, args: &[&str]) -> Value {
        self.at(&self.office.root).args(args).json()
    }

    fn host(&self, name: &str) -> PathBuf {
        let root = self.office.outside().join(name);
        let (from, to) = (self.remote.display().to_string(), root.display().to_string());
        self.office.git(&self.office.root, &["clone", "--quiet", "--branch", "main", &from, &to]);
        self.at(&root).args(&["trust"]).json();
        root
    }

    fn worker(&self, root: &Path, labels: &[&str]) -> Child {
        let labels = labels.iter().flat_map(|label| ["--label", label]);
        let args: Vec<&str> = ["worker", "--capacity", "1"].into_iter().chain(labels).collect();
        self.at(root).args(&args).spawn()
    }

    fn start(&self, labels: &[&str]) -> Value {
        let labels = labels.iter().flat_map(|label| ["--label", label]);
        let args = ["run", "developer", "--task", "T1", "--driver", "script"];
        let args: Vec<&str> = args.into_iter().chain(labels).collect();
        self.ask(&args)["run"].clone()
    }

    fn run(&self, id: &str) -> Value {
        self.ask(&["run", "show", id])["run"].clone()
    }

    fn on_remote(&self, what: &str) -> Option<String> {
        let git = self
            .office
            .clean(std::ffi::OsStr::new("git"))
            .current_dir(&self.remote)
            .args(["show", what])
            .output();
        let output = git.unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_labelled_run_waits_for_a_worker_that_offers_all_of_its_labels_and_its_work_comes_back() {
    let script = format!(
        "mkdir -p src; echo 1 > src/date.rs; git add -A; git commit -q -m 'feat(T1): parse dates'\n{DONE}"
    );
    let field = Field::new(&script);
    let (one, two) = (field.host("one"), field.host("two"));
    let run = field.start(&["gpu=1", "os=linux"]);
    assert_eq!((&run["state"], &run["labels"]), (&json!("queued"), &json!(["gpu=1", "os=linux"])));
    let mut small = field.worker(&one, &["os=linux"]);
    wait_for("the worker is known", || {
        let workers = field.ask(&["workers"])["workers"].clone();
        workers.as_array().unwrap().len() == 1
    });
    std::thread::sleep(std::time::Duration::from_secs(6));
    assert_eq!(field.run("R1")["state"], "queued", "it waits beyond its time to live");
    let mut large = field.worker(&two, &["gpu=1", "os=linux"]);
    wait_for("the run has ended", || field.run("R1")["state"] == "succeeded");
    let run = field.run("R1");
    let workers = field.ask(&["workers"])["workers"].clone();
    let offers = |worker: &&Value| worker["labels"] == json!({"gpu": "1", "os": "linux"});
    let large_one = workers.as_array().unwrap().iter().find(offers).unwrap();
    assert_eq!(run["worker"], large_one["id"], "{workers}");
    assert_eq!((&large_one["capacity"], &large_one["drain"]), (&json!(1), &json!(false)));
    assert!(large_one["drivers"].get("script").is_some(), "{large_one}");
    let task = field.ask(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["commit"]), (&json!("review"), &run["head"]));
    let branch = task["branch"].as_str().unwrap();
    assert_eq!(field.on_remote(&format!("{branch}:src/date.rs")).as_deref(), Some("1\n"));
    // Whoever goes on with it elsewhere fetches it first.
    let review = ["run", "reviewer", "--task", "T1", "--driver", "script"];
    field.ask(&review);
    let here = field.office.git(&field.office.root, &["rev-parse", branch]);
    assert_eq!(run["head"], here);
    // By the time of the answer it may have ended already.
    field.at(&two).args(&["worker", "--drain"]).json();
    assert!(large.wait().unwrap().success(), "it ends after its last run");
    kill(&mut small);
    assert_eq!(field.ask(&["log", "verify"])["ok"], true);
}

#[test]
fn a_stopped_host_is_told_that_its_fence_is_stale_and_its_run_goes_on_from_what_was_pushed() {
    let word = "16180.33988";
    let script = format!(
        "case $COMITY_RUN in\nR1) echo 1 > part; git add part; git commit -q -m 'feat(T1): a part'\n\
         echo draft > draft.txt; echo began; sleep {word};;\n\
         *) test \"$(cat part)\" = 1; test \"$(cat draft.txt)\" = draft; grep -q 'RESUMING FROM CRASH' \"$COMITY_PROMPT_FILE\"\n\
         git add -A; git commit -q -m 'feat(T1): the rest'; {DONE};;\nesac"
    );
    let field = Field::new(&script);
    let (one, two) = (field.host("one"), field.host("two"));
    field.start(&["gpu=1"]);
    let mut first = field.worker(&one, &["gpu=1"]);
    wait_for("commit and draft are pushed", || {
        field.on_remote("refs/comity/run/R1/wip:draft.txt").is_some()
            && field.on_remote("refs/comity/run/R1/head:part").is_some()
    });
    let home = one.display().to_string();
    let of_host = |pid: &u32| {
        let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let tree = field.run("R1")["workspace"].as_str().unwrap_or("-").to_owned();
        dir.starts_with(&home) || dir.starts_with(tree)
    };
    let stopped: Vec<u32> =
        alive("__keeper").into_iter().filter(of_host).chain([first.id()]).collect();
    assert_eq!(stopped.len(), 2);
    let signal = |name: &str| {
        for pid in &stopped {
            let sent = std::process::Command::new("kill").args([name, &pid.to_string()]).status();
            assert!(sent.unwrap().success());
        }
    };
    signal("-STOP");
    let mut second = field.worker(&two, &["gpu=1"]);
    wait_for("another run has ended", || {
        field.run("R1")["state"] == "lost" && {
            let runs = field.ask(&["runs"])["runs"].clone();
            runs.as_array().unwrap().len() == 2 && runs[1]["state"] == "succeeded"
        }
    });
    let run = field.run("R2");
    assert_eq!((&run["resumed_from"], &run["attempt"]), (&json!("R1"), &json!(2)));
    assert_ne!(run["worker"], field.run("R1")["worker"]);
    signal("-CONT");
    wait_for("the first agent is ended", || alive(word).is_empty());
    assert_eq!(field.run("R1")["state"], "lost");
    let task = field.ask(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["commit"]), (&json!("review"), &run["head"]));
    let branch = task["branch"].as_str().unwrap();
    assert_eq!(field.on_remote(&format!("{branch}:draft.txt")).as_deref(), Some("draft\n"));
    kill(&mut first);
    kill(&mut second);
    assert_eq!(field.ask(&["log", "verify"])["ok"], true);
}

#[test]
fn labels_are_names_with_values_and_a_worker_without_a_store_is_refused() {
    let sandbox = Sandbox::new();
    for args in [
        &["worker", "--label", "gpu"][..],
        &["worker", "--capacity", "0"],
        &["run", "developer", "--prompt", "x", "--label", "=1"],
    ] {
        let done = sandbox.comity().args(args).done();
        assert_eq!(done.exit, 2, "{args:?}: {}", done.stderr);
    }
    let none = sandbox.json(&["workers"]);
    assert_eq!(none, json!({"workers": []}));
}
