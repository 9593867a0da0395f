//! Pager, completion, settings and manual pages.

use crate::sandbox::Sandbox;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);

fn with_many_tasks() -> Sandbox {
    let sandbox = Sandbox::new();
    for n in 0..30 {
        sandbox.json(&["new", &format!("Task {n}")]);
    }
    sandbox
}

#[test]
fn a_long_answer_on_a_persons_terminal_goes_through_the_pager() {
    let sandbox = with_many_tasks();
    let look = |args: &[&str], set: &[(&str, &str)]| {
        let call = sandbox.comity().args(args);
        let call = set.iter().fold(call, |call, (name, value)| call.env(name, value));
        call.on_terminal(80, SOON)
    };
    let pager = [("COMITY_PAGER", "sed 's/^/> /'")];
    let paged = |printed: &str| printed.starts_with("> ");
    assert!(paged(&look(&["task", "list"], &pager)));
    assert!(paged(&look(&["task", "list"], &[("PAGER", "sed 's/^/> /'")])));
    assert!(paged(&look(&["--help"], &pager)), "help, too");
    // Short answers, programs and agents never meet it.
    assert!(!paged(&look(&["task", "list", "-n", "3"], &pager)));
    assert!(!paged(&look(&["task", "list", "--json"], &pager)));
    let [named] = pager;
    assert!(!paged(&look(&["task", "list"], &[named, ("COMITY_AGENT", "ada")])));
    assert!(!paged(&look(&["task", "list"], &[named, ("CLAUDECODE", "1")])));
    assert!(
        !sandbox
            .comity()
            .env(named.0, named.1)
            .args(&["task", "list"])
            .done()
            .stdout
            .starts_with('>')
    );
    // A pager that quits early or is not there is no failure.
    assert_eq!(look(&["task", "list"], &[("COMITY_PAGER", "head -n 1")]).lines().count(), 1);
    assert!(look(&["task", "list"], &[("COMITY_PAGER", "no-such-pager")]).contains("Task 29"));
    assert!(look(&["task", "list"], &[("COMITY_PAGER", "")]).contains("Task 29"));
}

fn completed(sandbox: &Sandbox, words: &[&str]) -> String {
    let done = sandbox.comity().args(&["__complete"]).args(words).done();
    assert_eq!((done.exit, done.stderr.as_str()), (0, ""));
    let values = done.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned());
    values.collect::<Vec<_>>().join(" ")
}

#[test]
fn ids_statuses_and_other_words_are_completed() {
    let sandbox = Sandbox::new();
    sandbox.json(&["new", "Parse dates", "-g", "tests"]);
    sandbox.json(&["new", "Print dates"]);
    sandbox.comity().by("ada").args(&["task", "claim", "T1", "--start"]).json();
    sandbox.comity().by("ada").args(&["decision", "ask", "Which way?"]).json();
    for (words, wanted) in [
        (&["task", "show", ""][..], "T1 T2"),
        (&["task", "show", "t2"], "T2"),
        (&["show", ""], "T1 T2"),
        (&["task", "submit", ""], "T1"),
        (&["task", "depend", "T2", "--on", ""], "T1 T2"),
        (&["note", "progress", "x", "-t", "T"], "T1 T2"),
        (&["--as", "bob", "task", "show", ""], "T1 T2"),
        (&["task", "list", "--status", "c"], "claimed changes_requested"),
        (&["decision", "answer", ""], "D1"),
        (&["gate", "record", "T1", ""], "tests"),
        (&["task", "create", "x", "--priority", "P"], "P0 P1 P2 P3 P4"),
        (&["--as", "a"], "ada"),
        (&["config", "get", "limits.t"], "limits.ttl"),
        (&["task", "create", ""], ""),
        (&["task", "show", "--"], ""),
        (&["nonsense", ""], ""),
        (&[], ""),
    ] {
        assert_eq!(completed(&sandbox, words), wanted, "{words:?}");
    }
}

#[test]
fn wherever_the_page_of_commands_asks_for_an_id_there_is_something_to_complete() {
    let sandbox = Sandbox::new();
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).json();
    // A task in each state that some verb wants.
    for n in 1..=7 {
        let title = format!("Task {n}");
        by("human:ann", &["new", &title, "--gate", "tests"]);
    }
    by("human:ann", &["agent", "register", "cleo", "--role", "critic"]);
    by("ada", &["task", "start", "T1"]);
    for id in ["T2", "T3", "T4"] {
        let passed = ["--gate", "tests=pass", "--empty", "--reason", "it was there"];
        by("ada", &["task", "start", id]);
        by("ada", &[&["task", "submit", id], &passed[..]].concat());
    }
    by("cleo", &["task", "approve", "T3", "T4"]);
    by("human:ann", &["task", "merge", "T4"]);
    by("human:ann", &["task", "abandon", "T5", "--reason", "no"]);
    by("ada", &["task", "start", "T6"]);
    by("ada", &["task", "block", "T6", "--needs", "a key", "--question", "Which?"]);
    by("ada", &["lease", "acquire", "docs/"]);
    by("ada", &["memory", "write", "it is so", "--type", "fact"]);
    by("human:ann", &["directive", "create", "tidy up"]);
    by("ada", &["interface", "publish", "dates", "README.md", "--path", "docs/"]);
    let page = include_str!("../../../../docs/reference/commands.md");
    let mut asked = 0;
    for usage in page.lines().filter_map(|line| line.strip_prefix("Usage: comity ")) {
        let words: Vec<&str> =
            usage.split(' ').take_while(|word| word.starts_with(char::is_lowercase)).collect();
        let ids = [
            "<ID>",
            "<ID>...",
            "[ID]",
            "<LOCK_ID>...",
            "[LOCK_ID]...",
            "<LOCK_ID>",
            "<OF>",
            "<TO>",
            "[PATH|TASK]...",
        ];
        let place = usage
            .split(' ')
            .skip(words.len() + 1)
            .find(|word| word.starts_with(['<', '[']) && *word != "[OPTIONS]");
        if !place.is_some_and(|place| ids.contains(&place)) {
            continue;
        }
        // There is no run and no token here; a run is completed in the test of runs.
        let apart = ["run ", "neo runs", "neo logs", "token ", "agent register"];
        if apart.iter().any(|front| words.join(" ").starts_with(front)) {
            continue;
        }
        asked += 1;
        let line: Vec<&str> = words.iter().copied().chain([""]).collect();
        assert_ne!(completed(&sandbox, &line), "", "{usage}");
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn completion_makes_no_store_and_fails_in_silence() {
    let sandbox = Sandbox::new();
    assert_eq!(completed(&sandbox, &["task", "show", ""]), "");
    assert!(!sandbox.root.join(".git/comity").exists() && !sandbox.root.join(".comity").exists());
    let outside = sandbox.comity().at(&sandbox.outside()).args(&["__complete", "task", "show", ""]);
    assert_eq!(outside.done().exit, 0);
}

#[test]
fn settings_are_listed_shown_and_set_with_their_origin() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    let listed = sandbox.json(&["config", "list"]);
    let of = |key: &str| {
        let all = listed["settings"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).unwrap().clone()
    };
    assert_eq!(of("limits.ttl")["origin"], "default");
    let set = sandbox.json(&["config", "set", "limits.ttl", "30m"])["setting"].clone();
    assert_eq!(set["value"], "30m");
    assert!(set["origin"].as_str().unwrap().starts_with(".comity/config.toml:"), "{set}");
    assert_eq!(sandbox.comity().args(&["config", "get", "limits.ttl"]).done().stdout, "30m\n");
    let claimed = sandbox.json(&["new", "x"]);
    assert!(claimed["task"]["id"].is_string());
    let there =
        sandbox.comity().env("COMITY_REPO", "ann/tool").args(&["config", "get", "project.repo"]);
    assert_eq!(there.json()["setting"]["origin"], "COMITY_REPO");
    let (error, exit) = sandbox.comity().args(&["config", "set", "limits.tl", "1h"]).refusal();
    assert_eq!((exit, &error["details"]["nearest"]), (2, &"limits.ttl".into()));
    assert_eq!(sandbox.refused(&["config", "set", "limits.ttl", "soon"]).1, 2);
    assert_eq!(sandbox.refused(&["config", "get", "nope"]).1, 2);
    // Agents read the settings, and are held to them.
    let agent = |args: &[&str]| sandbox.comity().by("ada").args(args);
    assert_eq!(agent(&["config", "get", "limits.ttl"]).json()["setting"]["value"], "30m");
    let (error, exit) = agent(&["config", "set", "gates.min_tier", "claimed"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("human-only"), 3));
    let person =
        sandbox.comity().by("human:ann").args(&["config", "set", "gates.required", "tests"]);
    assert_eq!(person.json()["setting"]["value"], "[\"tests\"]");
    let text = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
    assert!(text.contains("# ttl = \"15m\"") && text.contains("ttl = \"30m\""), "{text}");
}

#[test]
fn manual_pages_come_from_the_command_line_itself() {
    let sandbox = Sandbox::without_git();
    let made = sandbox.json(&["man", "pages/man1"]);
    let pages = made["pages"].as_array().unwrap();
    assert!(pages.len() > 80, "{}", pages.len());
    let page =
        |name: &str| std::fs::read_to_string(sandbox.root.join("pages/man1").join(name)).unwrap();
    assert!(page("comity.1").contains("Coordinate coding agents"));
    let claim = page("comity-task-claim.1");
    assert!(claim.contains("comity task claim") && claim.contains("\\-\\-ttl"), "{claim}");
    assert!(sandbox.comity().args(&["man", "/proc/no"]).refusal().1 != 0);
}
