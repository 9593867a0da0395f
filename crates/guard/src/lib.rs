//! What git and files say, seen for the rules.

mod base_branch;
mod check;
mod checkout;
pub mod deps;
pub mod diff;
pub mod git;
mod hook;
mod message;
mod observer;
mod push;
mod shown;
mod span;
mod staged;
mod work_tree;

pub use check::{Guard, register};
pub use checkout::Checkout;
pub use hook::{Hook, HookAnswer, HookClient, HookEvent, Moment};
pub use message::{Messages, register as register_messages};
pub use observer::GitObserver;
pub use shown::{Shown, register as register_shown};
pub use work_tree::Before;
