//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod agent_protocol;
pub mod beads;
pub mod contract;
pub mod document;
pub mod mission;
pub mod neotx;
pub mod plan;
pub mod problem;
pub mod taskmaster;
