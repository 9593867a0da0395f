//! Queries and durations as people write them: reading them never crashes, and whatever has a word is found
//! by it.
#![no_main]
use comity_core::directive_duration::DirectiveDuration;
use comity_core::search::Search;
use comity_core::time::Timestamp;
use comity_core::search_terms::{split, terms};
use libfuzzer_sys::fuzz_target;

/// A clock one hour ahead.
const OFFSET_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let search = Search::parse(text);
    assert!(search.is_empty() == split(text).is_empty());
    let found = terms([text].into_iter());
    assert!(split(text).iter().all(|word| found.contains(word)));
    if let Ok(lasting) = DirectiveDuration::parse(text) {
        let now = Timestamp::from_ms(1_767_225_600_000);
        let local = |at: Timestamp, days: i64, time: i64| {
            let day = (at.ms() + OFFSET_MS).div_euclid(DAY_MS) + days;
            [Timestamp::from_ms(day * DAY_MS + time - OFFSET_MS); 2]
        };
        let end = lasting.end(now, &local).seen_from(now);
        assert!(end.is_none_or(|end| end > now));
    }
});
