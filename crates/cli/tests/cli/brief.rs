//! What agents leave for each other, and how it reaches whoever claims, leases or starts.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn by(sandbox: &Sandbox, who: &str, args: &[&str]) -> Value {
    sandbox.comity().by(who).args(args).json()
}

/// A project with one task on `src/a.rs`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Do a", "--file", "src/a.rs"]);
    sandbox
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|item| item["text"].as_str()).collect()
}

#[test]
fn a_claim_brings_what_others_left_and_nothing_twice() {
    let sandbox = project();
    by(&sandbox, "w1", &["agent", "heartbeat"]);
    by(&sandbox, "w2", &["note", "change", "renamed parse to read", "--path", "src/**"]);
    by(&sandbox, "w2", &["note", "change", "new chapter", "--path", "docs"]);
    by(&sandbox, "w2", &["tell", "w1", "look at zone.rs"]);
    by(
        &sandbox,
        "w2",
        &["memory", "write", "needs a database", "--type", "fact", "--scope", "src/a.rs"],
    );
    let claim = by(&sandbox, "w1", &["task", "claim", "T1"]);
    let brief = &claim["brief"];
    assert_eq!(texts(&brief["changes"]), ["renamed parse to read"]);
    assert_eq!(brief["changes"][0]["by"], "w2");
    assert_eq!(brief["changes"][0]["paths"], json!(["src/**"]));
    assert_eq!(texts(&brief["messages"]), ["look at zone.rs"]);
    assert_eq!(brief["messages"][0]["from"], "w2");
    assert_eq!(texts(&brief["memories"]), ["needs a database"]);
    assert_eq!(brief["more"], Value::Null);
    let lease = by(&sandbox, "w1", &["lease", "acquire", "src/b.rs"]);
    assert_eq!(texts(&lease["brief"]["changes"]), [""; 0], "it came before");
    by(&sandbox, "w2", &["note", "change", "read returns a Result", "--path", "src/a.rs"]);
    let list = by(&sandbox, "w1", &["task", "list"]);
    assert_eq!(list["news"][0]["kind"], "change");
    assert_eq!(texts(&list["news"]), ["read returns a Result"]);
    assert_eq!(by(&sandbox, "w1", &["task", "list"])["news"], Value::Null);
    let words = sandbox.comity().by("w2").args(&["tell", "w1", "bye"]).done();
    assert!(words.stdout.contains("Told w1"), "{}", words.stdout);
    let words = sandbox.comity().by("w1").args(&["task", "list"]).done();
    assert!(words.stderr.contains("news: message from w2: bye"), "{}", words.stderr);
}

#[test]
fn a_refused_lease_brings_the_brief_too() {
    let sandbox = project();
    by(&sandbox, "w1", &["task", "claim", "T1"]);
    by(&sandbox, "w1", &["note", "change", "half done", "--path", "src/a.rs"]);
    let (error, exit) = sandbox.comity().by("w2").args(&["lease", "acquire", "src/a.rs"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("lease-held"), 3));
    let brief = &error["details"]["brief"];
    assert_eq!(texts(&brief["changes"]), ["half done"]);
    assert_eq!(brief["neighbours"][0]["agent"], "w1");
    assert_eq!(brief["neighbours"][0]["task"], "T1");
}

#[test]
fn a_refused_claim_brings_the_brief_too() {
    let sandbox = project();
    sandbox.json(&["task", "create", "Do a again", "--file", "src"]);
    by(&sandbox, "w1", &["task", "claim", "T1"]);
    by(&sandbox, "w1", &["note", "change", "half done", "--path", "src/a.rs"]);
    let (error, exit) = sandbox.comity().by("w2").args(&["task", "claim", "T2"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("lease-held"), 3));
    assert_eq!(texts(&error["details"]["brief"]["changes"]), ["half done"]);
    assert_eq!(by(&sandbox, "w2", &["task", "list"])["news"], Value::Null, "it came already");
}

#[test]
fn whoever_holds_a_path_at_hand_is_a_neighbour_however_the_path_is_written() {
    for (held, wanted) in [
        ("README.md", "README.md"),
        ("src/**", "src/deep/a.rs"),
        ("src", "src/deep/a.rs"),
        ("src/deep/a.rs", "src"),
        ("**/*.md", "docs/a.md"),
        ("src/b.rs", "src/a.rs"),
    ] {
        let sandbox = project();
        by(&sandbox, "w1", &["lease", "acquire", held]);
        let shown = by(&sandbox, "w2", &["brief", wanted]);
        let neighbour = &shown["brief"]["neighbours"][0];
        assert_eq!(neighbour["agent"], "w1", "{held} beside {wanted}");
        assert_eq!(neighbour["paths"], json!([held]), "{held} beside {wanted}");
        assert_eq!(by(&sandbox, "w1", &["brief", wanted])["brief"]["neighbours"], json!([]));
    }
}

#[test]
fn anybody_sees_the_whole_brief_and_a_fresh_context_gets_it_again() {
    let sandbox = project();
    by(&sandbox, "w2", &["note", "change", "renamed it", "--path", "src"]);
    by(&sandbox, "w1", &["task", "claim", "T1"]);
    for args in [&["brief", "T1"][..], &["brief", "src/a.rs"], &["task", "show", "T1"]] {
        let shown = by(&sandbox, "w3", args);
        assert_eq!(texts(&shown["brief"]["changes"]), ["renamed it"], "{args:?}");
    }
    assert_eq!(texts(&by(&sandbox, "w1", &["brief"])["brief"]["changes"]), ["renamed it"]);
    let handed = by(&sandbox, "w1", &["task", "handoff", "T1"]);
    assert_eq!(texts(&handed["brief"]["changes"]), ["renamed it"]);
    let (error, exit) = sandbox.comity().args(&["brief", "T9"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("not-found"), 4));
}

#[test]
fn a_pad_is_written_section_by_section() {
    let sandbox = project();
    assert_eq!(sandbox.json(&["pad", "show"])["pad"]["version"], 0);
    let pad = by(&sandbox, "w1", &["pad", "append", "## Plan\none"]);
    assert_eq!((&pad["pad"]["scope"], &pad["pad"]["version"]), (&json!("global"), &json!(1)));
    by(&sandbox, "w2", &["pad", "append", "## Open\nwhat?"]);
    sandbox.write("plan.md", "two\n");
    by(&sandbox, "w1", &["pad", "write", "plan.md", "--section", "Plan", "--if-match", "2"]);
    let text = sandbox.json(&["pad", "show", "global"])["pad"]["text"].clone();
    assert_eq!(text, "## Plan\ntwo\n## Open\nwhat?\n");
    let (error, exit) = sandbox.comity().args(&["pad", "write", "plan.md"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("version-mismatch"), 3));
    let history = sandbox.json(&["pad", "history"]);
    let versions: Vec<u64> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["version"].as_u64())
        .collect();
    assert_eq!(versions, [3, 2, 1]);
    let claim = by(&sandbox, "w1", &["task", "claim", "T1"]);
    assert_eq!(claim["brief"]["pad"]["version"], 3);
}

#[test]
fn an_interface_has_versions_and_an_owner() {
    let sandbox = project();
    by(&sandbox, "w1", &["task", "claim", "T1"]);
    sandbox.write("api.ts", "f(): void\n");
    let args =
        ["interface", "publish", "api", "api.ts", "--path", "src/a.rs", "--for", "src/web/**"];
    assert_eq!(by(&sandbox, "w1", &args)["interface"]["version"], 1);
    sandbox.write("api.ts", "f(): string\n");
    let (error, exit) =
        sandbox.comity().by("w2").args(&["interface", "publish", "api", "api.ts"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("not-holder"), 3));
    assert!(error["hint"].as_str().unwrap().contains("comity decision ask"), "{error}");
    let second = by(&sandbox, "w1", &["interface", "publish", "api", "api.ts"]);
    assert_eq!(second["interface"]["paths"], json!(["src/a.rs"]), "the paths stay");
    let shown = sandbox.json(&["interface", "show", "api", "--diff"]);
    assert_eq!(shown["interface"]["version"], 2);
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("-f(): void\n+f(): string\n"), "{diff}");
    let first = sandbox.json(&["interface", "show", "api", "--version", "1"]);
    assert_eq!(first["interface"]["text"], "f(): void\n");
    let list =
        |path: &str| sandbox.json(&["interface", "list", "--path", path])["interfaces"].clone();
    assert_eq!(list("src/web/x.ts").as_array().unwrap().len(), 1);
    assert_eq!(list("docs").as_array().unwrap().len(), 0);
    let lease = by(&sandbox, "w3", &["lease", "acquire", "src/web/x.ts"]);
    assert_eq!(lease["brief"]["interfaces"][0]["name"], "api");
    assert_eq!(lease["brief"]["interfaces"][0]["changed"], true);
}

#[test]
fn wrong_words_are_refused_with_a_way_on() {
    let sandbox = project();
    for (args, code) in [
        (&["note", "change", "what"][..], "invalid-input"),
        (&["note", "progress", "x", "--path", "src"], "invalid-input"),
        (&["tell", "nobody", "hello"], "unknown-name"),
        (&["interface", "show", "nothing"], "not-found"),
        (&["interface", "publish", "api", "missing.ts"], "invalid-input"),
        (&["brief", "--limit", "0"], "invalid-input"),
    ] {
        let (error, exit) = sandbox.comity().by("w1").args(args).refusal();
        assert_eq!(error["code"], code, "{args:?}");
        assert!(exit != 0 && error["hint"].is_string(), "{args:?}: {error}");
    }
    let secret = "AKIAIOSFODNN7EXAMPLE";
    by(&sandbox, "w1", &["pad", "append", &format!("key {secret}")]);
    let text = sandbox.json(&["pad", "show"])["pad"]["text"].to_string();
    assert!(!text.contains(secret), "{text}");
}

#[test]
fn work_that_lands_tells_those_who_work_there() {
    let sandbox = project();
    sandbox.json(&["task", "create", "Do b", "--file", "src/**"]);
    let ann = |args: &[&str]| by(&sandbox, "human:ann", args);
    by(&sandbox, "w1", &["task", "claim", "T1", "--start"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "feat/T1-do-a"]);
    sandbox.write("src/a.rs", "fn read() {}\n");
    sandbox.commit(&sandbox.root, "Rename parse to read, not AKIAIOSFODNN7EXAMPLE\n\nAnd more.");
    by(&sandbox, "w1", &["task", "submit", "T1"]);
    ann(&["task", "approve", "T1"]);
    ann(&["task", "merge", "T1"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.git(&sandbox.root, &["merge", "--quiet", "--no-ff", "-m", "Merge T1", "feat/T1-do-a"]);
    ann(&["task", "done", "T1"]);
    let claim = by(&sandbox, "w2", &["task", "claim", "T2"]);
    let change = &claim["brief"]["changes"][0];
    // It says what the commit says in its first line, without secrets.
    let text = change["text"].as_str().unwrap();
    assert!(text.starts_with("Rename parse to read, not [") && !text.contains("AKIA"), "{text}");
    assert_eq!(change["task"], "T1");
    assert_eq!(change["paths"], json!(["src/a.rs"]));
    assert!(change["commit"].is_string(), "{change}");
    // The mission names the brief as a file, in which others' text stands between marks.
    assert_eq!(claim["mission"]["context"]["memory"], ".comity/missions/T2/brief.md");
    let page = std::fs::read_to_string(sandbox.root.join(".comity/missions/T2/brief.md")).unwrap();
    assert!(page.contains("<<<") && page.contains("Changed by human:ann on T1"), "{page}");
    let prime = sandbox.comity().by("w2").args(&["prime"]).done().stdout;
    assert!(prime.contains("<<<") && prime.contains("Rename parse to read"), "{prime}");
    assert!(prime.chars().count() <= 1_600, "{prime}");
}

#[test]
fn a_brief_has_the_answers_of_the_whole_initiative() {
    let sandbox = project();
    for (title, initiative) in [("Ask", "auth"), ("Build", "auth"), ("Other", "billing")] {
        sandbox.json(&["task", "create", title, "--initiative", initiative]);
    }
    let asked = by(&sandbox, "w1", &["decision", "ask", "Which hash?", "--task", "T2"]);
    let id = asked["decision"]["id"].as_str().unwrap();
    by(&sandbox, "human:ann", &["decision", "answer", id, "argon2"]);
    let decisions =
        |task: &str| sandbox.json(&["brief", task])["brief"]["decisions"].as_array().unwrap().len();
    assert_eq!([decisions("T2"), decisions("T3"), decisions("T4")], [1, 1, 0]);
}

/// Twenty changes on `src/a.rs`, which are more than a brief has.
fn many_changes(sandbox: &Sandbox) {
    for number in 0..20 {
        by(sandbox, "w2", &["note", "change", &format!("change {number}"), "--path", "src/a.rs"]);
    }
}

#[test]
fn words_in_a_pipe_have_the_brief_of_a_lease_and_of_a_refusal() {
    let sandbox = project();
    by(&sandbox, "w2", &["note", "change", "renamed it", "--path", "src"]);
    let granted = sandbox.comity().by("w1").args(&["lease", "acquire", "src/a.rs"]).done();
    assert!(granted.stdout.contains("\nFrom others:\n"), "{}", granted.stdout);
    assert!(granted.stdout.contains("renamed it"), "{}", granted.stdout);
    for args in
        [&["lease", "acquire", "src/a.rs"][..], &["task", "claim", "T1"], &["task", "start", "T1"]]
    {
        let who = args.join("-");
        let refused = sandbox.comity().by(&who).args(args).done();
        assert_eq!(refused.exit, 3, "{args:?}");
        assert!(refused.stderr.contains("\nFrom others:\n"), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("renamed it"), "{args:?}: {}", refused.stderr);
        let list = by(&sandbox, &who, &["task", "list"]);
        assert_eq!(list["news"], Value::Null, "{args:?}: it came already");
    }
}

#[test]
fn words_of_a_handoff_have_the_prompt_on_stdout_and_the_brief_on_stderr() {
    let sandbox = project();
    by(&sandbox, "w1", &["task", "claim", "T1"]);
    by(&sandbox, "w2", &["note", "change", "renamed it", "--path", "src"]);
    let handed = sandbox.comity().by("w1").args(&["task", "handoff", "T1"]).done();
    assert!(!handed.stdout.contains("renamed it"), "{}", handed.stdout);
    assert!(handed.stderr.contains("From others:"), "{}", handed.stderr);
    assert!(handed.stderr.contains("renamed it"), "{}", handed.stderr);
}

#[test]
fn words_about_a_task_have_what_others_left() {
    let sandbox = project();
    by(&sandbox, "w2", &["note", "change", "renamed it", "--path", "src"]);
    let shown = sandbox.comity().by("w1").args(&["task", "show", "T1"]).done();
    assert!(shown.stdout.contains("\nFrom others:\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("renamed it"), "{}", shown.stdout);
}

#[test]
fn starting_a_task_that_nobody_had_claimed_brings_its_brief() {
    let sandbox = project();
    sandbox.json(&["task", "create", "Do b", "--file", "src/b.rs"]);
    by(&sandbox, "w2", &["note", "change", "renamed it", "--path", "src"]);
    let started = by(&sandbox, "w1", &["task", "start", "T1"]);
    assert_eq!(texts(&started["brief"]["changes"]), ["renamed it"]);
    assert_eq!(by(&sandbox, "w1", &["task", "list"])["news"], Value::Null, "it came already");
    by(&sandbox, "w3", &["task", "claim", "T2"]);
    let started = by(&sandbox, "w3", &["task", "start", "T2"]);
    assert_eq!(started["brief"], Value::Null, "it came with the claim");
}

#[test]
fn what_a_brief_leaves_out_is_reached_by_a_command() {
    let sandbox = project();
    many_changes(&sandbox);
    let how = |brief: &Value| brief["more"]["how"].as_str().unwrap().to_owned();
    let granted = by(&sandbox, "w1", &["lease", "acquire", "src/a.rs"]);
    assert_eq!(how(&granted["brief"]), "comity brief src/a.rs --limit 500");
    let refused = |who: &str, args: &[&str]| sandbox.comity().by(who).args(args).refusal().0;
    let error = refused("w3", &["lease", "acquire", "src/a.rs"]);
    assert_eq!(how(&error["details"]["brief"]), "comity brief src/a.rs --limit 500");
    let error = refused("w4", &["task", "claim", "T1"]);
    assert_eq!(how(&error["details"]["brief"]), "comity brief T1 --limit 500");
    let error = refused("w5", &["task", "start", "T1"]);
    assert_eq!(how(&error["details"]["brief"]), "comity brief T1 --limit 500");
    by(&sandbox, "w1", &["lease", "release", "--all"]);
    let started = by(&sandbox, "w6", &["task", "start", "T1"]);
    assert_eq!(how(&started["brief"]), "comity brief T1 --limit 500");
}

#[test]
fn a_task_is_meant_however_its_id_is_written() {
    let sandbox = project();
    by(&sandbox, "w2", &["tell", "t1", "look at zone.rs"]);
    by(&sandbox, "w2", &["memory", "write", "needs a database", "--type", "fact", "--scope", "t1"]);
    let pad = by(&sandbox, "w2", &["pad", "append", "we are here", "t1"]);
    assert_eq!(pad["pad"]["scope"], "global");
    sandbox.write("api", "fn f()");
    let published = by(&sandbox, "w2", &["interface", "publish", "api", "api", "--for", "t1"]);
    assert_eq!(published["interface"]["for"], json!(["T1"]));
    let brief = &by(&sandbox, "w1", &["task", "claim", "T1"])["brief"];
    assert_eq!(texts(&brief["messages"]), ["look at zone.rs"]);
    assert_eq!(texts(&brief["memories"]), ["needs a database"]);
    assert_eq!(brief["interfaces"][0]["name"], "api");
    for args in [
        &["tell", "T99", "look"][..],
        &["pad", "append", "x", "T99"],
        &["pad", "show", "t99"],
        &["interface", "publish", "other", "api", "--for", "T99"],
        &["memory", "write", "x", "--type", "fact", "--scope", "T99"],
    ] {
        let (error, exit) = sandbox.comity().by("w2").args(args).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("not-found"), 4), "{args:?}");
    }
}

#[test]
fn a_search_in_words_shows_what_others_left_under_the_memories() {
    let sandbox = project();
    by(&sandbox, "w2", &["note", "change", "renamed parse to read", "--path", "src"]);
    by(&sandbox, "w2", &["pad", "append", "## Plan\nfirst rename, then test"]);
    let found = by(&sandbox, "w1", &["memory", "search", "rename"]);
    assert_eq!(texts(&found["posts"]), ["first rename, then test", "renamed parse to read"]);
    let words = sandbox.comity().by("w1").args(&["memory", "search", "rename"]).done().stdout;
    assert!(words.contains("From others:"), "{words}");
    assert!(words.contains("global, version 1: first rename, then test"), "{words}");
    assert!(words.contains("renamed parse to read (src, w2)"), "{words}");
}
