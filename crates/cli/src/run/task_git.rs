//! The commands that ask git: handing work in, and finishing it.

use super::{execute, task_result};
use crate::args::VerbArgs;
use crate::context::Context;
use crate::git;
use crate::human::Shape;
use crate::output::Reply;
use crate::work_tree::task_of;
use comity_core::command::{Command, Containment, Submission, WorkReport};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
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

/// Hands work in, with what a result says about it.
pub(super) fn submit(context: &Context, verb: VerbArgs, given: Given) -> Result<Reply, Refusal> {
    // A result is read before anything else: one that cannot be used moves nothing.
    let (report, notes) = match &given.result {
        Some(file) => {
            let (report, notes) = task_result::read(context, file)?;
            (Some(Box::new(report)), notes)
        }
        None => (None, Vec::new()),
    };
    let submission = Submission {
        id: verb.id,
        commit: given.commit,
        branch: given.branch,
        pr: given.pr.or_else(|| report.as_deref().and_then(pull_request)),
        reviewer: given.reviewer,
        keep_leases: given.keep_leases,
        reason: verb.reason,
        report,
        ..Submission::default()
    };
    let mut reply = execute(context, Command::Submit(submission), Shape::TaskLine)?;
    reply.notes.splice(0..0, notes);
    Ok(reply)
}

/// The pull request that a report names beside its contract.
fn pull_request(report: &WorkReport) -> Option<String> {
    report.other.get("pr_url").and_then(Value::as_str).map(str::to_owned)
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
