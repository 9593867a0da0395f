//! `comity lease …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::post::{say_how, say_how_refused};
use super::{execute, reply, show};
use crate::args::LeaseCommand;
use crate::human;
use crate::output::Reply;
use comity_api::{AcquireLeases, CheckPaths, LeaseFilter, Nothing, ReleaseLeases, RenewLeases, op};
use comity_core::refusal::Refusal;
use comity_engine::Handler;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: LeaseCommand) -> Result<Reply, Refusal> {
    match command {
        LeaseCommand::Acquire { patterns, task, purpose, ttl, shared, wait } => {
            let about = patterns;
            let (patterns, owner) = (context.mapper().patterns(&about)?, None);
            let input = AcquireLeases { patterns, task, purpose, ttl, shared, owner, wait };
            let service = context.service(Access::Write)?;
            let mut answered =
                Handler::<op::LeaseAcquire>::handle(&service, &context.caller(), input)
                    .map_err(|refusal| say_how_refused(refusal, &about))?;
            say_how(answered.output.brief.as_mut(), &about);
            Ok(reply(answered, human::team::taken))
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
