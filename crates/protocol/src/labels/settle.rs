//! Which state counts when labels say more than one.

use super::{Dialect, same};
use comity_core::status::Status;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub word: String,
    pub remove: Vec<String>,
    /// Why this one counts; none when there was no other.
    pub why: Option<String>,
}

/// What wins over what, when nothing is known: a stop wins over everything, since nothing is lost by asking a
/// person; otherwise the later state, since a change adds the new label before it takes the old one away.
const STRENGTH: [Status; 6] = [
    Status::Blocked,
    Status::Failed,
    Status::Done,
    Status::Review,
    Status::InProgress,
    Status::Queued,
];

impl Dialect {
    /// Returns the state that the labels say, none when they say none.
    ///
    /// `known` is the state in comity's store. The label that shows it was there before, so another one beside it
    /// is what somebody wants.
    pub fn settle(&self, labels: &[String], known: Option<Status>) -> Option<Settled> {
        let mut words: Vec<&str> = Vec::new();
        for word in self.states_in(labels) {
            if !words.iter().any(|other| same(other, word)) {
                words.push(word);
            }
        }
        let (word, why) = match words.as_slice() {
            [] => return None,
            [only] => (*only, None),
            _ => self.pick(&words, known)?,
        };
        let rest = words.iter().filter(|other| **other != word);
        Some(Settled {
            word: word.to_owned(),
            remove: rest.map(|other| (*other).to_owned()).collect(),
            why,
        })
    }

    fn pick<'a>(
        &self,
        words: &[&'a str],
        known: Option<Status>,
    ) -> Option<(&'a str, Option<String>)> {
        let before = known.and_then(|status| self.mark(status).word);
        let is_before = |word: &str| before.is_some_and(|before| same(before, word));
        let added: Vec<&str> = words.iter().copied().filter(|word| !is_before(word)).collect();
        if let ([added], Some(before)) = (added.as_slice(), before) {
            return Some((added, Some(format!("somebody added {added} beside {before}"))));
        }
        let shows = |status: &Status| {
            let of = self.words.get(status)?;
            words.iter().copied().find(|word| same(word, of))
        };
        let winner = STRENGTH.iter().find_map(shows).or_else(|| words.first().copied())?;
        let stop = [Status::Blocked, Status::Failed].iter().any(|status| shows(status).is_some());
        let why = if stop {
            format!("{winner} stops the work until somebody has looked")
        } else {
            format!("{winner} is the latest of the states that are set")
        };
        Some((winner, Some(why)))
    }
}
