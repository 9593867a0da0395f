//! Search for any text: what matches is always found by the terms that stores look up.

use crate::directive_duration::fixed_offset;
use crate::properties::cases;
use comity_core::directive_duration::DirectiveDuration;
use comity_core::ids::{AgentId, MemoryId, RepoName, Seq};
use comity_core::memory::{Memory, MemoryType, Source};
use comity_core::search::{Search, Term};
use comity_core::search_terms::{split, stem};
use comity_core::time::Timestamp;
use proptest::prelude::*;

fn memory(text: String, tag: String) -> Memory {
    Memory {
        repo: RepoName::parse("acme/app").unwrap(),
        id: MemoryId(1),
        kind: MemoryType::Fact,
        scope: "global".to_owned(),
        text,
        tags: vec![tag],
        source: Source { agent: AgentId::parse("ann").unwrap(), task: None, event: Seq(1) },
        created_at: Timestamp::default(),
        expires_at: None,
        superseded_by: None,
        origin: None,
    }
}

/// What every store does with a term.
fn is_candidate(memory: &Memory, term: &Term) -> bool {
    let terms = memory.terms();
    match term {
        Term::Stem(word) => terms.contains(word),
        Term::Prefix(text) => terms.iter().any(|word| word.starts_with(text)),
    }
}

fn english() -> impl Strategy<Value = String> {
    let words = "retry retries retrying parse parser parsing caches cached caching migration \
        migrate happiness happy generalization controlled agreed file filing sky";
    let words: Vec<&str> = words.split_whitespace().collect();
    proptest::collection::vec(proptest::sample::select(words), 0..5)
        .prop_map(|words| words.join(" "))
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![english(), any::<String>(), "[a-zA-Zé数 '\"*-]{0,20}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn whatever_matches_is_a_candidate(text in any_text(), tag in any_text(), query in any_text()) {
        let memory = memory(text, tag);
        let search = Search::parse(&query);
        if search.matches(&memory) {
            let found = search.looked_up().iter().all(|term| is_candidate(&memory, term));
            prop_assert!(found, "{query:?} in {memory:?}");
        }
    }

    #[test]
    fn a_text_is_found_by_each_of_its_own_words(text in any_text()) {
        let memory = memory(text.clone(), String::new());
        for word in split(&text) {
            prop_assert!(Search::parse(&word).matches(&memory), "{word:?} in {text:?}");
            prop_assert!(Search::parse(&format!("{word}*")).matches(&memory), "{word:?}*");
        }
    }

    #[test]
    fn words_and_stems_are_never_empty_or_long(text in any::<String>()) {
        for word in split(&text) {
            prop_assert!(!word.is_empty() && word.chars().count() <= 64);
            prop_assert!(!stem(&word).is_empty());
        }
    }

    #[test]
    fn no_duration_ends_before_it_begins(
        text in prop_oneof![any::<String>(), "(for )?[0-9]{1,4} ?(s|m|h|d|hours|min|days)", "until [0-2]?[0-9]:[0-5][0-9]"],
        now in 0i64..4_000_000_000_000,
        offset in -43_200_000i64..50_400_000,
    ) {
        let now = Timestamp::from_ms(now);
        if let Ok(lasting) = DirectiveDuration::parse(&text) {
            let end = lasting.end(now, &fixed_offset(offset)).seen_from(now);
            prop_assert!(end.is_none_or(|end| end > now), "{text:?} at {now}");
        }
    }
}
