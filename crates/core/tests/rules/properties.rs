//! Random sequences of commands by several agents, with time going by: nothing breaks, nothing panics.

use crate::verbs::{question, task, texts};
use crate::world::{ANN, CRITIC, IMPL, INTEGRATOR, OBSERVER, OTHER, PLANNER, WATCHER, World};
use comity_core::command::{
    ClaimWish, Command, ConstraintChanges, GivenAnswer, ImportedTask, IssueKind, LeaseChange,
    MemoryChanges, NewDirective, NewInterface, NewMemory, NewTask, PadWrite, PlannedTask, Question,
    ReportStatus, ReportedIssue, Request, StepVerb, Submission, TaskAnswers, TaskVerb, WorkReport,
};
use comity_core::directive::Trigger;
use comity_core::directive_duration::End;
use comity_core::event::{PadChange, Placed, TaskUpdated};
use comity_core::memory::MemoryType;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::time::{Millis, Timestamp};
use proptest::prelude::*;
use serde_json::json;

/// How many cases to run; `COMITY_LONG=1` runs many more.
pub fn cases(short: u32) -> u32 {
    if std::env::var_os("COMITY_LONG").is_some() { short * 50 } else { short }
}

#[derive(Clone, Copy, Debug)]
enum FenceChoice {
    None,
    Right,
    Stale,
}

/// One command to come, with the time before it; the fence is found when it runs.
#[derive(Clone, Debug)]
pub struct Step {
    pub wait: i64,
    sleeps: bool,
    pub who: &'static str,
    fence: FenceChoice,
    command: Command,
}

impl Step {
    pub fn request(&self, world: &World) -> Request {
        let held = self.command.task_ref().and_then(|id| {
            let mut tasks = world.state.tasks.values();
            let task = tasks.find(|task| task.id.as_str() == id)?;
            task.claim.as_ref().map(|claim| claim.fence.get())
        });
        let own = world.state.tasks.values().find_map(|task| {
            task.claim.as_ref().filter(|c| c.agent.as_str() == self.who).map(|c| c.fence.get())
        });
        let fence = match self.fence {
            FenceChoice::None => None,
            FenceChoice::Right => held.or(own),
            FenceChoice::Stale => Some(3),
        };
        world.request(self.who, fence, self.command.clone())
    }
}

fn any_of<T: Clone + std::fmt::Debug + 'static>(
    list: &'static [T],
) -> impl Strategy<Value = T> + use<T> {
    proptest::sample::select(list)
}

fn id() -> impl Strategy<Value = String> {
    (1..6u32).prop_map(|n| format!("T{n}"))
}

fn files() -> impl Strategy<Value = Vec<String>> {
    let patterns = any_of(&["src/a.rs", "src/b.rs", "src/", "src/*.rs", "docs/", "**/*.md", "x"]);
    proptest::collection::btree_set(patterns, 0..3)
        .prop_map(|set| texts(&set.into_iter().collect::<Vec<_>>()))
}

fn ttl() -> impl Strategy<Value = Option<Millis>> {
    proptest::option::of((1..2000i64).prop_map(Millis::from_secs))
}

/// When something was done elsewhere, around the time of the world.
fn since() -> impl Strategy<Value = Option<Timestamp>> {
    let begin = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    proptest::option::of(
        (-2000..4000i64).prop_map(move |secs| Timestamp::from_ms(begin.ms() + secs * 1000)),
    )
}

fn new_task() -> impl Strategy<Value = NewTask> {
    let depends = proptest::collection::btree_set(id(), 0..2);
    let parent = proptest::option::weighted(0.2, id());
    let role = proptest::option::weighted(0.2, any_of(&[Role::Critic, Role::Implementer]));
    (files(), depends, parent, role, 0..4u8, any::<bool>(), ttl()).prop_map(
        |(files, depends, parent, role, priority, gated, timeout)| NewTask {
            files,
            timeout,
            depends_on: depends.into_iter().collect(),
            parent,
            role,
            priority: Some(Priority::from_rank(priority)),
            gates: if gated { texts(&["tests"]) } else { Vec::new() },
            dod: if gated { texts(&["documented"]) } else { Vec::new() },
            ..task("work")
        },
    )
}

fn asked() -> impl Strategy<Value = Question> {
    let to = any_of(&["person", "planner", IMPL]);
    let default = proptest::option::of(Just("any".to_owned()));
    (proptest::option::of(id()), to, default, proptest::option::of(1..3000i64)).prop_map(
        |(task, to, default, expires)| Question {
            task,
            to: Some(to.to_owned().try_into().unwrap()),
            default,
            expires: expires.map(Millis::from_secs),
            proposes: None,
            ..question("which?")
        },
    )
}

fn reported() -> impl Strategy<Value = WorkReport> {
    let status = any_of(&[ReportStatus::Completed, ReportStatus::Failed, ReportStatus::Blocked]);
    let kind = any_of(&[IssueKind::Blocker, IssueKind::Question, IssueKind::Concern]);
    (status, proptest::collection::vec(kind, 0..3)).prop_map(|(status, kinds)| {
        let issue = |kind| ReportedIssue::new(kind, "which?");
        let issues = kinds.into_iter().map(issue).collect();
        WorkReport { task_id: None, issues, ..crate::results::report(status) }
    })
}

fn work() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => new_task().prop_map(|new| Command::CreateTask(Box::new(new))),
        3 => (proptest::option::of(id()), ttl(), any::<bool>()).prop_map(|(id, ttl, no_lease)| {
            Command::Claim(ClaimWish { id, ttl, no_lease, ..ClaimWish::default() })
        }),
        4 => (id(), ttl()).prop_map(|(id, ttl)| Command::Start { id, ttl, reason: None }),
        4 => (id(), any::<bool>()).prop_map(|(id, keep_leases)| {
            Command::Submit(Submission { id, keep_leases, ..Submission::default() })
        }),
        2 => (id(), reported()).prop_map(|(id, report)| {
            let report = Some(Box::new(report));
            Command::Submit(Submission { id, report, ..Submission::default() })
        }),
        1 => id().prop_map(|id| TaskVerb::Review.on(id, None)),
        3 => id().prop_map(|id| TaskVerb::Approve.on(id, None)),
        3 => id().prop_map(|id| TaskVerb::RequestChanges.on(id, None)),
        2 => id().prop_map(|id| TaskVerb::Merge.on(id, None)),
        2 => id().prop_map(|id| Command::Done {
            id, merged: None, unmerged: false, reason: None,
        }),
        1 => id().prop_map(|id| Command::Land { id, merged: "0bad1dea".into(), reason: None }),
        2 => (id(), 0..3usize, proptest::option::of(1..2000i64)).prop_map(|(id, n, retry)| {
            let questions = texts(&["which?", "when?"][..n.min(2)]);
            let retry_after = retry.map(Millis::from_secs);
            Command::Block { id, needs: Some("help".into()), questions, retry_after, reason: None }
        }),
        1 => id().prop_map(|id| TaskVerb::Unblock.on(id, None)),
        3 => id().prop_map(|id| TaskVerb::Fail.on(id, Some("it broke".into()))),
        1 => id().prop_map(|id| TaskVerb::Release.on(id, None)),
        1 => id().prop_map(|id| TaskVerb::Abandon.on(id, None)),
        1 => id().prop_map(|id| TaskVerb::Requeue.on(id, None)),
        1 => id().prop_map(|id| TaskVerb::Reopen.on(id, Some("again".into()))),
        3 => (id(), any_of(&Status::ALL)).prop_map(|(id, status)| Command::Transition {
            id, status, reason: Some("so".into()), needs: Some("help".into()),
        }),
    ]
}

/// Commands that are made of several.
fn several() -> impl Strategy<Value = Command> {
    prop_oneof![
        1 => id().prop_map(|id| Command::Intervene { id, feedback: "go on".into() }),
        2 => (id(), id(), any_of(&Status::ALL), any_of(&Status::ALL)).prop_map(|(id, on, one, two)| {
            let go = |status| Command::Transition {
                id: id.clone(), status, reason: Some("so".into()), needs: Some("help".into()),
            };
            let depend = Command::Depend { id: id.clone(), on, remove: false, awaits_unknown: false };
            Command::Several { steps: vec![go(one), depend, go(two)], ids: vec![id.clone()] }
        }),
        1 => (id(), 1..9u32).prop_map(|(id, n)| Command::AnswerTask(TaskAnswers {
            id,
            answers: [n, n + 1]
                .map(|n| GivenAnswer { decision: format!("D{n}"), answer: "retry".into() })
                .to_vec(),
            notes: Some("beside".into()),
            text: None,
        })),
        1 => (id(), files()).prop_map(|(id, files)| Command::CreateTasks {
            tasks: vec![
                PlannedTask {
                    key: Some("b".into()),
                    task: NewTask {
                        title: "b".into(), depends_on: vec!["a".into(), id], ..NewTask::default()
                    },
                },
                PlannedTask {
                    key: Some("a".into()),
                    task: NewTask { title: "a".into(), files, ..NewTask::default() },
                },
            ],
        }),
    ]
}

fn lease_ids() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec((1..9u32).prop_map(|n| format!("L{n}")), 1..3)
}

/// What other tools ask for: leases for somebody they name, agents as they describe them, tasks as they stand.
fn by_other_tools() -> impl Strategy<Value = Command> {
    prop_oneof![
        1 => (any_of(&["codex-cli", IMPL, OTHER, ANN]), files(), lease_ids(), 0..3u8, since()).prop_map(
            |(owner, patterns, ids, verb, since)| {
                let command = match verb {
                    0 => LeaseChange::Acquire {
                        patterns, task: None, purpose: None, ttl: None, shared: false,
                    },
                    1 => LeaseChange::Renew { ids, ttl: None },
                    _ => LeaseChange::Release { ids, all: false },
                };
                let owner = crate::world::id(owner);
                Command::LeaseFor { owner, since, command }
            }
        ),
        1 => (any_of(&["codex-cli", OTHER]), any::<bool>()).prop_map(|(who, critic)| {
            Command::AgentDescribe {
                id: crate::world::id(who),
                roles: if critic { vec![Role::Critic] } else { Vec::new() },
                skills: None,
                about: serde_json::Map::from_iter([("model".to_owned(), json!("m"))]),
            }
        }),
        1 => (id(), any_of(&Status::ALL), any::<bool>()).prop_map(|(name, status, with_state)| {
            let assignee = Some(crate::world::id("codex-cli"));
            let task = NewTask { id: Some(format!("x{name}")), assignee, ..task("old work") };
            Command::ImportTask(Box::new(ImportedTask {
                task, status: Some(status), needs: Some("a key".into()), source: "x".into(), with_state,
                ..ImportedTask::default()
            }))
        }),
    ]
}

fn around() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => (files(), proptest::option::of(id()), ttl(), any::<bool>()).prop_map(
            |(patterns, task, ttl, shared)| Command::Lease(LeaseChange::Acquire {
                patterns, task, purpose: None, ttl, shared,
            })
        ),
        1 => (lease_ids(), ttl()).prop_map(|(ids, ttl)| Command::Lease(LeaseChange::Renew { ids, ttl })),
        1 => (lease_ids(), any::<bool>()).prop_map(|(ids, all)| Command::Lease(LeaseChange::Release { ids, all })),
        3 => by_other_tools(),
        1 => id().prop_map(|id| Command::Handoff { id, subtask: None }),
        1 => Just(Command::Heartbeat),
        1 => Just(Command::Sweep),
        2 => (id(), any::<bool>()).prop_map(|(id, pass)| Command::GateRecord {
            id, gate: "tests".into(), pass, report: None, commit: None, new: true,

        }),
        1 => id().prop_map(|id| Command::GateWaive {
            id, gate: "tests".into(), reason: "so".into(),
        }),
        1 => (id(), any::<bool>()).prop_map(|(id, waive)| Command::Check {
            id, item: "1".into(), waive, reason: Some("so".into()),
        }),
        1 => (id(), id(), any::<bool>()).prop_map(|(id, on, remove)| Command::Depend { id, on, remove, awaits_unknown: false }),
        1 => (id(), proptest::option::of(any_of(&[IMPL, OTHER, CRITIC]))).prop_map(|(id, agent)| {
            Command::Assign { id, agent: agent.map(crate::world::id), new: true }
        }),
        1 => (id(), any::<bool>()).prop_map(|(id, start)| Command::Subtask {
            id, step: if start { StepVerb::Start } else { StepVerb::Complete }, text: "a".into(),
        }),
        1 => (id(), files(), 0..4u8).prop_map(|(id, files, rank)| Command::UpdateTask {
            id,
            changes: Box::new(TaskUpdated {
                files: Some(files), priority: Some(Priority::from_rank(rank)),
                gates: Some(texts(&["lint"])), ..TaskUpdated::default()
            }),
            constraints: ConstraintChanges::default(),
            if_match: None,
        }),
        2 => asked().prop_map(|question| Command::DecisionAsk(Box::new(question))),
        3 => (1..9u32, any_of(&["retry", "split", "abandon", "requeue", "any"])).prop_map(
            |(n, answer)| Command::DecisionAnswer { id: format!("D{n}"), answer: answer.into() }
        ),
        3 => several(),
        1 => (id(), any::<bool>()).prop_map(|(id, pass)| {
            let event = json!({"event": "tests_run", "task": id, "result": pass});
            Command::EmitEvent { event: event.as_object().unwrap().clone() }
        }),
        1 => any_of(&[IMPL, OTHER]).prop_map(|who| Command::AgentRegister {
            id: crate::world::id(who),
            roles: vec![Role::Implementer, Role::Critic],
            skills: Vec::new(),
        }),
    ]
}

fn keeping() -> impl Strategy<Value = Command> {
    let memory = || (1..6u32).prop_map(|n| format!("M{n}"));
    let directive = || (1..5u32).prop_map(|n| format!("I{n}"));
    let life = || proptest::option::of((1..90_000i64).prop_map(Millis::from_secs));
    let write = (proptest::option::of(id()), proptest::option::weighted(0.3, memory()), life());
    prop_oneof![
        3 => write.prop_map(|(task, supersedes, expires)| {
            Command::MemoryWrite(Box::new(NewMemory {
                text: "it is so".into(), kind: MemoryType::Fact, scope: None, tags: Vec::new(),
                expires, task, supersedes,
            }))
        }),
        1 => (memory(), life(), any::<bool>()).prop_map(|(id, expires, keep)| {
            let text = Some("it is not".to_owned());
            let changes = MemoryChanges { text, expires, keep, ..MemoryChanges::default() };
            Command::MemoryUpdate { id, changes: Box::new(changes) }
        }),
        1 => memory().prop_map(|id| Command::MemoryForget { id }),
        2 => life().prop_map(|life| Command::DirectiveCreate(Box::new(NewDirective {
            text: "scout".into(), trigger: Trigger::Idle, priority: 1, description: None,
            duration: None, end: life.map_or(End::Never, End::After),
        }))),
        1 => (directive(), proptest::option::of(any::<bool>())).prop_map(|(id, enabled)| {
            Command::DirectiveToggle { id, enabled }
        }),
        1 => directive().prop_map(|id| Command::DirectiveTrigger { id }),
        1 => directive().prop_map(|id| Command::DirectiveDelete { id }),
        2 => posting(),
    ]
}

fn posting() -> impl Strategy<Value = Command> {
    let text = || "it is so".to_owned();
    let version = || proptest::option::of(0..4u64);
    let how = (0..3u8).prop_map(|n| match n {
        0 => PadChange::Append,
        1 => PadChange::Replace,
        _ => PadChange::Section("Plan".into()),
    });
    prop_oneof![
        (files(), proptest::option::of(id())).prop_map(move |(mut paths, task)| {
            paths.push("src".to_owned());
            Command::NoteChange { text: text(), paths, task }
        }),
        any_of(&["all", "critic", IMPL, "T1", "nobody"])
            .prop_map(move |to| { Command::Tell { to: to.to_owned(), text: text() } }),
        (how, version(), proptest::option::of(id())).prop_map(move |(how, if_match, scope)| {
            Command::PadWrite(Box::new(PadWrite { scope, text: text(), how, if_match }))
        }),
        (files(), version(), proptest::option::of(id())).prop_map(
            move |(paths, if_match, task)| {
                Command::InterfacePublish(Box::new(NewInterface {
                    name: "api".into(),
                    text: text(),
                    paths,
                    audience: vec!["T1".into()],
                    task,
                    if_match,
                }))
            }
        ),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let who = any_of(&[
        ANN, ANN, IMPL, IMPL, IMPL, OTHER, OTHER, CRITIC, CRITIC, PLANNER, INTEGRATOR, WATCHER,
        OBSERVER, "new.one",
    ]);
    let fence = prop_oneof![
        6 => Just(FenceChoice::None), 2 => Just(FenceChoice::Right), 1 => Just(FenceChoice::Stale)
    ];
    let wait = prop_oneof![6 => 0..20i64, 2 => 20..1000i64, 1 => 1000..200_000i64];
    let command = prop_oneof![6 => work(), 4 => around(), 1 => keeping()];
    (wait, proptest::bool::weighted(0.03), who, fence, command)
        .prop_map(|(wait, sleeps, who, fence, command)| Step { wait, sleeps, who, fence, command })
}

pub fn any_commands(most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..most)
}

fn play(world: &mut World, steps: &[Step]) {
    for step in steps {
        if step.sleeps {
            world.sleep_host(step.wait);
        } else {
            world.pass(step.wait);
        }
        let request = step.request(world);
        let (events, presence) = (world.log.len(), world.presence.clone());
        // The world checks every invariant after every command.
        if world.run(&request).is_err() {
            // A state that only follows from the log cannot change without an event.
            let by_time = |placed: &Placed| placed.draft.agent.as_str() == "watchdog";
            assert!(world.log[events..].iter().all(by_time), "a refused command changes nothing");
            assert_eq!(world.presence, presence);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(96), ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_commands_breaks_an_invariant(steps in any_commands(60)) {
        play(&mut World::new(), &steps);
    }

    #[test]
    fn nor_does_one_where_expiry_lags_behind(steps in any_commands(60), due_max in 0..3usize) {
        let mut world = World::new();
        world.due_max = due_max;
        play(&mut world, &steps);
    }

    #[test]
    fn nor_does_one_with_the_tightest_limits(steps in any_commands(60)) {
        let mut world = World::new();
        world.policy.max_attempts = 1;
        world.policy.max_gate_failures = 1;
        world.policy.max_review_rounds = 1;
        world.policy.required_gates = texts(&["tests"]);
        play(&mut world, &steps);
    }
}
