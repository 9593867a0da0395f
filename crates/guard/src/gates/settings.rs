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

impl CheckSettings {
    /// Reads the settings of the base branch where it has some, else those of the root's checkout.
    pub fn of(context: &Context, git: &Git) -> Result<CheckSettings, Refusal> {
        let standing = Standing::of(git, context.config.base_branch())?;
        let file = format!("{SETTINGS_DIR}/config.toml");
        let based = standing.base.and_then(|base| Some((text_at(git, &base, &file)?, base)));
        let (config, from) = match &based {
            Some((text, base)) => {
                let name = format!("{}:{file}", base.get(..10).unwrap_or(base));
                let config = Config::parse(text, Path::new(&name))?;
                let from = SettingsFrom { from: "base".to_owned(), commit: Some(base.clone()) };
                (context.config.clone().checked_by(config), from)
            }
            None => {
                let from = SettingsFrom { from: "checkout".to_owned(), commit: None };
                (context.config.clone(), from)
            }
        };
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
