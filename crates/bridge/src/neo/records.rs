//! What comity keeps, as neo's files and JSON have it.

use super::find;
use comity_core::decision::{DecisionOption, DecisionState, DecisionType};
use comity_core::origin::Origin;
use comity_core::task::Priority;
use comity_core::view::{DecisionView, DirectiveView, MemoryView, TaskView};
use comity_protocol::neotx::records::{
    DECISION_KEYS, DIRECTIVE_KEYS, MEMORY_COLUMNS, Record, TASK_COLUMNS,
};
use comity_protocol::neotx::take::{kept_columns, memory_words};
use comity_protocol::neotx::words;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The ids of neo's agents begin with this.
pub use comity_project::identity::NEO as AGENT;
/// neo's word for whoever asks. neo's supervisor is a planner here.
const SOURCE: &str = "supervisor";
/// Keys in a task's context for fields that only neo has.
pub const SCOPE: &str = "scope";
pub const RETRIEVE: &str = "retrieve";

/// neo's name of an agent: the id without prefix and run. neo calls a person or a script `user`.
pub fn short_agent(agent: &str) -> String {
    match agent.strip_prefix(AGENT) {
        Some(name) => name.split(':').next().unwrap_or(name).to_owned(),
        None if agent.starts_with("human:") || agent.starts_with("script:") => "user".to_owned(),
        None => agent.to_owned(),
    }
}

pub fn answer_text(decision: &DecisionView) -> Option<String> {
    let key = decision.answer.clone()?;
    Some(match &decision.text {
        Some(text) => format!("{key}: {text}"),
        None => key,
    })
}

/// Writes other keys that neo's record had. They never replace what comity knows.
fn keep_other(out: &mut Record, origin: Option<&Origin>, is_theirs: impl Fn(&str) -> bool) {
    let other = origin.into_iter().flat_map(|origin| &origin.other);
    other.filter(|(key, _)| is_theirs(key)).for_each(|(key, value)| out.set(key, value.clone()));
}

/// Keys that comity always writes from its own record.
const KNOWN_OF_DECISION: &[&str] = &["id", "question", "context", "defaultAnswer", "answer"];

/// A decision as neo's files and JSON have it.
pub fn decision(decision: &DecisionView) -> Record {
    let mut out = Record::new().with("id", find::decision_id(decision));
    out.set("question", decision.question.as_str());
    out.set("context", decision.context.clone());
    let approval = decision.r#type == DecisionType::Approval.as_str();
    if !decision.options.is_empty() && !approval {
        let option = |option: &DecisionOption| {
            let label = option.label.as_deref().unwrap_or(&option.key);
            let out = Record::new().with("key", option.key.as_str()).with("label", label);
            Value::Object(out.with("description", option.description.clone()).map().clone())
        };
        out.set("options", decision.options.iter().map(option).collect::<Vec<_>>());
    }
    out.set("type", if approval { "approval" } else { "generic" });
    out.set("source", SOURCE);
    out.set("createdAt", decision.created_at.to_string());
    out.set("expiresAt", decision.expires_at.map(|at| at.to_string()));
    out.set("defaultAnswer", decision.default.clone());
    if decision.answer.is_some() {
        // A default counts as the answer from the deadline on.
        let defaulted = decision.state == DecisionState::Defaulted.as_str();
        let at = if defaulted { decision.expires_at } else { decision.answered_at };
        out.set("answeredAt", at.map(|at| at.to_string()));
        out.set("answer", answer_text(decision));
    } else if decision.state == "expired" {
        out.set("expiredAt", decision.expires_at.map(|at| at.to_string()));
    }
    keep_other(&mut out, decision.origin.as_ref(), |key| !KNOWN_OF_DECISION.contains(&key));
    out.in_order(DECISION_KEYS)
}

/// A directive as neo's file has it.
pub fn directive(directive: &DirectiveView) -> Record {
    let mut out = Record::new().with("id", find::directive_id(directive));
    out.set("trigger", directive.trigger.as_str());
    out.set("action", directive.text.as_str());
    out.set("description", directive.description.clone());
    out.set("priority", directive.priority);
    out.set("enabled", directive.enabled);
    out.set("createdAt", directive.created_at.to_string());
    out.set("expiresAt", directive.expires_at.map(|at| at.to_string()));
    keep_other(&mut out, directive.origin.as_ref(), |key| {
        key == "createdAt" || key == "lastTriggeredAt" || !DIRECTIVE_KEYS.contains(&key)
    });
    out.set("lastTriggeredAt", directive.last_triggered_at.map(|at| at.to_string()));
    out.in_order(DIRECTIVE_KEYS)
}

/// Columns that comity always writes from its own record.
const KNOWN_OF_MEMORY: &[&str] =
    &["id", "type", "subtype", "scope", "content", "tags", "expires_at"];

/// A memory as a row of neo's table.
pub fn memory(memory: &MemoryView) -> Record {
    let (tags, kept) = kept_columns(&memory.tags);
    let (kind, subtype) = memory_words(memory.r#type);
    let created = memory.created_at.to_string();
    let mut out = Record::new().with("id", find::memory_id(memory));
    out.set("type", kind);
    out.set("scope", memory.scope.as_str());
    out.set("content", memory.text.as_str());
    out.set("source", short_agent(memory.source.agent.as_str()));
    out.set("tags", json!(tags).to_string());
    out.set("created_at", created.as_str());
    out.set("last_accessed_at", created.as_str());
    out.set("access_count", 0);
    out.set("expires_at", memory.expires_at.map(|at| at.to_string()));
    out.set("subtype", subtype);
    keep_other(&mut out, memory.origin.as_ref(), |column| !KNOWN_OF_MEMORY.contains(&column));
    for (column, value) in kept.map() {
        out.set(column, value.clone());
    }
    out.in_order(MEMORY_COLUMNS)
}

/// A task as neo's table has it.
pub fn task(task: &TaskView, depends_on: Option<String>) -> Record {
    let context = |key: &str| task.context.get(key).and_then(Value::as_str).map(str::to_owned);
    let priority = Priority::parse(&task.priority).unwrap_or(Priority::DEFAULT);
    let run = task.external_ids.get("neo").and_then(|ids| ids.get("run")).cloned();
    Record::new()
        .with("id", find::task_id(task))
        .with("title", task.title.as_str())
        .with("scope", context(SCOPE).unwrap_or_else(|| task.repo.clone()))
        .with("status", words::task_status(task.status))
        .with("priority", words::priority(priority))
        .with("initiative", task.initiative.clone())
        .with("depends_on", depends_on)
        .with("context", context(RETRIEVE))
        .with("run_id", run.unwrap_or_default())
        .with("created_at", task.created_at.to_string())
        .with("updated_at", task.updated_at.to_string())
        .in_order(TASK_COLUMNS)
}

/// The tasks as rows of neo's table, with neo's ids in their dependencies.
pub fn tasks(all: &[TaskView]) -> Vec<Record> {
    let ids: BTreeMap<&str, String> =
        all.iter().map(|task| (task.id.as_str(), find::task_id(task))).collect();
    let one = |task: &TaskView| {
        let first = task.dependencies.first().and_then(|id| ids.get(id.as_str()));
        self::task(task, first.cloned())
    };
    all.iter().map(one).collect()
}
