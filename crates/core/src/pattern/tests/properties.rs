//! What holds for every pattern, tried on random ones.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::*;
use super::{assert_witness, oracle};

/// Every valid path of at most five characters over a tiny alphabet.
static SHORT_PATHS: LazyLock<Vec<RepoPath>> =
    LazyLock::new(|| short_paths(&['a', 'b', '.', '/'], 5));

/// Every valid path of at most five characters, before they are composed, with a combining mark among them.
static MARKED_PATHS: LazyLock<Vec<RepoPath>> =
    LazyLock::new(|| short_paths(&['e', '\u{301}', '.', '/'], 5));

fn short_paths(alphabet: &[char], length: usize) -> Vec<RepoPath> {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let to = texts.len();
        for index in from..to {
            texts.extend(
                alphabet.iter().map(|c| format!("{}{c}", texts[index])).collect::<Vec<_>>(),
            );
        }
        from = to;
    }
    let mut paths: Vec<RepoPath> =
        texts.iter().filter_map(|text| RepoPath::parse(text).ok()).collect();
    paths.sort();
    paths.dedup();
    paths
}

fn pattern_text() -> impl Strategy<Value = String> {
    pattern_text_of("a", "b")
}

fn pattern_text_of(one: &'static str, two: &'static str) -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => Just(one.to_owned()),
        3 => Just(two.to_owned()),
        2 => Just(".".to_owned()),
        4 => Just("/".to_owned()),
        2 => Just("*".to_owned()),
        2 => Just("**".to_owned()),
        1 => Just("/**/".to_owned()),
        1 => Just("?".to_owned()),
        1 => Just("[ab]".to_owned()),
        1 => Just("[!a]".to_owned()),
    ];
    let sequence = prop::collection::vec(atom, 0..6).prop_map(|atoms| atoms.concat());
    sequence.prop_recursive(2, 12, 3, |inner| {
        (inner.clone(), prop::collection::vec(inner.clone(), 1..4), inner).prop_map(
            |(before, branches, after)| format!("{before}{{{}}}{after}", branches.join(",")),
        )
    })
}

fn valid_pattern() -> impl Strategy<Value = Pattern> {
    pattern_text().prop_filter_map("refused", |text| Pattern::parse(&text).ok())
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn overlap_agrees_with_trying_every_short_path(a in valid_pattern(), b in valid_pattern()) {
        let both = SHORT_PATHS.iter().find(|path| a.covers(path) && b.covers(path));
        let found = overlap(&a, &b);
        prop_assert_eq!(found.is_some(), overlap(&b, &a).is_some());
        if let Some(path) = both {
            prop_assert!(found.is_some(), "{} and {} both cover {}", a, b, path);
            prop_assert!(prefix_may_overlap(&a, &b));
        }
        if let Some(witness) = found {
            assert_witness(&a, &b, &witness);
            let short = witness.len() <= 5 && witness.chars().all(|c| "ab./".contains(c));
            prop_assert!(!short || both.is_some());
        }
    }

    #[test]
    fn rule_4_1_cover_agrees_with_the_written_out_alternatives(text in pattern_text()) {
        if let Ok(a) = Pattern::parse(&text) {
            for path in SHORT_PATHS.iter() {
                let want = oracle::covers(&text, path.as_str());
                prop_assert_eq!(a.covers(path), want, "{:?} ({}) and {}", text, a, path);
            }
        }
    }

    #[test]
    fn rule_4_1_marks_meet_their_base_across_alternatives(
        first in pattern_text_of("e", "\u{301}"), second in pattern_text_of("e", "\u{301}"),
    ) {
        if let (Ok(a), Ok(b)) = (Pattern::parse(&first), Pattern::parse(&second)) {
            let mut both = None;
            for path in MARKED_PATHS.iter() {
                let covers = (a.covers(path), b.covers(path));
                let want = (oracle::covers(&first, path.as_str()), oracle::covers(&second, path.as_str()));
                prop_assert_eq!(covers, want, "{:?}, {:?} and {:?}", first, second, path);
                both = both.or((covers == (true, true)).then_some(path));
            }
            let found = overlap(&a, &b);
            prop_assert!(found.is_some() || both.is_none(), "{:?}, {:?}: {:?}", first, second, both);
            // After a wildcard a mark errs towards an overlap: no composed text may be the witness.
            if let Some(witness) = found
                && RepoPath::parse(&witness).is_ok_and(|path| path.as_str() == witness)
            {
                assert_witness(&a, &b, &witness);
            }
        }
    }

    #[test]
    fn normalised_text_parses_to_the_same_pattern(text in pattern_text()) {
        for rule in [CaseRule::Sensitive, CaseRule::Insensitive] {
            if let Ok(first) = Pattern::parse_with(&text, rule) {
                prop_assert_eq!(Pattern::parse_with(first.as_str(), rule), Ok(first));
            }
        }
    }

    #[test]
    fn no_text_makes_parsing_panic(
        text in "(\\PC|[*?{},/.\\[\\]!\\-^\\\\]|\\p{Cc}|[à-ü\u{300}]){0,40}",
    ) {
        let _ = RepoPath::parse(&text);
        for rule in [CaseRule::Sensitive, CaseRule::Insensitive] {
            if let Ok(first) = Pattern::parse_with(&text, rule) {
                prop_assert_eq!(Pattern::parse_with(first.as_str(), rule), Ok(first.clone()));
                let _ = overlap(&first, &Pattern::parse_with("*/[!a]?**", rule).expect("valid"));
            }
        }
    }

    #[test]
    fn a_witness_holds_for_classes_of_any_script(
        a in "[a-zA-Zà-ü?*]{0,3}\\[!?[a-eÀ-Ýà-ü]{1,4}\\][a-b*]{0,2}",
        b in "[a-zA-Zà-ü?*]{0,3}\\[!?[a-eÀ-Ýà-ü]{1,4}\\][a-b*]{0,2}",
    ) {
        for rule in [CaseRule::Sensitive, CaseRule::Insensitive] {
            let read = |text: &str| Pattern::parse_with(text, rule).expect("well formed");
            let (a, b) = (read(&a), read(&b));
            if let Some(witness) = overlap(&a, &b) {
                assert_witness(&a, &b, &witness);
            }
        }
    }
}
