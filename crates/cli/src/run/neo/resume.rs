//! `contract render resume ID`: the header for whoever goes on after a crash.

use super::find;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{EventFilter, Query};
use comity_protocol::neotx::crash;
use comity_protocol::neotx::resume::{self, Form};
use serde_json::{Value, json};

pub(in crate::run) fn render(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Read)?;
    let id = find::task(&mut engine, context, id)?;
    let mut answer = engine.query(&context.asker(), Query::Mission { id })?;
    let task = answer.get_mut("task").map(Value::take).unwrap_or_default();
    let task: TaskView = serde_json::from_value(task).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the task does not read: {error}"))
    })?;
    let filter = |page| EventFilter { task: Some(task.id.clone()), page, ..EventFilter::default() };
    let events: Vec<Value> =
        find::all(&mut engine, context, "events", |page| Query::Events(filter(page)))?;
    let original = answer.pointer("/mission/instruction").and_then(Value::as_str);
    let Some(found) = crash::of_log(&task, &events, original.map(str::to_owned)) else {
        let message = format!("no attempt of {} has failed or been reclaimed", task.id);
        return Err(Refusal::new(Code::InvalidTransition, message)
            .hint(format!("write its mission: comity contract render mission {}", task.id)));
    };
    let text = resume::render(&found, Form::Each);
    let answer = json!({"kind": "resume", "id": task.id, "text": text});
    let shown = if text.ends_with('\n') { text } else { text + "\n" };
    Ok(Reply::new(answer, Shape::Text(shown)))
}
