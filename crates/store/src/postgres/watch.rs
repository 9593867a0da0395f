//! Waiting for commits of any host: a connection of its own listens.
//!
//! When it breaks, everything may have happened meanwhile: the wait ends as if something had.

use super::error::DbError;
use super::{Home, tls};
use crate::{StoreError, Watch};
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

/// How long one attempt to listen again may take.
const RELISTEN_WAIT: Duration = Duration::from_secs(5);
const RELISTEN_PAUSE: Duration = Duration::from_millis(200);

struct Listener {
    // Kept, since the connection ends with its client.
    _client: Client,
    /// Holds one wake-up at most: one look at the store serves for all commits so far.
    heard: mpsc::Receiver<()>,
}

pub(super) struct PgWatch {
    home: Home,
    listener: Option<Listener>,
    stopped: watch::Sender<bool>,
    // Last, so that what it drives is dropped before it.
    runtime: Runtime,
}

impl PgWatch {
    pub(super) fn new(home: Home) -> Result<PgWatch, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::other("cannot start a runtime", error))?;
        let listener = runtime.block_on(listen(&home));
        let listener = Some(
            listener.map_err(|error| error.into_store("cannot watch the store", home.lock_wait))?,
        );
        Ok(PgWatch { home, listener, stopped: watch::Sender::new(false), runtime })
    }
}

async fn listen(home: &Home) -> Result<Listener, DbError> {
    let (tell, heard) = mpsc::channel(1);
    let late = |_| DbError::Late("PostgreSQL does not answer");
    let wanted = tls::is_wanted(&home.config);
    let client = if wanted {
        let connecting = home.config.connect(tls::connector()?);
        let (client, connection) =
            tokio::time::timeout(RELISTEN_WAIT, connecting).await.map_err(late)??;
        tokio::spawn(forward(connection, tell));
        client
    } else {
        let connecting = home.config.connect(NoTls);
        let (client, connection) =
            tokio::time::timeout(RELISTEN_WAIT, connecting).await.map_err(late)??;
        tokio::spawn(forward(connection, tell));
        client
    };
    client.batch_execute(&format!("LISTEN {}", home.names.channel)).await?;
    Ok(Listener { _client: client, heard })
}

/// Drives a connection until it ends, and passes on that a notification came.
async fn forward<S, T>(mut connection: Connection<S, T>, tell: mpsc::Sender<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut messages: Pin<Box<_>> =
        Box::pin(stream::poll_fn(move |context| connection.poll_message(context)));
    while let Some(message) = messages.next().await {
        let gone = match message {
            Ok(AsyncMessage::Notification(_)) => {
                matches!(tell.try_send(()), Err(mpsc::error::TrySendError::Closed(())))
            }
            Ok(_) => false,
            Err(_) => true,
        };
        if gone {
            return;
        }
    }
}

impl Watch for PgWatch {
    fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let PgWatch { home, listener, stopped, runtime } = self;
        let mut stopped = stopped.subscribe();
        runtime.block_on(async {
            let stop = pin!(stopped.wait_for(|stopped| *stopped));
            let heard = pin!(hear(home, listener, timeout));
            // The first is looked at first.
            match select(stop, heard).await {
                Either::Left(_) => Ok(false),
                Either::Right((heard, _)) => heard
                    .map_err(|error| error.into_store("cannot watch the store", home.lock_wait)),
            }
        })
    }

    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        let stopped = self.stopped.clone();
        Box::new(move || {
            stopped.send_replace(true);
        })
    }
}

/// Waits until a notification came or the time is up.
async fn hear(
    home: &Home,
    listener: &mut Option<Listener>,
    timeout: Duration,
) -> Result<bool, DbError> {
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        let Some(listening) = listener else {
            match listen(home).await {
                Ok(new) => {
                    // Nobody listened for a while: look at everything once.
                    *listener = Some(new);
                    return Ok(true);
                }
                Err(error) if !error.is_lost() || left.is_zero() => return Err(error),
                Err(_) => {
                    tokio::time::sleep(RELISTEN_PAUSE.min(left)).await;
                    continue;
                }
            }
        };
        // What has arrived already is read before the time is looked at.
        tokio::task::yield_now().await;
        match tokio::time::timeout(left.max(PROBE), listening.heard.recv()).await {
            Ok(Some(())) => return Ok(true),
            Ok(None) => *listener = None,
            Err(_) => return Ok(false),
        }
    }
}

/// Even a wait of no time has to read what the socket holds.
const PROBE: Duration = Duration::from_millis(20);
