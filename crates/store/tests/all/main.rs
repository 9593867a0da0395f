//! Every store against the same cases, and what only one of them can do wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]

mod conformance;
mod damage;
mod postgres;
mod processes;
mod schemas;
