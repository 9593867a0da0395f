//! The way of a command: checked, redacted, decided by the rules, appended and projected in one
//! transaction, acknowledged after the commit. And the way of a question: read, never written.

pub mod redact;

mod answer;
mod batch;
mod brief;
mod caller;
mod claim_wait;
mod collab;
mod contracts;
mod copy;
mod handlers;
mod hub;
mod idempotency;
mod intake;
mod land;
mod memory_queries;
mod mend;
mod namesake;
mod news;
mod observer;
mod pages;
mod posts;
mod questions;
mod read;
mod readers;
mod render_task;
mod report;
mod service;
mod status;
mod story;
mod stream;
mod strings;
mod suggest;
mod task_lists;
mod undo;
mod verify;
mod view;
mod wait;
mod writer;

pub use answer::{Answer, CommandOutput, Reply};
pub use batch::run_batch;
pub use caller::Caller;
pub use claim_wait::Claimed;
pub use collab::CollabState;
pub use contracts::{Contracts, contract_kind};
pub use handlers::{Handler, Handlers, register};
pub use idempotency::Keyed;
pub use intake::{Intake, Prepared};
pub use observer::{Answered, Look, Observer, Seen};
pub use questions::AnswerForm;
pub use service::{Service, Settings};
pub use stream::{Sink, Stop, StreamHandler};
pub use wait::Settled;
pub use writer::Done;
