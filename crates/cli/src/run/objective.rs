//! `comity objective …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::fleet::LOOK;
use crate::args::ObjectiveCommand;
use crate::human;
use crate::output::Reply;
use comity_api::{
    BlockObjective, ById, CompleteObjective, DispatchPiece, PieceAnswer, RunLogsOf, op,
};
use comity_core::command::CriterionEvidence;
use comity_core::refusal::Refusal;
use comity_engine::{Answered, Handler, Service};
use comity_fleet::{Objectives, RunOutputs};
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: ObjectiveCommand) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let (caller, program) = (context.caller(), Some(crate::env::program()?));
    let own = Objectives { context: context.clone(), service: service.clone(), program };
    match command {
        ObjectiveCommand::Dispatch { agent, task, file: files, done, constraint, no_wait } => {
            let (constraints, wait) = (constraint, false);
            let piece = DispatchPiece { agent, task, files, done, constraints, wait };
            let Answered { output, remarks } =
                Handler::<op::ObjectiveDispatch>::handle(&own, &caller, piece)?;
            let output = if no_wait { output } else { ended(context, &service, output)? };
            let reply = Reply::new(output, human::objective::piece);
            Ok(remarks.into_iter().fold(reply, Reply::note))
        }
        ObjectiveCommand::Complete { evidence, summary } => {
            let evidence = evidence
                .into_iter()
                .map(|(criterion, evidence)| CriterionEvidence { criterion, evidence })
                .collect();
            let given = CompleteObjective { evidence, summary };
            let answered = Handler::<op::ObjectiveComplete>::handle(&own, &caller, given)?;
            Ok(Reply::new(answered.output, human::objective::completed))
        }
        ObjectiveCommand::Blocked { question, reason } => {
            let given = BlockObjective { question, reason };
            let answered = Handler::<op::ObjectiveBlocked>::handle(&own, &caller, given)?;
            Ok(Reply::new(answered.output, human::objective::blocked))
        }
    }
}

/// Waits here for the end of a run, so that no call to a server lasts that long.
fn ended(
    context: &Context,
    service: &Service,
    mut piece: PieceAnswer,
) -> Result<PieceAnswer, Refusal> {
    let id = piece.run.id.clone().unwrap_or_default();
    loop {
        piece.run = service.call::<op::RunShow>(&context.caller(), ById { id: id.clone() })?.run;
        if !piece.run.state.is_live() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let outputs = RunOutputs { context: context.clone(), service: service.clone(), is_own: true };
    let wanted = RunLogsOf { id, from: None };
    let said = Handler::<op::RunLogs>::handle(&outputs, &context.caller(), wanted);
    let lines = said.map(|said| said.output.lines).unwrap_or_default();
    let texts = lines.into_iter().filter(|line| line.kind == "text").map(|line| line.text);
    let text = texts.collect::<Vec<_>>().join("\n");
    piece.said = (!text.trim().is_empty()).then_some(text);
    Ok(piece)
}
