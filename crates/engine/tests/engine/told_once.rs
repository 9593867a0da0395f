//! Whoever claims or leases gets every change, interface version and message that concerns it exactly once: under
//! crashes, doubled commands, and on two hosts. What a crash may have lost comes again and says so.

use crate::support::{World, without_git};
use comity_api::{AcquireLeases, AskBrief, Claim, op};
use comity_core::brief::{Brief, NewsItem};
use comity_core::command::{Command, NewInterface, NewTask};
use comity_core::ids::{AgentId, RepoName};
use comity_core::post::PostKind;
use comity_engine::{Caller, Handler, Service};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PATHS: [&str; 4] = ["src/a.rs", "src/b.rs", "docs/x.md", "src/**/*.rs"];
const READER: &str = "w1";
const WRITER: &str = "w2";

#[derive(Clone, Debug)]
enum Act {
    /// The writer notes a change, tells the reader something, or publishes a version.
    Change(usize),
    Tell(bool),
    Publish(usize),
    /// The writer leaves more at one place than one look sees: changes, interfaces or messages.
    Many(PostKind, usize),
    /// The reader claims a task on a path, twice under one key if the flag is set.
    Claim(usize, bool),
    Lease(usize),
    /// Any other operation of the reader, or one on each of two hosts at the same time.
    Other,
    Both,
}

/// More than one look sees of a place.
const MANY: usize = 70;

fn kind() -> impl Strategy<Value = PostKind> {
    prop_oneof![Just(PostKind::Change), Just(PostKind::Interface), Just(PostKind::Message)]
}

/// Acts, and whether the answer of each is lost.
fn act() -> impl Strategy<Value = (Act, bool)> {
    let path = || 0..PATHS.len();
    let act = prop_oneof![
        6 => path().prop_map(Act::Change),
        2 => any::<bool>().prop_map(Act::Tell),
        2 => path().prop_map(Act::Publish),
        1 => (kind(), path()).prop_map(|(kind, path)| Act::Many(kind, path)),
        2 => (path(), any::<bool>()).prop_map(|(path, twice)| Act::Claim(path, twice)),
        2 => path().prop_map(Act::Lease),
        4 => Just(Act::Other),
        2 => Just(Act::Both),
    ];
    (act, proptest::bool::weighted(0.2))
}

fn caller(who: &str) -> Caller {
    Caller::new(AgentId::parse(who).unwrap(), RepoName::parse("acme/app").unwrap())
}

/// What the reader has seen, by place in the log: how often, and how often it was called repeated.
#[derive(Default)]
struct Seen {
    fresh: BTreeMap<u64, usize>,
    repeated: BTreeMap<u64, usize>,
    lost: BTreeMap<u64, usize>,
}

impl Seen {
    fn note(&mut self, items: impl IntoIterator<Item = (u64, bool)>, lost: bool) {
        for (seq, repeated) in items {
            let count = match (lost, repeated) {
                (true, _) => &mut self.lost,
                (false, true) => &mut self.repeated,
                (false, false) => &mut self.fresh,
            };
            *count.entry(seq).or_default() += 1;
        }
    }
}

fn of_brief(brief: &Brief) -> Vec<(u64, bool)> {
    let changes = brief.changes.iter().map(|it| (it.seq, it.repeated));
    let messages = brief.messages.iter().map(|it| (it.seq, it.repeated));
    let new = brief.interfaces.iter().filter(|it| it.changed).map(|it| (it.seq, false));
    changes.chain(messages).chain(new).collect()
}

fn of_news(news: &[NewsItem]) -> Vec<(u64, bool)> {
    news.iter().map(|it| (it.seq, it.repeated)).collect()
}

struct Scene {
    world: World,
    seen: Seen,
    made: usize,
}

impl Scene {
    fn new() -> Scene {
        Scene { world: World::sqlite(), seen: Seen::default(), made: 0 }
    }

    /// Opens the store as a process of its own does.
    fn process(&self) -> Service {
        let options = OpenOptions { clock: self.world.clock.clone(), ..OpenOptions::default() };
        let store = SqliteStore::open(&self.world.path().unwrap(), options).unwrap();
        Service::inline(Box::new(store), without_git()).unwrap()
    }

    /// Lets the reader have an answer, or lose it: a process that dies confirms nothing.
    fn reads(&mut self, lost: bool, ask: impl FnOnce(&Service) -> Vec<(u64, bool)>) {
        let service = self.process();
        let items = ask(&service);
        self.seen.note(items, lost);
        if !lost {
            service.delivered(&caller(READER)).unwrap();
        }
    }

    fn plays(&mut self, act: &Act, lost: bool) {
        match act {
            Act::Change(path) => self.writes(PostKind::Change, *path, 0),
            Act::Tell(directly) => self.writes(PostKind::Message, usize::from(*directly), 0),
            Act::Publish(path) => self.writes(PostKind::Interface, *path, 0),
            Act::Many(kind, path) => {
                (0..MANY).for_each(|number| self.writes(*kind, *path, number));
            }
            Act::Claim(path, twice) => self.claims(*path, *twice, lost),
            Act::Lease(path) => {
                let patterns = vec![PATHS[*path].to_owned()];
                let input = AcquireLeases { patterns, ..AcquireLeases::default() };
                self.reads(lost, |service| {
                    let answer =
                        Handler::<op::LeaseAcquire>::handle(service, &caller(READER), input);
                    of_brief(&answer.unwrap().output.brief.unwrap())
                });
            }
            Act::Other => {
                self.reads(lost, |service| of_news(&service.news(&caller(READER)).unwrap()));
            }
            Act::Both => {
                let here = self.process();
                let items = of_news(&here.news(&caller(READER)).unwrap());
                self.reads(lost, |there| of_news(&there.news(&caller(READER)).unwrap()));
                self.seen.note(items, false);
                here.delivered(&caller(READER)).unwrap();
            }
        }
    }

    fn writes(&mut self, kind: PostKind, path: usize, number: usize) {
        let paths = vec![PATHS[path].to_owned()];
        let command = match kind {
            PostKind::Change => {
                Command::NoteChange { text: "renamed".to_owned(), paths, task: None }
            }
            PostKind::Interface => Command::InterfacePublish(Box::new(NewInterface {
                name: format!("api-{path}-{number}"),
                text: "fn f()".to_owned(),
                paths,
                audience: Vec::new(),
                task: None,
                if_match: None,
            })),
            PostKind::Message | PostKind::Pad => {
                let to = if path == 1 { READER } else { "all" }.to_owned();
                Command::Tell { to, text: "look".to_owned() }
            }
        };
        self.world.run(WRITER, command);
    }

    fn claims(&mut self, path: usize, twice: bool, lost: bool) {
        self.made += 1;
        let new = NewTask {
            title: "work".to_owned(),
            files: vec![PATHS[path].to_owned()],
            ..NewTask::default()
        };
        self.world.run("human:ann", Command::CreateTask(Box::new(new)));
        let id = format!("T{}", self.made);
        let key = Some(format!("claim {id}"));
        for _ in 0..=usize::from(twice) {
            let caller = Caller { key: key.clone(), ..caller(READER) };
            let input = Claim { id: Some(id.clone()), ..Claim::default() };
            self.reads(lost, |service| {
                let answer = Handler::<op::TaskClaim>::handle(service, &caller, input);
                of_brief(&answer.unwrap().output.brief.unwrap())
            });
        }
    }

    /// Lets the reader ask until there is nothing more, long after the last crash.
    fn settles(&mut self) {
        self.world.sleep(61);
        for _ in 0..500 {
            let news = self.world.engine.news(&caller(READER)).unwrap();
            self.seen.note(of_news(&news), false);
            self.world.engine.delivered(&caller(READER)).unwrap();
            if news.is_empty() {
                return;
            }
        }
        panic!("the news never ends");
    }

    /// Returns the places in the log of everything that concerns the reader, by a look at all of it.
    fn concerning(&mut self) -> Vec<u64> {
        let held: Vec<String> = {
            let input = comity_api::LeaseFilter::default();
            let leases = self.world.engine.call::<op::LeaseList>(&caller(READER), input).unwrap();
            leases.leases.into_iter().map(|lease| lease.path).collect()
        };
        let parse = |text: &str| comity_core::pattern::Pattern::parse(text).unwrap();
        let touches = |paths: &[String]| {
            paths.iter().any(|path| {
                let path = parse(path);
                held.iter().any(|own| comity_core::pattern::overlap(&parse(own), &path).is_some())
            })
        };
        let mut events: Vec<comity_api::EventView> = Vec::new();
        loop {
            let since = events.last().map(|event| comity_api::Since::Seq(event.seq));
            let input = comity_api::EventFilter { limit: Some(500), since, ..Default::default() };
            let page = self.world.engine.call::<op::EventList>(&caller(READER), input).unwrap();
            if page.events.is_empty() {
                break;
            }
            events.extend(page.events);
        }
        let paths = |event: &comity_api::EventView| -> Vec<String> {
            serde_json::from_value(event.fields["paths"].clone()).unwrap()
        };
        let newest = |name: &str, seq: u64| {
            let same = |it: &&comity_api::EventView| {
                it.event == "interface_published" && it.text("name") == Some(name)
            };
            events.iter().filter(same).map(|it| it.seq).max() == Some(seq)
        };
        let wanted = events.iter().filter(|event| match event.event.as_str() {
            "message_sent" => true,
            "change_noted" => touches(&paths(event)),
            "interface_published" => {
                touches(&paths(event)) && newest(event.text("name").unwrap(), event.seq)
            }
            _ => false,
        });
        wanted.map(|event| event.seq).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn everything_that_concerns_an_agent_is_told_exactly_once(
        acts in proptest::collection::vec(act(), 1..40),
    ) {
        let mut scene = Scene::new();
        scene.world.run(READER, Command::Heartbeat);
        for (act, lost) in &acts {
            scene.plays(act, *lost);
            scene.world.sleep(1);
        }
        scene.settles();
        let seen = &scene.seen;
        for (seq, count) in &seen.fresh {
            prop_assert_eq!(*count, 1, "event {} came {} times", seq, count);
        }
        for (seq, count) in &seen.repeated {
            prop_assert!(seen.lost.contains_key(seq), "event {} was never lost", seq);
            prop_assert_eq!(*count, 1, "event {} was repeated {} times", seq, count);
            prop_assert!(!seen.fresh.contains_key(seq), "event {} had arrived", seq);
        }
        let told: Vec<u64> = seen.fresh.keys().chain(seen.repeated.keys()).copied().collect();
        for seq in scene.concerning() {
            prop_assert!(told.contains(&seq), "event {} was never told", seq);
        }
    }
}

#[test]
fn every_store_tells_the_same_things_once() {
    for mut world in World::all() {
        let name = world.name.clone();
        let new = NewTask {
            title: "work".to_owned(),
            files: vec!["src/a.rs".to_owned()],
            ..NewTask::default()
        };
        world.run("human:ann", Command::CreateTask(Box::new(new)));
        world.run(READER, Command::Heartbeat);
        let change = |path: &str| Command::NoteChange {
            text: format!("changed {path}"),
            paths: vec![path.to_owned()],
            task: None,
        };
        world.run(WRITER, change("src/a.rs"));
        world.run(WRITER, change("docs/b.md"));
        let me = caller(READER);
        assert!(world.engine.news(&me).unwrap().is_empty(), "{name}: nothing is at hand yet");
        let input = Claim::default();
        let claimed = Handler::<op::TaskClaim>::handle(&world.engine, &me, input).unwrap().output;
        let changes = claimed.brief.unwrap().changes;
        assert_eq!(changes.len(), 1, "{name}");
        assert_eq!(changes[0].text, "changed src/a.rs", "{name}");
        world.engine.delivered(&me).unwrap();
        world.run(WRITER, change("src"));
        let news = world.engine.news(&me).unwrap();
        assert_eq!(news.len(), 1, "{name}");
        assert_eq!(news[0].text, "changed src", "{name}");
        world.engine.delivered(&me).unwrap();
        assert!(world.engine.news(&me).unwrap().is_empty(), "{name}");
        // A fresh context gets the whole brief again.
        let brief = world.engine.fresh_brief(&me, None).unwrap();
        assert_eq!(brief.changes.len(), 2, "{name}");
        assert_eq!(brief.changes[0].text, "changed src", "{name}: the newest first");
        world.engine.delivered(&me).unwrap();
        assert!(world.engine.verify().unwrap().ok, "{name}");
    }
}

#[test]
fn more_than_fits_into_a_brief_comes_with_the_next_answers() {
    let mut world = World::memory();
    let new =
        NewTask { title: "work".to_owned(), files: vec!["src".to_owned()], ..NewTask::default() };
    world.run("human:ann", Command::CreateTask(Box::new(new)));
    for n in 0..30 {
        let (text, paths) = (format!("change {n}"), vec![format!("src/{n}.rs")]);
        world.run(WRITER, Command::NoteChange { text, paths, task: None });
    }
    let me = caller(READER);
    let input = Claim::default();
    let claimed = Handler::<op::TaskClaim>::handle(&world.engine, &me, input).unwrap().output;
    let brief = claimed.brief.unwrap();
    assert_eq!(brief.changes.len(), 12);
    assert_eq!(brief.changes[0].text, "change 29", "the newest first");
    assert_eq!(brief.more.unwrap().count, 18);
    world.engine.delivered(&me).unwrap();
    let mut rest = Vec::new();
    loop {
        let news = world.engine.news(&me).unwrap();
        world.engine.delivered(&me).unwrap();
        if news.is_empty() {
            break;
        }
        rest.extend(news.into_iter().map(|item| item.text));
    }
    let wanted: Vec<String> = (0..18).map(|n| format!("change {n}")).collect();
    assert_eq!(rest, wanted);
}

/// Returns everything that news bring, until there are none.
fn all_news(world: &World) -> Vec<NewsItem> {
    let mut all = Vec::new();
    loop {
        let news = world.engine.news(&caller(READER)).unwrap();
        world.engine.delivered(&caller(READER)).unwrap();
        if news.is_empty() {
            return all;
        }
        all.extend(news);
    }
}

fn change(number: usize, path: &str) -> Command {
    let (text, paths) = (format!("change {number}"), vec![path.to_owned()]);
    Command::NoteChange { text, paths, task: None }
}

fn claimed_on(world: &mut World, path: &str) -> Brief {
    let new =
        NewTask { title: "work".to_owned(), files: vec![path.to_owned()], ..NewTask::default() };
    world.run("human:ann", Command::CreateTask(Box::new(new)));
    let claimed =
        Handler::<op::TaskClaim>::handle(&world.engine, &caller(READER), Claim::default());
    let brief = claimed.unwrap().output.brief.unwrap();
    world.engine.delivered(&caller(READER)).unwrap();
    brief
}

#[test]
fn more_than_one_look_sees_is_told_all_the_same() {
    for mut world in World::all() {
        for number in 0..100 {
            world.run(WRITER, change(number, "src/a.rs"));
        }
        let name = world.name.clone();
        let brief = claimed_on(&mut world, "src/a.rs");
        let more = brief.more.unwrap();
        assert_eq!(brief.changes.len(), 12, "{name}");
        assert!(more.at_least && more.count >= 50, "{name}: {more:?}");
        let rest: Vec<String> = all_news(&world).into_iter().map(|item| item.text).collect();
        let wanted: Vec<String> = (0..88).map(|number| format!("change {number}")).collect();
        assert_eq!(rest, wanted, "{name}");
    }
}

#[test]
fn every_message_to_an_agent_arrives() {
    let mut world = World::memory();
    world.run(READER, Command::Heartbeat);
    for number in 0..200 {
        let (to, text) = (READER.to_owned(), format!("look at {number}"));
        world.run(WRITER, Command::Tell { to, text });
    }
    let told: Vec<String> = all_news(&world).into_iter().map(|item| item.text).collect();
    let wanted: Vec<String> = (0..200).map(|number| format!("look at {number}")).collect();
    assert_eq!(told, wanted);
}

#[test]
fn who_was_told_of_one_place_is_told_of_what_lay_at_another_before() {
    let mut world = World::memory();
    for number in 0..100 {
        world.run(WRITER, change(number, "src/a.rs"));
    }
    for number in 100..200 {
        world.run(WRITER, change(number, "src/b.rs"));
    }
    let first = claimed_on(&mut world, "src/b.rs").changes.len() + all_news(&world).len();
    let second = claimed_on(&mut world, "src/a.rs").changes.len() + all_news(&world).len();
    assert_eq!((first, second), (100, 100));
}

#[test]
fn what_is_older_than_news_are_is_passed_over_and_what_is_younger_is_told() {
    let mut world = World::memory();
    for number in 0..70 {
        world.run(WRITER, change(number, "src/a.rs"));
    }
    world.sleep(7 * 86_400);
    for number in 70..80 {
        world.run(WRITER, change(number, "src/a.rs"));
    }
    let brief = claimed_on(&mut world, "src/a.rs");
    assert_eq!(brief.changes.len(), 10);
    assert_eq!(brief.more, None, "what is too old is not counted either");
    assert!(all_news(&world).is_empty());
}

#[test]
fn a_brief_with_a_limit_reaches_what_is_older() {
    let mut world = World::memory();
    for number in 0..400 {
        world.run(WRITER, change(number, "src/a.rs"));
    }
    let ask = |limit| {
        let paths = vec!["src/a.rs".to_owned()];
        let asked = AskBrief { paths, limit: Some(limit), ..AskBrief::default() };
        world.engine.call::<op::Brief>(&caller(READER), asked).unwrap().brief
    };
    let brief = ask(300);
    assert_eq!(brief.changes.len(), 300);
    assert!(brief.more.unwrap().at_least);
    let brief = ask(500);
    assert_eq!((brief.changes.len(), brief.more), (400, None));
}
