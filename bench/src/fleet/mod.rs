//! What a fleet costs beside the work of its agents: work trees, snapshots, probes, starts, waits, the supervisor, idle keepers.

mod due;
mod runs;
mod trees;
mod yard;

use crate::cli::binary;
use crate::table::Table;
use crate::{Outcome, Scale};

/// One target: what was measured, in words, and whether it is met.
pub struct Line {
    what: &'static str,
    target: &'static str,
    measured: String,
    met: bool,
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let binary = binary()?;
    let mut lines = Vec::new();
    lines.extend(trees::work_trees(&binary, scale)?);
    lines.push(trees::probes(&binary, scale)?);
    lines.push(runs::first_byte(&binary, scale)?);
    lines.push(runs::wake(&binary, scale)?);
    lines.push(due::due_now(scale)?);
    lines.extend(runs::idle(&binary, scale)?);
    let mut table = Table::new(&["what", "target", "measured", "met"]);
    for Line { what, target, measured, met } in lines {
        let met = if met { "yes" } else { "no" };
        table.row(vec![what.to_owned(), target.to_owned(), measured, met.to_owned()]);
    }
    table.print("fleet: what a run costs beside its agent");
    Ok(())
}
