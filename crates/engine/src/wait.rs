//! Waiting for what other processes do, without burning time: woken by their commits.

use crate::answer::shortest_ttl;
use crate::engine::{Asker, Engine};
use crate::query::Query;
use comity_core::command::{Command, Request};
use comity_core::facts::Facts;
use comity_core::ids::{Fence, Seq};
use comity_core::limits;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_core::view;
use comity_store::EventQuery;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Longest sleep between two looks, whatever the wait; also how often a waiter is heard of at least.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Shortest sleep between two tries for a lease, so that a busy store is not hammered.
const TRY_PAUSE: Duration = Duration::from_millis(20);
/// Shortest time between two signs of life of a waiter.
const BEAT_MIN: Duration = Duration::from_millis(250);

fn duration(time: Millis) -> Duration {
    Duration::from_millis(u64::try_from(time.ms()).unwrap_or(0))
}

/// A wait with an end, which keeps the waiter's grants alive.
struct Patience {
    until: Instant,
    beat_every: Duration,
    next_beat: Instant,
}

impl Patience {
    fn start(timeout: Option<Millis>, beat_every: Duration) -> Patience {
        let now = Instant::now();
        let timeout = timeout.unwrap_or(limits::WAIT_MAX).min(limits::WAIT_MAX);
        Patience { until: now + duration(timeout), beat_every, next_beat: now + beat_every }
    }

    /// Returns how long to sleep, or none when the time is up.
    fn nap(&self, at_most: Duration) -> Option<Duration> {
        let now = Instant::now();
        let left = self.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        let beat = self.next_beat.saturating_duration_since(now);
        Some(left.min(beat.max(Duration::from_millis(1))).min(at_most))
    }

    fn beat_is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next_beat {
            return false;
        }
        self.next_beat = now + self.beat_every;
        true
    }
}

impl Engine {
    /// Runs a command that may run into a lease, and tries again until the time is up.
    pub fn execute_waiting(
        &mut self,
        request: &Request,
        timeout: Millis,
    ) -> Result<Value, Refusal> {
        let asker = Asker { actor: request.actor.clone(), repo: request.repo.clone() };
        let mut watch = self.store.watch()?;
        let mut patience = Patience::start(Some(timeout), self.beat_every(&asker)?);
        loop {
            let refusal = match self.execute(request.clone()) {
                Err(refusal) if refusal.code == Code::LeaseHeld => refusal,
                other => return other,
            };
            let Some(nap) = patience.nap(until_free(&refusal).unwrap_or(LOOK_EVERY)) else {
                return Err(in_vain(&refusal, timeout));
            };
            watch.wait(nap.max(TRY_PAUSE))?;
            if patience.beat_is_due() {
                self.beat(&asker, request.fence)?;
            }
        }
    }

    /// Waits until a decision is settled; with a fence, the wait keeps only that grant alive.
    pub fn wait_for_decision(
        &mut self,
        asker: &Asker,
        fence: Option<Fence>,
        id: &str,
        timeout: Option<Millis>,
    ) -> Result<Value, Refusal> {
        let mut watch = self.store.watch()?;
        let mut patience = Patience::start(timeout, self.beat_every(asker)?);
        loop {
            let answer = self.query(asker, Query::Decision { id: id.to_owned() })?;
            let decision = answer.get("decision").cloned().unwrap_or_default();
            match decision.get("state").and_then(Value::as_str) {
                Some("open") => {}
                Some("expired") => {
                    return Err(Refusal::new(
                        Code::TimedOut,
                        format!("{id} expired without an answer"),
                    )
                    .hint("ask again, with a default or a later deadline")
                    .detail("decision", decision));
                }
                _ => return Ok(answer),
            }
            let deadline =
                decision.get("expires_at").and_then(Value::as_str).and_then(Timestamp::parse);
            let Some(nap) = patience.nap(self.until(deadline)?) else {
                return Err(Refusal::new(Code::TimedOut, format!("{id} was not answered in time"))
                    .hint(format!("it stays open; wait again with `comity decision wait {id}`"))
                    .detail("decision", decision));
            };
            watch.wait(nap)?;
            if patience.beat_is_due() {
                self.beat(asker, fence)?;
            }
        }
    }

    /// Returns the time until a deadline by the store's clock, bounded by the usual look.
    fn until(&mut self, deadline: Option<Timestamp>) -> Result<Duration, Refusal> {
        let Some(deadline) = deadline else { return Ok(LOOK_EVERY) };
        let mut tx = self.store.read()?;
        let now = tx.moment()?.now;
        Ok(duration(deadline.since(now)).clamp(Duration::from_millis(1), LOOK_EVERY))
    }

    /// Calls back for every event after a place, then for each new one, until told to stop.
    pub fn tail(
        &mut self,
        asker: &Asker,
        from: Option<u64>,
        on_event: &mut dyn FnMut(&Value) -> bool,
    ) -> Result<(), Refusal> {
        let mut watch = self.store.watch()?;
        let mut after = match from {
            Some(seq) => Seq(seq.saturating_sub(1)),
            None => {
                let mut tx = self.store.read()?;
                tx.head()?.seq
            }
        };
        loop {
            let events = {
                let mut tx = self.store.read()?;
                let query = EventQuery {
                    repo: Some(asker.repo.clone()),
                    after,
                    limit: limits::PAGE_MAX,
                    ..EventQuery::default()
                };
                tx.events(&query)?
            };
            for event in &events {
                after = event.seq;
                if !on_event(&view::event(event)) {
                    return Ok(());
                }
            }
            if events.is_empty() {
                watch.wait(LOOK_EVERY)?;
            }
        }
    }

    /// How often a waiter must be heard of so that none of its grants runs out.
    fn beat_every(&mut self, asker: &Asker) -> Result<Duration, Refusal> {
        let mut tx = self.store.read()?;
        let moment = tx.moment()?;
        let head = tx.head()?;
        let mut facts = Facts::at(moment, head);
        let repo = &asker.repo;
        crate::batch::settle(tx.as_mut(), &mut facts, |facts| facts.counters(repo))?;
        let shortest = shortest_ttl(tx.as_mut(), &mut facts, &asker.actor)?;
        let quarter = shortest.map_or(LOOK_EVERY, |ttl| duration(ttl) / 4);
        Ok(quarter.clamp(BEAT_MIN, LOOK_EVERY))
    }

    /// Waiting counts as a sign of life.
    fn beat(&mut self, asker: &Asker, fence: Option<Fence>) -> Result<(), Refusal> {
        let beaten = self.execute(Request {
            actor: asker.actor.clone(),
            repo: asker.repo.clone(),
            fence,
            key: None,
            host: None,
            workspace: None,
            command: Command::Heartbeat,
        });
        match beaten {
            // Whoever is not registered, or whose grant has ended, has nothing to keep alive.
            Err(refusal) if !matches!(refusal.code, Code::RoleForbidden | Code::StaleFence) => {
                Err(refusal)
            }
            _ => Ok(()),
        }
    }
}

/// Returns the time until the first lease in the way could run out.
fn until_free(refusal: &Refusal) -> Option<Duration> {
    let conflicts = refusal.details.get("conflicts")?.as_array()?;
    let ends = conflicts.iter().filter_map(|conflict| {
        let held = conflict.get("held")?;
        let expires = Timestamp::parse(held.get("expires_at")?.as_str()?)?;
        let heartbeat = Timestamp::parse(held.get("heartbeat_at")?.as_str()?)?;
        // Its whole life is the safe bound: the store's clock, not ours, says when it began.
        Some(duration(expires.since(heartbeat)))
    });
    ends.min().map(|life| (life / 8).clamp(Duration::from_millis(100), Duration::from_secs(5)))
}

fn in_vain(refusal: &Refusal, timeout: Millis) -> Refusal {
    let mut out =
        Refusal::new(Code::TimedOut, format!("waited {timeout} in vain: {}", refusal.message));
    out.details = refusal.details.clone();
    out
}
