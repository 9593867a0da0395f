//! Finds things by neo's ids: made of our numbers, or kept from an import.

use crate::context::Context;
use comity_core::directive::DirectiveFilter;
use comity_core::limits::PAGE_MAX;
use comity_core::memory::MemoryFilter;
use comity_core::origin::Origin;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_core::view::{DecisionView, DirectiveView, MemoryView, TaskView};
use comity_engine::{Engine, EventFilter, Page, Query, TaskFilter};
use comity_protocol::neotx::ids::Thing;
use comity_protocol::neotx::take::PROVIDER;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The number in one of our ids.
fn number(id: &str) -> u64 {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// neo's id of a thing: the one it came with, else one made of ours.
fn neos(origin: Option<&Origin>, thing: Thing, id: &str, made: Timestamp) -> String {
    let came = origin.filter(|origin| origin.source == PROVIDER);
    came.map_or_else(|| thing.id(number(id), made), |origin| origin.item.clone())
}

/// neo's id of a decision.
pub(super) fn decision_id(decision: &DecisionView) -> String {
    neos(decision.origin.as_ref(), Thing::Decision, &decision.id, decision.created_at)
}

/// neo's id of a directive.
pub(super) fn directive_id(directive: &DirectiveView) -> String {
    neos(directive.origin.as_ref(), Thing::Directive, &directive.id, directive.created_at)
}

/// neo's id of a memory.
pub(super) fn memory_id(memory: &MemoryView) -> String {
    neos(memory.origin.as_ref(), Thing::Memory, &memory.id, memory.created_at)
}

/// neo's id of a task.
pub(super) fn task_id(task: &TaskView) -> String {
    let kept = task.external_ids.get(PROVIDER).and_then(|ids| ids.get("id"));
    let kept = kept.and_then(Value::as_str);
    kept.map_or_else(|| Thing::Task.id(task.number, task.created_at), str::to_owned)
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

/// Every memory; those that were replaced when they are asked for.
pub(super) fn memories(
    engine: &mut Engine,
    context: &Context,
    replaced: bool,
) -> Result<Vec<MemoryView>, Refusal> {
    let filter = || MemoryFilter { all: replaced, ..MemoryFilter::default() };
    all(engine, context, "memories", |page| Query::Memories { filter: filter(), page })
}

/// neo's ids of what was deleted here.
#[derive(Default)]
pub(super) struct Gone {
    pub(super) memories: BTreeSet<String>,
    pub(super) directives: BTreeSet<String>,
}

/// Finds in the log what was deleted here by somebody's word, and what was replaced.
pub(super) fn gone(engine: &mut Engine, context: &Context) -> Result<Gone, Refusal> {
    let mut events = |name: &str| -> Result<Vec<Value>, Refusal> {
        let event = Some(name.to_owned());
        let filter = |page| EventFilter { event: event.clone(), page, ..EventFilter::default() };
        all(engine, context, "events", |page| Query::Events(filter(page)))
    };
    let word = |event: &Value, key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut items = BTreeMap::new();
    for event in events("taken_over")? {
        let item = event.pointer("/origin/item").and_then(Value::as_str).map(str::to_owned);
        let ours = word(&event, "memory").or_else(|| word(&event, "directive"));
        items.extend(ours.zip(item));
    }
    let mut made = BTreeMap::new();
    for (name, key) in [("memory_written", "memory"), ("directive_created", "directive")] {
        for event in events(name)? {
            let time = word(&event, "ts").and_then(|text| Timestamp::parse(&text));
            made.extend(word(&event, key).zip(time));
        }
    }
    let neos = |thing: Thing, id: String| {
        let ours = || made.get(&id).map(|time| thing.id(number(&id), *time));
        items.get(&id).cloned().or_else(ours)
    };
    let mut gone = Gone::default();
    for name in ["memory_forgotten", "memory_superseded"] {
        let ids =
            events(name)?.iter().filter_map(|event| word(event, "memory")).collect::<Vec<_>>();
        gone.memories.extend(ids.into_iter().filter_map(|id| neos(Thing::Memory, id)));
    }
    for event in events("directive_deleted")? {
        // One that ran out has a reason; neo removes those by itself.
        let asked = word(&event, "reason").is_none();
        let id = word(&event, "directive").filter(|_| asked);
        gone.directives.extend(id.and_then(|id| neos(Thing::Directive, id)));
    }
    Ok(gone)
}

/// Tells whether a text is an id of ours with that letter.
fn is_ours(letter: char, text: &str) -> bool {
    let digits = text.strip_prefix(letter).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Our id of the directive that a text names.
pub(super) fn directive(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if is_ours('I', text) {
        return Ok(text.to_owned());
    }
    let all = directives(engine, context)?;
    one(all.iter().map(|it| (directive_id(it), it.id.as_str())), text)
}

/// Our id of the memory that a text names.
pub(super) fn memory(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if is_ours('M', text) {
        return Ok(text.to_owned());
    }
    let all = memories(engine, context, false)?;
    one(all.iter().map(|it| (memory_id(it), it.id.as_str())), text)
}

/// Our id of the decision that a text names.
pub(super) fn decision(
    engine: &mut Engine,
    context: &Context,
    text: &str,
) -> Result<String, Refusal> {
    if is_ours('D', text) {
        return Ok(text.to_owned());
    }
    // The one that the number names is most often the one.
    if let Some(number) = Thing::Decision.number(text)
        && let Ok(answer) =
            engine.query(&context.asker(), Query::Decision { id: format!("D{number}") })
        && let Some(Ok(view)) =
            answer.get("decision").cloned().map(serde_json::from_value::<DecisionView>)
        && decision_id(&view) == text
    {
        return Ok(view.id);
    }
    let all = decisions(engine, context, true)?;
    one(all.iter().map(|it| (decision_id(it), it.id.as_str())), text)
}

/// Our id of the task that a text names.
pub(super) fn task(engine: &mut Engine, context: &Context, text: &str) -> Result<String, Refusal> {
    if !Thing::Task.is_id(text) {
        return Ok(text.to_owned());
    }
    let all = tasks(engine, context)?;
    one(all.iter().map(|it| (task_id(it), it.id.as_str())), text)
}

/// The one whose id is the text, or begins with it.
fn one<'t>(ids: impl Iterator<Item = (String, &'t str)>, text: &str) -> Result<String, Refusal> {
    let mut fits: Vec<(String, &str)> =
        ids.filter(|(neos, _)| !text.is_empty() && neos.starts_with(text)).collect();
    if let Some(exact) = fits.iter().position(|(neos, _)| neos == text) {
        return Ok(fits.swap_remove(exact).1.to_owned());
    }
    match (fits.len(), fits.pop()) {
        (1, Some((_, id))) => Ok(id.to_owned()),
        (0, _) => Err(Refusal::new(Code::NotFound, format!("nothing has the id {text}"))),
        _ => Err(Refusal::new(Code::AmbiguousId, format!("{text} fits several ids"))),
    }
}
