//! The user's own settings, outside every repository: `comity/config.toml` below `XDG_CONFIG_HOME` or `~/.config`.

use crate::machine::Environment;
use crate::plain_file;
use crate::trust::user_settings;
use comity_core::refusal::Refusal;
use serde::Deserialize;

/// The largest file that is read.
const SETTINGS_BYTES_MAX: usize = 1024 * 1024;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UserConfig {
    serve: UserServe,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UserServe {
    roots: Vec<String>,
}

/// Returns the projects that a server of this user serves beside the one it is started in. A repository cannot name any.
pub fn serve_roots(environment: &Environment) -> Result<Vec<String>, Refusal> {
    let Some(dir) = user_settings(environment) else { return Ok(Vec::new()) };
    let file = dir.join("config.toml");
    let text = match plain_file::read_text(&file, SETTINGS_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Refusal::input(format!("cannot read {}: {error}", file.display())));
        }
    };
    let config: UserConfig = toml::from_str(&text)
        .map_err(|error| Refusal::input(format!("{}: {}", file.display(), error.message())))?;
    Ok(config.serve.roots)
}
