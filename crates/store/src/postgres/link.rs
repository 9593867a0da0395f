//! One connection, its statements, and a runtime of its own: the store is called from one thread that
//! waits.
//!
//! Statements that are waited for together are sent together, so that a batch costs a few round trips
//! and not one for each row.

use super::error::DbError;
use super::tls;
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

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

pub(super) struct Link {
    client: Client,
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
        let client = runtime.block_on(async {
            let (client, connection) = connect(config).await?;
            // Its end is noticed by whoever sends next.
            tokio::spawn(connection);
            client.batch_execute(SESSION).await?;
            Ok::<_, DbError>(client)
        })?;
        let statements = Mutex::default();
        Ok(Link { client, statements, in_transaction: AtomicBool::new(false), runtime })
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
        self.runtime.block_on(async {
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
        })
    }
}

pub(super) type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn connect(config: &Config) -> Result<(Client, Driving), DbError> {
    let late = |_| DbError::Late("PostgreSQL does not answer");
    if tls::is_wanted(config) {
        let connecting = config.connect(tls::connector()?);
        let (client, connection) =
            tokio::time::timeout(CONNECT_WAIT, connecting).await.map_err(late)??;
        return Ok((client, Box::pin(async { drop(connection.await) })));
    }
    let connecting = config.connect(NoTls);
    let (client, connection) =
        tokio::time::timeout(CONNECT_WAIT, connecting).await.map_err(late)??;
    Ok((client, Box::pin(async { drop(connection.await) })))
}
