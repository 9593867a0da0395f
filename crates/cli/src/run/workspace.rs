//! `comity workspace …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, fleet};
use crate::args::WorkspaceCommand;
use crate::human::merge::spaces;
use crate::output::Reply;
use comity_api::{CollectSpaces, Nothing, RemoveSpace, op};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: WorkspaceCommand) -> Result<Reply, Refusal> {
    let (fleet, caller) = (fleet::on_host(context, Access::Read)?, context.caller());
    match command {
        WorkspaceCommand::List => call::<op::WorkspaceList>(&fleet, &caller, Nothing {}, spaces),
        WorkspaceCommand::Remove { name } => {
            call::<op::WorkspaceRemove>(&fleet, &caller, RemoveSpace { name }, spaces)
        }
        WorkspaceCommand::Gc { older_than } => {
            let input = CollectSpaces { older_than: Some(older_than) };
            call::<op::WorkspaceGc>(&fleet, &caller, input, spaces)
        }
    }
}
