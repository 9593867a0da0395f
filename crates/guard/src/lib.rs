//! What git and files say, seen for the rules.

mod base_branch;
mod check;
pub mod deps;
pub mod diff;
pub mod git;
mod message;
mod observer;
mod push;
mod span;

pub use check::{Guard, register};
pub use message::{Messages, register as register_messages};
pub use observer::GitObserver;
