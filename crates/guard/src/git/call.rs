//! Calls of the git binary.

#![expect(clippy::disallowed_methods, reason = "this is the room that runs git")]

use comity_core::refusal::Refusal;
use comity_project::git::Refs;
use std::ffi::{OsStr, OsString};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Settings that win over every file's, so that a repository names no program that git runs. Git takes them from the
/// environment of the call.
const SETTINGS: [(&str, &str); 13] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    // An empty helper empties the list of helpers.
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("core.attributesFile", "/dev/null"),
    // What is an ancestor of what is read from the commits alone.
    ("core.commitGraph", "false"),
];

/// Variables of every call.
const VARIABLES: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // No call reaches a network, not even for objects that a partial clone lacks. Unlike `protocol.allow`, no
    // `protocol.NAME.allow` of a file widens this list.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    // What `git replace` or a graft shows in the place of a commit is not what was committed.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
];

/// Variables of git that are the user's to set: where the user's own settings are (`safe.directory` is one of them), and how far
/// git looks for a repository.
const KEPT: [&str; 5] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that the user's own files decide where a network is reached.
const FOR_A_NETWORK: [&str; 3] = ["core.askPass", "core.sshCommand", "credential.helper"];
/// Variables by which the user says how.
const TRANSPORT: [&str; 10] = [
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_SSL_CAINFO",
];

/// Commands that print differences, and what keeps them from running a program for it: an external diff, a text
/// conversion, or git itself inside of a submodule.
const DIFFS: [&str; 4] = ["diff", "diff-tree", "log", "show"];
const PLAIN_DIFF: [&str; 4] =
    ["--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none"];

/// The git binary, set to work in one directory. Every call of git is built here. No call runs a program that the
/// repository's files name: no hook, filter, file system monitor, external diff, text conversion, pager, signature check or helper.
#[derive(Clone)]
pub struct Git {
    dir: PathBuf,
    settings: Vec<(String, OsString)>,
    extra: Vec<(&'static str, OsString)>,
}

impl Git {
    pub fn at(dir: &Path) -> Git {
        let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.into())).to_vec();
        Git { dir: dir.to_owned(), settings, extra: Vec::new() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Sets a variable, such as one that names another index than the work tree's own.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Git {
        self.extra.push((name, value.into()));
        self
    }

    /// Adds a setting.
    #[must_use]
    pub(crate) fn setting(mut self, name: String, value: OsString) -> Git {
        self.settings.push((name, value));
        self
    }

    /// Returns the same without the filters that settings name: files are read and written as commits have them. None when git
    /// cannot tell which there are.
    pub fn without_filters(mut self) -> Option<Git> {
        let args = ["config", "-z", "--name-only", "--get-regexp", "^filter\\."];
        let output = self.output(&args)?;
        // One says that there is none.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return None;
        }
        let text = String::from_utf8(output.stdout).ok()?;
        for key in text.split('\0') {
            let name = key.rsplit_once('.').map(|(name, _)| name);
            let Some(name) = name.filter(|name| name.contains('.')) else { continue };
            for (end, value) in
                [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
            {
                self = self.setting(format!("{name}.{end}"), value.into());
            }
        }
        Some(self)
    }

    /// Works over a network with what the user set for all repositories: the helpers that have credentials, and the way to ssh.
    pub(super) fn over_network(mut self, protocols: &str) -> Git {
        self.settings.retain(|(name, _)| !FOR_A_NETWORK.contains(&&**name));
        self.extra.retain(|(name, _)| !KEPT.contains(name));
        for name in TRANSPORT {
            if let Some(value) = std::env::var_os(name) {
                self = self.with(name, value);
            }
        }
        self.with("GIT_ALLOW_PROTOCOL", protocols)
    }

    /// Prepares a call. Variables that a hook or a user's shell set must not redirect it, and it must
    /// never wait for a person or take locks it does not need.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for name in git_variables() {
            command.env_remove(name);
        }
        command.args(["--no-optional-locks", "--no-pager"]).current_dir(&self.dir);
        command.stdin(Stdio::null()).envs(VARIABLES);
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (place, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{place}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{place}"), value);
        }
        for (name, value) in &self.extra {
            command.env(name, value);
        }
        let Some((verb, rest)) = args.split_first() else { return command };
        command.arg(verb);
        if DIFFS.iter().any(|diff| verb.as_ref() == *diff) {
            command.args(PLAIN_DIFF);
        }
        command.args(rest);
        command
    }

    /// Returns a setting as the user's and the repository's files have it; comity's own calls may override it.
    pub fn users_setting(&self, name: &str) -> Option<String> {
        let plain = Git { dir: self.dir.clone(), settings: Vec::new(), extra: Vec::new() };
        plain.line(&["config", "--get", name])
    }

    /// Runs to the end; nothing when git cannot be started.
    pub fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<Output> {
        self.command(args).output().ok()
    }

    /// Runs to the end with this on its standard input; by a file, so that neither side waits for the other.
    pub(crate) fn fed<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: impl AsRef<[u8]>,
    ) -> Option<Output> {
        let mut file = tempfile::tempfile().ok()?;
        file.write_all(input.as_ref()).and_then(|()| file.rewind()).ok()?;
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

    /// Returns the commit of a branch, here or as the remote has it. A process of git is asked only where its files do not say.
    pub fn branch_commit(&self, name: &str) -> Option<String> {
        let places = ["refs/heads/", "refs/remotes/origin/", "refs/remotes/"];
        let names = places.map(|place| format!("{place}{name}"));
        match Refs::of(&self.dir) {
            Some(refs) => names.iter().find_map(|name| refs.commit(name)),
            None => names.iter().find_map(|name| self.commit(name)),
        }
    }

    pub fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"])
    }
}

/// Variables that would lead a push elsewhere.
const OF_A_REPOSITORY: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// Pushes a branch because a person asked for it with `land --push`. It is the one call of git that runs the hooks and the
/// programs that the repository names. Returns what git said when it failed.
pub(crate) fn push(dir: &Path, remote: &str, branch: &str) -> Result<(), String> {
    let refs = format!("refs/heads/{branch}:refs/heads/{branch}");
    let mut command = Command::new("git");
    for name in OF_A_REPOSITORY {
        command.env_remove(name);
    }
    command.args(["push", "--quiet", "--", remote, &refs]).current_dir(dir);
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the names of git's own variables, which must not leak into the calls of git.
fn git_variables() -> Vec<OsString> {
    let is_git = |name: &OsStr| {
        name.to_string_lossy().starts_with("GIT_") && !KEPT.iter().any(|kept| name == *kept)
    };
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_git(name)).collect()
}

/// Returns the version of the git binary.
pub fn version() -> Option<(u32, u32)> {
    let line = Git::at(Path::new(".")).line(&["--version"])?;
    let number = line.split_whitespace().nth(2)?;
    let mut parts = number.split('.').map_while(|part| part.parse().ok());
    Some((parts.next()?, parts.next()?))
}
