//! What the store tells of a task's surroundings, for the comparison with git.

use super::claims;
use crate::context::Context;
use crate::env;
use crate::store::Place;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::view::{ClaimView, TaskView};
use comity_engine::{Engine, Page, Query, TaskFilter};
use comity_guard::told::{Beside, Taken, Told};
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Tasks that are under way and looked at.
const TASKS_MAX: usize = 500;

/// Gathers what the store tells of a task, and hands it on.
pub(super) fn told<T>(
    context: &Context,
    engine: &mut Engine,
    tree: &Path,
    task: &TaskView,
    branch: Option<&str>,
    then: impl FnOnce(Told<'_>) -> T,
) -> T {
    let claims = claims::events(context, engine, &task.id, "task_claimed", 0);
    // A server's clock is another one than git's.
    let is_one_clock = matches!(&context.store, Place::File(_));
    let taken: Vec<Taken> = claims.iter().filter_map(|claim| taken(claim, is_one_clock)).collect();
    let (beside, behind) = under_way(context, engine, tree, task, &taken);
    let engine = RefCell::new(engine);
    let is_anothers = |id: &str| {
        let query = Query::Task { id: id.to_owned() };
        let answer = engine.borrow_mut().query(&context.asker(), query);
        let other = answer.and_then(|answer| super::task_of(&answer));
        other.is_ok_and(|other| {
            other.id == id && other.assignee.is_some() && other.assignee != task.assignee
        })
    };
    // The branch that the first claim named is for nothing else, however early it was made.
    let own_name = claims.first().and_then(|claim| claim.get("branch")).and_then(Value::as_str);
    let is_named_so = branch.is_some() && branch == own_name;
    let not_before = if is_named_so { i64::MIN } else { task.created_at.ms() / 1000 };
    then(Told {
        not_before: Some(not_before),
        taken: &taken,
        files: &task.files,
        beside: &beside,
        behind: &behind,
        is_anothers: &is_anothers,
    })
}

/// Reads when and where a task was claimed.
fn taken(event: &Value, is_one_clock: bool) -> Option<Taken> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let fence = event.get("fence").and_then(Value::as_u64)?;
    let at = if is_one_clock { claims::seconds(event, "ts") } else { None };
    let is_here = text("host") == env::host().as_deref();
    let tree = text("workspace").filter(|_| is_here).map(PathBuf::from);
    Some(Taken { fence, at, tree })
}

/// Lists the claims of other tasks in the same work tree, and in others that the task was claimed in.
fn under_way(
    context: &Context,
    engine: &mut Engine,
    tree: &Path,
    task: &TaskView,
    taken: &[Taken],
) -> (Vec<Beside>, Vec<Beside>) {
    let filter = TaskFilter {
        statuses: vec![Status::Claimed, Status::InProgress],
        page: Page { limit: Some(TASKS_MAX), after: None },
        ..TaskFilter::default()
    };
    let Ok(answer) = engine.query(&context.asker(), Query::Tasks(filter)) else {
        return (Vec::new(), Vec::new());
    };
    let tasks = answer.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
    let tasks = tasks.into_iter().filter_map(|task| serde_json::from_value::<TaskView>(task).ok());
    let host = env::host();
    let other = |other: TaskView| {
        let claim: ClaimView = other.claim.filter(|claim| claim.host == host)?;
        let place = PathBuf::from(claim.workspace?);
        let is_known = place == tree || taken.iter().any(|one| one.tree.as_ref() == Some(&place));
        let is_anothers = Some(&claim.agent) != task.assignee.as_ref();
        let counts =
            is_known && other.id != task.id && other.deliverable == Deliverable::Code.as_str();
        let (fence, files) = (claim.fence, other.files);
        let beside = Beside { task: other.id, fence, is_anothers, files };
        counts.then_some((place == tree, beside))
    };
    let (here, there): (Vec<_>, Vec<_>) =
        tasks.filter_map(other).partition(|(is_here, _)| *is_here);
    let only = |found: Vec<(bool, Beside)>| found.into_iter().map(|(_, beside)| beside).collect();
    (only(here), only(there))
}
