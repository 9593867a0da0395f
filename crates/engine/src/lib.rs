//! The way of a command: checked, redacted, decided by the rules, appended and projected in one
//! transaction, acknowledged after the commit. And the way of a question: read, never written.

pub mod operations;
pub mod query;
pub mod redact;

mod answer;
mod batch;
mod collab;
mod copy;
mod engine;
mod intake;
mod pages;
mod questions;
mod read;
mod recall;
mod remembered;
mod report;
mod status;
mod suggest;
mod verify;
mod wait;
mod write_loop;
mod writing;

pub use batch::run_batch;
pub use collab::CollabState;
pub use engine::{Asker, Engine, Settings};
pub use intake::{Intake, Prepared};
pub use query::{EventFilter, Page, Query, Since, TaskFilter};
pub use questions::AnswerForm;
pub use remembered::Keyed;
pub use write_loop::{WriteHandle, WriteLoop};
pub use writing::Writing;
