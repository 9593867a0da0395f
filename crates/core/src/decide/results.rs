//! Handing in with a result contract: what it says becomes events, and its status decides the step.

use super::access::wrong_status;
use super::input::{Check, at_most, json_ok, line, long, optional, present, word};
use super::stop::Asked;
use super::{Answer, Rule};
use crate::command::{
    Extra, IssueKind, ReportStatus, ReportedIssue, Submission, TIP_LEVEL, WorkReport, grave_lines,
};
use crate::event::{DecisionAsked, Event, MemoryWritten, Note, ResultReported};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::{DecisionId, MemoryId};
use crate::limits;
use crate::memory::{GLOBAL_SCOPE, MemoryType};
use crate::refusal::{Code, Refusal};
use crate::status::Status;
use crate::task::Task;
use serde_json::{Value, json};

/// The type of the notes that a result leaves behind.
const NOTE_KIND: &str = "discovery";
/// What is said when a blocked result says nothing.
const NO_NEEDS: &str = "the agent did not say what it needs";

pub(super) fn check_form(report: &WorkReport) -> Check {
    word("contract", &report.contract)?;
    for (what, length) in [
        ("files_modified", report.files_modified.len()),
        ("log", report.log.len()),
        ("issues", report.issues.len()),
    ] {
        at_most(what, length, limits::REPORT_ENTRIES_MAX, "entries")?;
    }
    for file in &report.files_modified {
        line("path", &file.path)?;
    }
    for entry in &report.log {
        word("level", &entry.level)?;
        long("message", &entry.message)?;
    }
    for issue in &report.issues {
        present("description", &issue.description)?;
        long("description", &issue.description)?;
    }
    optional(report.pr.as_ref(), |text| line("pull request", text))?;
    at_most("evidence", report.evidence.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for evidence in &report.evidence {
        word("gate", &evidence.gate)?;
        optional(evidence.report.as_ref(), |text| line("report", text))?;
    }
    json_ok("unknown fields of the result", &Value::Object(report.other.clone()))?;
    json_ok("keys of the result", &Value::from(report.keys.clone()))?;
    let more = || {
        let files = report.files_modified.iter().map(|file| &file.more);
        let lines = report.log.iter().map(|entry| &entry.more);
        files.chain(lines).chain(report.issues.iter().map(|issue| &issue.more))
    };
    let mut beside = 0;
    for extra in more().filter(|extra| **extra != Extra::default()) {
        let whole = json!(extra);
        json_ok("unknown fields of an entry", &whole)?;
        beside += whole.to_string().len();
    }
    let texts = report.log.iter().map(|entry| entry.message.len());
    let issues = report.issues.iter().map(|issue| issue.description.len());
    let files = report.files_modified.iter().map(|file| file.path.len());
    let bytes = texts.chain(issues).chain(files).chain([beside]).sum();
    at_most("result", bytes, limits::REPORT_BYTES_MAX, "bytes")
}

impl<'a> Rule<'a> {
    pub(super) fn submit_result(
        &mut self,
        submission: &'a Submission,
        report: &'a WorkReport,
    ) -> Ruling<Answer> {
        let task = self.held_task(&submission.id)?;
        is_about(task, report)?;
        self.listed = report.listed_files();
        let body = ResultReported {
            contract: report.contract.clone(),
            status: report.status,
            files_modified: report.files_modified.clone(),
            log: report.log.clone(),
            issues: report.issues.clone(),
            tips: report.tips(),
            completed_at: report.completed_at.clone(),
            other: report.other.clone(),
            keys: report.keys.clone(),
        };
        self.push(Some(&task.id), Event::ResultReported(Box::new(body)));
        self.remember_tips(task, report)?;
        let id = &submission.id;
        match report.status {
            ReportStatus::Completed => {
                self.settle_issues(task, &report.issues)?;
                self.hand_in(task, submission, report)
            }
            ReportStatus::Blocked => {
                self.is_under_way(task)?;
                let needs = within_bounds(report.needs().unwrap_or_else(|| NO_NEEDS.to_owned()));
                let ask = |question| Asked { question, about: what_to_know(question, report) };
                let asked: Vec<Asked<'_>> = report.questions().into_iter().map(ask).collect();
                self.stop(id, Some(&needs), &asked, None, submission.reason.as_ref())
            }
            ReportStatus::Failed => {
                self.is_under_way(task)?;
                for issue in &report.issues {
                    self.note_of(task, spoken(issue));
                }
                let cause = report.cause().unwrap_or(NO_NEEDS);
                let why = submission.reason.as_deref().unwrap_or(cause);
                let said = [why, cause].into_iter().chain(grave_lines(&report.log));
                self.fail(id, Some(why), each_once(said))
            }
        }
    }

    /// A result ends work that is under way; what is in other hands is stopped by whoever has it.
    fn is_under_way(&self, task: &Task) -> Ruling<()> {
        let worked_on = task.status.is_held() || task.status == Status::ChangesRequested;
        if worked_on || self.is_person() {
            return Ok(());
        }
        Err(wrong_status(task, "; a result can only end work that is under way")
            .hint(say("see ").quote(op("task.show").id(&task.id)))
            .detail("task", task.id.as_str())
            .into())
    }

    /// What an agent learnt is of use beyond its task: it is remembered, with where it comes from.
    fn remember_tips(&mut self, task: &Task, report: &WorkReport) -> Ruling<()> {
        let mut next = self.facts.counters(&self.request.repo)?.memories;
        for tip in report.tips() {
            next += 1;
            let written = MemoryWritten {
                memory: MemoryId(next),
                kind: MemoryType::Fact,
                scope: GLOBAL_SCOPE.to_owned(),
                text: tip.trim().to_owned(),
                tags: vec![TIP_LEVEL.to_owned()],
                expires_at: None,
            };
            self.push(Some(&task.id), Event::MemoryWritten(Box::new(written)));
        }
        Ok(())
    }

    fn note_of(&mut self, task: &Task, text: String) {
        let note = Note { kind: NOTE_KIND.to_owned(), text };
        self.push(Some(&task.id), Event::Note(note));
    }

    /// What completed work leaves open: a concern is written down, the rest is asked.
    fn settle_issues(&mut self, task: &Task, issues: &[ReportedIssue]) -> Ruling<()> {
        let asked = issues.iter().filter(|issue| issue.kind != IssueKind::Concern).count();
        if asked > 0 {
            self.list_bound("decisions", task.decisions.len() + asked)?;
        }
        let mut next = self.facts.counters(&self.request.repo)?.decisions;
        for issue in issues {
            if issue.kind == IssueKind::Concern {
                self.note_of(task, spoken(issue));
                continue;
            }
            next += 1;
            let open = format!("This was open when {} was submitted.", task.id);
            let asked = DecisionAsked::free(DecisionId(next), &issue.description, Some(open));
            self.push(Some(&task.id), Event::DecisionAsked(Box::new(asked)));
        }
        Ok(())
    }
}

/// Who answers must see why the agent stopped, what it says beside that, and what its tools said. None of it is the
/// question again.
fn what_to_know(question: &str, report: &WorkReport) -> Option<String> {
    let apart = report.reason().into_iter().chain(report.context());
    each_once(apart.chain(grave_lines(&report.log)).filter(|said| *said != question))
}

/// Puts texts together, none of them twice; nothing when there are none.
fn each_once<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for text in texts.map(str::trim_end) {
        if !text.is_empty() && !parts.contains(&text) {
            parts.push(text);
        }
    }
    (!parts.is_empty()).then(|| within_bounds(parts.join("\n\n")))
}

/// What is put together of several texts may be longer than one may be.
fn within_bounds(mut text: String) -> String {
    let end = (0..=limits::TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(0));
    text
}

fn spoken(issue: &ReportedIssue) -> String {
    let kind = match issue.kind {
        IssueKind::Blocker => "blocker",
        IssueKind::Question => "question",
        IssueKind::Concern => "concern",
    };
    format!("{kind}: {}", issue.description.trim())
}

/// A result is about the task that it names: by its id, by its number where the id has another form, or by the
/// issue that the task is linked to.
fn is_about(task: &Task, report: &WorkReport) -> Ruling<()> {
    is_about_issue(task, report)?;
    let Some(named) = &report.task_id else { return Ok(()) };
    let number = named.strip_prefix('T').and_then(|digits| digits.parse::<u64>().ok());
    if named == task.id.as_str() || number == Some(task.number) {
        return Ok(());
    }
    let message = format!("the result is for {}, not for {}", crate::ids::shorten(named), task.id);
    Err(Refusal::new(Code::ContractInvalid, message)
        .hint("submit it for the task that its task_id names")
        .detail("task", task.id.as_str())
        .detail("task_id", named.clone())
        .into())
}

fn is_about_issue(task: &Task, report: &WorkReport) -> Ruling<()> {
    let linked = task.external_ids.get("github").and_then(|ids| ids.get("issue")?.as_str());
    let named = match report.other.get("issue") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let (Some(linked), Some(named)) = (linked, named) else { return Ok(()) };
    let (linked, named) = (linked.trim_start_matches('#'), named.trim_start_matches('#'));
    if linked == named {
        return Ok(());
    }
    Err(Refusal::new(
        Code::ContractInvalid,
        format!(
            "the result is for issue {}, but {} is linked to issue {linked}",
            crate::ids::shorten(named),
            task.id
        ),
    )
    .hint("submit it for the task of that issue")
    .detail("task", task.id.as_str())
    .into())
}
