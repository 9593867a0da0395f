//! What an answer may rest on: a commit that was confirmed, by this server's disk and by its synchronous standbys.
//!
//! The wait of a COMMIT for a standby can be broken: the server process is ended or killed, the server restarts, the
//! statement is cancelled, the connection is cut. The transaction is then committed on the primary alone, and a fail-over
//! loses it. So whatever was found on a server after that is confirmed by a commit of one's own, which comes later in
//! the server's log.

use super::error::DbError;
use super::link::{Link, values};
use super::{Home, sql};
use crate::rows;
use crate::{Known, StoreError, Unconfirmed};
use comity_core::chain::Stored;
use std::time::{Duration, Instant};

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// What a look at the server found of a transaction whose answer was lost.
enum LostAnswer {
    Nothing,
    /// It is stored. Whether the standbys have confirmed that.
    Stored(bool),
}

impl Home {
    pub(super) fn unconfirmed(&self, known: Known) -> StoreError {
        StoreError::Unconfirmed(Unconfirmed { known, waited: self.confirm_wait })
    }

    /// Confirms what this server has stored so far.
    pub(super) fn confirm(&self, deadline: Instant) -> Result<(), StoreError> {
        self.until(deadline, Known::OnPrimary, |left| {
            let link = Link::open(&self.config, self.connect_wait.min(left))?;
            link.batch("BEGIN")?;
            Ok(self.mark(&link, left)?.then_some(()))
        })
    }

    /// Finds out whether a transaction was committed whose answer was lost. It is never guessed: the
    /// lock is waited for, so that a server process that still works on it has ended, and then the log
    /// tells. A transaction without events had only signs of life and answers, which may be sent again.
    pub(super) fn was_committed(
        &self,
        events: &[Stored],
        deadline: Instant,
        lost: &Link,
    ) -> Result<bool, StoreError> {
        let Some(last) = events.last() else { return Ok(false) };
        let (mut known, mut held) = (Known::Nothing, false);
        let settled = self.until(deadline, Known::Nothing, |left| {
            if held {
                // Perhaps by the transaction itself, which still waits for a standby.
                lost.cancel();
            }
            held = true;
            Ok(match self.look_for(last, left)? {
                LostAnswer::Nothing => Some(false),
                LostAnswer::Stored(true) => Some(true),
                LostAnswer::Stored(false) => {
                    known = Known::OnPrimary;
                    None
                }
            })
        });
        match settled {
            Err(StoreError::Unconfirmed(_)) => Err(self.unconfirmed(known)),
            settled => settled,
        }
    }

    fn look_for(&self, event: &Stored, left: Duration) -> Result<LostAnswer, DbError> {
        let link = Link::open(&self.config, self.connect_wait.min(left))?;
        let lock_wait = self.lock_wait.min(left).as_millis().max(1);
        link.batch(&format!("BEGIN; SET LOCAL lock_timeout = {lock_wait}"))?;
        link.query(sql::LOCK, values![self.names.lock])?;
        let found = link.query(sql::EVENT_HASHES, values![vec![rows::signed(event.seq.0)]])?;
        let stored = found.first().map_or(Ok(false), |row| Ok(rows::hash(row, 1)? == event.hash));
        match stored {
            Ok(true) => Ok(LostAnswer::Stored(self.mark(&link, left)?)),
            Ok(false) => Ok(LostAnswer::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Commits a mark; tells whether the standbys have confirmed it.
    fn mark(&self, link: &Link, left: Duration) -> Result<bool, DbError> {
        link.query(sql::MARK, values![])?;
        Ok(!link.commit(&[], left)?.warned)
    }

    /// Tries until there is an outcome, or the time is up.
    fn until<T>(
        &self,
        deadline: Instant,
        known: Known,
        mut attempt: impl FnMut(Duration) -> Result<Option<T>, DbError>,
    ) -> Result<T, StoreError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.unconfirmed(known));
            }
            match attempt(left) {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(error) if error.is_lost() || error.is_busy() => {}
                Err(error) => {
                    return Err(error.into_store("cannot confirm a commit", self.lock_wait));
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
}
