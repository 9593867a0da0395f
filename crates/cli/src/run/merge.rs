//! `comity merge …`, `comity release`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, fleet, show, team};
use crate::args::{MergeCommand, ReleaseArgs};
use crate::human;
use crate::output::Reply;
use comity_api::{Nothing, ReleaseTag, RunMerges, op};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: MergeCommand, json: bool) -> Result<Reply, Refusal> {
    match command {
        MergeCommand::Queue => show::<op::MergeQueue>(context, Nothing {}, human::merge::queue),
        MergeCommand::Run { target, once } => {
            let runner = team::runner(context, json)?;
            let input = RunMerges { target, once };
            call::<op::MergeRun>(&runner, &context.caller(), input, human::merge::run)
        }
        MergeCommand::Probe => {
            let fleet = fleet::on_host(context, Access::Write)?;
            call::<op::MergeProbe>(&fleet, &context.caller(), Nothing {}, human::merge::probes)
        }
    }
}

pub(super) fn release(context: &Context, args: ReleaseArgs, json: bool) -> Result<Reply, Refusal> {
    let ReleaseArgs { tag, commit, reason } = args;
    let runner = team::runner(context, json)?;
    let input = ReleaseTag { tag, commit, reason };
    call::<op::Release>(&runner, &context.caller(), input, human::merge::release)
}
