//! The hub of a started service: one thread reads each new event once and wakes those who wait for it. While nobody
//! waits it reads nothing.

use crate::readers::Readers;
use crate::view;
use crate::writer::{is_service_thread, shielded, spawn, stopped};
use comity_api::EventView;
use comity_core::chain::Stored;
use comity_core::ids::Seq;
use comity_core::limits::PAGE_MAX;
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
/// Where events go; it answers whether it wants more. It runs on the hub's thread (what is past already: on the
/// caller's) and must not block.
pub type Sink = Box<dyn FnMut(&EventView) -> bool + Send>;

struct Waiter {
    since: Seq,
    interest: Interest,
    until: Instant,
    wake: Wake,
}

struct Follower {
    /// The last event that the sink was shown.
    after: Seq,
    sink: Sink,
}

impl Follower {
    /// Shows what is new to the sink; tells whether the sink wants more.
    fn show(&mut self, events: &[EventView]) -> bool {
        let mut more = false;
        shielded(|| {
            more = events.iter().all(|event| {
                let is_new = event.seq > self.after.0;
                self.after = self.after.max(Seq(event.seq));
                !is_new || (self.sink)(event)
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
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiters.is_empty() && self.followers.is_empty()
    }
}

#[derive(Default)]
struct Shared {
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
    ) -> Result<Hub, Refusal> {
        let shared = Arc::new(Shared::default());
        shared.lock().seen = reader.read()?.head()?.seq;
        let of_thread = shared.clone();
        let thread = spawn("comity-hub", move || of_thread.run(watch, reader.as_mut()))?;
        Ok(Hub { shared, readers, thread: Mutex::new(Some(thread)) })
    }

    /// Wakes once: at the first event after `since` that is of interest, at a time, or when the wait cannot go on.
    pub(crate) fn wait(&self, since: Seq, until: Instant, interest: Interest, wake: Wake) {
        let mut since = since;
        loop {
            {
                let mut state = self.shared.lock();
                let refusal = self.shared.refusal(state.waiters.len());
                if refusal.is_none() && since >= state.seen {
                    state.waiters.push(Waiter { since, interest, until, wake });
                    self.shared.called.notify_all();
                    return;
                }
                drop(state);
                if let Some(refusal) = refusal {
                    return wake(Woken::Failed(refusal));
                }
            }
            match self.events_after(since) {
                Ok(missed) if missed.iter().any(&interest) => return wake(Woken::Event),
                Ok(missed) => since = missed.last().map_or(since, |last| last.seq),
                Err(refusal) => return wake(Woken::Failed(refusal)),
            }
        }
    }

    /// Hands every event after `since` to a sink, in order, until the sink wants no more or the service stops.
    pub(crate) fn follow(&self, after: Seq, sink: Sink) -> Result<(), Refusal> {
        let mut follower = Follower { after, sink };
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

    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
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
        // Who reads the other end of a sink learns that nothing more comes.
        let ended = std::mem::take(&mut self.lock().followers);
        shielded(|| drop(ended));
    }

    fn attend(&self, watch: &mut dyn Watch, reader: &mut dyn Reader) -> Result<(), StoreError> {
        let shown = self.show_new_events(reader);
        self.end_waits(|waiter| waiter.until <= Instant::now(), &Woken::TimeUp);
        shown.and_then(|()| watch.wait(self.nap()).map(drop))
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
        let waiters = state.waiters.iter().map(|waiter| waiter.since);
        let followers = state.followers.iter().map(|follower| follower.after);
        let wanted_after = waiters.chain(followers).min().unwrap_or(head);
        state.seen = state.seen.max(wanted_after.min(head));
        Ok(())
    }

    fn nap(&self) -> Duration {
        let now = Instant::now();
        let left = |waiter: &Waiter| waiter.until.saturating_duration_since(now);
        self.lock().waiters.iter().map(left).min().unwrap_or(NAP_MAX).min(NAP_MAX)
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
                std::mem::take(&mut state.followers)
            };
            // Without the lock: a sink may call the service.
            if !followers.is_empty() {
                let views = views(&events);
                followers.retain_mut(|follower| follower.show(&views));
                self.lock().followers.append(&mut followers);
            }
            let is_meant = |waiter: &Waiter| {
                events.iter().any(|event| event.seq > waiter.since && (waiter.interest)(event))
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
