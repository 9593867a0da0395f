//! Files of other trackers, taken over by ordinary commands.

pub(crate) mod carry;

use comity_api::{ImportFile, ImportReport};
use comity_core::chain::Hash;
use comity_core::refusal::Refusal;
use comity_engine::{Caller, Keyed, Service};
use comity_protocol::plan::{Earlier, Plan, Problem, Source};
use serde_json::json;

pub fn tasks(
    service: &Service,
    caller: &Caller,
    provider: &'static str,
    file: &ImportFile,
    read: fn(&str, &Earlier) -> Result<Plan, Vec<Problem>>,
) -> Result<ImportReport, Refusal> {
    // What is only told is done to a copy that is thrown away: nothing else knows all that the rules will say.
    let ImportFile { name, text, dry_run, .. } = file;
    let trial = if *dry_run { Some(service.trial()?) } else { None };
    let service = trial.as_ref().unwrap_or(service);
    let here = service.all_tasks(caller)?;
    let earlier = Source::new(provider)?.earlier(&here);
    let plan = read(text, &earlier).map_err(|problems| unreadable(name, &problems))?;
    let report = keyed(service, caller, provider, file, &plan)?;
    Ok(ImportReport { dry_run: *dry_run, ..report })
}

/// Carries the plan out, unless the caller's key says that it was: then the first answer counts.
fn keyed(
    service: &Service,
    caller: &Caller,
    provider: &'static str,
    ImportFile { name, text, with_state, .. }: &ImportFile,
    plan: &Plan,
) -> Result<ImportReport, Refusal> {
    let source = Source::new(provider)?.in_file(name);
    let carry = || carry::out(service, caller, source, plan, *with_state);
    let Some(key) = &caller.key else { return carry() };
    let states = if *with_state { " with states" } else { "" };
    let input = format!("import {provider}{states}\n{}", Hash::of(text.as_bytes()));
    let keyed = Keyed::new(caller.clone(), key, &input)?;
    if let Some(first) = service.remembered(&keyed)? {
        return Ok(first);
    }
    let report = carry()?;
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
