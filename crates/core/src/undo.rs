//! Taking the last own command back: which command does that, from what the log says about the task.

use crate::command::TaskVerb;
use crate::event::{Event, StatusChanged};
use crate::hint::{Hint, op, say};
use crate::ids::AgentId;
use crate::refusal::{Code, Refusal};
use crate::status::Status;
use crate::task::Task;

/// An event of a task, and who made it.
#[derive(Clone, Debug)]
pub struct Act {
    pub by: AgentId,
    pub event: Event,
}

/// What the log says about the last command of a caller on a task.
struct Last<'a> {
    change: &'a StatusChanged,
    /// Whether the task gave up trying in that moment.
    is_worn_out: bool,
}

/// Returns the verb that takes the last command of the caller on a task back. `acts` are events of the task in the
/// order of the log, down to the newest. The last change of its status must be the caller's, and nobody else may have
/// acted on the task since.
pub fn undoing(task: &Task, acts: &[Act], caller: &AgentId) -> Result<TaskVerb, Refusal> {
    let last = last_change(task, acts, caller)?;
    let (old, new) = (last.change.old_status, last.change.new_status);
    match new {
        _ if last.is_worn_out || last.change.uses_attempt => {
            Err(refusal(task, "the attempt counts, and its end cannot be taken back")
                .hint(way(task)))
        }
        Status::Claimed | Status::InProgress => Ok(TaskVerb::Release),
        Status::Blocked => Ok(TaskVerb::Unblock),
        Status::Done | Status::Abandoned if caller.is_person() => Ok(TaskVerb::Reopen),
        Status::Done | Status::Abandoned => {
            Err(refusal(task, &format!("only a person takes the step to {new} back")).hint(
                say("ask a person to run ")
                    .quote(op("task.reopen").id(&task.id).ask("reason", "TEXT")),
            ))
        }
        Status::Queued
        | Status::Review
        | Status::ChangesRequested
        | Status::Approved
        | Status::Merging
        | Status::Failed => {
            let what = format!("the step from {old} to {new} cannot be taken back");
            Err(refusal(task, &what).hint(way(task)))
        }
    }
}

fn last_change<'a>(task: &Task, acts: &'a [Act], caller: &AgentId) -> Result<Last<'a>, Refusal> {
    let mut later = acts.iter().rev();
    let mut found = None;
    for act in later.by_ref() {
        if act.by != *caller {
            let what = format!("{} acted on it since", act.by);
            return Err(refusal(task, &what).hint(way(task)).detail("by", act.by.as_str()));
        }
        if let Event::StatusChanged(change) = &act.event {
            found = Some(change);
            break;
        }
    }
    let Some(change) = found else {
        return Err(refusal(task, "no command of yours changed its status lately").hint(way(task)));
    };
    // The report of a task that gives up stands right before the step.
    let before = later.take_while(|act| !matches!(act.event, Event::StatusChanged(_)));
    let is_worn_out = change.new_status == Status::Blocked
        && before.into_iter().any(|act| matches!(act.event, Event::Error(_)));
    Ok(Last { change, is_worn_out })
}

fn way(task: &Task) -> Hint {
    say("see what happened with ").quote(op("event.list").arg("task", &task.id))
}

fn refusal(task: &Task, why: &str) -> Refusal {
    Refusal::new(Code::InvalidTransition, format!("{} cannot be undone: {why}", task.id))
        .detail("status", task.status.as_str())
}
