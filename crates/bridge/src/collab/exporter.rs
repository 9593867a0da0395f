//! Exports beside the requests: a thread that writes the tree soon after something changed.

use super::sync::Syncer;
use super::tree::{Sight, Tree};
use comity_api::{SyncReport, TreeDirectory, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Answered, Caller, Handler};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long more changes are waited for before an export.
const SETTLE: Duration = Duration::from_millis(100);

/// How long others get when somebody writes the files all the time.
const BACK_OFF: Duration = Duration::from_millis(400);

/// Gets what people have to know, a line each. A door prints it.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

enum Job {
    Changed,
    Now(SyncSender<Result<SyncReport, Refusal>>),
    End,
}

/// Writes the tree in a thread of its own. Dropped, it writes once more and ends.
pub struct Exporter {
    jobs: SyncSender<Job>,
    tree: Tree,
    /// The files as the last export left them.
    seen: Arc<Mutex<Sight>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    pub fn start(mut syncer: Syncer, tell: Tell) -> Result<Exporter, Refusal> {
        let (jobs, queue) = queue();
        let tree = syncer.tree.clone();
        let seen = Arc::new(Mutex::new(Sight::new()));
        let left = Arc::clone(&seen);
        let work = move || run(&mut syncer, &queue, &left, &tell);
        let named = std::thread::Builder::new().name("comity-export".to_owned());
        let thread = named
            .spawn(work)
            .map_err(|error| Refusal::new(Code::Internal, format!("no thread: {error}")))?;
        Ok(Exporter { jobs, tree, seen, thread: Some(thread) })
    }

    /// Tells whether nobody touched the files since the last export.
    pub fn is_untouched(&self) -> bool {
        self.seen.lock().is_ok_and(|seen| *seen == self.tree.sight())
    }

    /// Returns what writes the tree from another thread, when the process is told to stop.
    pub fn last_export(&self) -> impl FnOnce() -> Result<SyncReport, Refusal> + Send + 'static {
        let jobs = self.jobs.clone();
        move || now(&jobs)
    }

    pub fn changed(&self) {
        changed(&self.jobs);
    }

    /// Writes the tree now, with its log.
    pub fn now(&self) -> Result<SyncReport, Refusal> {
        now(&self.jobs)
    }
}

/// The tree that is open is kept in step by its own thread.
impl Handler<op::SyncCollab> for Exporter {
    fn handle(&self, _: &Caller, _: TreeDirectory) -> Result<Answered<SyncReport>, Refusal> {
        self.now().map(Answered::from)
    }
}

/// One job waits at most: whatever it is, it writes all that was committed before it begins.
fn queue() -> (SyncSender<Job>, Receiver<Job>) {
    sync_channel(1)
}

fn changed(jobs: &SyncSender<Job>) {
    // The job that waits shows this change, too. An exporter that has stopped has said why.
    let _ = jobs.try_send(Job::Changed);
}

fn now(jobs: &SyncSender<Job>) -> Result<SyncReport, Refusal> {
    let gone = || Refusal::new(Code::Internal, "the exporter has stopped");
    let (reply, answer) = sync_channel(1);
    jobs.send(Job::Now(reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.jobs.send(Job::End);
        if let Some(thread) = self.thread.take() {
            // It has said what went wrong.
            let _ = thread.join();
        }
    }
}

fn run(syncer: &mut Syncer, queue: &Receiver<Job>, seen: &Mutex<Sight>, tell: &Tell) {
    // The first change starts the clock, so that a steady stream of them does not put the export off for ever.
    let mut due: Option<Instant> = None;
    // Only a go that wrote nothing leaves the files as they were looked at: who wrote after ours is not known.
    let go = |syncer: &mut Syncer, log: bool| {
        let before = syncer.tree.sight();
        let outcome = syncer.once(log);
        let same = outcome.as_ref().is_ok_and(|report| report.written.is_empty());
        if let Ok(mut seen) = seen.lock() {
            *seen = if same { before } else { Sight::new() };
        }
        say(tell, &outcome);
        outcome
    };
    loop {
        let left = due.map(|at| at.saturating_duration_since(Instant::now()));
        let job = match left {
            Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
            Some(left) => queue.recv_timeout(left),
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match job {
            Ok(Job::Changed) => due = due.or_else(|| Some(Instant::now() + SETTLE)),
            Ok(Job::Now(reply)) => {
                let _ = reply.send(go(syncer, true));
                due = None;
            }
            Err(RecvTimeoutError::Timeout) => {
                let again = go(syncer, false).is_ok_and(|report| report.unsettled);
                due = again.then(|| Instant::now() + BACK_OFF);
            }
            Ok(Job::End) | Err(RecvTimeoutError::Disconnected) => {
                // Everything that was acknowledged here is in the file after the first go; what an editor adds in this
                // moment is in the store, and in the next export.
                say(tell, &syncer.settle(true, 2));
                return;
            }
        }
    }
}

/// Says what somebody has to know about.
pub fn say(tell: &Tell, outcome: &Result<SyncReport, Refusal>) {
    match outcome {
        Ok(report) => report.lines().iter().for_each(|line| tell(line)),
        Err(refusal) => tell(&format!("cannot write the tree: {}", refusal.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_do_not_pile_up_while_nobody_exports() {
        let (jobs, queue) = queue();
        (0..1000).for_each(|_| changed(&jobs));
        assert_eq!(queue.try_iter().count(), 1);
        changed(&jobs);
        assert_eq!(queue.try_iter().count(), 1, "a change after the export asks for another");
    }
}
