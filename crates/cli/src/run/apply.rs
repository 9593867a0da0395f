//! `comity contract apply`: does what a report asks for.

use super::task_git::{self, Given};
use super::{contract, task_result};
use crate::args::VerbArgs;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use crate::work_tree::task_of;
use comity_core::chain::Hash;
use comity_core::command::Request;
use comity_core::refusal::{Code, Refusal};
use comity_engine::Query;
use comity_protocol::contract::{Checked, Kind, Mode, check};
use comity_protocol::neotx::effect;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(
    context: &Context,
    file: &str,
    kind: Option<&'static Kind>,
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
        let reply = task_git::submit(context, VerbArgs { id, reason: None }, given)?;
        let shape = Shape::Text(said(&reply.json));
        let answer = json!({"kind": kind.name, "applied": [reply.json]});
        return Ok(Reply { json: answer, shape, ..reply });
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
    let answers = context.engine(Access::Write)?.execute_all(requests);
    let applied = answers.into_iter().collect::<Result<Vec<Value>, Refusal>>()?;
    let words: String = applied.iter().map(said).collect();
    let answer = json!({"kind": kind.name, "applied": applied});
    let notes = task_result::warnings(file, &checked);
    Ok(notes.into_iter().fold(Reply::new(answer, Shape::Text(words)), Reply::note))
}

fn round_of(context: &Context, id: &str) -> Result<u32, Refusal> {
    let answer = context.query(Query::Task { id: id.to_owned() })?;
    Ok(task_of(&answer)?.round)
}

/// One line for each thing that came of it.
fn said(answer: &Value) -> String {
    let text = |path: &str| answer.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let line = if answer.get("decision").is_some() {
        format!("asked {}: {}", text("/decision/id"), text("/decision/question"))
    } else if answer.get("task").is_some() {
        format!("{} is {} now", text("/task/id"), text("/task/status"))
    } else {
        let first = text("/event/text").lines().next().unwrap_or_default().to_owned();
        format!("noted ({}): {first}", text("/event/type"))
    };
    format!("{}\n", crate::human::clean_text(&line))
}

/// A contract that does not validate moves nothing.
fn invalid(file: &str, checked: &Checked) -> Refusal {
    let errors = checked.problems.errors().join("; ");
    let kind = checked.kind.map_or("contract", |kind| kind.name);
    let name = if file == "-" { "stdin" } else { file };
    Refusal::new(Code::ContractInvalid, format!("{name} is no valid {kind}: {errors}"))
        .detail("problems", json!(checked.problems))
}
