//! What the land rule says of work that nobody hands in: a check before it.

use crate::caller::Caller;
use crate::service::Service;
use comity_core::land::{LeaseViolation, Window, violations};
use comity_core::policy::Land;
use comity_core::refusal::Refusal;
use comity_core::task::Task;

impl Service {
    /// Lists changed paths that others had leased while a task was worked on: until now, or until it was handed in.
    pub fn land_violations(
        &self,
        caller: &Caller,
        task: &Task,
        land: Land,
        paths: &[&str],
    ) -> Result<Vec<LeaseViolation>, Refusal> {
        let window = Window::of_claim(task).or_else(|| Window::of_submission(task));
        let Some(window) = window.filter(|_| land != Land::Off) else {
            return Ok(Vec::new());
        };
        self.read(caller, |reader| {
            reader.settled(|facts| violations(facts, &task.repo, &window, paths.iter().copied()))
        })
    }
}
