//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod beads;
pub mod mission;
pub mod plan;
pub mod taskmaster;
