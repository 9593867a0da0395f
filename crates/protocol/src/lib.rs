//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod agent_protocol;
pub mod contract;
pub mod document;
pub mod mission;
pub mod problem;
