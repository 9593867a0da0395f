//! `comity guard push`: what git's pre-push hook asks before anything is sent.

use super::{contract, guard};
use crate::git::InWorkTree;
use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_guard::{Standing, has_work};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neomjs::safety::{Push, protected_pushes, read_pushes};
use serde_json::json;
use std::path::Path;

/// Refuses a push of an agent to a protected branch; a person may.
pub(super) fn run(context: &Context, remote: &[String]) -> Result<Reply, Refusal> {
    let text = contract::read(Path::new("-"), Path::new("."))?;
    let pushes = read_pushes(&text).map_err(|line| {
        let shown: String = line.chars().take(100).collect();
        Refusal::input(format!("{shown:?} is not a line that git gives a pre-push hook"))
            .hint("a line has a local ref, a local commit, a remote ref and a remote commit")
    })?;
    let protected = context.config.protected_branches();
    let hit = protected_pushes(&pushes, &protected);
    if !hit.is_empty() && !context.actor.is_person() {
        let message = format!("{} may not push to {} directly", context.actor, hit.join(", "));
        return Err(Refusal::new(Code::HumanOnly, message)
            .hint("push another branch and open a pull request")
            .detail("branches", hit));
    }
    if context.config.names_branches() && !context.actor.is_person() {
        under_its_name(context, &pushes)?;
    }
    let refs: Vec<&str> = pushes.iter().map(|push| push.remote.as_str()).collect();
    let answer = json!({"ok": true, "remote": remote.first(), "refs": refs});
    Ok(Reply::text(answer, ""))
}

/// Refuses a push of work under another name than the task's, where the project names the branches. What the caller has beside
/// its tasks is its own affair.
fn under_its_name(context: &Context, pushes: &[Push]) -> Result<(), Refusal> {
    let Some((git, tree)) = context.git() else { return Ok(()) };
    let standing = Standing::of(&git, context.config.base_branch())?;
    let service = context.service(Access::Read)?;
    let mut tasks: Vec<Task> = Vec::new();
    for id in guard::all_held(context)? {
        tasks.push(service.task(&context.caller(), &id)?);
    }
    tasks.retain(|task| task.deliverable == Deliverable::Code);
    let is_wanted = |branch: &str| tasks.iter().any(|task| task.branch.as_deref() == Some(branch));
    let work_of = |task: &&Task, push: &Push| {
        task.claim.as_ref().is_some_and(|claim| has_work(tree, &standing, &push.commit, claim))
    };
    for push in pushes {
        let Some(branch) = push.branch().filter(|branch| !is_wanted(branch)) else { continue };
        let Some(task) = tasks.iter().find(|task| work_of(task, push)) else { continue };
        let wanted = task.branch.as_deref().unwrap_or_default();
        let message = format!(
            "the work on {} belongs on {wanted} and may not be pushed as {branch}",
            task.id
        );
        return Err(Refusal::new(Code::LimitExceeded, message)
            .hint(format!("push it under that name: git push origin HEAD:refs/heads/{wanted}"))
            .detail("task", task.id.as_str())
            .detail("branch", wanted.to_owned()));
    }
    Ok(())
}
