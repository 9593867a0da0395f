//! neo's ids, made of ours and back.
//!
//! neo's are random and of a fixed form; lists cut them to twelve characters. Ours are numbers. The number
//! stands first, so that a cut id still names one thing; the rest is a hash that a full id is checked by.

use comity_core::chain::Hash;

/// The things that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// `dec_` and 20 hex digits.
    Decision,
    /// `mem_` and 12 characters of a UUID.
    Memory,
    /// `dir_` and 12 characters of a UUID.
    Directive,
    /// `mem_` and 12 characters of a UUID, too.
    Task,
}

/// Hex digits of the number.
const NUMBER_DIGITS: usize = 8;

impl Thing {
    fn prefix(self) -> &'static str {
        match self {
            Thing::Decision => "dec_",
            Thing::Memory | Thing::Task => "mem_",
            Thing::Directive => "dir_",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Thing::Decision => "decision",
            Thing::Memory => "memory",
            Thing::Directive => "directive",
            Thing::Task => "task",
        }
    }

    /// Returns neo's id of the thing with that number.
    pub fn id(self, number: u64) -> String {
        let hash = Hash::of(format!("neo {} {number}", self.word()).as_bytes()).to_string();
        let prefix = self.prefix();
        match self {
            Thing::Decision => {
                format!("{prefix}{number:08x}{}", hash.get(..12).unwrap_or_default())
            }
            _ => format!("{prefix}{number:08x}-{}", hash.get(..3).unwrap_or_default()),
        }
    }

    /// Returns the number that a full id of our making stands for. A cut one may belong to an id that was taken over:
    /// it is looked up among all.
    pub fn number(self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix(self.prefix())?.get(..NUMBER_DIGITS)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
            return None;
        }
        let number = u64::from_str_radix(digits, 16).ok()?;
        (number > 0 && self.id(number) == id).then_some(number)
    }

    /// Tells whether a text can only be an id of neo's.
    pub fn is_id(self, text: &str) -> bool {
        text.starts_with(self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_neos_form_and_lead_back_and_differ_also_when_cut() {
        let things = [Thing::Decision, Thing::Memory, Thing::Directive, Thing::Task];
        for thing in things {
            for number in [1, 17, 255, 65_536, 4_000_000_000u64] {
                let id = thing.id(number);
                assert_eq!(id.len(), if thing == Thing::Decision { 24 } else { 16 });
                assert_eq!(thing.number(&id), Some(number), "{id}");
                assert_eq!(thing.number(&id[..12]), None, "it may be another's");
                assert_ne!(thing.id(number + 1)[..12], id[..12], "a cut id names one thing");
                assert_eq!(thing.number(&format!("{id}0")), None);
            }
        }
        assert_ne!(Thing::Memory.id(3), Thing::Task.id(3));
        for other in ["dec_", "dec_zzzzzzzz", "dec_0123456789abcdef0123", "D1", "", "dec_00000000"]
        {
            assert_eq!(Thing::Decision.number(other), None, "{other}");
        }
    }
}
