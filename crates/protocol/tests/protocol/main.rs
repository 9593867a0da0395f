//! The protocols from outside: golden files, round trips, and what must never happen.

mod ace;
