//! What the log tells of how a task came to its state: the result or report that brought it there.

use crate::event::{ErrorReport, Event, ResultReported, StatusChanged};
use crate::status::Status;

/// What was said before a task changed its state.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// The report that comity writes when a task gives up trying.
    Worn(ErrorReport),
    /// What an agent handed in.
    Result(Box<ResultReported>),
}

/// What the events of one task tell, in the order of the log. What callers report is not part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastReport {
    /// What stopped the task, while it is blocked or failed.
    pub stopped_by: Option<Report>,
    /// The result that it was handed in with, until it is worked on again.
    pub handed_in: Option<Box<ResultReported>>,
    /// Whether the task failed and nothing came of that yet.
    pub failed: bool,
    /// Whether it goes on after it was blocked.
    pub resumed: bool,
    /// Said since the last change of state.
    said: Option<Report>,
}

impl LastReport {
    /// Takes the next event of the task.
    pub fn take(&mut self, event: &Event) {
        if let Event::Error(report) = event {
            self.said = Some(Report::Worn(report.clone()));
        } else if let Event::ResultReported(report) = event {
            self.said = Some(Report::Result(report.clone()));
        } else if let Event::StatusChanged(change) = event {
            self.step(change);
        }
    }

    fn step(&mut self, change: &StatusChanged) {
        let said = self.said.take();
        let (old, new) = (change.old_status, change.new_status);
        let works = matches!(new, Status::Queued | Status::Claimed | Status::InProgress);
        self.resumed = works && (old == Status::Blocked || self.resumed);
        let worn = matches!(said, Some(Report::Worn(_)));
        let stays_failed = old == Status::Failed && !works && self.failed;
        self.failed = new == Status::Failed || stays_failed || worn;
        match (new, said) {
            (Status::Blocked | Status::Failed, said) => self.stopped_by = said,
            (Status::Review, Some(Report::Result(result))) => {
                (self.stopped_by, self.handed_in) = (None, Some(result));
            }
            (Status::Review, _) => (self.stopped_by, self.handed_in) = (None, None),
            _ => self.stopped_by = None,
        }
        if works {
            self.handed_in = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::ReportStatus;
    use crate::event::Reported;
    use serde_json::{Map, json};

    fn step(old: Status, new: Status) -> Event {
        Event::StatusChanged(StatusChanged::new(old, new, None))
    }

    fn worn(reason: &str) -> ErrorReport {
        ErrorReport {
            status: Status::Blocked,
            reason: reason.to_owned(),
            error_log: None,
            attempts: 3,
            request: "Decide.".to_owned(),
        }
    }

    fn result(contract: &str, status: ReportStatus) -> Box<ResultReported> {
        Box::new(ResultReported {
            contract: contract.to_owned(),
            status,
            files_modified: Vec::new(),
            log: Vec::new(),
            issues: Vec::new(),
            tips: Vec::new(),
            completed_at: None,
            other: Map::new(),
            keys: Vec::new(),
        })
    }

    fn told(events: &[Event]) -> LastReport {
        let mut told = LastReport::default();
        events.iter().for_each(|event| told.take(event));
        told
    }

    #[test]
    fn a_report_counts_for_the_stop_that_it_came_with_and_for_no_later_one() {
        use Status::{Blocked, Failed, InProgress, Queued};
        let mut events = vec![
            step(Queued, InProgress),
            step(InProgress, Failed),
            Event::Error(worn("old")),
            step(Failed, Blocked),
        ];
        let stopped = told(&events);
        assert_eq!(stopped.stopped_by, Some(Report::Worn(worn("old"))));
        assert!(stopped.failed && !stopped.resumed);
        events.push(step(Blocked, Queued));
        assert!(told(&events).resumed);
        events.push(step(Queued, InProgress));
        let working = told(&events);
        assert!(working.resumed && !working.failed);
        events.push(step(InProgress, Failed));
        let again = told(&events);
        assert_eq!((again.stopped_by, again.failed, again.resumed), (None, true, false));
    }

    #[test]
    fn a_result_counts_for_its_round_and_not_for_the_next() {
        use Status::{Approved, ChangesRequested, InProgress, Review};
        let handed_in = result("neo-result", ReportStatus::Completed);
        let mut events = vec![Event::ResultReported(handed_in.clone()), step(InProgress, Review)];
        assert_eq!(told(&events).handed_in.as_ref(), Some(&handed_in));
        events.push(step(Review, Approved));
        assert_eq!(told(&events).handed_in.as_ref(), Some(&handed_in));
        events.extend([
            step(Approved, ChangesRequested),
            step(ChangesRequested, InProgress),
            step(InProgress, Review),
        ]);
        assert_eq!(told(&events).handed_in, None);
    }

    #[test]
    fn rule_5_what_a_caller_reports_is_never_what_happened() {
        let fields = json!({"reported": true, "reason": "SPOOF", "attempts": 99});
        let Some(fields) = fields.as_object().cloned() else { return };
        let spoof = |name: &str| {
            Event::Reported(Reported { name: name.to_owned(), fields: fields.clone() })
        };
        let events = [
            step(Status::Queued, Status::InProgress),
            spoof("error"),
            spoof("result_reported"),
            step(Status::InProgress, Status::Blocked),
            spoof("status_changed"),
        ];
        assert_eq!(told(&events), told(&[step(Status::InProgress, Status::Blocked)]));
    }
}
