//! The protocols from outside: golden files, round trips, and what must never happen.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a failed test is a panic")]

mod ace;
mod driver;
mod labels;
mod neomjs;
