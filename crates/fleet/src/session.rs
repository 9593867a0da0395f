//! The session of a client: which it is, and what it has cost, for whoever takes it up.

use crate::place::write_private;
use comity_core::money::Usd;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Session {
    pub(crate) id: Option<String>,
    /// As the client says; none of it is this run's alone.
    pub(crate) total: Usd,
}

impl Session {
    /// Reads what an earlier keeper left; nothing where there was none.
    pub(crate) fn read(path: &Path) -> Session {
        let bytes = std::fs::read(path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// A session that cannot be written is begun anew by the next run.
    pub(crate) fn write(&self, path: &Path) {
        if let Ok(bytes) = serde_json::to_vec(self) {
            let _ = write_private(path, &bytes);
        }
    }
}
