//! A project of its own for each test, and the real binary in a clean environment.

use regex::Regex;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Winsize};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A throw-away directory with a git repository in it, or without.
pub struct Sandbox {
    dir: TempDir,
    /// The project.
    pub root: PathBuf,
}

impl Sandbox {
    /// Makes a git repository `tool` with one commit.
    pub fn new() -> Sandbox {
        let sandbox = Sandbox::without_git();
        sandbox.git(&sandbox.root, &["init", "--quiet", "--initial-branch=main"]);
        sandbox.write("README.md", "# tool\n");
        sandbox.commit(&sandbox.root, "Begin");
        sandbox
    }

    /// Makes an empty directory `tool`.
    pub fn without_git() -> Sandbox {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap().join("tool");
        std::fs::create_dir(&root).unwrap();
        Sandbox { dir, root }
    }

    /// The directory around the project.
    pub fn outside(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path()).unwrap()
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits everything in a work tree; returns the commit.
    pub fn commit(&self, tree: &Path, message: &str) -> String {
        self.git(tree, &["add", "--all"]);
        self.git(tree, &["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(tree, &["rev-parse", "HEAD"])
    }

    /// Works: commits a new file in the root; returns the commit.
    pub fn work(&self) -> String {
        let name = self.git(&self.root, &["rev-parse", "--short", "HEAD"]);
        self.write(&format!("work/{name}.rs"), "fn work() {}\n");
        self.git(&self.root, &["add", "work"]);
        self.git(&self.root, &["commit", "--quiet", "-m", "Work"]);
        self.git(&self.root, &["rev-parse", "HEAD"])
    }

    /// Adds a linked worktree on a new branch.
    pub fn worktree(&self, name: &str) -> PathBuf {
        let tree = self.outside().join(name);
        let place = tree.display().to_string();
        self.git(&self.root, &["worktree", "add", "--quiet", "-b", name, &place]);
        tree
    }

    /// Runs git, which must succeed.
    pub fn git(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.clean(OsStr::new("git")).current_dir(dir).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs git, which must fail; returns what it says.
    pub fn git_fails(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.clean(OsStr::new("git")).current_dir(dir).args(args).output().unwrap();
        assert!(!output.status.success(), "git {args:?} did not fail");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Prepares a call of a program in a clean environment.
    pub fn clean(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.dir.path()).env("USER", "tester");
        // What lies in the machine's directory for temporary files is no test's project.
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "tester");
            command.env(format!("GIT_{role}_EMAIL"), "tester@example.org");
        }
        command
    }

    /// Prepares a call of comity in the project's root.
    pub fn comity(&self) -> Call {
        let mut command = self.clean(OsStr::new(env!("CARGO_BIN_EXE_comity")));
        command.current_dir(&self.root);
        Call { command }
    }

    /// Runs comity and returns its answer, which must be one JSON object on one line.
    pub fn json(&self, args: &[&str]) -> Value {
        self.comity().args(args).json()
    }

    /// Runs comity, which must refuse; returns the refusal's code and the exit status.
    pub fn refused(&self, args: &[&str]) -> (String, i32) {
        let (error, exit) = self.comity().args(args).refusal();
        (error["code"].as_str().unwrap().to_owned(), exit)
    }

    /// Runs comity as for a terminal of 80 columns; returns what it prints, with what varies replaced.
    pub fn screen(&self, args: &[&str]) -> String {
        self.screen_of(80, args)
    }

    /// The same for a terminal of any width.
    pub fn screen_of(&self, columns: usize, args: &[&str]) -> String {
        let columns = columns.to_string();
        let call = self.comity().env("COMITY_COLUMNS", &columns).env("COLUMNS", &columns);
        let done = call.env("TZ", "UTC").args(args).done();
        let mut out = done.stdout.clone();
        if !done.stderr.is_empty() {
            out.push_str("-- stderr\n");
            out.push_str(&done.stderr);
        }
        if done.exit != 0 {
            out.push_str(&format!("-- exit {}\n", done.exit));
        }
        self.normal(&out)
    }

    /// The end of the log, to see whether anything was changed.
    pub fn head(&self) -> Value {
        self.json(&["log", "head"])
    }

    /// Replaces what differs between two runs.
    pub fn normal(&self, text: &str) -> String {
        let dir = self.outside().display().to_string();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut out = text.replace(&dir, "[dir]");
        if !host.is_empty() {
            out = out.replace(&format!(" on {host}"), " on [host]");
            out = out.replace(&format!("\"host\":\"{host}\""), "\"host\":\"[host]\"");
            out = out.replace(&format!("\"host\": \"{host}\""), "\"host\": \"[host]\"");
        }
        for (pattern, with) in [
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
            (r"\b[0-9a-f]{64}\b", "[hash]"),
            (r"\b[0-9a-f]{40}\b", "[sha]"),
            (r"(git switch -c \S+) [0-9a-f]{12}\b", "$1 [sha]"),
            (r"\b\d\d:\d\d:\d\d\b", "hh:mm:ss"),
            (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "yyyy-mm-dd hh:mm"),
            (r"\b[0-9a-f]{10}\b", "[short-sha]"),
            (r"\b(just now|\d+s ago)( {2} *)?", "just now$2"),
            // A column is as wide as its widest entry.
            (r"just now {3,}", "just now  "),
            (r"\d+ MiB free", "[n] MiB free"),
            (r"(host {7})\S+", "${1}[host]"),
            (r"\btool-[0-9a-f]{8,12}\b", "tool-[hex]"),
            (r"\b\d{8}T\d{6}\.\d{3}Z", "[moment]"),
            (r"\b\d+\.\d s\b", "[n] s"),
            (r"\b14m \d+s\b", "15m"),
            (r"git        \d+\.\d+", "git        [version]"),
            (r"\b(mem|dec|dir)_[0-9a-f]{8}(-?[0-9a-f]+)?", "${1}_[id]"),
            (r"\bcmty_\w+", "cmty_[secret]"),
            (r"\(\d+ bytes\)", "([n] bytes)"),
            (r"Wrote \d+ pages", "Wrote [n] pages"),
            (r"\b\d+:\d\d:\d\d [AP]M", "hh:mm:ss"),
        ] {
            out = Regex::new(pattern).unwrap().replace_all(&out, with).into_owned();
        }
        out
    }
}

/// A call of comity.
pub struct Call {
    command: Command,
}

impl Call {
    /// Adds arguments.
    pub fn args(mut self, args: &[&str]) -> Call {
        self.command.args(args);
        self
    }

    /// Adds arguments that need not be text.
    pub fn raw(mut self, args: &[OsString]) -> Call {
        self.command.args(args);
        self
    }

    /// Runs elsewhere.
    pub fn at(mut self, dir: &Path) -> Call {
        self.command.current_dir(dir);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: &str) -> Call {
        self.command.env(name, value);
        self
    }

    /// Acts as somebody, by the environment.
    pub fn by(self, agent: &str) -> Call {
        self.env("COMITY_AGENT", agent)
    }

    /// Gives it this on stdin.
    pub fn stdin(mut self, text: &str) -> Call {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        self.command.stdin(file);
        self
    }

    /// Lets the test write to its stdin.
    pub fn piped(mut self) -> Call {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Gives it a terminal as stdin only, so that its output can be read as usual.
    pub fn at_terminal(mut self, terminal: &Terminal) -> Call {
        self.command.stdin(terminal.stream());
        self
    }

    /// Starts it and goes on; its output can be read from the child.
    pub fn spawn(mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs it on a terminal of its own, for at most so long; returns what the terminal was sent.
    pub fn on_terminal(self, columns: u16, most: Duration) -> String {
        Terminal::new(columns).run(self.command, most)
    }

    /// The same for a program that reads this on stdin: only its output is the terminal's.
    pub fn fed_on_terminal(self, text: &str, most: Duration) -> String {
        let terminal = Terminal::new(80);
        terminal.show(self.stdin(text).command, most)
    }

    /// Runs it to the end.
    pub fn done(mut self) -> Done {
        Done::from(self.command.output().unwrap())
    }

    /// Runs it with `--json`; it must succeed.
    pub fn json(mut self) -> Value {
        self.command.arg("--json");
        self.done().json()
    }

    /// Runs it with `--json`; it must refuse. Returns the error and the exit status.
    pub fn refusal(mut self) -> (Value, i32) {
        self.command.arg("--json");
        let done = self.done();
        assert_ne!(done.exit, 0, "was not refused: {}", done.stdout);
        assert_eq!(done.stdout, "", "a refusal leaves stdout alone");
        let lines: Vec<&str> = done.stderr.lines().collect();
        let error: Value = serde_json::from_str(lines.last().unwrap())
            .unwrap_or_else(|_| panic!("not JSON: {}", done.stderr));
        assert!(error["error"]["hint"].is_string() && error["error"]["details"].is_object());
        (error["error"].clone(), done.exit)
    }
}

/// A pseudoterminal.
pub struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Terminal {
    pub fn new(columns: u16) -> Terminal {
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&ours).unwrap();
        rustix::pty::unlockpt(&ours).unwrap();
        let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
        let theirs =
            File::options().read(true).write(true).open(OsStr::from_bytes(name.as_bytes()));
        let theirs = OwnedFd::from(theirs.unwrap());
        // What is written arrives as it is: the terminal itself adds no carriage returns.
        let mut modes = rustix::termios::tcgetattr(&theirs).unwrap();
        modes.make_raw();
        rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &modes).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&theirs, size).unwrap();
        Terminal { ours, theirs }
    }

    fn stream(&self) -> Stdio {
        Stdio::from(self.theirs.try_clone().unwrap())
    }

    /// Runs a command with all three streams on it.
    pub fn run(self, mut command: Command, most: Duration) -> String {
        if command.get_envs().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm");
        }
        command.stdin(self.stream());
        self.show(command, most)
    }

    /// Runs a command with its output on it.
    fn show(self, mut command: Command, most: Duration) -> String {
        command.stdout(self.stream()).stderr(self.stream());
        let mut child = command.spawn().unwrap();
        drop((command, self.theirs));
        let mut ours = File::from(self.ours);
        let reader = std::thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            // A terminal that nobody holds any more fails to be read.
            while let Ok(length @ 1..) = ours.read(&mut piece) {
                all.extend_from_slice(&piece[..length]);
            }
            all
        });
        let end = Instant::now() + most;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        String::from_utf8(reader.join().unwrap()).unwrap()
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Done {
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            // A process that was killed has no status; none of ours is negative.
            exit: output.status.code().unwrap_or(-1),
        }
    }
}

impl Done {
    /// Reads the one JSON object that it printed.
    pub fn json(&self) -> Value {
        assert_eq!(self.exit, 0, "{}", self.stderr);
        assert_eq!(self.stdout.lines().count(), 1, "one line: {}", self.stdout);
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        assert!(value.is_object());
        value
    }
}
