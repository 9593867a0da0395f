//! neo's ids, made of ours and back.
//!
//! neo's are random and of a fixed form; lists cut them to twelve characters. Ours are numbers. The number
//! stands first, so that a cut id still names one thing; the rest is a hash with the time in it at which the thing was made.
//! neo's files belong to a user and not to a project: another project's first decision is another decision.

use comity_core::chain::Hash;
use comity_core::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Decision,
    Memory,
    Directive,
    Task,
}

const NUMBER_DIGITS: usize = 8;

impl Thing {
    /// What neo's ids begin with, and the word that tells things with one prefix apart.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Thing::Decision => ("dec_", "decision"),
            Thing::Memory => ("mem_", "memory"),
            Thing::Task => ("mem_", "task"),
            Thing::Directive => ("dir_", "directive"),
        }
    }

    pub fn id(self, number: u64, made: Timestamp) -> String {
        let (prefix, word) = self.words();
        let seed = format!("neo {word} {number} {}", made.ms());
        let hash = Hash::of(seed.as_bytes()).to_string();
        match self {
            Thing::Decision => {
                format!("{prefix}{number:08x}{}", hash.get(..12).unwrap_or_default())
            }
            _ => format!("{prefix}{number:08x}-{}", hash.get(..3).unwrap_or_default()),
        }
    }

    /// Returns the number that an id stands for if it is of our making, here or elsewhere: whoever asks compares the id of that
    /// thing with it.
    pub fn number(self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix(self.words().0)?.get(..NUMBER_DIGITS)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
            return None;
        }
        u64::from_str_radix(digits, 16).ok().filter(|number| *number > 0)
    }

    /// Tells whether a text can only be an id of neo's.
    pub fn is_id(self, text: &str) -> bool {
        text.starts_with(self.words().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_neos_form_and_lead_back_and_differ_also_when_cut() {
        let things = [Thing::Decision, Thing::Memory, Thing::Directive, Thing::Task];
        let (now, later) = (Timestamp::from_ms(1_000), Timestamp::from_ms(1_001));
        for thing in things {
            for number in [1, 17, 255, 65_536, 4_000_000_000u64] {
                let id = thing.id(number, now);
                assert_eq!(id.len(), if thing == Thing::Decision { 24 } else { 16 });
                assert_eq!(thing.number(&id), Some(number), "{id}");
                assert_ne!(thing.id(number + 1, now)[..12], id[..12], "a cut id names one thing");
                assert_ne!(thing.id(number, later), id, "another store made another thing");
            }
        }
        assert_ne!(Thing::Memory.id(3, now), Thing::Task.id(3, now));
        for other in ["dec_", "dec_zzzzzzzz", "D1", "", "dec_00000000"] {
            assert_eq!(Thing::Decision.number(other), None, "{other}");
        }
    }
}
