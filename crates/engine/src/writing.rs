//! A task written as another protocol writes it: contracts of Neo.mjs, comments of ACE.

use crate::answer::mission_of;
use crate::batch::settle;
use crate::read::Reader;
use comity_core::chain::Stored;
use comity_core::decision::DecisionState;
use comity_core::ids::Seq;
use comity_core::limits;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{CheckState, Task};
use comity_core::view;
use comity_protocol::ace::{Blocked, Claim, Comment, Done, Failed, Generation, instructions};
use comity_protocol::neomjs::{ErrorContract, ResultContract, TaskContract};
use comity_store::EventQuery;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Entries of the log that a person who intervenes is shown.
const LAST_EVENTS: usize = 5;

/// What a task is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// The contract of the task.
    NeoTask,
    /// The contract of its result.
    NeoResult,
    /// The report of what it is stuck on.
    NeoError,
    /// The instructions for a worker.
    AceTask,
    /// The comment that says who has taken it.
    AceClaim,
    /// The comment that asks its questions.
    AceBlocked,
    /// The comment that says that it goes on.
    AceResuming,
    /// The comment that names its pull request.
    AceDone,
    /// The comment that says why it failed.
    AceFailed,
}

impl Writing {
    /// Every one, in the order of the documentation.
    pub const ALL: [Writing; 9] = [
        Writing::NeoTask,
        Writing::NeoResult,
        Writing::NeoError,
        Writing::AceTask,
        Writing::AceClaim,
        Writing::AceBlocked,
        Writing::AceResuming,
        Writing::AceDone,
        Writing::AceFailed,
    ];

    /// Returns the word that users write.
    pub fn as_str(self) -> &'static str {
        match self {
            Writing::NeoTask => "neo-task",
            Writing::NeoResult => "neo-result",
            Writing::NeoError => "neo-error",
            Writing::AceTask => "ace-task",
            Writing::AceClaim => "ace-claim",
            Writing::AceBlocked => "ace-blocked",
            Writing::AceResuming => "ace-resuming",
            Writing::AceDone => "ace-done",
            Writing::AceFailed => "ace-failed",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Writing> {
        Writing::ALL.into_iter().find(|writing| writing.as_str() == text)
    }
}

fn cannot(task: &Task, why: &str) -> Refusal {
    Refusal::new(Code::InvalidTransition, format!("{} {why}", task.id))
        .detail("status", task.status.as_str())
}

impl Reader<'_> {
    pub(crate) fn written(
        &mut self,
        id: &str,
        writing: Writing,
        generation: Generation,
    ) -> Result<Value, Refusal> {
        let task = self.find(id)?;
        let text = match writing {
            Writing::NeoTask => TaskContract::of_task(&task).render(),
            Writing::NeoResult => {
                let files = self.reported_files(&task)?;
                ResultContract { files_modified: files, ..result(&task)? }.render()
            }
            Writing::NeoError => self
                .error_report(&task)?
                .ok_or_else(|| cannot(&task, "is not stuck; there is no error to report"))?
                .render(),
            Writing::AceTask => {
                let made = settle(self.tx, &mut self.facts, |facts| mission_of(facts, &task))?;
                let said = made.get("instruction").and_then(Value::as_str).unwrap_or_default();
                instructions(task.id.as_str(), said, task.branch.as_deref())
            }
            ace => self.comment(&task, ace)?.render(generation),
        };
        Ok(json!({"kind": writing.as_str(), "id": task.id.as_str(), "text": text}))
    }

    fn comment(&mut self, task: &Task, writing: Writing) -> Result<Comment, Refusal> {
        match writing {
            Writing::AceBlocked => {
                let asked = self.asked(task)?;
                let open = asked.iter().filter(|d| d.state == DecisionState::Open);
                let mut questions: Vec<String> = open.map(|d| d.question.clone()).collect();
                if questions.is_empty() {
                    questions.extend(task.block.as_ref().map(|block| block.needs.clone()));
                }
                let blocked = Blocked::new(&questions);
                blocked.map(Comment::Blocked).ok_or_else(|| cannot(task, "is not blocked"))
            }
            Writing::AceDone => match &task.pr {
                Some(pr) => Ok(Comment::Done(Done::of(pr))),
                None => Err(cannot(task, "has no pull request")
                    .hint("name it: comity task submit ID --pr URL")),
            },
            Writing::AceFailed => match &task.last_error {
                Some(error) => Ok(Comment::Failed(Failed { error: error.clone() })),
                None => Err(cannot(task, "has not failed")),
            },
            Writing::AceClaim => {
                let claim = task.claim.as_ref().ok_or_else(|| cannot(task, "is not claimed"))?;
                Ok(Comment::Claim(Claim {
                    agent: Some(claim.agent.to_string()),
                    host: claim.host.clone(),
                    repository: Some(task.repo.to_string()),
                    branch: task.branch.clone(),
                    workspace: claim.workspace.clone(),
                    started: Some(claim.claimed_at),
                    other: Vec::new(),
                }))
            }
            _ => Ok(Comment::Resuming),
        }
    }

    /// The files that the last result handed in says were changed.
    fn reported_files(&mut self, task: &Task) -> Result<Vec<String>, Refusal> {
        let last = self.last_events(task, Some("result_reported"), 1)?;
        let body = last.back().and_then(|event| event.body.as_deref());
        let body: Option<Value> = body.and_then(|body| serde_json::from_slice(body).ok());
        let files = body.as_ref().and_then(|body| body.get("files_modified")?.as_array());
        let path = |file: &Value| file.get("path").and_then(Value::as_str).map(str::to_owned);
        Ok(files.map(|files| files.iter().filter_map(path).collect()).unwrap_or_default())
    }

    /// The report of what a task is stuck on: the one in the log where attempts ran out, else what it says itself.
    fn error_report(&mut self, task: &Task) -> Result<Option<ErrorContract>, Refusal> {
        if !matches!(task.status, Status::Blocked | Status::Failed) {
            return Ok(None);
        }
        let reported = self.last_events(task, Some("error"), 1)?;
        let since = task.block.as_ref().map(|block| block.since);
        if let Some(event) = reported.back()
            && since.is_none_or(|since| event.ts >= since)
            && let Some(body) = &event.body
            && let Ok(Value::Object(body)) = serde_json::from_slice(body)
        {
            return Ok(Some(of_event(&body)));
        }
        let asked = self.asked(task)?;
        let open = asked.iter().filter(|d| d.state == DecisionState::Open);
        let questions: Vec<&str> = open.map(|d| d.question.as_str()).collect();
        let needs = task.block.as_ref().map(|block| block.needs.clone());
        let error = task.last_error.clone();
        let reason = needs.clone().or_else(|| error.clone()).unwrap_or("failed".to_owned());
        let request = match questions.is_empty() {
            true => needs.unwrap_or_else(|| format!("Decide what to do with {}.", task.id)),
            false => questions.join("\n"),
        };
        Ok(Some(ErrorContract {
            reason,
            error_log: error,
            attempts: task.attempts,
            request,
            other: Map::new(),
        }))
    }

    /// Everything that a person needs to see before saying how a task goes on.
    pub(crate) fn intervention(&mut self, id: &str) -> Result<Value, Refusal> {
        let task = self.find(id)?;
        let events = self.last_events(&task, None, LAST_EVENTS)?;
        let events: Vec<Value> = events.iter().map(view::event).collect();
        let error = self.error_report(&task)?.map(|report| report.render());
        let questions: Vec<_> = self.asked(&task)?.iter().map(view::decision).collect();
        Ok(json!({
            "task": self.task_view(&task)?,
            "contract": TaskContract::of_task(&task).render(),
            "events": events,
            "error": error,
            "questions": questions,
        }))
    }

    /// The last events about a task. The log is read forwards, a page at a time.
    fn last_events(
        &mut self,
        task: &Task,
        event: Option<&str>,
        count: usize,
    ) -> Result<VecDeque<Stored>, Refusal> {
        let mut last = VecDeque::new();
        let mut after = Seq(0);
        loop {
            let page = self.tx.events(&EventQuery {
                repo: Some(task.repo.clone()),
                task: Some(task.id.clone()),
                event: event.map(str::to_owned),
                after,
                limit: limits::PAGE_MAX,
                ..EventQuery::default()
            })?;
            let full = page.len() == limits::PAGE_MAX;
            for stored in page {
                after = stored.seq;
                last.push_back(stored);
                if last.len() > count {
                    last.pop_front();
                }
            }
            if !full {
                return Ok(last);
            }
        }
    }
}

fn of_event(body: &Map<String, Value>) -> ErrorContract {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let attempts = body.get("attempts").and_then(Value::as_u64).unwrap_or_default();
    ErrorContract {
        reason: text("reason").unwrap_or_default(),
        error_log: text("error_log"),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        request: text("request").unwrap_or_default(),
        other: Map::new(),
    }
}

/// What a task that was handed in says for itself.
fn result(task: &Task) -> Result<ResultContract, Refusal> {
    let handed_in =
        matches!(task.status, Status::Review | Status::Approved | Status::Merging | Status::Done);
    if !handed_in {
        return Err(cannot(task, "has not been handed in"));
    }
    let said = |state: CheckState| match state {
        CheckState::Met => Some("Passed"),
        CheckState::Failed => Some("Failed"),
        CheckState::Open | CheckState::Waived => None,
    };
    let policy = comity_core::policy::Policy::default();
    let gates = view::gates(task, &policy);
    let mut results = Vec::new();
    for gate in gates.iter().filter(|gate| gate.tier.is_some()) {
        results.extend(said(gate.state).map(|word| match gates.len() {
            1 => word.to_owned(),
            _ => format!("{}: {word}", gate.name),
        }));
    }
    Ok(ResultContract {
        status: "success".to_owned(),
        pr_url: task.pr.clone(),
        files_modified: Vec::new(),
        test_results: Some(results.join(", ")).filter(|text| !text.is_empty()),
        other: Map::new(),
    })
}
