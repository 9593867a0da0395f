//! Where the rules meet files and git: what a task may change, checked against what was changed.

pub mod base;
pub mod check;
mod deps;
pub mod diff;
pub mod git;
mod refs;
mod report;
