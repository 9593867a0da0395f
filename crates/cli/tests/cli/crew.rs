//! A crew at work: three agents, a critic, an integrator and a person, with twelve tasks whose files overlap. One agent is
//! killed, one review sends work back, two agents ask. Everybody does what comity's output says, and nothing else.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Title, declared files, the file that the work changes, the tasks before it.
const TASKS: [(&str, &str, &str, &str); 12] = [
    ("Parse numbers", "src/num/**", "src/num/parse.rs", ""),
    ("Print numbers", "src/num/print.rs", "src/num/print.rs", ""),
    ("Round numbers", "src/num/*.rs", "src/num/round.rs", ""),
    ("Parse dates", "src/date/**", "src/date/parse.rs", ""),
    ("Print dates", "src/date/print.rs", "src/date/print.rs", ""),
    ("Describe numbers", "docs/index.md", "docs/index.md", ""),
    ("Describe dates", "docs/index.md", "docs/index.md", ""),
    ("Describe the rest", "docs/**", "docs/index.md", ""),
    ("List changes", "CHANGES.md", "CHANGES.md", ""),
    ("Thank people", "CHANGES.md", "CHANGES.md", "T1"),
    ("Test numbers", "tests/num.rs", "tests/num.rs", "T1, T2, T3"),
    ("Publish", "src/**", "src/lib.rs", "T4, T5"),
];
const SENT_BACK: &str = "T2";
const FEEDBACK: &str = "minus zero is missing";
const ASKING: [&str; 2] = ["T5", "T8"];
/// Who does not survive its first task.
const CRASHING: &str = "cyd";
/// Claim, submit, approve, merge, done.
const CALLS_MAX: usize = 5;
/// What a round more, a crash or a question adds at most.
const SECOND_ROUND: usize = 3;
const CRASH: usize = 1;
const QUESTION: usize = 2;
const PATIENCE: Duration = Duration::from_secs(150);
const LOOK_EVERY: Duration = Duration::from_millis(150);

struct Crew {
    sandbox: Sandbox,
    began: Instant,
    over: AtomicBool,
    /// Mutating calls that succeeded, by task.
    calls: Mutex<BTreeMap<String, Vec<String>>>,
    faults: Mutex<Vec<String>>,
}

impl Crew {
    fn is_over(&self) -> bool {
        if self.began.elapsed() > PATIENCE {
            self.fault("it takes too long".to_owned());
        }
        self.over.load(Ordering::Relaxed)
    }

    fn fault(&self, what: String) {
        self.faults.lock().unwrap().push(what);
        self.over.store(true, Ordering::Relaxed);
    }

    fn count(&self, task: &str, call: &str) {
        self.calls.lock().unwrap().entry(task.to_owned()).or_default().push(call.to_owned());
    }

    fn json(&self, who: &str, args: &[&str]) -> Value {
        self.sandbox.comity().by(who).args(args).json()
    }

    fn in_status(&self, who: &str, status: &str) -> Vec<Value> {
        let list = self.json(who, &["task", "list", "--status", status]);
        list["tasks"].as_array().unwrap().clone()
    }
}

/// Somebody with a shell: a work tree and the environment that comity told to set.
struct Member<'c> {
    crew: &'c Crew,
    name: String,
    tree: PathBuf,
    fence: Option<String>,
}

impl<'c> Member<'c> {
    fn new(crew: &'c Crew, name: &str) -> Member<'c> {
        let tree = crew.sandbox.outside().join(name);
        let place = tree.display().to_string();
        crew.sandbox.git(&crew.sandbox.root, &["worktree", "add", "--quiet", "--detach", &place]);
        Member { crew, name: name.to_owned(), tree, fence: None }
    }

    fn at_the_root(crew: &'c Crew, name: &str) -> Member<'c> {
        Member { crew, name: name.to_owned(), tree: crew.sandbox.root.clone(), fence: None }
    }

    fn shell(&self, line: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_comity"));
        let path =
            format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = self.crew.sandbox.clean(OsStr::new("sh"));
        command.args(["-c", line]).current_dir(&self.tree);
        command.env("PATH", path).env("COMITY_AGENT", &self.name);
        command.envs(self.fence.iter().map(|fence| ("COMITY_FENCE", fence)));
        command
    }

    /// Types a line, and does what a remark asks for.
    fn types(&mut self, line: &str) -> Done {
        let done = Done::from(self.shell(line).output().unwrap());
        if done.stderr.contains("unset the variable") {
            self.fence = None;
        }
        done
    }

    /// Types a line that must work; a mutating one is counted for its task.
    fn does(&mut self, task: Option<&str>, line: &str) -> String {
        let done = self.types(line);
        if done.exit != 0 {
            self.crew.fault(format!("{}: {line}: {}", self.name, done.stderr));
        } else if let Some(task) = task {
            self.crew.count(task, line);
        }
        done.stdout
    }

    fn ready(&self) -> BTreeSet<String> {
        let list = self.crew.json(&self.name, &["task", "list", "--ready"]);
        let ids = list["tasks"].as_array().unwrap().iter();
        ids.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Claims the next task; returns what comity says about it.
    fn claims(&mut self, options: &str) -> Option<String> {
        let before = self.ready();
        let done = self.types(&format!("comity task claim --start --wait 3s{options}"));
        if done.exit == 0 {
            let task = word_after(&done.stdout, "Claimed ");
            self.crew.count(&task, "claim");
            return Some(done.stdout);
        }
        let after = self.ready();
        let all_along: Vec<&String> = before.intersection(&after).collect();
        if done.exit != 6 || !all_along.is_empty() {
            let text =
                format!("{} got nothing while {all_along:?} was ready: {}", self.name, done.stderr);
            self.crew.fault(text);
        }
        None
    }

    /// Follows the steps that a claim prints, up to the one that hands the work in; returns that one.
    fn begins(&mut self, said: &str) -> String {
        let (_, steps) = said.split_once("Next:\n").unwrap();
        let mut steps: Vec<&str> = steps.lines().map(str::trim).collect();
        let last = steps.pop().unwrap();
        for step in steps {
            match step.strip_prefix("export COMITY_FENCE=") {
                Some(fence) => self.fence = Some(fence.to_owned()),
                None => drop(self.does(None, &format!("{step} 2>&1"))),
            }
        }
        last.replace("pass|fail", "pass")
    }

    /// Changes the file of a task and commits it.
    fn works(&mut self, task: &str, more: &str) {
        let number: usize = task.strip_prefix('T').unwrap().parse().unwrap();
        let path = self.tree.join(TASKS[number - 1].2);
        let (todo, done) = (format!("{number}: todo\n"), format!("{number}: done {more}\n"));
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let new = if old.contains(&todo) { old.replace(&todo, &done) } else { old + &done };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, new).unwrap();
        self.does(None, &format!("git add --all && git commit --quiet -m 'feat({task}): {more}'"));
    }

    fn asks(&mut self, task: &str) {
        let line = format!(
            "comity decision ask 'Which form?' --task {task} --option iso --option local --wait --timeout 60s"
        );
        let said = self.does(Some(task), &line);
        assert!(said.contains("iso"), "{said}");
    }

    /// An agent's whole day.
    fn lives(&mut self) {
        while !self.crew.is_over() {
            let Some(said) = self.claims("") else { continue };
            let task = word_after(&said, "Claimed ");
            let submit = self.begins(&said);
            if ASKING.contains(&task.as_str()) {
                self.asks(&task);
            }
            let feedback = said.lines().find_map(|line| line.trim().strip_prefix("feedback"));
            self.works(&task, feedback.map_or("as planned", str::trim));
            self.does(Some(&task), &submit);
        }
    }

    /// Begins a task and is killed in the middle of a long command.
    fn dies(&mut self) {
        let Some(said) = self.claims(" --ttl 2s") else { return self.crew.fault("no task".into()) };
        let task = word_after(&said, "Claimed ");
        self.begins(&said);
        self.works(&task, "half of it");
        std::fs::write(self.tree.join("scratch"), "not committed").unwrap();
        let mut long = self.shell("comity with -- sleep 60");
        let mut child = long.stdout(Stdio::null()).process_group(0).spawn().unwrap();
        // Longer than the claim lives without a sign of life.
        std::thread::sleep(Duration::from_secs(3));
        let held = self.crew.json("human:tester", &["task", "show", &task]);
        assert_eq!(held["task"]["claim"]["agent"], self.name, "kept alive: {held}");
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-9", "--", &group]).status().unwrap();
        assert!(killed.success());
        child.wait().unwrap();
    }
}

fn word_after(text: &str, mark: &str) -> String {
    let (_, rest) = text.split_once(mark).unwrap_or_else(|| panic!("{mark:?} is not in {text}"));
    rest.split_whitespace().next().unwrap().to_owned()
}

/// The command that comity names as the next step for a task.
fn next_step(crew: &Crew, who: &str, task: &str) -> String {
    let why = crew.json(who, &["task", "why", task]);
    let next = why["why"]["next"].as_str().unwrap().to_owned();
    next.split('`').find(|part| part.starts_with("comity ")).unwrap_or(&next).to_owned()
}

/// Reviews what is handed in; sends one task back the first time.
fn review(crew: &Crew) {
    let mut eve = Member::at_the_root(crew, "eve");
    while !crew.is_over() {
        for task in crew.in_status("eve", "review") {
            let (id, branch) = (task["id"].as_str().unwrap(), task["branch"].as_str().unwrap());
            let diff = crew.sandbox.git(&crew.sandbox.root, &["diff", &format!("main...{branch}")]);
            if id == SENT_BACK && !diff.contains(FEEDBACK) {
                eve.does(
                    Some(id),
                    &format!("comity task request-changes {id} --reason '{FEEDBACK}'"),
                );
            } else {
                let approve = next_step(crew, "eve", id);
                eve.does(Some(id), &approve);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Merges what is approved, until all tasks are done.
fn integrate(crew: &Crew) {
    let mut ines = Member::at_the_root(crew, "ines");
    while !crew.is_over() {
        for task in crew.in_status("ines", "approved") {
            let (id, branch) = (task["id"].as_str().unwrap(), task["branch"].as_str().unwrap());
            let merge = next_step(crew, "ines", id);
            ines.does(Some(id), &merge);
            ines.does(None, &format!("git merge --quiet --no-ff -m 'Merge {id}' {branch}"));
            let done = next_step(crew, "ines", id).replace("SHA", "$(git rev-parse HEAD)");
            ines.does(Some(id), &done);
        }
        if crew.json("ines", &["status"])["counts"]["done"] == TASKS.len() {
            crew.over.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Answers what the agents ask.
fn answer(crew: &Crew) {
    let mut person = Member::at_the_root(crew, "human:tester");
    while !crew.is_over() {
        let open = crew.json("human:tester", &["decision", "list"]);
        for decision in open["decisions"].as_array().unwrap() {
            let (id, task) = (decision["id"].as_str().unwrap(), decision["task"].as_str());
            person.does(task, &format!("comity decision answer {id} iso"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn plan() -> String {
    let task = |(title, files, _, before): &(&str, &str, &str, &str)| {
        format!(
            "- title: {title}\n  files: ['{files}']\n  gates: [tests]\n  depends_on: [{before}]\n"
        )
    };
    TASKS.iter().map(task).collect()
}

fn gather() -> Crew {
    let sandbox = Sandbox::new();
    let section = |number: usize| format!("{number}: todo\n{}", "-\n".repeat(6));
    sandbox.write("docs/index.md", &[6, 7, 8].map(section).concat());
    sandbox.write("CHANGES.md", &[9, 10].map(section).concat());
    sandbox.write("plan.yaml", &plan());
    sandbox.commit(&sandbox.root, "Plan");
    let crew = Crew {
        sandbox,
        began: Instant::now(),
        over: AtomicBool::new(false),
        calls: Mutex::default(),
        faults: Mutex::default(),
    };
    crew.json("human:tester", &["agent", "register", "eve", "--role", "critic"]);
    crew.json("human:tester", &["agent", "register", "ines", "--role", "integrator"]);
    crew.json("human:tester", &["task", "breakdown", "plan.yaml"]);
    crew
}

#[test]
fn a_crew_that_does_what_it_is_told_finishes_everything_in_few_calls() {
    let crew = gather();
    std::thread::scope(|scope| {
        scope.spawn(|| review(&crew));
        scope.spawn(|| integrate(&crew));
        scope.spawn(|| answer(&crew));
        for name in ["ada", "bob", CRASHING] {
            let mut member = Member::new(&crew, name);
            let crew = &crew;
            scope.spawn(move || match member.name == CRASHING {
                true => {
                    member.dies();
                    Member::new(crew, "dan").lives();
                }
                false => member.lives(),
            });
        }
    });
    assert_eq!(*crew.faults.lock().unwrap(), Vec::<String>::new());
    let tasks = crew.json("human:tester", &["task", "list", "--status", "done"]);
    let tasks = tasks["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), TASKS.len());
    let calls = crew.calls.lock().unwrap();
    let mut crashed = 0;
    for task in tasks {
        let id = task["id"].as_str().unwrap();
        assert!(task["merged_sha"].is_string(), "{id} is merged");
        let attempts = usize::try_from(task["attempts"].as_u64().unwrap()).unwrap();
        crashed += attempts;
        let mut most = CALLS_MAX + attempts * CRASH;
        most += if id == SENT_BACK { SECOND_ROUND } else { 0 };
        most += if ASKING.contains(&id) { QUESTION } else { 0 };
        assert!(calls[id].len() <= most, "{id} took more than {most}: {:?}", calls[id]);
    }
    assert_eq!(crashed, 1, "one claim ended by a crash");
    assert_eq!(tasks[1]["round"], json!(2), "one review sent work back");
    for (number, (_, _, file, _)) in TASKS.iter().enumerate() {
        let text = crew.sandbox.git(&crew.sandbox.root, &["show", &format!("main:{file}")]);
        let calls = &calls[&format!("T{}", number + 1)];
        assert!(text.contains(&format!("{}: done", number + 1)), "{file}: {text} {calls:?}");
    }
    assert_eq!(crew.json("human:tester", &["log", "verify"])["ok"], true);
}
