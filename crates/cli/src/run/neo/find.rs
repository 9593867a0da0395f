//! Finds things by neo's ids: made of our numbers, or kept from an import.

use comity_core::directive::DirectiveFilter;
use comity_core::limits::PAGE_MAX;
use comity_core::memory::MemoryFilter;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::{DecisionView, DirectiveView, MemoryView, TaskView};
use comity_engine::{Engine, Page, Query, TaskFilter};
use comity_protocol::neotx::ids::Thing;
use comity_protocol::neotx::keep::Kept;
use comity_protocol::neotx::take::kept_columns;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;

/// The number in one of our ids.
pub(super) fn number(id: &str) -> u64 {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// neo's id of a decision: the one it came with, else one made of ours.
pub(super) fn decision_id(decision: &DecisionView) -> String {
    let kept = Kept::of(decision.context.as_deref().unwrap_or_default()).1;
    kept.text("id").map_or_else(|| Thing::Decision.id(number(&decision.id)), str::to_owned)
}

/// neo's id of a task.
pub(super) fn task_id(task: &TaskView) -> String {
    let kept = task.external_ids.get("neo").and_then(|ids| ids.get("id")).and_then(Value::as_str);
    kept.map_or_else(|| Thing::Task.id(task.number), str::to_owned)
}

/// Reads all pages of a list.
pub(super) fn all<T: DeserializeOwned>(
    engine: &mut Engine,
    context: &Context,
    name: &str,
    query: impl Fn(Page) -> Query,
) -> Result<Vec<T>, Refusal> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = Page { limit: Some(PAGE_MAX), after };
        let mut answer = engine.query(&context.asker(), query(page))?;
        let entries = answer.get_mut(name).map(Value::take).unwrap_or_default();
        let entries: Vec<T> = serde_json::from_value(entries).map_err(|error| {
            Refusal::new(Code::Internal, format!("BUG: {name} do not read: {error}"))
        })?;
        found.extend(entries);
        after = answer.get("next").and_then(Value::as_str).map(str::to_owned);
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// Every decision, settled ones included.
pub(super) fn decisions(
    engine: &mut Engine,
    context: &Context,
    settled: bool,
) -> Result<Vec<DecisionView>, Refusal> {
    all(engine, context, "decisions", |page| Query::Decisions { all: settled, page })
}

/// Every task.
pub(super) fn tasks(engine: &mut Engine, context: &Context) -> Result<Vec<TaskView>, Refusal> {
    let query = |page| Query::Tasks(TaskFilter { page, ..TaskFilter::default() });
    all(engine, context, "tasks", query)
}

/// Every directive.
pub(super) fn directives(
    engine: &mut Engine,
    context: &Context,
) -> Result<Vec<DirectiveView>, Refusal> {
    let query = |page| Query::Directives { filter: DirectiveFilter::default(), page };
    all(engine, context, "directives", query)
}

/// Every memory that counts.
pub(super) fn memories(engine: &mut Engine, context: &Context) -> Result<Vec<MemoryView>, Refusal> {
    let query = |page| Query::Memories { filter: MemoryFilter::default(), page };
    all(engine, context, "memories", query)
}

/// neo's id of a directive.
pub(super) fn directive_id(directive: &DirectiveView) -> String {
    let kept = Kept::of(directive.description.as_deref().unwrap_or_default()).1;
    kept.text("id").map_or_else(|| Thing::Directive.id(number(&directive.id)), str::to_owned)
}

/// neo's id of a memory.
pub(super) fn memory_id(memory: &MemoryView) -> String {
    let kept = kept_columns(&memory.tags).1;
    kept.text("id").map_or_else(|| Thing::Memory.id(number(&memory.id)), str::to_owned)
}

/// Our id of the directive that a text names.
pub(super) fn directive(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if !Thing::Directive.is_id(text) {
        return Ok(text.to_owned());
    }
    let fits = directives(engine, context)?
        .into_iter()
        .filter(|directive| directive_id(directive).starts_with(text))
        .map(|directive| directive.id);
    one(fits.collect(), text)
}

/// Our id of the memory that a text names.
pub(super) fn memory(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if !Thing::Memory.is_id(text) {
        return Ok(text.to_owned());
    }
    if let Some(number) = Thing::Memory.number(text) {
        return Ok(format!("M{number}"));
    }
    let fits = memories(engine, context)?
        .into_iter()
        .filter(|memory| memory_id(memory).starts_with(text))
        .map(|memory| memory.id);
    one(fits.collect(), text)
}

/// Our id of the decision that a text names.
pub(super) fn decision(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if !Thing::Decision.is_id(text) {
        return Ok(text.to_owned());
    }
    if let Some(number) = Thing::Decision.number(text) {
        return Ok(format!("D{number}"));
    }
    let fits = decisions(engine, context, true)?
        .into_iter()
        .filter(|decision| decision_id(decision).starts_with(text))
        .map(|decision| decision.id);
    one(fits.collect(), text)
}

/// Our id of the task that a text names.
pub(super) fn task(engine: &mut Engine, context: &Context, text: &str) -> Result<String, Refusal> {
    if !Thing::Task.is_id(text) {
        return Ok(text.to_owned());
    }
    let fits = tasks(engine, context)?
        .into_iter()
        .filter(|task| task_id(task).starts_with(text))
        .map(|task| task.id);
    one(fits.collect(), text)
}

fn one(mut fits: Vec<String>, text: &str) -> Result<String, Refusal> {
    match (fits.len(), fits.pop()) {
        (1, Some(id)) => Ok(id),
        (0, _) => Err(Refusal::new(Code::NotFound, format!("nothing has the id {text}"))),
        _ => Err(Refusal::new(Code::AmbiguousId, format!("{text} fits several ids"))),
    }
}
