//! The log for people: a section a task with its summary and timeline, from the events alone.

use crate::caller::Caller;
use crate::service::Service;
use comity_api::ReportAnswer;
use comity_core::chain::Stored;
use comity_core::ids::{RepoName, TaskId};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::collab;
use comity_store::{EventQuery, ReadTx, TaskQuery};
use serde_json::Value;
use std::io::Write;

/// Longest note in a timeline, in characters.
const NOTE_CHARS_MAX: usize = 160;

/// What a task's events add up to.
#[derive(Default)]
struct Summary {
    title: Option<String>,
    status: Option<String>,
    assignee: Option<String>,
    branch: Option<String>,
    tests: Option<String>,
    pr: Option<String>,
    merged: Option<String>,
}

fn text(fields: &Value, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn fields(event: &Stored) -> Value {
    event.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

fn is_reported(fields: &Value) -> bool {
    fields.get("reported").and_then(Value::as_bool).unwrap_or(false)
}

impl Summary {
    fn add(&mut self, event: &Stored) {
        let fields = fields(event);
        if is_reported(&fields) {
            return;
        }
        match event.event.as_str() {
            "task_created" => {
                self.title = text(&fields, "title");
                self.status = Some("queued".to_owned());
                self.assignee = text(&fields, "assignee");
            }
            "task_updated" => {
                self.title = text(&fields, "title").or(self.title.take());
                self.branch = text(&fields, "branch").or(self.branch.take());
            }
            "task_assigned" => self.assignee = text(&fields, "assignee"),
            "task_claimed" => {
                self.assignee = text(&fields, "assignee");
                self.branch = text(&fields, "branch").or(self.branch.take());
            }
            "status_changed" => self.status = text(&fields, "new_status"),
            "tests_run" => {
                let (gate, result) = (text(&fields, "gate"), text(&fields, "result"));
                self.tests =
                    Some(format!("{} {}", gate.unwrap_or_default(), result.unwrap_or_default()));
            }
            "pr_opened" => self.pr = text(&fields, "pr"),
            "review_requested" => self.branch = text(&fields, "branch").or(self.branch.take()),
            "merged" => {
                self.merged = text(&fields, "sha");
                self.pr = None;
            }
            _ => {}
        }
    }

    fn lines(&self) -> Vec<String> {
        [
            ("Status", &self.status),
            ("Assignee", &self.assignee),
            ("Branch", &self.branch),
            ("Last tests", &self.tests),
            ("Open pull request", &self.pr),
            ("Merged", &self.merged),
        ]
        .into_iter()
        .filter_map(|(name, value)| {
            value.as_ref().map(|value| format!("- {name}: {}", one_line(value)))
        })
        .collect()
    }
}

/// What is said comes from agents: it stays on its line and cannot open a heading or a list.
fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    comity_core::ids::shorten(&flat.chars().take(NOTE_CHARS_MAX).collect::<String>())
        .replace('`', "'")
}

fn timeline_line(event: &Stored) -> String {
    let fields = fields(event);
    let status = text(&fields, "old_status")
        .zip(text(&fields, "new_status"))
        .map(|(old, new)| format!("{old} → {new}"));
    let detail: Vec<String> = status
        .into_iter()
        .chain(
            [
                "path", "gate", "result", "lock_id", "subtask", "reason", "notes", "needs",
                "question", "answer", "text", "sha", "pr",
            ]
            .iter()
            .filter_map(|key| text(&fields, key)),
        )
        .map(|part| one_line(&part))
        .collect();
    let detail =
        if detail.is_empty() { String::new() } else { format!(": {}", detail.join(" · ")) };
    let mark = if is_reported(&fields) { " (reported)" } else { "" };
    format!("- {} {} by {}{mark}{detail}", event.ts, event.event, event.agent)
}

fn write_failed(error: &std::io::Error) -> Refusal {
    Refusal::new(Code::Internal, format!("the report cannot be written: {error}"))
}

fn each(
    tx: &mut dyn ReadTx,
    repo: &RepoName,
    task: Option<&TaskId>,
    mut each: impl FnMut(&Stored) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut query = EventQuery {
        repo: Some(repo.clone()),
        task: task.cloned(),
        limit: PAGE_MAX,
        ..EventQuery::default()
    };
    loop {
        let events = tx.events(&query)?;
        let Some(last) = events.last() else { return Ok(()) };
        query.after = last.seq;
        events.iter().try_for_each(&mut each)?;
    }
}

impl Service {
    pub(crate) fn log_report(&self, caller: &Caller) -> Result<ReportAnswer, Refusal> {
        let mut text = Vec::new();
        self.report_log(caller, &mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(ReportAnswer { report: Some(text), output: None })
    }

    /// Writes the tasks by state.
    pub(crate) fn board_report(&self, caller: &Caller) -> Result<ReportAnswer, Refusal> {
        let records: Vec<_> = self.all_tasks(caller)?.iter().map(collab::task_record).collect();
        let text = collab::board(&records, &collab::seconds(self.store_time()?));
        Ok(ReportAnswer { report: Some(text), output: None })
    }

    /// Writes the log of a repository as Markdown. Reads page by page, so memory does not grow.
    pub fn report_log(&self, caller: &Caller, out: &mut dyn Write) -> Result<(), Refusal> {
        self.read_stored(|tx| {
            let now = tx.moment()?.now;
            let head = format!("# Collaboration Log\n\nGenerated: {now}\n");
            out.write_all(head.as_bytes()).map_err(|error| write_failed(&error))?;
            let mut query = TaskQuery::of(caller.repo.clone(), PAGE_MAX);
            loop {
                let tasks = tx.tasks(&query)?;
                let Some(last) = tasks.last() else { break };
                query.after = last.number;
                for task in &tasks {
                    section(tx, &caller.repo, &task.id, out)?;
                }
            }
            loose_events(tx, &caller.repo, out)
        })
    }
}

fn section(
    tx: &mut dyn ReadTx,
    repo: &RepoName,
    id: &TaskId,
    out: &mut dyn Write,
) -> Result<(), Refusal> {
    // Two passes, so that a task with a million events takes no more memory than one with ten.
    let mut summary = Summary::default();
    each(tx, repo, Some(id), |event| {
        summary.add(event);
        Ok(())
    })?;
    let title = summary.title.as_deref().map(one_line).unwrap_or_default();
    let mut text = format!("\n## {id}\n\n{title}\n\n");
    for line in summary.lines() {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str("\n### Timeline\n\n");
    out.write_all(text.as_bytes()).map_err(|error| write_failed(&error))?;
    each(tx, repo, Some(id), |event| {
        let line = format!("{}\n", timeline_line(event));
        out.write_all(line.as_bytes()).map_err(|error| write_failed(&error))
    })
}

fn loose_events(tx: &mut dyn ReadTx, repo: &RepoName, out: &mut dyn Write) -> Result<(), Refusal> {
    let mut first = true;
    each(tx, repo, None, |event| {
        if event.task.is_some() {
            return Ok(());
        }
        let heading = if first { "\n## (none)\n\n### Timeline\n\n" } else { "" };
        first = false;
        let line = format!("{heading}{}\n", timeline_line(event));
        out.write_all(line.as_bytes()).map_err(|error| write_failed(&error))
    })
}
