//! How the server is: what weakens durability, who follows it, and what slows it down.

use super::PgStore;
use super::error::DbError;
use super::link::{Link, values};
use crate::StoreError;
use tokio_postgres::Row;

const SERVER: &str = "SELECT current_setting('server_version_num')::bigint,
    current_setting('server_version'), current_setting('fsync') = 'on',
    current_setting('full_page_writes') = 'on', current_setting('synchronous_standby_names'),
    pg_is_in_recovery(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT setting FROM pg_settings WHERE name = 'synchronous_commit')";
const STANDBYS: &str = "SELECT application_name, state, sync_state,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
    FROM pg_stat_replication ORDER BY application_name";
const DEAD_ROWS: &str = "SELECT coalesce(sum(n_live_tup), 0)::bigint,
    coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
    WHERE schemaname = current_schema()";
const OLDEST: &str =
    "SELECT coalesce(max((extract(epoch FROM clock_timestamp() - xact_start))::bigint), 0)
    FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()
    AND datname = current_database()";

#[derive(Clone, Debug, PartialEq)]
pub struct Standby {
    pub name: String,
    /// What the standby does; `streaming` is healthy.
    pub state: String,
    /// Whether commits wait for it: `sync`, `quorum`, `potential` or `async`.
    pub sync: String,
    /// How many bytes of the log it has not replayed yet.
    pub behind_bytes: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its version, such as 150018.
    pub version: i64,
    pub version_text: String,
    /// Whether it syncs to disk; without, a crash of the machine loses what was acknowledged.
    pub fsync: bool,
    /// Whether a torn page can be mended after a crash.
    pub full_page_writes: bool,
    /// The server's default for `synchronous_commit`; comity's own sessions set `on`.
    pub synchronous_commit: String,
    pub synchronous_standbys: String,
    /// Whether this server is a standby itself.
    pub in_recovery: bool,
    /// Its clock, in milliseconds since 1970.
    pub clock_ms: i64,
    /// The standbys of this server, as far as this role may see them.
    pub standbys: Vec<Standby>,
    /// Live rows in the tables of the store.
    pub live_rows: i64,
    /// Dead rows that no vacuum has removed yet.
    pub dead_rows: i64,
    /// How long the oldest transaction of others has been open, in seconds.
    pub oldest_transaction_secs: i64,
}

fn first(rows: &[Row]) -> Result<&Row, DbError> {
    rows.first()
        .ok_or_else(|| DbError::Row("PostgreSQL returned no information about itself".to_owned()))
}

fn look(link: &Link) -> Result<Condition, DbError> {
    let server = link.query(SERVER, values![])?;
    let server = first(&server)?;
    let in_recovery: bool = server.try_get(5)?;
    let standbys = if in_recovery { Vec::new() } else { link.query(STANDBYS, values![])? };
    let rows = link.query(DEAD_ROWS, values![])?;
    let oldest = link.query(OLDEST, values![])?;
    let standby = |row: &Row| {
        let text = |at: usize| row.try_get::<_, Option<String>>(at).map(Option::unwrap_or_default);
        Ok(Standby {
            name: text(0)?,
            state: text(1)?,
            sync: text(2)?,
            behind_bytes: row.try_get(3)?,
        })
    };
    Ok(Condition {
        version: server.try_get(0)?,
        version_text: server.try_get(1)?,
        fsync: server.try_get(2)?,
        full_page_writes: server.try_get(3)?,
        synchronous_standbys: server.try_get(4)?,
        in_recovery,
        clock_ms: server.try_get(6)?,
        synchronous_commit: server.try_get(7)?,
        standbys: standbys.iter().map(standby).collect::<Result<_, DbError>>()?,
        live_rows: first(&rows)?.try_get(0)?,
        dead_rows: first(&rows)?.try_get(1)?,
        oldest_transaction_secs: first(&oldest)?.try_get(0)?,
    })
}

impl PgStore {
    pub fn condition(&mut self) -> Result<Condition, StoreError> {
        let looked = self.pool.lend(self.home.connect_wait).and_then(|link| look(&link));
        looked.map_err(|error| error.into_store("cannot ask the server", self.home.lock_wait))
    }
}
