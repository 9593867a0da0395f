//! A lease: the hold of one owner on the paths of one pattern, for a time.

use crate::ids::{AgentId, Fence, LeaseId, RepoName, Seq, TaskId};
use crate::pattern::{Pattern, RepoPath};
use crate::time::{Millis, Timestamp};
use crate::word_enum::word_enum;
use serde::{Deserialize, Serialize};

word_enum! {
    /// Whether others may hold the same paths.
    #[derive(Default)]
    pub enum LeaseMode {
        /// Nobody else.
        #[default]
        Exclusive => "exclusive",
        /// Others that share, too.
        Shared => "shared",
    }
}

/// Files that git cannot merge by their kind: two who change one overwrite each other.
pub const UNMERGEABLE: &str = "**/*.{png,jpg,jpeg,gif,webp,ico,bmp,psd,pdf,zip,gz,xz,bz2,7z,tar,jar,wasm,so,dll,exe,bin,\
woff,woff2,ttf,otf,mp3,mp4,mov,wav,ogg,sqlite,db,parquet,docx,xlsx,pptx}";

/// Tells whether patterns cover a declared one. A declared pattern is read as if it were a path, so that `db/migrations/*`
/// lies below `**/migrations/**` and `src/**` does not.
pub fn is_covered(declared: &Pattern, by: &[String]) -> bool {
    let Ok(path) = RepoPath::parse(declared.as_str()) else { return false };
    let covers = |text: &str| {
        Pattern::parse_with(text, declared.case_rule()).is_ok_and(|pattern| pattern.covers(&path))
    };
    covers(UNMERGEABLE) || by.iter().any(|text| covers(text))
}

/// A live lease. One that has ended is a [`PastLease`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    pub repo: RepoName,
    pub id: LeaseId,
    /// The normalised pattern.
    pub path: String,
    pub mode: LeaseMode,
    pub owner: AgentId,
    /// What for, in words or as a task id.
    pub purpose: Option<String>,
    /// The task whose claim it belongs to; it ends with that claim.
    pub claim_of: Option<TaskId>,
    pub fence: Fence,
    pub acquired_at: Timestamp,
    /// When it was last renewed by a command.
    pub renewed_at: Timestamp,
    /// How long it lives without a sign of life.
    pub ttl: Millis,
    /// It was granted when its paths had been changed already, or when nobody could see whether they were.
    #[serde(default)]
    pub late: bool,
}

/// A lease that has ended: whose paths it were, and from when to when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastLease {
    pub repo: RepoName,
    pub id: LeaseId,
    pub path: String,
    pub mode: LeaseMode,
    pub owner: AgentId,
    pub claim_of: Option<TaskId>,
    pub fence: Fence,
    pub acquired_at: Timestamp,
    pub late: bool,
    /// The event that ended it.
    pub ended: Seq,
    /// When it ended; one that ran out ended before anybody noticed.
    pub ended_at: Timestamp,
    /// It ran out.
    pub expired: bool,
}
