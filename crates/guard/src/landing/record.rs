//! What comity knows of a landing whose branch is about to move. The store keeps it, and not the repository: anybody can set a
//! ref, and what is believed here finishes a task.

use super::group::{Engine, Entry};
use comity_api::LandedGate;
use comity_core::observed::{GateSeen, LandingSeen};
use comity_core::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

/// Where the records are kept, beside the log.
const SPACE: &str = "landing";

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The submitted commit.
    pub work: String,
    /// What it was merged with.
    pub base: String,
    /// The commit that has both.
    pub merged: String,
    /// The commit whose settings judged it; none where those of the root's checkout did.
    pub judged_by: Option<String>,
    /// The gates that passed on the files of the landing.
    pub passed: Vec<GateSeen>,
    pub gates: Vec<LandedGate>,
}

impl Record {
    pub fn seen(&self) -> LandingSeen {
        let Record { work, merged, judged_by, .. } = self.clone();
        LandingSeen { work, merged, judged_by }
    }
}

impl Engine<'_> {
    /// Returns what is known of a landing of the same work.
    pub fn record_of(&self, entry: &Entry) -> Result<Option<Record>, Refusal> {
        let rows = self.service.kept(SPACE)?;
        let found = rows.get(&self.key(entry)).and_then(|row| serde_json::from_slice(row).ok());
        Ok(found.filter(|record: &Record| record.work == entry.work))
    }

    /// Writes records down before the branch moves.
    pub fn remember(&self, group: &[Entry], records: &[Record]) -> Result<(), Refusal> {
        let mut rows = Vec::new();
        for (entry, record) in group.iter().zip(records) {
            let row = serde_json::to_vec(record).map_err(|error| {
                Refusal::new(Code::Internal, format!("BUG: the record of a landing: {error}"))
            })?;
            rows.push((self.key(entry), Some(row)));
        }
        self.service.change_kept(SPACE, move |_| (rows, ()))
    }

    /// Forgets a landing that is over. What is left behind is written anew by the next landing of the task.
    pub fn forget(&self, entry: &Entry) {
        entry.journal.clear(&self.git);
        let key = self.key(entry);
        let _ = self.service.change_kept(SPACE, move |rows| {
            let row = rows.contains_key(&key).then_some((key, None));
            (row.into_iter().collect(), ())
        });
    }

    fn key(&self, entry: &Entry) -> String {
        format!("{} {}", self.caller.repo, entry.task.id)
    }
}
