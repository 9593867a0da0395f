//! Where the rules meet files and git: what a task may change, checked against what was changed.

pub mod git;
