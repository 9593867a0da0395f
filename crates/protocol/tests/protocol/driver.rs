//! Streams of real clients, recorded with a scripted model (`tests/clients/record.mjs`), read by the drivers.

use comity_core::run::{RunFault, Tokens};
use comity_protocol::driver::{Acp, Claude, Codex, CommandLines, Happened, Heard, Opening, Talk};
use std::path::{Path, PathBuf};

fn recordings() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/driver");
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn talk(name: &str) -> Talk {
    let resume = name.contains("resumed").then(|| "s".to_owned());
    let opening = Opening { prompt: "work".to_owned(), resume, ..Opening::default() };
    match name.split('-').next().unwrap() {
        "claude" => Talk::Claude(Claude::new(&opening)),
        "codex" => Talk::Codex(Box::new(Codex::new(&opening))),
        "acp" => Talk::Acp(Box::new(Acp::new(&opening))),
        other => panic!("{other}"),
    }
}

/// Our own requests have other numbers than those of whoever recorded.
fn renumbered(name: &str, line: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(line) else {
        return line.to_owned();
    };
    if value.get("method").is_none()
        && let Some(id) = value.get("id").and_then(serde_json::Value::as_u64)
    {
        value["id"] = match id {
            2 if name.starts_with("codex") => 3.into(),
            10.. => (id + 1).into(),
            id => id.into(),
        };
    }
    value.to_string()
}

/// What a recording means; what the driver would write is left aside, as somebody else wrote.
fn meant(path: &Path) -> Vec<Happened> {
    let name = name(path);
    let mut talk = talk(&name);
    talk.begin();
    let mut all = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if let Some(said) = line.strip_prefix("< ") {
            all.extend(talk.read(&renumbered(&name, said)).happened);
        } else if line.contains("\"interrupt\"") || line.contains("session/cancel") {
            talk.interrupt();
        } else if line.contains("\"method\":\"session/prompt\"") && line.contains("again") {
            talk.say("again");
        }
    }
    all.extend(talk.ended());
    all
}

fn of(name: &str) -> Vec<Happened> {
    let all = recordings();
    let path = all.iter().find(|path| super::driver::name(path) == name);
    meant(path.unwrap_or_else(|| panic!("{name} was not recorded")))
}

fn turns(all: &[Happened]) -> usize {
    all.iter().filter(|one| **one == Happened::Turn).count()
}

fn used(all: &[Happened]) -> Tokens {
    all.iter().fold(Tokens::default(), |sum, one| match one {
        Happened::Usage { tokens, .. } => sum.plus(*tokens),
        _ => sum,
    })
}

fn total(all: &[Happened]) -> u64 {
    let mut totals = all.iter().filter_map(|one| match one {
        Happened::Total(usd) => Some(usd.micros()),
        _ => None,
    });
    totals.next_back().unwrap_or_default()
}

fn said(all: &[Happened]) -> String {
    let texts = all.iter().filter_map(|one| match one {
        Happened::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn faults(all: &[Happened]) -> Vec<RunFault> {
    let kinds = all.iter().filter_map(|one| match one {
        Happened::Failed { kind, .. } => Some(*kind),
        _ => None,
    });
    kinds.collect()
}

fn is_limited(all: &[Happened]) -> bool {
    all.iter().any(|one| matches!(one, Happened::Limited { .. }))
}

#[test]
fn at_least_forty_streams_of_three_kinds_of_clients_are_read() {
    let all = recordings();
    assert!(all.len() >= 40, "{}", all.len());
    for path in &all {
        let (name, all) = (name(path), meant(path));
        let sessions = all.iter().filter(|one| matches!(one, Happened::Session(_))).count();
        assert_eq!(sessions, 1, "{name}: {all:?}");
    }
}

#[test]
fn a_turn_that_ends_well_has_its_words_its_tools_and_its_usage() {
    for kind in ["claude", "codex"] {
        let text = of(&format!("{kind}-text"));
        assert_eq!((said(&text).as_str(), turns(&text)), ("All is done.", 1), "{kind}");
        assert_eq!(used(&text), Tokens { input: 100, output: 20, ..Tokens::default() }, "{kind}");
        assert!(said(&of(&format!("{kind}-report"))).contains("{\"status\":\"DONE\""), "{kind}");
        let tools = of(&format!("{kind}-tools"));
        let states: Vec<(&str, bool)> = tools
            .iter()
            .filter_map(|one| match one {
                Happened::Tool { name, ended, .. } => Some((name.as_str(), *ended)),
                _ => None,
            })
            .collect();
        let expected = [("Bash", false), ("Bash", true), ("Bash", false), ("Bash", true)];
        assert_eq!(states, expected, "{kind}");
        assert_eq!(used(&tools).input, 300, "{kind}");
        assert_eq!(turns(&of(&format!("{kind}-turns"))), 3, "{kind}");
        assert_eq!(turns(&of(&format!("{kind}-steered"))), 1, "{kind}");
    }
    for agent in ["claude", "gemini", "opencode"] {
        let text = of(&format!("acp-{agent}_text"));
        assert_eq!((said(&text).as_str(), turns(&text)), ("All is done.", 1), "{agent}");
        assert_eq!((used(&text).input, used(&text).output), (100, 20), "{agent}");
    }
    assert_eq!(turns(&of("acp-claude_turns")), 2);
    assert!(said(&of("claude-unicode")).contains("grüße — 你好 🎉"));
}

#[test]
fn usage_is_counted_once_a_message_and_totals_are_those_of_the_session() {
    let usage = of("claude-usage");
    let expected = Tokens { input: 940, cached: 11_000, cache_write: 0, output: 370 };
    assert_eq!(used(&usage), expected);
    assert_eq!(total(&usage), 13_360);
    assert_eq!(total(&of("claude-resumed")), 2 * total(&of("claude-text")));
    assert_eq!(used(&of("claude-resumed")).input, 100, "what was used before is not used again");
    let codex = of("codex-usage");
    let expected = Tokens { input: 900, cached: 1_400, cache_write: 0, output: 370 };
    assert_eq!(used(&codex), expected);
    assert_eq!(total(&of("acp-claude_tools")), 3_200);
}

#[test]
fn the_highest_usage_of_a_message_counts_and_a_message_that_comes_again_is_told_by_its_difference()
{
    let mut claude = Claude::new(&Opening::default());
    let line = |id: &str, output: u64| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[],"usage":{{"input_tokens":10,"output_tokens":{output}}}}},"parent_tool_use_id":null}}"#
        )
    };
    let mut all = Vec::new();
    for (id, output) in [("a", 1), ("a", 7), ("a", 5), ("b", 2), ("a", 9)] {
        all.extend(claude.read(&line(id, output)));
    }
    all.extend(claude.read(r#"{"type":"result","is_error":false,"subtype":"success"}"#));
    let calls: Vec<(String, u64)> = all
        .iter()
        .filter_map(|one| match one {
            Happened::Usage { call, tokens, .. } => Some((call.clone(), tokens.output)),
            _ => None,
        })
        .collect();
    let expected = [("a", 7), ("b", 2), ("a#2", 2)].map(|(id, n)| (id.to_owned(), n));
    assert_eq!(calls, expected);
}

#[test]
fn what_the_vendor_refuses_is_told_apart() {
    for (name, kind) in [
        ("claude-fault_401", RunFault::Auth),
        ("claude-fault_403", RunFault::Auth),
        ("claude-fault_500", RunFault::Api),
        ("claude-fault_529", RunFault::Api),
        ("claude-max_turns", RunFault::MaxTurns),
        ("claude-max_budget", RunFault::Budget),
        ("codex-fault_401", RunFault::Auth),
        ("codex-fault_500", RunFault::Api),
        ("codex-fault_529", RunFault::Api),
        ("codex-fault_cut", RunFault::Api),
    ] {
        let all = of(name);
        assert_eq!(faults(&all), [kind], "{name}: {all:?}");
        assert!(!is_limited(&all), "{name}");
    }
    for name in ["claude-fault_429", "claude-fault_limit", "codex-fault_429"] {
        let all = of(name);
        assert!(is_limited(&all), "{name}: {all:?}");
        assert_eq!(faults(&all), [], "{name}");
    }
    let retried = of("claude-fault_529_once");
    assert!(retried.contains(&Happened::Retry { status: Some(529) }));
    assert_eq!((faults(&retried), turns(&retried)), (Vec::new(), 1));
}

#[test]
fn a_client_that_hangs_or_is_killed_ends_no_turn_and_one_that_is_interrupted_is_no_failure() {
    for name in ["claude-fault_hang", "claude-killed", "codex-fault_hang", "codex-killed"] {
        let all = of(name);
        assert_eq!((turns(&all), faults(&all)), (0, Vec::new()), "{name}: {all:?}");
    }
    assert_eq!(used(&of("claude-killed")).input, 100, "the call that was made counts");
    for name in ["claude-interrupt", "codex-interrupt", "acp-claude_cancel"] {
        let all = of(name);
        assert_eq!((turns(&all), faults(&all)), (1, Vec::new()), "{name}: {all:?}");
    }
}

#[test]
fn a_result_is_not_the_end_while_something_goes_on_in_the_background() {
    let all = of("claude-background");
    let open = |wanted: bool| {
        all.iter().position(|one| *one == Happened::Background { open: wanted }).unwrap()
    };
    let turns: Vec<usize> = (0..all.len()).filter(|place| all[*place] == Happened::Turn).collect();
    assert_eq!(turns.len(), 2, "{all:?}");
    assert!(open(true) < turns[0] && turns[0] < open(false) && open(false) < turns[1]);
    let subagent = of("claude-subagent");
    assert!(!said(&subagent).contains("I looked"), "a subagent's words are not the agent's");
    assert_eq!(used(&subagent).input, 400, "its calls are paid for all the same");
}

#[test]
fn questions_for_permission_are_answered_in_the_clients_own_words() {
    for (name, yes, no) in [
        ("claude-asked", r#""behavior":"allow""#, r#""behavior":"deny""#),
        ("claude-denied", r#""behavior":"allow""#, r#""behavior":"deny""#),
        ("codex-asked", r#""decision":"accept""#, r#""decision":"decline""#),
        ("codex-denied", r#""decision":"accept""#, r#""decision":"decline""#),
        ("acp-claude_tools", r#""optionId":"allow-once""#, r#""optionId":"reject""#),
        ("acp-claude_denied", r#""optionId":"allow-once""#, r#""optionId":"reject""#),
    ] {
        let all = of(name);
        let asked = all.iter().find_map(|one| match one {
            Happened::Permission(asked) => Some(asked.clone()),
            _ => None,
        });
        let asked = asked.unwrap_or_else(|| panic!("{name}: {all:?}"));
        assert!(["Bash", "Write"].contains(&asked.tool.as_str()), "{asked:?}");
        let mut talk = talk(name);
        assert!(talk.answer(&asked, true, "").concat().contains(yes), "{name}");
        let denied = talk.answer(&asked, false, "ann says no").concat();
        assert!(denied.contains(no), "{name}: {denied}");
    }
}

#[test]
fn a_talk_writes_what_opens_it() {
    let opening = Opening {
        prompt: "work".to_owned(),
        dir: "/ws".to_owned(),
        resume: Some("t1".to_owned()),
        ..Opening::default()
    };
    let mut codex = Talk::Codex(Box::new(Codex::new(&opening)));
    assert!(codex.begin().concat().contains("\"initialize\""));
    let open = codex.read(r#"{"id":1,"result":{}}"#).write.join("\n");
    assert!(open.contains("command/exec") && open.contains("\"thread/resume\""), "{open}");
    assert!(open.contains("danger-full-access") && open.contains("\"threadId\":\"t1\""));
    let canary = codex.read(r#"{"id":2,"result":{"exitCode":1,"stderr":"bwrap: uid map"}}"#);
    assert_eq!(faults(&canary.happened), [RunFault::Sandbox]);
    let Heard { write, .. } = codex.read(r#"{"id":3,"result":{"thread":{"id":"t1"}}}"#);
    assert!(write.concat().contains("\"turn/start\""), "{write:?}");
    codex.read(r#"{"method":"turn/started","params":{"turn":{"id":"u1"}}}"#);
    assert!(codex.say("more").concat().contains("\"turn/steer\""));
    assert!(codex.interrupt().concat().contains("\"turn/interrupt\""));
    let mut acp = Talk::Acp(Box::new(Acp::new(&Opening::default())));
    acp.begin();
    acp.read(r#"{"id":1,"result":{}}"#);
    let first = acp.read(r#"{"id":2,"result":{"sessionId":"s"}}"#).write.concat();
    assert!(first.contains("session/prompt"), "{first}");
    assert_eq!(acp.say("more"), Vec::<String>::new(), "it is said when the turn has ended");
    let next = acp.read(r#"{"id":11,"result":{"stopReason":"end_turn"}}"#);
    assert!(next.write.concat().contains("more"), "{next:?}");
}

#[expect(clippy::disallowed_methods, reason = "the long form is asked for in the environment")]
fn is_long() -> bool {
    std::env::var_os("COMITY_LONG").is_some()
}

/// Every prefix of every line of every stream, and what follows it.
#[test]
fn a_stream_that_is_cut_at_any_byte_stops_no_reader() {
    for path in recordings() {
        let name = name(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut talk = talk(&name);
        for line in text.lines().filter_map(|line| line.strip_prefix("< ")) {
            // The short form cuts a long line at every few bytes only.
            let step = if is_long() { 1 } else { (line.len() / 400).max(1) };
            for cut in (0..line.len()).step_by(step).filter(|cut| line.is_char_boundary(*cut)) {
                talk.read(&line[..cut]);
            }
            talk.read(line);
        }
        talk.ended();
    }
}

/// Lines of real clients with bytes taken out, put in, doubled and mixed with other lines.
#[test]
fn broken_lines_stop_no_reader_and_what_is_answered_is_one_line_each() {
    const READS: usize = 1_000;
    let texts: Vec<String> =
        recordings().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines: Vec<&[u8]> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("< "))
        .map(str::as_bytes)
        .filter(|line| line.len() < 4_096)
        .collect();
    let mut seed = 0x5eed_0017_u64;
    let mut chance = |of: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % of as u64).unwrap()
    };
    let kinds = ["claude-x", "codex-x", "acp-x"];
    let total = if is_long() { 10_000_000 } else { 30_000 };
    for round in 0..total / READS {
        let mut talk = talk(kinds[round % kinds.len()]);
        talk.begin();
        for _ in 0..READS {
            let mut line = lines[chance(lines.len())].to_vec();
            for _ in 0..chance(4) {
                let at = chance(line.len() + 1);
                match chance(5) {
                    0 => line.truncate(at),
                    1 => drop(line.drain(at..(at + chance(8)).min(line.len()).max(at))),
                    2 => line.insert(at, b"{}[]\",:0-9ntfe\\\xff"[chance(16)]),
                    3 => line.extend_from_within(at..),
                    _ => line.extend_from_slice(lines[chance(lines.len())]),
                }
                line.truncate(8_192);
            }
            let text = String::from_utf8_lossy(&line).replace('\n', " ");
            let heard = talk.read(&text);
            assert!(heard.write.iter().all(|line| !line.contains('\n')), "{text}");
        }
        talk.interrupt();
        talk.ended();
    }
}

#[test]
fn a_line_of_nine_mebibytes_is_text_like_any_other() {
    let long = "x".repeat(9 << 20);
    for kind in ["claude-x", "codex-x", "acp-x"] {
        let heard = talk(kind).read(&long);
        assert_eq!(heard.happened, [Happened::Text(long.clone())], "{kind}");
    }
    assert_eq!(CommandLines::default().read(&long), Happened::Text(long));
}
