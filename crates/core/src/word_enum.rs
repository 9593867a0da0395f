//! Enums whose values are words: one word in JSON, in tables, on the command line and in messages.

use crate::ids::shorten;
use crate::refusal::Refusal;

/// Declares such an enum. Where it has a name in quotes, `parse` reads its words, and further words that mean the
/// same: `Fact => "fact" | "knowledge"`. The first word is the one that is written.
macro_rules! word_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident $(as $what:literal)? {
            $($(#[$of_value:meta])* $value:ident => $word:literal $(| $other:literal)*,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$of_value])* $value,)* }

        impl $name {
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$value),*];

            /// Every word that is read. Those that mean the same stand together.
            pub const WORDS: [(&'static str, $name); [$($word, $($other,)*)*].len()] =
                [$(($word, $name::$value), $(($other, $name::$value),)*)*];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$value => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $(impl $name {
            pub fn parse(text: &str) -> Result<$name, crate::refusal::Refusal> {
                crate::word_enum::read($what, &$name::WORDS, text)
            }
        })?
    };
}
pub(crate) use word_enum;

/// Finds a word in a table, whatever its case.
pub(crate) fn read<T: Copy + PartialEq>(
    what: &str,
    words: &[(&str, T)],
    text: &str,
) -> Result<T, Refusal> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim()));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let same = words.chunk_by(|(_, one), (_, next)| one == next);
        let shown = same.map(|words| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            match words.split_first() {
                Some((first, others)) if !others.is_empty() => {
                    format!("{first} ({})", others.join(", "))
                }
                _ => words.concat(),
            }
        });
        let shown: Vec<String> = shown.collect();
        Refusal::input(format!("{what} {:?} is not known", shorten(text)))
            .hint(format!("use one of: {}", shown.join(", ")))
    })
}
