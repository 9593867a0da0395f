//! Two patterns and a path: parsing never crashes, a normalised pattern reads back as itself, alternatives mean what they
//! mean alone, and two patterns that cover one path overlap.
#![no_main]
use comity_core::pattern::{CaseRule, Pattern, RepoPath, alternatives, overlap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (&str, &str, &str)| {
    for rule in [CaseRule::Sensitive, CaseRule::Insensitive] {
        let read = |text: &str| Pattern::parse_with(text, rule).ok();
        let (Some(a), Some(b)) = (read(texts.0), read(texts.1)) else { return };
        for pattern in [&a, &b] {
            assert_eq!(read(pattern.as_str()).as_ref(), Some(pattern));
        }
        let found = overlap(&a, &b);
        assert_eq!(found.is_some(), overlap(&b, &a).is_some());
        let witness = found.as_deref().and_then(|witness| RepoPath::parse(witness).ok());
        // A combining mark right after a wildcard may not survive normalisation: then it only overlaps.
        if let Some(path) = witness.filter(|path| found.as_deref() == Some(path.as_str())) {
            assert!(a.covers(&path) && b.covers(&path), "{a} and {b}: {path}");
        }
        if let Ok(path) = RepoPath::parse(texts.2) {
            assert!(found.is_some() || !a.covers(&path) || !b.covers(&path), "{a} and {b}: {path}");
            if let Ok(all) = alternatives(texts.0)
                && all.len() > 1
            {
                let alone = |text: &String| read(&format!("{{{text}}}")).is_some_and(|one| one.covers(&path));
                // A comma of its own would part the alternative once more.
                let is_plain = !texts.0.contains(['[', '.']) && !all.iter().any(|text| text.contains(','));
                assert!(!is_plain || a.covers(&path) == all.iter().any(alone), "{a}: {path}");
            }
        }
    }
});
