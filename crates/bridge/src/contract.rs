//! Contracts of other protocols as text: handed in, made tasks of, written again, and carried out.

use comity_api::{
    Applied, AppliedAnswer, ApplyContract, Breakdown, ById, EventFilter, EventView, ResultAnswer,
    TaskAnswer, op,
};
use comity_core::chain::Hash;
use comity_core::command::{Command, ImportedTask, NewTask, PlannedTask, Submission, WorkReport};
use comity_core::event::{REPORTED_FIELD, ResultReported};
use comity_core::hint::{Hint, op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_engine::{Answered, Caller, Handler, Reply, Service, contract_kind};
use comity_protocol::ace::COMMENT;
use comity_protocol::agent_protocol::result;
use comity_protocol::contract::{self, Checked, ContractKind, KINDS, Mode};
use comity_protocol::mission::{self, protocol_id};
use comity_protocol::neomjs::{TaskContract, new_task, read_plan, status_there};
use comity_protocol::neotx::effect;
use comity_protocol::problem::{Level, Problem, Problems};
use comity_protocol::task_plan;
use serde_json::{Value, json};

/// Problems that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 5;

/// A text, and what it is called in messages.
#[derive(Clone, Copy)]
pub struct Named<'t> {
    pub name: &'t str,
    pub text: &'t str,
}

/// Reads a result of a given kind, or of the kind that its content tells, and what should be said about it.
pub fn work_report(
    Named { name, text }: Named<'_>,
    kind: Option<&'static ContractKind>,
) -> Result<(WorkReport, Vec<String>), Refusal> {
    handed_in(name, &contract::check_handed_in(text, kind))
}

/// Takes a contract that was looked at as a result.
fn handed_in(name: &str, checked: &Checked) -> Result<(WorkReport, Vec<String>), Refusal> {
    let report = match (checked.kind, &checked.tree) {
        (Some(kind), Some(tree)) if checked.is_valid() => contract::report(kind, tree),
        _ => None,
    };
    let report = report.ok_or_else(|| no_result(name, checked))?;
    Ok((report, warnings(name, checked)))
}

/// Says what should be known about a valid contract.
fn warnings(name: &str, checked: &Checked) -> Vec<String> {
    let warning = |problem: &Problem| {
        let (line, column) = (problem.line, problem.column);
        format!("note: {name}:{line}:{column}: {}", problem.message)
    };
    checked.problems.iter().map(warning).collect()
}

fn said(problems: &Problems) -> String {
    let errors = || problems.iter().filter(|problem| problem.level == Level::Error);
    let said: Vec<String> = errors()
        .take(SAID_MAX)
        .map(|p| format!("line {}, column {}: {}", p.line, p.column, p.message))
        .collect();
    match errors().count().saturating_sub(SAID_MAX) {
        0 => said.join("; "),
        more => format!("{}; and {more} more", said.join("; ")),
    }
}

fn invalid(name: &str, what: &str, problems: &Problems) -> Refusal {
    let message = format!("{name} is no valid {what}: {}", said(problems));
    Refusal::new(Code::ContractInvalid, message).detail("problems", json!(problems))
}

fn no_result(name: &str, checked: &Checked) -> Refusal {
    let is_comment = checked.kind.is_some_and(|kind| kind.name == COMMENT.name);
    let comment = checked.tree.as_ref().filter(|_| is_comment);
    let comment = comment.and_then(|tree| tree.get("comment")?.text());
    let errors = said(&checked.problems);
    let message = match checked.kind {
        Some(kind) if errors.is_empty() => {
            let said = comment.map(|word| format!(" ({word})")).unwrap_or_default();
            let a = if kind.name.starts_with('a') { "an" } else { "a" };
            format!("{name} is {a} {}{said}; such a contract submits no work", kind.name)
        }
        Some(kind) => format!("{name} is not a valid {}: {errors}", kind.name),
        None => format!("{name} is not a result: {errors}"),
    };
    let kinds: Vec<&str> =
        KINDS.iter().filter(|kind| kind.report.is_some()).map(|kind| kind.name).collect();
    let hint = match comment {
        Some("answer") => say("give an answer with ")
            .quote(operation("task.answer").ask("id", "ID").arg("comment", name)),
        _ => {
            let kinds = kinds.join(", ");
            say(format!("fix it and submit it again; nothing was changed (kinds: {kinds})"))
        }
    };
    Refusal::new(Code::ContractInvalid, message)
        .hint(hint)
        .detail("kind", checked.kind.map(|kind| kind.name))
        .detail("problems", json!(checked.problems))
}

/// Reads a plan as the tasks that it asks for, and what should be said about them.
pub fn plan(
    caller: &Caller,
    Named { name, text }: Named<'_>,
    epic: Option<&String>,
) -> Result<(Breakdown, Vec<String>), Refusal> {
    let wrong = |problems: Problems| invalid(name, "plan", &problems);
    let with_epic = |mut planned: PlannedTask| {
        planned.task.epic = planned.task.epic.or_else(|| epic.cloned());
        planned
    };
    if task_plan::is_own(text) {
        let plan = task_plan::read(text).map_err(wrong)?;
        return Ok((Breakdown { tasks: plan.into_iter().map(with_epic).collect() }, Vec::new()));
    }
    let plan = read_plan(text).map_err(wrong)?;
    let tasks = plan.iter().map(|item| with_epic(item.planned())).collect();
    let mut notes: Vec<String> = Vec::new();
    for note in plan.iter().filter_map(|item| meant_elsewhere(caller, &item.contract)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok((Breakdown { tasks }, notes))
}

/// The task that a contract asks for.
#[derive(Default)]
pub struct AskedFor {
    pub task: NewTask,
    /// The state that the task has there, when the contract's issue tells one.
    pub status: Option<Status>,
    /// What should be said about it.
    pub note: Option<String>,
}

/// Reads a task contract or a mission as the task that it asks for.
pub fn task(
    caller: &Caller,
    Named { name, text }: Named<'_>,
    title: Option<&str>,
) -> Result<AskedFor, Refusal> {
    let mission = contract::recognise(text).filter(|kind| kind.name == "mission");
    let kind = mission.or_else(|| contract::kind("neo-task"));
    let checked = contract::check(text, kind, Mode::Full);
    match &checked.tree {
        Some(tree) if checked.problems.is_valid() && mission.is_some() => {
            let task = mission::new_task(tree, title);
            Ok(AskedFor { task, ..AskedFor::default() })
        }
        Some(tree) if checked.problems.is_valid() => Ok(AskedFor {
            task: new_task(text, tree, title),
            status: status_there(text),
            note: meant_elsewhere(caller, &TaskContract::of(tree)),
        }),
        _ => Err(invalid(name, mission.map_or("contract", |kind| kind.name), &checked.problems)),
    }
}

/// Makes a task in the state that it has in its file, as far as the caller may take that over.
pub fn take_over(
    service: &Service,
    caller: &Caller,
    (task, status): (NewTask, Status),
    source: &str,
) -> Result<TaskAnswer, Refusal> {
    let needs = (status == Status::Blocked).then(|| format!("{status} in {source}"));
    let imported = ImportedTask {
        task,
        status: Some(status),
        needs,
        source: source.to_owned(),
        with_state: true,
        ..ImportedTask::default()
    };
    let answer = service.execute(caller.request(Command::ImportTask(Box::new(imported))))?;
    serde_json::from_value(answer.into_json()?)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))
}

/// A contract may name its repository, with or without the owner.
fn meant_elsewhere(caller: &Caller, contract: &TaskContract) -> Option<String> {
    let (named, here) = (contract.repository()?, caller.repo.as_str());
    let name = here.rsplit('/').next().unwrap_or(here);
    let is_here = named.eq_ignore_ascii_case(here) || named.eq_ignore_ascii_case(name);
    (!is_here).then(|| {
        format!("note: the contract names the repository {named}, but the task is in {here}")
    })
}

/// Does what a report asks for.
pub fn apply(
    service: &Service,
    caller: &Caller,
    ApplyContract { text, kind, task, name }: ApplyContract,
) -> Result<Answered<AppliedAnswer>, Refusal> {
    let name = if name.is_empty() { "the text" } else { &name };
    let kind = kind.as_deref().map(contract_kind).transpose()?;
    let checked = contract::check(&text, kind, Mode::Full);
    let (Some(kind), Some(tree), true) = (checked.kind, &checked.tree, checked.is_valid()) else {
        let what = checked.kind.map_or("contract", |kind| kind.name);
        return Err(invalid(name, what, &checked.problems));
    };
    let (applied, remarks) = if kind.report.is_some() {
        let (report, mut remarks) = handed_in(name, &checked)?;
        let Some(id) = task else {
            return Err(Refusal::input(format!("{} ends a piece of work", kind.name))
                .hint(say("name the task with ").ask("task", "ID")));
        };
        let given = Submission { id, report: Some(Box::new(report)), ..Submission::default() };
        let answered = Handler::<op::TaskSubmit>::handle(service, caller, given)?;
        remarks.extend(answered.remarks);
        (vec![Applied::Task(Box::new(answered.output))], remarks)
    } else {
        let commands = effect::commands(kind.name, tree, task.as_deref())?;
        // The same report applied twice does nothing twice; a review of the next round is another one, whatever it says.
        let round = match &task {
            Some(id) if kind.name == "reviewer" => {
                service.call::<op::TaskShow>(caller, ById { id: id.clone() })?.task.round
            }
            _ => 0,
        };
        let seed = format!("{}\n{round}\n{}", task.unwrap_or_default(), tree.to_value());
        let hash: String = Hash::of(seed.as_bytes()).to_string().chars().take(32).collect();
        let own = caller.key.clone().unwrap_or_else(|| format!("apply:{hash}"));
        let (mut applied, mut remarks) = (Vec::new(), warnings(name, &checked));
        for (number, command) in commands.into_iter().enumerate() {
            let key = Some(format!("{own}:{number}"));
            let answered = service.run(&Caller { key, ..caller.clone() }, command)?;
            applied.push(read_again(answered.output)?);
            remarks.extend(answered.remarks);
        }
        (applied, remarks)
    };
    Ok(Answered { output: AppliedAnswer { kind: kind.name.to_owned(), applied }, remarks })
}

fn read_again(answer: Reply) -> Result<Applied, Refusal> {
    serde_json::from_value(answer.into_json()?)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))
}

/// Writes the last result that was handed in for a task.
pub fn last_result(
    service: &Service,
    caller: &Caller,
    id: String,
) -> Result<ResultAnswer, Refusal> {
    let task = service.call::<op::TaskShow>(caller, ById { id })?.task;
    let name = &task.id;
    let Some(last) = last_reported(service, caller, name)? else {
        return Err(Refusal::new(Code::NotFound, format!("no result was handed in for {name}"))
            .hint(Hint::from(operation("task.submit").id(name).ask("result", "FILE"))));
    };
    let body: ResultReported =
        serde_json::from_value(Value::Object(last.fields)).map_err(|error| {
            Refusal::new(Code::Internal, format!("BUG: the result does not read: {error}"))
        })?;
    // Another kind of contract has other keys, in an order of its own.
    let keys = if body.contract == "result" { body.keys } else { Vec::new() };
    let report = WorkReport {
        contract: body.contract,
        task_id: Some(protocol_id(&task.id, task.number)),
        status: body.status,
        files_modified: body.files_modified,
        lists_files: true,
        log: body.log,
        issues: body.issues,
        completed_at: body.completed_at,
        pr: None,
        evidence: Vec::new(),
        other: body.other,
        keys,
    };
    let yaml = result::to_yaml(&report);
    // What came by another kind of contract may say too little for this one.
    let checked = contract::check(&yaml, contract::kind("result"), Mode::Full);
    if !checked.is_valid() {
        let message = format!(
            "the {} of {name} cannot be written as a result: {}",
            report.contract,
            checked.problems.errors().join("; ")
        );
        let list = operation("event.list").arg("task", name).arg("type", "result_reported");
        return Err(Refusal::new(Code::ContractInvalid, message)
            .hint(say("see ").quote(list))
            .detail("problems", json!(checked.problems)));
    }
    Ok(ResultAnswer { result: result::to_value(&report), yaml })
}

/// Finds the last result that was handed in; what callers report under that name is none.
fn last_reported(
    service: &Service,
    caller: &Caller,
    task: &str,
) -> Result<Option<EventView>, Refusal> {
    let (task, event) = (Some(task.to_owned()), Some("result_reported".to_owned()));
    let wanted = EventFilter { task, event, ..EventFilter::default() };
    let own = |event: &EventView| event.fields.get(REPORTED_FIELD) != Some(&Value::Bool(true));
    Ok(crate::neo::find::events(service, caller, wanted)?.into_iter().rev().find(own))
}
