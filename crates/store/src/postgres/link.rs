//! One connection, its statements, and a runtime of its own: the store is called from one thread that
//! waits.
//!
//! Statements that are waited for together are sent together, so that a batch costs a few round trips
//! and not one for each row.

use super::error::DbError;
use super::tls;
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Row, Statement};

/// Longest wait for one connection to be made.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// First pause before another attempt. Each next pause is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What every session is told. Plans are made once and use the index that gives the wanted order (see
/// `sql.rs`), whatever the tables look like now: they grow. A client that stops in the middle of a
/// transaction holds the lock of all others.
pub(super) const SESSION: &str = "SET plan_cache_mode = force_generic_plan; \
    SET enable_seqscan = off; SET enable_sort = off; SET enable_incremental_sort = off; \
    SET synchronous_commit = on; SET idle_in_transaction_session_timeout = '30s'; SET jit = off; \
    SET client_min_messages = warning";

pub(super) type Value = Box<dyn ToSql + Sync + Send>;

pub(super) struct Op {
    pub(super) text: &'static str,
    pub(super) values: Vec<Value>,
}

impl Op {
    pub(super) fn new(text: &'static str, values: Vec<Value>) -> Op {
        Op { text, values }
    }
}

macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as $crate::postgres::link::Value),*]
    };
}
pub(super) use values;

/// One value for each column of a list of rows: an array of what the column has in each row.
macro_rules! arrays {
    ($list:expr, $row:ident => $($value:expr),* $(,)?) => {
        $crate::postgres::link::values![$($list.iter().map(|$row| $value).collect::<Vec<_>>()),*]
    };
}
pub(super) use arrays;

/// How long a commit that was cancelled may take to say how it ended.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// What a server said to a commit.
pub(super) struct Committed {
    pub(super) rows: Vec<Vec<Row>>,
    /// The server has warned. So it does when the wait for a synchronous standby is broken off: the transaction is
    /// committed on this server alone. The words depend on the server's language, so any warning counts.
    pub(super) warned: bool,
}

pub(super) struct Link {
    client: Client,
    config: Config,
    /// Warnings that the server has sent.
    warnings: Arc<AtomicU64>,
    statements: Mutex<HashMap<&'static str, Statement>>,
    in_transaction: AtomicBool,
    // Last, so that the connection's task ends after everything that needs it.
    runtime: Runtime,
}

impl Link {
    /// Connects, trying again for a bounded time.
    pub(super) fn open(config: &Config, wait: Duration) -> Result<Link, DbError> {
        let start = Instant::now();
        let mut pause = PAUSE_FIRST;
        loop {
            match Link::connect(config) {
                Ok(link) => return Ok(link),
                Err(error) if error.is_lost() && start.elapsed() + pause < wait => {
                    std::thread::sleep(pause);
                    pause = PAUSE_MAX.min(pause * 2);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn connect(config: &Config) -> Result<Link, DbError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| crate::StoreError::other("cannot start a runtime", error))?;
        let warnings = Arc::new(AtomicU64::new(0));
        let client = runtime.block_on(async {
            let (client, connection) = connect(config, warnings.clone()).await?;
            // Its end is noticed by whoever sends next.
            tokio::spawn(connection);
            client.batch_execute(SESSION).await?;
            Ok::<_, DbError>(client)
        })?;
        let statements = Mutex::default();
        let (config, in_transaction) = (config.clone(), AtomicBool::new(false));
        Ok(Link { client, config, warnings, statements, in_transaction, runtime })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Notes that a transaction has begun, or that it has certainly ended.
    pub(super) fn set_in_transaction(&self, is: bool) {
        self.in_transaction.store(is, Ordering::Relaxed);
    }

    /// Tells whether the next transaction may use this connection as it is.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_closed() && !self.in_transaction.load(Ordering::Relaxed)
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs statements without values, one after the other.
    pub(super) fn batch(&self, text: &str) -> Result<(), DbError> {
        Ok(self.runtime.block_on(self.client.batch_execute(text))?)
    }

    async fn statement(&self, text: &'static str) -> Result<Statement, DbError> {
        let known = self.statements().get(text).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let made = self.client.prepare(text).await?;
        self.statements().insert(text, made.clone());
        Ok(made)
    }

    async fn send(&self, statement: &Statement, values: &[Value]) -> Result<Vec<Row>, DbError> {
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        Ok(self.client.query(statement, &values).await?)
    }

    pub(super) fn query(
        &self,
        text: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, DbError> {
        let op = Op { text, values };
        self.runtime.block_on(async {
            let statement = self.statement(op.text).await?;
            self.send(&statement, &op.values).await
        })
    }

    /// Sends statements together, in order, and waits for all of them; `first` and `last` have no values
    /// and enclose them.
    pub(super) fn together(
        &self,
        first: Option<&str>,
        ops: &[Op],
        last: Option<&str>,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        self.runtime.block_on(self.sent_together(first, ops, last))
    }

    async fn sent_together(
        &self,
        first: Option<&str>,
        ops: &[Op],
        last: Option<&str>,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        // Prepared before anything is sent, so that nothing overtakes.
        let mut statements = Vec::with_capacity(ops.len());
        for op in ops {
            statements.push(self.statement(op.text).await?);
        }
        let plain = |text: Option<&str>| {
            let text = text.map(str::to_owned);
            async move {
                match text {
                    Some(text) => Ok::<(), DbError>(self.client.batch_execute(&text).await?),
                    None => Ok(()),
                }
            }
        };
        let sent = statements.iter().zip(ops).map(|(statement, op)| {
            // A future sends when it is first looked at, and they are looked at in order.
            self.send(statement, &op.values)
        });
        let (before, rows, after) =
            futures_util::join!(plain(first), try_join_all(sent), plain(last));
        before?;
        let rows = rows?;
        after?;
        Ok(rows)
    }

    /// Sends statements and commits. No timeout of PostgreSQL ends its wait for a synchronous standby, so the wait is
    /// cancelled when the time is up: the server then commits on its own, with a warning.
    pub(super) fn commit(&self, ops: &[Op], wait: Duration) -> Result<Committed, DbError> {
        let before = self.warnings.load(Ordering::Relaxed);
        let rows = self.runtime.block_on(async {
            let mut sent = pin!(self.sent_together(None, ops, Some("COMMIT")));
            if let Ok(answered) = tokio::time::timeout(wait, sent.as_mut()).await {
                if answered.as_ref().is_err_and(DbError::is_lost) {
                    // The server may still wait for a standby on its behalf, and hold the lock.
                    self.send_cancel().await;
                }
                return answered;
            }
            self.send_cancel().await;
            let late = |_| DbError::Late("PostgreSQL does not answer");
            tokio::time::timeout(CANCEL_WAIT, sent).await.map_err(late)?
        })?;
        Ok(Committed { rows, warned: self.warnings.load(Ordering::Relaxed) != before })
    }

    /// Ends what the server still does for this connection, also when the connection itself is lost.
    pub(super) fn cancel(&self) {
        self.runtime.block_on(self.send_cancel());
    }

    /// If the server cannot be reached, there is nobody to tell.
    async fn send_cancel(&self) {
        let token = self.client.cancel_token();
        let cancelled = async {
            match tls::is_wanted(&self.config) {
                true => drop(token.cancel_query(tls::connector()?).await),
                false => drop(token.cancel_query(NoTls).await),
            }
            Ok::<(), DbError>(())
        };
        drop(tokio::time::timeout(CANCEL_WAIT, cancelled).await);
    }
}

pub(super) type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn connect(config: &Config, warnings: Arc<AtomicU64>) -> Result<(Client, Driving), DbError> {
    let late = |_| DbError::Late("PostgreSQL does not answer");
    if tls::is_wanted(config) {
        let connecting = config.connect(tls::connector()?);
        let (client, connection) =
            tokio::time::timeout(CONNECT_WAIT, connecting).await.map_err(late)??;
        return Ok((client, Box::pin(drive(connection, warnings))));
    }
    let connecting = config.connect(NoTls);
    let (client, connection) =
        tokio::time::timeout(CONNECT_WAIT, connecting).await.map_err(late)??;
    Ok((client, Box::pin(drive(connection, warnings))))
}

/// Drives a connection until it ends, and counts the server's warnings. A warning is counted before the answer that
/// follows it is passed on.
async fn drive<S, T>(mut connection: Connection<S, T>, warnings: Arc<AtomicU64>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(_) = message {
            warnings.fetch_add(1, Ordering::Relaxed);
        }
    }
}
