//! The Neo.mjs Agent Task Protocol: the contract of a task, of its result, and the report of an error. Read from
//! issue bodies and comments as they are found there, written exactly as the protocol shows them.

mod check;
mod envelope;
mod error;
mod in_place;
mod issue;
mod plan;
mod result;
pub mod safety;
mod task;

pub use envelope::front_title as title_beside;
pub use error::ErrorContract;
pub use issue::{Written, new_task, status_there, written};
pub use plan::{PlanItem, read_plan};
pub use result::ResultContract;
pub(crate) use result::created;
pub use task::TaskContract;
pub(crate) use task::title_of;

use crate::contract::{ContractKind, Mode, row};
use crate::document::{Fault, Node};

fn read(text: &str, _: Mode) -> Result<Node, Fault> {
    envelope::read(text)
}

pub const TASK: ContractKind =
    row!("neo-task", "Neo.mjs Agent Task Protocol: what an agent is to do", read, task);
pub const RESULT: ContractKind = row!(
    "neo-result",
    "Neo.mjs Agent Task Protocol: what came of it",
    |text, _| result::read(text),
    result,
    reports
);
pub const ERROR: ContractKind =
    row!("neo-error", "Neo.mjs Agent Task Protocol: why an agent is stuck", read, error, reports);

/// Puts a contract into the fence that issue bodies and comments have.
pub fn fenced(contract: &str) -> String {
    let fence = crate::markdown::fence_for(contract);
    format!("{fence}yaml\n{}\n{fence}\n", contract.trim_end_matches('\n'))
}
