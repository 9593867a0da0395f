//! Whether what was found belongs to the user who runs comity, by git's own rule: what another user owns is used only if
//! `safe.directory` in the user's or the system's git configuration names it.

use crate::git::Ini;
use crate::machine::Environment;
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const ADMINISTRATOR: u32 = 0;
/// Where git reads what counts for all users of a machine.
const SYSTEM_CONFIG: &str = "/etc/gitconfig";

/// Tells whether a file is the user's. As with git, an administrator who came by sudo is also the user from before.
pub(crate) fn is_mine(meta: &Metadata, environment: &Environment) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let before_sudo = || environment.own("SUDO_UID").and_then(|uid| uid.parse().ok());
    meta.uid() == me || (me == ADMINISTRATOR && before_sudo() == Some(meta.uid()))
}

/// Refuses what another user owns. `paths` are looked at where they exist; `places` are what `safe.directory` may name.
pub(crate) fn check(
    paths: &[&Path],
    places: &[&Path],
    environment: &Environment,
) -> Result<(), Refusal> {
    let foreign = paths.iter().find_map(|path| {
        // A link belongs to whoever made it, and it leads where its maker wants.
        let meta = std::fs::symlink_metadata(path).ok()?;
        (!is_mine(&meta, environment)).then_some((path, meta.uid()))
    });
    let Some((path, owner)) = foreign else { return Ok(()) };
    if places.iter().any(|place| is_safe(place, environment)) {
        return Ok(());
    }
    let place = places.first().unwrap_or(path).display();
    let me = rustix::process::geteuid().as_raw();
    let text = format!("{} belongs to the user {owner}, and you are the user {me}", path.display());
    Err(Refusal::new(Code::Untrusted, text)
        .hint(
            say(format!("if you trust that user, run `git config --global --add safe.directory {place}`; to use a project of your own, give "))
                .ask("root", "DIR"),
        )
        .detail("path", path.to_string_lossy())
        .detail("owner", owner))
}

/// Tells whether `safe.directory` names a directory. An empty value takes back those before it.
fn is_safe(place: &Path, environment: &Environment) -> bool {
    let home = environment.own("HOME").map(PathBuf::from);
    let mut safe = false;
    for file in config_files(environment, home.as_deref()) {
        let config = Ini::read_with_includes(&file, home.as_deref());
        for value in config.all("safe", "directory") {
            safe = !value.is_empty() && (safe || names(value, place, home.as_deref()));
        }
    }
    safe
}

fn names(value: &str, place: &Path, home: Option<&Path>) -> bool {
    if value == "*" {
        return true;
    }
    let (value, below) = match value.strip_suffix("/*") {
        Some(value) => (value, true),
        None => (value, false),
    };
    let path = match (value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(value),
    };
    let path = std::fs::canonicalize(&path).unwrap_or(path);
    path.is_absolute() && if below { place.starts_with(&path) } else { place == path }
}

/// Returns the files that only the user and the administrator write, in git's order.
fn config_files(environment: &Environment, home: Option<&Path>) -> Vec<PathBuf> {
    let own =
        |name: &str| environment.own(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut files = Vec::new();
    let is_on = |value: String| !["", "0", "false", "no", "off"].contains(&value.as_str());
    if !environment.own("GIT_CONFIG_NOSYSTEM").is_some_and(is_on) {
        files.push(own("GIT_CONFIG_SYSTEM").unwrap_or_else(|| SYSTEM_CONFIG.into()));
    }
    if let Some(file) = own("GIT_CONFIG_GLOBAL") {
        files.push(file);
        return files;
    }
    let settings = own("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    files.extend(settings.map(|settings| settings.join("git").join("config")));
    files.extend(home.map(|home| home.join(".gitconfig")));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_directories_are_read_as_git_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let home = std::fs::canonicalize(dir.path()).unwrap();
        let environment = Environment::new([
            ("HOME".into(), home.clone().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ]);
        let more = home.join("more");
        std::fs::write(&more, format!("[safe]\ndirectory = {}/in\n", home.display())).unwrap();
        for (text, wanted) in [
            ("", [false; 3]),
            ("directory = *", [true; 3]),
            ("directory = *\ndirectory =", [false; 3]),
            ("directory = ~/a", [true, false, false]),
            ("directory = ~/a/*", [true, true, false]),
            ("directory = a", [false; 3]),
            ("[include]\npath = ~/more", [false, false, true]),
        ] {
            std::fs::write(home.join(".gitconfig"), format!("[safe]\n{text}\n")).unwrap();
            let safe = ["a", "a/b", "in"].map(|name| is_safe(&home.join(name), &environment));
            assert_eq!(safe, wanted, "{text}");
        }
    }
}
