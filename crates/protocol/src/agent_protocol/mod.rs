//! Agent Protocol v1: mission and result. The checks of the original validator come first, with its
//! messages and in its order; what it misses comes after them.

mod checker;
pub mod in_prose;
pub mod mission_check;
pub mod result;
mod schema;
mod time;

#[cfg(test)]
mod tests;
