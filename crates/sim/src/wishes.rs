//! What agents ask for: mostly sensible for their role and belief, sometimes not at all.

mod fleet;

use crate::chance::Chance;
use crate::crew::{Belief, Member};
use comity_core::command::{
    ClaimWish, Command, FileAction, ImportedTask, IssueKind, LeaseChange, MemoryChanges,
    NewDirective, NewInterface, NewMemory, NewTask, PadWrite, PlannedTask, Question, ReportStatus,
    ReportedEvidence, ReportedIssue, ReportedLine, StepVerb, Submission, TaskVerb, WorkReport,
};
use comity_core::decision::DecisionOption;
use comity_core::directive::Trigger;
use comity_core::directive_duration::End;
use comity_core::event::PadChange;
use comity_core::ids::AgentId;
use comity_core::memory::MemoryType;
use comity_core::observed::{
    ClaimSeen, FileChange, LeaseSeen, MergeSeen, Observed, RulesSeen, WorkSeen,
};
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::{Millis, Timestamp};
use fleet::fleet;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What agents can know by looking: ids by status, open decisions, live leases, the clock.
#[derive(Default)]
pub(crate) struct Sight {
    pub(crate) tasks: Vec<(String, Status)>,
    pub(crate) versions: BTreeMap<String, u64>,
    pub(crate) decisions: Vec<(String, bool)>,
    pub(crate) leases: Vec<String>,
    pub(crate) now: Timestamp,
}

impl Sight {
    fn in_status(&self, status: Status, chance: &mut Chance) -> Option<String> {
        let fitting: Vec<&String> =
            self.tasks.iter().filter(|(_, s)| *s == status).map(|(id, _)| id).collect();
        chance.pick(&fitting).map(|id| (*id).clone())
    }

    fn any(&self, chance: &mut Chance) -> String {
        chance.pick(&self.tasks).map_or_else(|| "T1".to_owned(), |(id, _)| id.clone())
    }
}

/// What a door sees of a command: mostly good work, sometimes nothing, and sometimes of a task that has changed meanwhile.
pub(crate) fn seen(command: &Command, sight: &Sight, chance: &mut Chance) -> Observed {
    let wanted = command.wants_seen();
    if wanted.is_nothing() || chance.percent(3) {
        return Observed::default();
    }
    let id = command.task_ref().unwrap_or_default();
    let task_version = sight.versions.get(id).copied().unwrap_or_default();
    let claim = ClaimSeen { base: "b45e".to_owned(), head: None };
    let work = wanted.work.map(|given| {
        let path = "src/a.rs".to_owned();
        let file = FileChange { path, action: FileAction::Modified, moved_from: None };
        let reported = given.report.as_ref().and_then(|report| report.listed_files());
        let is_listed = reported.is_none_or(|files| !files.is_empty());
        WorkSeen {
            task_version,
            commit: given.commit.clone().unwrap_or_else(|| "c0ffee1".to_owned()),
            base: "b45e".to_owned(),
            files: if is_listed && chance.percent(95) { vec![file] } else { Vec::new() },
            ..WorkSeen::default()
        }
    });
    let merge = wanted.merge.map(|_| MergeSeen {
        task_version,
        merged: "0bad1dea".to_owned(),
        contains: chance.percent(90),
        added: if chance.percent(10) { vec!["src/b.rs".to_owned()] } else { Vec::new() },
        files: Vec::new(),
        subject: chance.percent(50).then(|| "Rename a".to_owned()),
    });
    let lease = wanted.lease.map(|_| LeaseSeen {
        changed: if chance.percent(20) { vec!["src/a.rs".to_owned()] } else { Vec::new() },
        is_ambiguous: chance.percent(5),
    });
    Observed {
        claim: wanted.claim.then_some(claim),
        work,
        merge,
        lease,
        rules: wanted.rules.then_some(RulesSeen::NoneThere),
        ..Observed::default()
    }
}

const PATTERNS: [&str; 16] = [
    "src/a.rs",
    "src/b.rs",
    "src/",
    "src/*.rs",
    "src/**",
    "src/{a,b}.rs",
    "docs/",
    "docs/*.md",
    "docs/intro.md",
    "**/*.md",
    "tests/t?.rs",
    "tests/t1.rs",
    "tests/[a-t]1.rs",
    "Cargo.toml",
    "**/Cargo.*",
    "src/store/**/*.rs",
];

fn pattern(chance: &mut Chance) -> String {
    chance.pick(&PATTERNS).map_or_else(|| "src".to_owned(), |text| (*text).to_owned())
}

fn ttl(chance: &mut Chance) -> Option<Millis> {
    chance.percent(50).then(|| Millis::from_secs(chance.between(5, 1800)))
}

/// Returns what a member does next, and whether it uses its fence.
pub(crate) fn wish(member: &Member, sight: &Sight, chance: &mut Chance) -> (Command, bool) {
    if chance.percent(6) {
        return (odd(member, sight, chance), chance.percent(30));
    }
    match member.role {
        Role::Implementer => match &member.belief {
            Some(belief) => (work(belief, chance), true),
            None => (look_for_work(sight, chance), false),
        },
        Role::Critic => (judge(sight, chance), false),
        Role::Integrator => (integrate(sight, chance), false),
        Role::Planner if chance.percent(20) => (fleet(&sight.any(chance), chance), false),
        Role::Planner => (plan(sight, chance), false),
        Role::Watchdog if chance.percent(60) => (fleet(&sight.any(chance), chance), false),
        Role::Watchdog => (Command::Sweep, false),
        Role::Observer => (Command::CreateTask(Box::new(new_task(sight, chance))), false),
    }
}

fn look_for_work(sight: &Sight, chance: &mut Chance) -> Command {
    if chance.percent(10)
        && let Some(id) = sight.in_status(Status::ChangesRequested, chance)
    {
        return Command::Start { id, ttl: ttl(chance), reason: None };
    }
    let id = if chance.percent(20) { sight.in_status(Status::Queued, chance) } else { None };
    Command::Claim(ClaimWish {
        id,
        ttl: ttl(chance),
        no_lease: chance.percent(5),
        ..ClaimWish::default()
    })
}

fn work(belief: &Belief, chance: &mut Chance) -> Command {
    let id = belief.task.clone();
    if !belief.started {
        return Command::Start { id, ttl: None, reason: None };
    }
    match chance.below(20) {
        0..=5 => Command::Heartbeat,
        6 | 7 => Command::Lease(LeaseChange::Acquire {
            patterns: vec![pattern(chance)],
            task: Some(id),
            purpose: None,
            ttl: ttl(chance),
            shared: chance.percent(20),
        }),
        8 => Command::Note {
            kind: "progress".to_owned(),
            text: "going on".to_owned(),
            task: Some(id),
        },
        9 => Command::Subtask {
            id,
            step: StepVerb::Start,
            text: format!("step {}", chance.below(9)),
        },
        10 | 11 => Command::GateRecord {
            id,
            gate: "tests".to_owned(),
            pass: chance.percent(80),
            report: None,
            commit: None,
            new: true,
        },
        12..=16 => Command::Submit(Submission {
            id,
            commit: None,
            keep_leases: chance.percent(20),
            report: chance.percent(30).then(|| Box::new(report(chance))),
            ..Submission::default()
        }),
        17 => Command::Block {
            id,
            needs: Some("a word".to_owned()),
            questions: vec!["Which way?".to_owned()],
            retry_after: chance.percent(50).then(|| Millis::from_secs(chance.between(1, 3000))),
            reason: None,
        },
        18 => TaskVerb::Fail.on(id, Some("it broke".to_owned())),
        _ => TaskVerb::Release.on(id, None),
    }
}

/// A result contract: mostly good news.
fn report(chance: &mut Chance) -> WorkReport {
    let issue = |kind| ReportedIssue::new(kind, "Which way?");
    let line = |level: &str| ReportedLine::new(level, "went on");
    WorkReport {
        contract: "result".to_owned(),
        task_id: None,
        status: match chance.below(6) {
            0 => ReportStatus::Failed,
            1 => ReportStatus::Blocked,
            _ => ReportStatus::Completed,
        },
        files_modified: Vec::new(),
        lists_files: false,
        log: vec![line("info"), line("tip")],
        issues: match chance.below(4) {
            0 => vec![issue(IssueKind::Question), issue(IssueKind::Concern)],
            1 => vec![issue(IssueKind::Blocker)],
            _ => Vec::new(),
        },
        completed_at: None,
        pr: None,
        evidence: match chance.below(3) {
            0 => Vec::new(),
            said => {
                vec![ReportedEvidence { gate: "tests".to_owned(), pass: said == 1, report: None }]
            }
        },
        other: Map::new(),
        keys: Vec::new(),
    }
}

fn judge(sight: &Sight, chance: &mut Chance) -> Command {
    let Some(id) = sight.in_status(Status::Review, chance) else { return Command::Heartbeat };
    match chance.below(6) {
        0 => TaskVerb::Review.on(id, None),
        1 => TaskVerb::RequestChanges.on(id, Some("not yet".to_owned())),
        2 => Command::GateWaive { id, gate: "tests".to_owned(), reason: "flaky".to_owned() },
        3 => Command::Check {
            id,
            item: "1".to_owned(),
            waive: chance.percent(30),
            reason: Some("fine".to_owned()),
        },
        _ => TaskVerb::Approve.on(id, None),
    }
}

fn integrate(sight: &Sight, chance: &mut Chance) -> Command {
    if let Some(id) = sight.in_status(Status::Merging, chance) {
        return Command::Done { id, merged: None, unmerged: false, reason: None };
    }
    match sight.in_status(Status::Approved, chance) {
        Some(id) if chance.percent(20) => {
            Command::Done { id, merged: None, unmerged: false, reason: None }
        }
        Some(id) if chance.percent(30) => {
            Command::Land { id, merged: "0bad1dea".to_owned(), reason: None }
        }
        Some(id) => TaskVerb::Merge.on(id, None),
        None => Command::Heartbeat,
    }
}

fn plan(sight: &Sight, chance: &mut Chance) -> Command {
    let open: Vec<&String> =
        sight.decisions.iter().filter(|(_, free)| !free).map(|(id, _)| id).collect();
    match chance.below(12) {
        0 | 1 => match chance.pick(&open) {
            Some(id) => {
                let answer = ["retry", "requeue", "abandon", "split"];
                let answer = chance.pick(&answer).map_or("retry", |key| key);
                Command::DecisionAnswer { id: (*id).clone(), answer: answer.to_owned() }
            }
            None => Command::CreateTask(Box::new(new_task(sight, chance))),
        },
        2 => TaskVerb::Requeue.on(failed_or_any(sight, chance), None),
        3 => TaskVerb::Unblock.on(
            sight.in_status(Status::Blocked, chance).unwrap_or_else(|| sight.any(chance)),
            None,
        ),
        6 if chance.percent(20) => keep(&sight.any(chance), chance),
        4 if chance.percent(20) => TaskVerb::Abandon.on(sight.any(chance), Some("no".to_owned())),
        5 => Command::Depend {
            id: sight.any(chance),
            on: sight.any(chance),
            remove: chance.percent(30),
            awaits_unknown: false,
        },
        6 if chance.percent(30) => Command::CreateTasks { tasks: breakdown(sight, chance) },
        _ => Command::CreateTask(Box::new(new_task(sight, chance))),
    }
}

/// Two tasks of which the first waits for the second.
fn breakdown(sight: &Sight, chance: &mut Chance) -> Vec<PlannedTask> {
    let mut first = new_task(sight, chance);
    first.depends_on.push("second".to_owned());
    let second = new_task(sight, chance);
    vec![
        PlannedTask { key: None, task: first },
        PlannedTask { key: Some("second".to_owned()), task: second },
    ]
}

fn failed_or_any(sight: &Sight, chance: &mut Chance) -> String {
    sight.in_status(Status::Failed, chance).unwrap_or_else(|| sight.any(chance))
}

fn new_task(sight: &Sight, chance: &mut Chance) -> NewTask {
    let mut files = Vec::new();
    for _ in 0..chance.below(3) {
        let next = pattern(chance);
        if !files.contains(&next) {
            files.push(next);
        }
    }
    let mut depends_on = Vec::new();
    if chance.percent(30) {
        depends_on.push(sight.any(chance));
    }
    NewTask {
        title: format!("Task {}", chance.below(1000)),
        priority: Some(Priority::from_rank(u8::try_from(chance.below(5)).unwrap_or(2))),
        files,
        depends_on,
        parent: chance.percent(5).then(|| sight.any(chance)),
        gates: if chance.percent(40) { vec!["tests".to_owned()] } else { Vec::new() },
        dod: if chance.percent(20) { vec!["documented".to_owned()] } else { Vec::new() },
        deliverable: if chance.percent(20) { Deliverable::Document } else { Deliverable::Code },
        timeout: chance.percent(20).then(|| Millis::from_secs(chance.between(5, 3600))),
        ..NewTask::default()
    }
}

/// Things that make no sense for the member, or are not allowed to it.
fn odd(member: &Member, sight: &Sight, chance: &mut Chance) -> Command {
    let id = sight.any(chance);
    match chance.below(20) {
        0 => TaskVerb::Approve.on(id, None),
        1 => Command::Done { id, merged: None, unmerged: chance.percent(30), reason: None },
        2 => Command::Start { id, ttl: ttl(chance), reason: None },
        3 => Command::Lease(LeaseChange::Acquire {
            patterns: vec![pattern(chance), pattern(chance)],
            task: None,
            purpose: Some("odd".to_owned()),
            ttl: ttl(chance),
            shared: chance.percent(40),
        }),
        4 => Command::Lease(LeaseChange::Release {
            ids: chance.pick(&sight.leases).cloned().into_iter().collect(),
            all: chance.percent(20),
        }),
        5 => Command::Lease(LeaseChange::Renew {
            ids: chance.pick(&sight.leases).cloned().into_iter().collect(),
            ttl: ttl(chance),
        }),
        6 => TaskVerb::Reopen.on(id, Some("again".to_owned())),
        7 => Command::DecisionAsk(Box::new(question(chance))),
        8 => {
            let all: Vec<&String> = sight.decisions.iter().map(|(id, _)| id).collect();
            let id = chance.pick(&all).map_or_else(|| "D1".to_owned(), |id| (*id).clone());
            Command::DecisionAnswer { id, answer: "a".to_owned() }
        }
        9 => Command::EmitEvent { event: reported(&id, chance) },
        10 => {
            let statuses = Status::ALL;
            let status = chance.pick(&statuses).copied().unwrap_or(Status::Done);
            Command::Transition {
                id,
                status,
                reason: Some("odd".to_owned()),
                needs: Some("it".to_owned()),
            }
        }
        11 => {
            let id = sight.in_status(Status::Blocked, chance).unwrap_or(id);
            Command::Intervene { id, feedback: "go on".to_owned() }
        }
        12 => Command::Assign {
            id,
            agent: chance.percent(50).then(|| member.id.clone()),
            new: chance.percent(50),
        },
        13..=15 => by_other_tools(id, sight, chance),
        _ => keep(&id, chance),
    }
}

/// When a tool took a lease: now, before, or by a clock that runs ahead.
fn since(sight: &Sight, chance: &mut Chance) -> Option<Timestamp> {
    let apart = chance.between(0, 2_000_000) - 1_800_000;
    chance.percent(60).then(|| Timestamp::from_ms(sight.now.ms() + apart))
}

/// What the files and doors of other systems ask for.
fn by_other_tools(id: String, sight: &Sight, chance: &mut Chance) -> Command {
    let Ok(somebody) = AgentId::parse(&format!("tool-{}", chance.below(3))) else {
        return Command::Heartbeat;
    };
    match chance.below(6) {
        0 => Command::LeaseFor {
            owner: somebody,
            since: since(sight, chance),
            command: LeaseChange::Acquire {
                patterns: vec![pattern(chance)],
                task: None,
                purpose: None,
                ttl: ttl(chance),
                shared: false,
            },
        },
        1 => Command::LeaseFor {
            owner: somebody,
            since: None,
            command: LeaseChange::Release {
                ids: chance.pick(&sight.leases).cloned().into_iter().collect(),
                all: false,
            },
        },
        2 => Command::AgentDescribe {
            id: somebody,
            roles: Vec::new(),
            skills: Some(vec!["rust".to_owned()]),
            about: Map::new(),
        },
        3 => Command::ImportTask(Box::new(ImportedTask {
            task: NewTask {
                id: Some(format!("old-{}", chance.below(1000))),
                title: "old work".to_owned(),
                assignee: Some(somebody),
                ..NewTask::default()
            },
            status: chance.pick(&Status::ALL).copied(),
            needs: Some("a key".to_owned()),
            branch: None,
            source: "elsewhere".to_owned(),
            with_state: true,
            ..ImportedTask::default()
        })),
        4 => Command::Handoff { id, subtask: None },
        _ => Command::Several {
            steps: vec![
                Command::Assign { id: id.clone(), agent: Some(somebody), new: true },
                Command::Transition {
                    id: id.clone(),
                    status: chance.pick(&Status::ALL).copied().unwrap_or(Status::Claimed),
                    reason: Some("edited".to_owned()),
                    needs: Some("it".to_owned()),
                },
            ],
            ids: vec![id],
        },
    }
}

/// Memories and directives: most by those who may, on ids that are or were there.
fn keep(task: &str, chance: &mut Chance) -> Command {
    let memory = format!("M{}", chance.between(1, 12));
    let directive = format!("I{}", chance.between(1, 6));
    let life = |chance: &mut Chance| {
        chance.percent(60).then(|| Millis::from_secs(chance.between(1, 7200)))
    };
    match chance.below(14) {
        9 => Command::NoteChange {
            text: "renamed it".to_owned(),
            paths: vec![pattern(chance)],
            task: chance.percent(50).then(|| task.to_owned()),
        },
        10 => Command::Tell {
            to: chance.pick(&["all", "critic", task]).map_or("all", |to| to).to_owned(),
            text: "look".to_owned(),
        },
        11 => Command::PadWrite(Box::new(PadWrite {
            scope: chance.percent(50).then(|| task.to_owned()),
            text: format!("line {}", chance.below(9)),
            how: if chance.percent(50) {
                PadChange::Append
            } else {
                PadChange::Section(format!("Part {}", chance.below(3)))
            },
            if_match: chance.percent(20).then(|| chance.below(9)),
        })),
        12 => Command::InterfacePublish(Box::new(NewInterface {
            name: format!("api-{}", chance.below(3)),
            text: format!("fn f{}()", chance.below(9)),
            paths: vec![pattern(chance)],
            audience: chance.percent(50).then(|| task.to_owned()).into_iter().collect(),
            task: chance.percent(50).then(|| task.to_owned()),
            if_match: None,
        })),
        0..=2 => Command::MemoryWrite(Box::new(NewMemory {
            text: format!("it happened {} times", chance.below(5)),
            kind: chance.pick(&MemoryType::ALL).copied().unwrap_or(MemoryType::Fact),
            scope: chance.percent(50).then(|| pattern(chance)),
            tags: Vec::new(),
            expires: life(chance),
            task: chance.percent(30).then(|| task.to_owned()),
            supersedes: chance.percent(30).then_some(memory),
        })),
        3 => {
            let changes = MemoryChanges {
                text: Some("it never happened".to_owned()),
                expires: life(chance),
                ..MemoryChanges::default()
            };
            Command::MemoryUpdate { id: memory, changes: Box::new(changes) }
        }
        4 => Command::MemoryForget { id: memory },
        5 => Command::DirectiveCreate(Box::new(NewDirective {
            text: "look around".to_owned(),
            trigger: Trigger::Idle,
            priority: chance.below(9),
            description: None,
            duration: None,
            end: life(chance).map_or(End::Never, End::After),
        })),
        6 => Command::DirectiveToggle { id: directive, enabled: None },
        7 => Command::DirectiveTrigger { id: directive },
        _ => Command::DirectiveDelete { id: directive },
    }
}

fn question(chance: &mut Chance) -> Question {
    let option = |key: &str| DecisionOption { key: key.to_owned(), label: None, description: None };
    Question {
        question: "Which?".to_owned(),
        task: None,
        options: vec![option("a"), option("b")],
        kind: None,
        context: None,
        default: chance.percent(50).then(|| "a".to_owned()),
        to: None,
        expires: chance.percent(70).then(|| Millis::from_secs(chance.between(1, 4000))),
        proposes: None,
    }
}

fn reported(task: &str, chance: &mut Chance) -> Map<String, Value> {
    let mut event = Map::new();
    let names = ["tests_run", "status_changed", "task_created", "commit_pushed"];
    let name = chance.pick(&names).map_or("tests_run", |name| name);
    event.insert("event".to_owned(), Value::from(name));
    event.insert("task".to_owned(), Value::from(task));
    event
        .insert("result".to_owned(), Value::from(if chance.percent(70) { "pass" } else { "fail" }));
    event.insert("new_status".to_owned(), Value::from("done"));
    event
}
