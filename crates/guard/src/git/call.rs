//! Calls of the git binary.

#![expect(clippy::disallowed_methods, reason = "this is the room that runs git")]

use comity_core::refusal::Refusal;
use std::ffi::{OsStr, OsString};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The git binary, set to work in one directory.
pub struct Git {
    dir: PathBuf,
    extra: Vec<(&'static str, OsString)>,
}

impl Git {
    pub fn at(dir: &Path) -> Git {
        Git { dir: dir.to_owned(), extra: Vec::new() }
    }

    /// Sets a variable, such as one that names another index than the work tree's own.
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Git {
        self.extra.push((name, value.into()));
        self
    }

    /// Prepares a call. Variables that a hook or a user's shell set must not redirect it, and it must
    /// never wait for a person or take locks it does not need.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for name in git_variables() {
            command.env_remove(name);
        }
        command
            .arg("--no-optional-locks")
            .args(args)
            .current_dir(&self.dir)
            .env("GIT_TERMINAL_PROMPT", "0")
            // What `git replace` shows in the place of a commit is not what was committed.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        for (name, value) in &self.extra {
            command.env(name, value);
        }
        command
    }

    /// Runs to the end; nothing when git cannot be started.
    pub fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<Output> {
        self.command(args).output().ok()
    }

    /// Runs to the end with this on its standard input; by a file, so that neither side waits for the other.
    pub(crate) fn fed<S: AsRef<OsStr>>(&self, args: &[S], input: &str) -> Option<Output> {
        let mut file = tempfile::tempfile().ok()?;
        file.write_all(input.as_bytes()).and_then(|()| file.rewind()).ok()?;
        self.command(args).stdin(file).output().ok()
    }

    pub(crate) fn does<S: AsRef<OsStr>>(&self, args: &[S]) -> bool {
        self.output(args).is_some_and(|output| output.status.success())
    }

    /// Returns the lines of the output of a call that succeeded; none otherwise.
    pub(crate) fn lines<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<String> {
        let output = self.output(args).filter(|output| output.status.success());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the first line of the output of a call that succeeded.
    pub fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<String> {
        let output = self.output(args)?;
        if !output.status.success() {
            return None;
        }
        let text = String::from_utf8(output.stdout).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    pub fn commit(&self, name: &str) -> Option<String> {
        let wanted = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
    }

    /// Returns the commit that a user named. A hash that is not here may be somewhere else and is taken as
    /// it is; any other name that git does not know is a mistake.
    pub fn named_commit(&self, name: &str) -> Result<String, Refusal> {
        if let Some(commit) = self.commit(name) {
            return Ok(commit);
        }
        let hash = (4..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit());
        if hash {
            return Ok(name.to_owned());
        }
        Err(Refusal::input(format!("git knows no commit {:?}", comity_core::ids::shorten(name)))
            .hint("give a commit's hash, or a branch or tag of this repository"))
    }

    /// Returns the commit of a branch, here or as the remote has it.
    pub fn branch_commit(&self, name: &str) -> Option<String> {
        let places = ["refs/heads/", "refs/remotes/origin/", "refs/remotes/"];
        places.iter().find_map(|place| self.commit(&format!("{place}{name}")))
    }

    pub fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"])
    }
}

/// Returns the names of git's own variables, which must not leak into the calls of git.
fn git_variables() -> Vec<OsString> {
    let is_git = |name: &OsStr| name.to_string_lossy().starts_with("GIT_");
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_git(name)).collect()
}

/// Returns the version of the git binary.
pub fn version() -> Option<(u32, u32)> {
    let line = Git::at(Path::new(".")).line(&["--version"])?;
    let number = line.split_whitespace().nth(2)?;
    let mut parts = number.split('.').map_while(|part| part.parse().ok());
    Some((parts.next()?, parts.next()?))
}
