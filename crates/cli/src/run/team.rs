//! `comity agent …`, `comity gate …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::{AgentCommand, GateCommand, Verdict};
use crate::human;
use crate::output::Reply;
use comity_api::{
    AgentFilter, ById, Nothing, RecordGate, RegisterAgent, SuggestAgents, WaiveGate, op,
};
use comity_core::refusal::Refusal;
use comity_core::task::Deliverable;
use comity_guard::git::{Git, snapshot};
use comity_project::Context;
use std::path::Path;

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
        AgentCommand::Suggest { labels, role } => {
            let wanted = SuggestAgents { labels, role };
            show::<op::AgentSuggest>(context, wanted, human::team::suggestions)
        }
    }
}

pub(super) fn gate(context: &Context, command: GateCommand) -> Result<Reply, Refusal> {
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
