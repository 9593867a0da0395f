//! The supervisor with real git, real processes and a script for an agent: a backlog becomes merged work.

use crate::run_processes::cases;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::process::Child;
use std::time::{Duration, Instant};

/// What every agent does, by its name. A design is asked about, a review sends work back once.
const AGENTS: &str = r##"
set -e
task=$COMITY_TASK
report() { printf '```json\n%s\n```\n' "$1"; }
case $COMITY_AGENT in
architect*)
  answer=$("$COMITY" decision ask "Design approval for $task" --type approval --context "one file" \
    --wait --timeout 120s --json)
  case $answer in *'"answer":"approved'*) ;; *) exit 9;; esac
  mkdir -p .comity/specs; echo "# Plan of $task" > .comity/specs/$task.md
  git add -f .comity/specs; git commit -q -m "docs($task): plan"
  report "{\"plan_path\":\".comity/specs/$task.md\",\"summary\":\"one file\"}";;
developer*)
  mkdir -p src
  for n in 1 2 3; do
    test -e src/$task-$n.txt && continue
    echo $n > src/$task-$n.txt; git add src; git commit -q -m "feat($task): part $n"
    "$COMITY" note milestone "T$n done — commit $(git rev-parse HEAD)" > /dev/null
  done
  if grep -q 'tests are missing' "$COMITY_PROMPT_FILE"; then
    echo test > src/$task-test.txt; git add src; git commit -q -m "test($task): tests"
  fi
  echo '{"comity":"cost","call":"c1","usd":0.05}'
  report '{"status":"DONE","summary":"done"}';;
reviewer*)
  if test -e src/$task-test.txt; then
    report '{"verdict":"APPROVED","spec_compliance":"PASS","issues":[],"summary":"good"}'
  else
    report '{"verdict":"CHANGES_REQUESTED","spec_compliance":"PASS","summary":"tests are missing",
      "issues":[{"severity":"CRITICAL","category":"coverage","file":"src/a.txt","description":"tests are missing"}]}'
  fi;;
esac
"##;

/// A repository with a driver whose agents are this script.
fn with_agents(script: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let agent = sandbox.outside().join("agent.sh");
    std::fs::write(&agent, script).unwrap();
    let config = format!(
        "{settings}\n[drivers.script]\ncommand = ['sh', '{}']\nenv = {{ COMITY = '{}' }}\n",
        agent.display(),
        env!("CARGO_BIN_EXE_comity"),
    );
    sandbox.write(".comity/config.toml", &config);
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["--as", "human:ann", "trust"]);
    sandbox
}

const SETTINGS: &str = "[fleet]\ndriver = 'script'\nttl = '20s'\n[supervisor]\nheartbeat = '1s'";

fn create(sandbox: &Sandbox, args: &[&str]) {
    sandbox.comity().by("human:ann").args(&["task", "create"]).args(args).json();
}

fn backlog(sandbox: &Sandbox) {
    create(sandbox, &["Add a parser for dates", "--complexity", "5"]);
    create(sandbox, &["Fix the crash of the clock", "--priority", "P0", "--file", "src/T2-1.txt"]);
    create(sandbox, &["Add a colour for names", "--file", "src/T3-1.txt"]);
}

fn supervise(sandbox: &Sandbox) -> Child {
    sandbox.comity().by("human:ann").args(&["supervise"]).spawn()
}

fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let tasks = sandbox.json(&["task", "list", "--all"])["tasks"].clone();
    let all = tasks.as_array().unwrap().iter();
    all.map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

/// Approves what architects ask, as a person does.
fn answer_designs(sandbox: &Sandbox) {
    let open = sandbox.json(&["decision", "list"])["decisions"].clone();
    for decision in open.as_array().unwrap() {
        let question = decision["question"].as_str().unwrap();
        assert!(question.starts_with("Design approval for"), "{decision}");
        let id = decision["id"].as_str().unwrap();
        sandbox.comity().by("human:ann").args(&["decision", "answer", id, "approved"]).json();
    }
}

fn told(sandbox: &Sandbox) -> String {
    let runs = sandbox.json(&["runs"])["runs"].clone();
    let runs = runs.as_array().unwrap().iter().map(|run| {
        let of =
            ["id", "task", "agent", "state", "error", "reason"].map(|key| run[key].to_string());
        of.join(" ")
    });
    format!("{:?}\n{}", statuses(sandbox), runs.collect::<Vec<_>>().join("\n"))
}

/// Waits until all of the backlog is merged; calls `between` with every look.
fn until_merged(sandbox: &Sandbox, mut between: impl FnMut(usize)) {
    let end = Instant::now() + Duration::from_secs(180);
    let mut looks = 0;
    while !statuses(sandbox).iter().all(|status| status == "done") {
        assert!(Instant::now() < end, "{}", told(sandbox));
        answer_designs(sandbox);
        between(looks);
        looks += 1;
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Checks what has to hold of every story, whoever was killed in it.
fn check_story(sandbox: &Sandbox) {
    for task in ["T1", "T2", "T3"] {
        for part in ["1", "2", "3", "test"] {
            let file = format!("main:src/{task}-{part}.txt");
            sandbox.git(&sandbox.root, &["cat-file", "-e", &file]);
        }
        let runs = sandbox.json(&["runs", "--task", task])["runs"].clone();
        let of = |agent: &str| {
            let all = runs.as_array().unwrap().iter();
            all.filter(|run| run["agent"] == agent && run["state"] == "succeeded").count()
        };
        let planned = usize::from(task == "T1");
        assert_eq!(
            (of("architect"), of("developer"), of("reviewer")),
            (planned, 2, 2),
            "{task}: {}",
            told(sandbox)
        );
    }
    sandbox.git(&sandbox.root, &["cat-file", "-e", "main:.comity/specs/T1.md"]);
    assert_eq!(sandbox.json(&["log", "verify"])["ok"], true);
    assert_eq!(sandbox.json(&["status"])["runs"], json!({}));
    overlaps(sandbox);
}

/// No two runs of one task and stage were ever live at once.
fn overlaps(sandbox: &Sandbox) {
    let runs = sandbox.json(&["runs"])["runs"].clone();
    let runs: Vec<&Value> = runs.as_array().unwrap().iter().collect();
    for (number, one) in runs.iter().enumerate() {
        for other in &runs[number + 1..] {
            let same = one["task"] == other["task"] && one["stage"] == other["stage"];
            let apart = one["ended_at"].as_str() <= other["created_at"].as_str();
            assert!(!same || apart, "{one}\n{other}");
        }
    }
}

fn stop(sandbox: &Sandbox, mut child: Child) {
    let post = sandbox.comity().by("human:ann").args(&["supervise", "--stop"]).json();
    assert_eq!(post["supervisor"]["state"], "stopped", "{post}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_backlog_becomes_merged_work_with_one_answer_of_a_person() {
    let sandbox = with_agents(AGENTS, SETTINGS);
    backlog(&sandbox);
    let dry = sandbox.comity().by("human:ann").args(&["supervise", "--dry-run"]).json();
    let rules: Vec<&str> = dry["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["route.hotfix", "route.large", "route.direct"], "{dry}");
    assert_eq!(sandbox.json(&["runs"])["runs"], json!([]), "a dry run starts nothing");
    let supervisor = supervise(&sandbox);
    until_merged(&sandbox, |_| {});
    check_story(&sandbox);
    let why = sandbox.json(&["run", "why", "R1"]);
    assert_eq!(why["because"][0]["rule"], "route.hotfix", "{why}");
    let status = sandbox.json(&["supervise", "--status"]);
    assert_eq!(status["supervisor"]["state"], "running", "{status}");
    stop(&sandbox, supervisor);
    let once = sandbox.comity().by("human:ann").args(&["supervise", "--once"]).json();
    assert_eq!(once, json!({"steps": [], "idle": true}), "silent when idle");
}

#[test]
fn a_supervisor_that_is_killed_between_any_two_stages_doubles_and_loses_nothing() {
    for _ in 0..cases(1, 10) {
        let sandbox = with_agents(AGENTS, SETTINGS);
        backlog(&sandbox);
        let mut supervisor = supervise(&sandbox);
        let mut kills = 0;
        until_merged(&sandbox, |look| {
            if look % 7 == 6 {
                supervisor.kill().unwrap();
                supervisor.wait().unwrap();
                supervisor = supervise(&sandbox);
                kills += 1;
            }
        });
        assert!(kills > 0);
        println!("killed {kills} times");
        check_story(&sandbox);
        stop(&sandbox, supervisor);
    }
}

#[test]
fn a_second_supervisor_is_refused_and_a_dead_one_is_replaced_at_once() {
    let sandbox = with_agents(AGENTS, SETTINGS);
    let mut supervisor = supervise(&sandbox);
    let state = || sandbox.json(&["supervise", "--status"])["supervisor"]["state"].clone();
    let end = Instant::now() + Duration::from_secs(60);
    while state() != "running" {
        assert!(Instant::now() < end, "it has not taken its seat");
        std::thread::sleep(Duration::from_millis(50));
    }
    let once = || sandbox.comity().by("human:ann").args(&["supervise", "--once"]);
    let (error, status) = once().refusal();
    assert_eq!((&error["code"], status), (&json!("seat-held"), 3), "{error}");
    assert_eq!(error["details"]["holder"], "supervisor");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_eq!(state(), "stopped");
    once().json();
}
