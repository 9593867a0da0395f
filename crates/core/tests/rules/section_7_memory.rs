//! Memories and directives: who may, what follows, what time does.

use crate::world::{
    ANN, CRITIC, Expect, IMPL, INTEGRATOR, OBSERVER, OTHER, PLANNER, WATCHER, World,
};
use comity_core::command::{Command, MemoryChanges, NewDirective, NewMemory};
use comity_core::decide::Answer;
use comity_core::directive::{Directive, DirectiveFilter, Trigger};
use comity_core::directive_duration::End;
use comity_core::ids::{DirectiveId, MemoryId};
use comity_core::limits::{LIST_ENTRIES_MAX, PRIORITY_MAX, TEXT_BYTES_MAX};
use comity_core::memory::{Memory, MemoryFilter, MemoryType};
use comity_core::refusal::Code;
use comity_core::status::Status;
use comity_core::time::Millis;

const EVERYBODY: [&str; 8] = [ANN, IMPL, OTHER, CRITIC, PLANNER, INTEGRATOR, WATCHER, OBSERVER];

fn new(text: &str) -> NewMemory {
    NewMemory {
        text: text.to_owned(),
        kind: MemoryType::Fact,
        scope: None,
        tags: Vec::new(),
        expires: None,
        task: None,
        supersedes: None,
    }
}

fn write(memory: NewMemory) -> Command {
    Command::MemoryWrite(Box::new(memory))
}

fn update(id: &str, changes: MemoryChanges) -> Command {
    Command::MemoryUpdate { id: id.to_owned(), changes: Box::new(changes) }
}

fn forget(id: &str) -> Command {
    Command::MemoryForget { id: id.to_owned() }
}

fn says(text: &str) -> MemoryChanges {
    MemoryChanges { text: Some(text.to_owned()), ..MemoryChanges::default() }
}

fn direct(text: &str, end: End) -> Command {
    Command::DirectiveCreate(Box::new(NewDirective {
        text: text.to_owned(),
        trigger: Trigger::Idle,
        priority: 0,
        description: None,
        duration: None,
        end,
    }))
}

fn toggle(id: &str, enabled: Option<bool>) -> Command {
    Command::DirectiveToggle { id: id.to_owned(), enabled }
}

fn trigger(id: &str) -> Command {
    Command::DirectiveTrigger { id: id.to_owned() }
}

fn delete(id: &str) -> Command {
    Command::DirectiveDelete { id: id.to_owned() }
}

#[track_caller]
fn memory<'w>(world: &'w World, id: &str) -> &'w Memory {
    let key = (world.repo.clone(), MemoryId::parse(id).unwrap());
    world.state.memories.get(&key).unwrap_or_else(|| panic!("there is no memory {id}"))
}

#[track_caller]
fn directive<'w>(world: &'w World, id: &str) -> &'w Directive {
    let key = (world.repo.clone(), DirectiveId::parse(id).unwrap());
    world.state.directives.get(&key).unwrap_or_else(|| panic!("there is no directive {id}"))
}

#[test]
fn every_role_remembers_changes_and_forgets() {
    for who in EVERYBODY {
        let mut w = World::new();
        assert_eq!(w.by(who).does(write(new("a"))).accepted().names(), ["memory_written"]);
        w.by(who).does(update("M1", says("b"))).accepted();
        w.by(who).does(forget("M1")).accepted();
        assert!(w.state.memories.is_empty());
    }
}

#[test]
fn a_memory_says_where_it_comes_from() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let version = w.task("T1").version;
    let done = w.by(IMPL).does(write(NewMemory { task: Some("T1".into()), ..new("a") }));
    let seq = done.accepted().events[0].seq;
    let found = memory(&w, "M1");
    assert_eq!(found.source.agent.as_str(), IMPL);
    assert_eq!(found.source.task.as_ref().unwrap().as_str(), "T1");
    assert_eq!(found.source.event, seq);
    assert_eq!(found.scope, "global");
    assert_eq!(w.task("T1").version, version, "the task is only named");
    w.by(IMPL)
        .does(write(NewMemory { task: Some("T9".into()), ..new("a") }))
        .refused(Code::NotFound);
}

#[test]
fn an_update_keeps_the_id_and_what_is_not_named_and_takes_the_speaker_as_source() {
    let mut w = World::new();
    let first = NewMemory {
        tags: vec!["ci".into()],
        scope: Some("src/net".into()),
        expires: Some(Millis::from_secs(60)),
        ..new("a")
    };
    w.by(IMPL).does(write(first)).accepted();
    let changes = MemoryChanges { kind: Some(MemoryType::Procedure), ..MemoryChanges::default() };
    w.by(OTHER).does(update("M1", changes)).accepted();
    let found = memory(&w, "M1");
    assert_eq!((found.text.as_str(), found.kind), ("a", MemoryType::Procedure));
    assert_eq!(found.source.agent.as_str(), IMPL, "the text is still that of its author");
    assert_eq!(found.tags, ["ci"]);
    assert!(found.expires_at.is_some());
    let keep = MemoryChanges { keep: true, ..says("b") };
    w.by(OTHER).does(update("M1", keep)).accepted();
    let found = memory(&w, "M1");
    assert_eq!(found.source.agent.as_str(), OTHER);
    assert_eq!(found.expires_at, None);
    assert_eq!(found.scope, "src/net");
    w.by(OTHER).does(update("M1", MemoryChanges::default())).refused(Code::InvalidInput);
    w.by(OTHER).does(update("M2", says("x"))).refused(Code::NotFound);
    w.by(OTHER).does(update("T1", says("x"))).refused(Code::InvalidInput);
}

#[test]
fn what_is_superseded_stays_with_a_link_and_only_the_last_of_a_line_changes() {
    let mut w = World::new();
    w.by(IMPL).does(write(NewMemory { scope: Some("src".into()), ..new("a") })).accepted();
    let second = NewMemory { supersedes: Some("M1".into()), ..new("b") };
    let done = w.by(IMPL).does(write(second.clone())).accepted();
    assert_eq!(done.names(), ["memory_written", "memory_superseded"]);
    assert_eq!(done.answer, Answer::Memory(MemoryId(2)));
    assert_eq!(memory(&w, "M1").superseded_by, Some(MemoryId(2)));
    assert_eq!(memory(&w, "M2").scope, "src", "it is about the same thing");
    let refusal = w.by(IMPL).does(write(second)).refused(Code::InvalidTransition);
    assert!(refusal.next_step().to_string().contains("M2"));
    w.by(IMPL).does(update("M1", says("c"))).refused(Code::InvalidTransition);
    w.by(IMPL).does(forget("M1")).accepted();
    let lost = NewMemory { supersedes: Some("M1".into()), ..new("d") };
    w.by(IMPL).does(write(lost)).refused(Code::NotFound);
}

#[test]
fn a_memory_is_gone_when_its_time_is_up_and_numbers_are_not_given_again() {
    let mut w = World::new();
    let short = NewMemory { expires: Some(Millis::from_secs(10)), ..new("a") };
    w.by(IMPL).does(write(short)).accepted();
    w.pass(9);
    assert_eq!(w.sweep().expired_names(), Vec::<&str>::new());
    w.pass(1);
    let done = w.by(IMPL).does(write(new("b"))).accepted();
    assert_eq!(done.expired_names(), ["memory_expired"]);
    assert_eq!(done.expired[0].draft.agent.as_str(), "watchdog");
    assert_eq!(w.state.memories.len(), 1);
    assert_eq!(memory(&w, "M2").text, "b");
    // One that the sweep has not come to yet is gone all the same.
    w.due_max = 0;
    let short = NewMemory { expires: Some(Millis::from_secs(10)), ..new("c") };
    w.by(IMPL).does(write(short)).accepted();
    w.pass(10);
    w.by(IMPL).does(forget("M3")).refused(Code::NotFound);
}

#[test]
fn the_form_of_a_memory_is_checked() {
    let mut w = World::new();
    let many = (0..=LIST_ENTRIES_MAX).map(|n| format!("t{n}")).collect();
    for bad in [
        new(" "),
        new("nul \0"),
        new(&"x".repeat(TEXT_BYTES_MAX + 1)),
        NewMemory { scope: Some(String::new()), ..new("a") },
        NewMemory { scope: Some("a\nb".into()), ..new("a") },
        NewMemory { tags: vec!["t".into(), "t".into()], ..new("a") },
        NewMemory { tags: many, ..new("a") },
        NewMemory { expires: Some(Millis::default()), ..new("a") },
        NewMemory { expires: Some(Millis::from_secs(400 * 86_400)), ..new("a") },
        NewMemory { supersedes: Some("seven".into()), ..new("a") },
    ] {
        w.by(IMPL).does(write(bad)).refused(Code::InvalidInput);
    }
    w.by(IMPL).does(write(new(&"x".repeat(TEXT_BYTES_MAX)))).accepted();
}

#[test]
fn a_scope_finds_its_own_memories_and_the_global_ones() {
    let mut w = World::new();
    for scope in [None, Some("src"), Some("docs")] {
        w.by(IMPL).does(write(NewMemory { scope: scope.map(Into::into), ..new("a") })).accepted();
    }
    w.by(IMPL).does(write(NewMemory { supersedes: Some("M2".into()), ..new("b") })).accepted();
    let found = |filter: MemoryFilter| -> Vec<u64> {
        let all = w.state.memories.values();
        all.filter(|memory| filter.fits(memory)).map(|memory| memory.id.0).collect()
    };
    let src = MemoryFilter { scope: Some("src".into()), ..MemoryFilter::default() };
    assert_eq!(found(src.clone()), [1, 4]);
    assert_eq!(found(MemoryFilter { all: true, ..src }), [1, 2, 4]);
    assert_eq!(
        found(MemoryFilter { kind: Some(MemoryType::Focus), ..MemoryFilter::default() }),
        Vec::<u64>::new()
    );
}

#[test]
fn planners_implementers_and_people_direct_and_nobody_else() {
    let mut w = World::new();
    for who in EVERYBODY {
        let verdict = w.by(who).does(direct("scout", End::Never));
        if [ANN, PLANNER, IMPL, OTHER].contains(&who) {
            verdict.accepted();
        } else {
            verdict.refused(Code::RoleForbidden);
        }
    }
    for command in [toggle("I1", None), delete("I1"), trigger("I1")] {
        w.by(CRITIC).does(command).refused(Code::RoleForbidden);
    }
    w.by(WATCHER).does(trigger("I1")).accepted();
}

#[test]
fn a_directive_that_is_followed_says_when() {
    let mut w = World::new();
    w.by(PLANNER).does(direct("scout", End::Never)).accepted();
    assert_eq!(directive(&w, "I1").last_triggered_at, None);
    w.pass(30);
    assert_eq!(w.by(PLANNER).does(trigger("I1")).accepted().names(), ["directive_triggered"]);
    assert_eq!(directive(&w, "I1").last_triggered_at, Some(w.now()));
    w.by(PLANNER).does(trigger("I2")).refused(Code::NotFound);
}

#[test]
fn a_directive_that_is_off_or_over_is_not_followed() {
    let mut w = World::new();
    w.by(PLANNER).does(direct("scout", End::After(Millis::from_secs(60)))).accepted();
    w.by(PLANNER).does(toggle("I1", None)).accepted();
    assert!(!directive(&w, "I1").enabled);
    w.by(PLANNER).does(trigger("I1")).refused(Code::NotReady);
    assert_eq!(
        w.by(PLANNER).does(toggle("I1", Some(false))).accepted().names(),
        Vec::<&str>::new()
    );
    w.by(PLANNER).does(toggle("I1", None)).accepted();
    w.by(PLANNER).does(trigger("I1")).accepted();
    w.pass(60);
    let now = w.now();
    assert!(!DirectiveFilter { active: true, trigger: None }.fits(directive(&w, "I1"), now));
    w.by(PLANNER).does(trigger("I1")).refused(Code::NotReady);
}

#[test]
fn a_directive_is_removed_a_day_after_its_end() {
    let mut w = World::new();
    w.by(PLANNER).does(direct("scout", End::After(Millis::from_secs(60)))).accepted();
    w.by(PLANNER).does(direct("stay", End::Never)).accepted();
    w.pass(60 + 86_399);
    assert_eq!(w.sweep().expired_names(), Vec::<&str>::new());
    w.pass(1);
    assert_eq!(w.sweep().expired_names(), ["directive_deleted"]);
    assert_eq!(w.state.directives.len(), 1);
    w.by(PLANNER).does(delete("I2")).accepted();
    assert!(w.state.directives.is_empty());
    w.by(PLANNER).does(direct("again", End::Never)).accepted();
    assert_eq!(directive(&w, "I3").text, "again", "a number is not given again");
}

#[test]
fn the_form_of_a_directive_is_checked() {
    let mut w = World::new();
    let past = End::At(w.now());
    w.by(PLANNER).does(direct("late", past)).refused(Code::InvalidInput);
    w.by(PLANNER).does(direct(" ", End::Never)).refused(Code::InvalidInput);
    let Command::DirectiveCreate(mut high) = direct("high", End::Never) else { return };
    high.priority = PRIORITY_MAX + 1;
    w.by(PLANNER).does(Command::DirectiveCreate(high.clone())).refused(Code::InvalidInput);
    high.priority = PRIORITY_MAX;
    w.by(PLANNER).does(Command::DirectiveCreate(high)).accepted();
}

#[test]
fn the_same_words_said_later_are_the_same_command() {
    let Command::DirectiveCreate(mut new) = direct("scout", End::Never) else { return };
    new.duration = Some("until 18:00".into());
    let mut later = new.clone();
    later.end = End::After(Millis::from_secs(1));
    let (one, other) = (Command::DirectiveCreate(new), Command::DirectiveCreate(later));
    assert_eq!(one.as_given(), other.as_given());
}

#[test]
fn a_scope_that_is_a_task_is_that_task_however_its_id_is_written() {
    let mut w = World::new();
    w.by(ANN).creates(crate::verbs::task("one")).accepted();
    w.by(IMPL).does(write(NewMemory { scope: Some("t1".into()), ..new("a") })).accepted();
    assert_eq!(memory(&w, "M1").scope, "T1");
    let elsewhere = MemoryChanges { scope: Some("T9".into()), ..MemoryChanges::default() };
    w.by(IMPL).does(update("M1", elsewhere)).refused(Code::NotFound);
    w.by(IMPL)
        .does(write(NewMemory { scope: Some("t9".into()), ..new("b") }))
        .refused(Code::NotFound);
}
