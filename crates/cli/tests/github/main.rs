//! The GitHub bus: the real binary against GitHub on loopback, with calls that go wrong and people who do.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod accounts;
mod backlog;
mod board;
mod hooks;
mod hostile;
mod howto;
mod offline;
mod once;
mod pulls;
mod race;
mod repositories;
mod rights;
mod turns;
mod walks;
mod workflows;

use comity_standin::{Field, Seed};
use std::path::Path;

/// GitHub on loopback for the real binary.
fn field(dialect: &str, settings: &str) -> Option<Field> {
    field_of(dialect, settings, &Seed::default())
}

/// The same with other users and repositories.
fn field_of(dialect: &str, settings: &str, seed: &Seed) -> Option<Field> {
    Field::new(Path::new(env!("CARGO_BIN_EXE_comity")), dialect, settings, seed)
}

/// Whether the long forms are wanted.
fn is_long() -> bool {
    std::env::var_os("COMITY_LONG").is_some()
}
