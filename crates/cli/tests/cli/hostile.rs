//! Hostile text in every field, printed on a real terminal: no character of it reaches the terminal as a control.

use crate::sandbox::Sandbox;
use comity_api::TABLE;
use regex::Regex;
use serde_json::{Value, json};
use std::time::Duration;

/// OSC 52 (the clipboard) with both of its ends, a title, blinking text, C1, DEL, direction, invisible formats, tags.
const HOSTILE: &str = "x\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;t\u{1b}\\\u{1b}[5m\u{9d}52;c;eA==\u{9c}\u{9b}5m\r\u{8}\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{2028}\u{feff}\u{e0041}y";
/// The same without what a rule refuses in a line.
const MILD: &str = "x\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{2028}\u{feff}\u{e0041}y";

/// Calls that are mostly accepted. `H` is hostile text; a file is given by the name of what it holds.
const CALLS: &str = "\
note change H --path src --task T1
tell all H
tell H H
pad append H
pad write README.md H --section H
pad show
pad history
interface publish H README.md --path src
interface publish api README.md --path src --for H
interface show api --diff
interface show H
interface list
brief src
brief T1
brief H
task create H --description H --label H --require H --dod H --gate tests --context k=H --type H --epic E1
task breakdown plan.yaml
task list --label H
task list
task show T1
task show H
task why T1
task why T2
task update T1 --description H --context k=H
task depend T2 --on T1
task assign T1 ada --reason H
task link T1 github H --key H
task claim T1
task claim H
task start T1
task subtask T1 start H
task handoff T1 --subtask H --plan H
task check T1 H
guard check T1
task submit T1 --reason H --empty --branch H --pr H
task review T1
task request-changes T1 --reason H
gate list T1
gate record T1 tests fail --report H
gate record T1 H pass
gate waive T1 tests --reason H
task approve T1 --reason H
task merge T1
task done T1 --unmerged --reason H
task reopen T1 --reason H
task block T1 --needs H --question H --reason H
task intervene T1
task answer T1 H
task intervene T1 --feedback H
task unblock T1 --reason H
task fail T1 --reason H
task release T1 --reason H
task abandon T2 --reason H
task abandon T1 H --reason H
task undo T2
task undo H
task requeue T1 --reason H
task transition T1 in_progress --reason H
task transition T1 H
lease acquire src/H --purpose H
gate run T1 H
task land T1 --into H
snapshot --list
lease acquire docs/ --purpose H
lease check docs/H
lease renew H
lease release H
lease list
lease reclaim
agent register ada --skill H
agent register H
agent list
agent show ada
agent heartbeat
agent suggest --label H
decision ask H --context H --option H:H --option k:H --task T1
decision ask H
decision list --all
decision show D1
decision answer D2 H
decision wait D1 --timeout 1s
memory write H --type fact --scope H --tag H
memory list
memory show M1
memory search H
memory update M1 H
memory forget M1
directive create H --description H --duration H
directive create H --description H
directive list
directive show I1
directive toggle I1
directive trigger I1
directive delete I1
runs --agent H
runs --task H
run show H
run logs H
run H --prompt H
run stop H --reason H
run pause H --reason H
run resume H
run why H
run steer H H
run diff H
worker --drain
workers
objective dispatch H --task H --done H
objective complete --evidence H=H
objective blocked H
workspace list
workspace remove H
workspace gc
agent define list
agent define show H
agent define check H
neo run H --prompt H
neo supervise --status
neo supervisor status
neo supervisor activity
neo agents
neo child spawn --objective H --criteria H
neo runs
neo cost
neo do H
supervise --dry-run
supervise --status
import github 1
github setup --dry-run
github doctor
github status
github quota
github sync --dry-run
github serve --listen H
github publish H
github pr H
github pause 1
github resume 1
github forget
cost
budget set H --usd 1
budget set agent:developer --usd 1
budget list
budget clear H
merge queue
merge run
merge probe
release H
link
note progress H --task T1
note H H
event emit {\"event\":\"commit_pushed\",\"task\":\"T1\",\"text\":\"\\u001b]52;c;eA==\\u0007\\u202e\"}
event emit H
event list --type H
event list
event tail --from 1
contract validate result.yaml
contract validate H
contract render mission T1
contract render H T1
contract apply result.yaml --task T1
contract apply H
contract schema result
guard push H H
guard commit message
log
log --task T1
why T1
why H
log verify
log rebuild
log head
report log
report board
report log --output H
import beads issues.jsonl
import beads H
import neo decision answer D3 H
neo decision answer H H
neo task update H --status H
neo directive show I2
neo directive show H
neo directive toggle I2
neo directive delete H
neo memory recent
neo memory stats
neo memory update H H
neo memory forget H
neo H
import taskmaster tasks.json
import collab H
import v1 H
export neo H
export collab H
export json
sync collab H
status
whoami
watchdog --once
init
doctor
store copy H H
store backup H
store restore H
neo log progress H
neo logs --short
neo decision create H --context H
neo decision create H --type H
neo decision list
neo decision pending
neo decision get H
neo directive create H
neo directive list
neo memory write H --type fact
neo memory list
neo memory search H
neo task create H
neo task list
neo H
collab create-task --title H --description H
collab list-tasks
collab emit-event H
collab acquire-lease docs/x ada H
collab renew-lease H H
collab release-lease H H
collab update-task T1 --description H
collab update-task H --title H
collab transition-task T1 blocked --needs H --reason H
collab transition-task H H
collab generate-log
config list
config get H
config set branch.pattern H
config set project.base H
man H
token create --agent H
token create --agent ada
token list
token revoke H
prime
trust
trust --list
trust --remove
--root H trust
--root evil trust --list
--root evil trust
--root evil status
with --task T1 --gate H -- true
with --task H -- true
with -- H
with --task T1 --gate tests -- false
serve --listen H
serve --listen 127.0.0.1:0
up --listen H
__complete task show T
completions bash
completions H
help H
H
--as H status
--repo H status
--root H status
--store H status
--fence H status
--idempotency-key H note progress H
";

fn calls() -> Vec<Vec<String>> {
    CALLS.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// Takes comity's own colours away, which it writes only on a terminal.
fn without_colours(printed: &str) -> String {
    Regex::new("\u{1b}\\[(0|1|2|31|32|35|36|1;31)m").unwrap().replace_all(printed, "").into_owned()
}

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Calls that read what another program sends them, and what is sent: `H` is hostile text, as JSON.
fn fed() -> Vec<(&'static str, Vec<Value>)> {
    let tool = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let method = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "H", "method": method, "params": params});
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "H", "version": "H"}});
    let hello = || {
        vec![
            method("initialize", client.clone()),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ]
    };
    let mut mcp = hello();
    mcp.extend([
        tool("create_task", json!({"title": "H", "description": "H"})),
        tool("look_up", json!({"what": "tasks"})),
        tool("look_up", json!({"what": "task", "id": "H"})),
        tool("look_up", json!({"what": "task", "id": "T1"})),
        tool("record", json!({"kind": "progress", "text": "H"})),
        tool("H", json!({})),
        method("prompts/get", json!({"name": "start_work"})),
        method("resources/read", json!({"uri": "comity://task/T1"})),
        method("H", json!({})),
    ]);
    let rpc = vec![
        method("collab.create_task", json!({"title": "H", "description": "H"})),
        method("collab.list_tasks", json!({})),
        method("collab.get_task", json!({"id": "H"})),
        method("H", json!({})),
        json!("H"),
    ];
    let hook = vec![json!({"session_id": "H", "hook_event_name": "H", "cwd": "H", "source": "H"})];
    let edit = vec![
        json!({"session_id": "H", "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "docs/H"}}),
    ];
    vec![
        ("rpc", rpc),
        ("mcp --client codex", mcp),
        ("prime --hook", hook.clone()),
        ("prime --hook --client H", hook),
        ("guard hook --client claude", edit.clone()),
        ("guard hook --client codex", edit),
    ]
}

/// A project whose every text is as hostile as the rules let it be.
fn hostile() -> Sandbox {
    let sandbox = Sandbox::new();
    for title in [HOSTILE, MILD] {
        let create = ["task", "create", title, "--description", title, "--needs", title];
        sandbox.comity().by("human:ann").args(&create[..5]).done();
    }
    sandbox.write("plan.yaml", &format!("- task: {{title: \"{MILD}\"}}\n"));
    sandbox.write(
        "result.yaml",
        &format!("version: \"1.0\"\nstatus: done\nsummary: |\n  {HOSTILE}\n"),
    );
    sandbox.write("message", &format!("{HOSTILE}\n\n{HOSTILE}\n"));
    let title = serde_json::to_string(HOSTILE).unwrap();
    sandbox.write("issues.jsonl", &format!("{{\"id\":\"bd-1\",\"title\":{title},\"status\":\"open\",\"description\":{title},\"odd\":{title}}}\n"));
    sandbox.write("tasks.json", &format!("{{\"tasks\":[{{\"id\":1,\"title\":{title},\"description\":{title},\"status\":\"pending\"}}]}}"));
    // A repository whose settings want a store and commands of its own.
    sandbox.write(
        "evil/.comity/config.toml",
        &format!("[store]\nurl = {title}\n[gate.tests]\ncommand = {title}\n"),
    );
    sandbox.write(&format!("src/{HOSTILE}.rs").replace('\u{2028}', ""), "fn main() {}\n");
    sandbox
}

#[test]
fn every_command_is_walked() {
    let page = include_str!("../../../../docs/reference/commands.md");
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## comity ")).collect();
    let fed = fed();
    let walked: Vec<&str> = CALLS.lines().chain(fed.iter().map(|(call, _)| *call)).collect();
    for command in &commands {
        let is_group = commands.iter().any(|other| other.starts_with(&format!("{command} ")));
        let is_walked =
            walked.iter().any(|call| format!("{call} ").starts_with(&format!("{command} ")));
        // The demonstration has texts of its own only, and the board stays on its terminal: it has a test of its own.
        let is_apart = ["demo", "board"].contains(command);
        assert!(is_group || is_walked || is_apart, "add `{command}` to CALLS");
    }
}

#[test]
fn no_command_prints_a_control_character_of_somebody_elses_text_on_a_terminal() {
    let sandbox = hostile();
    let calls = calls();
    for row in TABLE {
        let words: Vec<&str> = row.name.split('.').collect();
        let called = calls.iter().any(|call| call.iter().zip(&words).all(|(a, b)| a == b));
        // These are asked for in other words, or not at all at the command line.
        let by_other_words = [
            "task.mission",
            "task.intervention",
            "task.story",
            "task.several",
            "neo.ask",
            "guard.staged",
            // It stays on its terminal, and has a test of its own.
            "board",
        ];
        let other = by_other_words.contains(&row.name)
            || !row.doors.contains(&comity_api::Door::CommandLine);
        assert!(called || other, "{} is not called: add it to CALLS", row.name);
    }
    let mut seen = 0;
    for call in &calls {
        for text in [HOSTILE, MILD] {
            for json in [false, true] {
                let args: Vec<String> = call.iter().map(|arg| arg.replace('H', text)).collect();
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                // What stands after `--` is another program's.
                let place = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
                let mut args = args;
                if json {
                    args.insert(place, "--json");
                }
                // A pager would wait for a key.
                let line = sandbox.comity().by("human:ann").env("COMITY_PAGER", "cat").args(&args);
                let printed = line.on_terminal(80, Duration::from_secs(2));
                seen += printed.len();
                let rest = if json { printed.clone() } else { without_colours(&printed) };
                let found: Vec<char> = rest.chars().filter(|c| steers(*c)).collect();
                assert!(found.is_empty(), "{call:?} {json}: {found:?} in {rest:?}");
            }
        }
    }
    for (call, lines) in fed() {
        for text in [HOSTILE, MILD] {
            let args: Vec<String> = call.split(' ').map(|arg| arg.replace('H', text)).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let input: String = lines.iter().map(|line| hostile_line(line, text)).collect();
            let who = if call.starts_with("rpc") { "human:ann" } else { "ada" };
            let line = sandbox.comity().by(who).args(&args);
            let printed = line.fed_on_terminal(&input, Duration::from_secs(2));
            seen += printed.len();
            // MCP is a client's wire, written by its library: JSON keeps escape sequences out, and that is all.
            let is_wire = call.starts_with("mcp");
            let counts = |c: &char| {
                if is_wire {
                    c.is_ascii_control() && *c != '\n' && *c != '\u{7f}'
                } else {
                    steers(*c)
                }
            };
            let found: Vec<char> = printed.chars().filter(counts).collect();
            assert!(found.is_empty(), "{call}: {found:?} in {printed:?}");
        }
    }
    // The walk saw what was written: the escape's own words are there, made harmless.
    assert!(seen > 20_000, "{seen}");
    let log = sandbox.comity().by("human:ann").args(&["report", "log"]);
    let log = log.on_terminal(80, Duration::from_secs(2));
    assert!(log.contains("\u{fffd}") && log.contains("52;c;"), "{log}");
}

/// A message with hostile text in it, on a line of its own.
fn hostile_line(message: &Value, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let words = Regex::new(r#""((?:[^"]*/)?)H""#).unwrap();
    let inner = text.trim_matches('"').replace('$', "$$");
    format!("{}\n", words.replace_all(&message.to_string(), format!("\"${{1}}{inner}\"")))
}

#[test]
fn colours_are_for_terminals_and_data_has_none() {
    let sandbox = hostile();
    let look = |args: &[&str]| {
        let call = sandbox.comity().by("human:ann").env("TERM", "xterm").args(args);
        call.on_terminal(80, Duration::from_secs(2))
    };
    assert!(look(&["task", "list"]).contains("\u{1b}[1m"));
    assert!(!look(&["task", "list", "--json"]).contains('\u{1b}'));
    assert!(look(&["task", "show", "T9"]).contains("\u{1b}[1;31merror"));
}
