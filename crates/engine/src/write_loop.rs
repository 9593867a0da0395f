//! The write loop: one thread owns the store, drains a bounded queue into one transaction after the
//! other, and acknowledges after each commit, so that many callers share one sync to disk.

use crate::batch::run_batch;
use crate::engine::Settings;
use crate::intake::{Intake, Prepared};
use comity_core::command::Request;
use comity_core::refusal::{Code, Refusal};
use comity_store::Store;
use serde_json::Value;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Commands that may wait; beyond that, callers wait for a place.
const QUEUE_MAX: usize = 512;
/// Commands in one transaction.
const BATCH_MAX: usize = 256;

struct Job {
    prepared: Prepared,
    reply: SyncSender<Result<Value, Refusal>>,
}

/// A running write loop. Dropped, it finishes what is queued and ends.
pub struct WriteLoop {
    handle: Option<WriteHandle>,
    thread: Option<JoinHandle<()>>,
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
        let thread = std::thread::Builder::new()
            .name("comity-writer".to_owned())
            .spawn(move || drain(store.as_mut(), &settings, &jobs))
            .map_err(|error| Refusal::new(Code::Internal, format!("no thread: {error}")))?;
        Ok(WriteLoop { handle: Some(WriteHandle { queue, intake }), thread: Some(thread) })
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
        if let Some(thread) = self.thread.take() {
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
        answer.recv().map_err(|_| gone())?
    }
}

fn drain(store: &mut dyn Store, settings: &Settings, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut replies = vec![first.reply];
        let mut batch = vec![first.prepared];
        while batch.len() < BATCH_MAX {
            let Ok(job) = jobs.try_recv() else { break };
            replies.push(job.reply);
            batch.push(job.prepared);
        }
        let answers = run_batch(store, settings, &batch);
        for (reply, answer) in replies.into_iter().zip(answers) {
            // A caller that has gone away does not want its answer any more.
            let _ = reply.send(answer);
        }
    }
}
