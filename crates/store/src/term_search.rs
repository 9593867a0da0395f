//! Finding memories by the words in them, the same for both databases.

use comity_core::ids::MemoryId;
use comity_core::search::Term;
use std::collections::BTreeSet;

/// Returns the memories that have every term, the newest first. The search ends with the first term that no memory has.
pub(crate) fn with_every_term<E>(
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

/// Returns a text that sorts after every word with this beginning.
pub(crate) fn end_of_prefix(beginning: &str) -> String {
    format!("{beginning}{}", char::MAX)
}
