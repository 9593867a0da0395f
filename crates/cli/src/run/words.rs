//! What comes in as text of another protocol: contracts, plans, answers, feedback.

use super::{contract, execute, query};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::command::{Command, NewTask, PlannedTask};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{AnswerForm, Query};
use comity_protocol::contract::{Mode, check, kind};
use comity_protocol::neomjs::{TaskContract, read_plan, title_beside};
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
    execute(context, Command::CreateTasks { tasks }, Shape::Tasks)
}

/// Answers what a blocked task waits for.
pub(super) fn answer(
    context: &Context,
    id: &str,
    text: Option<String>,
    comment: Option<String>,
) -> Result<Reply, Refusal> {
    let (text, form) = match (text, comment) {
        (_, Some(file)) => (contract::read(Path::new(&file), Path::new("."))?, AnswerForm::Comment),
        (text, None) => (text.unwrap_or_default(), AnswerForm::Text),
    };
    let given = context.engine(Access::Read)?.read_answer(&context.asker(), id, &text, form)?;
    execute(context, Command::AnswerTask(given), Shape::TaskLine)
}

/// Shows a stuck task, or lets it go on.
pub(super) fn intervene(
    context: &Context,
    id: String,
    feedback: Option<String>,
) -> Result<Reply, Refusal> {
    match feedback {
        Some(feedback) => execute(context, Command::Intervene { id, feedback }, Shape::TaskLine),
        None => query(context, Query::Intervention { id }, Shape::Intervention),
    }
}

/// Reads a task contract as the task that it asks for.
pub(super) fn task_of_contract(file: &str, title: Option<&str>) -> Result<NewTask, Refusal> {
    let text = contract::read(Path::new(file), Path::new("."))?;
    let checked = check(&text, kind("neo-task"), Mode::Full);
    match &checked.tree {
        Some(tree) if checked.problems.is_valid() => {
            let beside = title_beside(&text);
            Ok(TaskContract::of(tree).new_task(title.or(beside.as_deref())))
        }
        _ => Err(invalid(file, "contract", &checked.problems)),
    }
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
