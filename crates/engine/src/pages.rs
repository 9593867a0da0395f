//! Cutting lists into pages.

use crate::query::Page;
use comity_core::limits::{PAGE_DEFAULT, PAGE_MAX};
use comity_core::refusal::Refusal;
use serde_json::{Value, json};

/// Returns how many entries a page has.
pub(crate) fn limit(page: &Page) -> Result<usize, Refusal> {
    match page.limit {
        None => Ok(PAGE_DEFAULT),
        Some(limit) if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        Some(limit) => Err(Refusal::input(format!("the limit {limit} is out of range"))
            .hint(format!("between 1 and {PAGE_MAX}"))),
    }
}

/// Reads a cursor that is a number.
pub(crate) fn number_after(page: &Page) -> Result<u64, Refusal> {
    let Some(text) = &page.after else { return Ok(0) };
    text.parse().map_err(|_| bad_cursor(text))
}

/// Says that a cursor is none.
pub(crate) fn bad_cursor(text: &str) -> Refusal {
    Refusal::input(format!("the cursor {:?} is not valid", comity_core::ids::shorten(text)))
        .hint("--after takes the `next` of the page before")
}

/// Makes a page of a list that has an order of its own: the cursor says how many came before.
pub(crate) fn rest<T: serde::Serialize>(
    name: &str,
    all: &[T],
    skipped: u64,
    limit: usize,
) -> Value {
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let left = all.get(skipped..).unwrap_or_default();
    let shown = left.get(..limit).unwrap_or(left);
    let next = (shown.len() < left.len()).then(|| (skipped + shown.len()).to_string());
    let mut out = serde_json::Map::new();
    out.insert(name.to_owned(), json!(shown));
    out.insert("next".to_owned(), json!(next));
    Value::Object(out)
}

/// Makes a page: the entries under their plural name, and where the next page starts.
pub(crate) fn page<T: serde::Serialize>(
    name: &str,
    mut entries: Vec<T>,
    limit: usize,
    cursor: impl Fn(&T) -> String,
) -> Value {
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(cursor);
    let mut out = serde_json::Map::new();
    out.insert(name.to_owned(), json!(entries));
    out.insert("next".to_owned(), json!(next));
    Value::Object(out)
}
