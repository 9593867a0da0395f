//! A server as a team runs it: with TLS, with several projects, by `comity up`, and until it is told to end.

use crate::people::{Heard, Server, free_port, heard, project, token};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Makes a certificate for localhost; returns it and its key.
fn certificate(sandbox: &Sandbox) -> (PathBuf, PathBuf) {
    let (cert, key) = (sandbox.outside().join("cert.pem"), sandbox.outside().join("key.pem"));
    let mut command = sandbox.clean(OsStr::new("openssl"));
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    command.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    command.args(["-addext", "basicConstraints=critical,CA:FALSE", "-addext"]);
    command.args(["subjectAltName=DNS:localhost,DNS:comity.example,IP:127.0.0.1", "-keyout"]);
    let made = command.arg(&key).arg("-out").arg(&cert).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (cert, key)
}

/// Sends a request through OpenSSL's own client, which checks the certificate.
fn by_tls(sandbox: &Sandbox, cert: &OsStr, port: u16, request: &str) -> Heard {
    let mut command = sandbox.clean(OsStr::new("openssl"));
    command.args(["s_client", "-quiet", "-verify_return_error", "-servername", "localhost"]);
    command.args(["-verify_hostname", "localhost", "-connect", &format!("127.0.0.1:{port}")]);
    command.arg("-CAfile").arg(cert);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
    let answer = heard(child.stdout.take().unwrap());
    let _ = child.kill();
    let _ = child.wait();
    answer
}

#[test]
fn with_a_certificate_everything_goes_over_tls_and_cookies_are_bound_to_the_host() {
    let sandbox = project();
    let (cert, key) = certificate(&sandbox);
    let files = [cert.to_str().unwrap(), key.to_str().unwrap()];
    let server = Server::start(&sandbox, &["--tls-cert", files[0], "--tls-key", files[1]]);
    let (port, host) = (server.port, format!("Host: localhost:{}\r\n", server.port));
    let ask = |method: &str, path: &str, headers: &str, body: Option<&Value>| {
        let request = server.request(method, path, &format!("{host}{headers}"), body);
        by_tls(&sandbox, cert.as_os_str(), port, &request)
    };
    assert_eq!(ask("GET", "/healthz", "", None).status, 200);
    let opened = ask("POST", "/api/v1/session", "", Some(&json!({"key": server.key})));
    assert_eq!(opened.status, 200, "{}", opened.body);
    let cookie = opened.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with(&format!("__Host-comity_{port}=")), "{cookie}");
    for part in ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"] {
        assert!(cookie.split("; ").any(|found| found == part), "{part}: {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let csrf = opened.json()["csrf"].as_str().unwrap().to_owned();
    let page = format!("Cookie: {}\r\nComity-CSRF: {csrf}\r\n", cookie.split(';').next().unwrap());
    let origin = format!("{page}Origin: https://localhost:{port}\r\n");
    let made = ask("POST", "/api/v1/tasks", &origin, Some(&json!({"title": "Over TLS"})));
    assert_eq!(made.json()["task"]["created_by"], "human:ann", "{}", made.body);
    // Without TLS there is no answer.
    let plain = server.request("GET", "/healthz", &host, None);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(plain.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
    // The command line trusts what the system trusts, and nothing else.
    let secret = token(&sandbox, "w1", &[]).trim().rsplit(' ').next().unwrap().to_owned();
    let url = format!("https://localhost:{port}");
    let far = |trusted: Option<&str>| {
        let call = sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", &secret);
        match trusted {
            Some(file) => call.env("SSL_CERT_FILE", file),
            None => call,
        }
    };
    assert_eq!(far(Some(files[0])).args(&["task", "claim", "T1"]).json()["task"]["assignee"], "w1");
    let (refused, exit) = far(None).args(&["task", "list"]).refusal();
    assert_eq!((&refused["code"], exit), (&json!("store-unavailable"), 5), "{refused}");
}

#[test]
fn a_certificate_that_is_none_is_refused_at_the_start() {
    let sandbox = project();
    let (cert, _) = certificate(&sandbox);
    let cert = cert.to_str().unwrap();
    let listen = ["--as", "human:ann", "serve", "--listen", "127.0.0.1:0"];
    let no_key = sandbox.comity().args(&listen).args(&["--tls-cert", cert]).done();
    assert_eq!(no_key.exit, 2, "{}", no_key.stderr);
    let args = [&listen[..], &["--tls-cert", cert, "--tls-key", cert]].concat();
    assert_eq!(sandbox.refused(&args), ("invalid-input".to_owned(), 2));
    let args = [&listen[..], &["--tls-cert", "no.pem", "--tls-key", cert]].concat();
    assert_eq!(sandbox.refused(&args), ("invalid-input".to_owned(), 2));
}

#[test]
fn behind_a_proxy_clients_are_told_apart_by_the_last_address_that_it_names() {
    let sandbox = project();
    let behind = Server::start(&sandbox, &["--behind-proxy", "--host", "comity.example"]);
    let from = |chain: &str| {
        let headers = format!("Host: comity.example\r\nX-Forwarded-For: {chain}\r\n");
        behind.get("/api/v1/board", &headers).status
    };
    let first: Vec<u16> = (0..260).map(|n| from(&format!("10.0.0.{n}, 9.9.9.9"))).collect();
    assert!(first.contains(&401) && first.contains(&429), "made-up first addresses do not help");
    assert_eq!(from("9.9.9.9, 8.8.8.8"), 401, "another client has its own count");
}

pub fn repository(sandbox: &Sandbox, name: &str, title: &str) -> PathBuf {
    let dir = sandbox.outside().join(name);
    std::fs::create_dir(&dir).unwrap();
    sandbox.git(&dir, &["init", "--quiet", "--initial-branch=main"]);
    let root = dir.to_str().unwrap();
    let by = |args: &[&str]| {
        let all = [&["--root", root, "--as", "human:ann"], args].concat();
        sandbox.comity().args(&all).json()
    };
    by(&["init", "--clients", "none", "--no-hooks"]);
    by(&["task", "create", title]);
    dir
}

#[test]
fn one_server_serves_several_projects_and_keeps_them_apart() {
    let sandbox = project();
    let other = repository(&sandbox, "other", "Elsewhere");
    let roots = [sandbox.root.to_str().unwrap(), other.to_str().unwrap()];
    let server = Server::start(&sandbox, &["--root", roots[0], "--root", roots[1]]);
    let page = server.session();
    let title = |path: &str| server.get(path, &page).json()["cards"][0]["title"].clone();
    assert_eq!(title("/api/v1/board"), "Parse dates");
    assert_eq!(title("/api/v1/board?repo=tool"), "Parse dates");
    assert_eq!(title("/api/v1/board?repo=other"), "Elsewhere");
    assert_eq!(server.get("/api/v1/board?repo=third", &page).status, 404);
    let made = json!({"title": "There"});
    let made = server.send("POST", "/api/v1/tasks?repo=other", &page, Some(&made));
    assert_eq!(made.json()["task"]["id"], "T2", "{}", made.body);
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 1);
    // A token of one project opens no other.
    let own = token(&sandbox, "w1", &[]);
    assert_eq!(server.get("/api/v1/board?repo=tool", &own).status, 200);
    assert_eq!(server.get("/api/v1/board?repo=other", &own).status, 401);
    // The inboxes of both are one list, in the order of one; an item says where it is, and so do its actions.
    for (dir, who) in [(&sandbox.root, "w2"), (&other, "w3")] {
        let root = dir.to_str().unwrap();
        let ask = ["--root", root, "--as", who, "decision", "ask", "Which?", "--option", "a"];
        sandbox.comity().args(&ask).json();
    }
    let all = server.get("/api/v1/inbox?repo=*", &page);
    let tag = all.header("etag").unwrap().to_owned();
    let all = all.json();
    assert_eq!((&all["count"], &all["aside"]["log"]["head"]), (&json!(2), &json!("")), "{all}");
    let of = |at: usize, field: &str| all["items"][at][field].clone();
    assert_eq!((of(0, "repo"), of(1, "repo")), (json!("tool"), json!("other")), "{all}");
    assert_ne!(of(0, "key"), of(1, "key"));
    let answer = of(1, "actions")[0]["path"].as_str().unwrap().to_owned();
    let seen = format!("{page}If-None-Match: {tag}\r\n");
    assert_eq!(server.get("/api/v1/inbox?repo=*", &seen).status, 304);
    assert_eq!(server.send("POST", &answer, &page, Some(&json!({"answer": "a"}))).status, 200);
    let left = server.get("/api/v1/inbox?repo=*", &seen);
    assert_eq!((left.status, &left.json()["count"]), (200, &json!(1)), "{}", left.body);
    assert_eq!(server.get("/api/v1/inbox?repo=*", &own).status, 401, "a token opens its own");
    let session = server.get("/api/v1/session", &page).json();
    assert_eq!(session["repos"], json!(["tool", "other"]), "{session}");
    // Each has a stream of its own.
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let ask = server.request("GET", "/api/v1/events/stream?repo=other&from=1", &page, None);
    stream.write_all(ask.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let data = |line: &String| line.starts_with("data: ") && line.contains("task_created");
    assert!(lines.find(data).unwrap().contains("Elsewhere"));
    let health = server.get("/healthz", "").json();
    assert_eq!(health["ok"], true);
}

#[test]
fn further_projects_come_from_the_users_own_settings_and_never_from_a_repository() {
    let sandbox = project();
    let other = repository(&sandbox, "other", "Elsewhere");
    let settings = sandbox.outside().join(".config/comity");
    std::fs::create_dir_all(&settings).unwrap();
    let roots = format!("[serve]\nroots = [{:?}]\n", other.to_str().unwrap());
    std::fs::write(settings.join("config.toml"), roots).unwrap();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    assert_eq!(server.get("/api/v1/board?repo=other", &page).status, 200);
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("[serve]", "[serve]\nroots = [\"/\"]")).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let done = sandbox.comity().by("human:ann").args(&serve).done();
    assert_eq!(done.exit, 2, "a repository names no roots: {}", done.stderr);
}

#[test]
fn up_sets_a_new_project_up_serves_it_and_prints_the_link() {
    let sandbox = Sandbox::new();
    let listen = format!("127.0.0.1:{}", free_port());
    let up = |sandbox: &Sandbox| {
        let args = ["--as", "human:ann", "up", "--listen", &listen, "--json"];
        let mut child = sandbox.comity().args(&args).spawn();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        (child, serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}")))
    };
    let (mut first, said) = up(&sandbox);
    assert!(said["link"].as_str().unwrap().contains("/#k="), "{said}");
    assert!(sandbox.root.join(".comity/config.toml").exists());
    sandbox.comity().by("human:ann").args(&["task", "create", "Begin"]).json();
    end(&mut first);
    // The second time there is nothing to set up, and nothing is lost.
    let (mut second, said) = up(&sandbox);
    assert!(said["url"].as_str().unwrap().ends_with(&listen), "{said}");
    assert_eq!(sandbox.json(&["task", "list"])["tasks"][0]["title"], "Begin");
    end(&mut second);
}

fn end(child: &mut std::process::Child) {
    end_by(child, rustix::process::Signal::TERM);
}

fn end_by(child: &mut std::process::Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
    assert!(child.wait().unwrap().success());
}

fn up(sandbox: &Sandbox, who: &str) -> (std::process::Child, Value) {
    let args = ["--as", who, "up", "--listen", "127.0.0.1:0", "--json"];
    let mut child = sandbox.comity().args(&args).spawn();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}")))
}

#[test]
fn up_finds_the_server_that_runs_and_ctrl_c_ends_it() {
    let sandbox = project();
    let (mut first, said) = up(&sandbox, "human:ann");
    // A second call sets nothing up and starts nothing: it prints another link to the same server.
    let (mut second, again) = up(&sandbox, "human:bob");
    assert!(second.wait().unwrap().success());
    assert_eq!((&again["url"], &again["socket"]), (&said["url"], &said["socket"]));
    let url = said["url"].as_str().unwrap();
    let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
    let key = again["link"].as_str().unwrap().split_once("#k=").unwrap().1.to_owned();
    let request = format!("{{\"key\":\"{key}\"}}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = request.len();
    let head = format!(
        "POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{request}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(heard(stream).json()["me"], "human:bob");
    end_by(&mut first, rustix::process::Signal::INT);
    // After it there is a new one.
    let (mut third, said) = up(&sandbox, "human:ann");
    assert!(said["link"].is_string(), "{said}");
    end(&mut third);
}

#[test]
fn up_starts_the_supervisor_where_the_settings_have_one_and_ends_it_with_the_server() {
    let sandbox = project();
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[supervisor]\nheartbeat = \"1s\"\n")).unwrap();
    let state = || sandbox.json(&["supervise", "--status"])["supervisor"]["state"].clone();
    assert_eq!(state(), "stopped");
    let (mut server, _) = up(&sandbox, "human:ann");
    let began = Instant::now();
    while state() != "running" {
        assert!(began.elapsed() < Duration::from_secs(60), "no supervisor sits down");
        std::thread::sleep(Duration::from_millis(200));
    }
    end(&mut server);
    assert_eq!(state(), "stopped");
}

#[test]
fn a_server_that_ends_answers_what_it_has_begun_and_tells_whoever_waits() {
    let sandbox = project();
    let mut server = Server::start(&sandbox, &[]);
    let page = server.session();
    let bearer = token(&sandbox, "w1", &[]);
    // A request whose body is still on its way.
    let new = json!({"title": "Half of it", "depends_on": ["T1"]});
    let whole = server.request("POST", "/api/v1/tasks", &page, Some(&new));
    let (first, rest) = whole.split_at(whole.len() - 5);
    let mut begun = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    begun.write_all(first.as_bytes()).unwrap();
    // One that waits for a task, and one that listens.
    sandbox.comity().by("w2").args(&["task", "claim", "T1"]).json();
    let wait = json!({"wait": "60s"});
    let ask = server.request("POST", "/api/v1/tasks/claim", &bearer, Some(&wait));
    let mut waiting = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    waiting.write_all(ask.as_bytes()).unwrap();
    let ask = server.request("GET", "/api/v1/events/stream", &page, None);
    let mut listening = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    listening.write_all(ask.as_bytes()).unwrap();
    let mut head = [0; 15];
    listening.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut said = Vec::new();
    listening.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    listening.read_to_end(&mut said).unwrap();
    begun.write_all(rest.as_bytes()).unwrap();
    let answer = heard(begun);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let told = heard(waiting);
    assert!(told.status == 503 || told.status == 504, "{} {}", told.status, told.body);
    assert!(server.child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(sandbox.json(&["task", "list"])["tasks"].as_array().unwrap().len(), 2);
    assert!(!std::path::Path::new(&server.socket).exists(), "its socket goes with it");
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
}

#[test]
fn a_person_lists_makes_and_revokes_tokens_over_http_and_nobody_else() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let agent = token(&sandbox, "w1", &[]);
    let post = |headers: &str, path: &str, body: Value| {
        server.send("POST", &format!("/api/v1/{path}"), headers, Some(&body))
    };
    let new = json!({"agent": "codex:web", "verbs": ["claim"], "expires": "7d"});
    for path in ["tokens", "tokens/K1/revoke"] {
        let refused = post(&agent, path, new.clone());
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (403, &json!("human-only")),
            "{path}"
        );
        assert_eq!(post("", path, new.clone()).status, 401);
    }
    assert_eq!(server.get("/api/v1/tokens", "").status, 401);
    assert_eq!(server.get("/api/v1/tokens", &agent).status, 403);
    let cookie: String = page.lines().take(1).map(|line| format!("{line}\r\n")).collect();
    assert_eq!(post(&cookie, "tokens", new.clone()).status, 403, "a cookie alone changes nothing");
    let made = post(&page, "tokens", new).json();
    let secret = made["token"]["secret"].as_str().unwrap().to_owned();
    let bearer = format!("Authorization: Bearer {secret}\r\n");
    assert_eq!(server.get("/api/v1/board", &bearer).status, 200);
    let listed = server.get("/api/v1/tokens", &page);
    assert!(!listed.body.contains(&secret) && listed.body.contains("codex:web"), "{}", listed.body);
    let id = made["token"]["id"].as_str().unwrap();
    assert_eq!(post(&page, &format!("tokens/{id}/revoke"), json!({})).status, 200);
    assert_eq!(server.get("/api/v1/board", &bearer).status, 401);
    assert_eq!(post(&page, "tokens/K99/revoke", json!({})).status, 404);
    assert_eq!(server.send("DELETE", "/api/v1/tokens", &page, None).status, 405);
    assert_eq!(post(&page, "tokens", json!({"agent": "human:eve"})).status, 400);
}

#[test]
fn news_come_once_with_any_answer_over_http_and_over_the_command_line() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let bearer = token(&sandbox, "w1", &["--role", "implementer"]);
    let secret = bearer.trim().rsplit(' ').next().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{}", server.port);
    let tell = |text: &str| {
        sandbox.comity().by("human:ann").args(&["tell", "w1", text]).json();
    };
    let get = || server.get("/api/v1/tasks/T1", &bearer).json();
    assert!(get().get("news").is_none());
    tell("the parser moved");
    let news = get();
    assert_eq!(news["news"][0]["text"], "the parser moved", "{news}");
    assert_eq!(news["news"][0]["kind"], "message");
    assert!(get().get("news").is_none(), "once");
    tell("and back");
    let far = sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", &secret);
    let answer = far.args(&["task", "show", "T1"]).json();
    assert_eq!(answer["news"][0]["text"], "and back", "{answer}");
    let words = sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", &secret);
    tell("a third");
    let said = words.args(&["task", "list"]).done();
    assert!(said.stdout.contains("a third") || said.stderr.contains("a third"), "{}", said.stdout);
    assert!(get().get("news").is_none(), "once");
    // A page shows messages by itself.
    tell("a fourth");
    assert!(server.get("/api/v1/tasks/T1", &server.session()).json().get("news").is_none());
}

#[test]
fn pads_and_interfaces_are_read_and_written_over_a_server() {
    let sandbox = project();
    let server = Server::start(&sandbox, &[]);
    let secret = token(&sandbox, "w1", &[]).trim().rsplit(' ').next().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{}", server.port);
    let far = |args: &[&str]| {
        let call = sandbox.comity().env("COMITY_URL", &url).env("COMITY_TOKEN", &secret);
        call.args(args).json()
    };
    far(&["pad", "append", "The old parser stays"]);
    assert_eq!(far(&["pad", "show"])["pad"]["text"], sandbox.json(&["pad", "show"])["pad"]["text"]);
    sandbox.write("api.ts", "export type Day = string;\n");
    far(&["interface", "publish", "day", "api.ts"]);
    assert_eq!(far(&["interface", "show", "day"])["interface"]["version"], 1);
    assert_eq!(far(&["brief", "T1"])["brief"]["neighbours"], json!([]));
}
