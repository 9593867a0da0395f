//! What a server counts, bounds and takes back: streams of callers who may no longer read, news that wait, queues, measures.

use crate::people::{Server, heard, project, token};
use crate::sandbox::Sandbox;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long something may take that takes moments on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a stream and reads its head.
fn stream(server: &Server, headers: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = server.request("GET", "/api/v1/events/stream", headers, None);
    stream.write_all(ask.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains(" 200 "), "{line}");
    reader
}

/// Writes to the log until a stream has ended.
fn ends(sandbox: &Sandbox, mut stream: BufReader<TcpStream>) -> bool {
    let reading = std::thread::spawn(move || {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).is_ok()
    });
    let began = Instant::now();
    while !reading.is_finished() && began.elapsed() < PATIENCE {
        sandbox.comity().by("w9").args(&["note", "progress", "go on"]).json();
    }
    reading.is_finished() && reading.join().unwrap()
}

#[test]
fn a_stream_ends_when_its_token_is_revoked_or_too_old_and_when_its_session_is_closed() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let revoked = token(&sandbox, "w1", &[]);
    let brief = token(&sandbox, "w2", &["--expires", "3s"]);
    let kept = token(&sandbox, "w3", &[]);
    let streams = [&revoked, &brief, &page].map(|headers| stream(&server, headers));
    let mut stays = stream(&server, &kept);
    sandbox.comity().by("human:ann").args(&["token", "revoke", "K1"]).json();
    assert_eq!(server.send("DELETE", "/api/v1/session", &page, None).status, 200);
    for (stream, who) in streams.into_iter().zip(["revoked", "too old", "closed"]) {
        assert!(ends(&sandbox, stream), "the stream of a caller whose credential is {who} goes on");
    }
    sandbox.comity().by("w9").args(&["note", "progress", "the last one"]).json();
    let mut line = String::new();
    while !line.contains("the last one") {
        line.clear();
        assert!(stays.read_line(&mut line).unwrap() > 0, "other streams go on");
    }
}

#[test]
fn a_task_that_has_not_changed_is_sent_again_when_news_wait() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let agent = token(&sandbox, "w1", &["--role", "implementer"]);
    let tag = server.get("/api/v1/tasks/T1", &agent).header("etag").unwrap().to_owned();
    let seen = format!("{agent}If-None-Match: {tag}\r\n");
    assert_eq!(server.get("/api/v1/tasks/T1", &seen).status, 304);
    sandbox.comity().by("human:ann").args(&["tell", "w1", "the parser moved"]).json();
    let told = server.get("/api/v1/tasks/T1", &seen);
    assert_eq!((told.status, told.header("etag")), (200, Some(tag.as_str())));
    assert_eq!(told.json()["news"][0]["text"], "the parser moved");
    assert_eq!(server.get("/api/v1/tasks/T1", &seen).status, 304, "once");
}

#[test]
fn what_is_there_for_everybody_is_counted_by_the_address_of_the_client() {
    let sandbox = project();
    // So slow that the burst is used up on any machine.
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("[serve]", "[serve]\nrate = 1")).unwrap();
    let server = Server::start(&sandbox, &["--behind-proxy", "--host", "comity.example"]);
    let from = |path: &str, client: &str| {
        let headers = format!("Host: comity.example\r\nX-Forwarded-For: {client}\r\n");
        server.get(path, &headers).status
    };
    for (path, client) in
        [("/healthz", "9.9.9.1"), ("/app.js", "9.9.9.2"), ("/api/v1/openapi.json", "9.9.9.3")]
    {
        let refused = (0..400).any(|_| from(path, client) == 429);
        assert!(refused, "{path}");
    }
    assert_eq!(from("/healthz", "8.8.8.8"), 200, "another client has its own count");
}

#[test]
fn the_files_of_the_dashboard_come_gzipped_and_once() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let plain = server.get("/app.js", "");
    let tag = plain.header("etag").unwrap().to_owned();
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    let ask = server.request("GET", "/app.js", "Accept-Encoding: br, gzip\r\n", None);
    let mut connection = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    connection.write_all(ask.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    connection.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"));
    assert!(bytes[end..].starts_with(&[0x1f, 0x8b]) && bytes.len() * 2 < plain.body.len());
    let seen = format!("If-None-Match: {tag}\r\n");
    let again = server.get("/app.js", &seen);
    assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", Some(&*tag)));
    assert_eq!(server.get("/", &seen).status, 200, "each file has a tag of its own");
}

#[test]
fn metrics_count_commands_refusals_by_code_commits_and_the_head_of_each_project() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    server.send("POST", "/api/v1/tasks", &page, Some(&json!({"title": "Another"})));
    assert_eq!(server.get("/api/v1/tasks/T99", &page).status, 404);
    assert_eq!(server.get("/api/v1/board", "").status, 401);
    let metrics = server.by_socket("GET", "/metrics", None).body;
    let head = sandbox.json(&["log", "head"])["seq"].clone();
    for line in [
        "comity_requests_total{operation=\"task.create\",status=\"200\"} 1".to_owned(),
        "comity_refusals_total{code=\"not-found\"} 1".to_owned(),
        "comity_refusals_total{code=\"unauthenticated\"} 1".to_owned(),
        format!("comity_log_head{{repo=\"tool\"}} {head}"),
        "comity_streams 0".to_owned(),
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line}:\n{metrics}");
    }
    for family in
        ["comity_commands_total", "comity_commit_seconds_sum", "comity_commit_seconds_count"]
    {
        let begins = format!("{family}{{repo=\"tool\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&begins));
        assert!(value.unwrap().parse::<f64>().unwrap() > 0.0, "{family}:\n{metrics}");
    }
}

#[test]
fn more_requests_than_the_queue_takes_are_told_to_come_again() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let title = json!({"title": "Half of it"});
    let whole = server.request("POST", "/api/v1/tasks", &page, Some(&title));
    let (first, rest) = whole.split_at(whole.len() - 5);
    // A request whose body is on its way has its place.
    let mut begun: Vec<TcpStream> = (0..256)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(first.as_bytes()).unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    let is_full =
        || server.by_socket("GET", "/metrics", None).body.contains("\ncomity_queue 256\n");
    while !is_full() {
        assert!(began.elapsed() < PATIENCE, "the queue never fills");
    }
    let refused = server.get("/api/v1/board", &page);
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1")),
        "{}",
        refused.body
    );
    let mut last = begun.pop().unwrap();
    last.write_all(rest.as_bytes()).unwrap();
    assert_eq!(heard(last).status, 200);
    drop(begun);
    while server.get("/api/v1/board", &page).status == 503 {
        assert!(began.elapsed() < PATIENCE, "the queue never empties");
    }
}

#[test]
fn memories_are_searched_as_they_are_now_at_every_door() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let far = server.get("/api/v1/memories/search?query=dates&at=1", &server.session());
    let (near, exit) = sandbox.comity().args(&["--at", "1", "memory", "search", "dates"]).refusal();
    assert_eq!((far.status, exit), (400, 2), "{}", far.body);
    assert_eq!(far.json()["detail"], near["message"]);
}

#[test]
fn a_server_is_started_by_a_person() {
    let sandbox = project();
    for agent in ["script:nightly", "codex:a1b2"] {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let (error, exit) = sandbox.comity().by(agent).args(&serve).refusal();
        assert_eq!((&error["code"], exit), (&json!("human-only"), 3));
        assert!(error["hint"].as_str().unwrap().contains("human:NAME"), "{error}");
    }
}
