//! What the readers of other trackers' files collect on the way.

use super::{Earlier, Fields, LeftOut, Plan, Problem, arrange};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) plan: Plan,
    pub(crate) problems: Vec<Problem>,
    /// Fields that many items have and no task can be given: the log has its own times and authors.
    pub(crate) times: BTreeSet<&'static str>,
}

impl Reading {
    pub(crate) fn problem(&mut self, path: &str, line: Option<usize>, message: impl Into<String>) {
        self.problems.push(Problem::new(path, line, message));
    }

    /// Returns the arranged plan, or everything that is wrong with the file.
    pub(crate) fn finish(mut self, earlier: &Earlier) -> Result<Plan, Vec<Problem>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        if !self.times.is_empty() {
            let names: Vec<&str> = self.times.into_iter().collect();
            let why = "the log has its own times and authors: those of the import";
            self.plan.left_out.push(LeftOut::new("*", names.join(", "), why));
        }
        Ok(arrange(self.plan, earlier))
    }
}

/// Notes the times that an item has, and lists the fields that nobody took.
pub(crate) fn leave(
    mut fields: Fields<'_>,
    item: &str,
    names: &[&'static str],
    times: &mut BTreeSet<&'static str>,
    left: &mut Vec<LeftOut>,
) {
    times.extend(names.iter().filter(|name| fields.take(name).is_some()));
    for (field, _) in fields.rest() {
        left.push(LeftOut::new(item, format!("field {field}"), "a task has no such field"));
    }
}

/// Says where an item goes whose state comity has no equal for: what nobody here holds is not in progress here.
pub(crate) fn without_equal(item: &str, status: &str, left: &mut Vec<LeftOut>) {
    let why = match status {
        "in_progress" | "in-progress" | "hooked" => {
            "nobody holds it here yet; it waits in the queue for a claim"
        }
        _ => "comity has no such state; the task waits in the queue, kept back by a blocker",
    };
    left.push(LeftOut::new(item, format!("status {status}"), why));
}
