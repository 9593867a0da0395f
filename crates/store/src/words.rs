//! Finding memories by words: what the SQL stores have in common.

use comity_core::ids::MemoryId;
use comity_core::search::Term;
use std::collections::BTreeSet;

/// Returns the memories that have every term, the newest first. The first term without any ends it.
pub(crate) fn intersect<E>(
    terms: &[Term],
    limit: usize,
    mut find: impl FnMut(&Term) -> Result<Vec<MemoryId>, E>,
) -> Result<Vec<MemoryId>, E> {
    let mut common: Option<BTreeSet<MemoryId>> = None;
    for term in terms {
        let found: BTreeSet<MemoryId> = find(term)?.into_iter().collect();
        let both = match common {
            None => found,
            Some(known) => known.intersection(&found).copied().collect(),
        };
        if both.is_empty() {
            return Ok(Vec::new());
        }
        common = Some(both);
    }
    Ok(common.into_iter().flatten().rev().take(limit).collect())
}

/// Returns what comes after every word with this beginning.
pub(crate) fn after(beginning: &str) -> String {
    format!("{beginning}{}", char::MAX)
}
