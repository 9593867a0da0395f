//! What is remembered about GitHub beside the log: what was seen there, which can be seen again, and what comity did there,
//! which nobody else knows.

use comity_core::ids::RepoName;
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_engine::{KeptRows, Service};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The space of the accounts' ledgers.
pub const ACCOUNTS: &str = "github-account";
/// The space that says who keeps what in step.
pub const SYNCERS: &str = "github-sync";

pub fn space(repo: &RepoName) -> String {
    format!("github:{repo}")
}

/// How far the whole is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The last event of the log that was looked at, and its hash.
    pub fed: u64,
    pub fed_hash: String,
    /// The last event from which links and pauses were taken.
    pub absorbed: u64,
    pub account: Option<String>,
    pub last_ok: Option<Timestamp>,
    pub last_error: Option<String>,
}

/// How far a repository was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursor {
    /// Issues and comments are asked for from these times on.
    pub issues_since: Option<String>,
    pub comments_since: Option<String>,
    /// What GitHub called the last answer to a question.
    pub etags: BTreeMap<String, String>,
    pub full_at: i64,
}

/// An issue as it was seen last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    pub title: String,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    pub closed: bool,
    pub not_planned: bool,
    pub author: String,
    pub updated_at: String,
    /// The hash of title and body.
    pub text: String,
}

/// What is known of an issue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueRow {
    pub task: Option<String>,
    /// The event that linked it: only later ones are said there.
    pub linked: u64,
    pub seen: Seen,
    /// What GitHub did last there that was looked at.
    pub event: u64,
    /// It shows another state than when it was seen before, and nobody looked for who did that.
    pub moved: bool,
    /// Comments that were looked at, with the time of their text.
    pub comments: BTreeMap<u64, String>,
    /// Another engine writes to it with the same account: this one does not.
    pub other_engine: Option<String>,
    /// Whom comity assigned.
    pub assigned: BTreeSet<String>,
    /// Who is asked when somebody must answer; empty where there is nobody.
    pub reviewer: Option<String>,
    /// Its item on the board, and the word that it has there.
    pub item: Option<u64>,
    pub board: Option<String>,
    /// Why nothing is written to it.
    pub paused: Option<String>,
    /// Somebody set the label that holds it.
    pub held: bool,
    /// It was closed by somebody who may, although its task is not finished.
    pub left_closed: bool,
    /// It was closed and its task finished when it was seen first: it stays as it is until somebody changes it.
    pub at_rest: bool,
    /// Its questions were answered; the next claim says so.
    pub resuming: bool,
    /// When the task was queued again by answers.
    pub answered_at: i64,
    /// What was put back: when, what, and whose wish it was.
    pub put_back: Vec<(i64, String, String)>,
    /// The text that is worked on, and the one that waits to be accepted.
    pub accepted: Option<String>,
    pub waiting: Option<String>,
    /// The comment that says how the work goes, and the claim that it is about.
    pub progress: Option<u64>,
    pub claim: u64,
    /// Whether comity made the issue, and the hash of the text that it wrote last.
    pub own_text: Option<String>,
    /// The mark of the issue that comity made.
    pub own_mark: Option<String>,
    pub gone: bool,
    /// When this engine took or renewed the ref of the issue, where claims are refs.
    pub claim_ref: Option<i64>,
    /// Its commit, and the state that it tells.
    pub claim_sha: String,
    pub claim_state: String,
    /// What comity did there with an account that a person uses, too.
    pub wrote: BTreeSet<String>,
    /// Steps that GitHub takes and does not do, or refuses.
    pub without_effect: BTreeSet<String>,
}

impl IssueRow {
    /// Nothing is written there: somebody said so, or another engine writes.
    pub fn is_held_back(&self) -> bool {
        self.paused.is_some() || self.held || self.other_engine.is_some()
    }

    /// What is left when what was seen on GitHub is forgotten. Whoever did something there since is looked for.
    #[must_use]
    pub fn unseen(self) -> IssueRow {
        let (seen, item, board) = (Seen::default(), None, None);
        IssueRow { seen, item, board, gone: false, moved: true, ..self }
    }
}

/// Something to be said or made on GitHub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpRow {
    /// The op as the marker names it.
    pub op: String,
    pub kind: String,
    pub issue: String,
    pub task: Option<String>,
    pub text: String,
    pub tries: u32,
    /// Whether it may have been sent already.
    pub unsure: bool,
    /// When it was sent last.
    pub sent_at: i64,
    pub not_before: i64,
    pub dead: Option<String>,
    /// It goes on in the comment of this claim.
    pub edits: Option<u64>,
}

/// The rights of a login, as they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LevelRow {
    pub level: String,
    pub at: i64,
}

/// The rows of a repository of comity, with what changed in them.
pub struct Rows {
    space: String,
    rows: KeptRows,
    dirty: BTreeSet<String>,
}

impl Rows {
    pub fn open(service: &Service, repo: &RepoName) -> Result<Rows, Refusal> {
        let space = space(repo);
        Ok(Rows { rows: service.kept(&space)?, space, dirty: BTreeSet::new() })
    }

    pub fn get<T: DeserializeOwned + Default>(&self, key: &str) -> T {
        let row = self.rows.get(key);
        row.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    pub fn put<T: Serialize>(&mut self, key: &str, value: &T) {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        if self.rows.get(key) != Some(&bytes) {
            self.rows.insert(key.to_owned(), bytes);
            self.dirty.insert(key.to_owned());
        }
    }

    pub fn remove(&mut self, key: &str) {
        if self.rows.remove(key).is_some() {
            self.dirty.insert(key.to_owned());
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.rows.contains_key(key)
    }

    /// Lists the keys below a prefix, without the prefix.
    pub fn below(&self, prefix: &str) -> Vec<String> {
        let from = self.rows.range(prefix.to_owned()..);
        let own = from.take_while(|(key, _)| key.starts_with(prefix));
        own.map(|(key, _)| key[prefix.len()..].to_owned()).collect()
    }

    /// Writes what changed, all of it or none.
    pub fn save(&mut self, service: &Service) -> Result<(), Refusal> {
        if self.dirty.is_empty() {
            return Ok(());
        }
        let dirty = std::mem::take(&mut self.dirty);
        let changes = dirty.into_iter().map(|key| (key.clone(), self.rows.get(&key).cloned()));
        let changes: Vec<_> = changes.collect();
        service.change_kept(&self.space, move |_| (changes, ()))
    }

    pub fn progress(&self) -> Progress {
        self.get("main")
    }

    pub fn issue(&self, key: &str) -> IssueRow {
        self.get(&format!("issue/{key}"))
    }

    pub fn set_issue(&mut self, key: &str, row: &IssueRow) {
        self.put(&format!("issue/{key}"), row);
    }

    pub fn issues(&self) -> Vec<String> {
        self.below("issue/")
    }

    pub fn ops(&self) -> Vec<(String, OpRow)> {
        let keys = self.below("op/").into_iter();
        keys.map(|key| (format!("op/{key}"), self.get(&format!("op/{key}")))).collect()
    }
}

/// What is known of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullRow {
    pub etags: BTreeMap<String, String>,
    pub head: String,
    pub merged: bool,
    pub closed: bool,
    pub merge_commit: String,
    pub merged_by: String,
    /// The branch that it goes to.
    pub base: String,
    /// The version of the task when its merge was refused last.
    pub judged: Option<u64>,
    /// Checks, reviews and merges that were looked at.
    pub sources: BTreeSet<String>,
}
