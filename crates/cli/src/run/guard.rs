//! What agents' hooks and git's hooks ask: whether a piece of work is within what its task allows.

use super::commit_message;
use super::push;
use crate::args::GuardCommand;
use crate::context::Context;
use crate::git::{Git, snapshot};
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use crate::work_tree::{HandedIn, examine, task_of};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Deliverable;
use comity_core::view::TaskView;
use comity_engine::Query;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(context: &Context, command: GuardCommand) -> Result<Reply, Refusal> {
    match command {
        GuardCommand::Check { id } => check_now(context, id),
        GuardCommand::Push { remote } => push::run(context, &remote),
        GuardCommand::Commit { message_file } => commit_message::check(&message_file),
    }
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
    let (commit, branch) = (what_is_there(&git, tree, &task)?, git.branch());
    let work = HandedIn { commit: &commit, branch: branch.as_deref(), reported: None };
    let mut engine = context.engine(Access::Read)?;
    let findings = examine(context, &mut engine, tree, &task, true, &work)?;
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
    match all_held(context)?.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Refusal::input(format!("{} holds no task", context.actor))
            .hint("name the task: comity guard check ID")),
        _ => Err(Refusal::input(format!("{} holds several tasks", context.actor))
            .hint("name the task: comity guard check ID")),
    }
}

/// The tasks that the caller holds; none when nobody knows the caller.
pub(super) fn all_held(context: &Context) -> Result<Vec<String>, Refusal> {
    let answer = match context.query(Query::Agent { id: context.actor.to_string() }) {
        Err(refusal) if refusal.code == Code::NotFound => return Ok(Vec::new()),
        answer => answer?,
    };
    let tasks = answer.pointer("/agent/holds/tasks").and_then(Value::as_array);
    Ok(tasks.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
}
