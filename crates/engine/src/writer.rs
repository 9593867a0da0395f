//! The writer of a started service: one thread owns the store, drains a bounded queue into one transaction after the
//! other, and acknowledges after each commit, so that many callers share one sync to disk. Waking many
//! callers takes as long as deciding for them, so another thread does it while the next batch runs.

use crate::answer::Reply;
use crate::batch::run_counted;
use crate::commits::Commits;
use crate::intake::Prepared;
use crate::service::Settings;
use comity_core::refusal::{Code, Refusal};
use comity_store::Store;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SendError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{JoinHandle, Thread};

/// Commands that may wait. Beyond that a caller that blocks waits for a place, and one that does not is refused.
const QUEUE_MAX: usize = 512;
/// Commands in one transaction.
const BATCH_MAX: usize = 256;
/// Batches that may wait to be acknowledged; they are durable already.
const ACKNOWLEDGED_LATE_MAX: usize = 4;
/// A batch of fewer commands is acknowledged at once, since waking the other thread takes longer.
const WAKE_MIN: usize = 4;

/// What is called with the answer to a command, after the commit. It must be short, and it must not wait for the
/// service: such calls are refused on the service's own threads.
pub type Done = Box<dyn FnOnce(Result<Reply, Refusal>) + Send>;
type Replies = Vec<(Owed<Reply>, Result<Reply, Refusal>)>;

/// A callback that is called exactly once: with an answer, or when it is dropped without one.
pub(crate) struct Owed<T>(Option<Callback<T>>);

type Callback<T> = Box<dyn FnOnce(Result<T, Refusal>) + Send>;

impl<T> Owed<T> {
    pub(crate) fn new(done: Callback<T>) -> Owed<T> {
        Owed(Some(done))
    }

    pub(crate) fn answer(mut self, outcome: Result<T, Refusal>) {
        match self.0.take() {
            Some(done) if is_service_thread() => shielded(|| done(outcome)),
            Some(done) => done(outcome),
            None => {}
        }
    }
}

impl<T> Drop for Owed<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            shielded(|| done(Err(stopped())));
        }
    }
}

/// Calls a caller's code. When it panics, that caller has lost its answer; the thread goes on for the others.
pub(crate) fn shielded(call: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(call)));
}

thread_local! {
    static OF_A_SERVICE: Cell<bool> = const { Cell::new(false) };
}

/// Tells whether this is a thread of a service. Nothing there may wait for a service's threads.
pub(crate) fn is_service_thread() -> bool {
    OF_A_SERVICE.get()
}

/// Refuses a call that would wait for the thread that it is made on.
pub(crate) fn check_may_wait() -> Result<(), Refusal> {
    match is_service_thread() {
        true => Err(Refusal::new(Code::Internal, "BUG: a callback waits for the service")),
        false => Ok(()),
    }
}

enum Job {
    Command(Box<Prepared>, Owed<Reply>),
    /// Anything else that needs the store for itself.
    Work(Work),
}

type Work = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// The answers that one caller waits for. Its thread sleeps until the last of them is there, and wakes once.
struct Answers {
    caller: Thread,
    missing: AtomicUsize,
    given: Mutex<Vec<Option<Result<Reply, Refusal>>>>,
}

impl Answers {
    fn of(commands: usize) -> Answers {
        let given = Mutex::new((0..commands).map(|_| None).collect());
        Answers { caller: std::thread::current(), missing: AtomicUsize::new(commands), given }
    }

    fn given(&self) -> MutexGuard<'_, Vec<Option<Result<Reply, Refusal>>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in one answer; each place gets one.
    fn put(&self, place: usize, answer: Result<Reply, Refusal>) {
        if let Some(given) = self.given().get_mut(place) {
            *given = Some(answer);
        }
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }

    fn wait(&self) -> Vec<Result<Reply, Refusal>> {
        while self.missing.load(Ordering::Acquire) > 0 {
            std::thread::park();
        }
        let given = std::mem::take(&mut *self.given());
        given.into_iter().map(|answer| answer.unwrap_or_else(|| Err(stopped()))).collect()
    }
}

pub(crate) struct Writer {
    queue: RwLock<Option<SyncSender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(
        mut store: Box<dyn Store>,
        settings: Settings,
        commits: Arc<Commits>,
    ) -> Result<Writer, Refusal> {
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let (late, durable) = sync_channel::<Replies>(ACKNOWLEDGED_LATE_MAX);
        let threads = vec![
            spawn("comity-waker", move || durable.into_iter().for_each(acknowledge))?,
            spawn("comity-writer", move || {
                drain(store.as_mut(), &settings, &commits, &jobs, &late);
            })?,
        ];
        Ok(Writer { queue: RwLock::new(Some(queue)), threads: Mutex::new(threads) })
    }

    fn queue(&self) -> Result<SyncSender<Job>, Refusal> {
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        queue.clone().ok_or_else(stopped)
    }

    /// Queues commands one after the other and waits for all of them; the answers come in the same order.
    pub(crate) fn execute_all(&self, prepared: Vec<Prepared>) -> Vec<Result<Reply, Refusal>> {
        let queue = match check_may_wait().and_then(|()| self.queue()) {
            Ok(queue) => queue,
            Err(refusal) => return prepared.iter().map(|_| Err(refusal.clone())).collect(),
        };
        let answers = Arc::new(Answers::of(prepared.len()));
        for (place, one) in prepared.into_iter().enumerate() {
            let answers = answers.clone();
            let done = Owed::new(Box::new(move |outcome| answers.put(place, outcome)));
            // A job that cannot be sent is dropped, which answers it.
            drop(queue.send(Job::Command(Box::new(one), done)));
        }
        answers.wait()
    }

    /// Queues a command; `done` is called exactly once, at once when there is no place.
    pub(crate) fn submit(&self, prepared: Prepared, done: Done) {
        let queue = match self.queue() {
            Ok(queue) => queue,
            Err(refusal) => return done(Err(refusal)),
        };
        let (job, refusal) = match queue.try_send(Job::Command(Box::new(prepared), Owed::new(done)))
        {
            Ok(()) => return,
            Err(TrySendError::Full(job)) => (job, busy()),
            Err(TrySendError::Disconnected(job)) => (job, stopped()),
        };
        if let Job::Command(_, done) = job {
            done.answer(Err(refusal));
        }
    }

    pub(crate) fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        check_may_wait()?;
        let (reply, answer) = sync_channel(1);
        let job = Job::Work(Box::new(move |store| drop(reply.send(work(store)))));
        self.queue()?.send(job).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Finishes what is queued and ends the threads. On a thread of a service it only tells them to end: one that
    /// waited for another here could wait for itself.
    pub(crate) fn stop(&self) {
        *self.queue.write().unwrap_or_else(PoisonError::into_inner) = None;
        if is_service_thread() {
            return;
        }
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A writer that panicked has dropped its jobs, and so answered them.
            drop(thread.join());
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Refusal> {
    let named = std::thread::Builder::new().name(name.to_owned());
    let marked = move || {
        OF_A_SERVICE.set(true);
        work();
    };
    named
        .spawn(marked)
        .map_err(|error| Refusal::new(Code::Internal, format!("cannot start a thread: {error}")))
}

fn busy() -> Refusal {
    let text = format!("{QUEUE_MAX} commands are waiting to be written");
    Refusal::new(Code::StoreUnavailable, text)
        .hint("try again in a moment")
        .detail("queue", QUEUE_MAX)
}

/// Tells whether a command was refused only because the queue was full.
pub(crate) fn is_busy(refusal: &Refusal) -> bool {
    refusal.code == Code::StoreUnavailable && refusal.details.contains_key("queue")
}

pub(crate) fn stopped() -> Refusal {
    Refusal::new(Code::StoreUnavailable, "the service has stopped")
}

fn acknowledge(replies: Replies) {
    for (done, answer) in replies {
        done.answer(answer);
    }
}

fn drain(
    store: &mut dyn Store,
    settings: &Settings,
    commits: &Commits,
    jobs: &Receiver<Job>,
    late: &SyncSender<Replies>,
) {
    let mut next = jobs.recv().ok();
    while let Some(job) = next.take() {
        let mut batch = Vec::new();
        let mut callers = Vec::new();
        let mut job = Some(job);
        // What needs the store for itself ends a batch.
        while let Some(Job::Command(prepared, done)) = job {
            batch.push(*prepared);
            callers.push(done);
            job = if batch.len() < BATCH_MAX { jobs.try_recv().ok() } else { None };
        }
        if !batch.is_empty() {
            let answers = run_counted(store, settings, &batch, commits);
            let replies: Replies = callers.into_iter().zip(answers).collect();
            if replies.len() < WAKE_MIN {
                acknowledge(replies);
            } else if let Err(SendError(replies)) = late.send(replies) {
                acknowledge(replies);
            }
        }
        if let Some(Job::Work(work)) = job {
            work(store);
        }
        next = jobs.recv().ok();
    }
}
