//! What a task may change: noted when the work begins, checked when it is handed in and on request.

use super::commit_message;
use super::push;
use super::task_git::task_of;
use crate::args::GuardCommand;
use crate::context::Context;
use crate::git::{Git, snapshot};
use crate::human::Shape;
use crate::output::Reply;
use comity_core::command::ReportedFile;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Constraints, Deliverable};
use comity_core::view::TaskView;
use comity_engine::Query;
use comity_guard::base::{Earlier, remember};
use comity_guard::check::{Findings, Work, check};
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(context: &Context, command: GuardCommand) -> Result<Reply, Refusal> {
    match command {
        GuardCommand::Check { id } => check_now(context, id),
        GuardCommand::Push { remote } => push::run(context, &remote),
        GuardCommand::Commit { message_file } => commit_message::check(&message_file),
    }
}

/// Notes where the work begins. A repeated command must not move it.
pub(super) fn at_claim(context: &Context, answer: &Value) -> Option<String> {
    let earlier = if context.has_key() { Earlier::Stays } else { Earlier::Goes };
    note_base(context, answer, earlier)
}

/// Notes where the work begins when it was claimed on the way.
pub(super) fn at_start(context: &Context, answer: &Value) -> Option<String> {
    let task = task_of(answer).ok()?;
    let fresh = task.claim.as_ref().is_some_and(|claim| claim.claimed_at == task.updated_at);
    if fresh { note_base(context, answer, Earlier::Stays) } else { None }
}

fn note_base(context: &Context, answer: &Value, earlier: Earlier) -> Option<String> {
    let (git, tree) = context.git()?;
    let task = task_of(answer).ok()?;
    if task.deliverable != Deliverable::Code.as_str() {
        return None;
    }
    let failed = remember(&git, tree, &task.id, earlier).err()?;
    Some(format!("note: {}", failed.message))
}

/// Checks work that is handed in. One that is not under way is left to the rules to refuse, or was
/// handed in before and gets its first answer again.
pub(super) fn at_submit(
    context: &Context,
    tree: &Path,
    task: &TaskView,
    commit: &str,
    is_snapshot: bool,
    reported: Option<&[ReportedFile]>,
) -> Result<Option<String>, Refusal> {
    let holder = task.claim.as_ref().is_some_and(|claim| claim.agent == context.actor.as_str());
    let stale = context.fence().is_some_and(|fence| Some(fence.get()) != task.fence);
    let may = (holder || context.actor.is_person()) && !stale;
    if task.status != Status::InProgress || !may {
        return Ok(None);
    }
    let findings = examine(tree, task, commit, is_snapshot, reported)?;
    if let Some(refusal) = findings.refusal(&task.id) {
        return Err(refusal);
    }
    let wanted = task.constraints != Constraints::default() || reported.is_some();
    let untold = findings.base.is_none() && wanted;
    Ok(untold.then(|| {
        "note: git cannot tell where this work began, so what it changes was not checked".to_owned()
    }))
}

fn examine(
    tree: &Path,
    task: &TaskView,
    commit: &str,
    is_snapshot: bool,
    reported: Option<&[ReportedFile]>,
) -> Result<Findings, Refusal> {
    check(&Work {
        tree,
        task: &task.id,
        commit,
        is_snapshot,
        constraints: &task.constraints,
        reported,
        round: task.round,
    })
}

/// Checks the work tree as it is, committed or not.
fn check_now(context: &Context, id: Option<String>) -> Result<Reply, Refusal> {
    let id = match id {
        Some(id) => id,
        None => held(context)?,
    };
    let task = task_of(&context.query(Query::Task { id })?)?;
    let Some((git, tree)) = context.git() else {
        return Err(
            Refusal::input("there is no git repository to check").hint("run it in the work tree")
        );
    };
    if task.deliverable != Deliverable::Code.as_str() {
        let answer = json!({"ok": true, "task": task.id, "base": null, "commit": null, "files": [],
                            "violations": []});
        let words = format!("{} delivers no code; nothing to check\n", task.id);
        return Ok(Reply::new(answer, Shape::Text(words)));
    }
    let findings = examine(tree, &task, &what_is_there(&git, tree, &task)?, true, None)?;
    if let Some(refusal) = findings.refusal(&task.id) {
        return Err(refusal);
    }
    let changed = findings.files.len();
    let words = match &findings.base {
        Some(base) => {
            let short: String = base.chars().take(10).collect();
            format!(
                "{} is within its constraints: {changed} files changed since {short}\n",
                task.id
            )
        }
        None => format!("{}: git cannot tell where the work began\n", task.id),
    };
    let answer = json!({
        "ok": true,
        "task": task.id,
        "base": findings.base,
        "commit": findings.commit,
        "files": findings.files,
        "violations": findings.violations,
    });
    Ok(Reply::new(answer, Shape::Text(words)))
}

/// The work tree with what is not committed yet; the commit itself when nothing is.
fn what_is_there(git: &Git, tree: &Path, task: &TaskView) -> Result<String, Refusal> {
    let clean = git.line(&["status", "--porcelain"]).is_none();
    match git.commit("HEAD").filter(|_| clean) {
        Some(head) => Ok(head),
        None => snapshot(tree, &task.id),
    }
}

/// The one task that the caller holds.
fn held(context: &Context) -> Result<String, Refusal> {
    let id = context.actor.to_string();
    let known = context.query(Query::Agent { id });
    let tasks = match known {
        Ok(answer) => answer.pointer("/agent/holds/tasks").and_then(Value::as_array).cloned(),
        Err(refusal) if refusal.code == Code::NotFound => None,
        Err(refusal) => return Err(refusal),
    };
    match tasks.unwrap_or_default().as_slice() {
        [Value::String(one)] => Ok(one.clone()),
        [] => Err(Refusal::input(format!("{} holds no task", context.actor))
            .hint("name the task: comity guard check ID")),
        _ => Err(Refusal::input(format!("{} holds several tasks", context.actor))
            .hint("name the task: comity guard check ID")),
    }
}
