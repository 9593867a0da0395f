//! A result contract that is handed in with `task submit --result`.

use comity_core::command::WorkReport;
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_protocol::ace::COMMENT;
use comity_protocol::contract::{self, Checked, ContractKind, KINDS};
use comity_protocol::problem::{Level, Problem};
use serde_json::json;
use std::path::Path;

/// Problems that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 5;

/// A result that can be handed in.
pub(super) struct HandedIn {
    /// What it reports.
    pub(super) report: WorkReport,
    /// What should be said about it.
    pub(super) notes: Vec<String>,
}

/// Reads a result of a given kind, or of the kind that its content tells.
pub(super) fn read(
    context: &Context,
    file: &str,
    kind: Option<&'static ContractKind>,
) -> Result<HandedIn, Refusal> {
    let text = super::contract::read(Path::new(file), &context.cwd)?;
    handed_in(file, &contract::check_handed_in(&text, kind))
}

/// Takes a contract that was looked at as a result.
pub(super) fn handed_in(file: &str, checked: &Checked) -> Result<HandedIn, Refusal> {
    let name = if file == "-" { "stdin" } else { file };
    let report = match (checked.kind, &checked.tree) {
        (Some(kind), Some(tree)) if checked.is_valid() => contract::report(kind, tree),
        _ => None,
    };
    let Some(report) = report else { return Err(refused(name, checked)) };
    Ok(HandedIn { report, notes: warnings(file, checked) })
}

/// What should be said about a valid contract.
pub(super) fn warnings(file: &str, checked: &Checked) -> Vec<String> {
    let name = if file == "-" { "stdin" } else { file };
    let warning = |problem: &Problem| {
        let (line, column) = (problem.line, problem.column);
        format!("note: {name}:{line}:{column}: {}", problem.message)
    };
    checked.problems.iter().map(warning).collect()
}

fn refused(name: &str, checked: &Checked) -> Refusal {
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
    let is_comment = checked.kind.is_some_and(|kind| kind.name == COMMENT.name);
    let comment = checked.tree.as_ref().filter(|_| is_comment);
    let comment = comment.and_then(|tree| tree.get("comment")?.text());
    let message = match (checked.kind, errors.is_empty()) {
        (Some(kind), true) => {
            let said = comment.map(|word| format!(" ({word})")).unwrap_or_default();
            let a = if kind.name.starts_with('a') { "an" } else { "a" };
            format!("{name} is {a} {}{said}; such a contract submits no work", kind.name)
        }
        (Some(kind), false) => {
            format!("{name} is not a valid {}: {}{more}", kind.name, said.join("; "))
        }
        (None, _) => format!("{name} is not a result: {}{more}", said.join("; ")),
    };
    let kinds: Vec<&str> =
        KINDS.iter().filter(|kind| kind.report.is_some()).map(|kind| kind.name).collect();
    let hint = match comment {
        Some("answer") => {
            format!("give an answer with `comity task answer ID --comment {name}`")
        }
        _ => {
            format!("fix it and submit it again; nothing was changed (kinds: {})", kinds.join(", "))
        }
    };
    Refusal::new(Code::ContractInvalid, message)
        .hint(hint)
        .detail("kind", checked.kind.map(|kind| kind.name))
        .detail("problems", json!(checked.problems))
}
