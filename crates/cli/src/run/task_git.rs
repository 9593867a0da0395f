//! The commands that ask git: handing work in, and finishing it.

use super::execute;
use super::task_result::HandedIn;
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
    pub(super) result: Option<HandedIn>,
    pub(super) keep_leases: bool,
}

/// Hands work in, with what a result says about it.
pub(super) fn submit(context: &Context, verb: VerbArgs, given: Given) -> Result<Reply, Refusal> {
    let (report, mut notes) = match given.result {
        Some(HandedIn { report, notes }) => (Some(Box::new(report)), notes),
        None => (None, Vec::new()),
    };
    let named = report.as_deref().map(named).unwrap_or_default();
    let commit = given.commit.or(named.commit);
    let branch = given.branch.or(named.branch);
    notes.extend(elsewhere(context, commit.as_deref(), branch.as_deref()));
    let submission = Submission {
        id: verb.id,
        commit,
        branch,
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

/// The commit and the branch that a report of neo's agents names.
#[derive(Default)]
struct Named {
    commit: Option<String>,
    branch: Option<String>,
}

fn named(report: &WorkReport) -> Named {
    if !matches!(report.contract.as_str(), "developer" | "supervisor") {
        return Named::default();
    }
    let text = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    let ended = report.other.get("branch_completion").and_then(|ended| ended.get("branch"));
    Named {
        commit: text(report.other.get("commit")),
        branch: text(ended).or_else(|| text(report.other.get("branch"))),
    }
}

/// What is handed in is what is checked out, unless a commit is named: said when the branch is another one.
fn elsewhere(context: &Context, commit: Option<&str>, branch: Option<&str>) -> Option<String> {
    let (git, _) = context.git()?;
    let here = git.branch()?;
    let other = branch.filter(|branch| commit.is_none() && *branch != here)?;
    Some(format!("note: handed in as {other}, but the commit is that of {here}; see --commit"))
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
