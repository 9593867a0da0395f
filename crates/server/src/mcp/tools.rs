//! The ten tools: each reads its arguments and calls operations of the table.

use super::answer::{cut, page_fits, short};
use super::args::*;
use super::focused;
use super::wording::Tools;
use crate::Served;
use comity_api::{
    AcquireLeases, AgentFilter, AppendToPad, AskBrief, Block, ById, CheckItem, CheckPaths, Claim,
    DecisionFilter, EventFilter, LeaseFilter, ListInterfaces, ListMemories, Nothing, Operation,
    PadOf, RecordGate, ReleaseLeases, SearchMemories, ShowInterface, Start, Subtask, TaskFilter,
    TaskVerbInput, TellText, WriteNote, op,
};
use comity_bridge::contract::{Named, work_report};
use comity_bridge::mission;
use comity_core::brief::Brief;
use comity_core::command::{
    CHANGE_NOTE, NewMemory, NewTask, Question, ReportStatus, StepVerb, Submission, WorkReport,
};
use comity_core::ids::Fence;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_engine::{Answered, Caller, Handler, Service};
use rmcp::model::Tool;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Entries of a list when the caller names no limit.
const LIST_LENGTH: usize = 20;

/// The tools as clients see them, in their fixed order.
static ALL: LazyLock<Vec<Tool>> =
    LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).unwrap_or_default());

pub fn all() -> &'static [Tool] {
    &ALL
}

/// Tells whether a tool changes something.
pub fn writes(tool: &str) -> bool {
    tool != "look_up"
}

/// A call of a tool by somebody.
pub struct ToolCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub caller: Caller,
}

/// What a tool answers with, before it is made short.
pub type ToolAnswer = Result<Value, Refusal>;

impl Served {
    /// Runs a tool that does not wait, on the caller's thread.
    pub fn run_tool(&self, call: ToolCall) -> ToolAnswer {
        let ToolCall { tool, arguments, caller } = call;
        match tool.as_str() {
            "claim_task" => self.claim_task(caller, read(&tool, arguments)?),
            "lease_files" => {
                let (caller, input, _) = self.leases_wanted(caller, read(&tool, arguments)?)?;
                let asked = json!({"paths": input.patterns});
                read_further(self.answer::<op::LeaseAcquire>(&caller, input), asked)
            }
            "release" => self.release(caller, read(&tool, arguments)?),
            "record" => self.record(caller, read(&tool, arguments)?),
            "submit_work" => self.submit_work(caller, read(&tool, arguments)?),
            "review_task" => self.review_task(caller, read(&tool, arguments)?),
            "ask" => self.ask(caller, read(&tool, arguments)?),
            "look_up" => self.look_up(&caller, &read(&tool, arguments)?),
            "create_task" => self.create_task(caller, read(&tool, arguments)?),
            name if focused::is_own(name) => self.lead(&tool, arguments, &caller),
            "remember" => self.remember(caller, read(&tool, arguments)?),
            other => Err(Refusal::new(Code::NotFound, format!("there is no tool {other:?}"))),
        }
    }

    /// Calls an operation; what it remarks comes beside its answer.
    fn answer<O>(&self, caller: &Caller, input: O::Input) -> ToolAnswer
    where
        O: Operation,
        O::Output: Serialize,
        Service: Handler<O>,
    {
        let Answered { output, remarks } = Handler::<O>::handle(&self.service, caller, input)?;
        Ok(with_remarks(json_of(&output)?, &remarks))
    }

    fn claim_task(&self, caller: Caller, given: ClaimTask) -> ToolAnswer {
        let ClaimTask { id, role, ttl, start, key } = given;
        let wish = Claim { id, role, ttl, start, ..Claim::default() };
        let caller = keyed(caller, key);
        let asked = json!({"id": wish.id});
        let claimed = Handler::<op::TaskClaim>::handle(&self.service, &caller, wish);
        let Answered { mut output, mut remarks } =
            claimed.map_err(|refusal| read_further_refused(refusal, asked))?;
        let brief = self.whole_brief(&caller, &output.task.id);
        let asked = json!({"id": output.task.id});
        // The claim stands even when the files that its mission names cannot be written.
        let written =
            mission::write(&self.context, &output.task, &mut output.mission, brief.as_ref());
        if let Err(failed) = written {
            remarks.push(format!("comity could not write the mission's files: {}", failed.message));
        }
        read_further(Ok(short(with_remarks(json_of(&output)?, &remarks))), asked)
    }

    /// Returns the whole brief for a task, for the file that its mission names.
    fn whole_brief(&self, caller: &Caller, id: &str) -> Option<Brief> {
        let asked = AskBrief { task: Some(id.to_owned()), ..AskBrief::default() };
        Some(self.service.call::<op::Brief>(caller, asked).ok()?.brief)
    }

    /// Reads which leases are wanted, and how many seconds the caller waits for them.
    pub fn leases_wanted(
        &self,
        caller: Caller,
        given: LeaseFiles,
    ) -> Result<(Caller, AcquireLeases, Option<i64>), Refusal> {
        let LeaseFiles { paths, task, shared, wait_seconds, key } = given;
        let patterns = self.context.root_mapper().patterns(&paths)?;
        let input = AcquireLeases { patterns, task, shared, ..AcquireLeases::default() };
        Ok((keyed(caller, key), input, wait_seconds))
    }

    fn release(&self, caller: Caller, given: Release) -> ToolAnswer {
        let Release { mut task, leases, reason, fence, key } = given;
        let caller = fenced(caller, fence)?;
        if task.is_none() && leases.is_empty() {
            task = self.only_task(&caller)?;
        }
        if task.is_none() && leases.is_empty() {
            return Err(Refusal::input("release: give a task, or leases, or both"));
        }
        let mut answer = Map::new();
        if !leases.is_empty() {
            // Each of the two operations has a key of its own.
            let key = key.clone().or_else(|| caller.key.clone()).map(|key| format!("{key}/leases"));
            let caller = Caller { key, ..caller.clone() };
            let input = ReleaseLeases { ids: leases, all: false, owner: None };
            let released = self.service.call::<op::LeaseRelease>(&caller, input)?.released;
            answer.insert("released".to_owned(), json!(released));
        }
        if let Some(id) = task {
            let input = TaskVerbInput { id, reason: Some(reason) };
            let task = self.answer::<op::TaskRelease>(&keyed(caller, key), input)?;
            answer.extend(task.as_object().cloned().unwrap_or_default());
        }
        Ok(short(Value::Object(answer)))
    }

    fn record(&self, caller: Caller, given: Record) -> ToolAnswer {
        let Record { task, kind, text, paths, to, gate, passed, fence, key } = given;
        let caller = keyed(fenced(caller, fence)?, key);
        let task = match task {
            None if kind.is_about_own_task() => self.only_task(&caller)?,
            given => given,
        };
        let needed = |what: Option<String>, name: &str| {
            what.ok_or_else(|| Refusal::input(format!("record: this kind needs {name}")))
        };
        let note = |kind: &str| -> Result<(), Refusal> {
            let (kind, text) = (kind.to_owned(), needed(text.clone(), "text")?);
            let paths = self.context.root_mapper().patterns(&paths)?;
            let input = WriteNote { kind, text, task: task.clone(), paths };
            self.service.call::<op::Note>(&caller, input).map(drop)
        };
        let step = |step: StepVerb| -> Result<(), Refusal> {
            let (id, text) = (needed(task.clone(), "task")?, needed(text.clone(), "text")?);
            self.service.call::<op::TaskSubtask>(&caller, Subtask { id, step, text }).map(drop)
        };
        let mut brief = None;
        match kind {
            RecordKind::Heartbeat => {
                self.service.call::<op::AgentHeartbeat>(&caller, Nothing {}).map(drop)
            }
            RecordKind::Start => {
                let (id, reason) = (needed(task.clone(), "task")?, text.clone());
                let input = Start { id, ttl: None, reason };
                let about = json!({"id": input.id});
                let started = self.service.call::<op::TaskStart>(&caller, input);
                let started = started.map_err(|refusal| read_further_refused(refusal, about));
                started.map(|it| brief = it.brief)
            }
            RecordKind::Progress => note("progress"),
            RecordKind::Discovery => note("discovery"),
            RecordKind::Milestone => note("milestone"),
            RecordKind::Change => note(CHANGE_NOTE),
            RecordKind::Message => {
                let (to, text) = (needed(to, "to")?, needed(text.clone(), "text")?);
                self.service.call::<op::Tell>(&caller, TellText { to, text }).map(drop)
            }
            RecordKind::StepStarted => step(StepVerb::Start),
            RecordKind::StepDone => step(StepVerb::Complete),
            RecordKind::ItemMet => {
                let (id, item) = (needed(task.clone(), "task")?, needed(text.clone(), "text")?);
                let input = CheckItem { id, item, waive: false, reason: None };
                self.service.call::<op::TaskCheck>(&caller, input).map(drop)
            }
            RecordKind::Gate => {
                let (id, gate) = (needed(task.clone(), "task")?, needed(gate, "gate")?);
                let missing = || Refusal::input("record: kind gate needs passed");
                let pass = passed.ok_or_else(missing)?;
                let (report, commit, new) = (text.clone(), None, false);
                let input = RecordGate { id, gate, pass, report, commit, new };
                self.service.call::<op::GateRecord>(&caller, input).map(drop)
            }
        }?;
        let mut answer = match task {
            Some(id) => self.recorded(&caller, id, brief.as_ref())?,
            None => json!({}),
        };
        if let Some(fields) = answer.as_object_mut() {
            // The caller looks for it here, so an empty list is said, too.
            fields.insert("news".to_owned(), json!([]));
        }
        Ok(answer)
    }

    /// Shows the task that something was recorded for, with the brief that came with it.
    fn recorded(&self, caller: &Caller, id: String, brief: Option<&Brief>) -> ToolAnswer {
        let task = self.service.call::<op::TaskShow>(caller, ById { id })?.task;
        let about = json!({"id": task.id});
        let mut answer = json!({ "task": json_of(&task)? });
        if let (Some(brief), Some(fields)) = (brief, answer.as_object_mut()) {
            fields.insert("brief".to_owned(), json_of(brief)?);
        }
        read_further(Ok(short(answer)), about)
    }

    fn submit_work(&self, caller: Caller, given: SubmitWork) -> ToolAnswer {
        let SubmitWork {
            task,
            outcome,
            summary,
            result,
            commit,
            branch,
            pr,
            needs,
            questions,
            fence,
            key,
        } = given;
        let caller = keyed(fenced(caller, fence)?, key);
        let report = result.as_deref().map(|text| report_of(text, outcome)).transpose()?;
        let answer = match (outcome, report) {
            (Outcome::Blocked, None) => {
                let needs = needs.or_else(|| Some(summary.clone()));
                let reason = Some(summary);
                let input = Block { id: task, needs, questions, retry_after: None, reason };
                self.answer::<op::TaskBlock>(&caller, input)
            }
            (Outcome::Failed, None) => {
                let input = TaskVerbInput { id: task, reason: Some(summary) };
                self.answer::<op::TaskFail>(&caller, input)
            }
            (_, report) => {
                let input = Submission {
                    id: task,
                    commit,
                    branch,
                    pr,
                    reason: Some(summary),
                    report: report.map(Box::new),
                    ..Submission::default()
                };
                self.answer::<op::TaskSubmit>(&caller, input).map_err(with_a_way_to_see)
            }
        };
        answer.map(short)
    }

    fn review_task(&self, caller: Caller, given: ReviewTask) -> ToolAnswer {
        let ReviewTask { task: id, verdict, reason, key } = given;
        let caller = keyed(caller, key);
        let input = TaskVerbInput { id, reason };
        let answer = match verdict {
            Verdict::Take => self.answer::<op::TaskReview>(&caller, input),
            Verdict::Approve => self.answer::<op::TaskApprove>(&caller, input),
            Verdict::RequestChanges => self.answer::<op::TaskRequestChanges>(&caller, input),
        };
        answer.map(short)
    }

    /// Asks, and does not wait.
    pub fn ask(&self, caller: Caller, given: Ask) -> ToolAnswer {
        let Ask { question, options, kind, context, default, expires, to, task, key, .. } = given;
        let options = options.iter().map(|text| option(text)).collect();
        let proposes = None;
        let input =
            Question { question, task, options, kind, context, default, to, expires, proposes };
        self.answer::<op::DecisionAsk>(&keyed(caller, key), input)
    }

    fn create_task(&self, caller: Caller, given: CreateTask) -> ToolAnswer {
        let files = self.context.root_mapper().patterns(&given.files)?;
        let input = NewTask {
            title: given.title,
            description: given.description,
            files,
            depends_on: given.depends_on,
            priority: given.priority,
            deliverable: given.deliverable,
            gates: given.gates,
            dod: given.checklist,
            parent: given.parent,
            ..NewTask::default()
        };
        self.answer::<op::TaskCreate>(&keyed(caller, given.key), input).map(short)
    }

    fn remember(&self, caller: Caller, given: Remember) -> ToolAnswer {
        let Remember { text, kind, scope, tags, expires, key } = given;
        let Some(kind) = kind.memory() else {
            let input = AppendToPad { text, scope };
            return self.answer::<op::PadAppend>(&keyed(caller, key), input);
        };
        let input = NewMemory { text, kind, scope, tags, expires, task: None, supersedes: None };
        self.answer::<op::MemoryWrite>(&keyed(caller, key), input)
    }

    /// Reads. A list that is too long is read again with fewer entries; its `next` leads on.
    fn look_up(&self, caller: &Caller, given: &LookUp) -> ToolAnswer {
        let mut limit = given.limit.unwrap_or(LIST_LENGTH);
        loop {
            let answer = self.look(caller, given, limit)?;
            if page_fits(&answer) {
                return Ok(answer);
            }
            if limit <= 1 || given.what.is_one() {
                let id = given.id.as_deref().unwrap_or_default();
                return Ok(cut(answer, &format!("comity://task/{id}")));
            }
            limit /= 2;
        }
    }

    fn look(&self, caller: &Caller, given: &LookUp, limit: usize) -> ToolAnswer {
        let id = || {
            let missing = || Refusal::input("look_up: this needs an id");
            given.id.clone().map(|id| ById { id }).ok_or_else(missing)
        };
        let (limit, after) = (Some(limit), given.after.clone());
        match given.what {
            What::Status => {
                let mut answer = self.answer::<op::Status>(caller, Nothing {})?;
                if let Some(fields) = answer.as_object_mut() {
                    fields.insert("me".to_owned(), json!(caller.actor.as_str()));
                }
                Ok(answer)
            }
            What::Tasks => {
                let (ready, words) = (given.ready, given.query.as_deref());
                let status = words.and_then(|word| Status::parse(word).ok());
                let labels = words.filter(|_| status.is_none()).map(str::to_owned);
                let (statuses, labels) =
                    (status.into_iter().collect(), labels.into_iter().collect());
                let input =
                    TaskFilter { statuses, labels, ready, limit, after, ..TaskFilter::default() };
                self.answer::<op::TaskList>(caller, input).map(short)
            }
            What::Task => self.answer::<op::TaskShow>(caller, id()?),
            What::Why => {
                let why = self.service.call::<op::TaskWhy>(caller, id()?)?.why;
                let next = why.next.worded(&Tools);
                let mut answer = json!({ "why": json_of(&why)? });
                if let Some(place) = answer.pointer_mut("/why/next") {
                    *place = json!(next);
                }
                Ok(answer)
            }
            What::Leases => {
                let input = LeaseFilter { owner: None, limit, after };
                self.answer::<op::LeaseList>(caller, input)
            }
            What::Paths => {
                let paths = self.context.root_mapper().patterns(&given.paths)?;
                self.answer::<op::LeaseCheck>(caller, CheckPaths { paths })
            }
            What::Decisions => {
                let input = DecisionFilter { all: false, limit, after };
                self.answer::<op::DecisionList>(caller, input)
            }
            What::Decision => self.answer::<op::DecisionShow>(caller, id()?),
            What::Memories => match given.query.clone() {
                Some(query) => {
                    let input = SearchMemories { query, limit, after, ..SearchMemories::default() };
                    self.answer::<op::MemorySearch>(caller, input)
                }
                None => {
                    let input = ListMemories { limit, after, ..ListMemories::default() };
                    self.answer::<op::MemoryList>(caller, input)
                }
            },
            What::Pad | What::Interface | What::Brief => self.look_at_posts(caller, given, limit),
            What::Agents => self.answer::<op::AgentList>(caller, AgentFilter { limit, after }),
            What::Events => {
                let task = given.id.clone();
                let input = EventFilter { task, limit, after, ..EventFilter::default() };
                self.answer::<op::EventList>(caller, input)
            }
        }
    }
    /// Reads what agents left for each other.
    fn look_at_posts(&self, caller: &Caller, given: &LookUp, limit: Option<usize>) -> ToolAnswer {
        let paths = self.context.root_mapper().patterns(&given.paths)?;
        let (id, after) = (given.id.clone(), given.after.clone());
        match (given.what, id) {
            (What::Pad, scope) => self.answer::<op::PadShow>(caller, PadOf { scope }),
            (What::Interface, Some(name)) => {
                let input = ShowInterface { name, version: None, diff: false };
                self.answer::<op::InterfaceShow>(caller, input)
            }
            (What::Interface, None) => {
                let input = ListInterfaces { path: paths.into_iter().next(), limit, after };
                self.answer::<op::InterfaceList>(caller, input)
            }
            (_, task) => {
                let asked = match &task {
                    Some(id) => json!({ "id": id }),
                    None => json!({ "paths": paths }),
                };
                let limit = given.limit;
                let brief = self.answer::<op::Brief>(caller, AskBrief { task, paths, limit });
                read_further(brief, asked)
            }
        }
    }
}

impl What {
    /// Tells whether the answer is one thing, of which fewer cannot be asked for.
    fn is_one(self) -> bool {
        matches!(
            self,
            What::Status
                | What::Task
                | What::Why
                | What::Paths
                | What::Decision
                | What::Pad
                | What::Brief
        )
    }
}

/// Says in a call of a tool how the rest of a brief is read: beside an answer, or in a refusal.
pub fn read_further(done: ToolAnswer, asked: Value) -> ToolAnswer {
    match done {
        Ok(mut answer) => {
            say_how(answer.get_mut("brief"), asked);
            Ok(answer)
        }
        Err(refusal) => Err(read_further_refused(refusal, asked)),
    }
}

pub fn read_further_refused(mut refusal: Refusal, asked: Value) -> Refusal {
    say_how(refusal.details.get_mut("brief"), asked);
    refusal
}

fn say_how(brief: Option<&mut Value>, mut asked: Value) {
    if let Some(how) = brief.and_then(|brief| brief.pointer_mut("/more/how")) {
        if let Some(fields) = asked.as_object_mut() {
            fields.insert("what".to_owned(), json!("brief"));
            fields.insert("limit".to_owned(), json!(PAGE_MAX));
        }
        *how = json!(format!("look_up {asked}"));
    }
}

fn with_remarks(mut answer: Value, remarks: &[String]) -> Value {
    if let (Some(fields), false) = (answer.as_object_mut(), remarks.is_empty()) {
        fields.insert("remarks".to_owned(), json!(remarks));
    }
    answer
}

pub fn json_of(answer: &impl Serialize) -> ToolAnswer {
    serde_json::to_value(answer)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))
}

/// The caller's own key counts more than that of its client.
pub fn keyed(caller: Caller, key: Option<String>) -> Caller {
    Caller { key: key.or(caller.key), ..caller }
}

fn fenced(caller: Caller, fence: Option<u64>) -> Result<Caller, Refusal> {
    let number = |number| {
        let wrong = || Refusal::input("a fence is a number from 1 up, from claim_task");
        Fence::new(number).ok_or_else(wrong)
    };
    Ok(Caller { fence: fence.map(number).transpose()?, ..caller })
}

/// Reads a result contract, which must not contradict what the caller says beside it.
fn report_of(text: &str, outcome: Outcome) -> Result<WorkReport, Refusal> {
    let (report, _) = work_report(Named { name: "result", text }, None)?;
    let said = match report.status {
        ReportStatus::Completed => Outcome::Completed,
        ReportStatus::Blocked => Outcome::Blocked,
        ReportStatus::Failed => Outcome::Failed,
    };
    if said == outcome {
        return Ok(report);
    }
    Err(Refusal::input("submit_work: outcome and result contradict each other")
        .hint("give the outcome that the result has"))
}

/// A server sees no work tree of the caller, so the way to be seen is another one here.
fn with_a_way_to_see(refusal: Refusal) -> Refusal {
    match refusal.code {
        Code::Unobserved => refusal.hint("commit the work, then give its commit or branch"),
        _ => refusal,
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
