//! The crew: who runs which command, told as it happens.

#![expect(clippy::disallowed_methods, reason = "the demo runs comity as its crew does")]

use crate::output;
use crate::terminal::Ink;
use comity_core::refusal::{Code, Refusal};
use comity_guard::git::Git;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NAME: Ink = Ink::Busy;
const DIM: Ink = Ink::Dim;
const BOLD: Ink = Ink::Bold;
const GOOD: Ink = Ink::Good;
const BAD: Ink = Ink::Warn;
/// Where the words begin, beside the names.
const MARGIN: &str = "            ";
/// Where a line ends.
const COLUMNS: usize = 80;
/// How long a nap is before the crew looks whether it is to stop.
const NAP: Duration = Duration::from_millis(20);

/// A repository, the binary, and what was told so far.
pub(super) struct Crew {
    dir: Place,
    binary: PathBuf,
    quiet: bool,
    stop: Arc<AtomicBool>,
    steps: usize,
    /// How long each command is shown, where somebody watches the dashboard.
    pace: Option<Duration>,
    /// The server of the dashboard; it ends with the crew.
    server: Option<Child>,
}

/// Where the repository is: in a directory of its own that goes with the crew, or where somebody wants to keep it.
enum Place {
    Temporary(tempfile::TempDir),
    Kept(PathBuf),
}

impl Drop for Crew {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn failed(text: impl Into<String>) -> Refusal {
    Refusal::new(Code::Internal, text)
}

impl Crew {
    pub(super) fn gather(
        quiet: bool,
        stop: Arc<AtomicBool>,
        kept: Option<&Path>,
    ) -> Result<Crew, Refusal> {
        let temporary = || {
            tempfile::Builder::new()
                .prefix("comity-demo-")
                .tempdir()
                .map(Place::Temporary)
                .map_err(|error| failed(format!("cannot make a temporary directory: {error}")))
        };
        let dir = match kept {
            None => temporary()?,
            Some(dir) => {
                let made = std::fs::create_dir(dir).and_then(|()| dir.canonicalize());
                let made = made.map_err(|error| {
                    Refusal::input(format!("cannot make {}: {error}", dir.display()))
                        .hint("name a directory that is not there yet")
                });
                Place::Kept(made?)
            }
        };
        let binary = std::env::current_exe()
            .map_err(|error| failed(format!("cannot find this program: {error}")))?;
        let crew = Crew { dir, binary, quiet, stop, steps: 0, pace: None, server: None };
        std::fs::create_dir(crew.main_tree())
            .map_err(|error| failed(format!("cannot make the repository: {error}")))?;
        crew.git(&crew.main_tree(), &["init", "--quiet", "--initial-branch=main"])?;
        crew.write(&crew.main_tree(), "README.md", "# calendar\n")?;
        crew.git(&crew.main_tree(), &["add", "--all"])?;
        crew.git(&crew.main_tree(), &["commit", "--quiet", "-m", "Begin"])?;
        Ok(crew)
    }

    pub(super) fn directory(&self) -> &Path {
        match &self.dir {
            Place::Temporary(dir) => dir.path(),
            Place::Kept(dir) => dir,
        }
    }

    pub(super) fn main_tree(&self) -> PathBuf {
        self.directory().join("calendar")
    }

    pub(super) fn tree_of(&self, agent: &str) -> PathBuf {
        self.directory().join(agent)
    }

    /// Lets somebody watch: the dashboard is opened, and each command is shown for a while.
    pub(super) fn shows(&mut self, pace: Duration) {
        self.pace = Some(pace);
    }

    /// Serves the repository and opens its dashboard, where somebody watches. A server of their own, as people would have.
    pub(super) fn open_pages(&mut self) -> Result<(), Refusal> {
        if self.pace.is_none() {
            return Ok(());
        }
        let mut command = self.clean(&self.binary, &self.main_tree());
        command.args(["--as", "human:you", "serve", "--listen", "127.0.0.1:0", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server =
            command.spawn().map_err(|error| failed(format!("cannot start the server: {error}")))?;
        let mut line = String::new();
        let read = server.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        self.server = Some(server);
        let said: Value = serde_json::from_str(&line)
            .map_err(|_| failed(format!("the server does not start: {read:?}")))?;
        let link = said.get("link").and_then(Value::as_str).unwrap_or_default();
        output::remark(&format!("The dashboard: {link}"));
        crate::child::open(link);
        Ok(())
    }

    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    pub(super) fn leave(mut self) -> Result<(), Refusal> {
        let path = self.directory().display().to_string();
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        match std::mem::replace(&mut self.dir, Place::Kept(PathBuf::new())) {
            Place::Kept(_) => Ok(()),
            Place::Temporary(dir) => {
                dir.close().map_err(|error| failed(format!("cannot remove {path}: {error}")))
            }
        }
    }

    /// A process that sees nothing of the caller's surroundings but where programs are.
    fn clean(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(dir).stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", self.directory()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs git and returns the first line it prints.
    pub(super) fn git(&self, dir: &Path, args: &[&str]) -> Result<String, Refusal> {
        let own = [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "demo"),
            ("GIT_AUTHOR_EMAIL", "demo@example.org"),
            ("GIT_COMMITTER_NAME", "demo"),
            ("GIT_COMMITTER_EMAIL", "demo@example.org"),
        ];
        let git = own.iter().fold(Git::at(dir), |git, (name, value)| git.with(name, value));
        let output = git.output(args).ok_or_else(|| {
            failed("the demo needs git, which cannot be started").hint("install git")
        })?;
        self.go_on()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("git {}: {}", args.join(" "), said.trim())));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    pub(super) fn write(&self, dir: &Path, name: &str, text: &str) -> Result<(), Refusal> {
        let path = dir.join(name);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| failed(format!("cannot write {}: {error}", path.display())))
    }

    fn comity(&self, agent: &str, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.clean(&self.binary, dir);
        command.env("COMITY_AGENT", agent).arg("--json").args(args);
        command
    }

    /// Starts a command without waiting for it.
    pub(super) fn start(&mut self, agent: &str, args: &[&str]) -> Result<Child, Refusal> {
        self.tell_command(agent, args);
        let mut command = self.comity(agent, &self.main_tree(), args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| failed(format!("cannot start a process: {error}")))
    }

    /// Waits for a command; a refusal is an answer, too.
    pub(super) fn finish(&self, child: Child) -> Result<Result<Value, Value>, Refusal> {
        let output = child
            .wait_with_output()
            .map_err(|error| failed(format!("a process was lost: {error}")))?;
        self.read(&output)
    }

    fn read(&self, output: &Output) -> Result<Result<Value, Value>, Refusal> {
        self.go_on()?;
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            serde_json::from_str(text.lines().last().unwrap_or_default())
                .map_err(|_| failed(format!("a command said {text:?}")))
        };
        if output.status.success() {
            return last(&output.stdout).map(Ok);
        }
        let mut error: Value = last(&output.stderr)?;
        Ok(Err(error.get_mut("error").map(Value::take).unwrap_or_default()))
    }

    fn call(
        &mut self,
        agent: &str,
        dir: &Path,
        args: &[&str],
    ) -> Result<Result<Value, Value>, Refusal> {
        self.steps += 1;
        let output = self
            .comity(agent, dir, args)
            .output()
            .map_err(|error| failed(format!("cannot start a process: {error}")))?;
        self.read(&output)
    }

    /// Runs a command that must succeed, without a word.
    pub(super) fn quietly(
        &mut self,
        agent: &str,
        dir: &Path,
        args: &[&str],
    ) -> Result<Value, Refusal> {
        self.call(agent, dir, args)?.map_err(|error| failed(format!("{}: {error}", args.join(" "))))
    }

    /// Runs a command that must succeed, and tells of it.
    pub(super) fn run(&mut self, agent: &str, args: &[&str]) -> Result<Value, Refusal> {
        let tree = self.main_tree();
        self.run_in(agent, &tree, args)
    }

    /// Runs a command that must succeed in a directory, and tells of it.
    pub(super) fn run_in(
        &mut self,
        agent: &str,
        dir: &Path,
        args: &[&str],
    ) -> Result<Value, Refusal> {
        self.tell_command(agent, args);
        self.steps -= 1;
        self.pause(self.pace.unwrap_or_default())?;
        self.quietly(agent, dir, args)
    }

    /// Runs a command that must be refused with this code, and tells why it was.
    pub(super) fn refused(
        &mut self,
        agent: &str,
        dir: &Path,
        args: &[&str],
        code: &str,
    ) -> Result<(), Refusal> {
        self.tell_command(agent, args);
        self.steps -= 1;
        match self.call(agent, dir, args)? {
            Err(error) if error.get("code").and_then(Value::as_str) == Some(code) => {
                self.tell_refusal(&error);
                Ok(())
            }
            other => {
                Err(failed(format!("{} was not refused with {code}: {other:?}", args.join(" "))))
            }
        }
    }

    /// Waits a while, unless it is time to stop.
    pub(super) fn pause(&self, length: Duration) -> Result<(), Refusal> {
        let mut left = length;
        while !left.is_zero() {
            let nap = left.min(NAP);
            std::thread::sleep(nap);
            left -= nap;
            self.go_on()?;
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Refusal> {
        if self.stop.load(Ordering::SeqCst) { Err(failed("interrupted")) } else { Ok(()) }
    }

    fn print(&self, line: &str) {
        if !self.quiet {
            // Whoever does not read the story does not need it.
            let _ = output::text(&format!("{line}\n"));
        }
    }

    pub(super) fn chapter(&self, title: &str) {
        self.print(&format!("\n{BOLD}{title}{BOLD:#}"));
    }

    /// Says what a command led to.
    pub(super) fn tell(&self, text: &str) {
        self.print(&format!("{MARGIN}{GOOD}→{GOOD:#} {text}"));
    }

    pub(super) fn show(&self, text: &str) {
        text.lines().for_each(|line| self.print(&format!("  {line}")));
    }

    /// Says how a command was refused.
    pub(super) fn tell_refusal(&self, error: &Value) {
        let text =
            |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = text("code");
        let message = text("message");
        let words: Vec<String> = message.split(' ').map(shorten).collect();
        self.print(&format!("{MARGIN}{BAD}✗ {code}{BAD:#}: {}", words.join(" ")));
    }

    fn tell_command(&mut self, agent: &str, args: &[&str]) {
        self.steps += 1;
        let mut line = String::new();
        let mut lines = Vec::new();
        for word in args.iter().map(|arg| quote(arg)) {
            if MARGIN.len() + 7 + line.len() + word.len() > COLUMNS {
                lines.push(std::mem::take(&mut line) + " \\");
            }
            line.push(' ');
            line.push_str(&word);
        }
        lines.push(line);
        let words = lines.join(&format!("\n{MARGIN}      "));
        self.print(&format!("  {NAME}{agent:<10}{NAME:#}{DIM}comity{DIM:#}{words}"));
    }
}

fn quote(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    let arg = shorten(arg);
    if arg.chars().all(plain) { arg } else { format!("'{arg}'") }
}

fn shorten(word: &str) -> String {
    let commit = word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
    word.get(..10).filter(|_| commit).unwrap_or(word).to_owned()
}
