//! Cutting lists into pages.

use comity_core::hint::Hint;
use comity_core::limits::{PAGE_DEFAULT, PAGE_MAX};
use comity_core::refusal::Refusal;

/// Returns how many entries a page has.
pub(crate) fn limit(wanted: Option<usize>) -> Result<usize, Refusal> {
    match wanted {
        None => Ok(PAGE_DEFAULT),
        Some(limit) if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        Some(limit) => Err(Refusal::input(format!("the limit {limit} is out of range"))
            .hint(format!("use a number between 1 and {PAGE_MAX}"))),
    }
}

/// Reads a cursor that is a number.
pub(crate) fn number_after(cursor: Option<&str>) -> Result<u64, Refusal> {
    let Some(text) = cursor else { return Ok(0) };
    text.parse().map_err(|_| bad_cursor(text))
}

/// Reads a cursor that is an id.
pub(crate) fn id_after<T>(
    cursor: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    cursor.map(|text| parse(text).ok_or_else(|| bad_cursor(text))).transpose()
}

/// Says that a cursor is none.
pub(crate) fn bad_cursor(text: &str) -> Refusal {
    Refusal::input(format!("the cursor {:?} is not valid", comity_core::ids::shorten(text)))
        .hint(Hint::default().mention("after").say(" takes the `next` of the previous page"))
}

/// Cuts a list that has an order of its own: the cursor says how many came before.
pub(crate) fn rest<T>(all: Vec<T>, skipped: u64, limit: usize) -> (Vec<T>, Option<String>) {
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let total = all.len();
    let shown: Vec<T> = all.into_iter().skip(skipped).take(limit).collect();
    let end = skipped.saturating_add(shown.len());
    let next = (end < total).then(|| end.to_string());
    (shown, next)
}

/// Cuts a list of one entry more than a page has, and says where the next page starts.
pub(crate) fn page<T>(
    mut entries: Vec<T>,
    limit: usize,
    cursor: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(cursor);
    (entries, next)
}
