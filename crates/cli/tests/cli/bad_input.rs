//! Malformed input: a clear error, exit 2, and nothing changed.

use crate::sandbox::Sandbox;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "one", "--dod", "item"]);
    sandbox
}

fn all_refused(sandbox: &Sandbox, cases: &[Vec<&str>]) {
    let before = sandbox.head();
    for args in cases {
        let (error, exit) = sandbox.comity().args(args).refusal();
        let shown: Vec<String> = args.iter().map(|arg| arg.chars().take(60).collect()).collect();
        assert_eq!(exit, 2, "{shown:?}: {error}");
        assert_eq!(error["code"], "invalid-input", "{shown:?}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(sandbox.head(), before);
}

#[test]
fn malformed_ids_are_refused() {
    let sandbox = project();
    let long = "a".repeat(65);
    all_refused(
        &sandbox,
        &[
            vec!["task", "create", "x", "--id", "1abc"],
            vec!["task", "create", "x", "--id", "a b"],
            vec!["task", "create", "x", "--id", "../x"],
            vec!["task", "create", "x", "--id", &long],
            vec!["task", "create", "x", "--id", "é"],
            vec!["task", "show", "a b"],
            vec!["task", "create", "x", "--as", "a b"],
            vec!["task", "create", "x", "--as", "human:"],
            vec!["task", "create", "x", "--repo", "a b"],
            vec!["task", "create", "x", "--fence", "0"],
            vec!["task", "create", "x", "--fence", "-1"],
            vec!["agent", "register", "a\nb"],
            vec!["decision", "show", "x y"],
        ],
    );
}

#[test]
fn a_reason_that_cannot_be_kept_is_refused_before_anything_is_done() {
    let sandbox = project();
    all_refused(&sandbox, &[vec!["task", "start", "T1", "--reason", "a\u{7}b"]]);
    // An empty one is none, as everywhere.
    let task = sandbox.json(&["task", "start", "T1", "--reason", ""])["task"].clone();
    assert_eq!(task["status"], "in_progress");
}

#[test]
fn malformed_paths_and_patterns_are_refused() {
    let sandbox = project();
    let long = "x".repeat(2000);
    let longer = "x/".repeat(4000);
    let deep = format!("{}a{}", "{".repeat(40), "}".repeat(40));
    all_refused(
        &sandbox,
        &[
            vec!["lease", "acquire", ""],
            vec!["lease", "acquire", "../outside"],
            vec!["lease", "acquire", "/etc/passwd"],
            vec!["lease", "acquire", "a\\b"],
            vec!["lease", "acquire", "a\u{7}b"],
            vec!["lease", "acquire", "a\nb"],
            vec!["lease", "acquire", "src/[a-"],
            vec!["lease", "acquire", "src/{a,b"],
            vec!["lease", "acquire", "src/[z-a]"],
            vec!["lease", "acquire", &long],
            vec!["lease", "acquire", &longer],
            vec!["lease", "acquire", &deep],
            vec!["lease", "acquire", "src/*/../x"],
            vec!["lease", "acquire", "ok", "../outside"],
            vec!["lease", "check", "../outside"],
            vec!["task", "create", "x", "--file", "../outside"],
            vec!["task", "update", "T1", "--file", "src/[a-"],
        ],
    );
}

#[test]
fn malformed_values_are_refused() {
    let sandbox = project();
    all_refused(
        &sandbox,
        &[
            vec!["task", "create", ""],
            vec!["task", "create", "two\nlines"],
            vec!["task", "create", "bell\u{7}"],
            vec!["task", "create", "x", "--priority", "P9"],
            vec!["task", "create", "x", "--role", "king"],
            vec!["task", "create", "x", "--timeout", "soon"],
            vec!["task", "create", "x", "--deliverable", "song"],
            vec!["task", "create", "x", "--context", "novalue"],
            vec!["task", "create", "x", "--complexity", "-1"],
            vec!["task", "claim", "--ttl", "1w"],
            vec!["task", "claim", "--ttl", "8d"],
            vec!["task", "list", "--status", "finished"],
            vec!["task", "list", "--limit", "0"],
            vec!["task", "list", "--limit", "501"],
            vec!["task", "list", "--after", "not a cursor"],
            vec!["task", "transition", "T1", "finished"],
            vec!["task", "update", "T1"],
            vec!["note", "song", "la la"],
            vec!["gate", "record", "T1", "tests", "maybe"],
            vec!["decision", "ask", ""],
            vec!["decision", "ask", "x", "--option", ":label"],
            vec!["decision", "ask", "x", "--type", "vote"],
            vec!["event", "list", "--since", "yesterday"],
            vec!["completions", "tcsh"],
            vec!["task", "create", "x", "--store", "mysql:x"],
        ],
    );
}

#[test]
fn malformed_json_is_refused() {
    let sandbox = project();
    let deep = format!("{{\"event\":\"x\",\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let nested = format!("{{\"event\":\"x\",\"a\":{}{}}}", "[".repeat(60), "]".repeat(60));
    let huge = format!("{{\"event\":\"x\",\"a\":\"{}\"}}", "y".repeat(120_000));
    all_refused(
        &sandbox,
        &[
            vec!["event", "emit", "{"],
            vec!["event", "emit", "[]"],
            vec!["event", "emit", "\"x\""],
            vec!["event", "emit", "{}"],
            vec!["event", "emit", "{\"event\":\"\"}"],
            vec!["event", "emit", "{\"event\":7}"],
            vec!["event", "emit", &deep],
            vec!["event", "emit", &nested],
            vec!["event", "emit", &huge],
        ],
    );
}

#[test]
fn bodies_beyond_the_limits_are_refused() {
    let sandbox = project();
    let title = "t".repeat(501);
    let text = "d".repeat(64 * 1024 + 1);
    let many: Vec<String> = (0..201).map(|n| format!("--label=l{n}")).collect();
    let mut labels = vec!["task", "create", "x"];
    labels.extend(many.iter().map(String::as_str));
    let key = "k".repeat(201);
    all_refused(
        &sandbox,
        &[
            vec!["task", "create", &title],
            vec!["task", "create", "x", "--description", &text],
            vec!["note", "progress", &text],
            vec!["decision", "ask", &text],
            vec!["task", "create", "x", "--idempotency-key", &key],
            labels,
        ],
    );
}

#[test]
fn arguments_and_variables_that_are_not_utf_8_are_refused() {
    let sandbox = project();
    let before = sandbox.head();
    let bad = || OsString::from_vec(vec![b'a', 0xff, b'b']);
    for words in [&["task", "create"][..], &["lease", "acquire"], &["note", "progress"], &["--as"]]
    {
        let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
        args.push(bad());
        let (error, exit) = sandbox.comity().raw(&args).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{words:?}");
    }
    assert_eq!(sandbox.head(), before);
}

#[test]
fn a_broken_config_is_named_with_file_and_line() {
    let sandbox = project();
    sandbox.write(".comity/config.toml", "[limits]\nmax_atempts = 3\n");
    let (error, exit) = sandbox.comity().args(&["task", "list"]).refusal();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("config.toml:2") && message.contains("max_atempts"), "{message}");
    sandbox.write(".comity/config.toml", "[redact]\nemails = true\npatterns = [\"ok\", \"(\"]\n");
    let (error, exit) = sandbox.comity().args(&["task", "list"]).refusal();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("config.toml:3") && message.contains("redact.patterns"), "{message}");
    sandbox.write(".comity/config.toml", "[store]\nurl = \"postgres://ann:hunter2@h/db\"\n");
    let (error, exit) = sandbox.comity().args(&["task", "list"]).refusal();
    assert_eq!(exit, 2);
    assert!(!error.to_string().contains("hunter2"));
}

#[test]
fn what_is_not_there_is_exit_4() {
    let sandbox = project();
    let before = sandbox.head();
    for args in [
        &["task", "show", "T9"][..],
        &["task", "start", "T9"],
        &["decision", "answer", "D9", "x"],
        &["agent", "show", "nobody"],
        &["lease", "release", "L9"],
    ] {
        assert_eq!(sandbox.refused(args), ("not-found".to_owned(), 4), "{args:?}");
    }
    assert_eq!(sandbox.head(), before);
}
