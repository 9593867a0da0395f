//! `comity run …`, `comity runs`, `comity cost`, `comity budget …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::{BudgetCommand, CostArgs, RunCommand, RunsArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{
    ById, ClearBudget, CostFilter, Nothing, PauseRun, ResumeRun, RunFilter, StopRun, op,
};
use comity_core::command::NewBudget;
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn run(context: &Context, command: RunCommand) -> Result<Reply, Refusal> {
    match command {
        RunCommand::Show { id } => show::<op::RunShow>(context, ById { id }, human::fleet::run),
        RunCommand::Stop { id, now, reason } => {
            execute::<op::RunStop>(context, StopRun { id, now, reason }, human::fleet::line)
        }
        RunCommand::Pause { id, reason } => {
            execute::<op::RunPause>(context, PauseRun { id, reason }, human::fleet::line)
        }
        RunCommand::Resume { id, fresh } => {
            execute::<op::RunResume>(context, ResumeRun { id, fresh }, human::fleet::line)
        }
    }
}

pub(super) fn runs(context: &Context, args: RunsArgs) -> Result<Reply, Refusal> {
    let (limit, after) = (args.page.limit.map(usize::from), args.page.after);
    let RunsArgs { status, task, agent, .. } = args;
    let filter = RunFilter { status, task, agent, limit, after };
    show::<op::Runs>(context, filter, human::fleet::runs)
}

pub(super) fn cost(context: &Context, args: &CostArgs) -> Result<Reply, Refusal> {
    let words = if args.short { human::fleet::short_cost } else { human::fleet::cost };
    show::<op::Cost>(context, CostFilter { by: args.by }, words)
}

pub(super) fn budget(context: &Context, command: BudgetCommand) -> Result<Reply, Refusal> {
    match command {
        BudgetCommand::Set { scope, usd, runs, per } => {
            let new = NewBudget { scope, per, usd, runs };
            execute::<op::BudgetSet>(context, new, human::fleet::budgets)
        }
        BudgetCommand::List => show::<op::BudgetList>(context, Nothing {}, human::fleet::budgets),
        BudgetCommand::Clear { scope, per } => {
            execute::<op::BudgetClear>(context, ClearBudget { scope, per }, human::fleet::budgets)
        }
    }
}
