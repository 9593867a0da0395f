//! `comity import …`: what other tools keep, taken over by ordinary commands.

pub(super) mod carry;

use crate::args::ImportCommand;
use crate::human::import::{ImportReport, import as in_words};
use crate::output::Reply;
use comity_core::chain::Hash;
use comity_core::refusal::Refusal;
use comity_engine::{Keyed, Service};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::plan::{Earlier, FILE_BYTES_MAX, Plan, Problem, Source};
use comity_protocol::{beads, taskmaster};
use serde_json::json;
use std::io::Read;
use std::path::Path;

pub(super) fn run(context: &Context, command: ImportCommand) -> Result<Reply, Refusal> {
    match command {
        ImportCommand::Beads { file, dry_run } => {
            tasks(context, beads::PROVIDER, &file, beads::read, dry_run)
        }
        ImportCommand::Collab { dir } => super::collab::import(context, &dir),
        ImportCommand::V1 { file, agents } => super::collab::import_v1(context, &file, &agents),
        ImportCommand::Neo { dir } => super::neo::import(context, &dir),
        ImportCommand::Taskmaster { file, dry_run } => {
            tasks(context, taskmaster::PROVIDER, &file, taskmaster::read, dry_run)
        }
    }
}

fn tasks(
    context: &Context,
    provider: &'static str,
    file: &Path,
    read: fn(&str, &Earlier) -> Result<Plan, Vec<Problem>>,
    dry_run: bool,
) -> Result<Reply, Refusal> {
    let text = text_of(file)?;
    let mut service = context.service(Access::Read)?;
    // What is only told is done to a copy that is thrown away: nothing else knows all that the rules will say.
    if dry_run {
        service = service.trial()?;
    }
    let here = service.all_tasks(&context.caller())?;
    let earlier = Source::new(provider)?.earlier(&here);
    let plan = read(&text, &earlier).map_err(|problems| unreadable(file, &problems))?;
    // A store that is not there is made when there is something to import.
    if !dry_run {
        service = context.service(Access::Write)?;
    }
    let report = keyed(&service, context, provider, &text, &plan)?;
    Ok(Reply::new(ImportReport { dry_run, ..report }, in_words))
}

/// Carries the plan out, unless the caller's key says that it was: then the first answer counts.
fn keyed(
    service: &Service,
    context: &Context,
    provider: &'static str,
    text: &str,
    plan: &Plan,
) -> Result<ImportReport, Refusal> {
    let Some(key) = context.key() else { return carry::out(service, context, provider, plan) };
    let input = format!("import {provider}\n{}", Hash::of(text.as_bytes()));
    let keyed = Keyed::new(context.caller(), key, &input)?;
    if let Some(first) = service.remembered(&keyed)? {
        return Ok(first);
    }
    let report = carry::out(service, context, provider, plan)?;
    service.remember(&keyed, report)
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
        (Some(line), Some(column), "") => format!("line {line}, column {column}: "),
        (Some(line), Some(column), path) => format!("line {line}, column {column}, {path}: "),
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
