//! Waiting for what other processes do, without burning time: woken by their commits.
//!
//! A started service holds no thread for a waiter: the hub calls it back. Inline, the caller's own thread sleeps.

use crate::answer::{Reply, shortest_ttl};
use crate::batch::settle;
use crate::caller::Caller;
use crate::hub::{Interest, Wait, Woken};
use crate::observer::Observer;
use crate::service::{Service, WeakService};
use crate::stream::{Sink, Stop};
use crate::view;
use crate::writer::{Done, Owed, check_may_wait, is_busy, stopped};
use comity_api::{DecisionAnswer, EventView};
use comity_core::chain::Stored;
use comity_core::command::{Command, Request, RunChange};
use comity_core::decide::find_decision;
use comity_core::decision::{Decision, DecisionState};
use comity_core::facts::Facts;
use comity_core::hint::{op, say};
use comity_core::ids::Seq;
use comity_core::limits;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::run_of;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::decision as decision_view;
use comity_store::EventQuery;
use serde_json::json;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Longest sleep between two looks, whatever the wait; also how often a waiter is heard of at least.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Shortest sleep between two tries for a lease, so that a busy store is not hammered.
pub(crate) const TRY_PAUSE: Duration = Duration::from_millis(20);
/// How long one who found the queue full stays away.
const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// Shortest time between two signs of life of a waiter.
const BEAT_MIN: Duration = Duration::from_millis(250);

/// What is called with the answer to a question that was waited for.
pub type Settled = Box<dyn FnOnce(Result<DecisionAnswer, Refusal>) + Send>;

fn duration(time: Millis) -> Duration {
    Duration::from_millis(u64::try_from(time.ms()).unwrap_or(0))
}

/// A wait with an end, which keeps the waiter's grants alive.
pub(crate) struct Patience {
    until: Instant,
    beat_every: Duration,
    next_beat: Instant,
}

impl Patience {
    pub(crate) fn start(timeout: Option<Millis>, beat_every: Duration) -> Patience {
        let now = Instant::now();
        let timeout = timeout.unwrap_or(limits::WAIT_MAX).min(limits::WAIT_MAX);
        Patience { until: now + duration(timeout), beat_every, next_beat: now + beat_every }
    }

    /// Returns how long to sleep, or none when the time is up.
    pub(crate) fn nap(&self, at_most: Duration) -> Option<Duration> {
        let now = Instant::now();
        let left = self.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        let beat = self.next_beat.saturating_duration_since(now);
        Some(left.min(beat.max(Duration::from_millis(1))).min(at_most))
    }

    pub(crate) fn beat_is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next_beat {
            return false;
        }
        self.next_beat = now + self.beat_every;
        true
    }
}

/// What a look at a question found.
enum Look {
    Settled(Box<DecisionAnswer>),
    /// Still open: the place in the log of the look, and how long to sleep at the most.
    Open(Box<Decision>, Seq, Duration),
}

impl Service {
    /// Runs a command that may run into a lease, and tries again until the time is up.
    pub fn execute_waiting(
        &self,
        request: &Request,
        observer: Option<&Arc<dyn Observer>>,
        timeout: Millis,
    ) -> Result<Reply, Refusal> {
        if self.hub().is_some() {
            check_may_wait()?;
            let (reply, answer) = sync_channel(1);
            let done: Done = Box::new(move |outcome| drop(reply.send(outcome)));
            self.submit_waiting(request.clone(), observer.cloned(), timeout, done)?;
            return answer.recv().map_err(|_| stopped())?;
        }
        let caller = Caller::of(request);
        let mut watch = self.watch()?;
        let mut patience = Patience::start(Some(timeout), self.beat_every(&caller)?);
        loop {
            let seen = self.with_lease_seen(request.clone(), observer)?;
            let refusal = match self.execute(seen) {
                Err(refusal) if refusal.code == Code::LeaseHeld => refusal,
                other => return other,
            };
            let Some(nap) = patience.nap(until_free(&refusal).unwrap_or(LOOK_EVERY)) else {
                return Err(in_vain(&refusal, timeout));
            };
            watch.wait(nap.max(TRY_PAUSE))?;
            if patience.beat_is_due() {
                self.beat(&caller)?;
            }
        }
    }

    /// Does the same without a thread: `done` is called when the command was accepted, refused for another reason, or
    /// the time is up.
    pub fn submit_waiting(
        &self,
        request: Request,
        observer: Option<Arc<dyn Observer>>,
        timeout: Millis,
        done: Done,
    ) -> Result<(), Refusal> {
        let caller = Caller::of(&request);
        let patience = Patience::start(Some(timeout), self.beat_every(&caller)?);
        let (service, done) = (self.weak(), Owed::new(done));
        LeaseWait { service, caller, request, observer, timeout, patience, done }.attempt();
        Ok(())
    }

    /// Waits until a decision is settled; with a fence, the wait keeps only that grant alive.
    pub fn wait_for_decision(
        &self,
        caller: &Caller,
        id: &str,
        timeout: Option<Millis>,
    ) -> Result<DecisionAnswer, Refusal> {
        if self.hub().is_some() {
            check_may_wait()?;
            let (reply, answer) = sync_channel(1);
            let done: Settled = Box::new(move |outcome| drop(reply.send(outcome)));
            self.when_settled(caller, id, timeout, done)?;
            return answer.recv().map_err(|_| stopped())?;
        }
        let mut watch = self.watch()?;
        let mut patience = Patience::start(timeout, self.beat_every(caller)?);
        self.run_waits(caller, id);
        loop {
            let (open, at_most) = match self.look(caller, id)? {
                Look::Settled(answer) => return Ok(*answer),
                Look::Open(open, _, at_most) => (open, at_most),
            };
            let Some(nap) = patience.nap(at_most) else {
                self.run_waits_no_more(caller);
                return Err(unanswered(id, &open));
            };
            watch.wait(nap)?;
            if patience.beat_is_due() {
                self.beat(caller)?;
            }
        }
    }

    /// Does the same without a thread: `done` is called when the decision is settled or the time is up.
    pub fn when_settled(
        &self,
        caller: &Caller,
        id: &str,
        timeout: Option<Millis>,
        done: Settled,
    ) -> Result<(), Refusal> {
        let patience = Patience::start(timeout, self.beat_every(caller)?);
        self.run_waits(caller, id);
        let (service, caller, id) = (self.weak(), caller.clone(), id.to_owned());
        let (again, waiter) = (self.weak(), caller.clone());
        let done: Settled = Box::new(move |outcome| {
            if outcome.is_err()
                && let Some(service) = again.upgrade()
            {
                service.run_waits_no_more(&waiter);
            }
            done(outcome);
        });
        let done = Owed::new(done);
        DecisionWait { service, caller, id, patience, done }.attempt();
        Ok(())
    }

    /// An agent in a run that waits for an answer uses no time: its run waits, too. Where the run is in no state for
    /// that, the agent waits all the same.
    fn run_waits(&self, caller: &Caller, id: &str) {
        if let Some(run) = run_of(&caller.actor) {
            let (id, decision) = (run.to_string(), id.to_owned());
            let change = RunChange::Wait { decision };
            self.submit(caller.request(Command::RunChange { id, change }), Box::new(drop));
        }
    }

    fn run_waits_no_more(&self, caller: &Caller) {
        if let Some(run) = run_of(&caller.actor) {
            let (id, change) = (run.to_string(), RunChange::Progress(Box::default()));
            self.submit(caller.request(Command::RunChange { id, change }), Box::new(drop));
        }
    }

    fn look(&self, caller: &Caller, id: &str) -> Result<Look, Refusal> {
        self.read(caller, |reader| {
            let repo = &caller.repo;
            let found = reader.settled(|facts| find_decision(facts, repo, id).cloned())?;
            match found.state {
                DecisionState::Open => {}
                DecisionState::Expired => return Err(expired(id, &found)),
                DecisionState::Answered | DecisionState::Defaulted => {
                    let decision = decision_view(&found);
                    return Ok(Look::Settled(Box::new(DecisionAnswer { decision })));
                }
            }
            let (head, now) = (reader.facts.head.seq, reader.facts.moment.now);
            let left =
                |at: Timestamp| duration(at.since(now)).clamp(Duration::from_millis(1), LOOK_EVERY);
            let at_most = found.expires_at.map_or(LOOK_EVERY, left);
            Ok(Look::Open(Box::new(found), head, at_most))
        })
    }

    /// Hands every event after a place to `sink`, then each new one, on the caller's thread.
    pub(crate) fn tail(
        &self,
        caller: &Caller,
        after: Seq,
        sink: &mut Sink<EventView>,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        let mut watch = self.watch()?;
        stop.wakes(watch.stopper());
        let mut after = after;
        while !stop.is_told() {
            let query = EventQuery {
                repo: Some(caller.repo.clone()),
                after,
                limit: limits::PAGE_MAX,
                ..EventQuery::default()
            };
            let events = self.read_stored(|tx| Ok(tx.events(&query)?))?;
            for event in &events {
                after = event.seq;
                if stop.is_told() || !sink(&view::event(event)) {
                    return Ok(());
                }
            }
            if events.is_empty() {
                watch.wait(LOOK_EVERY)?;
            }
        }
        Ok(())
    }

    /// Hands every event after a place to `sink`, on the hub's thread.
    pub(crate) fn follow(
        &self,
        caller: &Caller,
        after: Seq,
        mut sink: Sink<EventView>,
        stop: Stop,
    ) -> Result<(), Refusal> {
        let hub = self.hub().ok_or_else(not_started)?;
        let repo = caller.repo.to_string();
        let own = move |event: &EventView| event.repo != repo || sink(event);
        hub.follow(after, Box::new(own), stop)
    }

    /// How often a waiter must be heard of so that none of its grants runs out.
    pub fn beat_every(&self, caller: &Caller) -> Result<Duration, Refusal> {
        self.read_stored(|tx| {
            let (moment, head) = (tx.moment()?, tx.head()?);
            let mut facts = Facts::at(moment, head);
            settle(tx, &mut facts, |facts| facts.counters(&caller.repo))?;
            let shortest = shortest_ttl(tx, &mut facts, &caller.actor)?;
            let quarter = shortest.map_or(LOOK_EVERY, |ttl| duration(ttl) / 4);
            Ok(quarter.clamp(BEAT_MIN, LOOK_EVERY))
        })
    }

    fn beat_request(&self, caller: &Caller) -> Request {
        Request { key: None, ..caller.request(Command::Heartbeat) }
    }

    /// Waiting counts as a sign of life.
    pub(crate) fn beat(&self, caller: &Caller) -> Result<(), Refusal> {
        match self.execute(self.beat_request(caller)) {
            // Whoever is not registered, or whose grant has ended, has nothing to keep alive.
            Err(refusal) if !matches!(refusal.code, Code::RoleForbidden | Code::StaleFence) => {
                Err(refusal)
            }
            _ => Ok(()),
        }
    }

    /// Gives signs of life of a caller until somebody sends on `stop` or drops its other end. Blocks the caller's thread. A
    /// store that cannot be reached is tried again.
    pub fn keep_alive(&self, caller: &Caller, stop: &Receiver<()>) {
        loop {
            let pause = self.beat_every(caller).unwrap_or(BEAT_MIN);
            if !matches!(stop.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            let _ = self.beat(caller);
        }
    }

    /// The same for a waiter without a thread: a beat that finds no place in the queue is left out.
    pub(crate) fn beat_later(&self, caller: &Caller) {
        self.submit(self.beat_request(caller), Box::new(drop));
    }
}

/// One who waits for an answer, between two looks.
struct DecisionWait {
    service: WeakService,
    caller: Caller,
    id: String,
    patience: Patience,
    done: Owed<DecisionAnswer>,
}

impl DecisionWait {
    fn attempt(mut self) {
        let Some(service) = self.service.upgrade() else {
            return self.done.answer(Err(stopped()));
        };
        if self.patience.beat_is_due() {
            service.beat_later(&self.caller);
        }
        let (open, since, at_most) = match service.look(&self.caller, &self.id) {
            Ok(Look::Open(open, since, at_most)) => (open, since, at_most),
            Ok(Look::Settled(answer)) => return self.done.answer(Ok(*answer)),
            Err(refusal) => return self.done.answer(Err(refusal)),
        };
        let Some(nap) = self.patience.nap(at_most) else {
            return self.done.answer(Err(unanswered(&self.id, &open)));
        };
        let key = open.id.to_string();
        let repo = self.caller.repo.to_string();
        let interest: Interest = Box::new(move |event| event.repo == repo && settles(event, &key));
        let Some(hub) = service.hub() else { return self.done.answer(Err(not_started())) };
        let wake = Box::new(move |woken| match woken {
            Woken::Event | Woken::TimeUp => self.attempt(),
            Woken::Failed(refusal) => self.done.answer(Err(refusal)),
        });
        let until = Instant::now() + nap;
        hub.wait(Wait { since, until, interest, at_expiry: false }, wake);
    }
}

/// Tells whether an event settles a decision.
fn settles(event: &Stored, id: &str) -> bool {
    // Reading the whole event for each of many waiters would take long; most can be told by a look at the text.
    let names_it = || {
        let text = std::str::from_utf8(event.body.as_deref().unwrap_or_default());
        text.is_ok_and(|text| text.contains(id))
    };
    matches!(event.event.as_str(), "decision_answered" | "decision_expired")
        && names_it()
        && view::event(event).text("decision") == Some(id)
}

/// One who waits for a lease, between two tries.
struct LeaseWait {
    service: WeakService,
    caller: Caller,
    request: Request,
    observer: Option<Arc<dyn Observer>>,
    timeout: Millis,
    patience: Patience,
    done: Owed<Reply>,
}

/// Events after which a lease may be free.
const FREEING: [&str; 4] = ["lease_released", "locks_reclaimed", "status_changed", "released"];

impl LeaseWait {
    fn attempt(mut self) {
        let Some(service) = self.service.upgrade() else {
            return self.done.answer(Err(stopped()));
        };
        if self.patience.beat_is_due() {
            service.beat_later(&self.caller);
        }
        let since = match service.read_stored(|tx| Ok(tx.head()?.seq)) {
            Ok(since) => since,
            Err(refusal) => return self.done.answer(Err(refusal)),
        };
        let request = match service.with_lease_seen(self.request.clone(), self.observer.as_ref()) {
            Ok(request) => request,
            Err(refusal) => return self.done.answer(Err(refusal)),
        };
        service.submit(request, Box::new(move |outcome| self.tried(since, outcome)));
    }

    fn tried(self, since: Seq, outcome: Result<Reply, Refusal>) {
        let (refusal, at_most) = match outcome {
            Err(refusal) if refusal.code == Code::LeaseHeld => {
                let at_most = until_free(&refusal).unwrap_or(LOOK_EVERY);
                (refusal, at_most)
            }
            // Many may be woken by one release; those who find no place in the queue come again.
            Err(refusal) if is_busy(&refusal) => (refusal, BUSY_PAUSE),
            other => return self.done.answer(other),
        };
        let Some(nap) = self.patience.nap(at_most) else {
            return self.done.answer(Err(in_vain(&refusal, self.timeout)));
        };
        let repo = self.caller.repo.to_string();
        let interest: Interest = Box::new(move |event: &Stored| {
            event.repo == repo && FREEING.contains(&event.event.as_str())
        });
        let Some(service) = self.service.upgrade() else {
            return self.done.answer(Err(stopped()));
        };
        let Some(hub) = service.hub() else { return self.done.answer(Err(not_started())) };
        let until = Instant::now() + nap.max(TRY_PAUSE);
        let wake = Box::new(move |woken| match woken {
            Woken::Event | Woken::TimeUp => self.attempt(),
            Woken::Failed(refusal) => self.done.answer(Err(refusal)),
        });
        hub.wait(Wait { since, until, interest, at_expiry: false }, wake);
    }
}

pub(crate) fn not_started() -> Refusal {
    Refusal::new(Code::Internal, "BUG: an inline service has no hub")
}

fn expired(id: &str, decision: &Decision) -> Refusal {
    Refusal::new(Code::TimedOut, format!("{id} expired without an answer"))
        .hint("ask again, with a default or a later deadline")
        .detail("decision", json!(decision_view(decision)))
}

fn unanswered(id: &str, decision: &Decision) -> Refusal {
    Refusal::new(Code::TimedOut, format!("{id} was not answered in time"))
        .hint(say("it stays open; wait again with ").quote(op("decision.wait").id(id)))
        .detail("decision", json!(decision_view(decision)))
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

/// Says that the time is up, with what stood in the way and what can be done about that.
pub(crate) fn in_vain(refusal: &Refusal, timeout: Millis) -> Refusal {
    let mut out =
        Refusal::new(Code::TimedOut, format!("timed out after {timeout}: {}", refusal.message))
            .hint(refusal.next_step());
    out.details = refusal.details.clone();
    out
}
