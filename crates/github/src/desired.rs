//! What an issue should show for its task, and what must be changed there. Pure.

use crate::rows::IssueRow;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_protocol::ace::Generation;
use comity_protocol::labels::{Dialect, Issue};
use std::collections::BTreeSet;

/// What is known beside the task.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub dialect: &'a Dialect,
    pub now: Timestamp,
    /// How long a task that was answered shows as under way.
    pub ttl: Millis,
    pub max_attempts: u32,
    /// Who is assigned while the task is held; none is nobody.
    pub assignee: Option<&'a str>,
    pub reviewer: Option<&'a str>,
}

/// What of a task is shown.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub status: Status,
    /// Whether somebody is expected to go on with it.
    pub is_expected_back: bool,
    pub attempts: u32,
}

impl Standing {
    pub fn of(task: &Task) -> Standing {
        let is_expected_back = task.preferred.is_some();
        Standing { status: task.status, is_expected_back, attempts: task.attempts }
    }
}

/// What must be done so that an issue shows its task: single steps, none of which touches what others set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    pub add: Vec<String>,
    pub remove: Vec<String>,
    pub assign: Vec<String>,
    pub unassign: Vec<String>,
    pub state: Option<Issue>,
}

pub fn generation(dialect: &Dialect) -> Generation {
    if dialect.name() == "ace-project" { Generation::Project } else { Generation::Labels }
}

pub fn is_ace(dialect: &Dialect) -> bool {
    dialect.name().starts_with("ace")
}

/// Returns the status that GitHub is shown.
///
/// A task whose questions were answered goes on soon, so it shows as under way while its last worker is expected. A task
/// that failed and will be tried again waits, in the words of a protocol that knows no failure.
pub fn shown(task: Standing, row: &IssueRow, around: &Around<'_>) -> Status {
    let until = Timestamp::from_ms(row.answered_at).plus(around.ttl);
    let is_expected = row.answered_at > 0 && task.is_expected_back && around.now < until;
    match task.status {
        Status::Queued if is_expected => Status::InProgress,
        Status::Failed if task.attempts < around.max_attempts && !is_ace(around.dialect) => {
            Status::Queued
        }
        other => other,
    }
}

pub fn steps(task: Standing, row: &IssueRow, around: &Around<'_>) -> Steps {
    let status = shown(task, row, around);
    // The backlog of years gets no labels because it was imported.
    if row.at_rest && row.seen.closed && status.is_finished() {
        return Steps::default();
    }
    let change = around.dialect.change(&row.seen.labels, status);
    let is_closed = row.seen.closed;
    let state = match change.issue {
        Issue::Open if is_closed && !row.left_closed => Some(Issue::Open),
        Issue::Completed | Issue::NotPlanned if !is_closed => Some(change.issue),
        _ => None,
    };
    let wanted = assignees(status, around);
    let has = |login: &&String| row.seen.assignees.iter().any(|known| same(known, login));
    let unwanted = row.assigned.iter().filter(|login| !wanted.iter().any(|one| same(one, login)));
    Steps {
        add: change.add,
        remove: change.remove,
        assign: wanted.iter().filter(|login| !has(login)).cloned().collect(),
        unassign: unwanted.filter(|login| has(login)).cloned().collect(),
        state,
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Whoever is asked is assigned while somebody must answer; the account of the agents while they work.
fn assignees(status: Status, around: &Around<'_>) -> BTreeSet<String> {
    let at_work = matches!(
        status,
        Status::Claimed
            | Status::InProgress
            | Status::ChangesRequested
            | Status::Review
            | Status::Approved
            | Status::Merging
            | Status::Blocked
    );
    let worker = around.assignee.filter(|_| at_work);
    let asked = around.reviewer.filter(|_| status == Status::Blocked);
    worker.into_iter().chain(asked).map(str::to_owned).collect()
}

/// Notes in a row what a step did, as if GitHub had been asked again.
pub fn applied(row: &mut IssueRow, steps: &Steps) {
    row.seen.labels.retain(|label| !steps.remove.contains(label));
    row.seen.labels.extend(steps.add.iter().cloned());
    row.seen.assignees.retain(|login| !steps.unassign.iter().any(|gone| same(gone, login)));
    row.seen.assignees.extend(steps.assign.iter().cloned());
    row.assigned.retain(|login| !steps.unassign.contains(login));
    row.assigned.extend(steps.assign.iter().cloned());
    if let Some(state) = steps.state {
        row.seen.closed = state != Issue::Open;
        row.seen.not_planned = state == Issue::NotPlanned;
    }
}
