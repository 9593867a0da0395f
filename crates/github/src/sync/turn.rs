//! Only one process keeps a store and GitHub in step.

use crate::bus::Github;
use crate::client::now;
use crate::rows::SYNCERS;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::Service;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the turn of another machine counts without being renewed.
const LIFE: Millis = Millis::from_secs(60);
/// A turn that is older is renewed before the next call.
const RENEW: Millis = Millis::from_secs(20);
const WAIT: Millis = Millis::from_secs(10);
const STEP: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct TurnRow {
    host: String,
    pid: u32,
    /// When the process started, which tells it from another with the same number.
    started: String,
    /// Which turn of the process: it may serve several callers.
    number: u64,
    until: i64,
}

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// The turn of this process. It ends with it.
pub struct Turn {
    service: Service,
    key: String,
    own: TurnRow,
    /// When it was renewed last.
    kept: Cell<i64>,
}

impl Turn {
    pub(crate) fn take(github: &Github) -> Result<Turn, Refusal> {
        let pid = std::process::id();
        let host = github.context.via.host.clone().unwrap_or_default();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = TurnRow { host, pid, started: started(pid), number, until: 0 };
        let (service, key) = (github.service.clone(), github.context.repo.to_string());
        let turn = Turn { service, key, own, kept: Cell::new(0) };
        let end = now().plus(WAIT);
        loop {
            match turn.try_take()? {
                None => return Ok(turn),
                Some(_) if now() < end => std::thread::sleep(STEP),
                Some(other) => {
                    let text =
                        format!("process {} on {:?} keeps GitHub in step", other.pid, other.host);
                    return Err(Refusal::new(Code::SyncBusy, text));
                }
            }
        }
    }

    /// Takes or renews the turn; returns who has it instead.
    fn try_take(&self) -> Result<Option<TurnRow>, Refusal> {
        let (key, mut own) = (self.key.clone(), self.own.clone());
        let at = now();
        own.until = at.plus(LIFE).ms();
        let other = self.service.change_kept(SYNCERS, move |rows| {
            let other: Option<TurnRow> =
                rows.get(&key).and_then(|bytes| serde_json::from_slice(bytes).ok());
            if let Some(other) = other.filter(|other| is_live(other, &own)) {
                return (Vec::new(), Some(other));
            }
            (vec![(key, serde_json::to_vec(&own).ok())], None)
        })?;
        if other.is_none() {
            self.kept.set(at.ms());
        }
        Ok(other)
    }

    /// Renews the turn when it is time to; refuses where another process took over.
    pub(crate) fn keep(&self) -> Result<(), Refusal> {
        if now().ms() - self.kept.get() < RENEW.ms() {
            return Ok(());
        }
        match self.try_take()? {
            None => Ok(()),
            Some(other) => {
                let text = format!("process {} on {:?} took over", other.pid, other.host);
                Err(Refusal::new(Code::SyncBusy, text))
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (key, own) = (self.key.clone(), self.own.clone());
        let _ = self.service.change_kept(SYNCERS, move |rows| {
            let other: Option<TurnRow> =
                rows.get(&key).and_then(|bytes| serde_json::from_slice(bytes).ok());
            let mine = other.is_some_and(|row| is_same(&row, &own));
            (if mine { vec![(key, None)] } else { Vec::new() }, ())
        });
    }
}

fn is_same(a: &TurnRow, b: &TurnRow) -> bool {
    (&a.host, a.pid, &a.started, a.number) == (&b.host, b.pid, &b.started, b.number)
}

/// A process of this host has its turn until it ends, however slow it is; one of another host while it renews it.
fn is_live(other: &TurnRow, own: &TurnRow) -> bool {
    if is_same(other, own) {
        return false;
    }
    let can_be_seen = other.host == own.host && !own.started.is_empty();
    if can_be_seen { started(other.pid) == other.started } else { other.until > now().ms() }
}

/// Returns when a process started, as the system counts it; empty for one that is not there.
fn started(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of a program may have spaces and parentheses in it.
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    rest.split_whitespace().nth(19).unwrap_or_default().to_owned()
}

#[cfg(test)]
impl Turn {
    pub(crate) fn of_host(host: &str, service: Service) -> Turn {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = TurnRow { host: host.to_owned(), pid: 1, number, ..TurnRow::default() };
        Turn { service, key: "r".to_owned(), own, kept: Cell::new(0) }
    }

    pub(crate) fn forget_when_kept(&self) {
        self.kept.set(0);
    }

    pub(crate) fn take_over(&self) {
        let (key, mut own) = (self.key.clone(), self.own.clone());
        own.until = now().plus(LIFE).ms();
        let change = move |_: &_| (vec![(key, serde_json::to_vec(&own).ok())], ());
        self.service.change_kept(SYNCERS, change).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(host: &str, started: &str, number: u64, left: i64) -> TurnRow {
        let (pid, until) = (std::process::id(), now().ms() + left);
        TurnRow { host: host.to_owned(), pid, started: started.to_owned(), number, until }
    }

    #[test]
    fn a_live_process_of_this_host_keeps_its_turn_however_late_it_is() {
        let here = started(std::process::id());
        let own = row("h", &here, 1, 0);
        assert!(!is_live(&row("h", &here, 1, -1), &own), "its own");
        assert!(is_live(&row("h", &here, 2, -100_000), &own), "slow, and alive");
        assert!(!is_live(&row("h", "another time", 2, 100_000), &own), "it has ended");
    }

    #[test]
    fn a_process_of_another_host_keeps_its_turn_while_it_renews_it() {
        let own = row("h", "1", 1, 0);
        assert!(is_live(&row("other", "1", 1, 1_000), &own));
        assert!(!is_live(&row("other", "1", 1, -1), &own));
    }
}
