//! The real binary, seen from outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod bad_input;
mod collab;
mod doctor;
mod finding;
mod git_work;
mod hosts;
mod idempotency;
mod identity;
mod project;
mod sandbox;
mod screens;
mod server;
mod shapes;
mod streams;
mod under_fire;
mod usage;
