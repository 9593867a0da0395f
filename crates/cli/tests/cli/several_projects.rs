//! One server for several projects: which of them a request is about, and that none is taken for another.

use crate::people::{Server, heard, project, token};
use crate::running_server::repository;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A server of the project of the sandbox and of another one.
fn both(sandbox: &Sandbox) -> (Server, PathBuf) {
    let other = repository(sandbox, "other", "Elsewhere");
    let roots = [sandbox.root.to_str().unwrap(), other.to_str().unwrap()];
    (Server::start(sandbox, &["--root", roots[0], "--root", roots[1]]), other)
}

fn token_of(sandbox: &Sandbox, root: &Path, agent: &str) -> String {
    let args = ["--root", root.to_str().unwrap(), "token", "create", "--agent", agent];
    let made = sandbox.comity().by("human:ann").args(&args).json();
    format!("Authorization: Bearer {}\r\n", made["token"]["secret"].as_str().unwrap())
}

#[test]
fn two_projects_of_one_name_are_refused_until_one_is_named() {
    let sandbox = project();
    let away = sandbox.outside().join("away");
    std::fs::create_dir(&away).unwrap();
    let twin = repository(&sandbox, "away/tool", "Elsewhere");
    let roots = [sandbox.root.to_str().unwrap(), twin.to_str().unwrap()];
    let serve = ["serve", "--listen", "127.0.0.1:0", "--root", roots[0], "--root", roots[1]];
    let (error, exit) = sandbox.comity().by("human:ann").args(&serve).refusal();
    assert_eq!((&error["code"], exit), (&json!("invalid-input"), 2), "{error}");
    let (said, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
    assert!(roots.iter().all(|root| said.contains(root)) && said.contains("tool"), "{said}");
    assert!(hint.contains("[project]"), "{hint}");
    let rename = ["--root", roots[1], "config", "set", "project.repo", "twin"];
    sandbox.comity().by("human:ann").args(&rename).json();
    let server = Server::start(&sandbox, &["--root", roots[0], "--root", roots[1]]);
    let page = server.session();
    assert_eq!(server.get("/api/v1/session", &page).json()["repos"], json!(["tool", "twin"]));
}

#[test]
fn a_request_is_about_the_project_that_it_names_else_that_of_its_token_else_that_of_its_socket() {
    let sandbox = project();
    let (server, other) = both(&sandbox);
    let there = token_of(&sandbox, &other, "w3");
    let here = token(&sandbox, "w1", &[]);
    let title = |path: &str, headers: &str| {
        server.get(path, headers).json()["cards"][0]["title"].as_str().map(str::to_owned)
    };
    assert_eq!(title("/api/v1/board", &there).as_deref(), Some("Elsewhere"));
    assert_eq!(title("/api/v1/board", &here).as_deref(), Some("Parse dates"));
    assert_eq!(server.get("/api/v1/board?repo=tool", &there).status, 401);
    let session = server.get("/api/v1/session", &there).json();
    assert_eq!((&session["me"], &session["repo"]), (&json!("w3"), &json!("other")));
    let mut socket = UnixStream::connect(other.join(".git/comity/serve.sock")).unwrap();
    socket.write_all(server.request("GET", "/api/v1/board", "", None).as_bytes()).unwrap();
    assert_eq!(heard(socket).json()["cards"][0]["title"], "Elsewhere");
}

#[test]
fn the_tools_are_those_of_the_project_of_the_token() {
    let sandbox = project();
    let (server, other) = both(&sandbox);
    let (there, here) = (token_of(&sandbox, &other, "w3"), token(&sandbox, "w1", &[]));
    let tasks = |path: &str, headers: &str| {
        let params = json!({"name": "look_up", "arguments": {"what": "tasks"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = format!(
            "{headers}Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        );
        let answer = server.send("POST", path, &headers, Some(&body));
        (answer.status, answer.body)
    };
    let (status, body) = tasks("/mcp", &there);
    assert!(status == 200 && body.contains("Elsewhere"), "{status} {body}");
    let (status, body) = tasks("/mcp", &here);
    assert!(status == 200 && body.contains("Parse dates"), "{status} {body}");
    let (status, body) = tasks("/mcp?repo=other", &there);
    assert!(status == 200 && body.contains("Elsewhere"), "{status} {body}");
    assert_eq!(tasks("/mcp?repo=other", &here).0, 401);
    assert_eq!(tasks("/mcp?repo=third", &there).0, 404);
}

#[test]
fn tokens_and_links_are_made_in_the_project_that_they_are_for() {
    let sandbox = project();
    let (server, other) = both(&sandbox);
    let page = server.session();
    let new = json!({"agent": "codex:web"});
    let made = server.send("POST", "/api/v1/tokens?repo=other", &page, Some(&new)).json();
    let bearer = format!("Authorization: Bearer {}\r\n", made["token"]["secret"].as_str().unwrap());
    assert_eq!(server.get("/api/v1/board?repo=other", &bearer).status, 200);
    assert_eq!(server.get("/api/v1/board?repo=tool", &bearer).status, 401);
    let listed = |path: &str| server.get(path, &page).json()["tokens"].as_array().unwrap().len();
    assert_eq!((listed("/api/v1/tokens"), listed("/api/v1/tokens?repo=other")), (0, 1));
    // In the second project there is a link to the same server, too, and it opens.
    let root = other.to_str().unwrap();
    let of = |args: &[&str]| {
        sandbox.comity().by("human:bob").args(&[&["--root", root], args].concat()).json()
    };
    let link = of(&["link"]);
    let key = link["url"].as_str().unwrap().split_once("#k=").unwrap().1;
    let opened = server.send("POST", "/api/v1/session", "", Some(&json!({"key": key})));
    assert_eq!((opened.status, &opened.json()["me"]), (200, &json!("human:bob")));
    let again: Value = of(&["up"]);
    assert_eq!(again["url"], json!(format!("http://127.0.0.1:{}", server.port)));
}
