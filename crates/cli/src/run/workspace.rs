//! `comity workspace …`

#![deny(clippy::wildcard_enum_match_arm)]

use crate::args::WorkspaceCommand;
use crate::human;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use comity_fleet::SpacesAnswer;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, command: WorkspaceCommand) -> Result<Reply, Refusal> {
    let service = context.service(Access::Read)?;
    let workspaces = match command {
        WorkspaceCommand::List => comity_fleet::list_spaces(context, &service)?,
        WorkspaceCommand::Remove { name } => {
            vec![comity_fleet::remove_space(context, &service, &name)?]
        }
        WorkspaceCommand::Gc { older_than } => {
            comity_fleet::collect_spaces(context, &service, older_than, human::now())?
        }
    };
    Ok(Reply::new(SpacesAnswer { workspaces }, human::merge::spaces))
}
