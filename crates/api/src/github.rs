//! What is asked about GitHub, and the answers.

use comity_core::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyncGithub {
    /// Look at everything again, not only at what changed.
    pub full: bool,
    /// Only show what would be done.
    pub dry_run: bool,
    /// Only these tasks; without any, all.
    pub tasks: Vec<String>,
    /// Send at most so many writes.
    pub max_writes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubSyncAnswer {
    pub sync: GithubSync,
}

/// What a pass did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubSync {
    pub repo: String,
    pub dry_run: bool,
    /// Answers of GitHub that were read.
    pub reads: u64,
    /// Of these, answers that nothing changed; they cost nothing.
    pub not_modified: u64,
    pub writes: u64,
    #[serde(rename = "in")]
    pub inbound: Vec<GithubInbound>,
    pub out: Vec<GithubOutbound>,
    /// What is still to be sent.
    pub pending: u64,
    /// What cannot be sent.
    pub dead: u64,
    /// What waits for somebody to resume the issue.
    pub held: u64,
    /// Issues to which nothing is written.
    pub paused: Vec<String>,
    pub findings: Vec<GithubFinding>,
    pub quota: GithubQuota,
}

/// What somebody asked for on GitHub, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubInbound {
    pub issue: String,
    pub task: Option<String>,
    /// The login.
    pub by: String,
    /// Who acts here.
    #[serde(rename = "as")]
    pub actor: Option<String>,
    pub wish: String,
    pub verb: Option<String>,
    /// `applied`, `refused` or `ignored`.
    pub verdict: String,
    pub code: Option<String>,
    pub why: Option<String>,
    /// What it comes from, such as `comment:17`.
    pub source: String,
}

/// What comity says on GitHub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubOutbound {
    pub op: String,
    pub issue: String,
    pub task: Option<String>,
    pub kind: String,
    pub what: String,
    /// `planned`, `sent`, `found`, `pending`, `held` or `dead`.
    pub state: String,
}

/// Something that somebody should know or mend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubFinding {
    pub kind: String,
    pub issue: Option<String>,
    pub why: String,
    pub hint: String,
}

/// What is left to ask and to write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubQuota {
    pub account: Option<String>,
    /// Requests of this hour that are left, as GitHub says.
    pub remaining: Option<u64>,
    pub limit: Option<u64>,
    pub reset: Option<Timestamp>,
    /// Writes of the last minute and the last hour.
    pub writes_minute: u64,
    pub writes_hour: u64,
    /// Nothing is sent before.
    pub wait_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubQuotaAnswer {
    pub quota: GithubQuota,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubStatusAnswer {
    pub github: GithubStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubStatus {
    pub repo: String,
    pub account: Option<String>,
    pub last_ok: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Events of the log that were not looked at yet.
    pub behind: u64,
    pub pending: u64,
    pub dead: u64,
    /// What waits for somebody to resume the issue.
    pub held: u64,
    pub paused: Vec<String>,
    pub quota: GithubQuota,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetupGithub {
    /// Send events of the repository to this address.
    pub hook: Option<String>,
    /// Only show what would be done.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubSetupAnswer {
    pub repo: String,
    pub account: Option<String>,
    pub dry_run: bool,
    /// Labels that were made, or would be.
    pub labels: Vec<String>,
    /// Labels that were there.
    pub present: Vec<String>,
    pub hook: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PublishTasks {
    pub ids: Vec<String>,
    /// The number of the issue that these are parts of.
    pub epic: Option<u64>,
    /// The repository, as `OWNER/NAME`.
    pub to: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishAnswer {
    pub published: Vec<PublishedTask>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedTask {
    pub task: String,
    pub issue: String,
    pub url: String,
    /// `made`, or `found` when the issue was there.
    pub state: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PullAnswer {
    pub task: String,
    pub number: u64,
    pub url: String,
    /// `made`, or `found` when the pull request was there.
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfIssue {
    /// `N`, or `OWNER/NAME#N` of another repository.
    pub issue: String,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueAnswer {
    pub issue: String,
    pub task: Option<String>,
    pub paused: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenRows {
    /// Rows beside the log that are gone.
    pub forgotten: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportIssues {
    /// Only these issues.
    pub issues: Vec<u64>,
    /// Only issues with this label.
    pub label: Option<String>,
    /// `open` or `closed`; without it, open ones.
    pub state: Option<String>,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubImport {
    pub dry_run: bool,
    pub imported: Vec<GithubImported>,
    pub findings: Vec<GithubFinding>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubImported {
    pub issue: String,
    pub task: Option<String>,
    pub title: String,
    pub status: String,
    /// `made`, `planned` or `present`.
    pub state: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubChecks {
    pub checks: Vec<GithubCheck>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GithubCheck {
    pub name: String,
    /// `ok`, `warning` or `failed`.
    pub state: String,
    pub message: String,
    pub hint: Option<String>,
}
