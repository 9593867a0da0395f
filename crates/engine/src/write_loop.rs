//! The write loop: one thread owns the store, drains a bounded queue into one transaction after the
//! other, and acknowledges after each commit, so that many callers share one sync to disk. Waking many
//! callers takes as long as deciding for them, so another thread does it while the next batch runs.

use crate::answer::Rendered;
use crate::batch::run_batch_unrendered;
use crate::engine::Settings;
use crate::intake::{Intake, Prepared};
use comity_core::command::Request;
use comity_core::refusal::{Code, Refusal};
use comity_store::Store;
use serde_json::Value;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Commands that may wait; beyond that, callers wait for a place.
const QUEUE_MAX: usize = 512;
/// Commands in one transaction.
const BATCH_MAX: usize = 256;
/// Batches that may wait to be acknowledged; they are durable already.
const ACKNOWLEDGED_LATE_MAX: usize = 4;
/// A batch of fewer commands is acknowledged at once, since waking the other thread takes longer.
const WAKE_MIN: usize = 4;

type Outcome = Result<Rendered, Refusal>;
type Replies = Vec<(SyncSender<Outcome>, Outcome)>;

struct Job {
    prepared: Prepared,
    reply: SyncSender<Outcome>,
}

/// A running write loop. Dropped, it finishes what is queued and ends.
pub struct WriteLoop {
    handle: Option<WriteHandle>,
    threads: Vec<JoinHandle<()>>,
}

/// A way into the write loop, cheap to copy.
#[derive(Clone)]
pub struct WriteHandle {
    queue: SyncSender<Job>,
    intake: Arc<Intake>,
}

impl WriteLoop {
    /// Starts the loop over a store.
    pub fn start(mut store: Box<dyn Store>, settings: Settings) -> Result<WriteLoop, Refusal> {
        let intake = Arc::new(Intake::new(settings.redact.clone())?);
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let (late, durable) = sync_channel::<Replies>(ACKNOWLEDGED_LATE_MAX);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let named = std::thread::Builder::new().name(name.to_owned());
            let no = |error| Refusal::new(Code::Internal, format!("no thread: {error}"));
            named.spawn(work).map_err(no)
        };
        let threads = vec![
            spawn("comity-waker", Box::new(move || durable.into_iter().for_each(acknowledge)))?,
            spawn(
                "comity-writer",
                Box::new(move || drain(store.as_mut(), &settings, &jobs, &late)),
            )?,
        ];
        Ok(WriteLoop { handle: Some(WriteHandle { queue, intake }), threads })
    }

    /// Returns a way in.
    pub fn handle(&self) -> Option<WriteHandle> {
        self.handle.clone()
    }
}

impl Drop for WriteLoop {
    fn drop(&mut self) {
        // The loop ends when the last way in is gone.
        self.handle = None;
        for thread in self.threads.drain(..) {
            // A writer that panicked has answered nobody; there is nothing left to do about it here.
            let _ = thread.join();
        }
    }
}

impl WriteHandle {
    /// Runs a command; when this returns, what was acknowledged is durable.
    pub fn execute(&self, request: Request) -> Result<Value, Refusal> {
        let prepared = self.intake.prepare(request)?;
        let (reply, answer) = sync_channel(1);
        let gone = || Refusal::new(Code::StoreUnavailable, "the writer has stopped");
        self.queue.send(Job { prepared, reply }).map_err(|_| gone())?;
        Ok(answer.recv().map_err(|_| gone())??.into_value())
    }
}

fn acknowledge(replies: Replies) {
    for (reply, answer) in replies {
        // A caller that has gone away does not want its answer any more.
        let _ = reply.send(answer);
    }
}

fn drain(
    store: &mut dyn Store,
    settings: &Settings,
    jobs: &Receiver<Job>,
    late: &SyncSender<Replies>,
) {
    while let Ok(first) = jobs.recv() {
        let mut replies = vec![first.reply];
        let mut batch = vec![first.prepared];
        while batch.len() < BATCH_MAX {
            let Ok(job) = jobs.try_recv() else { break };
            replies.push(job.reply);
            batch.push(job.prepared);
        }
        let answers = run_batch_unrendered(store, settings, &batch);
        let replies: Replies = replies.into_iter().zip(answers).collect();
        if replies.len() < WAKE_MIN {
            acknowledge(replies);
        } else if let Err(SendError(replies)) = late.send(replies) {
            acknowledge(replies);
        }
    }
}
