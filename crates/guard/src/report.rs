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
    let only_words = findings.violations.iter().all(|one| one.constraint == "files_modified");
    // What an agent says wrongly is mended in the contract; the rest is mended in the work.
    let (code, hint) = if only_words {
        (Code::ContractInvalid, "list exactly what the work changes, then hand it in again")
    } else {
        (
            Code::LimitExceeded,
            "undo what the task does not allow, or let a planner or a person widen it",
        )
    };
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
