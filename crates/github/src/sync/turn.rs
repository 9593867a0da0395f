//! Only one process keeps a store and GitHub in step.

use crate::bus::Github;
use crate::client::now;
use crate::rows::SYNCERS;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::Service;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a turn counts without being renewed.
const LIFE: Millis = Millis::from_secs(60);
const WAIT: Millis = Millis::from_secs(10);
const STEP: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct TurnRow {
    host: String,
    pid: u32,
    /// When the process started, which tells it from another with the same number.
    started: String,
    until: i64,
}

/// The turn of this process. It ends with it.
pub(crate) struct Turn {
    service: Service,
    key: String,
    own: TurnRow,
}

impl Turn {
    pub(crate) fn take(github: &Github) -> Result<Turn, Refusal> {
        let pid = std::process::id();
        let host = github.context.via.host.clone().unwrap_or_default();
        let own = TurnRow { host, pid, started: started(pid), until: 0 };
        let turn =
            Turn { service: github.service.clone(), key: github.context.repo.to_string(), own };
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
        own.until = now().plus(LIFE).ms();
        self.service.change_kept(SYNCERS, move |rows| {
            let other: Option<TurnRow> =
                rows.get(&key).and_then(|bytes| serde_json::from_slice(bytes).ok());
            if let Some(other) = other.filter(|other| is_live(other, &own)) {
                return (Vec::new(), Some(other));
            }
            (vec![(key, serde_json::to_vec(&own).ok())], None)
        })
    }

    pub(crate) fn renew(&self) -> Result<(), Refusal> {
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
            let mine = other.is_some_and(|row| row.pid == own.pid && row.started == own.started);
            (if mine { vec![(key, None)] } else { Vec::new() }, ())
        });
    }
}

/// A process of this host that has ended has no turn.
fn is_live(other: &TurnRow, own: &TurnRow) -> bool {
    let is_own = other.pid == own.pid && other.started == own.started && other.host == own.host;
    let is_dead = other.host == own.host && started(other.pid) != other.started;
    !is_own && !is_dead && other.until > now().ms()
}

/// Returns when a process started, as the system counts it; empty for one that is not there.
fn started(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of a program may have spaces and parentheses in it.
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    rest.split_whitespace().nth(19).unwrap_or_default().to_owned()
}
