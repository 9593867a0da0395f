//! The rules of comity, and nothing else: no I/O, no clock, no SQL, no randomness.
//!
//! A command is decided against [`facts::Facts`] by [`decide`], which answers with events or with a
//! refusal; events are projected onto entities by [`project`]. Time, ids and chance are arguments.

pub mod agent;
pub mod chain;
pub mod command;
pub mod decide;
pub mod decision;
pub mod directive;
pub mod event;
pub mod facts;
pub mod ids;
pub mod lasting;
pub mod lease;
pub mod limits;
pub mod memory;
pub mod origin;
pub mod pattern;
pub mod policy;
pub mod project;
pub mod ready;
pub mod refusal;
pub mod role;
pub mod search;
pub mod state;
pub mod status;
pub mod task;
pub mod time;
pub mod told;
pub mod view;
pub mod why;
pub mod words;
