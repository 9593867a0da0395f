//! The same random history on a store and on the model: every answer must be the same.

use super::lists::all_tasks;
use super::memories::{directed, followed, forgotten, rewritten, superseded, undirected, written};
use super::posts::{change, interface, message};
use super::world::{
    Extras, agent, answered, asked, claimed, commit, created, elsewhere, fence, locked, registered,
    repo, status, task_id, task_key, unlocked,
};
use super::{Outcome, World};
use comity_core::chain::Hash;
use comity_core::event::{Dependency, Draft, Event, TaskUpdated};
use comity_core::facts::{Facts, Need, Saved};
use comity_core::ids::{DirectiveId, LeaseId, MemoryId, Seq};
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::post::{PlaceKind, Recipient, memories_of, place_of, places_near};
use comity_core::role::Role;
use comity_core::search::Search;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::time::{Millis, Timestamp};
use comity_store::memory::MemoryStore;
use comity_store::{
    DecisionQuery, DirectiveQuery, EventQuery, LeaseQuery, MemoryQuery, PostsFrom, ReadTx, Reader,
    StoreError, TaskQuery,
};

const STEPS: usize = 250;
const AGENTS: [&str; 4] = ["ann", "bob", "cy", "human:dee"];
const PATHS: [&str; 10] = [
    ".",
    "src",
    "src/a.rs",
    "src/store/**",
    "src/store/x.rs",
    "**/*.md",
    "docs/a",
    "src-old",
    "d?/x",
    "src/store",
];

const WORDS: [&str; 6] = ["retry", "retries", "parser", "parsing", "Über", "数据"];

/// A small generator: the same numbers every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let place = usize::try_from(self.below(all.len() as u64)).unwrap_or_default();
        all[place]
    }

    fn maybe(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// What has been given out so far.
#[derive(Default)]
struct Given {
    tasks: u64,
    leases: u64,
    decisions: u64,
    memories: u64,
    directives: u64,
}

fn new_task(chance: &mut Chance, given: &mut Given) -> Draft {
    given.tasks += 1;
    let number = given.tasks;
    created(number, |task| {
        task.priority = Priority::from_rank(u8::try_from(chance.below(5)).unwrap_or_default());
        task.labels =
            ["a", "b", "c"].iter().filter(|_| chance.maybe()).map(|l| (*l).into()).collect();
        task.role = chance.maybe().then(|| chance.pick(&Role::ALL));
        task.assignee = chance.maybe().then(|| agent(chance.pick(&AGENTS)));
        task.initiative = chance.maybe().then(|| "launch".to_owned());
        for _ in 0..chance.below(3) {
            let on = task_id(&format!("T{}", 1 + chance.below(number + 2)));
            if on != task_id(&format!("T{number}")) && !task.dependencies.contains(&on) {
                task.dependencies.push(on);
            }
        }
        task.parent = chance.maybe().then(|| task_id(&format!("T{}", 1 + chance.below(number))));
    })
}

fn edit(chance: &mut Chance, id: &str, other: &str) -> Draft {
    let edge = Dependency { on: task_id(other) };
    let event = match chance.below(3) {
        0 => Event::DependencyAdded(edge),
        1 => Event::DependencyRemoved(edge),
        _ => Event::TaskUpdated(Box::new(TaskUpdated {
            labels: Some(vec![chance.pick(&["a", "b", "z"]).to_owned()]),
            initiative: Some(chance.pick(&["", "launch", "later"]).to_owned()),
            ..TaskUpdated::default()
        })),
    };
    Draft {
        repo: repo(),
        agent: agent("ann"),
        task: Some(task_id(id)),
        event,
        via: comity_core::via::Via::default(),
    }
}

fn remember(chance: &mut Chance, given: &mut Given) -> Draft {
    let number = 1 + chance.below(given.memories + 1);
    let text = format!("{} {}", chance.pick(&WORDS), chance.pick(&WORDS));
    match chance.below(4) {
        0 => rewritten(number, &text),
        1 => superseded(number, 1 + chance.below(given.memories + 1)),
        2 => forgotten(number),
        _ => {
            given.memories += 1;
            written(given.memories, &text, |memory| {
                memory.scope = chance.pick(&["global", "src", "docs"]).to_owned();
                memory.tags = vec![chance.pick(&["a", "b"]).to_owned()];
                memory.kind = chance.pick(&MemoryType::ALL);
            })
        }
    }
}

fn posted(chance: &mut Chance) -> Draft {
    let path = chance.pick(&PATHS);
    match chance.below(4) {
        0 => change(path),
        1 => message(Recipient::Agent(agent(chance.pick(&AGENTS)))),
        2 => message(Recipient::All),
        _ => interface(chance.pick(&["api", "db"]), 1 + chance.below(3), path),
    }
}

fn command(chance: &mut Chance, given: &mut Given) -> Draft {
    let number = 1 + chance.below(given.directives + 1);
    match chance.below(3) {
        0 => followed(number),
        1 => undirected(number),
        _ => {
            given.directives += 1;
            directed(given.directives)
        }
    }
}

fn step(chance: &mut Chance, given: &mut Given, seq: u64) -> Vec<Draft> {
    let id = format!("T{}", 1 + chance.below(given.tasks + 1));
    let other = format!("T{}", 1 + chance.below(given.tasks + 3));
    let who = chance.pick(&AGENTS);
    let drafts = match chance.below(14) {
        0 | 1 => vec![new_task(chance, given)],
        2 => vec![status(&id, Status::Queued, chance.pick(&Status::ALL))],
        3 => vec![status(&id, Status::Done, Status::Queued)],
        4 => claimed(&id, who, seq + 1),
        5 => {
            given.leases += 1;
            vec![locked(given.leases, chance.pick(&PATHS), who, seq + 1)]
        }
        6 => vec![unlocked(1 + chance.below(given.leases + 1), "src", who)],
        7 if id != other => vec![edit(chance, &id, &other)],
        7 => vec![registered(who)],
        8 | 9 => vec![remember(chance, given)],
        10 => vec![command(chance, given)],
        12 | 13 => vec![posted(chance)],
        _ => {
            given.decisions += 1;
            vec![asked(given.decisions), answered(1 + chance.below(given.decisions))]
        }
    };
    if chance.below(5) == 0 { drafts.into_iter().map(elsewhere).collect() } else { drafts }
}

fn extras(chance: &mut Chance, given: &Given, now: Timestamp) -> Extras {
    let mut extras = Extras::default();
    let who = agent(chance.pick(&AGENTS));
    if chance.maybe() {
        let grant = chance.maybe().then(|| fence(1 + chance.below(9)));
        extras.presence.push((who.clone(), grant, now));
    }
    if chance.maybe() {
        let answer = format!("{}", chance.below(99));
        let saved = Saved { input: Hash::of(&[1]), answer, at: now };
        extras.saved.push((who, format!("k{}", chance.below(5)), saved));
    }
    for key in [
        task_key(&format!("T{}", 1 + chance.below(given.tasks + 1))),
        Key::Lease(repo(), LeaseId(1 + chance.below(given.leases + 1))),
        Key::Memory(repo(), MemoryId(1 + chance.below(given.memories + 1))),
        Key::Directive(repo(), DirectiveId(1 + chance.below(given.directives + 1))),
    ] {
        let ms = i64::try_from(chance.below(600_000)).unwrap_or_default();
        let at = now.plus(Millis::from_ms(ms));
        extras.due.insert(key, chance.maybe().then_some(at));
    }
    extras
}

fn needs(chance: &mut Chance, given: &Given) -> Vec<Need> {
    let id = task_id(&format!("T{}", 1 + chance.below(given.tasks + 1)));
    let who = agent(chance.pick(&AGENTS));
    let place = (u8::try_from(chance.below(5)).unwrap_or_default(), chance.below(given.tasks + 1));
    vec![
        Need::Entity(Key::Agent(who.clone())),
        Need::Entity(Key::Repo(repo())),
        Need::TaskNumber(repo(), chance.below(given.tasks + 2)),
        Need::TaskPrefix(repo(), format!("T{}", chance.below(3))),
        Need::Candidates(repo(), None),
        Need::Candidates(repo(), Some(place)),
        Need::Preferred(repo(), who.clone()),
        Need::LeasesNear(repo(), chance.pick(&["", "src", "src/store", "docs/a/b"]).to_owned()),
        Need::HeldNear(
            repo(),
            Seq(chance.below(100)),
            vec![chance.pick(&["", "src", "src/store", "docs/a/b"]).to_owned()],
        ),
        Need::LeasesOf(repo(), who.clone()),
        Need::Dependants(repo(), id.clone()),
        Need::Children(repo(), id.clone()),
        Need::Closure(repo(), id),
        Need::Waiting(repo()),
        Need::Saved(who, format!("k{}", chance.below(5))),
        Need::Entity(Key::Memory(repo(), MemoryId(1 + chance.below(given.memories + 1)))),
        Need::Entity(Key::Directive(repo(), DirectiveId(1 + chance.below(given.directives + 1)))),
    ]
}

fn list_query(chance: &mut Chance, given: &Given) -> TaskQuery {
    let mut query = all_tasks();
    query.after = if chance.maybe() { chance.below(given.tasks + 1) } else { 0 };
    query.limit = usize::try_from(1 + chance.below(20)).unwrap_or(1);
    match chance.below(7) {
        0 => query.labels = vec!["a".to_owned()],
        1 => query.labels = vec!["b".to_owned(), "a".to_owned()],
        2 => query.assignee = Some(agent(chance.pick(&AGENTS))),
        3 => query.role = Some(chance.pick(&Role::ALL)),
        4 => query.initiative = Some("launch".to_owned()),
        5 => query.statuses = vec![chance.pick(&Status::ALL), Status::Queued],
        _ => query.unblocked_only = true,
    }
    if chance.maybe() {
        query.unblocked_only |= chance.maybe();
        query.statuses.push(chance.pick(&Status::ALL));
    }
    query
}

/// Everything that one look at a store answers, as text: the same questions for both.
fn look(tx: &mut dyn ReadTx, seed: u64, given: &Given) -> Result<Vec<String>, StoreError> {
    let mut chance = Chance(seed);
    let moment = tx.moment()?;
    let mut facts = Facts::at(moment, tx.head()?);
    tx.load(&needs(&mut chance, given), &mut facts)?;
    let query = list_query(&mut chance, given);
    let owner = chance.maybe().then(|| agent(chance.pick(&AGENTS)));
    let after = chance.maybe().then(|| LeaseId(chance.below(given.leases + 1)));
    let leases = LeaseQuery { repo: repo(), owner, after, limit: 7 };
    let open_only = chance.maybe();
    let decisions = DecisionQuery { repo: repo(), open_only, after: None, limit: 7 };
    let events = EventQuery {
        repo: chance.maybe().then(repo),
        task: chance.maybe().then(|| task_id("T1")),
        event: chance.maybe().then(|| "status_changed".to_owned()),
        after: Seq(chance.below(50)),
        since: chance.maybe().then(|| Timestamp::from_ms(moment.now.ms() - 60_000)),
        before: chance.maybe().then(|| Seq(chance.below(50))),
        limit: 9,
    };
    let memories = MemoryQuery {
        repo: repo(),
        filter: MemoryFilter {
            kind: chance.maybe().then(|| chance.pick(&MemoryType::ALL)),
            scope: chance.maybe().then(|| chance.pick(&["global", "src", "x"]).to_owned()),
            tags: if chance.maybe() { vec!["a".to_owned()] } else { Vec::new() },
            all: chance.maybe(),
        },
        after: chance.maybe().then(|| MemoryId(chance.below(given.memories + 1))),
        limit: 5,
    };
    let search =
        Search::parse(&format!("{} {}*", chance.pick(&WORDS), chance.pick(&["r", "pars"])));
    let directives = DirectiveQuery { repo: repo(), after: None, limit: 5 };
    let prefix = chance.pick(&["", "src", "src/store", "docs/a/b"]);
    let kinds = [PlaceKind::Change, PlaceKind::Interface, PlaceKind::Memory];
    let mut places: Vec<String> =
        kinds.into_iter().flat_map(|kind| places_near(kind, prefix)).collect();
    places.push(place_of(PlaceKind::Message, &Recipient::All));
    places.push(memories_of("global"));
    let event = Seq(chance.below(50));
    Ok(vec![
        format!("{places:?} {:?}", tx.posts_at(&repo(), &places, PostsFrom::NEWEST, 3)?),
        format!("{event} {:?}", tx.posts_at(&repo(), &places, PostsFrom::After(event), 3)?),
        format!("{event} {:?}", tx.posts_at(&repo(), &places, PostsFrom::Before(event), 3)?),
        format!("{event} {:?}", tx.posts_before(&repo(), event, 5)?),
        format!("{:?}", tx.leases_below(&repo(), "src", 3)?),
        format!("{memories:?} {:?}", tx.memories(&memories)?),
        format!("{search:?} {:?}", tx.memories_with(&repo(), search.looked_up(), 9)?),
        format!("{:?}", tx.directives(&directives)?),
        format!("{facts:?}"),
        format!("{query:?} {:?}", tx.tasks(&query)?),
        format!("{leases:?} {:?}", tx.leases(&leases)?),
        format!("{:?}", tx.decisions(&decisions)?),
        format!("{:?}", tx.agents(None, 9)?),
        format!("{:?}", tx.held_by(&agent(chance.pick(&AGENTS)), 5)?),
        format!("{events:?} {:?}", tx.events(&events)?),
        format!("{:?}", tx.status_counts(&repo())?),
        format!("{:?}", tx.due(moment.now, 6)?),
        format!("{:?}", tx.entities(None, 1000)?),
    ])
}

pub(super) fn a_random_history_gives_the_answers_of_the_model(world: &mut World) -> Outcome {
    let mut model = MemoryStore::new(world.clock.clone());
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut given = Given::default();
    for number in 0..STEPS {
        world.clock.pass(Millis::from_ms(i64::try_from(chance.below(20_000)).unwrap_or_default()));
        if chance.below(50) == 0 {
            world.clock.set(|reading| reading.slept_ms += 10_000);
        }
        let seq = model.read()?.head()?.seq.0;
        let mut drafts = step(&mut chance, &mut given, seq);
        for _ in 0..chance.below(3) {
            drafts.extend(step(&mut chance, &mut given, seq + drafts.len() as u64));
        }
        let extras = extras(&mut chance, &given, world.now());
        let here = commit(&mut *world.store, drafts.clone(), &extras)?;
        assert_eq!(here, commit(&mut model, drafts, &extras)?);
        let seed = 1 + chance.below(u64::MAX - 1);
        let found = look(&mut *world.store.read()?, seed, &given)?;
        let wanted = look(&mut *model.read()?, seed, &given)?;
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "at step {number}");
        }
    }
    Ok(())
}
