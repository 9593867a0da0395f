//! What comes in as text of another protocol: contracts, plans, answers, feedback.

use super::{execute, show, text, writing};
use crate::human;
use crate::output::Reply;
use comity_api::{AnswerTask, ById, Intervene, op};
use comity_bridge::contract::{self, Named};
use comity_core::command::PlannedTask;
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn breakdown(
    context: &Context,
    file: &str,
    epic: Option<&String>,
) -> Result<Reply, Refusal> {
    let (name, text) = (text::name_of(file), text::contract(file)?);
    let (mut plan, notes) = contract::plan(&context.caller(), Named { name, text: &text }, epic)?;
    let mapper = context.root_mapper();
    for PlannedTask { task, .. } in &mut plan.tasks {
        task.files = mapper.patterns(&task.files)?;
        task.constraints.allow_delete = mapper.patterns(&task.constraints.allow_delete)?;
    }
    let reply = execute::<op::TaskBreakdown>(context, plan, human::task::list)?;
    Ok(notes.into_iter().fold(reply, Reply::note))
}

pub(super) fn answer(
    context: &Context,
    id: String,
    said: Option<String>,
    comment: Option<String>,
) -> Result<Reply, Refusal> {
    let (text, comment) = match (said, comment) {
        (_, Some(file)) => {
            let generation = writing::generation(context)?;
            (text::contract(&file)?, Some(generation))
        }
        (said, None) => (said.unwrap_or_default(), None),
    };
    execute::<op::TaskAnswerQuestions>(context, AnswerTask { id, text, comment }, human::task::line)
}

pub(super) fn intervene(
    context: &Context,
    id: String,
    feedback: Option<String>,
) -> Result<Reply, Refusal> {
    match feedback {
        Some(feedback) => {
            execute::<op::TaskIntervene>(context, Intervene { id, feedback }, human::task::line)
        }
        None => show::<op::TaskIntervention>(context, ById { id }, human::intervention::full),
    }
}
