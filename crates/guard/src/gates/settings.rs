//! The settings that work is checked by. They come from the base branch, never from the work itself: with one checkout, the
//! root's files are those of the work.

use crate::base_branch::Standing;
use crate::diff::text_at;
use crate::git::Git;
use comity_api::SettingsFrom;
use comity_core::refusal::Refusal;
use comity_project::{Config, Context, GateCommand, SETTINGS_DIR, detect, plain_file};
use std::path::Path;

/// The largest manifest that gates are looked for in.
const MANIFEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What work is checked by.
pub struct CheckSettings {
    pub config: Config,
    pub from: SettingsFrom,
    /// The gates that have a command: those that are set, else those that the project has by its looks.
    pub commands: Vec<GateCommand>,
}

/// Reads the settings that a commit of the base branch has.
pub(crate) fn base_config(git: &Git, base: &str) -> Result<Option<Config>, Refusal> {
    let file = format!("{SETTINGS_DIR}/config.toml");
    let Some(text) = text_at(git, base, &file) else { return Ok(None) };
    let name = format!("{}:{file}", base.get(..10).unwrap_or(base));
    Ok(Some(Config::parse(&text, Path::new(&name))?))
}

/// Returns the settings with those that work is checked by, and where these come from: the base branch where it has some, else
/// the root's checkout.
pub(crate) fn checked_by(context: &Context, git: &Git) -> Result<(Config, SettingsFrom), Refusal> {
    let base = Standing::of(git, context.config.base_branch())?.base;
    let based = match &base {
        Some(base) => base_config(git, base)?,
        None => None,
    };
    let from = |from: &str, commit| SettingsFrom { from: from.to_owned(), commit };
    Ok(match based {
        Some(config) => (context.config.clone().checked_by(config), from("base", base)),
        None => (context.config.clone(), from("checkout", None)),
    })
}

impl CheckSettings {
    pub fn of(context: &Context, git: &Git) -> Result<CheckSettings, Refusal> {
        let (config, from) = checked_by(context, git)?;
        let mut commands = config.gate_commands()?;
        if commands.is_empty() {
            commands = match &from.commit {
                Some(base) => detect::detect(&|name| text_at(git, base, name)),
                None => detect::detect(&|name| {
                    plain_file::read_text(&context.root.dir.join(name), MANIFEST_BYTES_MAX).ok()
                }),
            };
        }
        Ok(CheckSettings { config, from, commands })
    }
}
