//! Memories and directives through the engine: search, effective state, proof, redaction.

use crate::support::{World, by_id};
use comity_api::{ListDirectives, ListMemories, SearchMemories, op};
use comity_core::command::{Command, MemoryChanges, NewDirective, NewMemory};
use comity_core::directive::Trigger;
use comity_core::directive_duration::End;
use comity_core::limits::MATCHES_MAX;
use comity_core::memory::MemoryType;
use comity_core::refusal::Code;
use comity_core::time::Millis;
use comity_engine::{Intake, Prepared, Settings, run_batch};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use serde_json::{Value, json};
use std::time::Instant;

fn write(text: &str, change: impl FnOnce(&mut NewMemory)) -> Command {
    let mut new = NewMemory {
        text: text.to_owned(),
        kind: MemoryType::Fact,
        scope: None,
        tags: Vec::new(),
        expires: None,
        task: None,
        supersedes: None,
    };
    change(&mut new);
    Command::MemoryWrite(Box::new(new))
}

fn direct(text: &str, change: impl FnOnce(&mut NewDirective)) -> Command {
    let mut new = NewDirective {
        text: text.to_owned(),
        trigger: Trigger::Idle,
        priority: 0,
        description: None,
        duration: None,
        end: End::Never,
    };
    change(&mut new);
    Command::DirectiveCreate(Box::new(new))
}

fn ids(answer: &Value, list: &str) -> Vec<String> {
    let entries = answer[list].as_array().unwrap();
    entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn find(world: &mut World, query: &str, limit: usize, after: Option<&str>) -> Value {
    let (query, after) = (query.to_owned(), after.map(str::to_owned));
    let search = SearchMemories { query, limit: Some(limit), after, ..SearchMemories::default() };
    world.ask::<op::MemorySearch>("agent-1", search)
}

fn list(world: &mut World, filter: ListMemories) -> Vec<String> {
    ids(&world.ask::<op::MemoryList>("agent-1", filter), "memories")
}

fn active(world: &mut World, trigger: Option<Trigger>) -> Vec<String> {
    let filter = ListDirectives { trigger, active: true, ..ListDirectives::default() };
    ids(&world.ask::<op::DirectiveList>("agent-1", filter), "directives")
}

#[test]
fn a_memory_has_the_shape_of_the_interface() {
    for mut world in World::all() {
        let written = world.run("agent-1", write("Tests need a database", |_| ()));
        let memory = &written["memory"];
        let keys: Vec<&String> = memory.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "id",
                "type",
                "scope",
                "text",
                "tags",
                "source",
                "created_at",
                "expires_at",
                "superseded_by"
            ]
        );
        assert_eq!(memory["source"], json!({"agent": "agent-1", "task": null, "event": 2}));
        let shown = world.ask::<op::MemoryShow>("agent-2", by_id("M1"));
        assert_eq!(shown, written);
        let forgotten = world.run("agent-2", Command::MemoryForget { id: "M1".to_owned() });
        assert_eq!(forgotten, written, "what it said");
        let gone = world.try_ask::<op::MemoryShow>("agent-1", by_id("M1"));
        assert_eq!(gone.unwrap_err().code, Code::NotFound);
        world.assert_log_is_sound();
    }
}

#[test]
fn a_search_goes_page_by_page_from_the_best_to_the_worst() {
    for mut world in World::all() {
        for number in 1..=7 {
            world.run("agent-1", write(&"retry ".repeat(number), |_| ()));
        }
        world.run("agent-1", write("something else", |_| ()));
        let first = find(&mut world, "retries", 3, None);
        let second = find(&mut world, "retries", 3, first["next"].as_str());
        let third = find(&mut world, "retries", 3, second["next"].as_str());
        let mut all = ids(&first, "memories");
        all.extend(ids(&second, "memories"));
        all.extend(ids(&third, "memories"));
        assert_eq!(all.len(), 7);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7);
        assert_eq!(third["next"], Value::Null);
        assert_eq!(ids(&find(&mut world, "\"(*", 3, None), "memories"), Vec::<String>::new());
        let long = "retry ".repeat(1_700);
        assert_eq!(ids(&find(&mut world, &long, 9, None), "memories").len(), 7);
    }
}

#[test]
fn what_is_replaced_or_expired_is_not_seen_without_any_writer() {
    for mut world in World::all() {
        world.run("agent-1", write("the port is 80", |_| ()));
        world.run("agent-1", write("the port is 8080", |new| new.supersedes = Some("M1".into())));
        let soon = |new: &mut NewMemory| new.expires = Some(Millis::from_secs(60));
        world.run("agent-1", write("the port is being changed", soon));
        assert_eq!(list(&mut world, ListMemories::default()), ["M2", "M3"]);
        world.sleep(60);
        let head = world.head();
        assert_eq!(list(&mut world, ListMemories::default()), ["M2"]);
        let all = ListMemories { all: true, ..ListMemories::default() };
        assert_eq!(list(&mut world, all), ["M1", "M2"]);
        assert_eq!(ids(&find(&mut world, "port", 9, None), "memories"), ["M2"]);
        assert_eq!(world.head(), head, "reads write nothing");
        let swept = world.run("human:ann", Command::Sweep);
        assert_eq!(swept["reclaimed"]["memories"], json!(["M3"]));
        world.assert_log_is_sound();
        let rebuilt = world.engine.rebuild().unwrap();
        assert_eq!(rebuilt.rebuilt.memories, 2);
        assert_eq!(ids(&find(&mut world, "ports", 9, None), "memories"), ["M2"]);
        world.assert_log_is_sound();
    }
}

#[test]
fn what_should_be_done_now_comes_by_priority() {
    for mut world in World::all() {
        world.run("human:ann", direct("low", |_| ()));
        world.run("human:ann", direct("high", |new| new.priority = 10));
        let soon = End::After(Millis::from_secs(60));
        world.run("human:ann", direct("soon over", |new| (new.priority, new.end) = (99, soon)));
        world.run("human:ann", direct("at start", |new| new.trigger = Trigger::Startup));
        assert_eq!(active(&mut world, Some(Trigger::Idle)), ["I3", "I2", "I1"]);
        assert_eq!(active(&mut world, None), ["I3", "I2", "I1", "I4"]);
        world.run("human:ann", Command::DirectiveToggle { id: "I2".into(), enabled: None });
        world.sleep(60);
        assert_eq!(active(&mut world, Some(Trigger::Idle)), ["I1"]);
        let done = world.run("human:ann", Command::DirectiveTrigger { id: "I1".into() });
        assert!(done["directive"]["last_triggered_at"].is_string());
        let all = ListDirectives::default();
        assert_eq!(
            ids(&world.ask::<op::DirectiveList>("agent-1", all.clone()), "directives").len(),
            4
        );
        world.sleep(86_400);
        let left = world.ask::<op::DirectiveList>("agent-1", all);
        assert_eq!(ids(&left, "directives").len(), 3, "a day after its end");
        let swept = world.run("human:ann", Command::Sweep);
        assert_eq!(swept["reclaimed"]["directives"], json!(["I3"]));
        world.assert_log_is_sound();
    }
}

#[test]
fn rule_5_4_secrets_do_not_enter_memories_and_directives() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for mut world in World::all() {
        let text = format!("ann@example.org uses {secret}");
        let told = world.run("agent-1", write(&text, |new| new.tags = vec![secret.clone()]));
        let changes = MemoryChanges { text: Some(text.clone()), ..MemoryChanges::default() };
        let update = Command::MemoryUpdate { id: "M1".into(), changes: Box::new(changes) };
        let changed = world.run("agent-1", update);
        let given =
            world.run("human:ann", direct(&text, |new| new.description = Some(text.clone())));
        for answer in [told, changed, given] {
            let answer = answer.to_string();
            assert!(!answer.contains(&secret) && !answer.contains("ann@example.org"), "{answer}");
        }
    }
}

#[test]
fn filters_are_checked_for_form() {
    let world = World::memory();
    let bad = ListMemories { scope: Some("a\0b".into()), ..ListMemories::default() };
    let refused = world.try_ask::<op::MemoryList>("agent-1", bad);
    assert_eq!(refused.unwrap_err().code, Code::InvalidInput);
    let query = "x ".repeat(40_000);
    let search = SearchMemories { query, ..SearchMemories::default() };
    let refused = world.try_ask::<op::MemorySearch>("agent-1", search);
    assert_eq!(refused.unwrap_err().code, Code::InvalidInput);
}

#[test]
fn of_very_many_matches_the_newest_are_ranked() {
    let mut world = World::sqlite();
    let settings = Settings::default();
    let intake = Intake::new(settings.redact.clone()).unwrap();
    let long = std::env::var_os("COMITY_LONG").is_some();
    let count = if long { 50_000 } else { MATCHES_MAX + 100 };
    let all: Vec<Prepared> = (0..count)
        .map(|n| write(&format!("a common word and a rare one: w{n}"), |_| ()))
        .map(|command| intake.prepare(world.request("agent-1", command)).unwrap())
        .collect();
    let path = world.path().unwrap();
    let options = OpenOptions::default();
    let mut store = SqliteStore::open(&path, options).unwrap();
    let start = Instant::now();
    for some in all.chunks(500) {
        assert!(run_batch(&mut store, &settings, some).iter().all(Result::is_ok));
    }
    println!("{count} written in {:?}", start.elapsed());
    let start = Instant::now();
    let last = (MATCHES_MAX - 1).to_string();
    let found = find(&mut world, "words common", 500, Some(&last));
    println!("a common word in {:?}", start.elapsed());
    assert_eq!(ids(&found, "memories").len(), 1, "the last of those that are ranked");
    let start = Instant::now();
    assert_eq!(ids(&find(&mut world, "common w7", 5, None), "memories"), ["M8"]);
    assert!(ids(&find(&mut world, "w2*", 500, None), "memories").len() > 100);
    println!("a rare word, and a beginning, in {:?}", start.elapsed());
}

#[test]
fn a_search_finds_what_agents_left_for_each_other_too() {
    for mut world in World::all() {
        let name = world.name.clone();
        let paths = vec!["src/date".to_owned()];
        let text = "renamed parse_date to read_date".to_owned();
        world.run("agent-1", Command::NoteChange { text, paths: paths.clone(), task: None });
        let (to, text) = ("all".to_owned(), "zones are renamed tomorrow".to_owned());
        world.run("agent-1", Command::Tell { to, text });
        let pad = comity_core::command::PadWrite {
            scope: None,
            text: "## Plan\nfirst the parser\nthen the zones".to_owned(),
            how: comity_core::event::PadChange::Append,
            if_match: None,
        };
        world.run("agent-1", Command::PadWrite(Box::new(pad)));
        let interface = comity_core::command::NewInterface {
            name: "zones".to_owned(),
            text: "fn zone()".to_owned(),
            paths,
            audience: Vec::new(),
            task: None,
            if_match: None,
        };
        world.run("agent-1", Command::InterfacePublish(Box::new(interface)));
        let found = find(&mut world, "zone", 9, None);
        let kinds = |found: &Value| -> Vec<String> {
            let posts = found["posts"].as_array().cloned().unwrap_or_default();
            posts.iter().map(|post| post["kind"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds(&found), ["interface", "pad", "message"], "{name}: the newest first");
        assert_eq!(found["posts"][1]["text"], "then the zones", "{name}: from where it is");
        assert_eq!(kinds(&find(&mut world, "zone", 2, None)), ["interface", "pad"], "{name}");
        assert_eq!(kinds(&find(&mut world, "renamed tomorrow", 9, None)), ["message"], "{name}");
        let nothing: [String; 0] = [];
        assert_eq!(kinds(&find(&mut world, "elephant", 9, None)), nothing, "{name}");
    }
}
