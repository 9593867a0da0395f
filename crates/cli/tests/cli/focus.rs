//! A focused supervisor with real processes: it sends agents out, and ends with evidence or with a question.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// Every agent is this script; the first words say who it is.
fn with_agents(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let agent = sandbox.outside().join("agent.sh");
    std::fs::write(&agent, script).unwrap();
    let config = format!(
        "[fleet]\ndriver = 'script'\n[drivers.script]\ncommand = ['sh', '{}']\nenv = {{ COMITY = '{}' }}\n",
        agent.display(),
        env!("CARGO_BIN_EXE_comity"),
    );
    sandbox.write(".comity/config.toml", &config);
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["--as", "human:ann", "trust"]);
    sandbox
}

const DEVELOPER: &str = r#"developer*)
  mkdir -p src; echo $COMITY_RUN > src/$COMITY_RUN.txt; git add src; git commit -q -m 'feat: a file'
  printf '```json\n{"status":"DONE","summary":"done"}\n```\n';;"#;

fn supervise(sandbox: &Sandbox) -> crate::sandbox::Call {
    sandbox.comity().by("human:ann").args(&[
        "supervise",
        "--objective",
        "Have the file",
        "--criterion",
        "The file is there",
        "--budget",
        "9",
    ])
}

#[test]
fn an_objective_is_reached_with_evidence_for_each_criterion() {
    let script = format!(
        r#"set -e
case $COMITY_AGENT in
focused*)
  give() {{ "$COMITY" objective dispatch developer --task "$1" --file src/a.txt --done 'it is there' --json; }}
  "$COMITY" objective dispatch developer --task '' --file a --done b --json 2> err && exit 7
  give 'Write the file' > out
  grep -q '"state":"succeeded"' out
  say() {{ "$COMITY" objective complete --evidence "The file is there=$1" --summary 'it is there' --json; }}
  say 'the agent said so' 2> err && exit 8
  grep -q 'evidence-missing' err
  grep -q '"criterion":"The file is there"' err
  say R2;;
{DEVELOPER}
esac"#
    );
    let sandbox = with_agents(&script);
    let done = supervise(&sandbox).done();
    let said = sandbox.comity().args(&["run", "logs", "R1"]).done().stdout;
    assert_eq!(done.exit, 0, "{}{}{said}", done.stdout, done.stderr);
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["dod"][0]["state"]), (&json!("done"), &json!("met")));
    let child = sandbox.json(&["run", "show", "R2"])["run"].clone();
    assert_eq!((&child["parent"], &child["state"]), (&json!("R1"), &json!("succeeded")));
    let piece = sandbox.json(&["task", "show", "T2"])["task"].clone();
    assert_eq!((&piece["status"], &piece["files"]), (&json!("review"), &json!(["src/a.txt"])));
    assert_eq!(piece["dod"][0]["text"], "it is there");
    crate::runs::wait_for("the run has ended", || {
        sandbox.json(&["run", "show", "R1"])["run"]["state"] == "succeeded"
    });
    let budgets = sandbox.json(&["budget", "list"])["budgets"].clone();
    let own = |one: &&Value| one["scope"] == "task:T1";
    let own = budgets.as_array().unwrap().iter().find(own).unwrap();
    assert_eq!((&own["usd"], &own["spent"]["runs"]), (&json!(9.0), &json!(2)), "{own}");
}

#[test]
fn what_failed_is_not_sent_out_again_in_the_same_words_and_nothing_starts_two_deep() {
    let script = r#"set -e
case $COMITY_AGENT in
focused*)
  give() { "$COMITY" objective dispatch developer --task "$1" --file src/a.txt --done 'it is there' --json; }
  give 'Try' > out; grep -q '"state":"failed"' out
  give 'Try' 2> err && exit 7
  grep -q 'loop-guard' err
  give 'Try with care' > out; give 'Try with great care' > out
  give 'Try once more' 2> err && exit 8
  grep -q '"limit":3' err
  "$COMITY" objective blocked 'Who can do it?' --json;;
developer*)
  "$COMITY" objective dispatch developer --task 'do it for me' --file b --done c --json 2> err && exit 9
  grep -q spawn-limit err || { cat err >&2; exit 10; }
  exit 7;;
esac"#;
    let sandbox = with_agents(script);
    let mut child = supervise(&sandbox).spawn();
    crate::runs::wait_for("it asks", || {
        sandbox.json(&["decision", "list"])["decisions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["question"] == "Who can do it?")
    });
    let runs = sandbox.json(&["runs", "--agent", "developer"])["runs"].clone();
    for run in runs.as_array().unwrap() {
        assert_eq!(run["error"]["message"], "the agent ended with 7", "{run}");
    }
    assert_eq!(runs.as_array().unwrap().len(), 3);
    sandbox.comity().by("human:ann").args(&["task", "abandon", "T1", "--reason", "nobody"]).json();
    assert_eq!(child.wait().unwrap().code(), Some(3), "it was given up");
}

#[test]
fn an_answered_question_starts_the_focused_supervisor_again_with_the_answer() {
    let script = format!(
        r#"set -e
case $COMITY_AGENT in
focused*)
  if ! grep -q 'Call it Julian' "$COMITY_PROMPT_FILE"; then
    "$COMITY" objective blocked 'Which calendar?' --reason 'both would do' --json; exit 0
  fi
  run=$("$COMITY" objective dispatch developer --task 'Write it' --file src/a.txt --done 'it is there' --json)
  id=$(printf '%s' "$run" | sed 's/.*"run":{{"id":"\(R[0-9]*\)".*/\1/')
  "$COMITY" objective complete --evidence "The file is there=$id" --json;;
{DEVELOPER}
esac"#
    );
    let sandbox = with_agents(&script);
    let mut child = supervise(&sandbox).spawn();
    crate::runs::wait_for("it asks", || {
        let shown = sandbox.comity().args(&["task", "show", "T1", "--json"]).done();
        shown.stdout.contains("\"status\":\"blocked\"")
    });
    sandbox.comity().by("human:ann").args(&["decision", "answer", "D1", "Call it Julian"]).json();
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "done");
}

#[test]
fn an_objective_needs_criteria_and_only_an_agent_in_a_run_has_one() {
    let sandbox = Sandbox::new();
    let done = sandbox.comity().args(&["supervise", "--objective", "Have it"]).done();
    assert_eq!(done.exit, 2, "{}", done.stderr);
    let (code, exit) = sandbox.refused(&["objective", "complete", "--evidence", "a=R1"]);
    assert_eq!((code.as_str(), exit), ("role-forbidden", 3));
}
