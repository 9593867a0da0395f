//! Checks of a store on PostgreSQL: the server, what weakens its promises, and what slows it down.

use super::store::contents;
use super::{Check, State};
use comity_core::time::{Millis, Timestamp};
use comity_project::Context;
use comity_project::store::Access;
use comity_store::Store;
use comity_store::postgres::{Condition, OpenOptions, Standby};
use std::time::Duration;

/// The oldest server that comity is tested with.
const VERSION_MIN: i64 = 150_000;
/// How long a check waits for the server, and for other writers.
const PATIENCE: Duration = Duration::from_secs(3);
/// Clocks further apart than this were set.
const CLOCK_SLACK: Millis = Millis::from_secs(5);
/// A transaction open for longer than this keeps dead rows from being cleared away.
const TRANSACTION_SECS_MAX: i64 = 300;
/// So many dead rows are worth a word when they are more than the live ones.
const DEAD_ROWS_MIN: i64 = 100_000;
/// A standby that is further behind than this would take long to take over.
const BEHIND_BYTES_MAX: i64 = 64 * 1024 * 1024;

pub(super) fn checks(context: &Context, url: &str, fix: bool) -> Vec<Check> {
    let options =
        OpenOptions { connect_wait: PATIENCE, lock_wait: PATIENCE, ..OpenOptions::default() };
    let mut store = match context.server(url, options) {
        Ok(store) => store,
        Err(refusal) => return vec![Check::fail("store", &refusal)],
    };
    let mut found =
        vec![Check::ok("store", format!("{} opens; its schema is known", context.store_url()))];
    match store.condition() {
        Ok(condition) => found.extend([
            version(&condition),
            durability(&condition),
            replication(&condition),
            skew(&condition),
            dead_rows(&condition),
        ]),
        Err(error) => found.push(Check::fail("server", &error.to_refusal())),
    }
    match context.service(Access::Read) {
        Ok(service) => found.extend(contents(context, &service, fix)),
        Err(refusal) => found.push(Check::fail("log", &refusal)),
    }
    found.push(match store.write().map(drop) {
        Ok(()) => Check::ok("writing", "a write can begin; no other host holds the store"),
        Err(error) => Check::fail("writing", &error.to_refusal()),
    });
    found
}

fn version(condition: &Condition) -> Check {
    let message = format!("PostgreSQL {}", condition.version_text);
    if condition.version < VERSION_MIN {
        let hint = "comity is tested with PostgreSQL 15 and newer";
        return Check::warn("server", message, hint);
    }
    if condition.in_recovery {
        return Check {
            hint: Some("use the URL of the primary; with several hosts, add target_session_attrs=read-write".into()),
            ..Check::new("server", State::Fail, format!("{message} is only a standby"))
        };
    }
    Check::ok("server", message)
}

fn durability(condition: &Condition) -> Check {
    let weak: Vec<&str> =
        [(condition.fsync, "fsync"), (condition.full_page_writes, "full_page_writes")]
            .into_iter()
            .filter(|(on, _)| !on)
            .map(|(_, name)| name)
            .collect();
    if !weak.is_empty() {
        let hint = "a crash of the machine can lose acknowledged commands; turn it on";
        return Check {
            hint: Some(hint.to_owned()),
            ..Check::new("durable", State::Fail, format!("{} is off", weak.join(" and ")))
        };
    }
    Check::ok("durable", "commits are on disk before they are acknowledged")
}

fn replication(condition: &Condition) -> Check {
    if condition.standbys.is_empty() && condition.synchronous_standbys.is_empty() {
        return Check::ok("standby", "none; if the server is lost, you need its backup");
    }
    let waits = |standby: &Standby| standby.sync == "sync" || standby.sync == "quorum";
    if !condition.synchronous_standbys.is_empty() && !condition.standbys.iter().any(waits) {
        let message =
            format!("commits wait for {}, which is not connected", condition.synchronous_standbys);
        return Check {
            hint: Some("start the standby, or clear synchronous_standby_names".to_owned()),
            ..Check::new("standby", State::Fail, message)
        };
    }
    let late = condition.standbys.iter().find(|standby| standby.behind_bytes > BEHIND_BYTES_MAX);
    if let Some(late) = late {
        let message = format!("{} is {} MiB behind", late.name, late.behind_bytes >> 20);
        return Check::warn("standby", message, "check its disk and its network");
    }
    if condition.synchronous_standbys.is_empty() {
        let message = format!("{} asynchronous", condition.standbys.len());
        let hint =
            "a fail-over can lose the last acknowledged commands; set synchronous_standby_names";
        return Check::warn("standby", message, hint);
    }
    Check::ok("standby", format!("{} connected; commits wait for one", condition.standbys.len()))
}

fn skew(condition: &Condition) -> Check {
    let server = Timestamp::from_ms(condition.clock_ms);
    let here = crate::human::now();
    let apart = server.since(here).max(here.since(server));
    if apart > CLOCK_SLACK {
        let message = format!("this machine's clock and the server's are {apart} apart");
        return Check::warn(
            "skew",
            message,
            "the server's clock decides; correct this machine's clock",
        );
    }
    Check::ok("skew", "this machine's clock agrees with the server's")
}

fn dead_rows(condition: &Condition) -> Check {
    if condition.oldest_transaction_secs > TRANSACTION_SECS_MAX {
        let message =
            format!("a transaction has been open for {} s", condition.oldest_transaction_secs);
        return Check::warn("rows", message, "end it; PostgreSQL cannot remove dead rows before");
    }
    let (live, dead) = (condition.live_rows, condition.dead_rows);
    if dead > DEAD_ROWS_MIN && dead > live {
        let message = format!("{dead} dead rows beside {live} live ones");
        return Check::warn("rows", message, "is autovacuum on? run VACUUM (ANALYZE)");
    }
    Check::ok("rows", format!("{live} live, {dead} dead"))
}
