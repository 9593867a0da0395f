//! Finds records by neo's ids. neo's id of a record is the one it was imported with, or one made of comity's number.

use comity_api::{
    ById, DecisionAnswer, DecisionFilter, EventFilter, EventView, ListDirectives, ListMemories,
    SearchMemories, op,
};
use comity_core::limits::PAGE_MAX;
use comity_core::origin::Origin;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_core::view::{DecisionView, DirectiveView, MemoryView, TaskView};
use comity_engine::{Caller, Service};
use comity_protocol::neotx::ids::Thing;
use comity_protocol::neotx::take::PROVIDER;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The number in one of comity's ids.
fn number(id: &str) -> u64 {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// neo's id of a record: the one it was imported with, or one made of comity's id.
fn neos(origin: Option<&Origin>, thing: Thing, id: &str, made: Timestamp) -> String {
    let came = origin.filter(|origin| origin.source == PROVIDER);
    came.map_or_else(|| thing.id(number(id), made), |origin| origin.item.clone())
}

pub fn decision_id(decision: &DecisionView) -> String {
    neos(decision.origin.as_ref(), Thing::Decision, &decision.id, decision.created_at)
}

pub fn directive_id(directive: &DirectiveView) -> String {
    neos(directive.origin.as_ref(), Thing::Directive, &directive.id, directive.created_at)
}

pub fn memory_id(memory: &MemoryView) -> String {
    neos(memory.origin.as_ref(), Thing::Memory, &memory.id, memory.created_at)
}

pub fn task_id(task: &TaskView) -> String {
    let kept = task.external_ids.get(PROVIDER).and_then(|ids| ids.get("id"));
    let kept = kept.and_then(Value::as_str);
    kept.map_or_else(|| Thing::Task.id(task.number, task.created_at), str::to_owned)
}

macro_rules! all_pages {
    ($($name:ident($op:ident, $input:ident) => $field:ident: $view:ty;)*) => {
        $(/// Reads all pages of a list.
        pub fn $name(
            service: &Service,
            caller: &Caller,
            wanted: $input,
        ) -> Result<Vec<$view>, Refusal> {
            let mut found = Vec::new();
            let mut wanted = $input { limit: Some(PAGE_MAX), ..wanted };
            loop {
                let page = service.call::<op::$op>(caller, wanted.clone())?;
                found.extend(page.$field);
                if page.next.is_none() {
                    return Ok(found);
                }
                wanted.after = page.next;
            }
        })*
    };
}

all_pages! {
    decisions(DecisionList, DecisionFilter) => decisions: DecisionView;
    directives(DirectiveList, ListDirectives) => directives: DirectiveView;
    memories(MemoryList, ListMemories) => memories: MemoryView;
    matches(MemorySearch, SearchMemories) => memories: MemoryView;
    events(EventList, EventFilter) => events: EventView;
}

/// Asks also for decisions that are settled.
pub fn settled() -> DecisionFilter {
    DecisionFilter { all: true, ..DecisionFilter::default() }
}

/// neo's ids of what was deleted in comity.
#[derive(Default)]
pub struct Deleted {
    pub memories: BTreeSet<String>,
    pub directives: BTreeSet<String>,
}

/// Finds in the log what somebody deleted, and which memories were replaced.
pub fn deleted(service: &Service, caller: &Caller) -> Result<Deleted, Refusal> {
    let events = |name: &str| {
        let wanted = EventFilter { event: Some(name.to_owned()), ..EventFilter::default() };
        events(service, caller, wanted)
    };
    let word = |event: &EventView, key: &str| event.text(key).map(str::to_owned);
    let mut items = BTreeMap::new();
    for event in events("taken_over")? {
        let item = event.fields.get("origin").and_then(|origin| origin.get("item"));
        let item = item.and_then(Value::as_str).map(str::to_owned);
        let ours = word(&event, "memory").or_else(|| word(&event, "directive"));
        items.extend(ours.zip(item));
    }
    let mut made = BTreeMap::new();
    for (name, key) in [("memory_written", "memory"), ("directive_created", "directive")] {
        let written = events(name)?;
        made.extend(written.iter().filter_map(|event| Some((word(event, key)?, event.ts))));
    }
    let neos = |thing: Thing, id: String| {
        let ours = || made.get(&id).map(|time| thing.id(number(&id), *time));
        items.get(&id).cloned().or_else(ours)
    };
    let mut deleted = Deleted::default();
    for name in ["memory_forgotten", "memory_superseded"] {
        let gone = events(name)?;
        let ids = gone.iter().filter_map(|event| word(event, "memory"));
        deleted.memories.extend(ids.filter_map(|id| neos(Thing::Memory, id)));
    }
    for event in events("directive_deleted")? {
        // A directive that ran out has a reason; neo removes such directives by itself.
        let asked = event.text("reason").is_none();
        let id = word(&event, "directive").filter(|_| asked);
        deleted.directives.extend(id.and_then(|id| neos(Thing::Directive, id)));
    }
    Ok(deleted)
}

/// Tells whether a text is one of comity's ids with that letter.
fn is_ours(letter: char, text: &str) -> bool {
    let digits = text.strip_prefix(letter).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// comity's id of the directive that a text names by either id.
pub fn directive(service: &Service, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_ours('I', text) {
        return Ok(text.to_owned());
    }
    let all = directives(service, caller, ListDirectives::default())?;
    one(all.iter().map(|it| (directive_id(it), it.id.as_str())), text)
}

/// comity's id of the memory that a text names by either id.
pub fn memory(service: &Service, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_ours('M', text) {
        return Ok(text.to_owned());
    }
    let all = memories(service, caller, ListMemories::default())?;
    one(all.iter().map(|it| (memory_id(it), it.id.as_str())), text)
}

/// comity's id of the decision that a text names by either id.
pub fn decision(service: &Service, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if is_ours('D', text) {
        return Ok(text.to_owned());
    }
    // Most often the number in neo's id is the number of the decision.
    if let Some(number) = Thing::Decision.number(text)
        && let Ok(DecisionAnswer { decision }) =
            service.call::<op::DecisionShow>(caller, ById { id: format!("D{number}") })
        && decision_id(&decision) == text
    {
        return Ok(decision.id);
    }
    let all = decisions(service, caller, settled())?;
    one(all.iter().map(|it| (decision_id(it), it.id.as_str())), text)
}

/// comity's id of the task that a text names by either id.
pub fn task(service: &Service, caller: &Caller, text: &str) -> Result<String, Refusal> {
    if !Thing::Task.is_id(text) {
        return Ok(text.to_owned());
    }
    let all = service.all_tasks(caller)?;
    one(all.iter().map(|it| (task_id(it), it.id.as_str())), text)
}

/// Returns the record whose id is the text, or the only one whose id begins with it.
fn one<'t>(ids: impl Iterator<Item = (String, &'t str)>, text: &str) -> Result<String, Refusal> {
    let mut fits: Vec<(String, &str)> =
        ids.filter(|(neos, _)| !text.is_empty() && neos.starts_with(text)).collect();
    if let Some(exact) = fits.iter().position(|(neos, _)| neos == text) {
        return Ok(fits.swap_remove(exact).1.to_owned());
    }
    match (fits.len(), fits.pop()) {
        (1, Some((_, id))) => Ok(id.to_owned()),
        (0, _) => Err(Refusal::new(Code::NotFound, format!("no record has the id {text}"))),
        _ => Err(Refusal::new(Code::AmbiguousId, format!("several ids begin with {text}"))),
    }
}
