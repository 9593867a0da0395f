//! What holds for every pattern, tried on random ones.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::*;
use super::{assert_witness, oracle};

/// Every valid path of at most five characters over a tiny alphabet.
static SHORT_PATHS: LazyLock<Vec<RepoPath>> = LazyLock::new(|| {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..5 {
        let to = texts.len();
        for index in from..to {
            for c in ['a', 'b', '.', '/'] {
                texts.push(format!("{}{c}", texts[index]));
            }
        }
        from = to;
    }
    let valid = |text: &String| RepoPath::parse(text).ok().filter(|path| path.as_str() == text);
    texts.iter().filter_map(valid).collect()
});

fn pattern_text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => Just("a".to_owned()),
        3 => Just("b".to_owned()),
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
    fn cover_agrees_with_the_written_out_alternatives(a in valid_pattern()) {
        for path in SHORT_PATHS.iter() {
            let want = oracle::covers(a.as_str(), path.as_str());
            prop_assert_eq!(a.covers(path), want, "{} and {}", a, path);
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
