//! `comity contract …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{CLAIM_HAS_ENDED, text, writing};
use crate::args::{ContractCommand, Global};
use crate::env;
use crate::human::Screen;
use crate::output::Reply;
use crate::terminal::neutral;
use comity_api::{
    Applied, AppliedAnswer, ApplyContract, ById, ContractOfKind, ValidateAnswer, ValidateContract,
    op,
};
use comity_bridge::{Bridge, contract, mission, neo};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{Answered, Contracts, Handler};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::contract::{ContractKind, Mode, kind};
use comity_protocol::mission::to_yaml;
use comity_protocol::problem::Level;
use serde_json::json;

pub(super) fn run(global: &Global, command: ContractCommand) -> Result<Reply, Refusal> {
    let named = |kind: &ContractKind| kind.name.to_owned();
    match command {
        ContractCommand::Validate { file, kind, compat, strict } => {
            let mode = match (compat, strict) {
                (true, _) => Mode::Compat,
                (_, true) => Mode::Strict,
                _ => Mode::Full,
            };
            let text = text::contract(&file)?;
            let input = ValidateContract { text, kind: kind.map(named), mode };
            let caller = env::caller_alone()?;
            let done = Handler::<op::ContractValidate>::handle(&Contracts, &caller, input)?;
            Ok(validated(text::name_of(&file), done.output))
        }
        ContractCommand::Apply { file, task, kind } => {
            let (text, name) = (text::contract(&file)?, text::name_of(&file).to_owned());
            apply(env::project(global)?, ApplyContract { text, kind: kind.map(named), task, name })
        }
        ContractCommand::Schema { kind } => {
            let (caller, input) = (env::caller_alone()?, ContractOfKind { kind: named(kind) });
            let done = Handler::<op::ContractSchema>::handle(&Contracts, &caller, input)?.output;
            let text = serde_json::to_string_pretty(&done.schema).unwrap_or_default();
            Ok(Reply::text(done, text + "\n"))
        }
        ContractCommand::Render { kind, id } => render(&env::project(global)?, &kind, id),
    }
}

fn render(context: &Context, kind: &str, id: String) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    match kind {
        "mission" => {
            let mut answer = service.call::<op::TaskMission>(&caller, ById { id })?;
            let brief = super::task::whole_brief(&service, context, &answer.task.id);
            let (task, named) = (&answer.task, &mut answer.mission);
            let files = mission::write(context, task, named, brief.as_ref())?;
            let yaml = to_yaml(named);
            let answer = json!({"mission": answer.mission, "yaml": &yaml, "files": files});
            Ok(Reply::text(answer, yaml))
        }
        "result" => {
            let answer = contract::last_result(&service, &caller, id)?;
            let yaml = answer.yaml.clone();
            Ok(Reply::text(answer, yaml))
        }
        "resume" => Ok(writing::reply(neo::resume(&service, &caller, &id)?)),
        other => writing::render(context, other, id),
    }
}

fn validated(name: &str, answer: ValidateAnswer) -> Reply {
    let mut words = String::new();
    for problem in answer.problems.iter() {
        let level = match problem.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let (line, column) = (problem.line, problem.column);
        words.push_str(&format!("{name}:{line}:{column}: {level}: {}\n", problem.message));
    }
    let verdict = if answer.valid { "valid" } else { "not valid" };
    let kind = answer.kind.as_deref().unwrap_or("of unknown kind");
    words.push_str(&format!("{name} is {verdict} ({kind})\n"));
    let exit = if answer.valid { 0 } else { Code::InvalidInput.exit_status() };
    // Names and messages come from outside; line breaks between them are ours.
    let words: String = words.lines().map(|line| format!("{}\n", neutral(line))).collect();
    Reply::text(answer, words).exit(exit)
}

fn apply(context: Context, input: ApplyContract) -> Result<Reply, Refusal> {
    let (caller, from_env) = (context.caller(), context.fence_from_env);
    let bridge = Bridge { service: context.service(Access::Write)?, context };
    let Answered { output, remarks } =
        Handler::<op::ContractApply>::handle(&bridge, &caller, input)?;
    let hands_in = kind(&output.kind).is_some_and(|kind| kind.report.is_some());
    let is_over =
        |applied: &Applied| matches!(applied, Applied::Task(done) if done.task.claim.is_none());
    let ended = from_env && hands_in && output.applied.iter().any(is_over);
    let reply = Reply::new(output, applied).noted(remarks);
    Ok(if ended { reply.note(CLAIM_HAS_ENDED) } else { reply })
}

/// One line for each thing that came of it, also when it came of it before.
fn applied(answer: &AppliedAnswer, _: &Screen) -> String {
    let line = |applied: &Applied| match applied {
        Applied::Task(done) => {
            let TaskView { id, status, .. } = &done.task;
            format!("{id} is {status} now\n")
        }
        Applied::Decision(asked) => {
            format!("asked {}: {}\n", asked.decision.id, asked.decision.question)
        }
        Applied::Event(noted) => {
            let text = |key: &str| noted.event.text(key).unwrap_or_default();
            let first = text("text").lines().next().unwrap_or_default();
            format!("noted ({}): {first}\n", text("type"))
        }
    };
    answer.applied.iter().map(line).collect()
}
