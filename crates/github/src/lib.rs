//! GitHub as the bus: issues are tasks, labels are state, comments are the trail.
//!
//! Pure parts say what GitHub should show ([`desired`]), what is said in comments ([`effects`]) and what is asked for
//! there ([`inbound`]). The rest reads and writes: [`client`], [`auth`], [`quota`], [`sync`].

#![deny(clippy::print_stdout, clippy::print_stderr)]
