//! Agents that talk with their keeper: a script that speaks the Agent Client Protocol, and what a run says of itself inside.

use crate::runs::{DONE, run, start, task, wait_for, waited, with_agent};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// A project whose driver `script` is an agent that speaks ACP; it has said hello and heard its prompt when `script` begins.
fn with_acp(script: &str, settings: &str) -> Sandbox {
    let hello = r#"
say() { printf '%s\n' "$1"; }
text() { say '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
turn() { say '{"jsonrpc":"2.0","id":'"$1"',"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20}}}'; }
read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r line
"#;
    let sandbox = with_agent(&format!("{hello}{script}"), settings);
    let config = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[drivers.script]", "[drivers.script]\nkind = 'acp'"))
        .unwrap();
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["--as", "human:ann", "trust"]);
    sandbox
}

const GOOD: &str = r#"text '{\"status\":\"DONE\",\"summary\":\"dates are parsed\"}'"#;
const COMMIT: &str = "echo 1 > date; git add date; git commit -q -m 'feat(T1): dates'";

fn said(sandbox: &Sandbox, id: &str) -> String {
    sandbox.comity().args(&["run", "logs", id]).done().stdout
}

#[test]
fn what_is_not_on_the_list_becomes_a_decision_and_a_bad_report_is_mended_once() {
    let ask = r#"say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t","name":"TOOL","rawInput":{"url":"there"}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}'; read -r answer"#;
    let script = format!(
        "{}; case $answer in *'\"y\"'*) ;; *) exit 8;; esac\n{}; case $answer in *'\"y\"'*) ;; *) exit 9;; esac\n\
         {COMMIT}\ntext 'it is done'; turn 11\nread -r line; case $line in *'cannot be used'*) ;; *) exit 7;; esac\n{GOOD}; turn 12\nread -r line || exit 0",
        ask.replace("TOOL", "Bash"),
        ask.replace("TOOL", "WebFetch"),
    );
    let sandbox = with_acp(&script, "[prices.opus]\ninput = 10.0\noutput = 20.0");
    start(&sandbox).json();
    wait_for("it waits", || run(&sandbox, "R1")["state"] == "waiting");
    let decision = sandbox.json(&["decision", "show", "D1"])["decision"].clone();
    assert!(decision["question"].as_str().unwrap().contains("WebFetch"), "{decision}");
    sandbox.comity().by("human:ann").args(&["decision", "answer", "D1", "allow"]).json();
    wait_for("it has ended", || run(&sandbox, "R1")["ended_at"] != Value::Null);
    let run = run(&sandbox, "R1");
    assert_eq!(run["state"], "succeeded", "{run}\n{}", said(&sandbox, "R1"));
    assert_eq!((&run["session"], &run["tokens"]["input"]), (&json!("s1"), &json!(200)));
    assert_eq!(task(&sandbox)["status"], "review");
}

#[test]
fn an_agent_hears_what_is_said_to_it_while_it_works() {
    let script = format!(
        "{COMMIT}\nsay '{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"update\":{{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"name\":\"Bash\"}}}}}}'\n\
         while ! test -e go; do sleep 0.1; done; rm go\n{GOOD}; turn 11\nread -r line; case $line in *'mind the tests'*) ;; *) exit 7;; esac\n{GOOD}; turn 12\nread -r line || exit 0"
    );
    let sandbox = with_acp(&script, "");
    start(&sandbox).json();
    wait_for("it works", || said(&sandbox, "R1").contains("Bash began"));
    sandbox.comity().by("human:ann").args(&["run", "steer", "R1", "mind the tests"]).json();
    wait_for("the keeper has heard it", || said(&sandbox, "R1").contains("told: mind the tests"));
    let diff = sandbox.json(&["run", "diff", "R1"])["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("+++ b/date"), "{diff}");
    let tree = run(&sandbox, "R1")["workspace"].as_str().unwrap().to_owned();
    std::fs::write(std::path::Path::new(&tree).join("go"), "").unwrap();
    wait_for("it has ended", || run(&sandbox, "R1")["ended_at"] != Value::Null);
    let run = run(&sandbox, "R1");
    assert_eq!(run["state"], "succeeded", "{run}\n{}", said(&sandbox, "R1"));
    let (code, _) = sandbox.refused(&["run", "steer", "R1", "more"]);
    assert_eq!(code, "invalid-transition");
}

#[test]
fn an_agent_that_says_nothing_or_hangs_or_takes_too_long_is_ended() {
    let cases = [
        ("init = '1s'", "read -r line; sleep 600", "init_timeout"),
        ("stall = '2s'", "", "stall"),
        ("max_duration = '2s'", "", "timeout"),
    ];
    for (setting, silent, fault) in cases {
        let sandbox = match silent {
            "" => with_acp("sleep 600", &format!("[fleet]\n{setting}")),
            script => {
                let sandbox = with_acp("exit 0", &format!("[fleet]\n{setting}"));
                std::fs::write(sandbox.outside().join("agent.sh"), script).unwrap();
                sandbox
            }
        };
        start(&sandbox).json();
        wait_for(fault, || run(&sandbox, "R1")["ended_at"] != Value::Null);
        assert_eq!(run(&sandbox, "R1")["error"]["type"], fault);
        assert_eq!(task(&sandbox)["claim"], Value::Null);
    }
}

#[test]
fn a_client_that_does_not_end_after_its_result_is_ended_and_has_done_its_work() {
    let script = format!("{COMMIT}\n{GOOD}; turn 11\nexec sleep 600");
    let sandbox = with_acp(&script, "[fleet]\npost_result = '1s'");
    let run = waited(&sandbox);
    assert_eq!(run["state"], "succeeded", "{}", said(&sandbox, "R1"));
}

#[test]
fn inside_of_a_run_the_keeper_knows_who_calls() {
    let comity = env!("CARGO_BIN_EXE_comity");
    let script = format!(
        "test \"$({comity} whoami --json | jq -r .agent.id)\" = developer:R1 || {comity} whoami --json >&2\n\
         {comity} note milestone 'T1 done — commit abcdef0' --json >&2\n\
         {comity} --as human:ann note action x --json 2>as || true; grep -q role-forbidden as; rm as\n\
         {comity} --repo other task list --json 2>other || true; grep -q 'no such repository' other; rm other\n\
         COMITY_AGENT=human:ann COMITY_FENCE=1 {comity} note action 'who am I' --json >&2\n\
         test -z \"$COMITY_STORE\"; {COMMIT}\n{DONE}"
    );
    let sandbox = with_agent(&script, "");
    let run = waited(&sandbox);
    assert_eq!(run["state"], "succeeded", "{}", said(&sandbox, "R1"));
    let events = sandbox.json(&["event", "list"])["events"].clone();
    let notes = events.as_array().unwrap().iter().filter(|event| event["event"] == "note");
    let agents: Vec<&str> = notes.map(|event| event["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["developer:R1", "developer:R1"], "whatever a caller says of itself");
}

#[test]
fn a_client_without_a_key_is_refused_before_anything_is_reserved() {
    let sandbox = with_agent("exit 0", "[drivers.paid]\nkind = 'claude'\ncommand = ['sh']");
    sandbox.json(&["--as", "human:ann", "trust"]);
    let call = sandbox.comity().by("human:ann").args(&["run", "developer", "--task", "T1"]);
    let (error, status) = call.args(&["--driver", "paid"]).refusal();
    assert_eq!((&error["code"], status), (&json!("no-credentials"), 3), "{error}");
    assert_eq!(sandbox.json(&["runs"])["runs"], json!([]));
    assert_eq!(sandbox.json(&["cost"])["cost"]["reserved_usd"], 0.0);
}

#[test]
fn agents_are_defined_by_files_and_a_bad_file_hides_only_itself() {
    let sandbox = Sandbox::new();
    sandbox.json(&["--as", "human:ann", "init", "--clients", "none"]);
    sandbox.write(
        ".comity/agents/auditor.yml",
        "name: auditor\nprompt: You audit.\nsandbox: readonly\n",
    );
    sandbox.json(&["agent", "define", "check"]);
    sandbox.write(".neo/agents/broken.yml", "name: [\n");
    let listed = sandbox.json(&["agent", "define", "list"]);
    assert_eq!(listed["agents"].as_array().unwrap().len(), 6);
    assert_eq!(listed["bad"][0]["file"], ".neo/agents/broken.yml");
    let shown = sandbox.json(&["agent", "define", "show", "auditor"])["agent"].clone();
    assert_eq!((&shown["writable"], &shown["prompt"]), (&json!(false), &json!("You audit.")));
    let done = sandbox.comity().args(&["agent", "define", "check", "--json"]).done();
    assert_eq!(done.exit, 3);
}
