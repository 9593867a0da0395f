//! The refusal that lists everything that is not as it should be.

use crate::check::{Findings, Violation};
use comity_core::refusal::{Code, Refusal};
use serde_json::json;

/// Violations that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 8;

pub(crate) fn refusal(findings: &Findings, task: &str) -> Option<Refusal> {
    if findings.violations.is_empty() {
        return None;
    }
    let words = |violation: &Violation| violation.message.clone();
    let said: Vec<String> = findings.violations.iter().take(SAID_MAX).map(words).collect();
    let more = match findings.violations.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let (code, hint) = kind(&findings.violations);
    let message = format!("{task} is not as its constraints want it: {}{more}", said.join("; "));
    Some(
        Refusal::new(code, message)
            .hint(hint)
            .detail("violations", json!(findings.violations))
            .detail("base", findings.base.clone())
            .detail("commit", findings.commit.clone())
            .detail("files", json!(findings.files)),
    )
}

/// What an agent says wrongly is mended in the contract; the rest is mended in the work.
fn kind(violations: &[Violation]) -> (Code, &'static str) {
    let only = |name: &str| violations.iter().all(|one| one.constraint == name);
    if only("files_modified") {
        return (
            Code::ContractInvalid,
            "list exactly what the work changes, then hand it in again",
        );
    }
    let hint = if only("branch") {
        "switch to that branch, with `git switch -c` when it is not there, then hand the work in again"
    } else if only("unchecked") {
        "hand in a commit that git has here, on a branch that was made from the default branch; `git fetch` may help"
    } else {
        "undo what the task does not allow, or let a planner or a person widen it"
    };
    (Code::LimitExceeded, hint)
}
