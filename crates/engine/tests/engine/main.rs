//! The engine over real stores: one binary, a module a behaviour.
#![expect(clippy::disallowed_methods, reason = "tests queue and read the environment as they like")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed test is a panic"
)]

mod clock_correction;
mod conformance;
mod effective_reads;
mod failing_store;
mod hostile_input;
mod idempotency;
mod log_proof;
mod many_callers;
mod observed;
mod operations_page;
mod recall;
mod redaction;
mod shared_service;
mod signs_of_life;
mod standby;
mod support;
mod table;
mod told_once;
mod trying;
mod two_writers;
mod via;
mod waiting;
mod whole_piece_of_work;
