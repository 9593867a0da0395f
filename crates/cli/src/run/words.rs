//! What comes in as text of another protocol: contracts, plans, answers, feedback.

use super::{contract, execute, show, writing};
use crate::human;
use crate::output::Reply;
use comity_api::{AnswerTask, Breakdown, ById, Intervene, op};
use comity_core::command::{NewTask, PlannedTask};
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_protocol::contract::{Mode, check, kind};
use comity_protocol::neomjs::{TaskContract, new_task, read_plan};
use comity_protocol::problem::{Level, Problems};
use serde_json::json;
use std::path::Path;

/// Problems that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 5;

/// Makes the tasks of a plan.
pub(super) fn breakdown(
    context: &Context,
    file: &str,
    epic: Option<&String>,
) -> Result<Reply, Refusal> {
    let text = contract::read(Path::new(file), Path::new("."))?;
    let plan = read_plan(&text).map_err(|problems| invalid(file, "plan", &problems))?;
    let with_epic = |mut planned: PlannedTask| {
        planned.task.epic = planned.task.epic.or_else(|| epic.cloned());
        planned
    };
    let tasks = plan.iter().map(|item| with_epic(item.planned())).collect();
    let reply = execute::<op::TaskBreakdown>(context, Breakdown { tasks }, human::task::list)?;
    let mut notes: Vec<String> = Vec::new();
    for note in plan.iter().filter_map(|item| meant_elsewhere(context, &item.contract)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(notes.into_iter().fold(reply, Reply::note))
}

/// Answers what a blocked task waits for.
pub(super) fn answer(
    context: &Context,
    id: String,
    text: Option<String>,
    comment: Option<String>,
) -> Result<Reply, Refusal> {
    let (text, comment) = match (text, comment) {
        (_, Some(file)) => {
            let generation = writing::generation(context)?;
            (contract::read(Path::new(&file), Path::new("."))?, Some(generation))
        }
        (text, None) => (text.unwrap_or_default(), None),
    };
    execute::<op::TaskAnswerQuestions>(context, AnswerTask { id, text, comment }, human::task::line)
}

/// Shows a stuck task, or lets it go on.
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

/// Reads a task contract as the task that it asks for, and what should be said about it.
pub(super) fn task_of_contract(
    context: &Context,
    file: &str,
    title: Option<&str>,
) -> Result<(NewTask, Option<String>), Refusal> {
    let text = contract::read(Path::new(file), Path::new("."))?;
    let checked = check(&text, kind("neo-task"), Mode::Full);
    match &checked.tree {
        Some(tree) if checked.problems.is_valid() => {
            let note = meant_elsewhere(context, &TaskContract::of(tree));
            Ok((new_task(&text, tree, title), note))
        }
        _ => Err(invalid(file, "contract", &checked.problems)),
    }
}

/// A contract may name its repository, with or without the owner.
fn meant_elsewhere(context: &Context, contract: &TaskContract) -> Option<String> {
    let (named, here) = (contract.repository()?, context.repo.as_str());
    let name = here.rsplit('/').next().unwrap_or(here);
    let is_here = named.eq_ignore_ascii_case(here) || named.eq_ignore_ascii_case(name);
    (!is_here).then(|| {
        format!("note: the contract names the repository {named}, but the task is in {here}; to change that, use --repo {named}")
    })
}

fn invalid(file: &str, what: &str, problems: &Problems) -> Refusal {
    let name = if file == "-" { "stdin" } else { file };
    let errors = || problems.iter().filter(|problem| problem.level == Level::Error);
    let said: Vec<String> = errors()
        .take(SAID_MAX)
        .map(|p| format!("line {}, column {}: {}", p.line, p.column, p.message))
        .collect();
    let more = match errors().count().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!("the {what} in {name} is not valid: {}{more}", said.join("; "));
    Refusal::new(Code::ContractInvalid, message).detail("problems", json!(problems))
}
