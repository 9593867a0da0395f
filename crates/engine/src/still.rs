//! Whether an answer of a moment ago is still the answer: nothing was committed since, and nothing has expired.

use crate::claim_wait::until_next_expiry;
use crate::service::Service;
use std::sync::PoisonError;
use std::time::Duration;

/// How long an answer may be given again where nothing happens: some speak of ages.
const STILL_MAX: Duration = Duration::from_secs(1);

/// What was committed up to a moment, as this service saw it. Two equal marks have nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(i64);

impl Service {
    /// Returns the mark of now; none where the store cannot tell as cheaply as it answers.
    pub fn mark(&self) -> Option<Mark> {
        let mut sight = self.sight()?.lock().unwrap_or_else(PoisonError::into_inner);
        sight.version().ok().flatten().map(Mark)
    }

    /// Returns how long what is read now can be said again while the mark stays the same.
    pub fn still_for(&self) -> Duration {
        let policy = &self.settings().policy;
        let left = self.read_stored(|tx| until_next_expiry(tx, policy));
        left.unwrap_or_default().min(STILL_MAX)
    }
}
