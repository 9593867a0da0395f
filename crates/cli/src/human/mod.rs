//! Answers in words: short lines, aligned columns, relative times, at home in 80 columns.

pub mod decision;
pub mod event;
pub mod fleet;
pub mod github;
pub mod import;
pub mod intervention;
pub mod log;
pub mod memory;
pub mod merge;
pub mod objective;
pub mod post;
pub mod settings;
pub mod status;
pub mod story;
pub mod supervise;
mod table;
pub mod task;
pub mod team;
pub mod trust;
pub mod whoami;
pub mod why;
mod words;
pub mod worker;

pub use words::{ago, count, cut, left, now, refusal, width};

use crate::terminal::{is_mark, steers};
use comity_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Columns that are assumed where there is no terminal.
const COLUMNS_DEFAULT: usize = 80;
/// The narrowest screen that is laid out for.
const COLUMNS_MIN: usize = 40;

/// What there is to show it on.
pub struct Screen {
    /// Whether somebody looks at it; tables are for people, tabs for programs.
    pub terminal: bool,
    pub columns: usize,
    /// The time that "ago" counts from.
    pub now: Timestamp,
}

impl Screen {
    /// Looks at stdout. `COMITY_COLUMNS` lays out as for a terminal of that width.
    pub fn detect() -> Screen {
        let forced = crate::env::var("COMITY_COLUMNS").ok().flatten();
        let forced = forced.and_then(|text| text.parse::<usize>().ok());
        let terminal = forced.is_some() || crate::output::seen();
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = forced.or_else(measured).unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN);
        Screen { terminal, columns, now: now() }
    }
}

/// Makes every text of an answer safe to be laid out; none when all of them are.
pub fn cleaned<T: Serialize + DeserializeOwned>(
    answer: &T,
) -> Result<Option<T>, serde_json::Error> {
    let json = serde_json::to_string(answer)?;
    // JSON itself escapes controls and tabs.
    let suspicious = |c: char| steers(c) || is_mark(c);
    if !json.contains("\\u") && !json.contains("\\t") && !json.contains(suspicious) {
        return Ok(None);
    }
    serde_json::from_value(words::clean(serde_json::from_str(&json)?)).map(Some)
}
