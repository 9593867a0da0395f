//! `comity serve`, `comity token` and `comity prime`, as their callers see them.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

/// A server of its own; it ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(sandbox: &Sandbox) -> Server {
        let args = ["--as", "human:ann", "serve", "--listen", "127.0.0.1:0", "--json"];
        let mut child = sandbox.comity().args(&args).spawn();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let port = said["url"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        Server { child, port }
    }

    /// Sends a request as it is; returns the status and the body.
    fn send(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn post(&self, headers: &str, body: &Value) -> (u16, String) {
        let (body, port) = (body.to_string(), self.port);
        let length = body.len();
        self.send(&format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    /// Calls a tool with a token.
    fn call(&self, token: &str, tool: &str, arguments: &Value) -> (u16, Value) {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            format!("Authorization: Bearer {token}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
        let (status, body) = self.post(&headers, &body);
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
        (status, answer["result"]["structuredContent"].clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
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

fn token(sandbox: &Sandbox, agent: &str, more: &[&str]) -> (String, String) {
    let args = [&["token", "create", "--agent", agent], more].concat();
    let made = sandbox.comity().by("human:ann").args(&args).json();
    let text = |key: &str| made["token"][key].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}

#[test]
fn over_http_the_token_says_who_calls() {
    let sandbox = project();
    let (_, one) = token(&sandbox, "codex:web", &[]);
    let (_, two) = token(&sandbox, "critic:web", &["--role", "critic"]);
    let server = Server::start(&sandbox);
    let (status, claim) = server.call(&one, "claim_task", &json!({}));
    assert_eq!((status, &claim["task"]["assignee"]), (200, &json!("codex:web")), "{claim}");
    let (_, refused) = server.call(&two, "lease_files", &json!({"paths": ["src/date/a"]}));
    assert_eq!(refused["error"]["code"], "lease-held");
    let agents = sandbox.json(&["agent", "show", "critic:web"]);
    assert_eq!(agents["agent"]["roles"], json!(["critic"]));
    let via = &sandbox.json(&["event", "list", "--type", "task_claimed"])["events"][0]["via"];
    assert_eq!(via["session"], "token/K1");
}

#[test]
fn without_a_good_token_nobody_gets_in() {
    let sandbox = project();
    let (id, secret) = token(&sandbox, "codex:web", &[]);
    let (_, brief) = token(&sandbox, "codex:web", &["--expires", "1s"]);
    let server = Server::start(&sandbox);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(server.post("", &list).0, 401);
    assert_eq!(server.post("Authorization: Bearer cmty_00\r\n", &list).0, 401);
    assert_eq!(server.call(&secret, "look_up", &json!({"what": "tasks"})).0, 200);
    sandbox.comity().by("human:ann").args(&["token", "revoke", &id]).json();
    assert_eq!(server.post(&format!("Authorization: Bearer {secret}\r\n"), &list).0, 401);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(server.post(&format!("Authorization: Bearer {brief}\r\n"), &list).0, 401);
}

#[test]
fn a_project_may_let_everybody_on_the_host_read() {
    let sandbox = project();
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("# open_read = true", "open_read = true")).unwrap();
    let server = Server::start(&sandbox);
    let call = |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (_, body) = server.post("", &body);
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["result"]["structuredContent"].clone()
    };
    assert_eq!(call("look_up", json!({"what": "task", "id": "T1"}))["task"]["id"], "T1");
    assert_eq!(call("claim_task", json!({}))["error"]["code"], "role-forbidden");
}

#[test]
fn requests_under_another_name_or_from_another_page_are_refused() {
    let sandbox = project();
    let server = Server::start(&sandbox);
    let port = server.port;
    let get = |headers: &str| {
        server.send(&format!("GET /healthz HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    };
    let (status, body) = get(&format!("Host: 127.0.0.1:{port}\r\n"));
    assert_eq!(status, 200, "{body}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["ok"], true);
    let own = format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n");
    assert_eq!(get(&own).0, 200);
    for bad in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: null\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:1\r\n"),
    ] {
        assert_eq!(get(&bad).0, 403, "{bad}");
    }
    let (_, secret) = token(&sandbox, "codex:web", &[]);
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                       "params": {"x": "x".repeat(1024 * 1024)}});
    assert_eq!(server.post(&format!("Authorization: Bearer {secret}\r\n"), &large).0, 413);
}

#[test]
fn only_a_person_handles_tokens_and_their_secrets_are_kept_nowhere() {
    let sandbox = project();
    for args in
        [&["token", "create", "--agent", "a"][..], &["token", "list"], &["token", "revoke", "K1"]]
    {
        let (error, exit) = sandbox.comity().by("agent.impl.1").args(args).refusal();
        assert_eq!((&error["code"], exit), (&json!("human-only"), 3));
    }
    let (id, secret) = token(&sandbox, "codex:web", &[]);
    let listed = sandbox.comity().by("human:ann").args(&["token", "list"]).json();
    assert_eq!(listed["tokens"][0]["id"], json!(id));
    assert!(!listed.to_string().contains(&secret));
    let kept = std::fs::read_to_string(sandbox.root.join(".git/comity/tokens.json")).unwrap();
    assert!(!kept.contains(secret.strip_prefix("cmty_").unwrap()), "{kept}");
    let events = sandbox.json(&["event", "list", "--type", "token_created"]);
    assert_eq!(events["events"][0]["holder"], "codex:web");
    let unknown = sandbox.comity().by("human:ann").args(&["token", "revoke", "K9"]).refusal();
    assert_eq!(unknown.0["code"], "not-found");
    let far = sandbox.refused(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(far, ("invalid-input".to_owned(), 2));
}

#[test]
fn a_server_that_is_told_to_end_finishes_what_it_has_begun() {
    let sandbox = project();
    let mut server = Server::start(&sandbox);
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn prime_says_who_you_are_what_you_hold_and_what_to_do_in_few_words() {
    let sandbox = project();
    let person = |args: &[&str]| sandbox.comity().by("human:ann").args(args).json();
    for n in 0..20 {
        person(&["task", "create", &format!("Another {n} {}", "long ".repeat(30))]);
        person(&["directive", "create", &format!("Directive {n} {}", "long ".repeat(30))]);
    }
    let agent = |args: &[&str]| sandbox.comity().by("w1").args(args).json();
    agent(&["task", "claim", "T1"]);
    let other = sandbox.comity().by("w2").args(&["lease", "acquire", "docs"]).json();
    assert_eq!(other["leases"][0]["owner"], "w2");
    let text = agent(&["prime"])["text"].as_str().unwrap().to_owned();
    assert!(text.chars().count() <= 1_600, "{}", text.chars().count());
    for part in [
        "You are w1 in tool",
        "You hold T1 Parse dates (fence ",
        "Ready: T2",
        "docs by w2",
        "Loop: ",
        "Rules: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_first_session_of_a_claude_process_stays_its_agent() {
    let sandbox = project();
    let pid = std::process::id().to_string();
    let hook = |session: &str| {
        let input = json!({"session_id": session, "hook_event_name": "SessionStart"}).to_string();
        let call = sandbox.comity().env("CLAUDECODE", "1").env("CLAUDE_PID", &pid);
        let done = call.args(&["prime", "--hook"]).stdin(&input).done();
        assert_eq!(done.exit, 0, "{}", done.stderr);
        let answer: Value = serde_json::from_str(&done.stdout).unwrap();
        let answer = &answer["hookSpecificOutput"];
        assert_eq!(answer["hookEventName"], "SessionStart");
        answer["additionalContext"].as_str().unwrap().to_owned()
    };
    assert!(hook("3f2a91bc-0000").contains("You are claude-code:91bc0000"));
    assert!(hook("ffffffff-1111").contains("You are claude-code:91bc0000"), "after /clear");
    let call = sandbox.comity().env("CLAUDECODE", "1").env("CLAUDE_PID", &pid);
    let me = call.env("CLAUDE_CODE_SESSION_ID", "ffffffff-1111").args(&["whoami"]).json();
    assert_eq!(me["me"], "claude-code:91bc0000");
    assert_eq!(me["via"]["session"], "ffffffff-1111");
}

#[test]
fn a_hook_never_fails_a_session() {
    let sandbox = Sandbox::without_git();
    let done = sandbox.comity().args(&["prime", "--hook"]).stdin("not json").done();
    assert_eq!((done.exit, done.stdout.as_str()), (0, ""), "{}", done.stderr);
}

/// A checkout without a store of its own, whose commands go to a server.
struct Away {
    sandbox: Sandbox,
    env: Vec<(String, String)>,
}

impl Away {
    fn new(server: &Server, secret: &str) -> Away {
        let url = format!("http://127.0.0.1:{}", server.port);
        let env = [("COMITY_URL", url), ("COMITY_TOKEN", secret.to_owned())];
        let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Away { sandbox: Sandbox::new(), env }
    }

    fn env(&self) -> Vec<(&str, &str)> {
        self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn edit(&self, file: &str) -> crate::sandbox::Done {
        let text = json!({"session_id": "s-1", "cwd": self.sandbox.root, "tool_name": "Edit",
            "hook_event_name": "PreToolUse", "tool_input": {"file_path": file}});
        let mut call = self.sandbox.comity();
        for (name, value) in self.env() {
            call = call.env(name, value);
        }
        call.args(&["guard", "hook", "--client", "claude"]).stdin(&text.to_string()).done()
    }
}

#[test]
fn mcp_and_the_guard_go_to_the_server_that_the_environment_names() {
    let sandbox = project();
    let (_, secret) = token(&sandbox, "codex:web", &[]);
    let server = Server::start(&sandbox);
    let away = Away::new(&server, &secret);
    let mut client = crate::mcp::Client::start(&away.sandbox, &["mcp"], &away.env(), "t");
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 10, "{tools}");
    let claim = client.ok("claim_task", &json!({}));
    assert_eq!(claim["task"]["assignee"], "codex:web");
    sandbox.comity().by("bob").args(&["lease", "acquire", "lib/"]).json();
    let denied = away.edit("lib/a.rs");
    assert_eq!(denied.exit, 2);
    assert!(denied.stderr.contains("lib/a.rs is leased to bob"), "{}", denied.stderr);
    let free = away.edit("src/b.rs");
    assert_eq!((free.exit, free.stderr.as_str()), (0, ""));
    let leases = sandbox.json(&["lease", "list"]);
    let taken = |lease: &&Value| lease["path"] == "src/b.rs" && lease["owner"] == "codex:web";
    assert!(leases["leases"].as_array().unwrap().iter().any(|lease| taken(&lease)), "{leases}");
    assert!(!away.sandbox.root.join(".git/comity/comity.db").exists(), "no store was made");
    drop(server);
    assert_eq!(away.edit("src/b.rs").exit, 2, "a server that is gone means no");
    let gone = client.ask("tools/list", &json!({}));
    assert!(gone["error"]["message"].as_str().unwrap().contains("no server answers"), "{gone}");
}

#[test]
fn a_client_that_init_registers_over_a_server_is_one_agent_in_its_tools_its_hooks_and_its_shell() {
    let sandbox = project();
    let (_, secret) = token(&sandbox, "claude-code:web", &[]);
    let server = Server::start(&sandbox);
    let url = format!("http://127.0.0.1:{}", server.port);
    let far = |args: &[&str]| {
        let args = [&["--url", &url], args].concat();
        sandbox.comity().env("COMITY_TOKEN", &secret).args(&args)
    };
    let before = sandbox.git(&sandbox.root, &["status", "--porcelain", "-uall"]);
    let init = ["init", "--clients", "claude,codex"];
    let done = far(&init).json();
    assert_eq!((&done["server"], &done["agent"]), (&json!(url), &json!("claude-code:web")));
    assert_eq!(far(&init).json()["files"]["changed"], json!([]), "twice is once");
    let read = |name: &str| std::fs::read_to_string(sandbox.root.join(name)).unwrap();
    for name in [".mcp.json", ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json"] {
        assert!(!read(name).contains(&secret), "{name} has the token");
    }
    let settings: Value = serde_json::from_str(&read(".claude/settings.json")).unwrap();
    assert_eq!(settings["env"]["COMITY_AGENT"], "claude-code:web");
    // What a tool of the server leased is the hook's own, under whatever session it is called.
    server.call(&secret, "claim_task", &json!({}));
    let hook = |words: &[&str], file: &str| {
        let text = json!({"session_id": "s-1", "cwd": sandbox.root, "tool_name": "Edit",
            "hook_event_name": "PreToolUse", "tool_input": {"file_path": file}});
        let call = sandbox.comity().env("COMITY_TOKEN", &secret).args(words);
        call.stdin(&text.to_string()).done()
    };
    let args = settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"].as_array().unwrap();
    let claude: Vec<&str> = args.iter().map(|word| word.as_str().unwrap()).collect();
    let codex: Value = serde_json::from_str(&read(".codex/hooks.json")).unwrap();
    let command = codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let line = command.split(" ||").next().unwrap().strip_prefix("comity ").unwrap();
    let codex: Vec<&str> = line.split(' ').collect();
    sandbox.comity().by("bob").args(&["lease", "acquire", "lib/"]).json();
    for words in [claude, codex] {
        let own = hook(&words, "src/date/a.rs");
        assert_eq!((own.exit, own.stderr.as_str()), (0, ""), "{words:?}");
        let denied = hook(&words, "lib/a.rs");
        assert_eq!(denied.exit, 2, "{words:?}");
        assert!(denied.stderr.contains("lib/a.rs is leased to bob"), "{}", denied.stderr);
    }
    let start: Vec<&str> = settings["hooks"]["SessionStart"][0]["hooks"][0]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let prime = sandbox.comity().env("COMITY_TOKEN", &secret).args(&start).stdin("{}").done();
    assert!(prime.stdout.contains("You are claude-code:web"), "{}", prime.stdout);
    sandbox.json(&["init", "--remove"]);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain", "-uall"]), before);
}

#[test]
fn init_over_a_server_wants_to_know_the_agent_and_leaves_the_store_to_the_server() {
    let sandbox = Sandbox::new();
    let url = "http://127.0.0.1:9";
    let call = |args: &[&str]| sandbox.comity().args(&[&["--url", url], args].concat());
    let init = ["init", "--clients", "claude"];
    let (error, exit) = call(&init).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2));
    assert!(error["message"].as_str().unwrap().contains("COMITY_TOKEN is not set"), "{error}");
    let (error, _) = call(&[&init[..], &["--as", "human:ann"]].concat()).refusal();
    assert!(error["message"].as_str().unwrap().contains("no agent"), "{error}");
    let (error, _) = call(&[&init[..], &["--new-log", "--as", "pair"]].concat()).refusal();
    assert_eq!(error["code"], "invalid-input");
    let done = call(&[&init[..], &["--as", "pair", "--no-hooks"]].concat()).json();
    assert_eq!(done["agent"], "pair");
    assert!(sandbox.root.join(".mcp.json").exists());
    assert!(!sandbox.root.join(".comity").exists(), "the server has the settings");
    assert!(!sandbox.root.join(".git/comity/comity.db").exists(), "the server has the store");
}

#[test]
fn a_server_keeps_uncommitted_work_before_its_claim_ends() {
    let sandbox = project();
    let _server = Server::start(&sandbox);
    sandbox.write("src/date/a.rs", "unfinished\n");
    sandbox.comity().by("ada").args(&["task", "claim", "T1", "--start", "--ttl", "20s"]).json();
    let kept = || {
        let list = sandbox.json(&["snapshot", "--list"]);
        list["snapshots"].as_array().is_some_and(|all| !all.is_empty())
    };
    let start = std::time::Instant::now();
    while !kept() {
        assert!(start.elapsed().as_secs() < 60, "no snapshot was kept");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let commit = sandbox.json(&["snapshot", "--list"])["snapshots"][0]["commit"].clone();
    let file = format!("{}:src/date/a.rs", commit.as_str().unwrap());
    assert_eq!(sandbox.git(&sandbox.root, &["show", &file]), "unfinished");
}
