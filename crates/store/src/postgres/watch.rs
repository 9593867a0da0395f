//! Waiting for commits of any host: a connection of its own listens.
//!
//! When it breaks, everything may have happened meanwhile: the wait ends as if something had.

use super::error::DbError;
use super::{Home, tls};
use crate::{StoreError, Watch};
use futures_util::{StreamExt, stream};
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

/// How long one attempt to listen again may take.
const RELISTEN_WAIT: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const RELISTEN_PAUSE: Duration = Duration::from_millis(200);

struct Ear {
    // Kept, since the connection ends with its client.
    _client: Client,
    heard: UnboundedReceiver<()>,
}

pub(super) struct PgWatch {
    home: Home,
    ear: Option<Ear>,
    // Last, so that what it drives is dropped before it.
    runtime: Runtime,
}

impl PgWatch {
    pub(super) fn new(home: Home) -> Result<PgWatch, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::other("cannot start a runtime", error))?;
        let ear = runtime.block_on(listen(&home));
        let ear =
            Some(ear.map_err(|error| error.into_store("cannot watch the store", home.lock_wait))?);
        Ok(PgWatch { home, ear, runtime })
    }
}

async fn listen(home: &Home) -> Result<Ear, DbError> {
    let (tell, heard) = unbounded_channel();
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
    Ok(Ear { _client: client, heard })
}

/// Drives a connection and passes on that something was heard, until it ends.
async fn forward<S, T>(mut connection: Connection<S, T>, tell: UnboundedSender<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut messages: Pin<Box<_>> =
        Box::pin(stream::poll_fn(move |context| connection.poll_message(context)));
    while let Some(message) = messages.next().await {
        let gone = match message {
            Ok(AsyncMessage::Notification(_)) => tell.send(()).is_err(),
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
        let start = Instant::now();
        let PgWatch { home, ear, runtime } = self;
        runtime.block_on(async {
            loop {
                let left = timeout.saturating_sub(start.elapsed());
                let Some(listening) = ear else {
                    match listen(home).await {
                        Ok(new) => {
                            // Nobody listened for a while: look at everything once.
                            *ear = Some(new);
                            return Ok(true);
                        }
                        Err(error) if !error.is_lost() || left.is_zero() => {
                            return Err(error.into_store("cannot watch the store", home.lock_wait));
                        }
                        Err(_) => {
                            tokio::time::sleep(RELISTEN_PAUSE.min(left)).await;
                            continue;
                        }
                    }
                };
                // What has arrived already is read before the time is looked at.
                tokio::task::yield_now().await;
                match tokio::time::timeout(left.max(PROBE), listening.heard.recv()).await {
                    Ok(Some(())) => {
                        // One look serves for all that has been told so far.
                        while listening.heard.try_recv().is_ok() {}
                        return Ok(true);
                    }
                    Ok(None) => *ear = None,
                    Err(_) => return Ok(false),
                }
            }
        })
    }
}

/// A wait of no time still has to read what the socket holds.
const PROBE: Duration = Duration::from_millis(20);
