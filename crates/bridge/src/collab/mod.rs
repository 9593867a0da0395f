//! The `collaboration/` tree of kyros agents.md v2: files beside the store, kept in step with it, and the two
//! doors that its users know, JSON-RPC on stdio and a command line.

mod answers;
mod calls;
mod documents;
mod edits;
mod events;
mod exporter;
mod history;
mod import;
mod locks;
mod mark;
mod methods;
mod params;
mod records;
mod rpc;
mod sync;
mod tree;
mod watch;
mod wire;

pub use exporter::{Tell, say};
pub(crate) use history::is_written as is_written_tree;
pub use import::import_v1;
pub use methods::{Collab, Failure};
pub use rpc::{Failing, serve};
pub use sync::{ROUNDS_MAX, Syncer};
pub(crate) use tree::{Tree, failed};
pub use watch::watch;
