//! `neo memory …`

use super::{find, print};
use crate::args::{NeoAbout, NeoMemory, NeoShown};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::command::{Command, MemoryChanges, NewMemory};
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_core::view::MemoryView;
use comity_engine::{Engine, Page, Query};
use comity_protocol::neotx::records::{MEMORY_COLUMNS, Record};
use comity_protocol::neotx::take::{column_tag, kept_columns, memory_words};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// neo's types, and the older words for them.
const TYPES: &str = "knowledge, warning, focus, fact, procedure, feedback";
/// How much of a memory a table shows, and how much with `--full`.
const SHOWN: usize = 60;
const SHOWN_FULL: usize = 500;
/// How many are shown when nobody says.
const LISTED: u16 = 50;
const RECENT: u16 = 10;
const FOUND: u16 = 20;

pub(super) fn run(context: &Context, command: NeoMemory) -> Result<Reply, Refusal> {
    match command {
        NeoMemory::Write { content, about, expires, tags } => {
            let Some(kind) = kind_of(&about, Some("knowledge")) else {
                return Ok(bad_type(&about));
            };
            let expires = match expires.as_deref().map(Millis::parse) {
                Some(None) => {
                    let message = "Invalid --expires format. Use e.g. \"2h\" or \"30m\".";
                    return Ok(print::error(message));
                }
                known => known.flatten(),
            };
            let tags = tags.unwrap_or_default();
            let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
            let tags = tags.map(str::to_owned).chain(columns(&about)).collect();
            let kind = kind.unwrap_or(MemoryType::Fact);
            let scope = about.scope;
            let new = NewMemory {
                text: content,
                kind,
                scope,
                tags,
                expires,
                task: None,
                supersedes: None,
            };
            let made = view(context.execute(Command::MemoryWrite(Box::new(new)))?)?;
            let said = print::success(&format!("Memory written: {}", find::memory_id(&made)));
            Ok(Reply::new(answer(&made), Shape::Text(said)))
        }
        NeoMemory::Forget { id, .. } => forget(context, &id),
        NeoMemory::Update { id, content, about } => update(context, &id, content, &about),
        NeoMemory::Search { query, about, shown } => {
            let Some(kind) = kind_of(&about, None) else { return Ok(bad_type(&about)) };
            let filter =
                MemoryFilter { kind, scope: about.scope.clone(), ..MemoryFilter::default() };
            let limit = shown.limit.unwrap_or(FOUND);
            let page = Page { limit: Some(usize::from(limit)), after: None };
            listed(context, Query::SearchMemories { query, filter, page }, &about, &shown)
        }
        NeoMemory::List { about, shown } => newest(context, &about, &shown, LISTED),
        NeoMemory::Recent { about, shown } => newest(context, &about, &shown, RECENT),
        NeoMemory::Stats { .. } => stats(context),
    }
}

/// The type that is meant; none of none when nothing is said, none when it is no type.
fn kind_of(about: &NeoAbout, otherwise: Option<&str>) -> Option<Option<MemoryType>> {
    let word = about.kind.as_deref().or(otherwise);
    if otherwise.is_none() && any_knowledge(about) {
        return Some(None);
    }
    match (word, about.subtype.as_deref()) {
        (None, _) => Some(None),
        (Some("knowledge" | "fact" | "procedure"), Some("procedure")) => {
            Some(Some(MemoryType::Procedure))
        }
        (Some("knowledge" | "fact" | "procedure"), Some("fact")) => Some(Some(MemoryType::Fact)),
        (Some("knowledge"), Some(_)) => None,
        (Some(word), _) => MemoryType::parse(word).ok().map(Some),
    }
}

/// neo's knowledge is facts and procedures together.
fn any_knowledge(about: &NeoAbout) -> bool {
    about.kind.as_deref() == Some("knowledge") && about.subtype.is_none()
}

fn fits(about: &NeoAbout, memory: &MemoryView) -> bool {
    !any_knowledge(about) || memory_words(memory.r#type).0 == "knowledge"
}

fn bad_type(about: &NeoAbout) -> Reply {
    match (&about.kind, &about.subtype) {
        (None | Some(_), Some(subtype)) if kind_of(&without_subtype(about), None).is_some() => {
            print::error(&format!("Invalid subtype \"{subtype}\". Must be one of: fact, procedure"))
        }
        (kind, _) => {
            let kind = kind.as_deref().unwrap_or_default();
            print::error(&format!("Invalid type \"{kind}\". Must be one of: {TYPES}"))
        }
    }
}

fn without_subtype(about: &NeoAbout) -> NeoAbout {
    NeoAbout { subtype: None, ..about.clone() }
}

/// What has no field of its own is kept as tags.
fn columns(about: &NeoAbout) -> Vec<String> {
    let source = about.source.as_deref().filter(|source| *source != "user");
    [
        ("source", source),
        ("category", about.category.as_deref()),
        ("severity", about.severity.as_deref()),
        ("outcome", about.outcome.as_deref()),
    ]
    .into_iter()
    .filter_map(|(column, value)| Some(column_tag(column, value?)))
    .collect()
}

fn view(mut answer: Value) -> Result<MemoryView, Refusal> {
    let memory = answer.get_mut("memory").map(Value::take).unwrap_or_default();
    serde_json::from_value(memory).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the memory does not read: {error}"))
    })
}

/// A memory as a row of neo's table.
pub(super) fn record(memory: &MemoryView) -> Record {
    let (tags, kept) = kept_columns(&memory.tags);
    let (kind, subtype) = memory_words(memory.r#type);
    let created = memory.created_at.to_string();
    let mut out = Record::new().with("id", find::memory_id(memory));
    out.set("type", kind);
    out.set("scope", memory.scope.as_str());
    out.set("content", memory.text.as_str());
    out.set("source", if kept.get("id").is_some() { "user" } else { memory.source.agent.as_str() });
    out.set("tags", json!(tags).to_string());
    out.set("created_at", created.as_str());
    out.set("last_accessed_at", created.as_str());
    out.set("access_count", 0);
    out.set("expires_at", memory.expires_at.map(|at| at.to_string()));
    out.set("subtype", subtype);
    for (column, value) in kept.map() {
        out.set(column, value.clone());
    }
    out.in_order(MEMORY_COLUMNS)
}

fn answer(memory: &MemoryView) -> Value {
    json!({"memory": record(memory).map()})
}

fn named(engine: &mut Engine, context: &Context, id: &str) -> Result<String, Refusal> {
    find::memory(engine, context, id).map_err(|refusal| in_neos_words(refusal, id))
}

fn in_neos_words(mut refusal: Refusal, id: &str) -> Refusal {
    if refusal.code == Code::NotFound {
        refusal.message = format!("Memory not found: {id}");
    }
    refusal
}

fn forget(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Write)?;
    let ours = named(&mut engine, context, id)?;
    let done = engine
        .execute(context.request(Command::MemoryForget { id: ours }))
        .map_err(|refusal| in_neos_words(refusal, id))?;
    Ok(Reply::new(done, Shape::Text(print::success(&format!("Memory forgotten: {id}")))))
}

fn update(
    context: &Context,
    id: &str,
    content: Option<String>,
    about: &NeoAbout,
) -> Result<Reply, Refusal> {
    let more = columns(about);
    let Some(kind) = kind_of(about, None) else { return Ok(bad_type(about)) };
    if content.is_none() && more.is_empty() && kind.is_none() && about.scope.is_none() {
        return Ok(print::error("Usage: neo memory update <id> <new content>"));
    }
    let mut engine = context.engine(Access::Write)?;
    let ours = named(&mut engine, context, id)?;
    let query = Query::Memory { id: ours.clone() };
    let now = engine.query(&context.asker(), query).and_then(view);
    let now = now.map_err(|refusal| in_neos_words(refusal, id))?;
    let tags = (!more.is_empty()).then(|| {
        let replaced = |tag: &String| {
            let column = tag.split('=').next().unwrap_or_default();
            more.iter().any(|new| new.split('=').next() == Some(column))
        };
        let kept = now.tags.iter().filter(|tag| !replaced(tag)).cloned();
        kept.chain(more.clone()).collect()
    });
    let changes = MemoryChanges {
        text: content,
        kind,
        scope: about.scope.clone(),
        tags,
        ..MemoryChanges::default()
    };
    let command = Command::MemoryUpdate { id: ours, changes: Box::new(changes) };
    let made = view(engine.execute(context.request(command))?)?;
    let said = print::success(&format!("Memory updated: {id}"));
    Ok(Reply::new(answer(&made), Shape::Text(said)))
}

fn newest(
    context: &Context,
    about: &NeoAbout,
    shown: &NeoShown,
    otherwise: u16,
) -> Result<Reply, Refusal> {
    let Some(kind) = kind_of(about, None) else { return Ok(bad_type(about)) };
    let mut engine = context.engine(Access::Read)?;
    let scope = about.scope.clone();
    let query = |page| {
        let filter = MemoryFilter { kind, scope: scope.clone(), ..MemoryFilter::default() };
        Query::Memories { filter, page }
    };
    let mut found: Vec<MemoryView> = find::all(&mut engine, context, "memories", query)?;
    found.retain(|memory| fits(about, memory));
    found.reverse();
    found.truncate(usize::from(shown.limit.unwrap_or(otherwise)));
    Ok(table(&found, shown))
}

fn listed(
    context: &Context,
    query: Query,
    about: &NeoAbout,
    shown: &NeoShown,
) -> Result<Reply, Refusal> {
    let mut answer = context.query(query)?;
    let found = answer.get_mut("memories").map(Value::take).unwrap_or_default();
    let mut found: Vec<MemoryView> = serde_json::from_value(found).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: memories do not read: {error}"))
    })?;
    found.retain(|memory| fits(about, memory));
    Ok(table(&found, shown))
}

fn table(found: &[MemoryView], shown: &NeoShown) -> Reply {
    let most = if shown.full { SHOWN_FULL } else { SHOWN };
    let records: Vec<Record> = found.iter().map(record).collect();
    let row = |record: &Record| {
        let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
        let accesses = record.get("access_count").cloned().unwrap_or_default();
        vec![
            text("id"),
            text("type"),
            text("scope"),
            print::cut(&text("content"), most),
            accesses.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    let said = if rows.is_empty() {
        "No memories found.\n".to_owned()
    } else {
        print::table(&["ID", "TYPE", "SCOPE", "CONTENT", "ACCESSES"], &rows)
    };
    let maps: Vec<Value> = records.iter().map(|it| Value::Object(it.map().clone())).collect();
    Reply::new(json!({"memories": maps}), Shape::Text(said))
}

fn stats(context: &Context) -> Result<Reply, Refusal> {
    let found = find::memories(&mut context.engine(Access::Read)?, context)?;
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let mut scopes: BTreeMap<&str, usize> = BTreeMap::new();
    for memory in &found {
        *types.entry(memory_words(memory.r#type).0).or_default() += 1;
        *scopes.entry(memory.scope.as_str()).or_default() += 1;
    }
    let mut said = format!("Total memories: {}\n\n", found.len());
    for (head, counts) in [("TYPE", &types), ("SCOPE", &scopes)] {
        if !counts.is_empty() {
            let rows: Vec<Vec<String>> = counts
                .iter()
                .map(|(name, count)| vec![(*name).to_owned(), count.to_string()])
                .collect();
            said.push_str(&print::table(&[head, "COUNT"], &rows));
            said.push('\n');
        }
    }
    let answer = json!({"total": found.len(), "byType": types, "byScope": scopes});
    Ok(Reply::new(answer, Shape::Text(said)))
}
