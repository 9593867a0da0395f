//! GitHub, in words.

use super::Screen;
use super::words::wrap;
use comity_api::{
    ForgottenRows, GithubChecks, GithubImport, GithubQuotaAnswer, GithubSetupAnswer,
    GithubStatusAnswer, GithubSync, GithubSyncAnswer, IssueAnswer, PublishAnswer, PullAnswer,
};

/// The width of the state of a check.
const STATE_COLUMNS: usize = 8;

fn text(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Tells whether a pass did or found anything.
pub fn is_news(report: &GithubSync) -> bool {
    !report.inbound.is_empty() || !report.out.is_empty() || !report.findings.is_empty()
}

pub fn lines(report: &GithubSync) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &report.inbound {
        let task = one.task.as_deref().map(|task| format!(" ({task})")).unwrap_or_default();
        let why = one.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!(
            "{}{task}: {} asked for {}, {}{why}",
            one.issue, one.by, one.wish, one.verdict
        ));
    }
    for one in &report.out {
        lines.push(format!("{}: {} {} ({})", one.issue, one.kind, one.what, one.state));
    }
    for one in &report.findings {
        let issue = one.issue.as_deref().map(|issue| format!("{issue}: ")).unwrap_or_default();
        lines.push(format!("{issue}{}: {}; {}", one.kind, one.why, one.hint));
    }
    lines
}

pub fn sync(answer: &GithubSyncAnswer, _: &Screen) -> String {
    let report = &answer.sync;
    let mut lines = lines(report);
    let left = match (report.pending, report.dead, report.held) {
        (0, 0, 0) => "everything is in step".to_owned(),
        (pending, dead, 0) => format!("{pending} still to send, {dead} cannot be sent"),
        (pending, dead, held) => {
            format!("{pending} still to send, {held} held back, {dead} cannot be sent")
        }
    };
    let done = if report.dry_run { "This is what would be done" } else { "Done" };
    lines.push(format!(
        "{done}: {} questions ({} unchanged), {} writes; {left}.",
        report.reads, report.not_modified, report.writes
    ));
    text(lines)
}

pub fn status(answer: &GithubStatusAnswer, _: &Screen) -> String {
    let status = &answer.github;
    let never = || "never".to_owned();
    let mut lines = vec![
        format!("repository  {}", status.repo),
        format!("account     {}", status.account.as_deref().unwrap_or("not known yet")),
        format!("last sync   {}", status.last_ok.map_or_else(never, |at| at.to_string())),
        format!("behind      {} events", status.behind),
        format!("to send     {} (and {} that cannot be sent)", status.pending, status.dead),
    ];
    lines.extend(
        Some(status.held)
            .filter(|held| *held > 0)
            .map(|held| format!("held back   {held}, until somebody resumes the issue")),
    );
    lines.extend(status.last_error.as_ref().map(|error| format!("last error  {error}")));
    lines.extend(status.paused.iter().map(|issue| format!("paused      {issue}")));
    text(lines)
}

pub fn quota(answer: &GithubQuotaAnswer, _: &Screen) -> String {
    let quota = &answer.quota;
    let number =
        |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let mut lines = vec![
        format!("account    {}", quota.account.as_deref().unwrap_or("not known yet")),
        format!("this hour  {} of {} questions left", number(quota.remaining), number(quota.limit)),
        format!(
            "written    {} in the last minute, {} in the last hour",
            quota.writes_minute, quota.writes_hour
        ),
    ];
    lines.extend(quota.wait_until.map(|at| format!("waits      until {at}")));
    text(lines)
}

pub fn setup(answer: &GithubSetupAnswer, _: &Screen) -> String {
    let verb = if answer.dry_run { "would make" } else { "made" };
    let mut lines: Vec<String> =
        answer.labels.iter().map(|label| format!("{verb} the label {label}")).collect();
    lines.extend(answer.hook.as_ref().map(|url| format!("{verb} a hook for {url}")));
    if lines.is_empty() {
        lines.push(format!("{} has every label.", answer.repo));
    }
    text(lines)
}

pub fn checks(answer: &GithubChecks, screen: &Screen) -> String {
    let line = |check: &comity_api::GithubCheck| {
        let hint = check.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let said = format!("{}: {}{hint}", check.name, check.message);
        let said = wrap(&said, &" ".repeat(STATE_COLUMNS + 1), screen.columns);
        format!("{:STATE_COLUMNS$} {}", check.state, said.trim())
    };
    text(answer.checks.iter().map(line).collect())
}

pub fn published(answer: &PublishAnswer, _: &Screen) -> String {
    let line =
        |one: &comity_api::PublishedTask| format!("{} is {} ({})", one.task, one.issue, one.url);
    text(answer.published.iter().map(line).collect())
}

pub fn pull(answer: &PullAnswer, _: &Screen) -> String {
    format!("{} has pull request #{} ({})\n", answer.task, answer.number, answer.url)
}

pub fn issue(answer: &IssueAnswer, _: &Screen) -> String {
    let what =
        if answer.paused { "comity writes nothing there" } else { "comity writes there again" };
    format!("{}: {what}\n", answer.issue)
}

pub fn forgotten(answer: &ForgottenRows, _: &Screen) -> String {
    format!("Forgot {} rows; the next sync reads GitHub again.\n", answer.forgotten)
}

pub fn imported(answer: &GithubImport, _: &Screen) -> String {
    let line = |one: &comity_api::GithubImported| {
        let task = one.task.as_deref().unwrap_or("-");
        format!("{:8} {} {} {} ({})", one.state, one.issue, task, one.title, one.status)
    };
    let mut lines: Vec<String> = answer.imported.iter().map(line).collect();
    lines.extend(
        answer
            .findings
            .iter()
            .map(|one| format!("{}: {}", one.issue.as_deref().unwrap_or_default(), one.why)),
    );
    if lines.is_empty() {
        lines.push("There is nothing to import.".to_owned());
    }
    text(lines)
}
