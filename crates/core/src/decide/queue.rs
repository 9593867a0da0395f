//! Coming back into the queue: what waits for something that was given up is blocked instead.

use super::Rule;
use crate::event::{Event, StatusChanged};
use crate::facts::{Facts, Ruling};
use crate::ids::TaskId;
use crate::ready::{abandoned_dependency, way_past_abandoned};
use crate::refusal::{Code, Refusal};
use crate::status::Status;
use crate::task::Task;

/// Returns a change of status with what follows from it at once: a task that comes into the queue while
/// it depends on an abandoned one is blocked with that reason. `freed_of` is a dependency that the facts
/// still have and that no longer counts.
pub(super) fn with_consequence(
    facts: &Facts,
    task: &Task,
    change: StatusChanged,
    freed_of: Option<&TaskId>,
) -> Ruling<Vec<Event>> {
    let queued = change.new_status == Status::Queued;
    let mut events = vec![Event::StatusChanged(change)];
    if queued && let Some(dependency) = abandoned_dependency(facts, task, freed_of)? {
        events.push(Event::StatusChanged(blocked_by_abandoned(Status::Queued, dependency)));
    }
    Ok(events)
}

/// What happens to a queued task when something it waits for will never be done.
pub(super) fn blocked_by_abandoned(from: Status, dependency: &TaskId) -> StatusChanged {
    let why = format!("dependency {dependency} was abandoned");
    let mut change = StatusChanged::new(from, Status::Blocked, Some(why.clone()));
    change.needs = Some(why);
    change
}

fn is_blocked_by(task: &Task, dependency: &TaskId) -> bool {
    let needs = blocked_by_abandoned(Status::Queued, dependency).needs;
    task.block.as_ref().is_some_and(|block| Some(&block.needs) == needs.as_ref())
}

impl Rule<'_> {
    /// Refuses to let a blocked task go on that would be blocked again at once.
    pub(super) fn waits_for_nothing_abandoned(&self, task: &Task) -> Ruling<()> {
        let Some(dependency) = abandoned_dependency(self.facts, task, None)? else { return Ok(()) };
        let id = &task.id;
        let message = format!("{id} depends on {dependency}, which is abandoned");
        Err(Refusal::new(Code::NotReady, message)
            .hint(way_past_abandoned(id, dependency))
            .detail("task", id.as_str())
            .detail("dependency", dependency.as_str())
            .into())
    }

    /// Lets a task go on that was blocked only because this dependency was abandoned.
    pub(super) fn free_of(&mut self, task: &Task, dependency: &TaskId, why: String) -> Ruling<()> {
        if is_blocked_by(task, dependency) {
            let mut change = StatusChanged::new(task.status, Status::Queued, Some(why));
            change.prefers = task.assignee.clone();
            for event in with_consequence(self.facts, task, change, Some(dependency))? {
                self.push(Some(&task.id), event);
            }
        }
        Ok(())
    }
}
