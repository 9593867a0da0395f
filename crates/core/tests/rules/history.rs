//! Worlds in which something has happened already.

use crate::verbs::task;
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, PLANNER, World};
use comity_core::command::NewTask;
use comity_core::status::Status;

impl World {
    /// Makes a task and returns its id.
    pub fn have(&mut self, new: NewTask) -> String {
        self.by(ANN).creates(new).accepted().task_id()
    }

    /// Makes a plain task and brings it to a status; [`IMPL`] works on it.
    pub fn have_one(&mut self, status: Status) -> String {
        self.have_this(task("work"), status)
    }

    /// Makes a task and brings it to a status; [`IMPL`] works on it.
    pub fn have_this(&mut self, new: NewTask, status: Status) -> String {
        let id = self.have(new);
        self.bring(&id, status);
        id
    }

    /// Brings a queued task to a status by the usual way.
    pub fn bring(&mut self, id: &str, status: Status) {
        let way: &[Status] = match status {
            Status::Queued => &[],
            Status::Claimed => &[Status::Claimed],
            Status::InProgress => &[Status::InProgress],
            Status::Review => &[Status::InProgress, Status::Review],
            Status::ChangesRequested => {
                &[Status::InProgress, Status::Review, Status::ChangesRequested]
            }
            Status::Approved => &[Status::InProgress, Status::Review, Status::Approved],
            Status::Merging => {
                &[Status::InProgress, Status::Review, Status::Approved, Status::Merging]
            }
            Status::Done => &[
                Status::InProgress,
                Status::Review,
                Status::Approved,
                Status::Merging,
                Status::Done,
            ],
            Status::Blocked => &[Status::InProgress, Status::Blocked],
            Status::Failed => &[Status::InProgress, Status::Failed],
            Status::Abandoned => &[Status::Abandoned],
        };
        for step in way {
            self.one_step(id, *step);
        }
        assert_eq!(self.status(id), status);
    }

    fn one_step(&mut self, id: &str, status: Status) {
        let verdict = match status {
            Status::Claimed => self.by(IMPL).claims(id),
            Status::InProgress => self.by(IMPL).starts(id),
            Status::Review => self.by(IMPL).submits(id),
            Status::ChangesRequested => self.by(CRITIC).requests_changes(id),
            Status::Approved => self.by(CRITIC).approves(id),
            Status::Merging => self.by(INTEGRATOR).merges(id),
            Status::Done => self.by(INTEGRATOR).finishes(id),
            Status::Blocked => self.by(IMPL).blocks(id, "a key"),
            Status::Failed => self.by(IMPL).fails(id),
            Status::Abandoned => self.by(PLANNER).abandons(id),
            Status::Queued => self.by(PLANNER).requeues(id),
        };
        verdict.accepted();
    }
}
