//! Behaviour of paths, patterns and their overlap, by table.

mod oracle;
mod properties;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn folded(text: &str) -> Pattern {
    Pattern::parse_with(text, CaseRule::Insensitive).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn assert_witness(a: &Pattern, b: &Pattern, witness: &str) {
    let found = path(witness);
    assert_eq!(found.as_str(), witness, "{a} and {b}: witness is not normalised");
    assert!(a.covers(&found), "{a} does not cover the witness {witness}");
    assert!(b.covers(&found), "{b} does not cover the witness {witness}");
}

#[test]
fn paths_are_normalised() {
    for (text, want) in [
        ("a", "a"),
        ("./a//b/./c/", "a/b/c"),
        ("a/../b", "b"),
        ("a/b/../../c", "c"),
        ("...", "..."),
        ("cafe\u{301}", "caf\u{e9}"),
        ("app/[id]/{x}", "app/[id]/{x}"),
    ] {
        assert_eq!(path(text).as_str(), want);
    }
}

#[test]
fn paths_outside_or_malformed_are_refused() {
    for (text, want) in [
        ("", PatternError::Empty),
        (".", PatternError::Root),
        ("a/..", PatternError::Root),
        ("/a", PatternError::Absolute),
        ("..", PatternError::OutsideRoot),
        ("a/../../b", PatternError::OutsideRoot),
        ("a\\b", PatternError::Backslash),
        ("a\0", PatternError::ControlCharacter('\0')),
        ("a\nb", PatternError::ControlCharacter('\n')),
        ("a\u{7f}", PatternError::ControlCharacter('\u{7f}')),
        ("a\u{85}", PatternError::ControlCharacter('\u{85}')),
    ] {
        assert_eq!(RepoPath::parse(text), Err(want), "{text:?}");
    }
    let long = "a".repeat(PATH_BYTES_MAX + 1);
    assert_eq!(RepoPath::parse(&long), Err(PatternError::PathTooLong));
}

#[test]
fn patterns_are_normalised() {
    for (text, want) in [
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("./a//b/", "a/b/"),
        ("a/./*.rs", "a/*.rs"),
        ("a/../*//b", "*/b"),
        ("*/./b", "*/b"),
        ("***", "*"),
        ("**/**/x", "**/x"),
        ("[^a]", "[!a]"),
        ("[*][,]x[]]", "[*],x]"),
        ("{a[,]b,c}", "{a[,]b,c}"),
        ("e\u{301}*", "\u{e9}*"),
        ("src/{e,x}\u{301}.rs", "src/{\u{e9}.rs,x\u{301}.rs}"),
        ("a{\u{323},}\u{301}", "{\u{1ea1}\u{301},\u{e1}}"),
        ("a/*{*,b}", "a/{**,*b}"),
        ("*{***,b}", "{***,*b}"),
    ] {
        assert_eq!(pattern(text).as_str(), want);
    }
}

#[test]
fn malformed_patterns_are_refused_with_a_next_step() {
    for (text, want) in [
        ("", PatternError::Empty),
        ("/", PatternError::Absolute),
        ("/a", PatternError::Absolute),
        ("a\\*", PatternError::Backslash),
        ("a\t*", PatternError::ControlCharacter('\t')),
        ("../a", PatternError::OutsideRoot),
        ("*/../a", PatternError::ParentAfterGlob),
        ("{a/..,b}", PatternError::DotSegmentInBraces),
        ("{.,lib}/x.rs", PatternError::DotSegmentInBraces),
        ("lib/{.,sub}/x", PatternError::DotSegmentInBraces),
        ("lib/{..,sub}/x", PatternError::DotSegmentInBraces),
        (".{,.}/x", PatternError::DotSegmentInBraces),
        ("a{/,b}.", PatternError::DotSegmentInBraces),
        ("{.}", PatternError::DotSegmentInBraces),
        ("{a/,b}/.", PatternError::DotSegmentInBraces),
        ("[a", PatternError::UnclosedClass),
        ("[a/b]", PatternError::UnclosedClass),
        ("[/]", PatternError::UnclosedClass),
        ("[", PatternError::UnclosedClass),
        ("[]", PatternError::EmptyClass),
        ("[!]", PatternError::EmptyClass),
        ("[]/]", PatternError::EmptyClass),
        ("[z-a]", PatternError::ReversedRange('z', 'a')),
        ("{a", PatternError::UnclosedBrace),
        ("{a,{b}", PatternError::UnclosedBrace),
        ("a}", PatternError::UnopenedBrace),
        ("{a,}", PatternError::EmptyAlternative),
        ("{{{{{{{{{a}}}}}}}}}", PatternError::TooDeep),
    ] {
        assert_eq!(Pattern::parse(text), Err(want), "{text:?}");
        assert!(want.to_string().contains(": "), "{want} has no next step");
    }
    let long = "a".repeat(PATTERN_BYTES_MAX + 1);
    assert_eq!(Pattern::parse(&long), Err(PatternError::PatternTooLong));
    let wide = format!("{{{}}}{{/x,y}}", ["**"; 330].join(","));
    assert_eq!(Pattern::parse(&wide), Err(PatternError::TooManyAlternatives));
    let many = "{a,b}".repeat(8);
    assert!(Pattern::parse(&many).is_ok(), "256 alternatives");
    assert_eq!(Pattern::parse(&format!("{{c,{many}}}")), Err(PatternError::TooManyAlternatives));
    assert_eq!(Pattern::parse(&"{a,b}".repeat(200)), Err(PatternError::TooManyAlternatives));
    assert_eq!(
        PatternError::UnclosedBrace.to_string(),
        "pattern has an unclosed '{': close it or write [{]"
    );
}

#[test]
fn patterns_cover_exactly_what_the_rules_say() {
    for (text, yes, no) in [
        (".", "a a/b", ""),
        ("a", "a a/b a/b/c", "ab b"),
        ("a/", "a/b a/b/c", "a ab"),
        ("src/*.rs", "src/a.rs src/.rs", "src/a/b.rs src/a.rs/b a.rs"),
        ("*", "a .a", "a/b"),
        ("*/", "a/b a/b/c", "a"),
        ("**", "a a/b/c", ""),
        ("a/**", "a/b a/b/c", "a"),
        ("**/x", "x a/x a/b/x", "ax x/a"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "ab a a/b/c"),
        ("**/*.rs", "a.rs a/b.rs", "a/b"),
        ("a**b", "ab axb", "a/b ax/b"),
        ("?", "a b", "ab a/b"),
        ("[a-c]", "a c", "d ab a/b"),
        ("[!a-c]x", "dx .x", "ax bx"),
        ("[.-0]", "0", "a"),
        ("[]a]", "] a", "b"),
        ("x[a-]", "xa x-", "xb"),
        ("{a,b}", "a b", "c a/x"),
        ("{a,b}/", "a/x b/x/y", "a c/x"),
        ("src/{a,b/c}/*.rs", "src/a/x.rs src/b/c/x.rs", "src/b/x.rs"),
        ("{a/,b}", "a/x a/x/y b", "a b/x"),
        ("a/{,b}/c", "a/c a/b/c", "a/b"),
        ("{a,**}/b", "b a/b x/y/b", "c"),
        ("**{/x,y}", "x a/x y ay", "a a/y"),
        ("a{/**,}", "a a/b a/b/c", "ab"),
        ("{a,}**/x", "x b/c/x ab/x a/x", "y"),
        ("app/[[]id]", "app/[id] app/[id]/x", "app/i"),
        ("a[}]", "a}", "a"),
        ("[é-ü]", "é ü", "e v"),
    ] {
        let covering = pattern(text);
        for name in yes.split_whitespace() {
            assert!(covering.covers(&path(name)), "{text} must cover {name}");
        }
        for name in no.split_whitespace() {
            assert!(!covering.covers(&path(name)), "{text} must not cover {name}");
        }
    }
}

#[test]
fn overlap_is_decided_as_the_table_says() {
    for (a, b, want) in [
        ("a", "a", Some("a")),
        ("a", "a/b", Some("a/b")),
        ("a/", "a", Some("a/a")),
        (".", "./", Some("a")),
        (".", "a/", Some("a/a")),
        ("a", "ab", None),
        ("src/*.rs", "src/*.toml", None),
        ("src/*.rs", "src/lib.rs", Some("src/lib.rs")),
        ("src/*.rs", "src/lib", None),
        ("src/*.rs", "src/", Some("src/a.rs")),
        ("src/**/*.rs", "src/store/*", Some("src/store/a.rs")),
        ("src/**/*.rs", "*/mod.rs", Some("src/mod.rs")),
        ("docs/**", "src/**", None),
        ("**/*.rs", "README.md", Some("README.md/a.rs")),
        ("*/", "a", Some("a/a")),
        ("*", "a/", None),
        ("{a,b}/x", "{c,b}/*", Some("b/x")),
        ("{a,b}/x", "{c,d}/*", None),
        ("[a-m]*", "[n-z]*", None),
        ("[a-m]*", "[m-z]*", Some("m")),
        ("[!a]", "a", None),
        (".", ".*", Some(".a")),
        ("?", "[.]", None),
        ("??", "[.][.]", None),
        (".*", "*.", Some(".a.")),
        ("*.", "[.]*[.]", Some(".a.")),
        ("a/*/b", "a/[.]/b", None),
        ("**/x/**/y", "x/y", Some("x/y")),
        ("a**b", "a/**/b", None),
        ("?é", "*", Some("aé")),
        ("[é-ü]", "[ê-ÿ]", Some("ê")),
        ("{e,x}\u{301}", "\u{e9}", Some("\u{e9}")),
        ("e{\u{301},x}", "\u{e9}/a", None),
        ("*{*,b}", "a/c", Some("a/c")),
    ] {
        let (a, b) = (pattern(a), pattern(b));
        let found = overlap(&a, &b);
        assert_eq!(found.is_some(), want.is_some(), "{a} and {b}: {found:?}");
        assert_eq!(overlap(&b, &a).is_some(), want.is_some(), "{b} and {a}");
        if let (Some(found), Some(want)) = (found, want) {
            assert_witness(&a, &b, &found);
            assert_eq!(found, want, "{a} and {b}");
        }
    }
}

#[test]
fn literal_ends_are_complete_segments_and_plain_tails() {
    for (text, prefix, tail) in [
        ("src/store/*.rs", "src/store", ".rs"),
        ("src/{a,b}/x", "src", "x"),
        ("*.rs", "", ".rs"),
        ("a/b", "a/b", ""),
        ("a/b/", "a/b", ""),
        (".", "", ""),
        ("a/**", "a", ""),
        ("a/*/", "a", ""),
        ("a/*.{rs,md}", "a", ""),
        ("a/[[]b]/*x", "a/[b]", "x"),
        ("a/b?c", "a", "c"),
    ] {
        let found = pattern(text);
        assert_eq!((found.literal_prefix(), found.literal_tail()), (prefix, tail), "{text}");
        assert_eq!(Pattern::prefix_of(text).as_deref(), Ok(prefix), "{text}");
    }
}

#[test]
fn case_is_folded_only_where_the_store_says_so() {
    assert!(!pattern("src").covers(&path("SRC/A")));
    for (text, name) in [
        ("Src", "sRC/a"),
        ("*.RS", "a.rs"),
        ("[A-C]x", "bX"),
        ("[a-c]x", "BX"),
        ("[À-Ö]", "ö"),
        ("É*", "éa"),
    ] {
        assert!(folded(text).covers(&path(name)), "{text} must cover {name}");
    }
    // As file systems fold: by simple upper case, which is the same for both forms of sigma and of s.
    for (text, name) in
        [("ς", "σ"), ("Σ", "ς"), ("ſ", "S"), ("[ſ]", "s"), ("[ς]x", "Σx"), ("µ", "Μ"), ("ᾳ", "ᾼ")]
    {
        assert!(folded(text).covers(&path(name)), "{text} must cover {name}");
    }
    for (text, name) in [("ß", "ss"), ("ß", "ẞ"), ("İ", "i"), ("ϴ", "θ")] {
        assert!(!folded(text).covers(&path(name)), "{text} must not cover {name}");
    }
    assert!(!folded("[!A-C]").covers(&path("b")));
    assert!(!folded("[!a-c]").covers(&path("B")));
    assert_eq!(folded("SRC/*.Rs").as_str(), "src/*.rs");
    assert!(overlap(&folded("A*"), &folded("*B")).is_some());
    assert!(overlap(&folded("[À]"), &folded("[!à]")).is_none());
    assert!(overlap(&pattern("A"), &folded("a")).is_some(), "mixed rules err towards overlap");
}

#[test]
fn wildcards_in_long_rows_stay_cheap_and_exact() {
    let forty = "?".repeat(40);
    assert!(overlap(&pattern(&forty), &pattern(&forty)).is_some());
    assert!(overlap(&pattern(&forty), &pattern(&"?".repeat(41))).is_none());
    let stars = "*?".repeat(40);
    assert!(overlap(&pattern(&forty), &pattern(&stars)).is_some());
    assert!(overlap(&pattern(&"?".repeat(39)), &pattern(&stars)).is_none());
}
