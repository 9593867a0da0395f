//! neo (@neotx): what its agents report, how they are defined, and the header of a resumed run.

pub mod agent;
pub mod architect;
pub mod changes;
pub mod crash;
pub mod developer;
pub mod effect;
pub mod ids;
pub mod lines;
pub mod named;
pub mod records;
pub mod resume;
pub mod reviewer;
pub mod scout;
pub mod supervisor;
pub mod take;
pub mod words;
pub mod wrapped;

use crate::document::Node;

fn is_report(tree: &Node) -> bool {
    let marks =
        [developer::marks, reviewer::marks, scout::marks, architect::marks, supervisor::marks];
    marks.iter().any(|marks| marks("", Some(tree)) > 0)
}

#[cfg(test)]
mod tests;
