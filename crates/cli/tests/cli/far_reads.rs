//! Every operation that reads, asked of the store and of a server: same answers, same exit statuses, and the caller is who the
//! token says.

use crate::people::{Server, project, token};
use crate::sandbox::{Call, Done, Sandbox};
use comity_api::{Door, Kind, TABLE};
use serde_json::{Value, json};

/// How each operation is asked for on the command line, once where there is something and once where there is nothing.
const READS: &[(&str, &[&str])] = &[
    ("task.list", &["task", "list"]),
    ("task.list", &["task", "list", "--mine"]),
    ("task.list", &["task", "list", "--limit", "0"]),
    ("task.show", &["task", "show", "T1"]),
    ("task.show", &["task", "show", "T99"]),
    ("task.why", &["task", "why", "T1"]),
    ("task.why", &["task", "why", "T99"]),
    ("task.mission", &["contract", "render", "mission", "T1"]),
    ("task.intervention", &["task", "intervene", "T1"]),
    ("lease.list", &["lease", "list"]),
    ("lease.check", &["lease", "check", "src/date/a.rs", "docs"]),
    ("agent.list", &["agent", "list"]),
    ("agent.show", &["agent", "show", "w1"]),
    ("agent.show", &["agent", "show", "nobody-knows"]),
    ("agent.suggest", &["agent", "suggest", "--role", "critic"]),
    ("gate.list", &["gate", "list", "T1"]),
    ("decision.list", &["decision", "list", "--all"]),
    ("decision.show", &["decision", "show", "D1"]),
    ("decision.show", &["decision", "show", "D99"]),
    ("decision.wait", &["decision", "wait", "D1", "--timeout", "1s"]),
    ("decision.wait", &["decision", "wait", "D2", "--timeout", "1s"]),
    ("memory.list", &["memory", "list"]),
    ("memory.show", &["memory", "show", "M1"]),
    ("memory.search", &["memory", "search", "calendar"]),
    ("directive.list", &["directive", "list"]),
    ("directive.show", &["directive", "show", "X99"]),
    ("runs", &["runs"]),
    ("run.show", &["run", "show", "R1"]),
    ("run.logs", &["run", "logs", "R1"]),
    ("run.why", &["run", "why", "R1"]),
    ("workers", &["workers"]),
    ("cost", &["cost"]),
    ("merge.queue", &["merge", "queue"]),
    ("budget.list", &["budget", "list"]),
    ("pad.show", &["pad", "show"]),
    ("pad.history", &["pad", "history"]),
    ("interface.show", &["interface", "show", "day"]),
    ("interface.list", &["interface", "list"]),
    ("brief", &["brief", "T1"]),
    ("event.list", &["event", "list", "--limit", "5"]),
    ("contract.validate", &["contract", "validate", "README.md"]),
    ("contract.render", &["contract", "render", "task", "T1"]),
    ("contract.schema", &["contract", "schema", "result"]),
    ("guard.commit", &["guard", "commit", "README.md"]),
    ("log", &["log"]),
    ("log.verify", &["log", "verify"]),
    ("log.head", &["log", "head"]),
    ("report.log", &["report", "log"]),
    ("report.board", &["report", "board"]),
    ("status", &["status"]),
    ("why", &["why", "T1"]),
    ("why", &["why", "nothing-at-all"]),
    ("board", &["board"]),
];

/// Shown to people only, in words.
const IN_WORDS: &[(&str, &[&str])] = &[("task.story", &["task", "show", "T1"])];

/// A project with something of most kinds, and a server for it.
fn world() -> (Sandbox, Server, String) {
    let sandbox = project();
    let by = |who: &str, args: &[&str]| sandbox.comity().by(who).args(args).json();
    by("w1", &["task", "claim", "T1", "--start", "--ttl", "2h"]);
    by("human:ann", &["task", "create", "Print dates"]);
    by("w1", &["decision", "ask", "Which calendar?", "--option", "iso", "--option", "us"]);
    by("human:ann", &["decision", "answer", "D1", "iso"]);
    by("w1", &["decision", "ask", "Which week?", "--option", "iso"]);
    by("w1", &["memory", "add", "The calendar is proleptic", "--type", "fact"]);
    by("human:ann", &["directive", "create", "Keep it small"]);
    by("w1", &["pad", "append", "The old parser stays"]);
    sandbox.write("api.ts", "export type Day = string;\n");
    by("w1", &["interface", "publish", "day", "api.ts"]);
    sandbox.write("README.md", "# A tool\n");
    let secret = token(&sandbox, "w1", &[]).trim().rsplit(' ').next().unwrap().to_owned();
    let server = Server::start(&sandbox, &[]);
    (sandbox, server, secret)
}

fn far(sandbox: &Sandbox, server: &Server, secret: &str) -> Call {
    let url = format!("http://127.0.0.1:{}", server.port);
    sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", secret)
}

/// What was said, as far as it does not say where it was asked.
fn said(done: &Done) -> (i32, Value) {
    let text = if done.exit == 0 { &done.stdout } else { &done.stderr };
    let last = text.lines().last().unwrap_or_default();
    let mut value: Value = serde_json::from_str(last).unwrap_or_else(|_| json!(text));
    without_moment(&mut value);
    (done.exit, value)
}

/// Leaves out what says where or when it was asked; what is new for the caller comes once, with the answer that is next.
fn without_moment(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !["store", "news", "now", "life"].contains(&name.as_str()));
            fields.values_mut().for_each(without_moment);
        }
        Value::Array(list) => list.iter_mut().for_each(without_moment),
        Value::String(text) if text.contains("Generated: ") => {
            let kept = text.lines().filter(|line| !line.starts_with("Generated: "));
            *text = kept.collect::<Vec<_>>().join("\n");
        }
        _ => {}
    }
}

#[test]
fn every_read_has_the_same_answer_and_exit_status_over_a_server() {
    let (sandbox, server, secret) = world();
    let known = |name: &str| READS.iter().chain(IN_WORDS).any(|(row, _)| *row == name);
    let both = [Door::CommandLine, Door::Http];
    for row in TABLE.iter().filter(|row| row.kind == Kind::Read) {
        let at_both = both.iter().all(|door| row.doors.contains(door));
        assert!(!at_both || known(row.name), "{} is not walked", row.name);
    }
    let mut different = Vec::new();
    for (row, args) in READS {
        let near = sandbox.comity().by("w1").args(args).args(&["--json"]).done();
        let there = far(&sandbox, &server, &secret).args(args).args(&["--json"]).done();
        let (near, there) = (said(&near), said(&there));
        if near != there {
            different.push(format!("{row} {args:?}:\n  {near:?}\n  {there:?}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    for (row, args) in IN_WORDS {
        let near = sandbox.comity().by("w1").args(args).done();
        let there = far(&sandbox, &server, &secret).args(args).done();
        assert_eq!((near.exit, near.stdout), (there.exit, there.stdout), "{row}");
    }
}

#[test]
fn over_a_server_you_are_who_the_token_says() {
    let (sandbox, server, secret) = world();
    let me = far(&sandbox, &server, &secret).args(&["whoami"]).json();
    assert_eq!((&me["me"], &me["holds"]["tasks"]), (&json!("w1"), &json!(["T1"])), "{me}");
    assert!(me["why"].as_str().unwrap().contains("server"), "{me}");
    let status = far(&sandbox, &server, &secret).args(&["status"]).json();
    assert_eq!((&status["me"], &status["repo"]), (&json!("w1"), &json!("tool")));
    let mine = far(&sandbox, &server, &secret).args(&["task", "list", "--mine"]).json();
    assert_eq!(mine["tasks"].as_array().unwrap().len(), 1, "{mine}");
    let near = sandbox.comity().by("w1").args(&["prime"]).json();
    let there = far(&sandbox, &server, &secret).args(&["prime"]).json();
    assert_eq!(near["text"], there["text"]);
    let hook =
        json!({"session_id": "3f2a91bc-0000", "hook_event_name": "SessionStart"}).to_string();
    let primed = far(&sandbox, &server, &secret).env("CLAUDECODE", "1");
    let primed = primed.args(&["prime", "--hook"]).stdin(&hook).done();
    assert!(primed.stdout.contains("You are w1 in tool"), "{} {}", primed.stdout, primed.stderr);
    // The socket of the owner names nobody: there you are who you are here.
    let socket = format!("unix:{}", server.socket);
    let here = sandbox.comity().by("w7").args(&["--url", &socket, "whoami"]).json();
    assert_eq!(here["me"], "w7");
}
