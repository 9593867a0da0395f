//! `comity config …`

#![deny(clippy::wildcard_enum_match_arm)]

use crate::args::{ConfigCommand, Global};
use crate::human;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use comity_guard::git::Git;
use comity_guard::{About, CheckSettings};
use comity_project::Context;
use comity_project::settings_file::{self, Setting};
use human::settings::{SettingShown, SettingsShown};
use serde_json::json;

pub(super) fn run(
    context: &Context,
    global: &Global,
    command: ConfigCommand,
) -> Result<Reply, Refusal> {
    let root = &context.root.dir;
    match command {
        ConfigCommand::List => {
            let all = settings_file::list(root)?;
            let settings =
                all.into_iter().map(|one| shown(global, one)).collect::<Result<_, _>>()?;
            Ok(Reply::new(SettingsShown { settings }, human::settings::list).paged())
        }
        ConfigCommand::Get { key } => {
            let one = shown(global, settings_file::get(root, &key)?)?;
            let value = one.value.as_deref().or(one.default.as_deref());
            let words = format!("{}\n", value.unwrap_or_default());
            let note = match (&one.value, &one.default) {
                (Some(_), _) => None,
                (None, Some(_)) => Some(format!("note: this is the default of {key}")),
                (None, None) => Some(format!("note: {key} is not set ({})", one.about)),
            };
            Ok(Reply::text(json!({"setting": one}), words).noted(note.into_iter().collect()))
        }
        ConfigCommand::Set { key, value } => {
            let one = shown(global, settings_file::set(&context.actor, root, &key, &value)?)?;
            let words = format!("{} = {}\n", one.key, one.value.as_deref().unwrap_or_default());
            Ok(Reply::text(json!({"setting": one}), words).noted(not_yet(context, &key)))
        }
    }
}

/// Tables that submitted work is judged by.
const JUDGING: [&str; 4] = ["gate.", "gates.", "guard.", "roles."];

/// Says when a value does not judge submitted work yet: the base branch has settings of its own.
fn not_yet(context: &Context, key: &str) -> Vec<String> {
    let is_judging = JUDGING.iter().any(|table| key.starts_with(table));
    let Some(tree) = context.git_tree().filter(|_| is_judging) else { return Vec::new() };
    let from =
        CheckSettings::of(context, &Git::at(tree), About::default()).map(|settings| settings.from);
    let based = from.is_ok_and(|from| from.commit.is_some());
    let note = "note: submitted work is judged by the settings of the base branch; commit this change there";
    based.then(|| note.to_owned()).into_iter().collect()
}

/// Says where a value comes from: an option, a variable, a line of the file, or comity itself.
fn shown(global: &Global, setting: Setting) -> Result<SettingShown, Refusal> {
    let Setting { key, value, default, line, about } = setting;
    let overruled = match key.as_str() {
        "store.url" => Some((&global.store, "--store", "COMITY_STORE")),
        "project.repo" => Some((&global.repo, "--repo", "COMITY_REPO")),
        _ => None,
    };
    if let Some((option, flag, variable)) = overruled {
        if let Some(given) = option {
            let (value, origin) = (Some(given.clone()), flag.to_owned());
            return Ok(SettingShown { key, value, default, origin, about });
        }
        if let Some(given) = crate::env::var(variable)? {
            let (value, origin) = (Some(given), variable.to_owned());
            return Ok(SettingShown { key, value, default, origin, about });
        }
    }
    let origin = match (&value, line) {
        (None, _) => "default".to_owned(),
        (Some(_), Some(line)) => format!(".comity/config.toml:{line}"),
        (Some(_), None) => ".comity/config.toml".to_owned(),
    };
    Ok(SettingShown { key, value, default, origin, about })
}
