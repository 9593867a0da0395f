//! What keeps an agent from writing elsewhere: bubblewrap, else Landlock, else nothing, which is said.

#![expect(
    clippy::disallowed_methods,
    reason = "whether bubblewrap works here is seen by running it"
)]

use comity_core::refusal::{Code, Refusal};
use comity_guard::child;
use comity_project::Context;
use comity_project::fleet::Confinement;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BWRAP: &str = "bwrap";
/// A world that can be read and not be written, with processes of its own, and no way to make another world inside.
const WALLS: [&str; 13] = [
    "--die-with-parent",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
];
const PROC: &str = "/proc";

/// What this host can do, and why it cannot do more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walls {
    pub(crate) kind: Confinement,
    pub(crate) why: Option<String>,
}

fn choose(bwrap: Result<(), String>, landlock: bool) -> Walls {
    match (bwrap, landlock) {
        (Ok(()), _) => Walls { kind: Confinement::Bwrap, why: None },
        (Err(why), true) => Walls { kind: Confinement::Landlock, why: Some(why) },
        (Err(why), false) => {
            let why = Some(format!("{why}, and the kernel has no Landlock of version 3"));
            Walls { kind: Confinement::None, why }
        }
    }
}

/// Sees what this host can do; less than the settings demand is refused.
pub(crate) fn walls(context: &Context) -> Result<Walls, Refusal> {
    let path = context.environment().own("PATH").unwrap_or_default();
    let walls = choose(try_bwrap(&path), child::can_confine());
    let required = context.config.sandbox()?.require;
    if walls.kind < required {
        let why = walls.why.clone().unwrap_or_default();
        let message = format!(
            "the settings demand {}, and this host has {}",
            required.as_str(),
            walls.kind.as_str()
        );
        return Err(Refusal::new(Code::SandboxUnavailable, format!("{message}: {why}"))
            .detail("wanted", required.as_str())
            .detail("got", walls.kind.as_str()));
    }
    Ok(walls)
}

fn try_bwrap(path: &str) -> Result<(), String> {
    let tried = Command::new(BWRAP)
        .args(WALLS)
        .args([PROC, "true"])
        .env("PATH", path)
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("bubblewrap does not work here ({said})"))
        }
        Err(_) => Err("bubblewrap is not installed".to_owned()),
    }
}

/// Returns the words of the hidden command that runs an agent within these walls: after the part and its parent.
pub(crate) fn words(
    kind: Confinement,
    parent: &str,
    writable: &[PathBuf],
    dir: &Path,
    argv: &[String],
) -> Vec<OsString> {
    let text = |word: &str| OsString::from(word);
    let argv = argv.iter().map(OsString::from);
    match kind {
        Confinement::None => [text("keep"), text(parent)].into_iter().chain(argv).collect(),
        Confinement::Landlock => {
            let count = writable.len().to_string();
            let first = [text("confine"), text(parent), text(&count)].into_iter();
            first.chain(writable.iter().map(OsString::from)).chain(argv).collect()
        }
        Confinement::Bwrap => {
            let walls = WALLS.iter().map(|word| text(word)).chain([text(PROC)]);
            let binds = writable.iter().flat_map(|dir| {
                let dir: &OsStr = dir.as_os_str();
                [text("--bind"), dir.to_owned(), dir.to_owned()]
            });
            let first = [text("keep"), text(parent), text(BWRAP)].into_iter();
            let there = [text("--chdir"), dir.as_os_str().to_owned(), text("--")];
            first.chain(walls).chain(binds).chain(there).chain(argv).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_walls_are_taken_and_less_is_explained() {
        assert_eq!(choose(Ok(()), false).kind, Confinement::Bwrap);
        let missing = || Err("bubblewrap is not installed".to_owned());
        let landlock = choose(missing(), true);
        assert_eq!((landlock.kind, landlock.why.is_some()), (Confinement::Landlock, true));
        let none = choose(missing(), false);
        assert_eq!(none.kind, Confinement::None);
        assert!(none.why.unwrap().contains("Landlock"));
        assert!(Confinement::None < Confinement::Landlock);
        assert!(Confinement::Landlock < Confinement::Bwrap);
    }
}
