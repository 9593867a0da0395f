//! The one place that reads the environment of the process.

use comity_core::refusal::Refusal;
use std::io::IsTerminal;

/// Returns a variable; an empty one counts as unset, one that is not UTF-8 is refused.
pub fn var(name: &str) -> Result<Option<String>, Refusal> {
    match std::env::var(name) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Refusal::input(format!("the environment variable {name} is not UTF-8")))
        }
    }
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
