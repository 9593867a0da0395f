//! What git and files say, seen for the rules.

mod base_branch;
mod check;
mod checkout;
pub mod child;
pub mod deps;
pub mod diff;
mod gates;
pub mod git;
mod hook;
mod land;
mod landing;
mod message;
mod observer;
mod push;
mod secrets;
mod shown;
mod span;
mod staged;
mod wip;
mod work_tree;

pub use check::{Guard, register};
pub use checkout::Checkout;
pub use gates::{About, CheckSettings, Passed, Runner, register as register_runs};
pub use hook::{Hook, HookAnswer, HookClient, HookEvent, Moment};
pub use message::{Messages, register as register_messages};
pub use observer::GitObserver;
pub use shown::{Shown, register as register_shown};
pub use wip::{InDanger, Snapshots, register as register_snapshots};
pub use work_tree::Before;
