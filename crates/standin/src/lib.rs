//! GitHub on loopback for tests: npm's emulator behind a layer that adds what the emulator lacks, counts and keeps every
//! call, and lets them go wrong as a test says.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "this is the ground that tests stand on: it starts processes, and where it breaks the test fails"
)]

mod emulator;
mod extras;
mod faults;
mod field;
mod hooks;
mod http;
mod lists;
mod mirror;
mod pulls;
mod relay;
mod world;

pub use emulator::{Seed, node, packages, repository};
pub use faults::{Fault, On, Rule};
pub use field::{AGENT, ANN, Done, Engine, Field, REPO, at, operations};
pub use hooks::{Delivery, Hooks};
pub use http::{Request, Response, encoded};
pub use relay::{Entry, Hub};
