//! Handing work in, with what a result says about it.

use super::CLAIM_HAS_ENDED;
use super::task_result::HandedIn;
use crate::args::VerbArgs;
use crate::git::InWorkTree;
use comity_api::{ById, SubmitAnswer, op};
use comity_core::command::{GateVerdict, Submission, WorkReport};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_engine::Handler;
use comity_project::Context;
use comity_project::store::Access;
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
    pub(super) empty: bool,
    pub(super) gates: Vec<GateVerdict>,
}

/// Work that was handed in, and what should be said beside it.
pub(super) struct Submitted {
    pub(super) answer: SubmitAnswer,
    pub(super) notes: Vec<String>,
}

/// Hands work in, with what a result says about it.
pub(super) fn submit(
    context: &Context,
    verb: VerbArgs,
    given: Given,
) -> Result<Submitted, Refusal> {
    let (report, mut notes) = match given.result {
        Some(HandedIn { report, notes }) => (Some(Box::new(report)), notes),
        None => (None, Vec::new()),
    };
    let mut named = report.as_deref().map(Named::by).unwrap_or_default();
    // Options count more than what a report says.
    if given.commit.is_some() || given.branch.is_some() {
        named = Named::default();
    }
    let named = named.seen(context, &verb.id)?;
    notes.extend(named.notes);
    let submission = Submission {
        id: verb.id,
        commit: given.commit.or(named.commit),
        branch: given.branch.or(named.branch),
        pr: given.pr.or_else(|| report.as_deref().and_then(pull_request)),
        reviewer: given.reviewer,
        keep_leases: given.keep_leases,
        empty: given.empty,
        gates: given.gates,
        reason: verb.reason,
        report,
    };
    let service = context.service(Access::Write)?;
    let answered = Handler::<op::TaskSubmit>::handle(&service, &context.caller(), submission)?;
    notes.extend(answered.remarks);
    let answer = answered.output;
    if context.fence_from_env && answer.task.claim.is_none() {
        notes.push(CLAIM_HAS_ENDED.to_owned());
    }
    Ok(Submitted { answer, notes })
}

/// The commit and the branch that a report names, as far as they count.
#[derive(Default)]
struct Named {
    commit: Option<String>,
    branch: Option<String>,
    notes: Vec<String>,
}

impl Named {
    /// What a report of neo's agents says.
    fn by(report: &WorkReport) -> Named {
        if !matches!(report.contract.as_str(), "developer" | "supervisor") {
            return Named::default();
        }
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let ended = report.other.get("branch_completion").and_then(|ended| ended.get("branch"));
        let branch = text(ended).or_else(|| text(report.other.get("branch")));
        let steps = report.other.get("tasks").and_then(Value::as_array);
        let mut steps = steps.map_or(&[][..], Vec::as_slice).iter().rev();
        // A plan has a commit for each task; without a branch the last one is what was made.
        let last = steps.find_map(|step| text(step.get("commit"))).filter(|_| branch.is_none());
        Named { commit: text(report.other.get("commit")).or(last), branch, notes: Vec::new() }
    }

    /// What is seen counts more than what is said: names that git does not know are remarked and not taken.
    fn seen(self, context: &Context, id: &str) -> Result<Named, Refusal> {
        let Some((git, _)) = context.git() else { return Ok(self) };
        if self.commit.is_none() && self.branch.is_none() {
            return Ok(self);
        }
        let task = context.ask::<op::TaskShow>(ById { id: id.to_owned() })?.task;
        if task.constraints.no_git_commit {
            // Its work is in no commit but the one that comity makes of it.
            return Ok(Named::default());
        }
        let mut notes = self.notes;
        let mut known = |what: &str, name: Option<String>, reference: &dyn Fn(&str) -> String| {
            let name = name?;
            let found = git.commit(&reference(&name));
            if found.is_none() {
                notes.push(format!(
                    "note: git does not know the {what} {name}, which the report names"
                ));
            }
            found.map(|commit| (name, commit))
        };
        let commit = known("commit", self.commit, &|name| name.to_owned());
        let branch = known("branch", self.branch, &|name| format!("refs/heads/{name}"));
        // A branch without a commit is handed in as it stands.
        let tip = branch.as_ref().map(|(_, tip)| tip.clone());
        let commit = commit.map(|(_, commit)| commit).or(tip);
        Ok(Named { commit, branch: branch.map(|(name, _)| name), notes })
    }
}

/// The pull request that a report names beside its contract.
fn pull_request(report: &WorkReport) -> Option<String> {
    let url = report.other.get("pr_url").and_then(Value::as_str);
    url.filter(|url| !url.trim().is_empty()).map(str::to_owned)
}
