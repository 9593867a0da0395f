//! Change notices, messages, pads and interfaces: who may, what follows, where the bounds are.

use crate::verbs::{task, task_on, texts};
use crate::world::{ANN, CRITIC, Expect, IMPL, OTHER, PLANNER, World};
use comity_core::command::{Command, NewInterface, NewTask, PadWrite};
use comity_core::event::PadChange;
use comity_core::ids::Seq;
use comity_core::limits::{LIST_ENTRIES_MAX, MESSAGE_BYTES_MAX, PAD_BYTES_MAX};
use comity_core::post::{Post, PostKind, Recipient};
use comity_core::refusal::Code;

fn change(text: &str, paths: &[&str]) -> Command {
    Command::NoteChange { text: text.to_owned(), paths: texts(paths), task: None }
}

fn tell(to: &str, text: &str) -> Command {
    Command::Tell { to: to.to_owned(), text: text.to_owned() }
}

fn pad(how: PadChange, text: &str, scope: Option<&str>, if_match: Option<u64>) -> Command {
    let scope = scope.map(str::to_owned);
    Command::PadWrite(Box::new(PadWrite { scope, text: text.to_owned(), how, if_match }))
}

fn append(text: &str) -> Command {
    pad(PadChange::Append, text, None, None)
}

fn section(name: &str, text: &str, if_match: Option<u64>) -> Command {
    pad(PadChange::Section(name.to_owned()), text, None, if_match)
}

fn publish(text: &str, task: Option<&str>, if_match: Option<u64>) -> Command {
    Command::InterfacePublish(Box::new(NewInterface {
        name: "api".to_owned(),
        text: text.to_owned(),
        paths: texts(&["src/api.rs"]),
        audience: Vec::new(),
        task: task.map(str::to_owned),
        if_match,
    }))
}

fn posts(world: &World, kind: PostKind) -> Vec<Post> {
    world.state.posts.values().filter(|post| post.kind == kind).cloned().collect()
}

fn only(world: &World, kind: PostKind) -> Post {
    let all = posts(world, kind);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[test]
fn rule_8_a_change_names_its_paths_in_one_spelling() {
    let mut world = World::new();
    world.by(IMPL).does(change(" renamed it ", &["./src//a.rs", "src/a.rs"])).accepted();
    let post = only(&world, PostKind::Change);
    assert_eq!((post.text.as_str(), post.paths), ("renamed it", texts(&["src/a.rs"])));
    assert_eq!(post.by.as_str(), IMPL);
    world.by(IMPL).does(change("what", &[])).refused(Code::InvalidInput);
    world.by(IMPL).does(change(" ", &["src"])).refused(Code::InvalidInput);
    world.by(IMPL).does(change("out", &["../x"])).refused(Code::InvalidInput);
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    world.by(IMPL).does(change(&long, &["src"])).refused(Code::InvalidInput);
}

#[test]
fn rule_8_a_message_goes_to_an_agent_a_task_a_role_or_all() {
    let mut world = World::new();
    world.by(ANN).creates(task("one")).accepted();
    for to in [OTHER, "T1", "qa", "all"] {
        world.by(IMPL).does(tell(to, "look")).accepted();
    }
    let to: Vec<String> =
        posts(&world, PostKind::Message).iter().map(|post| post.to[0].to_string()).collect();
    assert_eq!(to, [OTHER, "T1", "critic", "all"]);
    let refusal = world.by(IMPL).does(tell("nobody-here", "look")).refused(Code::UnknownName);
    assert_eq!(refusal.details["agent"], "nobody-here");
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    world.by(IMPL).does(tell("all", &long)).refused(Code::InvalidInput);
    world.by(IMPL).does(tell("all", "")).refused(Code::InvalidInput);
}

#[test]
fn rule_8_two_who_replace_different_sections_of_a_pad_do_not_meet() {
    let mut world = World::new();
    world.by(IMPL).does(append("Intro\n\n## Plan\none\n\n## Open\nq")).accepted();
    world.by(IMPL).does(section("Plan", "two", Some(1))).accepted();
    world.by(OTHER).does(section("Open", "answered", Some(1))).accepted();
    world.by(OTHER).does(section("Plan", "three", Some(1))).refused(Code::VersionMismatch);
    let post = only(&world, PostKind::Pad);
    assert_eq!(post.text, "Intro\n\n## Plan\ntwo\n\n## Open\nanswered\n");
    assert_eq!((post.version, post.id.name()), (3, "global"));
    assert_eq!(post.history.len(), 3);
}

#[test]
fn rule_8_a_pad_is_replaced_only_by_who_has_seen_its_last_version() {
    let mut world = World::new();
    let replace = |if_match| pad(PadChange::Replace, "all new", None, if_match);
    world.by(IMPL).does(replace(None)).accepted();
    let refusal = world.by(OTHER).does(replace(None)).refused(Code::VersionMismatch);
    assert_eq!(refusal.details["version"], 1);
    world.by(OTHER).does(replace(Some(2))).refused(Code::VersionMismatch);
    world.by(OTHER).does(replace(Some(1))).accepted();
    let most = "x".repeat(PAD_BYTES_MAX);
    let whole = |text: &str| pad(PadChange::Replace, text, None, Some(2));
    world.by(OTHER).does(whole(&most)).accepted();
    world.by(OTHER).does(append("one more")).refused(Code::LimitExceeded);
}

#[test]
fn rule_8_the_pad_of_a_task_is_that_of_its_nearest_parent_epic_or_initiative() {
    let mut world = World::new();
    let with = |change: fn(&mut NewTask)| {
        let mut new = task("one");
        change(&mut new);
        new
    };
    world.by(ANN).creates(with(|new| new.initiative = Some("launch".into()))).accepted();
    world
        .by(ANN)
        .creates(with(|new| {
            new.initiative = Some("launch".into());
            new.epic = Some("7".into());
        }))
        .accepted();
    world
        .by(ANN)
        .creates(with(|new| {
            new.epic = Some("7".into());
            new.parent = Some("T1".into());
        }))
        .accepted();
    world.by(ANN).creates(task("alone")).accepted();
    let scope = |world: &World, text: Option<&str>| {
        world.read(|facts| comity_core::decide::pad_scope(facts, &world.repo, text))
    };
    assert_eq!(scope(&world, Some("T1")), "T1", "a task with parts has a pad of its own");
    assert_eq!(scope(&world, Some("T2")), "7");
    assert_eq!(scope(&world, Some("T3")), "T1");
    assert_eq!(scope(&world, Some("T4")), "global");
    assert_eq!(scope(&world, Some("launch")), "launch");
    assert_eq!(scope(&world, None), "global");
}

#[test]
fn rule_8_the_next_version_of_an_interface_is_its_owners() {
    let mut world = World::new();
    world.by(ANN).creates(task_on("one", &["src/api.rs"])).accepted();
    world.by(IMPL).claims("T1").accepted();
    world.by(IMPL).does(publish("v1", Some("T1"), None)).accepted();
    let refusal = world.by(OTHER).does(publish("v2", None, None)).refused(Code::NotHolder);
    assert_eq!(refusal.details["owner"], "T1");
    assert!(refusal.next_step().to_string().contains(IMPL), "{refusal:?}");
    world.by(CRITIC).does(publish("v2", None, None)).refused(Code::NotHolder);
    world.by(IMPL).does(publish("v2", None, Some(3))).refused(Code::VersionMismatch);
    world.by(IMPL).does(publish("v2", None, Some(1))).accepted();
    world.by(PLANNER).does(publish("v3", None, None)).accepted();
    world.by(ANN).does(publish("v4", None, None)).accepted();
    // The task goes to somebody else, and the interface with it.
    world.by(IMPL).releases("T1").accepted();
    world.by(OTHER).claims("T1").accepted();
    world.by(IMPL).does(publish("v5", None, None)).refused(Code::NotHolder);
    world.by(OTHER).does(publish("v5", None, None)).accepted();
    let post = only(&world, PostKind::Interface);
    assert_eq!((post.version, post.text.as_str()), (5, "v5"));
    assert_eq!(post.history.len(), 5);
    assert_eq!(post.owner.unwrap().task.unwrap().as_str(), "T1");
}

#[test]
fn rule_8_an_interface_is_for_paths_tasks_and_agents_and_keeps_them() {
    let mut world = World::new();
    world.by(ANN).creates(task("one")).accepted();
    let new = NewInterface {
        name: "api".to_owned(),
        text: "v1".to_owned(),
        paths: Vec::new(),
        audience: texts(&["src/web/**", "T1", OTHER]),
        task: None,
        if_match: None,
    };
    world.by(IMPL).does(Command::InterfacePublish(Box::new(new.clone()))).accepted();
    let wanted = [
        Recipient::Task(comity_core::ids::TaskId::parse("T1").unwrap()),
        Recipient::Agent(crate::world::id(OTHER)),
        Recipient::Path("src/web/**".to_owned()),
    ];
    assert_eq!(only(&world, PostKind::Interface).to, wanted);
    let next = NewInterface { audience: Vec::new(), text: "v2".to_owned(), ..new };
    world.by(IMPL).does(Command::InterfacePublish(Box::new(next))).accepted();
    assert_eq!(only(&world, PostKind::Interface).to, wanted);
}

#[test]
fn rule_8_work_that_lands_is_a_change_notice() {
    let mut world = World::new();
    world.by(ANN).creates(task_on("Rename parse to read", &["src/**"])).accepted();
    let land = |world: &mut World, id: &str| {
        world.by(IMPL).claims(id).accepted();
        world.by(IMPL).starts(id).accepted();
        world.by(IMPL).submits_commit(id, "c0ffee1").accepted();
        world.by(CRITIC).approves(id).accepted();
        world.by(ANN).merges(id).accepted();
    };
    land(&mut world, "T1");
    world.by(ANN).finishes("T1").accepted();
    let post = only(&world, PostKind::Change);
    assert_eq!((post.text.as_str(), &post.paths), ("Rename parse to read", &texts(&["src/**"])));
    assert_eq!(post.task.unwrap().as_str(), "T1");
    assert_eq!(post.commit.as_deref(), Some("0bad1dea"));
    // What git saw counts before what was declared, in directories where it is too much.
    world.by(ANN).creates(task("Move all")).accepted();
    land(&mut world, "T2");
    let done = Command::Done { id: "T2".into(), merged: None, unmerged: false, reason: None };
    world
        .by(ANN)
        .does_seeing(done, |seen| {
            if let Some(merge) = &mut seen.merge {
                merge.files = (0..=LIST_ENTRIES_MAX).map(|n| format!("lib/{n}.rs")).collect();
                merge.subject = Some("Rename read to scan".to_owned());
            }
        })
        .accepted();
    let last = posts(&world, PostKind::Change).pop().unwrap();
    assert_eq!((last.text.as_str(), &last.paths), ("Rename read to scan", &texts(&["lib/"])));
    assert!(last.seq > Seq(0));
    // Without code there is nothing to be told.
    let mut document = task_on("Write it down", &["docs/**"]);
    document.deliverable = comity_core::task::Deliverable::Document;
    world.by(ANN).creates(document).accepted();
    world.by(IMPL).claims("T3").accepted();
    world.by(IMPL).starts("T3").accepted();
    world.by(IMPL).submits("T3").accepted();
    world.by(CRITIC).approves("T3").accepted();
    world.by(ANN).finishes("T3").accepted();
    assert_eq!(posts(&world, PostKind::Change).len(), 2);
}

#[test]
fn rule_8_a_task_is_meant_however_its_id_is_written_and_has_to_be_there() {
    let mut world = World::new();
    world.by(ANN).creates(task("one")).accepted();
    let scope = |text: &str| {
        world.read(|facts| comity_core::decide::pad_scope(facts, &world.repo, Some(text)))
    };
    assert_eq!(scope("t1"), "global");
    assert_eq!(scope("1"), "1", "an epic may be called by a number");
    let to_it = [Recipient::Task(comity_core::ids::TaskId::parse("T1").unwrap())];
    for to in ["T1", "t1", "1"] {
        world.by(IMPL).does(tell(to, "look")).accepted();
        assert_eq!(posts(&world, PostKind::Message).pop().unwrap().to, to_it, "{to}");
    }
    for text in ["T9", "t9"] {
        world.by(IMPL).does(tell(text, "look")).refused(Code::NotFound);
        let pad = pad(PadChange::Append, "x", Some(text), None);
        world.by(IMPL).does(pad).refused(Code::NotFound);
        let new = NewInterface {
            name: "api".to_owned(),
            text: "v1".to_owned(),
            paths: Vec::new(),
            audience: texts(&[text]),
            task: None,
            if_match: None,
        };
        world.by(IMPL).does(Command::InterfacePublish(Box::new(new))).refused(Code::NotFound);
    }
}
