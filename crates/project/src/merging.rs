//! The table `[merge]`: how approved work becomes part of a branch.

use crate::config::{Config, duration};
use crate::problem::Problem;
use comity_api::Strategy;
use comity_core::time::Millis;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MergeTable {
    target: Option<String>,
    batch: Option<usize>,
    strategy: Option<Strategy>,
    retries: Option<u32>,
    changelog: Option<String>,
    probe_every: Option<String>,
}

/// How approved work becomes part of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeSettings {
    /// The branch; none is the base branch.
    pub target: Option<String>,
    /// How many tasks are merged and tested together.
    pub batch: usize,
    pub strategy: Strategy,
    /// How often a task that is red alone is tried again.
    pub retries: u32,
    /// The file that gets a line for each task that lands.
    pub changelog: Option<String>,
    /// How often runs at work are compared with each other.
    pub probe_every: Millis,
}

const BATCH: usize = 8;
const RETRIES: u32 = 1;
const PROBE_EVERY: Millis = Millis::from_secs(10);

impl Config {
    /// Returns how approved work becomes part of a branch.
    pub fn merging(&self) -> Result<MergeSettings, Problem> {
        let table = &self.merge;
        if table.batch == Some(0) {
            return Err(Problem::new("merge.batch", "0 is less than 1"));
        }
        let text = |given: &Option<String>| given.clone().filter(|text| !text.is_empty());
        Ok(MergeSettings {
            target: text(&table.target),
            batch: table.batch.unwrap_or(BATCH),
            strategy: table.strategy.unwrap_or_default(),
            retries: table.retries.unwrap_or(RETRIES),
            changelog: text(&table.changelog),
            probe_every: duration("merge.probe_every", &table.probe_every)?.unwrap_or(PROBE_EVERY),
        })
    }
}
