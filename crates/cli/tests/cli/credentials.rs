//! Every operation that changes something, tried over HTTP with every kind of credential and every role.

use crate::people::{Server, project, token};
use crate::sandbox::Sandbox;
use comity_api::{Kind, Method, Route, routes};
use comity_core::role::Role;
use serde_json::{Map, Value, json};

/// A server without a limit of requests: the walk is about who may, not about how often.
fn unlimited() -> Sandbox {
    let sandbox = project();
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("[serve]", "[serve]\nrate = 0")).unwrap();
    sandbox.comity().by("human:ann").args(&["task", "create", "Print dates"]).json();
    sandbox
}

/// Every way to change something.
fn changes() -> Vec<Route> {
    routes().into_iter().filter(|route| route.row.kind == Kind::Write).collect()
}

fn address(route: &Route) -> String {
    let id = match route.row.name.split('.').next() {
        Some("decision") => "D1",
        Some("run") => "R1",
        Some("memory" | "directive") => "M1",
        _ => "T1",
    };
    format!("/api/v1/{}", route.path.replace("{id}", id))
}

/// Fills in what the input of an operation must have.
fn body(route: &Route) -> Value {
    let schema = (route.row.input)().to_value();
    let in_address = route.path.contains("{id}");
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut fields = Map::new();
    for name in
        required.iter().filter_map(Value::as_str).filter(|name| !in_address || *name != "id")
    {
        let of = &schema["properties"][name];
        let kind = of["type"].as_str().unwrap_or("string");
        let value = match (name, kind) {
            (_, "array") => json!([]),
            (_, "object") => json!({}),
            (_, "boolean") => json!(true),
            (_, "integer" | "number") => json!(1),
            ("id" | "task", _) => json!("T1"),
            _ => of["enum"].get(0).cloned().unwrap_or(json!("x")),
        };
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

fn send(server: &Server, route: &Route, query: &str, headers: &str) -> (u16, Value) {
    let method = match route.method {
        Method::Patch => "PATCH",
        Method::Get | Method::Post => "POST",
    };
    let path = format!("{}{query}", address(route));
    let heard = server.send(method, &path, headers, Some(&body(route)));
    let code = heard.json().get("code").cloned().unwrap_or_default();
    (heard.status, code)
}

#[test]
fn nothing_is_changed_without_a_good_credential() {
    let sandbox = unlimited();
    let other = project();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let cookie: String = page.lines().take(1).map(|line| format!("{line}\r\n")).collect();
    let revoked = sandbox.comity().by("human:ann");
    let revoked = revoked.args(&["token", "create", "--agent", "w9"]).json();
    let secret = |made: &Value| made["token"]["secret"].as_str().unwrap().to_owned();
    let id = revoked["token"]["id"].as_str().unwrap();
    sandbox.comity().by("human:ann").args(&["token", "revoke", id]).json();
    let expired = token(&sandbox, "w8", &["--expires", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    let narrowed = token(&sandbox, "w7", &["--verb", "heartbeat"]);
    let elsewhere = token(&sandbox, "w6", &["--task", "T2"]);
    let head = sandbox.head();
    let bearer = |text: &str| format!("Authorization: Bearer {text}\r\n");
    let callers: [(&str, String, u16, &[&str]); 9] = [
        ("nobody", String::new(), 401, &["unauthenticated"]),
        ("a made-up token", bearer("cmty_00"), 401, &["unauthenticated"]),
        ("no token at all", "Authorization: Basic eDp4\r\n".to_owned(), 401, &["unauthenticated"]),
        ("a revoked token", bearer(&secret(&revoked)), 401, &["unauthenticated"]),
        ("an expired token", expired, 401, &["unauthenticated"]),
        ("a token of another project", token(&other, "w1", &[]), 401, &["unauthenticated"]),
        ("a cookie without its header", cookie.clone(), 403, &["role-forbidden"]),
        (
            "a cookie with a made-up header",
            format!("{cookie}Comity-CSRF: 00\r\n"),
            403,
            &["role-forbidden"],
        ),
        ("a made-up cookie", cookie.replace('=', "=0"), 401, &["unauthenticated"]),
    ];
    for route in changes() {
        let name = route.row.name;
        for (who, headers, status, codes) in &callers {
            let (found, code) = send(&server, &route, "", headers);
            assert_eq!(found, *status, "{name} by {who}: {code}");
            assert!(codes.contains(&code.as_str().unwrap()), "{name} by {who}: {code}");
        }
        let heard = server.by_socket("POST", &address(&route), Some(&body(&route)));
        assert!(matches!(heard.status, 401 | 405), "{name} by the socket: {}", heard.body);
        if name != "agent.heartbeat" {
            for headers in [&narrowed, &elsewhere] {
                let (status, code) = send(&server, &route, "", headers);
                assert_eq!((status, &code), (403, &json!("scope")), "{name} by a narrowed token");
            }
        }
    }
    assert_eq!(sandbox.head(), head, "nothing was written");
}

#[test]
fn a_token_may_what_the_roles_of_its_agent_may() {
    let sandbox = unlimited();
    let ask = ["decision", "ask", "Which calendar?", "--option", "iso", "--to", "planner"];
    sandbox.comity().by("w0").args(&ask).json();
    let roles = [Role::Planner, Role::Implementer, Role::Critic, Role::Integrator, Role::Observer];
    let tokens = roles.map(|role| {
        let name = format!("agent.{role}");
        (role, token(&sandbox, &name, &["--role", role.as_str()]))
    });
    let server = Server::start(&sandbox, &[]);
    let head = sandbox.head();
    let (mut refused, mut passed, mut wrong) = (0, 0, Vec::new());
    for route in changes() {
        // What has no verb is for people, or depends on the input.
        let Some(verb) = route.row.verb else { continue };
        let name = route.row.name;
        let tried = tokens.each_ref().map(|(role, headers)| {
            let (status, code) = send(&server, &route, "?dry_run=1", headers);
            assert!(status < 500, "{name} by {role}: {status} {code}");
            (*role, verb.roles().contains(role), status, code)
        });
        // Other rules may refuse it to everybody: that is about the task, not about the caller.
        let of_task = |code: &Value| tried.iter().any(|(_, may, _, known)| *may && known == code);
        let for_people = tried.iter().all(|(_, may, ..)| !may);
        for (role, may, status, code) in &tried {
            let by_role = *code == json!("role-forbidden");
            // A claim says with its own code that there is nothing for the caller's roles.
            let no_work = name == "task.claim" && *code == json!("nothing-ready");
            let is_right = match may {
                true => *code != json!("scope"),
                false => *status >= 400 && (by_role || no_work || for_people || of_task(code)),
            };
            if !is_right {
                wrong.push(format!("{name} by {role}: {status} {code}"));
            }
            passed += usize::from(*status == 200);
            refused += usize::from(by_role);
        }
    }
    assert!(wrong.is_empty(), "not what their roles say: {wrong:#?}");
    assert!(refused > 20 && passed > 20, "{refused} refused by role, {passed} passed");
    assert_eq!(sandbox.head(), head, "a dry run changes nothing");
}

#[test]
fn no_path_leads_out_of_the_project() {
    let sandbox = project();
    std::fs::write(sandbox.outside().join("secret"), "hunter2").unwrap();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    for path in [
        "tree?under=..",
        "tree?under=../..",
        "tree?under=%2Fetc",
        "tree?under=src/../../..",
        "why?of=../secret",
        "why?of=%2Fetc%2Fpasswd",
        "tasks/..%2F..%2Fsecret",
        "tasks/..%2f..%2fsecret/panel",
        "runs/..%2F..%2F..%2Fsecret/logs",
        "pads/show?scope=../secret",
        "interfaces/show?name=../secret",
        "brief?paths=../secret",
    ] {
        let heard = server.get(&format!("/api/v1/{path}"), &page);
        assert!(heard.status < 500, "{path}: {}", heard.body);
        for word in ["hunter2", "root:x:", "\"secret\",\"kind\":\"file\""] {
            assert!(!heard.body.contains(word), "{path}: {}", heard.body);
        }
    }
}

#[test]
fn markup_in_every_text_stays_text() {
    let sandbox = unlimited();
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let post = |path: &str, body: Value| {
        let heard = server.send("POST", &format!("/api/v1/{path}"), &page, Some(&body));
        assert_eq!(heard.status, 200, "{path}: {}", heard.body);
        assert_eq!(heard.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(heard.header("x-content-type-options"), Some("nosniff"), "{path}");
    };
    post(
        "tasks",
        json!({"title": evil, "description": evil, "labels": [evil], "requirements": [evil],
               "dod": [evil], "epic": evil, "initiative": evil, "files": ["src/<b>.rs"]}),
    );
    post("tasks/T1/block", json!({"needs": evil}));
    post(
        "decisions",
        json!({"question": evil, "context": evil, "options": [{"key": "a", "label": evil}]}),
    );
    post("memories", json!({"text": evil, "type": "fact", "tags": [evil]}));
    post("directives", json!({"text": evil}));
    post("notes", json!({"type": "progress", "text": evil, "task": "T1"}));
    post("tells", json!({"to": "all", "text": evil}));
    post("pads/append", json!({"text": evil}));
    post("interfaces/publish", json!({"name": "api", "text": evil}));
    for path in [
        "board",
        "inbox",
        "crew",
        "tree",
        "timeline",
        "flow",
        "log",
        "tasks",
        "tasks/T3/panel",
        "tasks/T3/story",
        "decisions",
        "memories",
        "directives",
        "brief?task=T3",
        "pads/show",
        "interfaces",
        "report/board",
        "why?of=T3",
        "status",
    ] {
        let heard = server.get(&format!("/api/v1/{path}"), &page);
        assert_eq!(heard.status, 200, "{path}: {}", heard.body);
        assert_eq!(heard.header("content-type"), Some("application/json"), "{path}");
        let policy = heard.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
    }
}
