//! `comity decision …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::{AskArgs, DecisionCommand};
use crate::human;
use crate::output::{self, Reply};
use comity_api::{AnswerDecision, ById, DecisionFilter, WaitForDecision, op};
use comity_core::command::Question;
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(
    context: &Context,
    command: DecisionCommand,
    json: bool,
) -> Result<Reply, Refusal> {
    match command {
        DecisionCommand::Ask(args) => ask(context, *args, json),
        DecisionCommand::List { all, page } => {
            let filter =
                DecisionFilter { all, limit: page.limit.map(usize::from), after: page.after };
            show::<op::DecisionList>(context, filter, human::decision::list)
        }
        DecisionCommand::Show { id } => {
            show::<op::DecisionShow>(context, ById { id }, human::decision::full)
        }
        DecisionCommand::Answer { id, answer } => {
            let input = AnswerDecision { id, answer };
            execute::<op::DecisionAnswerOne>(context, input, human::decision::answered)
        }
        DecisionCommand::Wait { id, timeout } => {
            // Refuses a decision that is not there without making a store for it.
            context.ask::<op::DecisionShow>(ById { id: id.clone() })?;
            let input = WaitForDecision { id, timeout };
            execute::<op::DecisionWait>(context, input, human::decision::full)
        }
    }
}

fn ask(context: &Context, args: AskArgs, json: bool) -> Result<Reply, Refusal> {
    let question = Question {
        question: args.question,
        task: args.task,
        options: args.options,
        kind: args.kind,
        context: args.context,
        default: args.default,
        to: args.to,
        expires: args.expires,
        proposes: None,
    };
    let service = context.service(Access::Write)?;
    let asked = service.call::<op::DecisionAsk>(&context.caller(), question)?;
    if !args.wait {
        return Ok(Reply::new(asked, human::decision::full));
    }
    let (id, to) = (asked.decision.id, asked.decision.to);
    // A program that reads stderr expects nothing there but a refusal.
    if !json {
        output::remark(&format!("{id} asked; waiting for {to} (comity decision answer {id} …)"));
    }
    let input = WaitForDecision { id, timeout: args.timeout };
    let answer = service.call::<op::DecisionWait>(&context.caller(), input)?;
    Ok(Reply::new(answer, human::decision::full))
}
