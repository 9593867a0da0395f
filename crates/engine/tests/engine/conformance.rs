//! What every service must do, whatever is below it and however it runs.
//!
//! The cases speak in commands and questions. Most of them stand beside the behaviour that they prove: each of those runs
//! over every world of [`World::all`], which is the model in memory, SQLite and PostgreSQL, inline and started. The case
//! here gives all of them one random history. They must give the answers of the model, to the letter, and end in one log.

use crate::support::{World, by_id, claim, claim_best, request, retitle, start};
use comity_api::{
    AgentFilter, CheckPaths, DecisionFilter, EventFilter, LeaseFilter, ListMemories, Nothing,
    SearchMemories, TaskFilter, op,
};
use comity_core::command::{
    ClaimWish, Command, LeaseChange, NewMemory, NewTask, Question, Request, Submission, TaskVerb,
};
use comity_core::ids::{AgentId, RepoName};
use comity_core::memory::MemoryType;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::task::Deliverable;
use comity_core::time::Millis;
use serde_json::Value;

/// How many commands a history has.
const STEPS: u64 = 250;
/// How many commands there are between two rounds of questions.
const ROUND: u64 = 25;
const PLACES: [&str; 6] = ["src/a.rs", "src/", "src/**/*.rs", "docs/{a,b}.md", "docs/*", "lib"];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[usize::try_from(self.below(texts.len() as u64)).unwrap()]
    }

    fn task(&mut self) -> String {
        format!("T{}", self.below(12) + 1)
    }
}

fn create(dice: &mut Dice) -> Command {
    let depends_on = if dice.below(4) == 0 { vec![dice.task()] } else { Vec::new() };
    Command::CreateTask(Box::new(NewTask {
        title: format!("Task {}", dice.below(100)),
        files: vec![dice.one_of(&PLACES).to_owned()],
        depends_on,
        dod: if dice.below(3) == 0 { vec!["documented".to_owned()] } else { Vec::new() },
        deliverable: Deliverable::None,
        ..NewTask::default()
    }))
}

fn ask(dice: &mut Dice) -> Command {
    Command::DecisionAsk(Box::new(Question {
        question: "Which way?".to_owned(),
        task: (dice.below(2) == 0).then(|| dice.task()),
        options: Vec::new(),
        kind: None,
        context: None,
        default: Some("left".to_owned()),
        to: None,
        expires: Some(Millis::from_secs(600)),
        proposes: None,
    }))
}

fn remember(dice: &mut Dice) -> Command {
    let what = dice.one_of(&["parser", "lexer", "flaky tests", "the parsers"]);
    Command::MemoryWrite(Box::new(NewMemory {
        text: format!("Remember {what} {}", dice.below(9)),
        kind: MemoryType::Fact,
        scope: None,
        tags: Vec::new(),
        expires: None,
        task: None,
        supersedes: None,
    }))
}

fn acquire(dice: &mut Dice) -> Command {
    Command::Lease(LeaseChange::Acquire {
        patterns: vec![dice.one_of(&PLACES).to_owned()],
        task: None,
        purpose: None,
        ttl: Some(Millis::from_secs(300)),
        shared: dice.below(3) == 0,
    })
}

/// Returns the next command and who gives it; most are possible, some are refused.
fn next(dice: &mut Dice) -> (&'static str, Command) {
    let agent = dice.one_of(&["agent-1", "agent-2", "agent-3", "critic-1"]);
    let id = dice.task();
    let moved = |verb: TaskVerb| verb.on(id.clone(), Some("because".to_owned()));
    match dice.below(20) {
        0..=2 => ("human:ann", create(dice)),
        3..=4 => (agent, claim_best()),
        5 => (agent, claim(&id)),
        6..=7 => (agent, start(&id)),
        8..=9 => (agent, Command::Submit(Submission { id, ..Submission::default() })),
        10 => ("critic-1", moved(TaskVerb::Approve)),
        11 => ("critic-1", moved(TaskVerb::RequestChanges)),
        12 => ("human:ann", Command::Done { id, merged: None, unmerged: false, reason: None }),
        13 => (agent, moved(if dice.below(2) == 0 { TaskVerb::Release } else { TaskVerb::Fail })),
        14 => (agent, acquire(dice)),
        15 => (agent, Command::Lease(LeaseChange::Release { ids: Vec::new(), all: true })),
        16 => (agent, ask(dice)),
        17 => (agent, remember(dice)),
        18 => (agent, retitle(&id, "Another title")),
        _ => {
            let ttl = Some(Millis::from_secs(120));
            (agent, Command::Claim(ClaimWish { ttl, ..ClaimWish::default() }))
        }
    }
}

/// Everything that a caller can see.
fn seen(world: &World) -> Vec<Value> {
    let me = "human:ann";
    let search = SearchMemories { query: "parser".to_owned(), ..SearchMemories::default() };
    let events = EventFilter { limit: Some(500), ..EventFilter::default() };
    let mut all = vec![
        world.ask::<op::TaskList>(me, TaskFilter::default()),
        world.ask::<op::TaskList>("agent-1", TaskFilter { ready: true, ..TaskFilter::default() }),
        world.ask::<op::LeaseList>(me, LeaseFilter::default()),
        world.ask::<op::DecisionList>(me, DecisionFilter::default()),
        world.ask::<op::AgentList>(me, AgentFilter::default()),
        world.ask::<op::MemoryList>(me, ListMemories::default()),
        world.ask::<op::MemorySearch>(me, search),
        world.ask::<op::EventList>(me, events),
        world.ask::<op::Status>(me, Nothing {}),
    ];
    for number in 1..=12 {
        let why = world.try_ask::<op::TaskWhy>("agent-2", by_id(&format!("T{number}")));
        all.push(why.unwrap_or_else(|refusal| refusal.message.into()));
    }
    all
}

fn history(seed: u64) {
    let mut worlds = World::all();
    for world in &mut worlds {
        world.register("critic-1", Role::Critic);
    }
    let mut dice = Dice(seed);
    let mut accepted = 0;
    for step in 1..=STEPS {
        let (actor, command) = next(&mut dice);
        let sleep = if dice.below(6) == 0 { 200 } else { 7 };
        let mut answers = Vec::new();
        for world in &mut worlds {
            let answer = world.try_as(actor, command.clone());
            answers.push(answer.map_err(|refusal| (refusal.code, refusal.message)));
            world.sleep(sleep);
        }
        accepted += u64::from(answers[0].is_ok());
        for (world, answer) in worlds.iter().zip(&answers) {
            assert_eq!(answer, &answers[0], "{}: step {step} of {seed}: {command:?}", world.name);
        }
        if step % ROUND == 0 {
            let wanted = seen(&worlds[0]);
            for world in &worlds {
                assert_eq!(seen(world), wanted, "{}: step {step} of {seed}", world.name);
            }
        }
    }
    assert!(accepted > STEPS / 4, "{accepted} commands of {STEPS} did something");
    let head = worlds[0].head();
    for world in &mut worlds {
        assert_eq!(world.head(), head, "{}", world.name);
        world.assert_log_is_sound();
        assert_eq!(world.engine.integrity().unwrap(), Vec::<String>::new(), "{}", world.name);
    }
}

#[test]
fn a_random_history_gives_the_answers_of_the_model_on_every_service() {
    for seed in [1, 20_261_118] {
        history(seed);
    }
}

#[test]
fn rule_4_2_case_is_folded_where_the_store_says_so_on_every_service() {
    for mut world in World::all() {
        let lease = |path: &str| {
            let patterns = vec![path.to_owned()];
            let (task, purpose, ttl, shared) = (None, None, None, false);
            Command::Lease(LeaseChange::Acquire { patterns, task, purpose, ttl, shared })
        };
        world.run("human:ann", Command::SetRepository { fold_case: true, keep: true });
        world.run("agent-1", lease("Src/Straße/ς.rs"));
        world.refused("agent-2", lease("SRC/straße/Σ.RS"), Code::LeaseHeld);
        let paths = CheckPaths { paths: vec!["src/STRAßE/σ.rs".to_owned()] };
        let found = world.ask::<op::LeaseCheck>("agent-2", paths);
        assert_eq!(found["paths"][0]["free"], false, "{}", world.name);
        // Another repository of the same store is another matter.
        let elsewhere = |command| Request {
            repo: RepoName::parse("acme/other").unwrap(),
            ..request("agent-1", command)
        };
        world.engine.execute(elsewhere(lease("A"))).unwrap();
        let other = Request { actor: AgentId::parse("agent-2").unwrap(), ..elsewhere(lease("a")) };
        world.engine.execute(other).unwrap();
        world.assert_log_is_sound();
    }
}
