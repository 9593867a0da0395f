//! Where work begins and ends, noted in git as claims come and go.

use super::task_of;
use crate::context::Context;
use crate::env;
use comity_core::command::{Command, Request};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::time::Timestamp;
use comity_core::view::TaskView;
use comity_engine::{Engine, EventFilter, Page, Query, Since};
use comity_guard::notes::{self, Claim, Ended, Past};
use serde_json::Value;
use std::path::Path;

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
    let mut past = History { context, engine, tree, task: &task };
    let noted = notes::begins(&git, tree, claim, &mut past).and_then(|is_first| {
        if is_first && task.constraints.no_git_commit {
            notes::was_there_before(&git, tree, &task.id)
        } else {
            Ok(())
        }
    });
    said(noted)
}

/// What the log tells of a task's earlier claims.
struct History<'a> {
    context: &'a Context,
    engine: &'a mut Engine,
    tree: &'a Path,
    task: &'a TaskView,
}

impl History<'_> {
    fn events(&mut self, name: &str, since: u64) -> Vec<Value> {
        events(self.context, self.engine, &self.task.id, name, since)
    }
}

impl Past for History<'_> {
    /// Tells whether a task was done or given up since an earlier claim: what was done then is no part of what begins now.
    fn finished_since(&mut self, fence: u64) -> bool {
        let finished =
            |event: &Value| matches!(text(event, "new_status"), Some("done" | "abandoned"));
        self.events("status_changed", fence).iter().any(finished)
    }

    fn ended(&mut self, fence: u64) -> Option<Ended> {
        let claims = self.events("task_claimed", fence.saturating_sub(1));
        let claim = claims.first().filter(|event| number(event, "fence") == Some(fence))?;
        let here = text(claim, "host") == env::host().as_deref()
            && text(claim, "workspace") == Some(&*self.tree.to_string_lossy());
        if !here {
            return None;
        }
        let moves = self.events("status_changed", fence);
        let ends =
            |event: &&Value| !matches!(text(event, "new_status"), Some("claimed" | "in_progress"));
        let end = moves.iter().find(ends)?;
        let at = seconds(end, "ts")?;
        let reclaims = self.events("locks_reclaimed", fence);
        let until = number(end, "seq").unwrap_or_default();
        let expired = reclaims.iter().find(|event| number(event, "seq").is_some_and(|n| n < until));
        let Some(expired) = expired else { return Some(Ended { at, unnoticed: false }) };
        // It is written when somebody next comes by, which may be much later.
        let ttl = number(claim, "ttl").and_then(|ms| i64::try_from(ms / 1000).ok()).unwrap_or(0);
        let expiry = seconds(expired, "last_seen").map(|seen| seen.saturating_add(ttl));
        let unnoticed = text(claim, "assignee") == self.task.assignee.as_deref();
        Some(Ended { at: expiry.map_or(at, |expiry| expiry.min(at)), unnoticed })
    }
}

fn text<'a>(event: &'a Value, key: &str) -> Option<&'a str> {
    event.get(key).and_then(Value::as_str)
}

fn number(event: &Value, key: &str) -> Option<u64> {
    event.get(key).and_then(Value::as_u64)
}

/// Reads a time of an event, in seconds.
pub(super) fn seconds(event: &Value, key: &str) -> Option<i64> {
    text(event, key).and_then(Timestamp::parse).map(|time| time.ms() / 1000)
}

/// Lists a task's events of one name after a seq.
pub(super) fn events(
    context: &Context,
    engine: &mut Engine,
    task: &str,
    name: &str,
    since: u64,
) -> Vec<Value> {
    let filter = EventFilter {
        task: Some(task.to_owned()),
        event: Some(name.to_owned()),
        since: Some(Since::Seq(since)),
        page: Page { limit: Some(500), after: None },
        ..EventFilter::default()
    };
    let answer = engine.query(&context.asker(), Query::Events(filter)).ok();
    let events = answer.as_ref().and_then(|answer| answer.get("events")).and_then(Value::as_array);
    events.cloned().unwrap_or_default()
}
