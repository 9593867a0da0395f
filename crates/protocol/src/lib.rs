//! The protocols that comity speaks, as text. Pure: parse, validate, render.

pub mod collab;
pub mod mission;
