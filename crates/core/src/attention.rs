//! What needs somebody. The list of `status` and the inbox are this one function: an item is there as long as its cause is.

use crate::decide::REVIEW_GATE;
use crate::decision::{Decision, DecisionPurpose};
use crate::facts::Moment;
use crate::hint::{Hint, op};
use crate::ids::{AgentId, Seq, TaskId};
use crate::lease::Lease;
use crate::limits;
use crate::policy::Policy;
use crate::run::{Run, RunState};
use crate::status::Status;
use crate::task::{CheckState, Task};
use crate::time::{Millis, Timestamp};
use crate::view::gates;
use crate::word_enum::word_enum;

word_enum! {
    /// Why something needs somebody, the most urgent first. The fleet's kinds are among them.
    pub enum Kind {
        Decision => "decision",
        RunWaiting => "run-waiting",
        Exhausted => "exhausted",
        Stuck => "stuck",
        Clock => "clock",
        Budget => "budget",
        RunPaused => "run-paused",
        RedGate => "red_gate",
        MergeEjected => "merge-ejected",
        TargetDirty => "target-dirty",
        Failed => "failed",
        Blocked => "blocked",
        Review => "review",
        Merge => "merge",
        WorkerLost => "worker-lost",
        Silent => "silent",
        StrayLease => "stray_lease",
        WriteSeen => "write_seen",
        SentBack => "sent_back",
    }
}

impl Kind {
    /// Returns the kind in words for people.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Decision => "Decision",
            Kind::RunWaiting => "Run waits",
            Kind::Exhausted => "Exhausted",
            Kind::Stuck => "Stuck",
            Kind::Clock => "Clock",
            Kind::Budget => "Budget",
            Kind::RunPaused => "Run paused",
            Kind::RedGate => "Red gate",
            Kind::MergeEjected => "Sent out",
            Kind::TargetDirty => "Not clean",
            Kind::Failed => "Failed",
            Kind::Blocked => "Blocked",
            Kind::Review => "Review",
            Kind::Merge => "Merge",
            Kind::WorkerLost => "Worker lost",
            Kind::Silent => "Silent",
            Kind::StrayLease => "Stray lease",
            Kind::WriteSeen => "Write seen",
            Kind::SentBack => "Sent back",
        }
    }
}

/// A task of the scene, with what was found out about it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub task: Task,
    /// When it came into its status.
    pub since: Timestamp,
    /// The last sign of life of its holder, and when the claim ends without another one.
    pub life: Option<(Timestamp, Timestamp)>,
}

/// A lease that no claim ends, with the last sign of life of its owner.
#[derive(Clone, Debug)]
pub struct Loose {
    pub lease: Lease,
    pub last_seen: Timestamp,
    /// Its owner holds a task.
    pub works: bool,
}

/// A write of somebody else to a path while its holder holds it.
#[derive(Clone, Debug)]
pub struct Write {
    pub seq: Seq,
    pub at: Timestamp,
    pub by: AgentId,
    pub path: String,
    pub holder: String,
}

/// Everything that may need somebody.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub decisions: Vec<(Decision, Option<String>)>,
    pub tasks: Vec<Seen>,
    pub loose: Vec<Loose>,
    pub writes: Vec<Write>,
    /// The runs that have not ended.
    pub runs: Vec<Run>,
    /// Workers that are not heard of any more, with their last signs of life.
    pub lost_workers: Vec<(AgentId, Timestamp)>,
}

/// One thing that needs somebody.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: Kind,
    pub id: String,
    pub task: Option<TaskId>,
    /// The title of the task that it is about.
    pub title: Option<String>,
    pub reason: String,
    pub since: Timestamp,
    pub deadline: Option<Timestamp>,
    /// More than half of the time until the deadline is gone.
    pub urgent: bool,
    pub agent: Option<AgentId>,
    pub path: Option<String>,
    pub event: Option<Seq>,
    /// What can be done about it; empty where that depends on who asks.
    pub next: Hint,
}

/// Lists what needs the viewer: by kind, what is urgent first, then what waits for the longest time.
pub fn attention(scene: &Scene, viewer: &AgentId, moment: Moment, policy: &Policy) -> Vec<Item> {
    let now = moment.now;
    let mut items: Vec<Item> = Vec::new();
    items.extend(clock(moment));
    items.extend(scene.decisions.iter().map(|(decision, about)| asked(decision, about, now)));
    let waits =
        |task: &Task| scene.decisions.iter().any(|(open, _)| open.task.as_ref() == Some(&task.id));
    let tasks = scene.tasks.iter();
    let is_anothers = |task: &Task| {
        let is_mine = |agent: &Option<AgentId>| agent.as_ref() == Some(viewer);
        // Who took a review does it, and who is to change the work does that.
        (task.status == Status::Review && task.review_taken && !is_mine(&task.reviewer))
            || (task.status == Status::ChangesRequested && !is_mine(&task.assignee))
    };
    let tasks = tasks.filter(|seen| !is_anothers(&seen.task));
    items.extend(tasks.filter_map(|seen| of_task(seen, waits(&seen.task), now, policy)));
    items.extend(scene.loose.iter().filter_map(|loose| stray(loose, now)));
    items.extend(scene.writes.iter().map(written));
    items.extend(scene.runs.iter().filter_map(waiting));
    items.extend(scene.lost_workers.iter().map(lost));
    items.sort_by_cached_key(|item| rank(item.kind, item.urgent, item.since, &item.id));
    items
}

/// Where something comes among what needs somebody, also where lists of several repositories are put together.
pub fn rank(
    kind: Kind,
    urgent: bool,
    since: Timestamp,
    id: &str,
) -> (Kind, bool, Timestamp, String) {
    (kind, !urgent, since, id.to_owned())
}

/// Tells whether more than half of a stretch of time is gone.
pub fn is_half_gone(from: Timestamp, until: Timestamp, now: Timestamp) -> bool {
    now.since(from).ms() > until.since(from).ms() / 2
}

fn clock(moment: Moment) -> Option<Item> {
    let ahead = moment.ahead();
    (ahead > limits::CLOCK_SLACK).then(|| Item {
        kind: Kind::Clock,
        id: "log".to_owned(),
        task: None,
        title: None,
        reason: format!(
            "the log is {ahead} ahead of the clock, so nothing expires; if the clock is right, a person lets doctor fix the log"
        ),
        since: moment.clock,
        deadline: None,
        urgent: false,
        agent: None,
        path: None,
        event: None,
        next: op("doctor").flag("fix").into(),
    })
}

fn asked(decision: &Decision, about: &Option<String>, now: Timestamp) -> Item {
    let kind = match decision.purpose {
        DecisionPurpose::Question => Kind::Decision,
        DecisionPurpose::Exhausted => Kind::Exhausted,
        DecisionPurpose::Grace => Kind::Stuck,
        DecisionPurpose::Budget => Kind::Budget,
    };
    let urgent = |at| is_half_gone(decision.created_at, at, now);
    let (by, to) = (&decision.asked_by, decision.to.as_str());
    Item {
        kind,
        id: decision.id.to_string(),
        task: decision.task.clone(),
        title: about.clone(),
        reason: format!("{by} asks {to}: {}", decision.question),
        since: decision.created_at,
        deadline: decision.expires_at,
        urgent: decision.expires_at.is_some_and(urgent),
        agent: Some(by.clone()),
        path: None,
        event: None,
        next: op("decision.answer").id(&decision.id).ask("answer", "ANSWER").into(),
    }
}

/// A task that waits for an answer is there once, as the question.
fn of_task(seen: &Seen, waits: bool, now: Timestamp, policy: &Policy) -> Option<Item> {
    let task = &seen.task;
    let title = &task.title;
    let red = || {
        let all = gates(task, policy);
        let failed = all.into_iter().find(|gate| gate.required && gate.state == CheckState::Failed);
        failed.filter(|gate| gate.name != REVIEW_GATE)
    };
    let item = |kind, reason: String| Item {
        kind,
        id: task.id.to_string(),
        task: Some(task.id.clone()),
        title: Some(title.clone()),
        reason,
        since: seen.since,
        deadline: None,
        urgent: false,
        agent: task.assignee.clone(),
        path: None,
        event: None,
        next: Hint::default(),
    };
    match task.status {
        Status::Blocked if waits => None,
        Status::Blocked => {
            let needs = task.block.as_ref().map_or("", |block| block.needs.as_str());
            Some(item(Kind::Blocked, format!("{title} needs: {needs}")))
        }
        Status::Failed => {
            let error = task.last_error.as_deref().unwrap_or("the attempt failed");
            Some(item(Kind::Failed, format!("{title}: {error}")))
        }
        Status::Review => Some(item(Kind::Review, format!("{title} is in review"))),
        Status::Approved | Status::Merging => match red() {
            Some(gate) => {
                Some(item(Kind::RedGate, format!("{title}: the gate {} failed", gate.name)))
            }
            None if task.status == Status::Approved => {
                Some(item(Kind::Merge, format!("{title} is in approved")))
            }
            None => None,
        },
        Status::ChangesRequested => {
            let said = task.feedback.as_ref().map_or("", |feedback| feedback.words());
            Some(item(Kind::SentBack, format!("{title}: {said}")))
        }
        Status::Claimed | Status::InProgress => {
            let (last, until) = seen.life?;
            let holder = task.claim.as_ref()?.agent.clone();
            is_half_gone(last, until, now).then(|| Item {
                since: last,
                deadline: Some(until),
                agent: Some(holder.clone()),
                ..item(Kind::Silent, format!("{holder} gives no sign of life"))
            })
        }
        Status::Queued | Status::Done | Status::Abandoned => None,
    }
}

/// A lease of somebody who holds no task and gives no sign of life.
fn stray(loose: &Loose, now: Timestamp) -> Option<Item> {
    let lease = &loose.lease;
    let until = loose.last_seen.plus(lease.ttl);
    let is_stray = !loose.works && is_half_gone(loose.last_seen, until, now);
    is_stray.then(|| Item {
        kind: Kind::StrayLease,
        id: lease.id.to_string(),
        task: None,
        title: None,
        reason: format!("{} holds {} without a task", lease.owner, lease.path),
        since: loose.last_seen,
        deadline: Some(until),
        urgent: false,
        agent: Some(lease.owner.clone()),
        path: Some(lease.path.clone()),
        event: None,
        next: op("lease.release").id(&lease.id).into(),
    })
}

/// A run that waits for somebody.
/// A worker that neither works nor has left: what it had goes on elsewhere, and somebody looks at its host.
fn lost((worker, last_seen): &(AgentId, Timestamp)) -> Item {
    Item {
        kind: Kind::WorkerLost,
        id: worker.to_string(),
        task: None,
        title: None,
        reason: format!("{worker} is not heard of; look at its host and start it again there"),
        since: *last_seen,
        deadline: None,
        urgent: false,
        agent: Some(worker.clone()),
        path: None,
        event: None,
        next: op("workers").into(),
    }
}

fn waiting(run: &Run) -> Option<Item> {
    let kind = match run.state {
        RunState::Waiting => Kind::RunWaiting,
        RunState::Paused if run.waiting_on.is_none() => Kind::RunPaused,
        RunState::Paused
        | RunState::Queued
        | RunState::Starting
        | RunState::Running
        | RunState::Finishing
        | RunState::Succeeded
        | RunState::Failed
        | RunState::Stopped
        | RunState::Lost => return None,
    };
    let next = match run.waiting_on {
        Some(decision) => op("decision.answer").id(&decision).ask("answer", "ANSWER"),
        None => op("run.resume").id(&run.id),
    };
    let why = run.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    Some(Item {
        kind,
        id: run.id.to_string(),
        task: Some(run.task.clone()),
        title: None,
        reason: format!("{} on {} is {}{why}", run.agent, run.task, run.state),
        since: run.alive_since(),
        deadline: None,
        urgent: false,
        agent: None,
        path: None,
        event: None,
        next: next.into(),
    })
}

fn written(write: &Write) -> Item {
    Item {
        kind: Kind::WriteSeen,
        id: write.path.clone(),
        task: None,
        title: None,
        reason: format!("{} wrote {}, which {} holds", write.by, write.path, write.holder),
        since: write.at,
        deadline: None,
        urgent: false,
        agent: Some(write.by.clone()),
        path: Some(write.path.clone()),
        event: Some(write.seq),
        next: op("why").arg("of", &write.path).into(),
    }
}

/// How long a write that was seen stays of interest.
pub const WRITE_SEEN_LIFE: Millis = Millis::from_secs(86_400);
