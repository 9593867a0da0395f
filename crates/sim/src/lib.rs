//! A deterministic simulation of many agents over the rules and a store.
//!
//! Everything that is left to chance comes from one seed: what agents do, which commands are lost, late
//! or doubled, who crashes or pauses, how the clock jumps, when the host sleeps. The same seed gives the
//! same run, over the model in memory alone or with SQLite or PostgreSQL beside it.

mod audit;
mod chance;
mod crew;
mod fleet;
mod shared;
mod wishes;
mod world;

pub use audit::Violation;
pub use fleet::{FleetPlan, FleetReport, run_fleet};
pub use shared::run_shared;
pub use world::{Beside, Plan, Report, run};
