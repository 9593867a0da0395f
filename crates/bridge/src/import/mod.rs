//! Files of other trackers, taken over by ordinary commands.

pub(crate) mod carry;

use comity_api::ImportReport;
use comity_core::chain::Hash;
use comity_core::refusal::Refusal;
use comity_engine::{Keyed, Service};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::plan::{Earlier, Plan, Problem, Source};
use comity_protocol::{beads, taskmaster};
use serde_json::json;

/// The text of another tracker's file.
pub struct TrackerFile<'f> {
    /// What the file is called in messages.
    pub name: &'f str,
    pub text: &'f str,
    /// Nothing is done; the report says what would be.
    pub dry_run: bool,
}

pub fn beads(context: &Context, file: &TrackerFile<'_>) -> Result<ImportReport, Refusal> {
    tasks(context, beads::PROVIDER, file, beads::read)
}

pub fn taskmaster(context: &Context, file: &TrackerFile<'_>) -> Result<ImportReport, Refusal> {
    tasks(context, taskmaster::PROVIDER, file, taskmaster::read)
}

fn tasks(
    context: &Context,
    provider: &'static str,
    &TrackerFile { name, text, dry_run }: &TrackerFile<'_>,
    read: fn(&str, &Earlier) -> Result<Plan, Vec<Problem>>,
) -> Result<ImportReport, Refusal> {
    let mut service = context.service(Access::Read)?;
    // What is only told is done to a copy that is thrown away: nothing else knows all that the rules will say.
    if dry_run {
        service = service.trial()?;
    }
    let here = service.all_tasks(&context.caller())?;
    let earlier = Source::new(provider)?.earlier(&here);
    let plan = read(text, &earlier).map_err(|problems| unreadable(name, &problems))?;
    // A store that is not there is made when there is something to import.
    if !dry_run {
        service = context.service(Access::Write)?;
    }
    let report = keyed(&service, context, provider, text, &plan)?;
    Ok(ImportReport { dry_run, ..report })
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

/// Says everything that is wrong with a file at once.
fn unreadable(name: &str, problems: &[Problem]) -> Refusal {
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
    Refusal::input(format!("{name}: {}", said.join("; ")))
        .hint("mend the file and import it again; nothing was taken over")
        .detail("problems", json!(problems))
}
