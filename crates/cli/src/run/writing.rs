//! A task written as another protocol writes it.

use crate::output::Reply;
use comity_api::{ById, RenderTask, RenderedTask, Rendering, op};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_protocol::ace::Generation;
use comity_protocol::labels::{Carrier, Issue};
use serde_json::json;

pub(super) fn render(context: &Context, kind: &str, id: String) -> Result<Reply, Refusal> {
    if kind == "labels" {
        return labels(context, id);
    }
    let Some(kind) = Rendering::parse(kind) else {
        let names: Vec<&str> = Rendering::ALL.iter().map(|(_, name)| *name).collect();
        return Err(Refusal::input(format!("a task cannot be written as {kind:?}"))
            .hint(format!("use one of: mission, result, {}, labels, resume", names.join(", "))));
    };
    let generation = generation(context)?;
    Ok(reply(context.ask::<op::ContractRender>(RenderTask { id, kind, generation })?))
}

pub(super) fn reply(rendered: RenderedTask) -> Reply {
    let end = if rendered.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{end}", rendered.text);
    Reply::text(rendered, text)
}

/// The generation of ACE's comments that the project's labels go with.
pub(super) fn generation(context: &Context) -> Result<Generation, Refusal> {
    Ok(match context.config.labels()?.carrier() {
        Carrier::Labels => Generation::Labels,
        Carrier::Field => Generation::Project,
    })
}

/// The labels that show where a task stands, in the words of the project, and the labels of its own.
fn labels(context: &Context, id: String) -> Result<Reply, Refusal> {
    let dialect = context.config.labels()?;
    let task = context.ask::<op::TaskShow>(ById { id })?.task;
    let mark = dialect.mark(task.status);
    let role = task.role.and_then(|role| dialect.role_word(role));
    let issue = match mark.issue {
        Issue::Open => "open",
        Issue::Completed => "completed",
        Issue::NotPlanned => "not_planned",
    };
    let mut words: Vec<&str> = mark.word.into_iter().chain(role).collect();
    let own: Vec<&str> = task.labels.iter().map(String::as_str).collect();
    words.extend(own.into_iter().filter(|label| !words.contains(label)).collect::<Vec<_>>());
    let text: String = words.iter().map(|word| format!("{word}\n")).collect();
    let next = dialect.next(task.status);
    let answer = json!({
        "kind": "labels", "id": task.id, "dialect": dialect.name(), "labels": words,
        "issue": issue, "next": next,
    });
    Ok(Reply::text(answer, text))
}
