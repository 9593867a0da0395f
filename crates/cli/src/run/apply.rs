//! `comity contract apply`: does what a report asks for.

use super::task_git::{self, Given};
use super::{contract, task_result};
use crate::args::VerbArgs;
use crate::output::Reply;
use comity_api::{ById, DecisionAnswer, EventAnswer, TaskAnswer, op};
use comity_core::chain::Hash;
use comity_core::command::Request;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::Reply as Answered;
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::contract::{Checked, ContractKind, Mode, check};
use comity_protocol::neotx::effect;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(
    context: &Context,
    file: &str,
    kind: Option<&'static ContractKind>,
    task: Option<String>,
) -> Result<Reply, Refusal> {
    let text = contract::read(Path::new(file), Path::new("."))?;
    let checked = check(&text, kind, Mode::Full);
    let (Some(kind), Some(tree), true) = (checked.kind, &checked.tree, checked.is_valid()) else {
        return Err(invalid(file, &checked));
    };
    if kind.report.is_some() {
        let result = Some(task_result::handed_in(file, &checked)?);
        let Some(id) = task else {
            return Err(Refusal::input(format!("{} ends a piece of work", kind.name))
                .hint("name the task with --task ID"));
        };
        let given = Given { result, ..Given::default() };
        let submitted = task_git::submit(context, VerbArgs { id, reason: None }, given)?;
        let words = said_of_task(&submitted.answer.task);
        let answer = json!({"kind": kind.name, "applied": [submitted.answer]});
        return Ok(Reply::text(answer, words).noted(submitted.notes));
    }
    let commands = effect::commands(kind.name, tree, task.as_deref())?;
    // The same report applied twice does nothing twice; a review of the next round is another one, whatever it says.
    let round = match &task {
        Some(id) if kind.name == "reviewer" => round_of(context, id)?,
        _ => 0,
    };
    let seed = format!("{}\n{round}\n{}", task.unwrap_or_default(), tree.to_value());
    let hash = Hash::of(seed.as_bytes()).to_string();
    let requests: Vec<Request> = commands
        .into_iter()
        .enumerate()
        .map(|(number, command)| {
            let key = format!("apply:{}:{number}", hash.chars().take(32).collect::<String>());
            let request = context.request(command);
            Request {
                key: request.key.clone().map(|own| format!("{own}:{number}")).or(Some(key)),
                ..request
            }
        })
        .collect();
    let answers = context.service(Access::Write)?.execute_all(requests);
    let applied = answers.into_iter().collect::<Result<Vec<Answered>, Refusal>>()?;
    let words: String = applied.iter().map(said).collect();
    let applied: Vec<Value> =
        applied.into_iter().map(Answered::into_json).collect::<Result<_, _>>()?;
    let answer = json!({"kind": kind.name, "applied": applied});
    let notes = task_result::warnings(file, &checked);
    Ok(notes.into_iter().fold(Reply::text(answer, words), Reply::note))
}

fn round_of(context: &Context, id: &str) -> Result<u32, Refusal> {
    Ok(context.ask::<op::TaskShow>(ById { id: id.to_owned() })?.task.round)
}

/// A contract that does not validate moves nothing.
fn invalid(file: &str, checked: &Checked) -> Refusal {
    let errors = checked.problems.errors().join("; ");
    let kind = checked.kind.map_or("contract", |kind| kind.name);
    let name = if file == "-" { "stdin" } else { file };
    Refusal::new(Code::ContractInvalid, format!("{name} is no valid {kind}: {errors}"))
        .detail("problems", json!(checked.problems))
}

/// One line for each thing that came of it, also when it came of it before.
fn said(answered: &Answered) -> String {
    if let Ok(DecisionAnswer { decision }) = answered.clone().take() {
        return line(&format!("asked {}: {}", decision.id, decision.question));
    }
    if let Ok(TaskAnswer { task }) = answered.clone().take() {
        return said_of_task(&task);
    }
    let Ok(EventAnswer { event }) = answered.clone().take() else { return String::new() };
    let text = |key: &str| event.text(key).unwrap_or_default();
    let first = text("text").lines().next().unwrap_or_default();
    line(&format!("noted ({}): {first}", text("type")))
}

fn said_of_task(task: &TaskView) -> String {
    line(&format!("{} is {} now", task.id, task.status))
}

fn line(text: &str) -> String {
    format!("{}\n", crate::human::clean_text(text))
}
