//! The commands that ask git: handing work in, and finishing it.

use super::{execute, guard, task_result};
use crate::args::VerbArgs;
use crate::context::Context;
use crate::git;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::command::{Command, Containment, Found, ReportStatus, Submission};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Deliverable;
use comity_core::view::TaskView;
use comity_engine::Query;
use serde_json::Value;

/// What was said about the work that is handed in.
#[derive(Default)]
pub(super) struct Given {
    pub(super) commit: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) pr: Option<String>,
    pub(super) reviewer: Option<AgentId>,
    pub(super) result: Option<String>,
    pub(super) keep_leases: bool,
}

/// Reads the task of an answer.
pub(super) fn task_of(answer: &Value) -> Result<TaskView, Refusal> {
    let task = answer.get("task").cloned().unwrap_or_default();
    serde_json::from_value(task).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the task does not read: {error}"))
    })
}

/// Hands work in, with the commit and branch of the caller's work tree when none are given.
pub(super) fn submit(context: &Context, verb: VerbArgs, given: Given) -> Result<Reply, Refusal> {
    // A result is read before anything else: one that cannot be used moves nothing.
    let (report, mut notes) = match &given.result {
        Some(file) => {
            let (report, notes) = task_result::read(context, file)?;
            (Some(Box::new(report)), notes)
        }
        None => (None, Vec::new()),
    };
    let hands_in = report.as_ref().is_none_or(|r| r.status == ReportStatus::Completed);
    let answer = context.query(Query::Task { id: verb.id.clone() })?;
    let task = task_of(&answer)?;
    let mut commit = given.commit;
    let mut branch = given.branch;
    let found = Found { commit: commit.is_none(), branch: branch.is_none() };
    let mut snapshot = None;
    if hands_in
        && task.deliverable == Deliverable::Code.as_str()
        && let Some((git, tree)) = context.git()
    {
        if let Some(name) = &commit {
            // What git knows is kept in full, so that evidence can be matched with it.
            commit = Some(git.named_commit(name)?);
        } else if task.constraints.no_git_commit {
            let made = git::snapshot(tree, &task.id)?;
            snapshot = Some((tree, made.clone()));
            commit = Some(made);
        } else {
            commit = git.commit("HEAD");
            let dirty = git.line(&["status", "--porcelain", "--untracked-files=no"]);
            if commit.is_some() && dirty.is_some() {
                notes.push("note: this work tree has changes that are in no commit".to_owned());
            }
        }
        branch = branch.or_else(|| git.branch());
        if let Some(commit) = &commit {
            let files = report.as_ref().and_then(|report| report.listed_files());
            let is_snapshot = snapshot.is_some();
            notes.extend(guard::at_submit(context, tree, &task, commit, is_snapshot, files)?);
        }
    }
    let submission = Submission {
        id: verb.id,
        commit,
        branch,
        pr: given.pr,
        reviewer: given.reviewer,
        keep_leases: given.keep_leases,
        reason: verb.reason,
        found,
        report,
    };
    let mut reply = execute(context, Command::Submit(submission), Shape::TaskLine)?;
    if let Some((tree, made)) = snapshot {
        git::keep(tree, &task.id, &made)?;
    }
    reply.notes.extend(notes);
    Ok(reply)
}

/// Finishes a task; git is asked whether the merged commit has the work.
pub(super) fn done(
    context: &Context,
    verb: VerbArgs,
    merged: Option<String>,
) -> Result<Reply, Refusal> {
    let mut merged = merged;
    let mut containment = Containment::Unknown;
    if let Some(name) = &merged
        && let Some((git, tree)) = context.git()
    {
        let answer = context.query(Query::Task { id: verb.id.clone() })?;
        if let Some(submitted) = task_of(&answer)?.commit {
            containment = git::containment(tree, &submitted, name);
        }
        merged = Some(git.named_commit(name)?);
    }
    let command = Command::Done { id: verb.id, merged, containment, reason: verb.reason };
    execute(context, command, Shape::TaskLine)
}
