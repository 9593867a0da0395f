//! The real binary, seen from outside.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod attempts;
mod backups;
mod bad_input;
mod base_settings;
mod beginnings;
mod board;
mod branches;
mod brief;
mod clocks;
mod collab;
mod comfort;
mod commit_hooks;
mod constraints;
mod contracts;
mod credentials;
mod crew;
mod crew_screens;
mod daily_loop;
mod doctor;
mod evasions;
mod finding;
mod fleet_settings;
mod fleet_work;
mod focus;
mod foreign_files;
mod gates;
mod git_work;
mod guard_hook;
mod hand_over;
mod handed_out;
mod hostile;
mod hostile_git;
mod hosts;
mod idempotency;
mod identity;
mod imports;
mod init_clients;
mod landing;
mod lost_events;
mod mcp;
mod memory;
mod merge_queue;
mod neo;
mod neo_export;
mod neo_files;
mod neo_words;
mod observers;
mod old_stores;
mod patterns;
mod people;
mod project;
mod protocols;
mod reports;
mod results;
mod round_trips;
mod run_agents;
mod run_faults;
mod run_processes;
mod running_server;
mod runs;
mod sandbox;
mod screens;
mod serve;
mod server;
mod shapes;
mod shells;
mod stories;
mod streams;
mod supervise;
mod texts;
mod tool_screens;
mod trust;
mod under_fire;
mod usage;
mod whose_work;
mod wip;
mod with;
mod workers;
