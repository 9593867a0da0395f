//! `comity import …`: what other tools keep, taken over by ordinary commands.

#![deny(clippy::wildcard_enum_match_arm)]

use crate::args::ImportCommand;
use crate::human::import::import as in_words;
use crate::output::Reply;
use comity_bridge::import::{TrackerFile, beads, taskmaster};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_protocol::plan::FILE_BYTES_MAX;
use std::io::Read;
use std::path::Path;

pub(super) fn run(context: &Context, command: ImportCommand) -> Result<Reply, Refusal> {
    let done = match command {
        ImportCommand::Beads { file, dry_run } => {
            let (name, text) = (file.display().to_string(), text_of(&file)?);
            beads(context, &TrackerFile { name: &name, text: &text, dry_run })?
        }
        ImportCommand::Taskmaster { file, dry_run } => {
            let (name, text) = (file.display().to_string(), text_of(&file)?);
            taskmaster(context, &TrackerFile { name: &name, text: &text, dry_run })?
        }
        ImportCommand::Neo { dir } => comity_bridge::neo::import(context, &dir)?,
        ImportCommand::Collab { dir } => return super::collab::import(context, &dir),
        ImportCommand::V1 { file, agents } => {
            return super::collab::import_v1(context, &file, &agents);
        }
    };
    Ok(Reply::new(done, in_words))
}

/// Reads a file, or stdin for `-`, within its bound.
fn text_of(file: &Path) -> Result<String, Refusal> {
    let named = file.display();
    let failed = |error: std::io::Error| Refusal::input(format!("cannot read {named}: {error}"));
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let opened = std::fs::File::open(file).map_err(failed)?;
        opened.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Refusal::input(format!("{named} is larger than {FILE_BYTES_MAX} bytes"))
            .hint("divide it and import the parts one after the other"));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::input(format!("{named} is not UTF-8")))
}
