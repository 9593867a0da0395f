//! A task written as another protocol writes it.

use super::query;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_engine::{Query, Writing};
use comity_protocol::ace::Generation;
use comity_protocol::labels::{Carrier, Issue};
use serde_json::{Value, json};

pub(super) fn render(context: &Context, kind: &str, id: String) -> Result<Reply, Refusal> {
    if kind == "labels" {
        return labels(context, id);
    }
    let Some(writing) = Writing::parse(kind) else {
        let names: Vec<&str> = Writing::ALL.iter().map(|writing| writing.as_str()).collect();
        return Err(Refusal::input(format!("a task cannot be written as {kind:?}"))
            .hint(format!("one of: mission, result, {}, labels, resume", names.join(", "))));
    };
    let generation = generation(context)?;
    let reply = query(context, Query::Written { id, writing, generation }, Shape::Nothing)?;
    let text = reply.json.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{end}");
    Ok(Reply::new(reply.json, Shape::Text(text)))
}

/// The generation of ACE's comments that the project's labels go with.
pub(super) fn generation(context: &Context) -> Result<Generation, Refusal> {
    Ok(match context.config.labels()?.carrier() {
        Carrier::Labels => Generation::Labels,
        Carrier::Field => Generation::Project,
    })
}

/// The labels that show where a task stands, in the words of the project.
fn labels(context: &Context, id: String) -> Result<Reply, Refusal> {
    let dialect = context.config.labels()?;
    let answer = context.query(Query::Task { id })?;
    let word = |key: &str| answer.pointer(key).and_then(Value::as_str);
    let status = Status::parse(word("/task/status").unwrap_or_default())?;
    let mark = dialect.mark(status);
    let role = word("/task/role").map(Role::parse).transpose()?;
    let role = role.and_then(|role| dialect.role_word(role));
    let issue = match mark.issue {
        Issue::Open => "open",
        Issue::Completed => "completed",
        Issue::NotPlanned => "not_planned",
    };
    let words: Vec<&str> = mark.word.into_iter().chain(role).collect();
    let text: String = words.iter().map(|word| format!("{word}\n")).collect();
    let next = dialect.next(status);
    let answer = json!({
        "kind": "labels", "id": word("/task/id"), "dialect": dialect.name(), "labels": words,
        "issue": issue, "next": next,
    });
    Ok(Reply::new(answer, Shape::Text(text)))
}
