//! Where work begins and ends, noted in git as claims come and go.

use super::task_of;
use crate::context::Context;
use comity_core::command::{Command, Request};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::view::TaskView;
use comity_engine::{Engine, EventFilter, Page, Query, Since};
use comity_guard::notes::{self, Claim};
use serde_json::Value;

/// Tells whether a command, or one of its steps, is such a one.
fn has(request: &Request, is: impl Fn(&Command) -> bool) -> bool {
    match &request.command {
        Command::Several { steps, .. } => steps.iter().any(is),
        command => is(command),
    }
}

/// A claim that a command may end.
pub(super) struct Ends {
    task: String,
    fence: u64,
}

impl Ends {
    /// Looks whether a command ends a claim of the caller. Where somebody else ends it, this work tree does not tell where the
    /// work is.
    pub(super) fn with(context: &Context, engine: &mut Engine, request: &Request) -> Option<Ends> {
        context.git()?;
        let id = ended(&request.command)?;
        let answer = engine.query(&context.asker(), Query::Task { id: id.to_owned() }).ok()?;
        let task = task_of(&answer).ok()?;
        let claim = task.claim.filter(|claim| claim.agent == request.actor.as_str())?;
        let is_code = task.deliverable == Deliverable::Code.as_str();
        is_code.then_some(Ends { task: task.id, fence: claim.fence })
    }

    /// Notes where it ended; the command stands even when that cannot be noted.
    pub(super) fn note(&self, context: &Context, answer: &Value) -> Option<String> {
        let (git, tree) = context.git()?;
        let task = task_of(answer).ok()?;
        if task.claim.is_some() {
            return None;
        }
        let commits = task.status == Status::Review && !task.constraints.no_git_commit;
        let handed_in = task.commit.as_deref().filter(|_| commits);
        let claim = Claim { task: &self.task, fence: self.fence };
        said(notes::ends(&git, tree, claim, handed_in))
    }
}

fn said(noted: Result<(), Refusal>) -> Option<String> {
    noted.err().map(|failed| format!("note: {}", failed.message))
}

/// Returns the task whose claim a command may end.
fn ended(command: &Command) -> Option<&str> {
    match command {
        Command::Submit(submission) => Some(&submission.id),
        Command::Block { id, .. }
        | Command::Fail { id, .. }
        | Command::Release { id, .. }
        | Command::Abandon { id, .. }
        | Command::Transition { id, .. } => Some(id),
        Command::Several { steps, .. } => steps.iter().find_map(ended),
        _ => None,
    }
}

/// Tells whether work may begin with a command.
pub(super) fn may_begin(request: &Request) -> bool {
    has(request, |command| {
        use Status::{Claimed, InProgress};
        matches!(
            command,
            Command::Claim(_)
                | Command::Start { .. }
                | Command::Transition { status: Claimed | InProgress, .. }
        )
    })
}

/// Notes where the work begins; the command stands even when that cannot be noted.
pub(super) fn note_begin(context: &Context, engine: &mut Engine, answer: &Value) -> Option<String> {
    let (git, tree) = context.git()?;
    let task = task_of(answer).ok()?;
    let fence = task.claim.as_ref().map(|claim| claim.fence)?;
    if task.deliverable != Deliverable::Code.as_str() {
        return None;
    }
    let claim = Claim { task: &task.id, fence };
    let finished = |since| finished_since(context, engine, &task, since);
    let noted = notes::begins(&git, tree, claim, finished).and_then(|is_first| {
        if is_first && task.constraints.no_git_commit {
            notes::was_there_before(&git, tree, &task.id)
        } else {
            Ok(())
        }
    });
    said(noted)
}

/// Tells whether a task was done or given up since an earlier claim: what was done then is no part of what begins now.
fn finished_since(context: &Context, engine: &mut Engine, task: &TaskView, seq: u64) -> bool {
    let filter = EventFilter {
        task: Some(task.id.clone()),
        event: Some("status_changed".to_owned()),
        since: Some(Since::Seq(seq)),
        page: Page { limit: Some(500), after: None },
        ..EventFilter::default()
    };
    let Ok(answer) = engine.query(&context.asker(), Query::Events(filter)) else { return false };
    let events = answer.get("events").and_then(Value::as_array);
    let finished = |event: &Value| {
        let status = event.get("new_status").and_then(Value::as_str);
        matches!(status, Some("done" | "abandoned"))
    };
    events.is_some_and(|events| events.iter().any(finished))
}
