//! Events: what the log is made of. Names and fields are the seeds' where they have them.
//!
//! An event carries everything its projection needs, so that each entity can be replayed by itself.

mod body;
mod memory;
mod merging;
mod outside;
mod post;
mod run;
mod talk;

pub use body::*;
pub use memory::*;
pub use merging::*;
pub use outside::*;
pub use post::*;
pub use run::*;
pub use talk::*;

use crate::ids::{AgentId, RepoName, Seq, TaskId};
use crate::time::Timestamp;
use crate::via::{Via, without_via};
use serde_json::{Map, Value};

/// The version of every event's fields that this build writes.
pub const EVENT_VERSION: u32 = 1;

macro_rules! events {
    ($($variant:ident($body:ty) => $name:literal;)*) => {
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $(#[doc = concat!("`", $name, "`")] $variant($body),)*
            /// What a caller reported: any name, any fields, never projected.
            Reported(Reported),
        }

        impl Event {
            /// Every name that comity itself writes.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            pub fn name(&self) -> &str {
                match self {
                    $(Event::$variant(_) => $name,)*
                    Event::Reported(reported) => &reported.name,
                }
            }

            /// Returns the fields; [`Draft::encode`] adds what the process was.
            pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
                match self {
                    $(Event::$variant(body) => serde_json::to_vec(body),)*
                    Event::Reported(reported) => serde_json::to_vec(&reported.fields),
                }
            }

            /// Reads the fields back, with `via` among them or not. A reported event stays one whatever its name.
            pub fn decode(name: &str, body: &[u8]) -> Result<Event, serde_json::Error> {
                // Some bodies refuse what they do not know.
                let body = &*without_via(body);
                if is_reported(body) {
                    let fields = serde_json::from_slice(body)?;
                    return Ok(Event::Reported(Reported { name: name.to_owned(), fields }));
                }
                match name {
                    $($name => serde_json::from_slice(body).map(Event::$variant),)*
                    // A name from a newer comity: kept, shown, not projected.
                    _ => Ok(Event::Reported(Reported {
                        name: name.to_owned(),
                        fields: serde_json::from_slice(body)?,
                    })),
                }
            }
        }
    };
}

/// The field that marks what a caller reported. comity's own events never have it.
pub const REPORTED_FIELD: &str = "reported";
const REPORTED_PREFIX: &[u8] = b"{\"reported\":true";

/// The mark is always written first, so that no parsing is needed to see it.
fn is_reported(body: &[u8]) -> bool {
    body.starts_with(REPORTED_PREFIX)
}

events! {
    TaskCreated(Box<TaskCreated>) => "task_created";
    TaskUpdated(Box<TaskUpdated>) => "task_updated";
    TaskAssigned(TaskAssigned) => "task_assigned";
    TaskLinked(TaskLinked) => "task_linked";
    TaskClaimed(TaskClaimed) => "task_claimed";
    DependencyAdded(Dependency) => "dependency_added";
    DependencyRemoved(Dependency) => "dependency_removed";
    StatusChanged(StatusChanged) => "status_changed";
    FileLocked(FileLocked) => "file_locked";
    LeaseRenewed(LeaseRenewed) => "lease_renewed";
    LeaseReleased(LeaseReleased) => "lease_released";
    LocksReclaimed(LocksReclaimed) => "locks_reclaimed";
    ReviewRequested(ReviewRequested) => "review_requested";
    PrOpened(PrOpened) => "pr_opened";
    ReviewTaken(ReviewTaken) => "review_taken";
    ReviewFeedback(ReviewFeedback) => "review_feedback";
    Approved(Approved) => "approved";
    Merged(Merged) => "merged";
    Released(Released) => "released";
    TestsRun(TestsRun) => "tests_run";
    GateWaived(GateWaived) => "gate_waived";
    ItemChecked(ItemChecked) => "item_checked";
    SubtaskStarted(Subtask) => "subtask_started";
    SubtaskCompleted(Subtask) => "subtask_completed";
    DecisionAsked(Box<DecisionAsked>) => "decision_asked";
    DecisionAnswered(DecisionAnswered) => "decision_answered";
    DecisionExpired(DecisionExpired) => "decision_expired";
    AgentRegistered(AgentRegistered) => "agent_registered";
    AgentUpdated(AgentRegistered) => "agent_updated";
    MemoryWritten(Box<MemoryWritten>) => "memory_written";
    MemoryUpdated(Box<MemoryWritten>) => "memory_updated";
    MemorySuperseded(MemorySuperseded) => "memory_superseded";
    MemoryForgotten(MemoryGone) => "memory_forgotten";
    MemoryExpired(MemoryGone) => "memory_expired";
    DirectiveCreated(Box<DirectiveCreated>) => "directive_created";
    DirectiveToggled(DirectiveToggled) => "directive_toggled";
    DirectiveTriggered(DirectiveTriggered) => "directive_triggered";
    DirectiveDeleted(DirectiveDeleted) => "directive_deleted";
    TakenOver(TakenOver) => "taken_over";
    ResultReported(Box<ResultReported>) => "result_reported";
    AgentDescribed(AgentDescribed) => "agent_described";
    ContextReset(ContextReset) => "context_reset";
    EventsLost(EventsLost) => "events_lost";
    ClockCorrected(ClockCorrected) => "clock_corrected";
    RepositorySet(RepositorySet) => "repository_set";
    ChangeNoted(ChangeNoted) => "change_noted";
    MessageSent(MessageSent) => "message_sent";
    PadWritten(Box<PadWritten>) => "pad_written";
    InterfacePublished(Box<InterfacePublished>) => "interface_published";
    RunQueued(Box<RunQueued>) => "run_queued";
    RunStarted(Box<RunStarted>) => "run_started";
    RunProgressed(Box<RunProgressed>) => "run_progressed";
    RunWaiting(RunWaiting) => "run_waiting";
    RunPaused(RunPaused) => "run_paused";
    RunResumed(RunResumed) => "run_resumed";
    RunEnded(Box<RunEnded>) => "run_ended";
    RunLost(RunLost) => "run_lost";
    Checkpoint(Checkpoint) => "checkpoint";
    BudgetSet(BudgetSet) => "budget_set";
    BudgetReserved(BudgetReserved) => "budget_reserved";
    BudgetSettled(Box<BudgetSettled>) => "budget_settled";
    BudgetReleased(BudgetReleased) => "budget_released";
    BudgetBreached(BudgetBreached) => "budget_breached";
    MergeQueued(MergeQueued) => "merge_queued";
    MergeStarted(MergeStarted) => "merge_started";
    MergeLanded(MergeLanded) => "merge_landed";
    MergeEjected(Box<MergeEjected>) => "merge_ejected";
    MergeProbed(MergeProbed) => "merge_probed";
    OutsideRefused(OutsideRefused) => "outside_refused";
    IssuePaused(IssuePaused) => "issue_paused";
    IssueResumed(IssueResumed) => "issue_resumed";
    TextAccepted(TextAccepted) => "text_accepted";
    SeatTaken(SeatTaken) => "seat_taken";
    SeatLeft(SeatLeft) => "seat_left";
    Supervised(Box<Supervised>) => "supervised";
    Note(Note) => "note";
    Error(ErrorReport) => "error";
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    pub name: String,
    /// Its fields; the mark `reported` comes first.
    pub fields: Map<String, Value>,
}

/// An event before it has a place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub repo: RepoName,
    pub agent: AgentId,
    pub task: Option<TaskId>,
    pub event: Event,
    pub via: Via,
}

impl Draft {
    /// What time alone brought about. Whoever stores it adds the process that noticed.
    pub fn by_watchdog(repo: RepoName, task: Option<TaskId>, event: Event) -> Draft {
        Draft { repo, agent: AgentId::watchdog(), task, event, via: Via::default() }
    }

    /// Returns the body as the exact bytes that are stored and hashed: the fields, and `via` as the last of them.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut body = self.event.encode()?;
        self.via.append_to(&mut body)?;
        Ok(body)
    }
}

/// An event in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub seq: Seq,
    /// When, never before its predecessor.
    pub ts: Timestamp,
    pub draft: Draft,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_5_a_reported_event_stays_reported_whatever_its_name() {
        let mut fields = Map::new();
        fields.insert(REPORTED_FIELD.to_owned(), Value::Bool(true));
        fields.insert("new_status".to_owned(), Value::from("done"));
        let event = Event::Reported(Reported { name: "status_changed".to_owned(), fields });
        let bytes = event.encode().unwrap();
        assert_eq!(Event::decode("status_changed", &bytes).unwrap(), event);
    }

    #[test]
    fn an_event_of_a_newer_comity_is_kept() {
        let event = Event::decode("moon_landing", br#"{"crew":3}"#).unwrap();
        assert_eq!(event.name(), "moon_landing");
        assert_eq!(event.encode().unwrap(), br#"{"crew":3}"#);
    }
}
