//! A result contract that is handed in with `task submit --result`.

use crate::context::Context;
use comity_core::command::WorkReport;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::contract::{self, KINDS, Mode};
use comity_protocol::problem::{Level, Problem};
use serde_json::json;
use std::path::Path;

/// Problems that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 5;

/// Reads a result; returns what it reports and what should be said about it.
pub(super) fn read(context: &Context, file: &str) -> Result<(WorkReport, Vec<String>), Refusal> {
    let name = if file == "-" { "stdin" } else { file };
    let text = super::contract::read(Path::new(file), &context.cwd)?;
    let checked = contract::check(&text, None, Mode::Full);
    let report = checked.kind.and_then(|kind| kind.report);
    let (true, Some(report), Some(tree)) = (checked.is_valid(), report, &checked.tree) else {
        return Err(refused(name, &checked));
    };
    let warning = |problem: &Problem| {
        let (line, column) = (problem.line, problem.column);
        format!("note: {name}:{line}:{column}: {}", problem.message)
    };
    Ok((report(tree), checked.problems.iter().map(warning).collect()))
}

fn refused(name: &str, checked: &contract::Checked) -> Refusal {
    let errors: Vec<&Problem> =
        checked.problems.iter().filter(|problem| problem.level == Level::Error).collect();
    let said: Vec<String> = errors
        .iter()
        .take(SAID_MAX)
        .map(|p| format!("line {}, column {}: {}", p.line, p.column, p.message))
        .collect();
    let more = match errors.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = match (checked.kind, errors.is_empty()) {
        (Some(kind), true) => format!("{name} is a {}, which hands nothing in", kind.name),
        (Some(kind), false) => {
            format!("{name} is no valid {}: {}{more}", kind.name, said.join("; "))
        }
        (None, _) => format!("{name} is no result: {}{more}", said.join("; ")),
    };
    let kinds = KINDS.iter().filter(|kind| kind.report.is_some()).map(|kind| kind.name);
    Refusal::new(Code::ContractInvalid, message)
        .hint(format!(
            "mend it and hand it in again; nothing was changed (kinds: {})",
            kinds.collect::<Vec<_>>().join(", ")
        ))
        .detail("kind", checked.kind.map(|kind| kind.name))
        .detail("problems", json!(checked.problems))
}
