//! The server as people and programs see it: the API, links and sessions, tokens that are narrowed, the stream, the past.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

/// An answer over HTTP.
pub struct Heard {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Heard {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let wanted = format!("{name}: ");
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let start = line.get(..wanted.len())?;
            start.eq_ignore_ascii_case(&wanted).then(|| &line[wanted.len()..])
        })
    }
}

pub fn heard(mut stream: impl Read) -> Heard {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Heard { status, head: head.to_owned(), body: body.to_owned() }
}

/// Finds a port that nobody listens on.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server of its own; it ends with the test.
pub struct Server {
    pub child: Child,
    pub port: u16,
    pub socket: String,
    pub key: Option<String>,
}

impl Server {
    pub fn start(sandbox: &Sandbox, more: &[&str]) -> Server {
        Server::start_at(sandbox, free_port(), more)
    }

    pub fn start_at(sandbox: &Sandbox, port: u16, more: &[&str]) -> Server {
        let listen = format!("127.0.0.1:{port}");
        let args = [&["--as", "human:ann", "serve", "--listen", &listen, "--json"], more].concat();
        let mut child = sandbox.comity().args(&args).spawn();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let key = said["link"].as_str().map(|link| link.split_once("#k=").unwrap().1.to_owned());
        Server { child, port, socket: said["socket"].as_str().unwrap().to_owned(), key }
    }

    pub fn request(&self, method: &str, path: &str, headers: &str, body: Option<&Value>) -> String {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (port, length) = (self.port, body.len());
        let host = if headers.contains("Host: ") {
            String::new()
        } else {
            format!("Host: 127.0.0.1:{port}\r\n")
        };
        format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        )
    }

    pub fn send(&self, method: &str, path: &str, headers: &str, body: Option<&Value>) -> Heard {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(self.request(method, path, headers, body).as_bytes()).unwrap();
        heard(stream)
    }

    pub fn get(&self, path: &str, headers: &str) -> Heard {
        self.send("GET", path, headers, None)
    }

    pub fn by_socket(&self, method: &str, path: &str, body: Option<&Value>) -> Heard {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(self.request(method, path, "", body).as_bytes()).unwrap();
        heard(stream)
    }

    /// Opens the link; returns the headers of a page with its session.
    pub fn session(&self) -> String {
        let key = json!({"key": self.key});
        let answer = self.send("POST", "/api/v1/session", "", Some(&key));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap();
        let csrf = answer.json()["csrf"].as_str().unwrap().to_owned();
        format!("Cookie: {cookie}\r\nComity-CSRF: {csrf}\r\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.comity().args(&["init"]).json();
    let create = ["task", "create", "Parse dates", "--file", "src/date/**", "--gate", "tests"];
    sandbox.comity().by("human:ann").args(&create).json();
    sandbox
}

pub fn token(sandbox: &Sandbox, agent: &str, more: &[&str]) -> String {
    let args = [&["token", "create", "--agent", agent], more].concat();
    let made = sandbox.comity().by("human:ann").args(&args).json();
    format!("Authorization: Bearer {}\r\n", made["token"]["secret"].as_str().unwrap())
}

#[test]
fn a_link_opens_once_and_its_session_acts_as_the_person() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(server.get("/api/v1/board", "").status, 401);
    let page = server.session();
    let again = server.send("POST", "/api/v1/session", "", Some(&json!({"key": server.key})));
    assert_eq!((again.status, &again.json()["code"]), (401, &json!("unauthenticated")));
    let board = server.get("/api/v1/board", &page).json();
    assert_eq!(board["cards"][0]["line"]["words"], "Ready to claim");
    let title = json!({"title": "From the page"});
    let cookie: String = page.lines().take(1).map(|line| format!("{line}\r\n")).collect();
    let without = server.send("POST", "/api/v1/tasks", &cookie, Some(&title));
    assert_eq!(without.status, 403, "a cookie alone changes nothing: {}", without.body);
    let made = server.send("POST", "/api/v1/tasks", &page, Some(&title)).json();
    assert_eq!(made["task"]["created_by"], "human:ann");
    let via = &sandbox.json(&["event", "list", "--type", "task_created"])["events"][1]["via"];
    assert_eq!(via["client"], "dashboard");
    assert_eq!(server.get("/api/v1/session", &cookie).json()["me"], "human:ann");
    assert_eq!(server.send("DELETE", "/api/v1/session", &page, None).status, 200);
    assert_eq!(server.get("/api/v1/board", &page).status, 401);
}

#[test]
fn a_session_survives_a_restart_of_the_server() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let (page, port) = (server.session(), server.port);
    drop(server);
    let server = Server::start_at(&sandbox, port, &[]);
    assert_eq!(server.get("/api/v1/board", &page).status, 200);
    let link = sandbox.comity().by("human:bob").args(&["link"]).json();
    let key = link["url"].as_str().unwrap().split_once("#k=").unwrap().1;
    let opened = server.send("POST", "/api/v1/session", "", Some(&json!({"key": key})));
    assert_eq!(opened.json()["me"], "human:bob");
    let (refused, exit) = sandbox.comity().by("w1").args(&["link"]).refusal();
    assert_eq!((&refused["code"], exit), (&json!("human-only"), 3));
}

#[test]
fn the_socket_of_its_owner_reads_and_does_not_write() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let mode = std::fs::metadata(&server.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(server.by_socket("GET", "/api/v1/tasks/T1", None).json()["task"]["id"], "T1");
    let refused = server.by_socket("POST", "/api/v1/tasks", Some(&json!({"title": "x"})));
    assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("unauthenticated")));
}

#[test]
fn a_token_reaches_as_far_as_it_was_made_for() {
    let sandbox = project();
    sandbox.comity().by("human:ann").args(&["task", "create", "Another"]).json();
    let claims = token(&sandbox, "w1", &["--verb", "claim"]);
    let only_t1 = token(&sandbox, "w2", &["--task", "T1"]);
    let server = Server::start(&sandbox, &[]);
    let post = |headers: &str, path: &str| server.send("POST", path, headers, Some(&json!({})));
    let narrowed = post(&claims, "/api/v1/tasks/T1/start");
    assert_eq!((narrowed.status, &narrowed.json()["code"]), (403, &json!("scope")));
    let other = post(&only_t1, "/api/v1/tasks/T2/claim");
    assert_eq!((other.status, &other.json()["code"]), (403, &json!("scope")));
    assert_eq!(post(&claims, "/api/v1/tasks/T2/claim").status, 200);
    assert_eq!(post(&only_t1, "/api/v1/tasks/T1/claim").json()["task"]["assignee"], "w2");
    let call = |headers: &str, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = format!(
            "{headers}Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        );
        let answer = server.send("POST", "/mcp", &headers, Some(&body)).json();
        answer["result"]["structuredContent"].clone()
    };
    let refused = call(&claims, "create_task", json!({"title": "x"}));
    assert_eq!(refused["error"]["code"], "scope", "the tools are narrowed, too: {refused}");
    let refused = call(&only_t1, "record", json!({"kind": "start", "task": "T2"}));
    assert_eq!(refused["error"]["code"], "scope", "{refused}");
    let unknown = ["token", "create", "--agent", "w3", "--verb", "clame"];
    let (error, exit) = sandbox.comity().by("human:ann").args(&unknown).refusal();
    assert_eq!(
        (&error["code"], exit, &error["details"]["nearest"]),
        (&json!("unknown-name"), 2, &json!("claim"))
    );
}

#[test]
fn refusals_are_problems_with_the_status_of_their_exit_status() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let post = |path: &str, body: Value| server.send("POST", path, &page, Some(&body));
    let cases = [
        (post("/api/v1/tasks", json!({"titel": "x"})), 400, "invalid-input"),
        (post("/api/v1/tasks/T9/start", json!({})), 404, "not-found"),
        (post("/api/v1/tasks/T1/approve", json!({})), 409, "invalid-transition"),
        (server.get("/api/v1/nothing", &page), 404, "not-found"),
        (server.get("/api/v1/tasks?limit=x", &page), 400, "invalid-input"),
        (server.get("/api/v1/tasks?at=9999", &page), 404, "not-found"),
        (server.send("DELETE", "/api/v1/tasks", &page, None), 405, "invalid-input"),
    ];
    for (answer, status, code) in cases {
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (status, &json!(code)),
            "{}",
            answer.body
        );
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem = answer.json();
        assert!(problem["detail"].is_string() && problem["hint"].is_string(), "{problem}");
    }
}

#[test]
fn tags_tell_what_has_changed_and_refuse_a_lost_update() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let task = server.get("/api/v1/tasks/T1", &page);
    let tag = task.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", task.json()["task"]["version"]));
    let seen = format!("{page}If-None-Match: {tag}\r\n");
    assert_eq!(server.get("/api/v1/tasks/T1", &seen).status, 304);
    let board = server.get("/api/v1/board", &page);
    let same = format!("{page}If-None-Match: {}\r\n", board.header("etag").unwrap());
    assert_eq!(server.get("/api/v1/board", &same).status, 304);
    let change = json!({"changes": {"title": "Parse all dates"}});
    let matching = format!("{page}If-Match: {tag}\r\n");
    assert_eq!(server.send("PATCH", "/api/v1/tasks/T1", &matching, Some(&change)).status, 200);
    let stale = server.send("PATCH", "/api/v1/tasks/T1", &matching, Some(&change));
    assert_eq!((stale.status, &stale.json()["code"]), (412, &json!("version-mismatch")));
    let stale = server.send("POST", "/api/v1/tasks/T1/abandon", &matching, Some(&json!({})));
    assert_eq!(stale.status, 412);
    assert_eq!(server.get("/api/v1/board", &same).status, 200);
}

#[test]
fn a_key_does_things_once_and_a_dry_run_does_nothing() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let keyed = format!("{page}Idempotency-Key: one\r\n");
    let title = json!({"title": "Once"});
    let first = server.send("POST", "/api/v1/tasks", &keyed, Some(&title)).json();
    assert_eq!(server.send("POST", "/api/v1/tasks", &keyed, Some(&title)).json(), first);
    let other = server.send("POST", "/api/v1/tasks", &keyed, Some(&json!({"title": "Other"})));
    assert_eq!((other.status, &other.json()["code"]), (400, &json!("idempotency-mismatch")));
    let dry = server.send(
        "POST",
        "/api/v1/tasks/T1/abandon?dry_run=1",
        &page,
        Some(&json!({"reason": "no"})),
    );
    assert_eq!(dry.json()["task"]["status"], "abandoned");
    assert_eq!(sandbox.json(&["task", "show", "T1"])["task"]["status"], "queued");
    let verbs = server.get("/api/v1/tasks/T1/verbs", &page).json();
    let verb = |name: &str| {
        let all = verbs.as_array().unwrap().iter();
        all.clone().find(|verb| verb["verb"] == name).unwrap().clone()
    };
    assert_eq!(verb("start")["allowed"], true);
    assert_eq!(
        (&verb("approve")["allowed"], &verb("approve")["code"]),
        (&json!(false), &json!("invalid-transition"))
    );
    assert_eq!(verb("block")["wants"], json!(["needs"]));
}

/// Reads messages of a stream until there are so many events of the log.
fn events(server: &Server, path: &str, headers: &str, count: usize) -> Vec<(u64, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(server.request("GET", path, headers, None).as_bytes()).unwrap();
    let mut found = Vec::new();
    let mut id = 0;
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.parse().unwrap();
        }
        if let (Some(data), true) = (line.strip_prefix("data: "), id > 0) {
            found.push((id, data.to_owned()));
            id = 0;
            if found.len() == count {
                break;
            }
        }
    }
    found
}

#[test]
fn a_stream_goes_on_where_it_was_also_after_a_restart() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let (page, port) = (server.session(), server.port);
    let head = sandbox.json(&["log", "head"])["seq"].as_u64().unwrap();
    let first = events(&server, "/api/v1/events/stream?from=1", &page, 1);
    assert_eq!(first[0].0, 1);
    drop(server);
    sandbox.comity().by("w1").args(&["task", "claim", "T1"]).json();
    let server = Server::start_at(&sandbox, port, &[]);
    let resumed = format!("{page}Last-Event-ID: 1\r\n");
    let end = sandbox.json(&["log", "head"])["seq"].as_u64().unwrap();
    assert!(end > head);
    let rest = events(
        &server,
        "/api/v1/events/stream?from=9",
        &resumed,
        usize::try_from(end - 1).unwrap(),
    );
    let ids: Vec<u64> = rest.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, (2..=end).collect::<Vec<_>>(), "none is lost and none comes twice");
}

#[test]
fn what_others_do_is_on_the_stream_at_once_with_its_cards_before_it() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
        .write_all(server.request("GET", "/api/v1/events/stream", &page, None).as_bytes())
        .unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| line.is_empty()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    sandbox.comity().by("w1").args(&["task", "claim", "T1"]).json();
    let cards = lines
        .find(|line| line.starts_with("data: {\"seq\"") && line.contains("\"cards\""))
        .unwrap();
    let cards: Value = serde_json::from_str(cards.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(cards["cards"][0]["column"], "working");
    assert_eq!(
        (&cards["columns"][0]["count"], &cards["columns"][1]["count"]),
        (&json!(0), &json!(1))
    );
    let log = lines.find(|line| line.starts_with("event: log")).unwrap();
    assert!(!log.is_empty() && began.elapsed() < Duration::from_secs(3));
    let past = format!("{page}Last-Event-ID: 99999\r\n");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .write_all(server.request("GET", "/api/v1/events/stream", &past, None).as_bytes())
        .unwrap();
    let reset =
        BufReader::new(stream).lines().map(Result::unwrap).find(|line| line == "event: reset");
    assert!(reset.is_some());
}

#[test]
fn every_page_shows_the_moment_that_is_asked_for() {
    let sandbox = project();
    sandbox.comity().by("w1").args(&["task", "claim", "T1", "--start"]).json();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    for path in
        ["board", "inbox", "timeline", "flow", "tree", "crew", "tasks/T1/panel", "status", "tasks"]
    {
        let now = server.get(&format!("/api/v1/{path}"), &page);
        assert_eq!(now.status, 200, "{path}: {}", now.body);
        let then = server.get(&format!("/api/v1/{path}?at=2"), &page);
        assert_eq!(
            (then.status, &then.json()["at"]["seq"]),
            (200, &json!(2)),
            "{path}: {}",
            then.body
        );
    }
    let board = server.get("/api/v1/board?at=2", &page).json();
    assert_eq!(board["cards"][0]["column"], "queued");
    let refused = server.send("POST", "/api/v1/tasks?at=2", &page, Some(&json!({"title": "x"})));
    assert_eq!(refused.status, 400);
    let then = sandbox.json(&["--at", "2", "task", "show", "T1"]);
    assert_eq!((&then["task"]["status"], &then["at"]["seq"]), (&json!("queued"), &json!(2)));
    assert_eq!(
        sandbox.refused(&["--at", "2", "task", "claim", "T1"]),
        ("invalid-input".to_owned(), 2)
    );
}

#[test]
fn why_tells_how_a_task_a_path_an_agent_a_lease_and_a_commit_came_to_be() {
    let sandbox = project();
    sandbox.comity().by("w1").args(&["task", "claim", "T1", "--start"]).json();
    sandbox.work();
    sandbox.comity().by("w1").args(&["task", "submit", "T1", "--gate", "tests=pass"]).json();
    let why = |of: &str| sandbox.json(&["why", of]);
    let task = why("T1");
    assert_eq!((&task["kind"], &task["lines"][0]["task"]), (&json!("task"), &json!("T1")));
    assert_eq!(why("L1")["kind"], "lease");
    assert_eq!(why("w1")["kind"], "agent");
    let path = why("src/date/a.rs");
    assert_eq!((&path["kind"], path["lines"].as_array().unwrap().len()), (&json!("path"), 2));
    let commit =
        sandbox.json(&["task", "show", "T1"])["task"]["commit"].as_str().unwrap().to_owned();
    let told = why(&commit);
    assert_eq!(
        (&told["kind"], &told["commits"][0]["task"]),
        (&json!("commit"), &json!("T1")),
        "{told}"
    );
    assert_eq!(sandbox.refused(&["why", "nothing-at-all"]), ("not-found".to_owned(), 4));
}

#[test]
fn the_command_line_over_a_server_gives_the_same_answers_and_exit_statuses() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let bearer = token(&sandbox, "w1", &[]);
    let secret = bearer.trim().rsplit(' ').next().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{}", server.port);
    let far = |args: &[&str]| {
        sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", &secret).args(args)
    };
    assert_eq!(
        far(&["task", "show", "T1"]).json(),
        sandbox.comity().by("w1").args(&["task", "show", "T1"]).json()
    );
    let claim = far(&["task", "claim"]).json();
    assert_eq!(claim["task"]["assignee"], "w1");
    let local = sandbox.comity().by("w1").args(&["task", "claim"]).refusal();
    assert_eq!(far(&["task", "claim"]).refusal(), local);
    assert_eq!(
        far(&["task", "show", "T9"]).refusal(),
        sandbox.comity().args(&["task", "show", "T9"]).refusal()
    );
    assert_eq!(far(&["lease", "list"]).json()["leases"][0]["owner"], "w1");
    let by_socket = format!("unix:{}", server.socket);
    let read = sandbox.comity().args(&["--url", &by_socket, "task", "list"]).json();
    assert_eq!(read["tasks"][0]["id"], "T1");
    let (error, exit) =
        sandbox.comity().args(&["--url", &by_socket, "note", "progress", "x"]).refusal();
    assert_eq!((&error["code"], exit), (&json!("unauthenticated"), 3));
    let gone = sandbox.refused(&["--url", "http://127.0.0.1:9", "task", "list"]);
    assert_eq!(gone, ("store-unavailable".to_owned(), 5));
}

#[test]
fn pages_have_a_strict_policy_and_no_way_out_of_their_directory() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    for path in
        ["/", "/inbox", "/board", "/task/T1", "/tree", "/agents", "/timeline", "/flow", "/more"]
    {
        let page = server.get(path, "");
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert!(page.header("access-control-allow-origin").is_none());
    }
    for path in [
        "/../../etc/passwd",
        "/assets/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config",
    ] {
        assert_eq!(server.get(path, "").status, 404, "{path}");
    }
}

#[test]
fn other_names_other_pages_and_long_bodies_are_refused_at_every_door() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let (page, port) = (server.session(), server.port);
    let title = json!({"title": "x"});
    for bad in [
        format!("{page}Host: evil.example:{port}\r\n"),
        format!("{page}Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\n"),
        format!("{page}Host: 127.0.0.1:{port}\r\nOrigin: null\r\n"),
    ] {
        assert_eq!(server.send("POST", "/api/v1/tasks", &bad, Some(&title)).status, 403, "{bad}");
        assert_eq!(server.get("/api/v1/board", &bad).status, 403, "{bad}");
    }
    let long = json!({"title": "x", "description": "x".repeat(1024 * 1024)});
    assert_eq!(server.send("POST", "/api/v1/tasks", &page, Some(&long)).status, 413);
    let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(
        !String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 200"),
        "a slow head is cut off"
    );
}

#[test]
fn requests_and_streams_are_bounded() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let refused = (0..260).filter(|_| server.get("/api/v1/log/head", &page).status == 429).count();
    assert!(refused > 0, "a burst of 200 is let through, and then 50 a second");
    let bearer = token(&sandbox, "w1", &[]);
    let open = |_: usize| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let request = server.request("GET", "/api/v1/events/stream", &bearer, None);
        stream.write_all(request.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut line).unwrap();
        // Not faster than the limit of requests lets us.
        std::thread::sleep(Duration::from_millis(12));
        (line, reader)
    };
    let streams: Vec<_> = (0..260).map(open).collect();
    let count = |status: &str| streams.iter().filter(|(line, _)| line.contains(status)).count();
    assert_eq!((count(" 200 "), count(" 503 ")), (256, 4));
    let metrics = server.by_socket("GET", "/metrics", None).body;
    assert!(metrics.contains("\ncomity_streams 256\n"), "{metrics}");
}

#[test]
fn texts_come_back_as_they_are_and_only_as_json() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let evil = "</script><img src=x onerror=alert(1)>\u{202e}";
    let body =
        json!({"title": evil, "description": evil, "labels": ["<b>"], "requirements": [evil]});
    let made = server.send("POST", "/api/v1/tasks", &page, Some(&body));
    assert_eq!(
        (made.status, made.header("content-type")),
        (200, Some("application/json")),
        "{}",
        made.body
    );
    assert_eq!(made.json()["task"]["description"], evil);
    for path in ["board", "tasks/T2/panel", "inbox", "why?of=T2"] {
        let answer = server.get(&format!("/api/v1/{path}"), &page);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
    }
}

#[test]
fn off_this_host_the_server_wants_tls_or_a_proxy_and_a_name() {
    let sandbox = project();
    let refused =
        |args: &[&str]| sandbox.refused(&[&["serve", "--listen", "0.0.0.0:0"], args].concat());
    assert_eq!(refused(&[]), ("invalid-input".to_owned(), 2));
    let behind = Server::start(&sandbox, &["--behind-proxy", "--host", "comity.example"]);
    let own =
        "Host: comity.example\r\nOrigin: https://comity.example\r\nX-Forwarded-For: 9.9.9.9\r\n";
    assert_eq!(behind.get("/healthz", own).status, 200);
    assert_eq!(behind.get("/healthz", "").status, 403, "its own address is no name");
    let key = json!({"key": behind.key});
    let opened = behind.send("POST", "/api/v1/session", own, Some(&key));
    let cookie = opened.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-comity_") && cookie.ends_with("; Secure"), "{cookie}");
}
