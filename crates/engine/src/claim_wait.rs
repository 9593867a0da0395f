//! Waiting for a task to become ready: woken by commits and by what expires next.
//!
//! A started service holds no thread for a waiter. The hub wakes it, and one thread of the service, which may wait for git
//! and for the writer, tries for all of them, one after the other.

use crate::answer::Reply;
use crate::batch::settle;
use crate::caller::Caller;
use crate::hub::{Wait, Woken};
use crate::observer::Answered;
use crate::read::Reader;
use crate::service::{Service, WeakService};
use crate::wait::{LOOK_EVERY, Patience, TRY_PAUSE, in_vain, not_started};
use crate::writer::{Owed, check_may_wait, shielded, stopped};
use comity_core::chain::Stored;
use comity_core::command::{ClaimWish, Command};
use comity_core::decide::{decide, sweep};
use comity_core::facts::{Facts, Need};
use comity_core::ids::Seq;
use comity_core::limits;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_store::{EventQuery, ReadTx};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
/// Steps that free nothing: somebody has taken a task, or begins to work on it.
const TAKEN: [&str; 2] = ["\"new_status\":\"claimed\"", "\"new_status\":\"in_progress\""];
/// How exactly the next expiry is found.
const EXPIRY_STEP: Duration = Duration::from_millis(50);
/// Claims that may wait to be tried.
const TRIES_MAX: usize = 10_000;

/// What is called with a claim that was waited for. It must be short.
pub type Claimed = Box<dyn FnOnce(Result<Answered<Reply>, Refusal>) + Send>;

impl Service {
    /// Claims a task. While none is ready, this waits for one, which counts as a sign of life.
    pub fn claim_waiting(
        &self,
        caller: &Caller,
        wish: &ClaimWish,
        timeout: Millis,
    ) -> Result<Answered<Reply>, Refusal> {
        check_may_wait()?;
        if self.hub().is_some() {
            let (reply, answer) = sync_channel(1);
            let done: Claimed = Box::new(move |outcome| drop(reply.send(outcome)));
            self.claim_later(caller, wish, timeout, done)?;
            return answer.recv().map_err(|_| stopped())?;
        }
        let mut watch = self.watch()?;
        let mut patience = Patience::start(Some(timeout), self.beat_every(caller)?);
        loop {
            let mut seen = self.read_stored(|tx| Ok(tx.head()?.seq))?;
            let refusal = match self.run(caller, Command::Claim(wish.clone())) {
                Err(refusal) if may_change(&refusal) => refusal,
                done => return done,
            };
            loop {
                let policy = &self.settings().policy;
                let at_most = self.read_stored(|tx| until_next_expiry(tx, policy))?;
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

    /// Does the same without a thread: `done` is called when a task was claimed, the claim was refused for good, or the
    /// time is up.
    pub fn claim_later(
        &self,
        caller: &Caller,
        wish: &ClaimWish,
        timeout: Millis,
        done: Claimed,
    ) -> Result<(), Refusal> {
        let patience = Patience::start(Some(timeout), self.beat_every(caller)?);
        let (service, caller, wish) = (self.weak(), caller.clone(), wish.clone());
        let done = Owed::new(done);
        ClaimWait { service, caller, wish, timeout, patience, done }.queue();
        Ok(())
    }

    /// Tells whether something happened that may have made a task ready, or something has expired.
    fn may_be_ready(&self, caller: &Caller, seen: &mut Seq) -> Result<bool, Refusal> {
        let policy = &self.settings().policy;
        self.read_stored(|tx| {
            if until_next_expiry(tx, policy)?.is_zero() {
                return Ok(true);
            }
            loop {
                let repo = Some(caller.repo.clone());
                let (after, limit) = (*seen, limits::PAGE_MAX);
                let events =
                    tx.events(&EventQuery { repo, after, limit, ..EventQuery::default() })?;
                let Some(last) = events.last() else { return Ok(false) };
                *seen = last.seq;
                if events.iter().any(may_free) {
                    return Ok(true);
                }
            }
        })
    }
}

/// Returns the time until something expires by the rules, signs of life included; the longest sleep where nothing does.
pub(crate) fn until_next_expiry(tx: &mut dyn ReadTx, policy: &Policy) -> Result<Duration, Refusal> {
    let (moment, head) = (tx.moment()?, tx.head()?);
    let ahead = |by: Duration| {
        moment.now.plus(Millis::from_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    };
    let due = tx.due(ahead(LOOK_EVERY), limits::EXPIRED_MAX)?;
    if due.is_empty() {
        return Ok(LOOK_EVERY);
    }
    let mut facts = Facts::at(moment, head);
    facts.case_rule = policy.case_rule();
    let wanted: Vec<Need> = due.iter().cloned().map(Need::Entity).collect();
    tx.load(&wanted, &mut facts)?;
    facts.put_due(due);
    let mut expires = |by: Duration| -> Result<bool, Refusal> {
        facts.moment.now = ahead(by);
        Ok(!settle(tx, &mut facts, |facts| sweep(facts, policy))?.events.is_empty())
    };
    if expires(Duration::ZERO)? {
        return Ok(Duration::ZERO);
    }
    if !expires(LOOK_EVERY)? {
        return Ok(LOOK_EVERY);
    }
    let (mut early, mut late) = (Duration::ZERO, LOOK_EVERY);
    while late - early > EXPIRY_STEP {
        let middle = early + (late - early) / 2;
        if expires(middle)? {
            late = middle;
        } else {
            early = middle;
        }
    }
    Ok(late)
}

/// Tells whether an event may have made a task ready.
fn may_free(event: &Stored) -> bool {
    let name = event.event.as_str();
    // Reading the whole event for each of many waiters would take long.
    let text = std::str::from_utf8(event.body.as_deref().unwrap_or_default()).unwrap_or_default();
    MAY_FREE.contains(&name)
        && !(name == "status_changed" && TAKEN.iter().any(|step| text.contains(step)))
}

/// Refusals that time or others may turn into a claim.
fn may_change(refusal: &Refusal) -> bool {
    let status = refusal.details.get("status").and_then(serde_json::Value::as_str);
    let is_over = status.and_then(|word| Status::parse(word).ok()).is_some_and(Status::is_finished);
    matches!(refusal.code, Code::NothingReady | Code::NotReady | Code::LeaseHeld) && !is_over
}

/// One who waits for a task, between two tries.
pub(crate) struct ClaimWait {
    service: WeakService,
    caller: Caller,
    wish: ClaimWish,
    timeout: Millis,
    patience: Patience,
    done: Owed<Answered<Reply>>,
}

impl ClaimWait {
    /// Hands the claim to the thread that tries.
    fn queue(self) {
        match self.service.upgrade() {
            None => self.done.answer(Err(stopped())),
            Some(service) => match service.claimer() {
                None => self.done.answer(Err(not_started())),
                Some(claimer) => claimer.send(self),
            },
        }
    }

    /// Tries if the rules would let the claim pass now, and goes on waiting otherwise.
    fn attempt(mut self) {
        let Some(service) = self.service.upgrade() else {
            return self.done.answer(Err(stopped()));
        };
        if self.patience.beat_is_due() {
            service.beat_later(&self.caller);
        }
        let looked = service.read(&self.caller, |reader| Ok(reader.would_claim(&self.wish)));
        let (since, refusal) = match looked {
            Err(refusal) => return self.done.answer(Err(refusal)),
            Ok((since, Err(refusal))) if may_change(&refusal) => (since, refusal),
            Ok((since, _)) => match service.run(&self.caller, Command::Claim(self.wish.clone())) {
                Err(refusal) if may_change(&refusal) => (since, refusal),
                done => return self.done.answer(done),
            },
        };
        let Some(nap) = self.patience.nap(LOOK_EVERY) else {
            return self.done.answer(Err(in_vain(&refusal, self.timeout)));
        };
        let Some(hub) = service.hub() else { return self.done.answer(Err(not_started())) };
        let repo = self.caller.repo.to_string();
        let wait = Wait {
            since,
            until: Instant::now() + nap.max(TRY_PAUSE),
            interest: Box::new(move |event| event.repo == repo && may_free(event)),
            at_expiry: true,
        };
        let wake = Box::new(move |woken| match woken {
            Woken::Event | Woken::TimeUp => self.queue(),
            Woken::Failed(refusal) => self.done.answer(Err(refusal)),
        });
        hub.wait(wait, wake);
    }
}

impl Reader<'_> {
    /// Decides a claim without making it.
    fn would_claim(&mut self, wish: &ClaimWish) -> (Seq, Result<(), Refusal>) {
        let request = self.caller.request(Command::Claim(wish.clone()));
        let policy = self.policy;
        let decided = self.settled(|facts| decide(facts, &request, policy));
        (self.facts.head.seq, decided.map(drop))
    }
}

/// The thread that tries the claims of those who wait. It starts with the first of them.
#[derive(Default)]
pub(crate) struct Claimer(Mutex<Trying>);

#[derive(Default)]
struct Trying {
    queue: Option<SyncSender<ClaimWait>>,
    thread: Option<JoinHandle<()>>,
    is_stopped: bool,
}

impl Claimer {
    fn send(&self, wait: ClaimWait) {
        let queue = match self.queue() {
            Ok(queue) => queue,
            Err(refusal) => return wait.done.answer(Err(refusal)),
        };
        match queue.try_send(wait) {
            Ok(()) => {}
            Err(TrySendError::Disconnected(wait)) => wait.done.answer(Err(stopped())),
            Err(TrySendError::Full(wait)) => {
                let text = format!("{TRIES_MAX} claims are waiting to be tried");
                wait.done.answer(Err(Refusal::new(Code::LimitExceeded, text)));
            }
        }
    }

    fn queue(&self) -> Result<SyncSender<ClaimWait>, Refusal> {
        let mut trying = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trying.is_stopped {
            return Err(stopped());
        }
        if let Some(queue) = &trying.queue {
            return Ok(queue.clone());
        }
        let (queue, waits) = sync_channel::<ClaimWait>(TRIES_MAX);
        // It waits for the writer, as no callback of the service may.
        let named = std::thread::Builder::new().name("comity-claimer".to_owned());
        let work = move || waits.into_iter().for_each(|wait| shielded(|| wait.attempt()));
        let thread = named.spawn(work).map_err(|error| {
            Refusal::new(Code::Internal, format!("cannot start a thread: {error}"))
        })?;
        (trying.queue, trying.thread) = (Some(queue.clone()), Some(thread));
        Ok(queue)
    }

    /// Ends the thread when it has tried what is queued; the thread itself does not wait for its end.
    pub(crate) fn stop(&self) {
        let mut trying = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (trying.queue, trying.is_stopped) = (None, true);
        let thread = trying.thread.take();
        drop(trying);
        let here = std::thread::current().id();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != here)
            && check_may_wait().is_ok()
        {
            drop(thread.join());
        }
    }
}

impl Drop for Claimer {
    fn drop(&mut self) {
        self.stop();
    }
}
