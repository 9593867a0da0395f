//! `comity contract …`

use super::mission;
use crate::args::{ContractCommand, Global};
use crate::env;
use crate::human::clean_text;
use crate::output::Reply;
use comity_api::{ById, EventFilter, EventView, op};
use comity_bridge::neo;
use comity_core::command::WorkReport;
use comity_core::event::{REPORTED_FIELD, ResultReported};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::ace::{DONE_FILE, HandOverError};
use comity_protocol::agent_protocol::result;
use comity_protocol::contract::{self, Checked, ContractKind, Mode};
use comity_protocol::document::{BYTES_MAX, Place};
use comity_protocol::mission::{protocol_id, to_yaml};
use comity_protocol::problem::Level;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub(super) fn run(global: &Global, command: ContractCommand) -> Result<Reply, Refusal> {
    match command {
        ContractCommand::Validate { file, kind, compat, strict } => {
            let mode = match (compat, strict) {
                (true, _) => Mode::Compat,
                (_, true) => Mode::Strict,
                _ => Mode::Full,
            };
            let text = read(Path::new(&file), Path::new("."))?;
            Ok(validated(&file, &contract::check(&text, kind, mode)))
        }
        ContractCommand::Apply { file, task, kind } => {
            super::apply::run(&env::project(global)?, &file, kind, task)
        }
        ContractCommand::Schema { kind } => {
            let schema = (kind.schema)();
            let text = format!("{}\n", pretty(&schema));
            Ok(Reply::text(json!({"kind": kind.name, "schema": schema}), text))
        }
        ContractCommand::Render { kind, id } => {
            let context = env::project(global)?;
            match kind.as_str() {
                "mission" => render_mission(&context, id),
                "result" => render_result(&context, id),
                "resume" => {
                    let (service, caller) = (context.service(Access::Read)?, context.caller());
                    Ok(super::writing::reply(neo::resume(&service, &caller, &id)?))
                }
                other => super::writing::render(&context, other, id),
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Reads a file that may be standard input, and no more of it than a contract can have.
pub(super) fn read(name: &Path, base: &Path) -> Result<String, Refusal> {
    let shown = name.display();
    let limit = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let done = if name == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(base.join(name)).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    done.map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let is_hand_over = name.file_name().is_some_and(|name| name == DONE_FILE);
        // ACE has a name of its own for a worker that ended without a word.
        let said = match missing && is_hand_over {
            true => format!("{}: cannot read {shown}: {error}", HandOverError::MissingDoneFile),
            false => format!("cannot read {shown}: {error}"),
        };
        Refusal::input(said).hint("give a file in YAML or JSON, or - for standard input")
    })?;
    if bytes.len() > BYTES_MAX {
        return Err(Refusal::input(format!("{shown} is longer than {BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let at =
            Place::after(&String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or(&[])));
        let (line, column) = (at.line, at.column);
        Refusal::input(format!("{shown}:{line}:{column}: this is not UTF-8 (byte {good})"))
            .detail("line", line)
            .detail("column", column)
    })
}

fn validated(file: &str, checked: &Checked) -> Reply {
    let valid = checked.is_valid();
    let kind = checked.kind.map(|kind: &ContractKind| kind.name);
    let name = if file == "-" { "stdin" } else { file };
    let mut words = String::new();
    for problem in checked.problems.iter() {
        let level = match problem.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let (line, column) = (problem.line, problem.column);
        words.push_str(&format!("{name}:{line}:{column}: {level}: {}\n", problem.message));
    }
    let verdict = if valid { "valid" } else { "not valid" };
    words.push_str(&format!("{name} is {verdict} ({})\n", kind.unwrap_or("of unknown kind")));
    let answer = json!({"valid": valid, "kind": kind, "problems": checked.problems});
    let exit = if valid { 0 } else { Code::InvalidInput.exit_status() };
    Reply::text(answer, clean_lines(&words)).exit(exit)
}

/// Names and messages come from outside; line breaks between them are ours.
fn clean_lines(words: &str) -> String {
    words.lines().map(|line| format!("{}\n", clean_text(line))).collect()
}

/// Writes the last result that was handed in for a task.
fn render_result(context: &Context, id: String) -> Result<Reply, Refusal> {
    let task = context.ask::<op::TaskShow>(ById { id })?.task;
    let name = &task.id;
    let last = last_result(context, name)?;
    let Some(last) = last else {
        return Err(Refusal::new(Code::NotFound, format!("no result was handed in for {name}"))
            .hint(format!("comity task submit {name} --result FILE")));
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
        return Err(Refusal::new(Code::ContractInvalid, message)
            .hint(format!("see `comity event list --task {name} --type result_reported`"))
            .detail("problems", json!(checked.problems)));
    }
    let answer = json!({"result": result::to_value(&report), "yaml": yaml});
    Ok(Reply::text(answer, yaml))
}

/// The last result that was handed in; what callers report under that name is none.
fn last_result(context: &Context, task: &str) -> Result<Option<EventView>, Refusal> {
    let mut found = None;
    let mut after = None;
    loop {
        let (task, event) = (Some(task.to_owned()), Some("result_reported".to_owned()));
        let filter =
            EventFilter { task, event, limit: Some(PAGE_MAX), after, ..EventFilter::default() };
        let page = context.ask::<op::EventList>(filter)?;
        let own = |event: &EventView| event.fields.get(REPORTED_FIELD) != Some(&Value::Bool(true));
        found = page.events.into_iter().rev().find(own).or(found);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

fn render_mission(context: &Context, id: String) -> Result<Reply, Refusal> {
    let answer = context.ask::<op::TaskMission>(ById { id })?;
    let yaml = to_yaml(&answer.mission);
    let files = mission::write(context, &answer.task, &answer.mission)?;
    let answer = json!({"mission": answer.mission, "yaml": &yaml, "files": files});
    Ok(Reply::text(answer, yaml))
}
