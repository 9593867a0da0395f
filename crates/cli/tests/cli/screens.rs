//! What people see, at 80 and at 120 columns.

use crate::sandbox::Sandbox;

/// A project with a bit of everything.
pub fn busy() -> Sandbox {
    let sandbox = Sandbox::new();
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).json();
    by("human:ann", &["agent", "register", "cleo", "--role", "critic", "--skill", "rust"]);
    by(
        "human:ann",
        &[
            "task",
            "create",
            "Parse dates",
            "--priority",
            "high",
            "--file",
            "src/date/**",
            "--gate",
            "tests",
            "--gate",
            "review",
            "--dod",
            "leap years work",
            "--dod",
            "documented",
            "--label",
            "rust",
            "--require",
            "no panics",
            "--description",
            "Dates come in three forms.\n\n- ISO 8601, with and without an offset, and this line is longer than eighty columns\n- RFC 2822",
            "--max-files",
            "5",
            "--no-new-deps",
            "--context",
            "depth=3",
        ],
    );
    by("human:ann", &["task", "create", "Print dates", "--depends-on", "T1"]);
    by(
        "human:ann",
        &[
            "task",
            "create",
            "Write the manual, with a chapter on 日本語 dates and a title that goes on for far too long",
        ],
    );
    by("ada", &["task", "claim", "T1"]);
    by("ada", &["task", "start", "T1"]);
    by("ada", &["task", "subtask", "T1", "start", "write the tests"]);
    by("ada", &["task", "check", "T1", "1"]);
    by("bob", &["lease", "acquire", "docs/", "--shared"]);
    by(
        "bob",
        &[
            "decision",
            "ask",
            "Which calendar do we follow?",
            "--option",
            "iso:ISO 8601",
            "--option",
            "local",
            "--default",
            "iso",
            "--expires",
            "2h",
            "--context",
            "Both are in use.",
        ],
    );
    sandbox
}

#[test]
fn an_empty_project_says_what_to_do_first() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("status_empty", sandbox.screen(&["status"]));
    insta::assert_snapshot!("task_list_empty", sandbox.screen(&["task", "list"]));
    insta::assert_snapshot!("init", sandbox.screen(&["init"]));
}

#[test]
fn a_busy_project_is_seen_at_a_glance() {
    let sandbox = busy();
    insta::assert_snapshot!("status", sandbox.screen(&["status"]));
    insta::assert_snapshot!("task_list", sandbox.screen(&["task", "list"]));
    insta::assert_snapshot!("task_show", sandbox.screen(&["task", "show", "T1"]));
    insta::assert_snapshot!("task_why", sandbox.screen(&["task", "why", "T2"]));
    insta::assert_snapshot!("lease_list", sandbox.screen(&["lease", "list"]));
    insta::assert_snapshot!(
        "lease_check",
        sandbox.screen(&["lease", "check", "src", "docs/a.md", "x"])
    );
    insta::assert_snapshot!("agent_list", sandbox.screen(&["agent", "list"]));
    insta::assert_snapshot!("agent_show", sandbox.screen(&["agent", "show", "cleo"]));
    insta::assert_snapshot!(
        "agent_suggest",
        sandbox.screen(&["agent", "suggest", "--label", "rust"])
    );
    insta::assert_snapshot!("gate_list", sandbox.screen(&["gate", "list", "T1"]));
    insta::assert_snapshot!("decision_list", sandbox.screen(&["decision", "list"]));
    insta::assert_snapshot!("decision_show", sandbox.screen(&["decision", "show", "D1"]));
    insta::assert_snapshot!("event_list", sandbox.screen(&["event", "list"]));
    insta::assert_snapshot!("log_verify", sandbox.screen(&["log", "verify"]));
}

#[test]
fn a_claim_shows_the_next_steps() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "Parse dates", "--file", "src/**", "--gate", "tests"]);
    insta::assert_snapshot!("task_claim", sandbox.screen(&["task", "claim"]));
}

#[test]
fn refusals_say_why_and_what_to_do_next() {
    let sandbox = busy();
    insta::assert_snapshot!("refused_lease", sandbox.screen(&["lease", "acquire", "src/*/a.rs"]));
    insta::assert_snapshot!("refused_claim", sandbox.screen(&["task", "claim", "T2"]));
    insta::assert_snapshot!("refused_missing", sandbox.screen(&["task", "show", "T9"]));
    insta::assert_snapshot!("refused_approve", sandbox.screen(&["task", "approve", "T1"]));
}

#[test]
fn where_nobody_looks_lists_are_tabs_without_headings() {
    let sandbox = busy();
    let done = sandbox.comity().args(&["task", "list"]).done();
    insta::assert_snapshot!("task_list_piped", sandbox.normal(&done.stdout));
    assert!(!done.stdout.contains('\u{1b}'));
}

#[test]
fn hostile_text_does_not_steer_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "x", "--description", "a\u{202e}b\nc"]);
    sandbox.json(&["note", "progress", "tab\there \u{2066}x"]);
    for args in [&["task", "show", "T1"][..], &["event", "list"]] {
        let out = sandbox.screen(args);
        assert!(!out.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{out:?}");
    }
}

/// What people see of each command, in this order: some of them change what the next ones show.
pub const SEEN: &str = "\
status
task list
task list --all --search dates
task show T1
task why T1
task why T2
task why T3
task update T3 --priority low
task depend T3 --on T2
task depend T3 --on T2 --remove
task assign T3 bob
task assign T3 --none
task link T3 github 42 --key issue
lease list
lease check src docs/a.md x
agent list
agent show ada
agent show cleo
agent suggest --label rust
agent heartbeat
gate list T1
gate record T1 tests pass
gate waive T1 tests --reason 'no-hot-path'
decision list
decision show D1
decision answer D1 local
decision list --all
memory write the-parser-is-recursive --type fact --tag rust
memory list
memory show M1
memory search recursive
directive create update-the-dependencies --trigger idle
directive list
directive show I1
note discovery the-parser-is-recursive --task T1
event list --limit 5
log
log --task T1
log verify
log head
contract render mission T1
contract render labels T1
contract validate README.md
guard check T1
whoami
config list
config set limits.ttl 30m
config get limits.ttl
task claim T3
task start T3
task subtask T3 start write-it
task check T3 1
task block T3 --needs a-decision --question which-way?
task show T3
task intervene T3
status
task answer T3 this-way
task abandon T3 --reason no-longer-needed
task reopen T3 --reason it-came-back
task approve T1
lease acquire src/date/a.rs
lease acquire lib/ --purpose tidy
lease release --all
task show T9
undo
task delete T1
watchdog --once
";

/// Shows calls one after the other, as a person. A line is split at blanks; what is longer than the screen fails.
pub fn record(sandbox: &Sandbox, columns: usize, lines: &str) -> String {
    let (mut seen, mut wide) = (String::new(), Vec::new());
    // Hashes, what programs and agents read, Markdown, and the forms of other tools come in one piece.
    let whole = [
        "log verify",
        "log head",
        "contract",
        "task intervene",
        "store",
        "prime",
        "report",
        "neo",
        "collab",
        "token create",
        "agent define show",
    ];
    for line in lines.lines() {
        let words = line.split(' ').take_while(|word| *word != "--");
        let own = line.split(' ').skip_while(|word| *word != "--");
        let args: Vec<&str> = words.chain(["--as", "human:ann"]).chain(own).collect();
        let screen = sandbox.screen_of(columns, &args);
        if !whole.iter().any(|front| line.starts_with(front)) {
            for shown in screen.lines().filter(|shown| !shown.contains("[dir]")) {
                let width = unicode_width::UnicodeWidthStr::width(shown);
                let words = shown.split_whitespace().count();
                let begun = shown.trim_start();
                // What is said beside an answer is one line, so that it can be found and copied whole.
                let said = ["hint:", "note:", "error[", "kept back:"]
                    .iter()
                    .any(|front| begun.starts_with(front));
                if width > columns && words > 1 && !said {
                    wide.push(format!("{line}: {width} columns: {shown}"));
                }
            }
        }
        seen.push_str(&format!("$ comity {line}\n{screen}\n"));
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
    seen
}

#[test]
fn every_human_output_fits_80_and_120_columns() {
    for columns in [80, 120] {
        let seen = record(&busy(), columns, SEEN);
        insta::assert_snapshot!(format!("all_at_{columns}"), seen);
    }
}

/// Records how calls are coloured, one after the other, as a person: of two projects that are alike, one is shown with
/// colours, the other without.
pub fn record_colours(projects: &[Sandbox; 2], lines: &str) -> String {
    let inks = regex::Regex::new("\u{1b}\\[([0-9;]*)m").unwrap();
    let mut all = String::new();
    for line in lines.lines() {
        let words = line.split(' ').take_while(|word| *word != "--");
        let own: Vec<&str> = line.split(' ').skip_while(|word| *word != "--").collect();
        let asked: Vec<&str> = words.chain(["--as", "human:ann"]).collect();
        let shown = |project: &Sandbox, colour: &str| {
            let call = project.comity().env("COMITY_COLUMNS", "80").env("COLUMNS", "80");
            let call = call.env("TZ", "UTC").args(&asked).args(&["--color", colour]).args(&own);
            let done = call.done();
            format!("{}{}", done.stdout, done.stderr)
        };
        let coloured = shown(&projects[0], "always");
        // The sixteen inks of a terminal suit light and dark alike; black, white and grey do not, nor does a background.
        for found in inks.captures_iter(&coloured) {
            for one in found[1].split(';') {
                assert!(["0", "1", "2", "31", "32", "35", "36"].contains(&one), "{line}: {one}");
            }
        }
        let plain = projects[1].normal(&shown(&projects[1], "never"));
        assert_eq!(projects[0].normal(&inks.replace_all(&coloured, "")), plain, "{line}");
        all.push_str(&format!("$ comity {line}\n"));
        all.push_str(&projects[0].normal(&inks.replace_all(&coloured, "‹$1›")));
    }
    all
}

#[test]
fn colours_say_nothing_that_words_do_not_and_suit_light_and_dark() {
    let projects = [busy(), busy()];
    let issues = include_str!("../../../protocol/tests/golden/beads/issues.jsonl");
    projects.iter().for_each(|project| project.write("issues.jsonl", issues));
    let first = "doctor\ntrust --list\nimport beads issues.jsonl --dry-run\n";
    insta::assert_snapshot!("coloured", record_colours(&projects, &format!("{first}{SEEN}")));
}

/// What people see where others left something for them.
const LEFT: &str = "\
status
brief T4
brief src/text.rs
task show T4
pad show
pad history
pad append the-parser-comes-first
interface list
interface show text
interface publish text README.md --path src/text.rs
interface show text --diff
tell ada look-at-the-text
note change words-are-split-elsewhere --path src/words.rs
memory search text
lease acquire src/date/a.rs
lease acquire src/text.rs
lease release --all
task claim T1
task claim T4
task handoff T4
task start T5
brief nowhere
";

/// The same project where others left all that there is.
fn left() -> Sandbox {
    let sandbox = busy();
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).json();
    for title in ["Split the text", "Join the text"] {
        by("human:ann", &["task", "create", title, "--file", "src/text.rs"]);
    }
    by("bob", &["interface", "publish", "text", "README.md", "--path", "src/text.rs"]);
    by("bob", &["note", "change", "the text is UTF-8 everywhere now", "--path", "src/**"]);
    by("bob", &["tell", "human:ann", "the text is the next thing to look at"]);
    by("bob", &["tell", "T4", "begin with the splitting, since the joining needs it"]);
    by("bob", &["pad", "append", "## Plan\nfirst the text, then the dates"]);
    let scope = ["--type", "fact", "--scope", "src/text.rs"];
    by("bob", &[&["memory", "write", "the text has no tabs"], &scope[..]].concat());
    sandbox
}

#[test]
fn what_others_left_fits_80_and_120_columns_and_is_coloured_alike() {
    for columns in [80, 120] {
        let seen = record(&left(), columns, LEFT);
        insta::assert_snapshot!(format!("left_at_{columns}"), seen);
    }
    insta::assert_snapshot!("left_coloured", record_colours(&[left(), left()], LEFT));
}
