//! What becomes of the branch of work that was handed in: what its report recommends, and how far its agent is set to go.

use crate::pattern::{Pattern, RepoPath};
use crate::run::{GitStrategy, Run, RunState, Stage};
use crate::status::Status;
use crate::task::Task;
use serde_json::Value;

/// Where a task says which run was the last whose branch was looked after.
pub const HANDED_OVER: &str = "handed_over";

/// How the branch of a run leaves the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    Push,
    PullRequest,
}

/// Returns what is recommended for the branch of a run, as far as the strategy of the run lets it go.
pub fn recommendation(run: &Run) -> Option<&str> {
    let said = run.said.get("recommendation").and_then(Value::as_str);
    let strategy = run.meta.get(GitStrategy::META).and_then(Value::as_str);
    let strategy = strategy.and_then(|word| GitStrategy::parse(word).ok());
    match (strategy, said) {
        (Some(GitStrategy::Branch), Some("pr" | "push")) => None,
        (Some(GitStrategy::Pr), None | Some("push")) => Some("pr"),
        (_, said) => said,
    }
}

/// Tells whether the branch of a run is to leave. Each run is looked after once.
pub(super) fn is_due(run: &Run, task: &Task) -> bool {
    let done = task.context.get(HANDED_OVER).and_then(Value::as_str) == Some(&run.id.to_string());
    task.status == Status::Review
        && run.stage == Stage::Develop
        && run.state == RunState::Succeeded
        && matches!(recommendation(run), Some("pr" | "push"))
        && !done
}

/// Tells whether the branch of a task is to leave before anybody looks at its checks.
pub fn waits_for_hand_over(task: &Task, runs: &[Run]) -> bool {
    let of_task = runs.iter().filter(|run| run.task == task.id && run.stage == Stage::Develop);
    of_task.max_by_key(|run| run.id).is_some_and(|run| is_due(run, task))
}

/// Says how a branch leaves. It is pushed alone only where it changes nothing but files that need no pull request.
pub fn hand_over(run: &Run, changed: &[String], push_ok: &[String]) -> HandOver {
    let allowed: Vec<Pattern> =
        push_ok.iter().filter_map(|pattern| Pattern::parse(pattern).ok()).collect();
    let is_allowed = |file: &String| {
        RepoPath::parse(file).is_ok_and(|file| allowed.iter().any(|one| one.covers(&file)))
    };
    let alone = recommendation(run) == Some("push")
        && !changed.is_empty()
        && changed.iter().all(is_allowed);
    if alone { HandOver::Push } else { HandOver::PullRequest }
}
