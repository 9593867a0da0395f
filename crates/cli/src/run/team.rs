//! `comity agent …`, `comity gate …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, execute, show};
use crate::args::{AgentCommand, DefineCommand, GateCommand, Verdict};
use crate::output::{self, Reply};
use crate::{env, human};
use comity_api::{
    AgentFilter, ById, Nothing, RecordGate, RegisterAgent, RunGates, SuggestAgents, WaiveGate, op,
};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Deliverable;
use comity_guard::git::{Git, snapshot};
use comity_guard::{Passed, Runner};
use comity_project::Context;
use serde::{Deserialize, Serialize};
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

#[derive(Serialize, Deserialize)]
struct DefinedAgent {
    agent: comity_fleet::Agent,
}

#[derive(Serialize, Deserialize)]
struct DefinedAgents {
    agents: Vec<comity_fleet::Agent>,
    /// Definitions that cannot be used.
    bad: Vec<comity_fleet::BadAgent>,
}

fn define(context: &Context, command: DefineCommand) -> Result<Reply, Refusal> {
    let root = &context.root.dir;
    if let DefineCommand::Show { name } = &command {
        let agent = comity_fleet::find_agent(root, name)?;
        return Ok(Reply::new(DefinedAgent { agent }, |answer, _| {
            human::fleet::definition(&answer.agent)
        }));
    }
    let (agents, bad) = comity_fleet::all_agents(root);
    let wrong: Vec<String> =
        bad.iter().map(|bad| format!("{}: {}", bad.file, bad.problems.join("; "))).collect();
    let reply = Reply::new(DefinedAgents { agents, bad }, |answer, _| {
        human::fleet::definitions(&answer.agents, &answer.bad)
    });
    Ok(match (command, wrong.is_empty()) {
        (DefineCommand::Check, false) => {
            reply.refused(Refusal::new(Code::ContractInvalid, wrong.join("\n")))
        }
        _ => reply,
    })
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
            // Whoever reads the answer sees how every gate went, also when that is a refusal.
            match done {
                Err(refusal) if refusal.details.contains_key("gates") => {
                    let gates = serde_json::from_value(refusal.details.clone().into())
                        .map_err(|error| Refusal::new(Code::Internal, format!("BUG: {error}")))?;
                    Ok(Reply::new(gates, human::team::ran).refused(refusal))
                }
                done => done,
            }
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
