//! Keeps the fold of the log as long as somebody asks for it.

use super::Fold;
use comity_core::refusal::Refusal;
use comity_store::{EventQuery, ReadTx};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A fold that nobody asked for is forgotten after this time.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// Events that are read at a time.
const PAGE: usize = 2_000;

#[derive(Default)]
struct Kept {
    fold: Fold,
    used: Option<Instant>,
}

#[derive(Default)]
pub(crate) struct Folds(Mutex<Kept>);

/// The fold, while somebody looks at it.
pub(crate) struct Look<'a>(MutexGuard<'a, Kept>);

impl Deref for Look<'_> {
    type Target = Fold;
    fn deref(&self) -> &Fold {
        &self.0.fold
    }
}

impl Folds {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Extends the fold to the end of what a transaction sees. A look that began earlier may have extended it further.
    pub fn look(&self, tx: &mut dyn ReadTx) -> Result<Look<'_>, Refusal> {
        let mut kept = self.lock();
        let head = tx.head()?.seq;
        while kept.fold.seq < head {
            let after = kept.fold.seq;
            let events = tx.events(&EventQuery { after, limit: PAGE, ..EventQuery::default() })?;
            let Some(first) = events.first() else { break };
            if first.prev != kept.fold.hash {
                // The store was put back to another log.
                kept.fold = Fold::default();
                continue;
            }
            events.iter().for_each(|event| kept.fold.add(event));
        }
        kept.used = Some(Instant::now());
        Ok(Look(kept))
    }

    /// Forgets a fold that nobody asked for in a while.
    pub fn rest(&self) {
        let mut kept = self.lock();
        if kept.used.is_some_and(|at| at.elapsed() > IDLE_MAX) {
            *kept = Kept::default();
        }
    }
}
