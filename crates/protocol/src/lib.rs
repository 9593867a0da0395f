//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod ace;
pub mod labels;
pub mod markdown;
pub mod mission;
