//! Text as words, for search: one definition for every store.
//!
//! A word is a run of letters and digits in lower case. Chinese and Japanese write without spaces, so
//! that each of their characters is a word. English words are found by their stem as well.

mod porter;

pub use porter::stem;

use std::collections::BTreeSet;
use unicode_normalization::UnicodeNormalization;

/// Longest word, in characters; what follows is cut off, in texts and in queries alike.
pub const WORD_CHARS_MAX: usize = 64;

/// Splits text into words, in order.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = 0;
    // Compatibility forms are one: a ligature or a full-width letter is found by the plain one.
    for c in text.nfkc().flat_map(char::to_lowercase) {
        let alone = stands_alone(c);
        if !c.is_alphanumeric() || alone {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            chars = 0;
        }
        if alone {
            words.push(c.to_string());
        } else if c.is_alphanumeric() && chars < WORD_CHARS_MAX {
            word.push(c);
            chars += 1;
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Tells whether a character is a word by itself: Han, Hiragana and Katakana.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x323AF)
        && c.is_alphanumeric()
}

/// Returns everything that a text is found by: its words and their stems.
pub fn terms<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in texts.flat_map(split) {
        terms.insert(stem(&word));
        terms.insert(word);
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            split("Don't use `max_files` (v2.1)!"),
            ["don", "t", "use", "max", "files", "v2", "1"]
        );
        assert_eq!(split("ÉCLAIR Ünïcode ΣΟΦΙΑ привет"), ["éclair", "ünïcode", "σοφια", "привет"]);
        assert_eq!(split(" \u{0}\"'*()^-~:; "), Vec::<String>::new());
    }

    #[test]
    fn a_decomposed_letter_and_a_composed_one_are_the_same() {
        assert_eq!(split("cafe\u{301}"), split("café"));
        assert_eq!(split("ﬁle"), ["file"]);
    }

    #[test]
    fn scripts_without_spaces_are_split_into_characters() {
        assert_eq!(split("数据库db很慢"), ["数", "据", "库", "db", "很", "慢"]);
        assert_eq!(split("안녕 세계"), ["안녕", "세계"]);
    }

    #[test]
    fn an_endless_word_is_cut() {
        let words = split(&"é".repeat(100_000));
        assert_eq!(words.len(), 1);
        assert_eq!(words[0].chars().count(), WORD_CHARS_MAX);
    }

    #[test]
    fn a_text_is_found_by_its_words_and_by_their_stems() {
        let found = terms(["Migrations were running", "db"].into_iter());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["db", "migrat", "migrations", "run", "running", "were"]);
    }
}
