//! `comity lease …`

use super::{execute, query};
use crate::args::LeaseCommand;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_engine::Query;

pub(super) fn run(context: &Context, command: LeaseCommand) -> Result<Reply, Refusal> {
    match command {
        LeaseCommand::Acquire { patterns, task, purpose, ttl, shared, wait } => {
            let patterns = context.mapper().patterns(&patterns)?;
            let command = Command::LeaseAcquire { patterns, task, purpose, ttl, shared };
            let Some(wait) = wait else { return execute(context, command, Shape::Leases) };
            let request = context.request(command);
            let answer = context.engine(Access::Write)?.execute_waiting(&request, wait)?;
            Ok(Reply::new(answer, Shape::Leases))
        }
        LeaseCommand::Renew { ids, ttl } => {
            execute(context, Command::LeaseRenew { ids, ttl }, Shape::Leases)
        }
        LeaseCommand::Release { ids, all } => {
            execute(context, Command::LeaseRelease { ids, all }, Shape::Released)
        }
        LeaseCommand::List { owner, page } => {
            query(context, Query::Leases { owner, page: page.into() }, Shape::Leases)
        }
        LeaseCommand::Check { paths } => {
            let paths = context.mapper().patterns(&paths)?;
            query(context, Query::CheckPaths { paths }, Shape::Paths)
        }
        LeaseCommand::Reclaim => execute(context, Command::Sweep, Shape::Sweep),
    }
}
