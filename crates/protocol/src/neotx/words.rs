//! neo's words for states, types and priorities, in both directions.

use crate::labels::word_for;
use comity_core::status::Status;
use comity_core::task::Priority;

pub const TASK_STATUSES: [&str; 5] = ["pending", "in_progress", "done", "blocked", "abandoned"];

pub use comity_core::command::NOTE_TYPES as LOG_TYPES;

pub fn task_status(status: Status) -> &'static str {
    let [pending, in_progress, done, blocked, abandoned] = TASK_STATUSES;
    word_for(status, [pending, in_progress, in_progress, done, blocked, blocked, abandoned])
}

/// Reads neo's word for a state: the table's, or the tracker's, which prompts use as well.
pub fn read_task_status(word: &str) -> Option<Status> {
    match word {
        "pending" => Some(Status::Queued),
        "in_progress" | "in-progress" => Some(Status::InProgress),
        word => read_tracker(word),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    Pending,
    Passed,
}

/// Returns the word of neo's tracker for a state. It tells work that waits for its checks from work that waits
/// for a reader.
pub fn tracker(status: Status, checks: Checks) -> &'static str {
    let waits = status == Status::Review && checks == Checks::Pending;
    let review = if waits { "ci pending" } else { "in review" };
    let words = ["ready", "in progress", review, "done", "blocked", "blocked", "abandoned"];
    word_for(status, words)
}

pub fn read_tracker(word: &str) -> Option<Status> {
    match word {
        "ready" => Some(Status::Queued),
        "in progress" => Some(Status::InProgress),
        "ci pending" | "in review" => Some(Status::Review),
        "done" => Some(Status::Done),
        "blocked" => Some(Status::Blocked),
        "abandoned" => Some(Status::Abandoned),
        _ => None,
    }
}

pub fn priority(priority: Priority) -> &'static str {
    match priority.rank() {
        0 => "critical",
        1 => "high",
        2 => "medium",
        _ => "low",
    }
}

pub fn log_target(kind: &str) -> &'static str {
    match kind {
        "decision" | "milestone" | "blocker" => "memory",
        "discovery" => "knowledge",
        _ => "digest",
    }
}

/// How well things fit, in percent as neo shows it: the best has 100, the worst 0, and equals 80.
pub fn relevance(scores: &[f64]) -> Vec<u8> {
    let best = scores.iter().copied().fold(f64::MIN, f64::max);
    let worst = scores.iter().copied().fold(f64::MAX, f64::min);
    let percent = |score: &f64| {
        let part = if best > worst { (score - worst) / (best - worst) * 100.0 } else { 80.0 };
        (0..=100u8).find(|whole| f64::from(*whole) + 0.5 > part).unwrap_or(100)
    };
    scores.iter().map(percent).collect()
}

pub fn marker(status: &str) -> &'static str {
    match status {
        "pending" => "○ pending",
        "in_progress" => "[ACTIVE]",
        "blocked" => "[BLOCKED]",
        "done" => "done",
        _ => "abandoned",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_word_and_every_word_a_state() {
        let words: Vec<&str> = Status::ALL.into_iter().map(task_status).collect();
        assert_eq!(
            words,
            [
                "pending",
                "in_progress",
                "in_progress",
                "in_progress",
                "in_progress",
                "in_progress",
                "in_progress",
                "done",
                "blocked",
                "blocked",
                "abandoned"
            ]
        );
        for word in TASK_STATUSES {
            assert_eq!(task_status(read_task_status(word).unwrap()), word);
        }
        assert_eq!(read_task_status("finished"), None);
    }

    #[test]
    fn rule_7_the_tracker_has_a_word_for_every_state_and_reads_each_of_its_words() {
        let shown = |checks| Status::ALL.map(|status| tracker(status, checks));
        let late = [
            "ready",
            "in progress",
            "in progress",
            "in review",
            "in progress",
            "in review",
            "in review",
            "done",
            "blocked",
            "blocked",
            "abandoned",
        ];
        assert_eq!(shown(Checks::Passed), late);
        for (status, word) in Status::ALL.into_iter().zip(shown(Checks::Pending)) {
            let waits = status == Status::Review;
            assert_eq!(word == "ci pending", waits, "{status}");
        }
        for checks in [Checks::Pending, Checks::Passed] {
            for status in Status::ALL {
                let word = tracker(status, checks);
                let read = read_tracker(word).unwrap();
                assert!(tracker(read, checks) == word || word == "in review", "{status}: {word}");
            }
        }
        assert_eq!(read_tracker("finished"), None);
    }

    #[test]
    fn the_best_has_a_hundred_percent_the_worst_none_and_equals_eighty() {
        assert_eq!(relevance(&[3.0, 2.0, 1.0]), [100, 50, 0]);
        assert_eq!((relevance(&[1.5, 1.5]), relevance(&[])), (vec![80, 80], Vec::new()));
    }

    #[test]
    fn log_entries_go_where_neo_sends_them() {
        let said: Vec<String> =
            LOG_TYPES.iter().map(|kind| format!("{kind} {}", log_target(kind))).collect();
        assert_eq!(
            said,
            [
                "progress digest",
                "action digest",
                "decision memory",
                "blocker memory",
                "milestone memory",
                "discovery knowledge"
            ]
        );
    }
}
