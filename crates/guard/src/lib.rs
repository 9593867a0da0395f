//! Where the rules meet files and git: what a task may change, checked against what was changed.

mod base;
pub mod check;
mod defaults;
pub mod deps;
pub mod diff;
pub mod git;
mod merges;
mod names;
pub mod notes;
mod reflog;
mod refs;
mod report;
mod story;
pub mod told;
mod whose;
