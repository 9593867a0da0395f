//! What an agent was given of what others left for it, so that each thing comes once.
//!
//! An answer offers news, and once the answer is out it counts as given. What was offered and never confirmed, because
//! the process in between died, is offered again after a while, marked as repeated.

use crate::ids::Seq;
use crate::post::PostId;
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How long an offer waits to be confirmed before it is made again.
pub const OFFER_LIFE: Millis = Millis::from_secs(60);
/// How old something may be to be news; a cursor is kept longer than that.
pub const NEWS_LIFE: Millis = Millis::from_secs(6 * 86_400);
/// Places in the log that a cursor remembers one by one; below the highest of more, everything counts as given.
pub const GIVEN_MAX: usize = 1_000;

/// What one agent was given in one repository. It is kept outside the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// What the agent works on, in few characters: what concerns that was looked at up to `looked`, and given.
    #[serde(default)]
    pub scope: String,
    #[serde(default)]
    pub looked: Seq,
    /// Up to here everything counts as given.
    #[serde(default)]
    floor: Seq,
    #[serde(default)]
    given: BTreeSet<Seq>,
    /// What was offered and is not confirmed yet, with the time of the offer.
    #[serde(default)]
    offered: BTreeMap<Seq, Offer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Offer {
    at: Timestamp,
    id: PostId,
}

/// Why something is news to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It was never offered.
    New,
    /// It was offered in an answer that perhaps never arrived.
    Repeated,
}

impl Cursor {
    /// Tells whether something is still to be given.
    pub fn unread(&self, seq: Seq, now: Timestamp) -> Option<Unread> {
        if let Some(Offer { at, .. }) = self.offered.get(&seq) {
            // A clock that was set back must not keep an offer for ever.
            let is_lost = now.since(*at) >= OFFER_LIFE || *at > now;
            return is_lost.then_some(Unread::Repeated);
        }
        (seq > self.floor && !self.given.contains(&seq)).then_some(Unread::New)
    }

    /// Returns what was offered in answers that perhaps never arrived.
    pub fn lost(&self, now: Timestamp) -> Vec<(Seq, PostId)> {
        let is_lost = |seq: &Seq| self.unread(*seq, now) == Some(Unread::Repeated);
        let lost = self.offered.iter().filter(|(seq, _)| is_lost(seq));
        lost.map(|(seq, offer)| (*seq, offer.id.clone())).collect()
    }

    /// Takes offers that nobody confirmed for lost, however young they are: their answer is asked for again.
    pub fn give_up_offers(&mut self) {
        self.offered.values_mut().for_each(|offer| offer.at = Timestamp::default());
    }

    pub fn offer(&mut self, posts: impl IntoIterator<Item = (Seq, PostId)>, now: Timestamp) {
        let offers = posts.into_iter().map(|(seq, id)| (seq, Offer { at: now, id }));
        self.offered.extend(offers);
    }

    /// Notes that an answer arrived.
    pub fn confirm(&mut self, seqs: impl IntoIterator<Item = Seq>) {
        for seq in seqs {
            if self.offered.remove(&seq).is_some() {
                self.given.insert(seq);
            }
        }
        while self.given.len() > GIVEN_MAX {
            self.floor = self.given.pop_first().unwrap_or_default().max(self.floor);
        }
    }

    /// Returns up to where everything counts as given.
    pub fn floor(&self) -> Seq {
        self.floor
    }

    /// Takes everything up to a place in the log for given: it is too old to be told.
    pub fn give_up_to(&mut self, seq: Seq) {
        self.floor = self.floor.max(seq);
        self.given.retain(|given| *given > seq);
    }

    /// Forgets something that nobody can be given any more.
    pub fn forget(&mut self, seq: Seq) {
        self.offered.remove(&seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::PostKind;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms(seconds * 1000)
    }

    fn change(seq: u64) -> (Seq, PostId) {
        (Seq(seq), PostId::at(PostKind::Change, Seq(seq)))
    }

    #[test]
    fn what_is_confirmed_never_comes_again() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.unread(Seq(3), at(0)), Some(Unread::New));
        cursor.offer([change(3)], at(0));
        assert_eq!(cursor.unread(Seq(3), at(1)), None);
        cursor.confirm([Seq(3)]);
        assert_eq!(cursor.unread(Seq(3), at(10_000)), None);
        assert_eq!(cursor.unread(Seq(2), at(10_000)), Some(Unread::New));
    }

    #[test]
    fn an_offer_that_nobody_confirmed_comes_again_and_says_so() {
        let mut cursor = Cursor::default();
        cursor.offer([change(3)], at(0));
        assert_eq!(cursor.unread(Seq(3), at(59)), None);
        assert_eq!(cursor.unread(Seq(3), at(60)), Some(Unread::Repeated));
        assert_eq!(cursor.lost(at(60)), [change(3)]);
        cursor.confirm([Seq(3)]);
        assert_eq!(cursor.unread(Seq(3), at(60)), None);
    }

    #[test]
    fn what_is_too_old_to_be_told_takes_no_room() {
        let mut cursor = Cursor::default();
        cursor.offer((1..=9).map(change), at(0));
        cursor.confirm((1..=9).map(Seq));
        cursor.give_up_to(Seq(7));
        assert_eq!(cursor.given, BTreeSet::from([Seq(8), Seq(9)]));
        assert!((1..=9).all(|seq| cursor.unread(Seq(seq), at(0)).is_none()));
        assert_eq!(cursor.unread(Seq(10), at(0)), Some(Unread::New));
    }

    #[test]
    fn a_cursor_stays_small_and_forgets_nothing_that_it_gave() {
        let mut cursor = Cursor::default();
        for seq in 1..=3_000 {
            cursor.offer([change(seq)], at(0));
            cursor.confirm([Seq(seq)]);
        }
        assert!((1..=3_000).all(|seq| cursor.unread(Seq(seq), at(0)).is_none()));
        assert_eq!(cursor.unread(Seq(3_001), at(0)), Some(Unread::New));
        assert!(serde_json::to_string(&cursor).unwrap().len() < 16 * 1024);
    }
}
