//! The one place that reads the environment of the process.

use comity_core::refusal::Refusal;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Variables from files, which the environment itself overrides.
static FROM_FILES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Returns a variable; an empty one counts as unset, one that is not UTF-8 is refused.
pub fn var(name: &str) -> Result<Option<String>, Refusal> {
    match std::env::var(name) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(std::env::VarError::NotPresent) => {
            Ok(FROM_FILES.get().and_then(|known| known.get(name)).cloned())
        }
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Refusal::input(format!("the environment variable {name} is not UTF-8")))
        }
    }
}

/// Reads variables from files such as `.env`, once a process. The first file that has one counts.
pub fn load_files(files: &[PathBuf]) {
    let mut known = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for (name, value) in text.lines().filter_map(assignment) {
            known.entry(name).or_insert(value);
        }
    }
    known.retain(|_, value| !value.is_empty());
    // Who comes second keeps what the first one read.
    let _ = FROM_FILES.set(known);
}

/// Reads `NAME=value`, with `export` before it or quotes around the value.
fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let value = value.trim();
    let quoted = |mark: char| {
        let inner = value.strip_prefix(mark)?;
        inner.find(mark).and_then(|end| inner.get(..end))
    };
    let plain = || value.split(" #").next().unwrap_or_default().trim_end();
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain);
    Some((name.to_owned(), value.to_owned()))
}

/// Returns the name of the user, in the characters of an identity.
pub fn login() -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| var(name).ok().flatten());
    let uid = rustix::process::getuid().as_raw();
    let name = named.or_else(|| name_of(uid)).unwrap_or_else(|| format!("uid{uid}"));
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    name.chars().take(64).map(keep).collect()
}

/// Looks a user up where the environment names none, as under cron or in a container.
fn name_of(uid: u32) -> Option<String> {
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    };
    table.lines().find_map(entry)
}

/// Returns the name of this host.
pub fn host() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// Tells whether a person is likely to be at the other end.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal()
        && (std::io::stdout().is_terminal() || std::io::stderr().is_terminal())
}

#[cfg(test)]
mod tests {
    use super::assignment;

    #[test]
    fn lines_of_an_env_file_are_read_as_shells_write_them() {
        let read = |line: &str| assignment(line).map(|(name, value)| format!("{name}|{value}"));
        assert_eq!(read("COLLAB_TTL=60").as_deref(), Some("COLLAB_TTL|60"));
        assert_eq!(read("export A = 'x # y' # z").as_deref(), Some("A|x # y"));
        assert_eq!(read("B=\"q\" # z").as_deref(), Some("B|q"));
        assert_eq!(read("C=plain # z").as_deref(), Some("C|plain"));
        assert_eq!(read("# no=thing"), None);
        assert_eq!(read("nothing"), None);
    }
}
