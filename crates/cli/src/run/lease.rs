//! `comity lease …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::LeaseCommand;
use crate::human;
use crate::output::Reply;
use comity_api::{AcquireLeases, CheckPaths, LeaseFilter, Nothing, ReleaseLeases, RenewLeases, op};
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn run(context: &Context, command: LeaseCommand) -> Result<Reply, Refusal> {
    match command {
        LeaseCommand::Acquire { patterns, task, purpose, ttl, shared, wait } => {
            let patterns = context.mapper().patterns(&patterns)?;
            let owner = None;
            let input = AcquireLeases { patterns, task, purpose, ttl, shared, owner, wait };
            execute::<op::LeaseAcquire>(context, input, human::team::taken)
        }
        LeaseCommand::Renew { ids, ttl } => {
            let input = RenewLeases { ids, ttl, owner: None };
            execute::<op::LeaseRenew>(context, input, human::team::taken)
        }
        LeaseCommand::Release { ids, all } => {
            let input = ReleaseLeases { ids, all, owner: None };
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
