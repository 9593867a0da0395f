//! What is worth remembering: errors and issues that come again, and nothing that stands in the files anyway.

use super::facts::Index;
use super::triage::stems;
use super::view::View;
use crate::memory::GLOBAL_SCOPE;
use crate::run::{Run, RunState};
use crate::time::Timestamp;
use serde_json::Value;

/// Returns the error that a run got over, and how often the repository had it.
pub(super) fn repeated_error(index: &Index<'_>, run: &Run) -> Option<(String, u64)> {
    if run.state != RunState::Succeeded {
        return None;
    }
    let before = index.runs(&run.task).iter().rev().filter(|other| other.id < run.id);
    let error = before.take(1).find_map(|other| other.error.as_ref())?;
    let same = index.view.runs.iter().filter(|other| {
        let found = other.error.as_ref();
        other.id < run.id && found.is_some_and(|found| found.fingerprint == error.fingerprint)
    });
    Some((error.message.clone(), same.count() as u64))
}

/// Returns an issue of a review, as category and directory, that other reviews found as well, and how many did.
pub(super) fn repeated_issue(index: &Index<'_>, run: &Run) -> Option<(String, u64)> {
    let counted = issues(run).into_iter().map(|issue| {
        let reviews = index.view.runs.iter().filter(|other| other.id <= run.id);
        let count = reviews.filter(|other| issues(other).contains(&issue)).count() as u64;
        (issue.to_owned(), count)
    });
    counted.max_by_key(|(_, count)| *count)
}

fn issues(run: &Run) -> Vec<&str> {
    let all = run.said.get("issues").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).collect()
}

/// Tells whether a text is worth a memory: it says more than paths, stands in none of the files that everybody reads, and
/// no live memory has the same stems.
pub fn may_be_remembered(text: &str, view: &View, now: Timestamp) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_path = |word: &&&str| word.contains('/') || (word.contains('.') && word.len() > 2);
    if words.is_empty() || words.iter().all(|word| is_path(&word)) {
        return false;
    }
    let own = stems(text);
    let flat = words.join(" ").to_lowercase();
    let known = |file: &String| {
        file.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().contains(&flat)
    };
    if own.is_empty() || view.seen.known_texts.iter().any(known) {
        return false;
    }
    let live = view
        .memories
        .iter()
        .filter(|memory| memory.superseded_by.is_none() && !memory.is_expired(now));
    !live.into_iter().any(|memory| stems(&memory.text) == own)
}

/// The scope of what a repository remembers.
pub(super) fn scope(view: &View) -> String {
    let repo = view.tasks.first().map(|task| task.repo.to_string());
    repo.unwrap_or_else(|| GLOBAL_SCOPE.to_owned())
}
