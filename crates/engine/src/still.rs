//! Whether an answer of a moment ago is still the answer: nothing was committed since, and nothing has expired.

use crate::caller::Caller;
use crate::claim_wait::until_next_expiry;
use crate::service::Service;
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Refusal;
use comity_core::time::{Millis, Timestamp};
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer may be given again where nothing happens: some speak of ages.
const STILL_MAX: Duration = Duration::from_secs(1);

/// What was committed up to a moment, as this service saw it. Two equal marks have nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(i64);

/// Who was found to have no news: the mark of the store then, and when that was.
pub(crate) type Quiet = BTreeMap<(AgentId, RepoName), (Mark, Instant)>;

/// Agents that are remembered; of more, all are forgotten and looked at again.
const QUIET_MAX: usize = 1_000;

impl Service {
    fn quiet(&self) -> MutexGuard<'_, Quiet> {
        self.memo().quiet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether a caller had no news a moment ago, and nothing was committed since.
    pub(crate) fn is_quiet(&self, caller: &Caller, mark: Mark) -> bool {
        let known = self.quiet().get(&(caller.actor.clone(), caller.repo.clone())).copied();
        known.is_some_and(|(then, when)| then == mark && when.elapsed() < STILL_MAX)
    }

    /// Remembers that a caller has no news, as the store was at a mark.
    pub(crate) fn keep_quiet(&self, caller: &Caller, mark: Mark) {
        let mut all = self.quiet();
        if all.len() >= QUIET_MAX {
            all.clear();
        }
        all.insert((caller.actor.clone(), caller.repo.clone()), (mark, Instant::now()));
    }

    /// Returns the time by the store's clock, which is asked once a second at the most.
    pub fn recent_time(&self) -> Result<Timestamp, Refusal> {
        let mut known = self.memo().time.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((time, when)) = *known
            && when.elapsed() < STILL_MAX
        {
            let passed = i64::try_from(when.elapsed().as_millis()).unwrap_or_default();
            return Ok(time.plus(Millis::from_ms(passed)));
        }
        let time = self.store_time()?;
        *known = Some((time, Instant::now()));
        Ok(time)
    }

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
