//! `comity mcp` on stdin and stdout, as a client sees it.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

/// A client of a server of its own.
pub struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
    thread: String,
}

impl Client {
    /// Starts the server as Codex does, and shakes hands as of 2025-06-18.
    fn codex(sandbox: &Sandbox, thread: &str) -> Client {
        Client::start(sandbox, &["mcp", "--client", "codex"], &[], thread)
    }

    pub fn start(sandbox: &Sandbox, args: &[&str], env: &[(&str, &str)], thread: &str) -> Client {
        let mut call = sandbox.comity().args(args);
        for (name, value) in env {
            call = call.env(name, value);
        }
        let mut child = call.piped().spawn();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Client { child, to, from, last: 0, thread: thread.to_owned() };
        let hello = client.hello("2025-06-18");
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        client
    }

    fn hello(&mut self, version: &str) -> Value {
        let about = json!({"protocolVersion": version, "capabilities": {},
                           "clientInfo": {"name": "test", "version": "1"}});
        let hello = self.ask("initialize", &about);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        hello
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool under an id of the call; the content must be the same as the structured content.
    fn call_as(&mut self, tool: &str, arguments: &Value, id: Option<&str>) -> (bool, Value) {
        let mut meta = json!({"threadId": self.thread});
        if let Some(id) = id {
            meta["callId"] = json!(id);
        }
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let answer = self.ask("tools/call", &params);
        let result = &answer["result"];
        let structured = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() <= 16 * 1024, "{}", text.len());
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
        assert!(!text.contains("null"), "{text}");
        (result["isError"].as_bool().unwrap_or(false), structured)
    }

    pub fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let (is_error, answer) = self.call_as(tool, arguments, None);
        assert!(!is_error, "{answer}");
        answer
    }

    pub fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let (is_error, answer) = self.call_as(tool, arguments, None);
        assert!(is_error, "{answer}");
        answer["error"].clone()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.comity().args(&["init"]).json();
    let create = ["task", "create", "Parse dates", "--file", "src/date/**"];
    sandbox.comity().by("human:ann").args(&create).json();
    sandbox
}

#[test]
fn two_sessions_of_one_client_are_two_agents_and_a_refusal_says_which_tool_to_call() {
    let sandbox = project();
    let mut one = Client::codex(&sandbox, "019a-1f4b8a2c7e01");
    let claim = one.ok("claim_task", &json!({}));
    assert_eq!(claim["task"]["assignee"], "codex:8a2c7e01");
    assert_eq!(claim["task"]["status"], "in_progress");
    assert!(claim["task"].get("created_at").is_none(), "a task is short: {claim}");
    let mut two = Client::codex(&sandbox, "019a-77d0c3e95b42");
    let error = two.refused("lease_files", &json!({"paths": ["src/date/mod.rs"]}));
    assert_eq!(error["code"], "lease-held");
    assert!(error["message"].as_str().unwrap().contains("held by codex:8a2c7e01"), "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains(r#"`lease_files {"paths":["src/date/mod.rs"],"wait_seconds":50}`"#));
    let via = &sandbox.json(&["event", "list", "--type", "task_claimed"])["events"][0]["via"];
    assert_eq!((&via["client"], &via["session"]), (&json!("codex"), &json!("019a-1f4b8a2c7e01")));
}

#[test]
fn clients_of_each_era_of_the_protocol_are_served() {
    let sandbox = project();
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::codex(&sandbox, "t");
        assert_eq!(client.hello(version)["result"]["protocolVersion"], version);
    }
    let mut child = sandbox.comity().args(&["mcp"]).piped().spawn();
    let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
    let mut client = Client { child, to, from, last: 0, thread: String::new() };
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}});
    let found = client.ask("server/discover", &json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let arguments = json!({"what": "tasks"});
    let call = json!({"name": "look_up", "arguments": arguments, "_meta": meta});
    let answer = client.ask("tools/call", &call);
    assert_eq!(answer["result"]["structuredContent"]["tasks"][0]["id"], "T1");
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn whoever_nothing_names_may_only_read_and_nobody_is_a_person() {
    let sandbox = project();
    let mut nobody = Client::start(&sandbox, &["mcp"], &[], "t");
    assert_eq!(nobody.ok("look_up", &json!({"what": "task", "id": "T1"}))["task"]["number"], 1);
    let error = nobody.refused("claim_task", &json!({}));
    assert_eq!(error["code"], "role-forbidden");
    let person = [("COMITY_AGENT", "human:ann")];
    let mut person = Client::start(&sandbox, &["mcp", "--client", "codex"], &person, "t");
    assert_eq!(person.refused("claim_task", &json!({}))["code"], "human-only");
    let named = [("COMITY_AGENT", "agent.impl.1")];
    let mut named = Client::start(&sandbox, &["mcp"], &named, "t");
    assert_eq!(named.ok("claim_task", &json!({}))["task"]["assignee"], "agent.impl.1");
    assert_eq!(sandbox.json(&["agent", "list"])["agents"].as_array().unwrap().len(), 2);
}

#[test]
fn a_client_without_a_session_id_is_one_agent_a_process() {
    let sandbox = project();
    let marked = [("GEMINI_CLI", "1")];
    let mut client = Client::start(&sandbox, &["mcp"], &marked, "");
    let params = json!({"name": "claim_task", "arguments": {}});
    let answer = client.ask("tools/call", &params);
    let agent = answer["result"]["structuredContent"]["task"]["assignee"].clone();
    let agent = agent.as_str().unwrap().strip_prefix("gemini:").unwrap();
    assert!(!agent.is_empty() && agent.chars().all(|c| c.is_ascii_alphanumeric()), "{agent}");
    let via = &sandbox.json(&["event", "list", "--type", "task_claimed"])["events"][0]["via"];
    let session = via["session"].as_str().unwrap();
    assert!(session.contains(&format!("/{}@", std::process::id())), "{session}");
}

#[test]
fn a_repeated_call_gets_the_first_answer_and_nothing_is_done_twice() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    let (_, first) = client.call_as("create_task", &json!({"title": "One"}), Some("call-1"));
    let (_, again) = client.call_as("create_task", &json!({"title": "One"}), Some("call-1"));
    assert_eq!(first, again);
    let keyed = json!({"title": "Two", "key": "k"});
    let first = client.ok("create_task", &keyed);
    assert_eq!(client.ok("create_task", &keyed), first);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 3);
    let other = client.refused("create_task", &json!({"title": "Three", "key": "k"}));
    assert_eq!(other["code"], "idempotency-mismatch");
}

#[test]
fn work_is_handed_in_from_the_branch_of_the_claim_and_what_is_checked_out_does_not_count() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    let branch = client.ok("claim_task", &json!({}))["branch"].clone();
    sandbox.write("src/date/a.rs", "fn a() {}\n");
    sandbox.commit(&sandbox.root, "On main");
    let done = json!({"task": "T1", "outcome": "completed", "summary": "parsed"});
    let error = client.refused("submit_work", &done);
    assert_eq!(error["code"], "unobserved", "{error}");
    assert_eq!(error["hint"], "commit the work, then give its commit or branch");
    sandbox.git(&sandbox.root, &["checkout", "-q", "-b", branch.as_str().unwrap()]);
    sandbox.write("src/date/b.rs", "fn b() {}\n");
    let commit = sandbox.commit(&sandbox.root, "On the branch");
    sandbox.git(&sandbox.root, &["checkout", "-q", "main"]);
    assert_eq!(client.ok("submit_work", &done)["task"]["status"], "review");
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["commit"], commit);
    let own = client.refused("review_task", &json!({"task": "T1", "verdict": "approve"}));
    assert_eq!(own["code"], "role-forbidden");
}

#[test]
fn what_happened_is_recorded_by_kind() {
    let sandbox = project();
    let create = ["task", "create", "Two", "--dod", "It is fast", "--gate", "tests"];
    sandbox.comity().by("human:ann").args(&create).json();
    let mut client = Client::codex(&sandbox, "t1");
    let fence = client.ok("claim_task", &json!({"id": "T2", "start": false}))["fence"].clone();
    let mut record = |given: Value| {
        let mut all = json!({"task": "T2", "fence": fence});
        all.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        client.ok("record", &all)
    };
    assert_eq!(record(json!({"kind": "start"}))["task"]["status"], "in_progress");
    record(json!({"kind": "step_started", "text": "read"}));
    record(json!({"kind": "step_done", "text": "read"}));
    record(json!({"kind": "discovery", "text": "it is recursive"}));
    record(json!({"kind": "item_met", "text": "It is fast"}));
    let done = record(json!({"kind": "gate", "gate": "tests", "passed": true}));
    assert_eq!((&done["task"]["gates"][0]["state"], &done["news"]), (&json!("met"), &json!([])));
    let task = &sandbox.json(&["task", "show", "T2"])["task"];
    assert_eq!(task["dod"][0]["state"], "met");
    assert_eq!(task["subtasks"].as_array().unwrap().len(), 1);
    let unnamed = client.ok("record", &json!({"kind": "progress", "text": "nearly there"}));
    assert_eq!(unnamed["task"]["id"], "T2", "the only task that it holds");
    let missing = client.refused("record", &json!({"kind": "gate", "task": "T2", "gate": "tests"}));
    assert_eq!(missing["code"], "invalid-input");
    let stale = client.refused("release", &json!({"task": "T2", "reason": "no", "fence": 1}));
    assert_eq!(stale["code"], "stale-fence");
    let back = client.ok("release", &json!({"task": "T2", "reason": "no"}));
    assert_eq!(back["task"]["status"], "queued");
}

#[test]
fn what_agents_leave_for_each_other_is_written_and_read_with_the_tools() {
    let sandbox = project();
    let mut one = Client::codex(&sandbox, "019a-aaaaaaaa");
    let mut two = Client::codex(&sandbox, "019a-bbbbbbbb");
    two.ok("record", &json!({"kind": "heartbeat"}));
    let pad = one.ok("remember", &json!({"type": "pad", "text": "The old parser stays"}));
    assert!(pad["pad"]["text"].as_str().unwrap().contains("The old parser stays"), "{pad}");
    let read = two.ok("look_up", &json!({"what": "pad"}));
    assert!(read["pad"]["text"].as_str().unwrap().contains("The old parser stays"), "{read}");
    sandbox.write("api.ts", "export type Day = string;\n");
    sandbox.comity().by("bob").args(&["interface", "publish", "day", "api.ts"]).json();
    let all = two.ok("look_up", &json!({"what": "interface"}));
    assert_eq!(all["interfaces"][0]["name"], "day", "{all}");
    let day = two.ok("look_up", &json!({"what": "interface", "id": "day"}));
    assert_eq!(
        (&day["interface"]["name"], &day["interface"]["version"]),
        (&json!("day"), &json!(1))
    );
    let told = json!({"kind": "message", "to": "codex:bbbbbbbb", "text": "Mind the clock"});
    one.ok("record", &told);
    let heard = two.ok("record", &json!({"kind": "heartbeat"}));
    assert!(heard["news"].to_string().contains("Mind the clock"), "{heard}");
    let change =
        json!({"kind": "change", "text": "parse returns a Result", "paths": ["src/date/mod.rs"]});
    one.ok("record", &change);
    let claim = two.ok("claim_task", &json!({"id": "T1"}));
    assert!(claim["brief"].to_string().contains("parse returns a Result"), "{claim}");
    let brief = two.ok("look_up", &json!({"what": "brief", "id": "T1"}));
    assert!(brief["brief"].to_string().contains("parse returns a Result"), "{brief}");
    let lib = json!({"kind": "change", "text": "lib is going away", "paths": ["lib/a.rs"]});
    one.ok("record", &lib);
    let leased = two.ok("lease_files", &json!({"paths": ["lib/a.rs"]}));
    assert!(leased["brief"].to_string().contains("lib is going away"), "{leased}");
}

#[test]
fn a_refusal_names_the_call_that_helps() {
    let sandbox = project();
    let mut one = Client::codex(&sandbox, "019a-aaaaaaaa");
    let mut two = Client::codex(&sandbox, "019a-bbbbbbbb");
    let submit = json!({"task": "T1", "outcome": "completed", "summary": "done"});
    let hint = |error: Value| error["hint"].as_str().unwrap().to_owned();
    let first = one.ok("claim_task", &json!({"id": "T1", "start": false}));
    let refused = one.refused("submit_work", &submit);
    assert_eq!(refused["code"], "invalid-transition", "{refused}");
    let start = r#"`record {"kind":"start","task":"T1"}`"#;
    assert!(hint(refused.clone()).contains(start), "{refused}");
    one.ok("release", &json!({"task": "T1", "reason": "later"}));
    let refused = one.refused("submit_work", &submit);
    assert!(hint(refused.clone()).contains(r#"`claim_task {"id":"T1"}`"#), "{refused}");
    one.ok("claim_task", &json!({"id": "T1"}));
    let old = json!({"task": "T1", "kind": "progress", "text": "x", "fence": first["fence"]});
    let stale =
        one.refused("release", &json!({"task": "T1", "reason": "x", "fence": old["fence"]}));
    assert_eq!(stale["code"], "stale-fence");
    assert!(hint(stale.clone()).contains(r#"`claim_task {"id":"T1"}`"#), "{stale}");
    let late = two.refused("lease_files", &json!({"paths": ["src/date/a.rs"], "wait_seconds": 1}));
    assert_eq!(late["code"], "timed-out", "{late}");
    let again = r#"`lease_files {"paths":["src/date/a.rs"],"wait_seconds":50}`"#;
    assert!(hint(late.clone()).contains(again), "{late}");
    let gate = json!({"kind": "gate", "task": "T1", "gate": "tets", "passed": true});
    let gate = one.refused("record", &gate);
    assert_eq!(gate["code"], "unknown-name");
    assert!(hint(gate.clone()).contains(r#"`ask {"question":"QUESTION"}`"#), "{gate}");
}

#[test]
fn the_next_answer_has_the_news() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    client.ok("claim_task", &json!({}));
    let asked = json!({"question": "Which parser?", "options": ["serde:the crate", "own"]});
    let id = client.ok("ask", &asked)["decision"]["id"].clone();
    let person = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    person(&["decision", "answer", id.as_str().unwrap(), "own"]);
    person(&["directive", "create", "Rebase before you submit", "--trigger", "idle"]);
    person(&["task", "release", "T1", "--reason", "something else first"]);
    let news = client.ok("record", &json!({"kind": "heartbeat"}))["news"].clone();
    let kinds: Vec<&str> =
        news.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["answer", "directive", "moved"], "{news}");
    assert_eq!((&news[0]["answer"], &news[2]["task"]), (&json!("own"), &json!("T1")));
    assert_eq!(client.ok("record", &json!({"kind": "heartbeat"}))["news"], json!([]));
}

#[test]
fn a_question_that_is_asked_again_is_answered_anew_as_soon_as_anything_has_changed() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    let leases = |client: &mut Client| {
        let asked = client.ok("look_up", &json!({"what": "leases"}));
        asked["leases"].as_array().unwrap().len()
    };
    assert_eq!([leases(&mut client), leases(&mut client)], [0, 0]);
    sandbox.comity().by("bob").args(&["lease", "acquire", "docs", "--ttl", "2s"]).json();
    assert_eq!([leases(&mut client), leases(&mut client)], [1, 1]);
    // Nobody commits anything when it runs out.
    let end = std::time::Instant::now() + std::time::Duration::from_millis(2_100);
    while std::time::Instant::now() < end {
        leases(&mut client);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(leases(&mut client), 0);
    let asked = client.ok("ask", &json!({"question": "Which parser?"}))["decision"]["id"].clone();
    leases(&mut client);
    let answer = ["decision", "answer", asked.as_str().unwrap(), "serde"];
    sandbox.comity().by("human:ann").args(&answer).json();
    let news = client.ok("look_up", &json!({"what": "leases"}))["news"].clone();
    assert_eq!(news[0]["kind"], "answer", "{news}");
    assert!(client.ok("look_up", &json!({"what": "leases"})).get("news").is_none());
}

#[test]
fn rule_4_4_whoever_reads_is_alive_however_short_its_claim_is() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    client.ok("claim_task", &json!({"ttl": "3s"}));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(6);
    while std::time::Instant::now() < end {
        client.ok("look_up", &json!({"what": "status"}));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let task = sandbox.json(&["task", "show", "T1"])["task"].clone();
    assert_eq!((&task["status"], &task["assignee"]), (&json!("in_progress"), &json!("codex:t1")));
}

#[test]
fn a_grant_that_ran_out_is_told_with_the_refusal() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    client.ok("claim_task", &json!({"ttl": "1s"}));
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    sandbox.comity().by("human:ann").args(&["watchdog", "--once"]).json();
    let note = json!({"task": "T1", "kind": "step_started", "text": "late"});
    let (is_error, answer) = client.call_as("record", &note, None);
    assert!(is_error, "{answer}");
    let lost = answer["news"].as_array().unwrap().iter().any(|one| one["kind"] == "lost");
    assert!(lost, "{answer}");
}

#[test]
fn a_call_waits_for_a_lease_and_for_an_answer() {
    let sandbox = project();
    let mut one = Client::codex(&sandbox, "t1");
    let mut two = Client::codex(&sandbox, "t2");
    let id = one.ok("lease_files", &json!({"paths": ["a"]}))["leases"][0]["lock_id"].clone();
    let wait = json!({"paths": ["a"], "wait_seconds": 30});
    let params = json!({"name": "lease_files", "arguments": wait, "_meta": {"threadId": "t2"}});
    two.last += 1;
    two.send(&json!({"jsonrpc": "2.0", "id": two.last, "method": "tools/call", "params": params}));
    one.ok("release", &json!({"leases": [id], "reason": "done"}));
    let got = two.read();
    assert_eq!(got["result"]["structuredContent"]["leases"][0]["owner"], "codex:t2", "{got}");
    let vain = one.refused("lease_files", &json!({"paths": ["a"], "wait_seconds": 1}));
    assert_eq!(vain["code"], "timed-out");
    let open = one.ok("ask", &json!({"question": "Why?", "wait_seconds": 1}));
    assert_eq!(open["decision"]["state"], "open", "a question that nobody answers stays open");
}

#[test]
fn bad_input_is_said_in_the_answer_and_never_ends_the_server() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    for (tool, arguments) in [
        ("look_up", json!({"what": "status", "other": 1})),
        ("look_up", json!({"what": "everything"})),
        ("look_up", json!({"what": "task"})),
        ("lease_files", json!({"paths": ["../outside"]})),
        ("lease_files", json!({})),
        ("record", json!({"kind": "progress"})),
        ("claim_task", json!({"ttl": "soon"})),
        ("submit_work", json!({"task": "T1", "outcome": "failed", "summary": "s", "fence": 0})),
    ] {
        assert_eq!(client.refused(tool, &arguments)["code"], "invalid-input", "{arguments}");
    }
    let unknown = client.ask("tools/call", &json!({"name": "drop_tables", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    writeln!(client.to.as_mut().unwrap(), "{}", "x".repeat(1024 * 1024 + 10)).unwrap();
    writeln!(client.to.as_mut().unwrap(), "not json").unwrap();
    loop {
        // Whatever it says to those two lines, it goes on.
        client.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/list"}));
        if client.read()["id"] == 77 {
            break;
        }
    }
}

#[test]
fn an_answer_is_never_longer_than_a_model_can_take_in() {
    let sandbox = project();
    let long = "word ".repeat(12_000);
    let mut client = Client::codex(&sandbox, "t1");
    for n in 0..30 {
        let text = format!("{n} {}", "memory ".repeat(150));
        client.ok("remember", &json!({"text": text, "type": "fact"}));
    }
    let mut seen = Vec::new();
    let mut asked = json!({"what": "memories", "limit": 30});
    loop {
        let page = client.ok("look_up", &asked);
        let found = page["memories"].as_array().unwrap();
        seen.extend(found.iter().map(|memory| memory["id"].clone()));
        match page.get("next") {
            Some(next) => asked["after"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 30, "{seen:?}");
    client.ok("create_task", &json!({"title": "Long", "description": long}));
    let cut = client.ok("look_up", &json!({"what": "task", "id": "T2"}));
    assert_eq!(cut["next"], "comity://task/T2");
    let whole = client.ask("resources/read", &json!({"uri": "comity://task/T2"}));
    let text = whole["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.len() > 60_000, "{}", text.len());
}

#[test]
fn resources_and_prompts_are_listed_and_read() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    let listed = client.ask("resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "comity://board");
    let board = client.ask("resources/read", &json!({"uri": "comity://board"}));
    assert!(board["result"]["contents"][0]["text"].as_str().unwrap().contains("Parse dates"));
    let log = client.ask("resources/read", &json!({"uri": "comity://task/T1/log"}));
    let log = log["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    assert!(log.lines().next().unwrap().contains("task_created"), "{log}");
    let templates = client.ask("resources/templates/list", &json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
    let none = client.ask("resources/read", &json!({"uri": "comity://task/T9"}));
    assert!(none["error"]["code"].is_i64(), "{none}");
    let prompts = client.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 3);
    let prompt = json!({"name": "review", "arguments": {"task": "T1"}});
    let review = client.ask("prompts/get", &prompt);
    let text = review["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("Review task T1"), "{text}");
}

#[test]
fn the_server_ends_with_its_client() {
    let sandbox = project();
    let mut client = Client::codex(&sandbox, "t1");
    client.ok("claim_task", &json!({}));
    drop(client.to.take());
    assert!(client.child.wait().unwrap().success());
    assert_eq!(sandbox.comity().args(&["mcp"]).done().exit, 0, "a client that says nothing");
}

#[test]
fn a_server_that_is_started_where_nothing_is_set_up_leaves_no_store_behind() {
    let sandbox = Sandbox::new();
    let (error, exit) = sandbox.comity().args(&["mcp"]).refusal();
    assert_eq!((&error["code"], exit), (&json!("store-unavailable"), 5));
    assert!(!sandbox.root.join(".git/comity/comity.db").exists());
}

#[test]
fn those_who_wait_hold_no_thread_that_others_need() {
    let sandbox = project();
    let mut holder = Client::codex(&sandbox, "t1");
    holder.ok("lease_files", &json!({"paths": ["a"]}));
    let mut client = Client::codex(&sandbox, "t2");
    // More calls than the server has threads for work that blocks.
    wait_for(&mut client, 64);
    let first = client.ok("look_up", &json!({"what": "leases"}));
    assert_eq!(first["leases"][0]["owner"], "codex:t1", "a read is answered before any wait ends");
    for _ in 0..64 {
        let answer = client.read();
        assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "timed-out", "{answer}");
    }
}

/// Sends calls that wait for a lease, and reads no answer.
fn wait_for(client: &mut Client, calls: u64) {
    for id in 1_000..1_000 + calls {
        let arguments = json!({"paths": ["a"], "wait_seconds": 3});
        let params = json!({"name": "lease_files", "arguments": arguments,
                            "_meta": {"threadId": "t2"}});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
}

#[test]
fn more_calls_at_once_than_the_server_takes_are_refused_and_the_others_are_answered() {
    let sandbox = project();
    let mut holder = Client::codex(&sandbox, "t1");
    holder.ok("lease_files", &json!({"paths": ["a"]}));
    let mut client = Client::codex(&sandbox, "t2");
    wait_for(&mut client, 270);
    let codes: Vec<Value> = (0..270)
        .map(|_| client.read()["result"]["structuredContent"]["error"]["code"].clone())
        .collect();
    let count = |code: &str| codes.iter().filter(|one| *one == code).count();
    assert_eq!((count("timed-out"), count("limit-exceeded")), (256, 14));
}
