//! Making a directory a project: its settings, and what git leaves alone.

use crate::config::Config;
use crate::detect;
use crate::plain_file;
use crate::root::SETTINGS_DIR;
use crate::store;
use comity_core::refusal::{Code, Refusal};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) const DEFAULT_CONFIG: &str = include_str!("default_config.toml");
/// Keeps a store that lies in the settings' directory out of commits.
const GITIGNORE: &str = "# comity's own files; config.toml is meant to be committed\n\
    comity.db*\n";

/// The largest manifest that gates are looked for in.
const MANIFEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What was done. A file that was there before is kept as it is.
pub struct Written {
    pub made: Vec<PathBuf>,
    /// The settings that were there before.
    pub kept: Option<PathBuf>,
}

/// Writes the settings of a project. A store that was asked for becomes the project's; `cwd` is where its path starts.
pub fn write(root: &Path, store: Option<&str>, cwd: &Path) -> Result<Written, Refusal> {
    let settings = root.join(SETTINGS_DIR);
    std::fs::create_dir_all(&settings).map_err(|error| failed(&settings, &error))?;
    let (config, ignore) = (Config::path(root), settings.join(".gitignore"));
    let mut made = Vec::new();
    let mut kept = None;
    if make(&config, &settings_text(root, store, cwd))? {
        made.push(config);
    } else {
        kept = Some(config);
    }
    if make(&ignore, GITIGNORE)? {
        made.push(ignore);
    }
    Ok(Written { made, kept })
}

/// Tells whether settings are as they are written for a new project.
pub fn is_first_settings(text: &str) -> bool {
    let own = |line: &&str| !detect::is_own_line(line.trim_end());
    text.split_inclusive('\n').filter(own).eq(DEFAULT_CONFIG.split_inclusive('\n'))
}

fn settings_text(root: &Path, store: Option<&str>, cwd: &Path) -> String {
    let mut text = DEFAULT_CONFIG.to_owned();
    // A password has no place in a committed file, and a URL of a server is often one of a machine.
    if let Some(url) = store.filter(|url| !store::has_password(url))
        && let Some(path) = url.strip_prefix("sqlite:")
    {
        let absolute = cwd.join(path.strip_prefix("//").unwrap_or(path));
        let place = absolute.strip_prefix(root).unwrap_or(&absolute);
        let value = toml::Value::String(format!("sqlite:{}", place.display()));
        text = text.replace("# url = \"sqlite:PATH\"", &format!("url = {value}"));
    }
    let read = |name: &str| plain_file::read_text(&root.join(name), MANIFEST_BYTES_MAX).ok();
    let gates = detect::detect(&read);
    let lines: String = gates.iter().map(|gate| detect::line(gate) + "\n").collect();
    text.replace("\n[gate]\n", &format!("\n[gate]\n{lines}"))
}

/// Writes a file that is not there yet; tells whether it did.
fn make(path: &Path, text: &str) -> Result<bool, Refusal> {
    match std::fs::File::create_new(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(|error| failed(path, &error))?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
}

/// Finds out whether the file system below a root takes `A` and `a` for one name.
pub fn folds_case(root: &Path) -> bool {
    let dir = root.join(SETTINGS_DIR);
    let (upper, lower) = (dir.join(".Case-Probe"), dir.join(".case-probe"));
    if std::fs::File::create_new(&upper).is_err() {
        return false;
    }
    let folds = lower.exists();
    // Left behind it would only be an empty file.
    let _ = std::fs::remove_file(&upper);
    folds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_once_and_name_the_store_that_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let (root, below) = (dir.path(), dir.path().join("sub"));
        let first = write(root, Some("sqlite:../a.db"), &below).unwrap();
        assert_eq!((first.made.len(), first.kept), (2, None));
        let config = Config::load(root).unwrap();
        assert_eq!(config.store_url(), Some("sqlite:sub/../a.db"));
        let second = write(root, Some("sqlite:b.db"), root).unwrap();
        assert_eq!((second.made.len(), second.kept), (0, Some(Config::path(root))));
    }
}
