//! The rules of RULES.md, one test or more for each, against the pure core.
//!
//! [`world::World`] plays the store and the engine in the simplest way that can be right, and checks
//! what must always hold after every command.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stop a test as tests do"
)]

mod attention;
mod awaited;
mod batch;
mod codes;
mod directive_duration;
mod docs;
mod explain;
mod focused;
mod hand_over;
mod history;
mod imports_property;
mod invariants;
mod land;
mod lookup;
mod merging;
mod on_workers;
mod other_systems;
mod pickup;
mod properties;
mod results;
mod runs;
mod runs_property;
mod search;
mod section_1_who;
mod section_2_claims;
mod section_2_endings;
mod section_2_stops;
mod section_2_tasks;
mod section_3_gates;
mod section_4_expiry;
mod section_4_leases;
mod section_4_timeouts;
mod section_5_log;
mod section_6_decisions;
mod section_7_memory;
mod section_8_posts;
mod section_9_outside;
mod seen;
mod several;
mod supervised;
mod table;
mod undo;
mod verbs;
mod world;
