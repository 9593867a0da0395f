//! `comity import …`: what other tools keep, taken over by ordinary commands.

pub(super) mod carry;

use crate::args::ImportCommand;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use comity_protocol::plan::{FILE_BYTES_MAX, Plan, Problem};
use comity_protocol::{beads, taskmaster};
use serde_json::json;
use std::io::Read;
use std::path::Path;

pub(super) fn run(context: &Context, command: ImportCommand) -> Result<Reply, Refusal> {
    match command {
        ImportCommand::Beads { file, dry_run } => {
            let plan = plan_of(&file, beads::read)?;
            tasks(context, beads::PROVIDER, &plan, dry_run)
        }
        ImportCommand::Collab { dir } => super::collab::import(context, &dir),
        ImportCommand::V1 { file, agents } => super::collab::import_v1(context, &file, &agents),
        ImportCommand::Neo { dir } => super::neo::import(context, &dir),
        ImportCommand::Taskmaster { file, dry_run } => {
            let plan = plan_of(&file, taskmaster::read)?;
            tasks(context, taskmaster::PROVIDER, &plan, dry_run)
        }
    }
}

fn tasks(
    context: &Context,
    provider: &'static str,
    plan: &Plan,
    dry_run: bool,
) -> Result<Reply, Refusal> {
    if !dry_run {
        return Ok(Reply::new(carry::out(context, provider, plan)?, Shape::Import));
    }
    let tasks: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| {
            json!({
                "item": task.item,
                "id": task.new.id,
                "status": task.target.as_str(),
                "title": task.new.title,
            })
        })
        .collect();
    let answer = json!({
        "imported": 0, "existing": 0, "dry_run": true, "tasks": tasks, "changed": [],
        "left_out": plan.left_out,
    });
    Ok(Reply::new(answer, Shape::Import))
}

fn plan_of(file: &Path, read: fn(&str) -> Result<Plan, Vec<Problem>>) -> Result<Plan, Refusal> {
    let text = text_of(file)?;
    read(&text).map_err(|problems| unreadable(file, &problems))
}

/// Reads a file, or stdin for `-`, within its bound.
pub(super) fn text_of(file: &Path) -> Result<String, Refusal> {
    let named = file.display();
    let failed = |error: std::io::Error| Refusal::input(format!("cannot read {named}: {error}"));
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let opened = std::fs::File::open(file).map_err(failed)?;
        opened.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Refusal::input(format!("{named} is larger than {FILE_BYTES_MAX} bytes"))
            .hint("divide it and import the parts one after the other"));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::input(format!("{named} is not UTF-8")))
}

/// Says everything that is wrong with a file at once.
pub(super) fn unreadable(file: &Path, problems: &[Problem]) -> Refusal {
    const SHOWN: usize = 5;
    let place = |problem: &Problem| match (problem.line, problem.column, problem.path.as_str()) {
        (Some(line), Some(column), _) => format!("line {line}, column {column}: "),
        (Some(line), None, "") => format!("line {line}: "),
        (Some(line), None, path) => format!("line {line}, {path}: "),
        (None, _, "") => String::new(),
        (None, _, path) => format!("{path}: "),
    };
    let mut said: Vec<String> = problems
        .iter()
        .take(SHOWN)
        .map(|problem| format!("{}{}", place(problem), problem.message))
        .collect();
    if problems.len() > SHOWN {
        said.push(format!("and {} more", problems.len() - SHOWN));
    }
    Refusal::input(format!("{}: {}", file.display(), said.join("; ")))
        .hint("mend the file and import it again; nothing was taken over")
        .detail("problems", json!(problems))
}
