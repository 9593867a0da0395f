//! `neo memory …`

use super::print;
use crate::args::{NeoAbout, NeoMemory, NeoShown};
use crate::human::now;
use crate::output::Reply;
use comity_api::{
    ById, ForgetMemory, ListMemories, MemoryAnswer, SearchMemories, UpdateMemory, op,
};
use comity_bridge::neo::{find, records};
use comity_core::command::{MemoryChanges, NewMemory};
use comity_core::memory::{GLOBAL_SCOPE, MemoryType};
use comity_core::refusal::Refusal;
use comity_core::search::Search;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::MemoryView;
use comity_engine::{Caller, Service};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neotx::records::Record;
use comity_protocol::neotx::take::{column_tag, memory_words};
use comity_protocol::neotx::words::relevance;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// neo's types, and the older words for them.
const TYPES: &str = "knowledge, warning, focus, fact, procedure, feedback";
/// How much of a memory a table shows, and how much with `--full`.
const SHOWN: usize = 60;
const SHOWN_FULL: usize = 500;
/// How many memories are shown by default.
const LISTED: u16 = 50;
const RECENT: u16 = 10;
/// After this time without use, how often something was used no longer counts in neo's order.
const USED_FOR: Millis = Millis::from_secs(60 * 24 * 60 * 60);
const FOUND: u16 = 20;
/// How many of the most used are shown, and how much of each.
const TOP: usize = 5;
const SHOWN_TOP: usize = 50;

pub(super) fn run(context: &Context, command: NeoMemory) -> Result<Reply, Refusal> {
    match command {
        NeoMemory::Write { content: Some(content), about, expires, tags } => {
            write(context, content, about, expires.as_deref(), tags)
        }
        NeoMemory::Write { .. } => {
            print::refuse("Usage: neo memory write <content> --type <type> [--scope <scope>]")
        }
        NeoMemory::Forget { id: Some(id), .. } => forget(context, &id),
        NeoMemory::Forget { .. } => print::refuse("Usage: neo memory forget <id>"),
        NeoMemory::Update { id: Some(id), content, about } => update(context, &id, content, &about),
        NeoMemory::Update { .. } => print::refuse(UPDATE_USAGE),
        NeoMemory::Search { query: Some(query), about, shown } => {
            search(context, &query, &about, &shown)
        }
        NeoMemory::Search { .. } => print::refuse("Usage: neo memory search <query>"),
        NeoMemory::List { about, shown } => listed(context, &about, &shown, LISTED, in_neos_order),
        NeoMemory::Recent { about, shown } => {
            listed(context, &about, &shown, RECENT, <[MemoryView]>::reverse)
        }
        NeoMemory::Stats { .. } => stats(context),
        NeoMemory::Other(words) => {
            super::unknown(&words, "write, forget, update, search, list, stats, recent")
        }
    }
}

const UPDATE_USAGE: &str = "Usage: neo memory update <id> <new content>";

fn write(
    context: &Context,
    content: String,
    about: NeoAbout,
    expires: Option<&str>,
    tags: Option<String>,
) -> Result<Reply, Refusal> {
    let Some(kind) = kind_of(&about, Some("knowledge")) else { return bad_type(&about) };
    let expires = match expires.map(Millis::parse) {
        Some(None) => {
            return print::refuse("Invalid --expires format. Use e.g. \"2h\" or \"30m\".");
        }
        known => known.flatten(),
    };
    let tags = tags.unwrap_or_default();
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let tags = tags.map(str::to_owned).chain(columns(&about)).collect();
    let new = NewMemory {
        text: content,
        kind: kind.unwrap_or(MemoryType::Fact),
        scope: about.scope,
        tags,
        expires,
        task: None,
        supersedes: None,
    };
    let service = context.service(Access::Write)?;
    let made = service.call::<op::MemoryWrite>(&context.caller(), new)?.memory;
    let said = print::success(&format!("Memory written: {}", find::memory_id(&made)));
    Ok(Reply::text(answer(&made), said))
}

/// Reads a type: `Some(None)` when none is given, `None` when the word is no type.
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
    let record = records::memory(memory);
    let has = |column: &str, wanted: Option<&String>| {
        wanted.is_none_or(|wanted| record.text(column) == Some(wanted))
    };
    (!any_knowledge(about) || memory_words(memory.r#type).0 == "knowledge")
        && has("category", about.category.as_ref())
        && has("severity", about.severity.as_ref())
}

/// The scope of the memories that are looked at; `global` is everything, as in neo.
fn scope(about: &NeoAbout) -> Option<String> {
    about.scope.clone().filter(|scope| scope != GLOBAL_SCOPE)
}

fn bad_type(about: &NeoAbout) -> Result<Reply, Refusal> {
    print::refuse(match (&about.kind, &about.subtype) {
        (None | Some(_), Some(subtype)) if kind_of(&without_subtype(about), None).is_some() => {
            format!("Invalid subtype \"{subtype}\". Must be one of: fact, procedure")
        }
        (kind, _) => {
            let kind = kind.as_deref().unwrap_or_default();
            format!("Invalid type \"{kind}\". Must be one of: {TYPES}")
        }
    })
}

fn without_subtype(about: &NeoAbout) -> NeoAbout {
    NeoAbout { subtype: None, ..about.clone() }
}

/// Values without a field of their own are kept as tags.
fn columns(about: &NeoAbout) -> Vec<String> {
    [
        ("source", about.source.as_deref()),
        ("category", about.category.as_deref()),
        ("severity", about.severity.as_deref()),
        ("outcome", about.outcome.as_deref()),
    ]
    .into_iter()
    .filter_map(|(column, value)| Some(column_tag(column, value?)))
    .collect()
}

fn answer(memory: &MemoryView) -> Value {
    json!({"memory": records::memory(memory).map()})
}

fn named(service: &Service, caller: &Caller, id: &str) -> Result<String, Refusal> {
    find::memory(service, caller, id).map_err(|refusal| in_neos_words(refusal, id))
}

fn in_neos_words(refusal: Refusal, id: &str) -> Refusal {
    print::not_found(refusal, "Memory", "memory", id)
}

fn forget(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let ours = named(&service, &caller, id)?;
    let done = service
        .call::<op::MemoryForget>(&caller, ForgetMemory { id: ours })
        .map_err(|refusal| in_neos_words(refusal, id))?;
    Ok(Reply::text(done, print::success(&format!("Memory forgotten: {id}"))))
}

fn update(
    context: &Context,
    id: &str,
    content: Option<String>,
    about: &NeoAbout,
) -> Result<Reply, Refusal> {
    let more = columns(about);
    let Some(kind) = kind_of(about, None) else { return bad_type(about) };
    if content.is_none() && more.is_empty() && kind.is_none() && about.scope.is_none() {
        return print::refuse(UPDATE_USAGE);
    }
    let (service, caller) = (context.service(Access::Write)?, context.caller());
    let ours = named(&service, &caller, id)?;
    let MemoryAnswer { memory: now } = service
        .call::<op::MemoryShow>(&caller, ById { id: ours.clone() })
        .map_err(|refusal| in_neos_words(refusal, id))?;
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
    let changed = UpdateMemory { id: ours, changes: Box::new(changes) };
    let made = service.call::<op::MemoryUpdate>(&caller, changed)?.memory;
    let said = print::success(&format!("Memory updated: {id}"));
    Ok(Reply::text(answer(&made), said))
}

/// What was used most and lately comes first, and of equals the oldest.
fn in_neos_order(found: &mut [MemoryView]) {
    let used = |memory: &MemoryView| {
        let record = records::memory(memory);
        let at = record.text("last_accessed_at").and_then(Timestamp::parse);
        let idle = at.map_or(Millis::from_secs(0), |at| now().since(at)).ms();
        let left = (USED_FOR.ms() - idle).max(0).unsigned_abs();
        std::cmp::Reverse(u128::from(accesses(&record)) * u128::from(left))
    };
    found.sort_by_cached_key(used);
}

fn listed(
    context: &Context,
    about: &NeoAbout,
    shown: &NeoShown,
    otherwise: u16,
    arrange: fn(&mut [MemoryView]),
) -> Result<Reply, Refusal> {
    let Some(kind) = kind_of(about, None) else { return bad_type(about) };
    let service = context.service(Access::Read)?;
    let wanted = ListMemories { kind, scope: scope(about), ..ListMemories::default() };
    let mut found = find::memories(&service, &context.caller(), wanted)?;
    found.retain(|memory| fits(about, memory));
    arrange(&mut found);
    found.truncate(usize::from(shown.limit.unwrap_or(otherwise)));
    Ok(table(&found, shown, None))
}

/// Finds everything that fits, then cuts the list.
fn search(
    context: &Context,
    query: &str,
    about: &NeoAbout,
    shown: &NeoShown,
) -> Result<Reply, Refusal> {
    let Some(kind) = kind_of(about, None) else { return bad_type(about) };
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    let wanted = SearchMemories {
        query: query.to_owned(),
        kind,
        scope: scope(about),
        ..SearchMemories::default()
    };
    let mut found = find::matches(&service, &caller, wanted)?;
    found.retain(|memory| fits(about, memory));
    found.truncate(usize::from(shown.limit.unwrap_or(FOUND)));
    let texts = found.iter().map(|memory| {
        std::iter::once(memory.text.as_str()).chain(memory.tags.iter().map(String::as_str))
    });
    let scores = relevance(&Search::parse(query).scores(texts));
    Ok(table(&found, shown, Some(&scores)))
}

fn table(found: &[MemoryView], shown: &NeoShown, scores: Option<&[u8]>) -> Reply {
    let most = if shown.full { SHOWN_FULL } else { SHOWN };
    let records: Vec<Record> = found.iter().map(records::memory).collect();
    let row = |(place, record): (usize, &Record)| {
        let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
        let score = scores.map(|all| format!("{}%", all.get(place).copied().unwrap_or(0)));
        let mut row = vec![text("id"), text("type"), text("scope")];
        row.extend(score);
        row.extend([print::cut(&text("content"), most, "…"), accesses(record).to_string()]);
        row
    };
    let rows: Vec<Vec<String>> = records.iter().enumerate().map(row).collect();
    let mut heads = vec!["ID", "TYPE", "SCOPE"];
    heads.extend(scores.map(|_| "SCORE"));
    heads.extend(["CONTENT", "ACCESSES"]);
    let said = if rows.is_empty() {
        "No memories found.\n".to_owned()
    } else {
        print::table(&heads, &rows)
    };
    let maps: Vec<Value> = records.iter().map(|it| Value::Object(it.map().clone())).collect();
    Reply::text(json!({"memories": maps}), said)
}

fn accesses(record: &Record) -> u64 {
    record.get("access_count").and_then(Value::as_u64).unwrap_or(0)
}

fn stats(context: &Context) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let found = find::memories(&service, &context.caller(), ListMemories::default())?;
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
    let mut top: Vec<Record> = found.iter().map(records::memory).collect();
    top.sort_by_key(|record| std::cmp::Reverse(accesses(record)));
    top.truncate(TOP);
    if !top.is_empty() {
        let row = |record: &Record| {
            let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
            let content = print::cut(&text("content"), SHOWN_TOP, "…");
            vec![text("id"), text("type"), accesses(record).to_string(), content]
        };
        let rows: Vec<Vec<String>> = top.iter().map(row).collect();
        said.push_str("Top 5 most-accessed memories:\n\n");
        said.push_str(&print::table(&["ID", "TYPE", "ACCESSES", "CONTENT"], &rows));
    }
    let answer = json!({"total": found.len(), "byType": types, "byScope": scopes});
    Ok(Reply::text(answer, said))
}
