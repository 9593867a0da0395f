//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod ace;
pub mod agent_protocol;
pub mod beads;
pub mod brief_text;
pub mod collab;
pub mod contract;
pub mod document;
pub mod driver;
pub mod labels;
pub mod markdown;
pub mod mission;
pub mod neomjs;
pub mod neotx;
pub mod plan;
pub mod problem;
pub mod task_plan;
pub mod taskmaster;

mod blocks;
mod shape;
pub mod test_claims;

/// A text on one line, with single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
