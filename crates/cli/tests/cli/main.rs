//! The real binary, seen from outside.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod bad_input;
mod beginnings;
mod clocks;
mod collab;
mod constraints;
mod contracts;
mod doctor;
mod finding;
mod git_work;
mod hosts;
mod idempotency;
mod identity;
mod imports;
mod memory;
mod neo;
mod neo_export;
mod neo_files;
mod neo_words;
mod old_stores;
mod project;
mod protocols;
mod reports;
mod results;
mod round_trips;
mod sandbox;
mod screens;
mod server;
mod shapes;
mod streams;
mod under_fire;
mod usage;
mod whose_work;
