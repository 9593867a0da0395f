//! What the store tells of a task's surroundings, for the comparison with git.

use super::claims;
use crate::context::Context;
use crate::env;
use crate::store::Place;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::view::{ClaimView, TaskView};
use comity_engine::{Engine, Page, Query, TaskFilter};
use comity_guard::told::{Beside, Told};
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;

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
    let claimed = match &context.store {
        Place::File(_) => claim_times(&claims),
        // A server's clock is another one than git's.
        Place::Server(_) => Vec::new(),
    };
    let beside = beside(context, engine, tree, task);
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
        claimed: &claimed,
        files: &task.files,
        beside: &beside,
        is_anothers: &is_anothers,
    })
}

/// Reads when a task was claimed, by the claim's fence.
fn claim_times(claims: &[Value]) -> Vec<(u64, i64)> {
    let claim = |event: &Value| {
        let fence = event.get("fence").and_then(Value::as_u64)?;
        Some((fence, claims::seconds(event, "ts")?))
    };
    claims.iter().filter_map(claim).collect()
}

/// Lists the claims of other tasks in the same work tree.
fn beside(context: &Context, engine: &mut Engine, tree: &Path, task: &TaskView) -> Vec<Beside> {
    let filter = TaskFilter {
        statuses: vec![Status::Claimed, Status::InProgress],
        page: Page { limit: Some(TASKS_MAX), after: None },
        ..TaskFilter::default()
    };
    let Ok(answer) = engine.query(&context.asker(), Query::Tasks(filter)) else {
        return Vec::new();
    };
    let tasks = answer.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
    let tasks = tasks.into_iter().filter_map(|task| serde_json::from_value::<TaskView>(task).ok());
    let (host, place) = (env::host(), tree.to_string_lossy());
    let other = |other: TaskView| {
        let is_here =
            |claim: &ClaimView| claim.host == host && claim.workspace.as_deref() == Some(&*place);
        let claim = other.claim.filter(is_here)?;
        let is_anothers = Some(&claim.agent) != task.assignee.as_ref();
        let counts = other.id != task.id && other.deliverable == Deliverable::Code.as_str();
        let (fence, files) = (claim.fence, other.files);
        counts.then_some(Beside { task: other.id, fence, is_anothers, files })
    };
    tasks.filter_map(other).collect()
}
