//! The door of one run: the API and MCP on a socket, for the agent of the run and nobody else.

use super::door;
use super::hall::Hall;
use super::wire::{self, Ended, Socket};
use crate::Served;
use crate::runtime::{failed, run};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Service};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A door that is open as long as this lives.
pub struct RunDoor {
    close: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    service: Service,
}

impl RunDoor {
    /// Opens the door of a run. Whoever calls acts as `caller`, with its fence, in its repository and its work tree.
    pub fn open(served: Served, socket: &Path, caller: Caller) -> Result<RunDoor, Refusal> {
        let service = served.service.clone();
        let path = socket.to_owned();
        let (close, closed) = oneshot::channel::<()>();
        let (tell, told) = mpsc::sync_channel(1);
        let say_why = tell.clone();
        let thread = std::thread::spawn(move || {
            let done = run(async move {
                let hall = Arc::new(Hall::of_run(served, caller)?);
                let socket = Socket::at(path.clone()).ok_or_else(|| {
                    let message = format!("comity cannot listen on {}", path.display());
                    Refusal::new(Code::CouldNotRun, message)
                        .hint("set XDG_RUNTIME_DIR to a directory of yours with a short path")
                })?;
                drop(tell.send(Ok(())));
                let ended = Ended::when(async {
                    drop(closed.await);
                });
                wire::accept_local(&socket, 0, door::app(hall.clone()), ended).await;
                hall.roots.iter().for_each(|root| root.live.end());
                Ok::<(), Refusal>(())
            });
            if let Err(refusal) = done {
                // Nobody listens any more once the door is open.
                drop(say_why.send(Err(refusal)));
            }
        });
        let opened = told.recv().map_err(|error| failed("open the door of a run", &error));
        opened.and_then(|opened| opened)?;
        Ok(RunDoor { close: Some(close), thread: Some(thread), service })
    }
}

impl Drop for RunDoor {
    fn drop(&mut self) {
        drop(self.close.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        self.service.stop();
    }
}
