//! From options to the fields of a task.

use super::task::each;
use super::text;
use crate::args::{CreateArgs, UpdateArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{TaskStep, UpdateTask, op};
use comity_bridge::contract::{self, AskedFor, Named};
use comity_core::command::{ConstraintChanges, NewTask};
use comity_core::event::TaskUpdated;
use comity_core::refusal::Refusal;
use comity_core::task::Constraints;
use comity_project::Context;
use comity_protocol::mission::check_context;
use serde_json::{Map, Value};

/// Makes a task of the options of `task create`, on top of a contract when one is given.
pub(super) fn new_task(context: &Context, args: CreateArgs) -> Result<AskedFor, Refusal> {
    let mapper = context.mapper();
    let title = args.title.as_deref();
    let AskedFor { task: base, status, note } = match &args.contract {
        Some(file) => {
            let (name, text) = (text::name_of(file), text::contract(file)?);
            contract::task(&context.caller(), Named { name, text: &text }, title)?
        }
        None => {
            let title = title.unwrap_or_default().to_owned();
            let task = NewTask { title, ..NewTask::default() };
            AskedFor { task, ..AskedFor::default() }
        }
    };
    let mut fields = base.context;
    for (key, text) in args.context {
        fields.insert(key, typed(&text));
    }
    check_context(&fields)?;
    let both = |mut first: Vec<String>, more: Vec<String>| {
        first.extend(more);
        first
    };
    let mut labels = base.labels;
    labels.retain(|label| !args.labels.contains(label));
    let new = NewTask {
        id: args.id.or(base.id),
        links: base.links,
        title: base.title,
        description: args.description.unwrap_or(base.description),
        kind: args.kind.or(base.kind),
        complexity: args.complexity,
        deliverable: args.deliverable.unwrap_or_default(),
        priority: args.priority,
        labels: both(labels, args.labels),
        role: args.role.or(base.role),
        depends_on: args.depends_on,
        blockers: args.blockers,
        files: both(base.files, mapper.patterns(&args.files)?),
        requirements: both(base.requirements, args.requirements),
        dod: args.dod,
        gates: args.gates,
        context: fields,
        constraints: Constraints {
            max_files: args.max_files.or(base.constraints.max_files),
            no_git_commit: args.no_git_commit || base.constraints.no_git_commit,
            no_new_deps: args.no_new_deps || base.constraints.no_new_deps,
            allow_delete: both(base.constraints.allow_delete, mapper.patterns(&args.allow_delete)?),
        },
        timeout: args.timeout.or(base.timeout),
        epic: args.epic.or(base.epic),
        prd: args.prd.or(base.prd),
        initiative: args.initiative,
        parent: args.parent,
        assignee: args.assignee,
        new: args.new,
        id_prefix: None,
        awaits_unknown: false,
        body: base.body,
    };
    Ok(AskedFor { task: new, status, note })
}

/// Numbers, lists, objects, true and false keep their type; everything else is text.
fn typed(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::String(_) | Value::Null) | Err(_) => Value::from(text),
        Ok(value) => value,
    }
}

/// A list given as one empty text is the empty list.
fn cleared(list: Option<Vec<String>>) -> Option<Vec<String>> {
    list.map(|list| if list == [""] { Vec::new() } else { list })
}

pub(super) fn update(context: &Context, args: UpdateArgs) -> Result<Reply, Refusal> {
    let mapper = context.mapper();
    let allow_delete = cleared(args.allow_delete).map(|list| mapper.patterns(&list)).transpose()?;
    let constraints = ConstraintChanges {
        max_files: args.max_files,
        no_git_commit: args.no_git_commit,
        no_new_deps: args.no_new_deps,
        allow_delete,
    };
    let files = cleared(args.files).map(|list| mapper.patterns(&list)).transpose()?;
    let entries = |pairs: Vec<(String, String)>| {
        let entry = |(key, text): (String, String)| {
            let value = if text.is_empty() { Value::Null } else { typed(&text) };
            (key, value)
        };
        pairs.into_iter().map(entry).collect::<Map<String, Value>>()
    };
    let context_changes = args.context.map(entries);
    context_changes.as_ref().map_or(Ok(()), check_context)?;
    let changes = TaskUpdated {
        title: args.title,
        description: args.description,
        kind: args.kind,
        complexity: args.complexity,
        deliverable: args.deliverable,
        priority: args.priority,
        labels: cleared(args.labels),
        role: args.role.map(|role| if role == "any" { String::new() } else { role }),
        blockers: cleared(args.blockers),
        files,
        requirements: cleared(args.requirements),
        dod: cleared(args.dod),
        gates: cleared(args.gates),
        constraints: None,
        context: context_changes,
        timeout: args.timeout,
        epic: args.epic,
        prd: args.prd,
        initiative: args.initiative,
        branch: args.branch,
        pr: args.pr,
        needs: None,
    };
    if changes == TaskUpdated::default() && constraints.is_empty() {
        return Err(Refusal::input("there is nothing to change").hint(
            "give at least one field, such as --priority P1; see `comity task update --help`",
        ));
    }
    let if_match = args.if_match;
    if if_match.is_some() && args.ids.len() > 1 {
        return Err(Refusal::input("--if-match is about one task").hint("give one id"));
    }
    let changes = Box::new(changes);
    let input = |id| {
        let (changes, constraints) = (changes.clone(), constraints.clone());
        UpdateTask { id, changes, constraints, if_match }
    };
    each::<op::TaskUpdate>(context, args.ids, input, TaskStep::Update, human::task::line)
}
