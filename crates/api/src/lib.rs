//! What can be asked of comity: one row per operation, with its input, its output and its help text.
//!
//! Pure: no I/O and no rule. The doors (command line, JSON-RPC, MCP, HTTP) read the table; `engine`, `guard` and
//! `bridge` register the handlers of the rows that are theirs.

mod fleet;
mod github;
mod host;
mod input;
mod merging;
#[macro_use]
mod output;
mod openapi;
mod pages;
mod post;
mod rendering;
mod route;
mod runs;
mod step;
mod table;

pub use fleet::*;
pub use github::*;
pub use host::*;
pub use input::*;
pub use merging::*;
pub use openapi::openapi;
pub use output::*;
pub use pages::*;
pub use post::*;
pub use rendering::{RenderTask, Rendering};
pub use route::{Method, Route, routes};
pub use runs::*;
pub use step::{Several, TaskStep};
pub use table::{Door, Kind, Operation, Row, TABLE, op, row};
