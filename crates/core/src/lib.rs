//! The rules of comity, and nothing else: no I/O, no clock, no SQL, no randomness.
//!
//! A command is decided against [`facts::Facts`] by [`decide`], which answers with events or with a
//! refusal; events are projected onto entities by [`project`]. Time, ids and chance are arguments.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod attention;
pub mod brief;
pub mod budget;
pub mod chain;
pub mod command;
pub mod decide;
pub mod decision;
pub mod directive;
pub mod directive_duration;
pub mod event;
pub mod facts;
pub mod hint;
pub mod ids;
pub mod land;
pub mod last_report;
pub mod lease;
pub mod limits;
pub mod memory;
pub mod merging;
pub mod money;
pub mod namesake;
pub mod nearest;
pub mod news;
pub mod observed;
pub mod origin;
pub mod outside;
pub mod pad;
pub mod pattern;
pub mod policy;
pub mod post;
pub mod progress;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "`touched` names every event; each entity takes the few events that change it"
)]
pub mod project;
pub mod ready;
pub mod refusal;
pub mod role;
pub mod run;
pub mod search;
pub mod search_terms;
pub mod seat;
pub mod state;
pub mod status;
pub mod supervise;
pub mod task;
pub mod time;
pub mod undo;
pub mod via;
pub mod view;
pub mod why;
mod word_enum;
pub mod write_guard;
