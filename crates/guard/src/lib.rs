//! What git and files say, seen for the rules.

mod base_branch;
pub mod deps;
pub mod diff;
pub mod git;
mod observer;
mod span;

pub use base_branch::Standing;
pub use observer::{GitObserver, HandedIn};
pub use span::has_work;
