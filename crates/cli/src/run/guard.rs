//! What agents' hooks and git's hooks ask: whether a piece of work is within what its task allows.

#![deny(clippy::wildcard_enum_match_arm)]

use super::commit_message;
use super::push;
use crate::args::GuardCommand;
use crate::git::{Git, InWorkTree, snapshot};
use crate::output::Reply;
use crate::work_tree::observer;
use comity_api::{ById, op};
use comity_core::decide::{examine, refuse_work};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_guard::HandedIn;
use comity_project::Context;
use comity_project::store::Access;
use serde_json::json;
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
    let service = context.service(Access::Read)?;
    let task = service.task(&context.caller(), &id)?;
    let Some((git, tree)) = context.git() else {
        return Err(Refusal::input("there is no git repository to check")
            .hint("run the command inside the work tree"));
    };
    if task.deliverable != Deliverable::Code {
        let answer = json!({"ok": true, "task": task.id.as_str(), "base": null, "commit": null, "files": [],
                            "violations": []});
        let words = format!("{} delivers no code; nothing to check\n", task.id);
        return Ok(Reply::text(answer, words));
    }
    let (commit, is_snapshot) = what_is_there(&git, tree, &task)?;
    let work = HandedIn { commit, branch: git.branch(), is_snapshot };
    let work = observer(context).seen(&task, &work)?;
    let violations = examine(&task, &work, None, &service.settings().policy);
    if let Some(refusal) = refuse_work(&task, &work, &violations) {
        return Err(refusal);
    }
    let (changed, short) = (work.files.len(), work.base.get(..10).unwrap_or(&work.base));
    let words =
        format!("{} meets its constraints: {changed} files changed since {short}\n", task.id);
    let answer = json!({
        "ok": true,
        "task": task.id.as_str(),
        "base": work.base,
        "commit": work.commit,
        "files": work.files,
        "violations": violations,
    });
    Ok(Reply::text(answer, words))
}

/// The work tree with what is not committed yet; the commit itself when nothing is.
fn what_is_there(git: &Git, tree: &Path, task: &Task) -> Result<(String, bool), Refusal> {
    let clean = git.line(&["status", "--porcelain"]).is_none();
    match git.commit("HEAD").filter(|_| clean) {
        Some(head) => Ok((head, false)),
        None => Ok((snapshot(tree, task.id.as_str())?, true)),
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
    match context.ask::<op::AgentShow>(ById { id: context.actor.to_string() }) {
        Err(refusal) if refusal.code == Code::NotFound => Ok(Vec::new()),
        answer => Ok(answer?.agent.holds.tasks),
    }
}
