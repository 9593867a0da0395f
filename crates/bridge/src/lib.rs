//! Other tools' files kept in step: the `collaboration/` tree, neo, beads, Task Master.
//!
//! Nothing is printed and nothing of the process is read here: what people have to know is handed to a door.

pub mod collab;
pub mod import;
pub mod neo;
