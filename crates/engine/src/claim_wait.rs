//! Waiting for a task to become ready: woken by commits and by what expires next.

use crate::answer::Reply;
use crate::caller::Caller;
use crate::hub::Hub;
use crate::observer::Answered;
use crate::service::Service;
use crate::wait::{LOOK_EVERY, Patience, STOP_LOOK_EVERY, TRY_PAUSE, in_vain};
use crate::writer::{check_may_wait, stopped};
use comity_core::command::{ClaimWish, Command};
use comity_core::ids::Seq;
use comity_core::limits;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_store::EventQuery;
use std::time::Duration;

/// Events after which a task may be ready that was not.
const MAY_FREE: [&str; 9] = [
    "task_created",
    "task_updated",
    "task_assigned",
    "dependency_removed",
    "status_changed",
    "lease_released",
    "locks_reclaimed",
    "agent_registered",
    "agent_updated",
];
/// How exactly the next expiry is found.
const EXPIRY_STEP: Duration = Duration::from_millis(50);

impl Service {
    /// Claims a task. While none is ready, this waits for one, which counts as a sign of life.
    pub fn claim_waiting(
        &self,
        caller: &Caller,
        wish: &ClaimWish,
        timeout: Millis,
    ) -> Result<Answered<Reply>, Refusal> {
        check_may_wait()?;
        let mut watch = self.watch()?;
        let mut patience = Patience::start(Some(timeout), self.beat_every(caller)?);
        loop {
            let mut seen = self.read_stored(|tx| Ok(tx.head()?.seq))?;
            let refusal = match self.run(caller, Command::Claim(wish.clone())) {
                Err(refusal) if may_change(&refusal) => refusal,
                done => return done,
            };
            loop {
                let at_most = match self.hub().map(Hub::is_stopped) {
                    Some(true) => return Err(stopped()),
                    Some(false) => STOP_LOOK_EVERY,
                    None => self.until_next_expiry()?,
                };
                let Some(nap) = patience.nap(at_most) else {
                    return Err(in_vain(&refusal, timeout));
                };
                watch.wait(nap.max(TRY_PAUSE))?;
                if patience.beat_is_due() {
                    self.beat(caller)?;
                }
                if self.may_be_ready(caller, &mut seen)? {
                    break;
                }
            }
        }
    }

    /// Tells whether something happened that may have made a task ready, or something has expired.
    fn may_be_ready(&self, caller: &Caller, seen: &mut Seq) -> Result<bool, Refusal> {
        self.read_stored(|tx| {
            let now = tx.moment()?.now;
            if !tx.due(now, 1)?.is_empty() {
                return Ok(true);
            }
            loop {
                let repo = Some(caller.repo.clone());
                let (after, limit) = (*seen, limits::PAGE_MAX);
                let events =
                    tx.events(&EventQuery { repo, after, limit, ..EventQuery::default() })?;
                let Some(last) = events.last() else { return Ok(false) };
                *seen = last.seq;
                if events.iter().any(|event| MAY_FREE.contains(&event.event.as_str())) {
                    return Ok(true);
                }
            }
        })
    }

    /// Returns how long to sleep so that nothing expires unnoticed.
    fn until_next_expiry(&self) -> Result<Duration, Refusal> {
        self.read_stored(|tx| {
            let now = tx.moment()?.now;
            let mut is_due = |ahead: Duration| -> Result<bool, Refusal> {
                let ahead = Millis::from_ms(i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX));
                Ok(!tx.due(now.plus(ahead), 1)?.is_empty())
            };
            if !is_due(LOOK_EVERY)? {
                return Ok(LOOK_EVERY);
            }
            let (mut early, mut late) = (Duration::ZERO, LOOK_EVERY);
            while late - early > EXPIRY_STEP {
                let middle = early + (late - early) / 2;
                if is_due(middle)? {
                    late = middle;
                } else {
                    early = middle;
                }
            }
            Ok(late)
        })
    }
}

/// Refusals that time or others may turn into a claim.
fn may_change(refusal: &Refusal) -> bool {
    let status = refusal.details.get("status").and_then(serde_json::Value::as_str);
    let is_over = status.and_then(|word| Status::parse(word).ok()).is_some_and(Status::is_finished);
    matches!(refusal.code, Code::NothingReady | Code::NotReady | Code::LeaseHeld) && !is_over
}
