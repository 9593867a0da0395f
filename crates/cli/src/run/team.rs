//! `comity agent …`, `comity gate …`

use super::{execute, query};
use crate::args::{AgentCommand, GateCommand, Verdict};
use crate::context::Context;
use crate::git::{Git, snapshot};
use crate::human::Shape;
use crate::output::Reply;
use crate::work_tree::task_of;
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_core::task::Deliverable;
use comity_engine::Query;
use std::path::Path;

pub(super) fn agent(context: &Context, command: AgentCommand) -> Result<Reply, Refusal> {
    match command {
        AgentCommand::Register { id, roles, skills } => {
            execute(context, Command::AgentRegister { id, roles, skills }, Shape::Agent)
        }
        AgentCommand::List { page } => {
            query(context, Query::Agents { page: page.into() }, Shape::Agents)
        }
        AgentCommand::Show { id } => query(context, Query::Agent { id }, Shape::Agent),
        AgentCommand::Heartbeat => execute(context, Command::Heartbeat, Shape::Agent),
        AgentCommand::Suggest { labels, role } => {
            query(context, Query::Suggest { labels, role }, Shape::Suggestions)
        }
    }
}

pub(super) fn gate(context: &Context, command: GateCommand) -> Result<Reply, Refusal> {
    match command {
        GateCommand::List { id } => query(context, Query::Gates { id }, Shape::Gates),
        GateCommand::Record { id, gate, verdict, report, commit } => {
            let git = context.git();
            let commit = match (&git, commit) {
                (Some((git, _)), Some(name)) => Some(git.named_commit(&name)?),
                (Some((git, tree)), None) => tested_commit(context, git, tree, &id)?,
                (None, given) => given,
            };
            let pass = verdict == Verdict::Pass;
            let recorded = commit.clone();
            let command = Command::GateRecord { id, gate, pass, report, commit };
            let reply = execute(context, command, Shape::TaskLine)?;
            Ok(note_other_commit(reply, recorded.as_deref()))
        }
        GateCommand::Waive { id, gate, reason } => {
            execute(context, Command::GateWaive { id, gate, reason }, Shape::TaskLine)
        }
    }
}

/// What the caller's work tree has: its commit, or the snapshot that a task that must not commit is
/// handed in with.
fn tested_commit(
    context: &Context,
    git: &Git,
    tree: &Path,
    id: &str,
) -> Result<Option<String>, Refusal> {
    let task = task_of(&context.query(Query::Task { id: id.to_owned() })?)?;
    let code = task.deliverable == Deliverable::Code.as_str();
    if code && task.constraints.no_git_commit {
        return snapshot(tree, &task.id).map(Some);
    }
    Ok(git.commit("HEAD"))
}

/// Evidence for another commit than the submitted one does not count, which is easy to overlook.
fn note_other_commit(reply: Reply, recorded: Option<&str>) -> Reply {
    let submitted = reply.json.pointer("/task/commit").and_then(serde_json::Value::as_str);
    match (submitted, recorded) {
        (Some(submitted), Some(recorded)) if submitted != recorded => {
            let text = format!(
                "note: recorded for {recorded}, but {submitted} was submitted; use --commit {submitted}"
            );
            reply.note(text)
        }
        _ => reply,
    }
}
