//! `comity lease …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::LeaseCommand;
use crate::human;
use crate::output::Reply;
use comity_api::{
    AcquireLeases, CheckPaths, LeaseFilter, LeasesAnswer, Nothing, ReleaseLeases, RenewLeases, op,
};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: LeaseCommand) -> Result<Reply, Refusal> {
    match command {
        LeaseCommand::Acquire { patterns, task, purpose, ttl, shared, wait } => {
            let patterns = context.mapper().patterns(&patterns)?;
            let input = AcquireLeases { patterns, task, purpose, ttl, shared };
            let Some(wait) = wait else {
                return execute::<op::LeaseAcquire>(context, input, human::team::taken);
            };
            let request = context.request(input.into());
            let reply = context.service(Access::Write)?.execute_waiting(&request, wait)?;
            Ok(Reply::new(reply.take::<LeasesAnswer>()?, human::team::taken))
        }
        LeaseCommand::Renew { ids, ttl } => {
            execute::<op::LeaseRenew>(context, RenewLeases { ids, ttl }, human::team::taken)
        }
        LeaseCommand::Release { ids, all } => {
            let input = ReleaseLeases { ids, all };
            execute::<op::LeaseRelease>(context, input, human::team::released)
        }
        LeaseCommand::List { owner, page } => {
            let filter =
                LeaseFilter { owner, limit: page.limit.map(usize::from), after: page.after };
            show::<op::LeaseList>(context, filter, human::team::leases)
        }
        LeaseCommand::Check { paths } => {
            let paths = context.mapper().patterns(&paths)?;
            show::<op::LeaseCheck>(context, CheckPaths { paths }, human::team::paths)
        }
        LeaseCommand::Reclaim => {
            execute::<op::LeaseReclaim>(context, Nothing {}, human::log::sweep)
        }
    }
}
