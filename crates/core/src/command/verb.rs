use super::Command;
use serde::{Deserialize, Serialize};

/// What can be done to a task with nothing but a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskVerb {
    Review,
    Approve,
    RequestChanges,
    /// Begin to integrate.
    Merge,
    Unblock,
    Fail,
    /// Give a claimed task back.
    Release,
    /// Give the task up.
    Abandon,
    /// Put the task back into the queue.
    Requeue,
    /// Take a finished task up again.
    Reopen,
}

impl TaskVerb {
    /// Makes the command that does this to a task.
    pub fn on(self, id: impl Into<String>, reason: Option<String>) -> Command {
        Command::Move { verb: self, id: id.into(), reason }
    }
}
