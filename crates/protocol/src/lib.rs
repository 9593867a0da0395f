//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod document;
pub mod mission;
pub mod problem;
