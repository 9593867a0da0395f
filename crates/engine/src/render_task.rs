//! A task written as another protocol writes it: contracts of Neo.mjs, comments of ACE.

use crate::answer::mission_of;
use crate::read::Reader;
use comity_api::{InterventionAnswer, RenderTask, RenderedTask, Rendering};
use comity_core::chain::Stored;
use comity_core::command::{Extra, grave_lines};
use comity_core::decision::{Decision, DecisionState};
use comity_core::event::{ErrorReport, Event, ResultReported};
use comity_core::hint::{op, say};
use comity_core::ids::Seq;
use comity_core::last_report::{LastReport, Report};
use comity_core::limits;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{CheckState, Task};
use comity_core::view;
use comity_protocol::ace::{
    Asked, Blocked, Claim, Comment, Done, Failed, instructions, with_options,
};
use comity_protocol::neomjs::{self, ErrorContract, ResultContract, Written, written};
use comity_store::EventQuery;
use std::collections::VecDeque;

/// Entries of the log that a person who intervenes is shown.
const LAST_EVENTS: usize = 5;

fn cannot(task: &Task, why: &str) -> Refusal {
    Refusal::new(Code::InvalidTransition, format!("{} {why}", task.id))
        .detail("status", task.status.as_str())
}

impl Reader<'_> {
    pub(crate) fn rendered(&mut self, wanted: &RenderTask) -> Result<RenderedTask, Refusal> {
        let task = self.find(&wanted.id)?;
        let (kind, generation) = (wanted.kind, wanted.generation);
        let told = self.history(&task)?.told;
        let text = match kind {
            Rendering::NeoTask => {
                let Written { text, contract } = self.issue(&task)?;
                return Ok(answer(&task, kind, text, Some(contract)));
            }
            Rendering::NeoResult => result(&task, told.handed_in.as_deref())?.render(),
            Rendering::NeoError => self
                .error_report(&task, &told)?
                .ok_or_else(|| cannot(&task, "is not stuck; there is no error to report"))?
                .render(),
            Rendering::AceTask => {
                let made = self.settled(|facts| mission_of(facts, &task))?;
                instructions(task.id.as_str(), &made.instruction, task.branch.as_deref())
            }
            ace => self.comment(&task, ace, &told)?.render(generation),
        };
        let is_contract = matches!(kind, Rendering::NeoResult | Rendering::NeoError);
        let contract = is_contract.then(|| text.clone());
        Ok(answer(&task, kind, text, contract))
    }

    fn comment(
        &mut self,
        task: &Task,
        kind: Rendering,
        told: &LastReport,
    ) -> Result<Comment, Refusal> {
        match kind {
            Rendering::AceBlocked => {
                let needs = || Blocked::new(&[task.block.as_ref()?.needs.clone()]);
                // Answers name the numbers of all questions, so those that are left keep theirs.
                let asked = self.asked(task)?;
                let open = (1..).zip(&asked).filter(|(_, d)| d.state == DecisionState::Open);
                let open = open.map(|(number, d)| Asked { number, text: in_full(d) });
                let blocked = Blocked::numbered(open).or_else(needs);
                blocked.map(Comment::Blocked).ok_or_else(|| cannot(task, "is not blocked"))
            }
            Rendering::AceDone => match &task.pr {
                Some(pr) => Ok(Comment::Done(Done::of(pr))),
                None => Err(cannot(task, "has no pull request").hint(
                    say("name it: ").call(op("task.submit").ask("id", "ID").ask("pr", "URL")),
                )),
            },
            Rendering::AceFailed => match task.last_error.as_ref().filter(|_| told.failed) {
                Some(error) => Ok(Comment::Failed(Failed { error: error.clone() })),
                None => Err(cannot(task, "has not failed")),
            },
            Rendering::AceClaim => {
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
            _ if told.resumed => Ok(Comment::Resuming),
            _ => Err(cannot(task, "was not blocked before")),
        }
    }

    /// A task as the issue that it was made of.
    fn issue(&mut self, task: &Task) -> Result<Written, Refusal> {
        let mut after = Seq(0);
        loop {
            let page = self.events_of(task, Some("task_created"), after)?;
            let Some(last) = page.last() else { return Ok(written(task, None)) };
            after = last.seq;
            let made = page.iter().find_map(|stored| match happened(stored) {
                Some(Event::TaskCreated(made)) => Some(made),
                _ => None,
            });
            if let Some(made) = made {
                return Ok(written(task, made.body.as_deref()));
            }
        }
    }

    /// The report of what a task is stuck on: the one that came with the stop, else what it says itself.
    fn error_report(
        &mut self,
        task: &Task,
        told: &LastReport,
    ) -> Result<Option<ErrorContract>, Refusal> {
        if !matches!(task.status, Status::Blocked | Status::Failed) {
            return Ok(None);
        }
        let log = match &told.stopped_by {
            Some(Report::Worn(report)) => return Ok(Some(worn(report))),
            Some(Report::Result(result)) if result.contract == neomjs::ERROR.name => {
                return Ok(Some(ErrorContract::of_report(result)));
            }
            Some(Report::Result(result)) => grave_lines(&result.log).join("\n"),
            None => String::new(),
        };
        let asked = self.asked(task)?;
        let open = asked.iter().filter(|d| d.state == DecisionState::Open);
        let questions: Vec<&str> = open.map(|d| d.question.as_str()).collect();
        let needs = task.block.as_ref().map(|block| block.needs.clone());
        let error = task.last_error.clone().filter(|_| told.failed);
        let reason = needs.clone().or_else(|| error.clone()).unwrap_or("failed".to_owned());
        let request = match questions.is_empty() {
            true => needs.unwrap_or_else(|| format!("Decide what to do with {}.", task.id)),
            false => questions.join("\n"),
        };
        Ok(Some(ErrorContract {
            reason,
            error_log: Some(log).filter(|log| !log.is_empty()).or(error),
            attempts: Some(task.attempts),
            request: Some(request),
            more: Extra::default(),
        }))
    }

    /// Everything that a person needs to see before saying how a task goes on.
    pub(crate) fn intervention(&mut self, id: &str) -> Result<InterventionAnswer, Refusal> {
        let task = self.find(id)?;
        let history = self.history(&task)?;
        let events = history.last.iter().map(crate::view::event).collect();
        let error = self.error_report(&task, &history.told)?.map(|report| report.render());
        let questions = self.asked(&task)?.iter().map(view::decision).collect();
        let contract = self.issue(&task)?.contract;
        let task = self.task_view(&task)?;
        Ok(InterventionAnswer { task, contract, events, error, questions })
    }

    /// What the log says about a task. It is read forwards, a page at a time.
    fn history(&mut self, task: &Task) -> Result<History, Refusal> {
        let mut history = History::default();
        let mut after = Seq(0);
        loop {
            let page = self.events_of(task, None, after)?;
            let Some(last) = page.last() else { return Ok(history) };
            after = last.seq;
            for stored in page {
                if let Some(event) = happened(&stored) {
                    history.told.take(&event);
                }
                history.last.push_back(stored);
                if history.last.len() > LAST_EVENTS {
                    history.last.pop_front();
                }
            }
        }
    }

    fn events_of(
        &mut self,
        task: &Task,
        event: Option<&str>,
        after: Seq,
    ) -> Result<Vec<Stored>, Refusal> {
        Ok(self.tx.events(&EventQuery {
            repo: Some(task.repo.clone()),
            task: Some(task.id.clone()),
            event: event.map(str::to_owned),
            after,
            limit: limits::PAGE_MAX,
            ..EventQuery::default()
        })?)
    }
}

/// The log of one task, as far as it is shown.
#[derive(Default)]
struct History {
    last: VecDeque<Stored>,
    told: LastReport,
}

/// What an entry of the log says happened; none when its body was purged. What a caller reported is marked, and
/// stays what it is.
fn happened(stored: &Stored) -> Option<Event> {
    Event::decode(&stored.event, stored.body.as_deref()?).ok()
}

fn answer(task: &Task, kind: Rendering, text: String, yaml: Option<String>) -> RenderedTask {
    RenderedTask { kind: kind.as_str().to_owned(), id: task.id.to_string(), text, yaml }
}

/// A question with the keys that it takes.
fn in_full(decision: &Decision) -> String {
    let options = decision.options.iter();
    let options: Vec<(&str, Option<&str>)> =
        options.map(|option| (option.key.as_str(), option.label.as_deref())).collect();
    with_options(&decision.question, &options)
}

fn worn(report: &ErrorReport) -> ErrorContract {
    ErrorContract {
        reason: report.reason.clone(),
        error_log: report.error_log.clone(),
        attempts: Some(report.attempts),
        request: Some(report.request.clone()),
        more: Extra::default(),
    }
}

/// What a task that was handed in says for itself.
fn result(task: &Task, told: Option<&ResultReported>) -> Result<ResultContract, Refusal> {
    let handed_in =
        matches!(task.status, Status::Review | Status::Approved | Status::Merging | Status::Done);
    if !handed_in {
        return Err(cannot(task, "has not been submitted"));
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
    let said = told.map(|told| ResultContract::of_report(told, task.pr.as_deref()));
    // Unknown keys and words about tests are this protocol's own; another contract's are told by the gates.
    let own = told.is_some_and(|told| told.contract == neomjs::RESULT.name);
    let said = said.unwrap_or_default();
    let gates = Some(results.join(", ")).filter(|text| !text.is_empty());
    Ok(ResultContract {
        status: "success".to_owned(),
        pr_url: task.pr.clone(),
        files_modified: said.files_modified,
        test_results: said.test_results.filter(|_| own).or(gates),
        more: if own { said.more } else { Extra::default() },
    })
}
