//! The runtime of `mcp` and `serve`, and work that blocks beside it.

use comity_core::refusal::{Code, Refusal};
use std::future::Future;

/// Threads that wait for sockets.
const WORKERS: usize = 2;
/// Threads for calls of the store and of git. A caller that waits for something holds none.
const BLOCKING_MAX: usize = 32;

/// Runs a door until it ends.
pub fn run<T>(door: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_MAX)
        .enable_all()
        .build()
        .map_err(|error| failed("start its threads", &error))?;
    let done = runtime.block_on(door);
    // A thread may be blocked on stdin for ever.
    runtime.shutdown_background();
    done
}

/// Does work that blocks on a thread of its own.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(failed("finish a call", &error)))
}

pub fn failed(what: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::Internal, format!("the server cannot {what}: {error}"))
}

/// Listens for signals to end from now on; what is returned waits for one.
pub fn told_to_end() -> Result<impl Future<Output = ()>, Refusal> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| failed("listen for signals", &error));
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
