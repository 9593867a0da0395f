//! `comity import …` and `comity export …`: what other tools keep.

#![deny(clippy::wildcard_enum_match_arm)]

use super::{call, collab, text};
use crate::args::{ExportCommand, ImportCommand};
use crate::human::import::{import as in_words, neo_export};
use crate::output::Reply;
use crate::terminal::escaped;
use comity_api::{
    Directory, ImportDirectory, ImportFile, ImportIssues, NeoDirectory, Nothing, OlderState, op,
};
use comity_bridge::Bridge;
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;
use std::path::Path;

pub(super) fn bridge(context: &Context, access: Access) -> Result<Bridge, Refusal> {
    Ok(Bridge { service: context.service(access)?, context: context.clone() })
}

fn named(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) fn import(context: &Context, command: ImportCommand) -> Result<Reply, Refusal> {
    let caller = context.caller();
    let read = |file: &Path, dry_run: bool, with_state: bool| {
        let (name, text) = (named(file), text::tracker(&named(file))?);
        let access = if dry_run { Access::Read } else { Access::Write };
        Ok::<_, Refusal>((bridge(context, access)?, ImportFile { name, text, dry_run, with_state }))
    };
    match command {
        ImportCommand::Beads { file, dry_run, with_state } => {
            let (bridge, input) = read(&file, dry_run, with_state)?;
            call::<op::ImportBeads>(&bridge, &caller, input, in_words)
        }
        ImportCommand::Taskmaster { file, dry_run, with_state } => {
            let (bridge, input) = read(&file, dry_run, with_state)?;
            call::<op::ImportTaskmaster>(&bridge, &caller, input, in_words)
        }
        ImportCommand::Github { issues, label, state, dry_run } => {
            super::github::import(context, ImportIssues { issues, label, state, dry_run })
        }
        ImportCommand::Neo { dir, with_state } => {
            let bridge = bridge(context, Access::Write)?;
            let input = ImportDirectory { dir: named(&dir), with_state };
            call::<op::ImportNeo>(&bridge, &caller, input, in_words)
        }
        ImportCommand::Collab { dir, with_state } => {
            collab::in_step::<op::ImportCollab>(context, ImportDirectory { dir, with_state })
        }
        ImportCommand::V1 { file, agents, with_state } => {
            collab::in_step::<op::ImportV1>(context, OlderState { file, agents, with_state })
        }
    }
}

pub(super) fn export(context: &Context, command: ExportCommand) -> Result<Reply, Refusal> {
    match command {
        ExportCommand::Neo { dir, overwrite } => {
            let input = NeoDirectory { dir: named(&dir), overwrite };
            let bridge = bridge(context, Access::Read)?;
            call::<op::ExportNeo>(&bridge, &context.caller(), input, neo_export)
        }
        ExportCommand::Collab { dir } => {
            collab::in_step::<op::ExportCollab>(context, Directory { dir })
        }
        ExportCommand::Json => {
            let service = context.service(Access::Read)?;
            let all = service.call::<op::ExportJson>(&context.caller(), Nothing {})?;
            let pretty = serde_json::to_string_pretty(&all).unwrap_or_default();
            // What a terminal must not see is escaped as JSON has it, so that nothing is lost in a file.
            Ok(Reply::text(all, escaped(&pretty).into_owned() + "\n"))
        }
    }
}
