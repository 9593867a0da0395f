//! A cheap look at the texts before the exact search: most leases are nowhere near.

use super::CaseRule;

/// Tells from the text alone that a normalised pattern covers nothing at or below a literal path.
///
/// Never true for two that overlap; false says nothing. The first segments decide nearly always, and
/// reading them costs a hundredth of compiling the pattern.
#[must_use]
pub fn surely_apart(literal: &str, pattern: &str, rule: CaseRule) -> bool {
    // A stored text need not be folded the way the literal is.
    if rule != CaseRule::Sensitive || literal.is_empty() || pattern == "." {
        return false;
    }
    for (wanted, held) in literal.split('/').zip(pattern.split('/')) {
        // Whole segments, classes and alternatives are left to the exact search; an empty segment is
        // the end of a pattern for everything below.
        if held.is_empty() || held == "**" || held.contains(['[', '{']) {
            return false;
        }
        if !wildcard_match(held, wanted) {
            return true;
        }
    }
    false
}

/// Matches one segment with `*` and `?` against a name, in time linear in practice: only the last star
/// is ever tried again.
fn wildcard_match(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    let (mut rest, mut left) = (pattern.chars(), name.chars());
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let at = left.clone();
        match (rest.next(), left.next()) {
            (Some('*'), _) => {
                left = at.clone();
                retry = Some((rest.clone(), at));
                continue;
            }
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => continue,
            _ => {}
        }
        let Some((after_star, mut from)) = retry.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        (rest, left) = (after_star.clone(), from.clone());
        retry = Some((after_star, from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Pattern, overlap};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn rule_4_what_is_surely_apart_never_overlaps(
            wanted in "[ab*?/]{1,8}|[ab]{1,2}/(a|b|\\*\\*|\\{a,b\\}|\\[ab\\]|\\*b)",
            held in "[ab*?/]{1,8}|(\\*|\\?|a|\\{a,b/a\\}|\\[ab\\]|\\*\\*){1,2}/[ab*]{1,3}/?|\\.",
        ) {
            if let (Ok(wanted), Ok(held)) = (Pattern::parse(&wanted), Pattern::parse(&held))
                && surely_apart(wanted.literal_prefix(), held.as_str(), CaseRule::Sensitive)
            {
                prop_assert_eq!(overlap(&wanted, &held), None);
            }
        }

        #[test]
        fn rule_4_the_quick_prefix_is_that_of_the_whole_pattern(
            text in "[ab.*?/]{1,8}|([ab]|\\.|\\.\\.|\\*|\\*\\*|a-b|\\.a)(/([ab]|\\.|\\.\\.|\\*|\\*\\*|\\{a,b/a\\})){0,3}/?",
        ) {
            if let Ok(pattern) = Pattern::parse(&text) {
                let quick = Pattern::prefix_of(&text);
                prop_assert_eq!(quick.as_deref(), Ok(pattern.literal_prefix()));
            }
        }
    }

    #[test]
    fn first_segments_tell_most_patterns_apart() {
        let apart = |literal, held| surely_apart(literal, held, CaseRule::Sensitive);
        assert!(
            apart("src/a", "docs/**") && apart("src/a", "*.gen1/out/**") && apart("src/a", "s?c/b")
        );
        assert!(!apart("src/a", "s*/a*") && !apart("src/a", "**/x") && !apart("src/a", "src/"));
        assert!(!apart("src/a", ".") && !apart("", "docs/x") && !apart("src", "src/deep/x"));
    }
}
