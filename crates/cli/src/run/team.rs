//! `comity agent …`, `comity gate …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, execute, show};
use crate::args::{AgentCommand, DefineCommand, GateCommand, Verdict};
use crate::output::{self, Reply, Words};
use crate::{env, human};
use comity_api::{
    AgentFilter, ById, DefinedAgents, DefinitionOf, Nothing, RecordGate, RegisterAgent, RunGates,
    RunGatesAnswer, SuggestAgents, WaiveGate, op,
};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Deliverable;
use comity_fleet::Definitions;
use comity_guard::git::{Git, snapshot};
use comity_guard::{Passed, Runner};
use comity_project::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;

pub(super) fn agent(context: &Context, command: AgentCommand) -> Result<Reply, Refusal> {
    match command {
        AgentCommand::Register { id, roles, skills } => {
            let input = RegisterAgent { id, roles, skills };
            execute::<op::AgentRegister>(context, input, human::team::agent)
        }
        AgentCommand::List { page } => {
            let filter = AgentFilter { limit: page.limit.map(usize::from), after: page.after };
            show::<op::AgentList>(context, filter, human::team::agents)
        }
        AgentCommand::Show { id } => {
            show::<op::AgentShow>(context, ById { id }, human::team::agent)
        }
        AgentCommand::Heartbeat => {
            execute::<op::AgentHeartbeat>(context, Nothing {}, human::team::agent)
        }
        AgentCommand::Define(command) => define(context, command),
        AgentCommand::Suggest { labels, role } => {
            let wanted = SuggestAgents { labels, role };
            show::<op::AgentSuggest>(context, wanted, human::team::suggestions)
        }
    }
}

fn define(context: &Context, command: DefineCommand) -> Result<Reply, Refusal> {
    let known = Definitions { root: context.root.dir.clone() };
    let caller = context.caller();
    match command {
        DefineCommand::List => {
            call::<op::AgentDefineList>(&known, &caller, Nothing {}, human::fleet::definitions)
        }
        DefineCommand::Show { name } => {
            let input = DefinitionOf { name };
            call::<op::AgentDefineShow>(&known, &caller, input, human::fleet::definition)
        }
        DefineCommand::Check => {
            let words = human::fleet::definitions;
            let done = call::<op::AgentDefineCheck>(&known, &caller, Nothing {}, words);
            shown_with_refusal::<DefinedAgents>(done, "bad", words)
        }
    }
}

/// Shows the answer that a refusal has in its details, so that whoever reads the answer sees all of it.
fn shown_with_refusal<A>(
    done: Result<Reply, Refusal>,
    part: &str,
    words: Words<A>,
) -> Result<Reply, Refusal>
where
    A: Serialize + DeserializeOwned + 'static,
{
    match done {
        Err(refusal) if refusal.details.contains_key(part) => {
            let answer: A = serde_json::from_value(refusal.details.clone().into())
                .map_err(|error| Refusal::new(Code::Internal, format!("BUG: {error}")))?;
            Ok(Reply::new(answer, words).refused(refusal))
        }
        done => done,
    }
}

/// Returns what runs commands of the project. Programs that read JSON hear nothing of the progress, unless somebody
/// looks.
pub(super) fn runner(context: &Context, json: bool) -> Result<Runner, Refusal> {
    let is_heard = !json || output::progress_is_seen();
    Ok(Runner {
        context: context.clone(),
        observer: env::observer(context),
        program: env::program()?,
        stop: env::stop_flag()?,
        passed: Passed::default(),
        say: Arc::new(move |text| {
            if is_heard {
                output::remark(text);
            }
        }),
    })
}

pub(super) fn gate(context: &Context, command: GateCommand, json: bool) -> Result<Reply, Refusal> {
    match command {
        GateCommand::List { id } => show::<op::GateList>(context, ById { id }, human::team::gates),
        GateCommand::Record { id, gate, verdict, report, commit, new } => {
            let commit = match (context.git_tree(), commit) {
                (Some(tree), Some(name)) => Some(Git::at(tree).named_commit(&name)?),
                (Some(tree), None) => tested_commit(context, tree, &id)?,
                (None, given) => given,
            };
            let pass = verdict == Verdict::Pass;
            let input = RecordGate { id, gate, pass, report, commit, new };
            execute::<op::GateRecord>(context, input, human::team::gate)
        }
        GateCommand::Run { id, gates } => {
            let runner = runner(context, json)?;
            let input = RunGates { id, gates };
            let done = call::<op::GateRun>(&runner, &context.caller(), input, human::team::ran);
            shown_with_refusal::<RunGatesAnswer>(done, "gates", human::team::ran)
        }
        GateCommand::Waive { id, gate, reason } => {
            let input = WaiveGate { id, gate, reason };
            execute::<op::GateWaive>(context, input, human::task::line)
        }
    }
}

/// What the caller's work tree has: its commit, or the snapshot that a task that must not commit is
/// handed in with.
fn tested_commit(context: &Context, tree: &Path, id: &str) -> Result<Option<String>, Refusal> {
    let task = context.ask::<op::TaskShow>(ById { id: id.to_owned() })?.task;
    let code = task.deliverable == Deliverable::Code.as_str();
    if code && task.constraints.no_git_commit {
        return snapshot(tree, &task.id).map(Some);
    }
    Ok(Git::at(tree).commit("HEAD"))
}
