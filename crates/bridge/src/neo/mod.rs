//! neo (@neotx): its files imported and exported, its ids and words for what comity keeps.

mod costs;
mod export;
mod files;
pub mod find;
mod import;
pub mod records;
mod resume;
mod seen;
mod task;

pub use export::export;
pub use import::import;
pub use resume::resume;
pub use task::{Update, is_there, update};

use comity_engine::Caller;

/// One of several steps of one command line. Each step has a key of its own, so that the whole can be repeated.
pub fn step(caller: &Caller, number: usize) -> Caller {
    let key = caller.key.as_ref().map(|key| format!("{key}:{number}"));
    Caller { key, ..caller.clone() }
}
