//! The handlers of GitHub's rows.

use crate::bus::{Bus, Github, home};
use crate::client::now;
use crate::quota::Ledger;
use crate::rows::{ACCOUNTS, Cursor, IssueRow, OpRow, PullRow, Rows, space};
use crate::sync;
use comity_api::{
    ForgottenRows, GithubQuota, GithubQuotaAnswer, GithubStatus, GithubStatusAnswer, IssueAnswer,
    OfIssue,
};
use comity_core::command::Command;
use comity_core::outside::OutsideNote;
use comity_core::refusal::Refusal;
use comity_engine::Caller;
use std::collections::BTreeMap;

comity_engine::handlers_of! { Github, register {
    ImportGithub(github, caller, input) => crate::import::import(github, caller, &input);
    GithubSetup(github, caller, input) => crate::setup::setup(github, &input);
    GithubSync(github, caller, input) => sync::sync(github, &input);
    GithubStatus(github, caller, input) => status(github);
    GithubQuota(github, caller, input) => quota(github);
    GithubDoctor(github, caller, input) => crate::doctor::doctor(github);
    GithubPublish(github, caller, input) => crate::publish::publish(github, caller, &input);
    GithubPr(github, caller, input) => crate::publish::pull(github, caller, &input.id);
    GithubPause(github, caller, input) => {
        let cause = input.reason.clone().unwrap_or_else(|| "paused by hand".to_owned());
        note(github, caller, &input, |issue| OutsideNote::Paused { issue, cause }, true)
    };
    GithubResume(github, caller, input) => {
        note(github, caller, &input, |issue| OutsideNote::Resumed { issue }, false)
    };
    GithubForget(github, caller, input) => forget(github);
} }

fn status(github: &Github) -> Result<GithubStatusAnswer, Refusal> {
    let settings = github.context.config.github()?;
    let repo = home(&github.context, &settings)?;
    let rows = Rows::open(&github.service, &github.context.repo)?;
    let progress = rows.progress();
    let ops = rows.ops();
    let dead = ops.iter().filter(|(_, op)| op.dead.is_some()).count() as u64;
    let waits =
        |op: &&(String, OpRow)| op.1.dead.is_none() && rows.issue(&op.1.issue).is_held_back();
    let held = ops.iter().filter(waits).count() as u64;
    let paused = rows.issues().into_iter().filter(|key| rows.issue(key).is_held_back());
    let head = github.service.log_head()?.seq;
    Ok(GithubStatusAnswer {
        github: GithubStatus {
            repo,
            quota: ledger(github, progress.account.clone())?,
            account: progress.account,
            last_ok: progress.last_ok,
            last_error: progress.last_error,
            behind: head.saturating_sub(progress.fed),
            pending: ops.len() as u64 - dead - held,
            dead,
            held,
            paused: paused.collect(),
        },
    })
}

fn ledger(github: &Github, account: Option<String>) -> Result<GithubQuota, Refusal> {
    let settings = github.context.config.github()?;
    let Some(login) = &account else { return Ok(GithubQuota::default()) };
    let rows = github.service.kept(ACCOUNTS)?;
    let row = rows.get(&format!("ledger/{}/{login}", settings.api_url));
    let ledger: Ledger =
        row.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    Ok(ledger.view(account, now()))
}

fn quota(github: &Github) -> Result<GithubQuotaAnswer, Refusal> {
    let rows = Rows::open(&github.service, &github.context.repo)?;
    Ok(GithubQuotaAnswer { quota: ledger(github, rows.progress().account)? })
}

/// Keeps in the log that an issue is paused or resumed; the next pass goes by it.
fn note(
    github: &Github,
    caller: &Caller,
    input: &OfIssue,
    note: impl FnOnce(String) -> OutsideNote,
    paused: bool,
) -> Result<IssueAnswer, Refusal> {
    let settings = github.context.config.github()?;
    let home = home(&github.context, &settings)?;
    let key = crate::bus::IssueKey::parse(&input.issue, &home).ok_or_else(|| {
        Refusal::input(format!("{:?} is no issue", input.issue)).hint("give N or OWNER/NAME#N")
    })?;
    let rows = Rows::open(&github.service, &github.context.repo)?;
    let task = rows.issue(&key.to_string()).task;
    let command = Command::Outside { task: task.clone(), note: note(key.to_string()) };
    github.service.execute(caller.request(command))?;
    Ok(IssueAnswer { issue: key.to_string(), task, paused })
}

/// Forgets what was seen on GitHub, so that it is read again. What comity did there nobody else knows: that stays, and
/// what may have been sent is looked for before it is sent again.
fn forget(github: &Github) -> Result<ForgottenRows, Refusal> {
    let forgotten = github.service.change_kept(&space(&github.context.repo), |rows| {
        let changes = rows.iter().map(|(key, bytes)| (key.clone(), left(key, bytes)));
        let changes: Vec<_> =
            changes.filter(|(key, left)| rows.get(key) != left.as_ref()).collect();
        let count = changes.len() as u64;
        (changes, count)
    })?;
    Ok(ForgottenRows { forgotten })
}

/// Returns what is left of a row without what was seen on GitHub.
fn left(key: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let (kind, _) = key.split_once('/').unwrap_or((key, ""));
    match kind {
        "issue" => row_of(bytes).and_then(|row: IssueRow| serde_json::to_vec(&row.unseen()).ok()),
        "op" => row_of(bytes)
            .and_then(|op: OpRow| serde_json::to_vec(&OpRow { unsure: true, ..op }).ok()),
        "pull" => row_of(bytes).and_then(|row: PullRow| {
            let sources = row.sources;
            serde_json::to_vec(&PullRow { sources, ..PullRow::default() }).ok()
        }),
        // What was said there meanwhile is still to be read.
        "repo" => row_of(bytes).and_then(|row: Cursor| {
            let row = Cursor { etags: BTreeMap::new(), full_at: 0, ..row };
            serde_json::to_vec(&row).ok()
        }),
        "main" | "said" => Some(bytes.to_vec()),
        _ => None,
    }
}

fn row_of<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

impl Github {
    /// Opens the account, to see that it answers.
    pub(crate) fn bus(&self, dry_run: bool) -> Result<Bus, Refusal> {
        Bus::open(self, dry_run)
    }
}
