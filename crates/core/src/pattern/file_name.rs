//! Names of files as they are in a repository, written as text. Git's names are bytes: they may have line breaks, other control characters,
//! backslashes, and bytes that are no UTF-8. Each such byte is written as `\xNN`, a backslash as `\\`. So every name is
//! printable text, and no two names are written alike but for Unicode's composed and decomposed forms, which are one path.

use super::PatternError;
use super::path::{check_length, normalised};
use unicode_normalization::char::canonical_combining_class;

/// Writes the name of a file that git has.
#[must_use]
pub fn spell_path(name: &[u8]) -> String {
    let mut out = String::new();
    let mut after_escape = false;
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            // A mark would be composed with the last digit of an escape before it.
            let is_mark = after_escape && canonical_combining_class(c) != 0;
            after_escape = is_mark || c.is_control();
            match c {
                '\\' => out.push_str("\\\\"),
                c if after_escape => spell_bytes(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                c => out.push(c),
            }
        }
        spell_bytes(chunk.invalid(), &mut out);
        after_escape |= !chunk.invalid().is_empty();
    }
    // What git has is a path below the root; there is nothing to refuse.
    normalised(&out).unwrap_or(out)
}

fn spell_bytes(bytes: &[u8], out: &mut String) {
    bytes.iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
}

/// Reads a path that somebody lists, and writes it as [`spell_path`] writes it.
pub fn listed_path(text: &str) -> Result<String, PatternError> {
    check_length(text)?;
    let bytes = unspelled(text).ok_or(PatternError::Escape)?;
    normalised(&spell_path(&bytes))
}

/// Returns the bytes that a text stands for; none when it has a backslash that begins nothing.
fn unspelled(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
        } else if let Some(after) = rest.strip_prefix(b"\\") {
            out.push(b'\\');
            rest = after;
        } else {
            let (digits, after) = rest.strip_prefix(b"x")?.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            let fits = digits.bytes().all(|b| b.is_ascii_hexdigit());
            out.push(u8::from_str_radix(digits, 16).ok().filter(|_| fits)?);
            rest = after;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_names_are_written_out_and_usual_ones_are_not() {
        for (name, wanted) in [
            (&b"src/a b.rs"[..], "src/a b.rs"),
            ("src/\u{e4}.rs".as_bytes(), "src/\u{e4}.rs"),
            (b"a\nb", "a\\x0ab"),
            (b"a\tb\x7f", "a\\x09b\\x7f"),
            ("a\u{85}".as_bytes(), "a\\xc2\\x85"),
            (b"back\\slash", "back\\\\slash"),
            (b"bad\xff", "bad\\xff"),
            (b"bad\\xff", "bad\\\\xff"),
            (b"\xfa\xcc\x80", "\\xfa\\xcc\\x80"),
        ] {
            assert_eq!(spell_path(name), wanted);
            assert_eq!(listed_path(wanted).as_deref(), Ok(wanted), "reads back");
        }
        assert_eq!(listed_path("./a/../b\\x0A").as_deref(), Ok("b\\x0a"));
        assert_eq!(listed_path("a\tb").as_deref(), Ok("a\\x09b"), "what JSON can say by itself");
        assert_eq!(listed_path("\\x61").as_deref(), Ok("a"), "one spelling");
        for bad in ["a\\b", "a\\", "a\\x", "a\\x0", "a\\xg0", "a\\x+1", "src\\main.rs"] {
            assert_eq!(listed_path(bad), Err(PatternError::Escape), "{bad}");
        }
        assert_eq!(listed_path("../a"), Err(PatternError::OutsideRoot));
        assert_eq!(listed_path("\\x2e\\x2e/a"), Err(PatternError::OutsideRoot));
        assert_eq!(listed_path("\\x2fa"), Err(PatternError::Absolute));
    }

    proptest! {
        #[test]
        fn two_names_are_never_written_alike(name: Vec<u8>, other: Vec<u8>) {
            let plain = |name: &[u8]| {
                let whole = String::from_utf8_lossy(name);
                unicode_normalization::is_nfc(&whole)
                    && name.split(|b| *b == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
            };
            if plain(&name) {
                let spelled = spell_path(&name);
                prop_assert!(!spelled.chars().any(char::is_control));
                prop_assert_eq!(unspelled(&spelled), Some(name.clone()));
                if plain(&other) && name != other {
                    prop_assert_ne!(spelled, spell_path(&other));
                }
            }
        }
    }
}
