//! `comity lease …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::LeaseCommand;
use crate::human;
use crate::output::Reply;
use comity_api::{CheckPaths, LeaseFilter, LeasesAnswer, op};
use comity_core::command::{Command, LeaseChange};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: LeaseCommand) -> Result<Reply, Refusal> {
    match command {
        LeaseCommand::Acquire { patterns, task, purpose, ttl, shared, wait } => {
            let patterns = context.mapper().patterns(&patterns)?;
            let command =
                Command::Lease(LeaseChange::Acquire { patterns, task, purpose, ttl, shared });
            let Some(wait) = wait else { return execute(context, command, human::team::taken) };
            let request = context.request(command);
            let reply = context.service(Access::Write)?.execute_waiting(&request, wait)?;
            Ok(Reply::new(reply.take::<LeasesAnswer>()?, human::team::taken))
        }
        LeaseCommand::Renew { ids, ttl } => {
            execute(context, Command::Lease(LeaseChange::Renew { ids, ttl }), human::team::taken)
        }
        LeaseCommand::Release { ids, all } => execute(
            context,
            Command::Lease(LeaseChange::Release { ids, all }),
            human::team::released,
        ),
        LeaseCommand::List { owner, page } => {
            let filter =
                LeaseFilter { owner, limit: page.limit.map(usize::from), after: page.after };
            show::<op::LeaseList>(context, filter, human::team::leases)
        }
        LeaseCommand::Check { paths } => {
            let paths = context.mapper().patterns(&paths)?;
            show::<op::LeaseCheck>(context, CheckPaths { paths }, human::team::paths)
        }
        LeaseCommand::Reclaim => execute(context, Command::Sweep, human::log::sweep),
    }
}
