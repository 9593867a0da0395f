//! `comity decision …`

use super::{execute, query};
use crate::args::{AskArgs, DecisionCommand};
use crate::context::Context;
use crate::human::Shape;
use crate::output::{self, Reply};
use crate::store::Access;
use comity_core::command::{Command, Question};
use comity_core::refusal::Refusal;
use comity_engine::Query;
use serde_json::Value;

pub(super) fn run(
    context: &Context,
    command: DecisionCommand,
    json: bool,
) -> Result<Reply, Refusal> {
    match command {
        DecisionCommand::Ask(args) => ask(context, *args, json),
        DecisionCommand::List { all, page } => {
            query(context, Query::Decisions { all, page: page.into() }, Shape::Decisions)
        }
        DecisionCommand::Show { id } => query(context, Query::Decision { id }, Shape::Decision),
        DecisionCommand::Answer { id, answer } => {
            execute(context, Command::DecisionAnswer { id, answer }, Shape::Decision)
        }
        DecisionCommand::Wait { id, timeout } => {
            // Refuses a decision that is not there without making a store for it.
            context.query(Query::Decision { id: id.clone() })?;
            let mut engine = context.engine(Access::Write)?;
            let answer =
                engine.wait_for_decision(&context.asker(), context.fence(), &id, timeout)?;
            Ok(Reply::new(answer, Shape::Decision))
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
    };
    let mut engine = context.engine(Access::Write)?;
    let asked = engine.execute(context.request(Command::DecisionAsk(Box::new(question))))?;
    if !args.wait {
        return Ok(Reply::new(asked, Shape::Decision));
    }
    let id = asked.pointer("/decision/id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let to = asked.pointer("/decision/to").and_then(Value::as_str).unwrap_or_default();
    // A program that reads stderr expects nothing there but a refusal.
    if !json {
        output::remark(&format!("{id} asked; waiting for {to} (comity decision answer {id} …)"));
    }
    let answer = engine.wait_for_decision(&context.asker(), context.fence(), &id, args.timeout)?;
    Ok(Reply::new(answer, Shape::Decision))
}
