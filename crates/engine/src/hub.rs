//! The hub of a started service: one thread reads each new event once and wakes those who wait for it. While nobody
//! waits it reads nothing.

use crate::claim_wait::until_next_expiry;
use crate::readers::Readers;
use crate::stream::{Sink, Stop};
use crate::view;
use crate::writer::{is_service_thread, shielded, spawn, stopped};
use comity_api::EventView;
use comity_core::chain::Stored;
use comity_core::ids::Seq;
use comity_core::limits::PAGE_MAX;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_store::{EventQuery, ReadTx, Reader, StoreError, Watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the hub sleeps at the most when nothing is committed. It bounds how late a deadline or a stop is noticed.
const NAP_MAX: Duration = Duration::from_millis(500);
/// How long the hub pauses when the store cannot be read.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How long after an expiry the hub looks for the next one: those who woke apply the first one meanwhile.
const EXPIRY_PAUSE: Duration = Duration::from_secs(1);
/// Those who may wait at once.
const WAITERS_MAX: usize = 10_000;

/// Why a waiter wakes.
#[derive(Clone, Debug, PartialEq)]
pub enum Woken {
    /// An event came that it waits for.
    Event,
    TimeUp,
    /// The wait ended: the service has stopped, too many wait, or the store cannot be read.
    Failed(Refusal),
}

/// Tells whether an event is one that a waiter waits for.
pub type Interest = Box<dyn Fn(&Stored) -> bool + Send>;
/// What a waiter does when it wakes. It runs on the hub's thread, or at once on the caller's; it must be short.
pub type Wake = Box<dyn FnOnce(Woken) + Send>;
/// What somebody waits for: the first event after `since` that is of interest, or a time.
pub(crate) struct Wait {
    pub since: Seq,
    pub until: Instant,
    pub interest: Interest,
    /// Whether it also wakes when something expires.
    pub at_expiry: bool,
}

struct Waiter {
    wait: Wait,
    wake: Wake,
}

struct Follower {
    /// The last event that the sink was shown.
    after: Seq,
    /// It runs on the hub's thread; what is past already, on the caller's.
    sink: Sink<EventView>,
    stop: Stop,
}

impl Follower {
    /// Shows what is new to the sink; tells whether the sink wants more.
    fn show(&mut self, events: &[EventView]) -> bool {
        let mut more = false;
        shielded(|| {
            more = events.iter().all(|event| {
                let is_new = event.seq > self.after.0;
                self.after = self.after.max(Seq(event.seq));
                !is_new || (!self.stop.is_told() && (self.sink)(event))
            });
        });
        more
    }
}

#[derive(Default)]
struct State {
    /// The last event that waiters and sinks were shown.
    seen: Seq,
    waiters: Vec<Waiter>,
    followers: Vec<Follower>,
    /// When something may expire next; none is not known.
    alarm: Option<Instant>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiters.is_empty() && self.followers.is_empty()
    }

    fn minds_expiry(&self) -> bool {
        self.waiters.iter().any(|waiter| waiter.wait.at_expiry)
    }
}

#[derive(Default)]
struct Shared {
    policy: Policy,
    state: Mutex<State>,
    /// Somebody waits again, or the hub was told to stop.
    called: Condvar,
    stop: AtomicBool,
}

pub(crate) struct Hub {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Hub {
    pub(crate) fn start(
        watch: Box<dyn Watch>,
        mut reader: Box<dyn Reader>,
        readers: Arc<Readers>,
        policy: Policy,
    ) -> Result<Hub, Refusal> {
        let shared = Arc::new(Shared { policy, ..Shared::default() });
        shared.lock().seen = reader.read()?.head()?.seq;
        let of_thread = shared.clone();
        let thread = spawn("comity-hub", move || of_thread.run(watch, reader.as_mut()))?;
        Ok(Hub { shared, readers, thread: Mutex::new(Some(thread)) })
    }

    /// Wakes once: when what is waited for comes, or when the wait cannot go on.
    pub(crate) fn wait(&self, mut wait: Wait, wake: Wake) {
        loop {
            {
                let mut state = self.shared.lock();
                let refusal = self.shared.refusal(state.waiters.len());
                if refusal.is_none() && wait.since >= state.seen {
                    state.waiters.push(Waiter { wait, wake });
                    self.shared.called.notify_all();
                    return;
                }
                drop(state);
                if let Some(refusal) = refusal {
                    return wake(Woken::Failed(refusal));
                }
            }
            match self.events_after(wait.since) {
                Ok(missed) if missed.iter().any(&wait.interest) => return wake(Woken::Event),
                Ok(missed) => wait.since = missed.last().map_or(wait.since, |last| last.seq),
                Err(refusal) => return wake(Woken::Failed(refusal)),
            }
        }
    }

    /// Hands every event after `since` to a sink, in order, until the sink wants no more or the service stops.
    pub(crate) fn follow(
        &self,
        after: Seq,
        sink: Sink<EventView>,
        stop: Stop,
    ) -> Result<(), Refusal> {
        let mut follower = Follower { after, sink, stop };
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(refusal) = self.shared.refusal(state.followers.len()) {
                    return Err(refusal);
                }
                if follower.after >= state.seen {
                    state.followers.push(follower);
                    self.shared.called.notify_all();
                    return Ok(());
                }
            }
            let missed = self.events_after(follower.after)?;
            if !follower.show(&views(&missed)) {
                return Ok(());
            }
        }
    }

    fn events_after(&self, since: Seq) -> Result<Vec<Stored>, Refusal> {
        let mut reader = self.readers.take();
        let mut tx = reader.read()?;
        Ok(page(tx.as_mut(), since)?)
    }

    /// Wakes everybody and ends the thread. On a thread of a service it only tells the thread to end.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // With the lock, so that the thread is not between its look and its sleep.
        let state = self.shared.lock();
        self.shared.called.notify_all();
        drop(state);
        if is_service_thread() {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        drop(thread.take().map(JoinHandle::join));
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop();
    }
}

fn views(events: &[Stored]) -> Vec<EventView> {
    events.iter().map(view::event).collect()
}

fn page(tx: &mut dyn ReadTx, after: Seq) -> Result<Vec<Stored>, StoreError> {
    tx.events(&EventQuery { after, limit: PAGE_MAX, ..EventQuery::default() })
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Says why nobody else can wait, beside so many who do.
    fn refusal(&self, waiting: usize) -> Option<Refusal> {
        if self.is_stopped() {
            return Some(stopped());
        }
        let too_many = || format!("{WAITERS_MAX} callers are waiting already");
        (waiting >= WAITERS_MAX).then(|| Refusal::new(Code::LimitExceeded, too_many()))
    }

    fn run(&self, mut watch: Box<dyn Watch>, reader: &mut dyn Reader) {
        let mut has_dozed = true;
        while !self.is_stopped() {
            let is_idle = self.lock().is_idle();
            let turn = match (is_idle, std::mem::replace(&mut has_dozed, is_idle)) {
                (true, _) => self.doze(watch.as_mut()),
                (false, true) => self.skip_unwanted(reader),
                (false, false) => self.attend(watch.as_mut(), reader),
            };
            if turn.is_err() {
                // The store may come back; deadlines are kept meanwhile.
                std::thread::sleep(RETRY_PAUSE.min(self.nap()));
            }
        }
        self.end_waits(|_| true, &Woken::Failed(stopped()));
        self.end_followers(|_| true);
    }

    /// Drops followers; who reads the other end of such a sink learns that nothing more comes.
    fn end_followers(&self, is_meant: impl Fn(&Follower) -> bool) {
        let ended: Vec<Follower> =
            self.lock().followers.extract_if(.., |follower| is_meant(follower)).collect();
        shielded(|| drop(ended));
    }

    fn attend(&self, watch: &mut dyn Watch, reader: &mut dyn Reader) -> Result<(), StoreError> {
        let shown = self.show_new_events(reader);
        self.end_followers(|follower| follower.stop.is_told());
        self.end_waits(|waiter| waiter.wait.until <= Instant::now(), &Woken::TimeUp);
        let rung = shown.and_then(|()| self.ring(reader));
        rung.and_then(|()| watch.wait(self.nap()).map(drop))
    }

    /// Wakes those who wait for an expiry when something has expired. One look serves all of them.
    fn ring(&self, reader: &mut dyn Reader) -> Result<(), StoreError> {
        let now = Instant::now();
        {
            let state = self.lock();
            if !state.minds_expiry() || state.alarm.is_some_and(|at| at > now) {
                return Ok(());
            }
        }
        let left = until_next_expiry(reader.read()?.as_mut(), &self.policy)
            .map_err(|refusal| StoreError::other("cannot read the store", refusal.message))?;
        self.lock().alarm = Some(now + if left.is_zero() { EXPIRY_PAUSE } else { left });
        if left.is_zero() {
            self.end_waits(|waiter| waiter.wait.at_expiry, &Woken::Event);
        }
        Ok(())
    }

    /// Sleeps while nobody waits. What the watch heard is taken from it now and then, so that it does not pile up.
    fn doze(&self, watch: &mut dyn Watch) -> Result<(), StoreError> {
        let alone = |state: &mut State| state.is_idle() && !self.is_stopped();
        let slept = self.called.wait_timeout_while(self.lock(), NAP_MAX, alone);
        drop(slept.unwrap_or_else(PoisonError::into_inner));
        watch.wait(Duration::ZERO).map(drop)
    }

    /// Skips what was committed while nobody waited, unless somebody asks for it now.
    fn skip_unwanted(&self, reader: &mut dyn Reader) -> Result<(), StoreError> {
        let head = reader.read()?.head()?.seq;
        let mut state = self.lock();
        let waiters = state.waiters.iter().map(|waiter| waiter.wait.since);
        let followers = state.followers.iter().map(|follower| follower.after);
        let wanted_after = waiters.chain(followers).min().unwrap_or(head);
        state.seen = state.seen.max(wanted_after.min(head));
        state.alarm = None;
        Ok(())
    }

    fn nap(&self) -> Duration {
        let now = Instant::now();
        let state = self.lock();
        let alarm = state.alarm.filter(|_| state.minds_expiry());
        let times = state.waiters.iter().map(|waiter| waiter.wait.until).chain(alarm);
        let left = times.map(|at| at.saturating_duration_since(now)).min();
        left.unwrap_or(NAP_MAX).min(NAP_MAX)
    }

    /// Reads what was committed since the last look; each waiter is woken once, each sink sees every event.
    fn show_new_events(&self, reader: &mut dyn Reader) -> Result<(), StoreError> {
        loop {
            let seen = self.lock().seen;
            let events = page(reader.read()?.as_mut(), seen)?;
            let Some(last) = events.last() else { return Ok(()) };
            let mut followers = {
                let mut state = self.lock();
                state.seen = last.seq;
                state.alarm = None;
                std::mem::take(&mut state.followers)
            };
            // Without the lock: a sink may call the service.
            if !followers.is_empty() {
                let views = views(&events);
                followers.retain_mut(|follower| follower.show(&views));
                self.lock().followers.append(&mut followers);
            }
            let is_meant = |waiter: &Waiter| {
                let wait = &waiter.wait;
                events.iter().any(|event| event.seq > wait.since && (wait.interest)(event))
            };
            self.end_waits(is_meant, &Woken::Event);
        }
    }

    /// Takes the waiters that are meant out first, so that they can wait again from their own call.
    fn end_waits(&self, is_meant: impl Fn(&Waiter) -> bool, why: &Woken) {
        let mut state = self.lock();
        let all = std::mem::take(&mut state.waiters);
        let (meant, others): (Vec<Waiter>, Vec<Waiter>) = all.into_iter().partition(is_meant);
        state.waiters = others;
        drop(state);
        for waiter in meant {
            shielded(|| (waiter.wake)(why.clone()));
        }
    }
}
