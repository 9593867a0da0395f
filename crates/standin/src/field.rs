//! A repository on GitHub, a clone of it, and comity in the clone.

use crate::emulator::Seed;
use crate::faults::{Fault, On, Rule};
use crate::http::encoded;
use crate::relay::Hub;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The repository of the tests.
pub const REPO: &str = "ann/tool";
/// An agent that works.
pub const AGENT: &str = "agent.impl.1";
/// The person who runs comity.
pub const ANN: &str = "human:ann";

/// GitHub on loopback, with clones of its repository.
pub struct Field {
    pub hub: Hub,
    binary: PathBuf,
    dir: TempDir,
    settings: String,
}

/// A clone with a store of its own.
pub struct Engine {
    pub root: PathBuf,
    /// What `GH_TOKEN` is.
    pub token: String,
    binary: PathBuf,
    home: PathBuf,
}

/// A call that has ended.
#[derive(Debug)]
pub struct Done {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Done { exit: output.status.code().unwrap_or(-1), stdout, stderr }
    }
}

impl Done {
    /// The answer; it must have succeeded.
    pub fn json(&self) -> Value {
        assert_eq!(self.exit, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The code of a refusal.
    pub fn code(&self) -> String {
        let line = self.stderr.lines().last().unwrap_or_default();
        let error: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:?}"));
        error["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Field {
    /// With a binary of comity, the words of a protocol, and further settings of `[github]`. None where GitHub on loopback
    /// cannot be had.
    pub fn new(binary: &Path, dialect: &str, settings: &str, seed: &Seed) -> Option<Field> {
        let hub = Hub::start(seed)?;
        let dir = tempfile::tempdir().unwrap();
        let settings = format!(
            "\n[labels]\ndialect = \"{dialect}\"\n\n[github]\nrepository = \"{REPO}\"\napi_url = \"{}{}\"\npace = \"0s\"\npeople = {{ ann = \"{ANN}\" }}\n{settings}\n",
            hub.url, seed.base
        );
        let field = Field { hub, binary: binary.to_owned(), dir, settings };
        let bare = field.bare();
        run(Command::new("git")
            .args(["init", "--quiet", "--bare", "--initial-branch=main"])
            .arg(&bare));
        field.hub.git(REPO, &bare);
        Some(field)
    }

    fn bare(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path()).unwrap().join("tool.git")
    }

    /// A clone, whose remote is GitHub's address, with comity set up.
    pub fn engine(&self, name: &str) -> Engine {
        let home = std::fs::canonicalize(self.dir.path()).unwrap().join(name);
        let root = home.join("tool");
        std::fs::create_dir_all(&root).unwrap();
        let engine =
            Engine { root, token: "gho_comity-bot".to_owned(), binary: self.binary.clone(), home };
        let bare = self.bare().display().to_string();
        engine.git(&[
            "config",
            "--global",
            &format!("url.{bare}.insteadOf"),
            "https://github.com/ann/tool.git",
        ]);
        engine.git(&["init", "--quiet", "--initial-branch=main"]);
        engine.git(&["remote", "add", "origin", "https://github.com/ann/tool.git"]);
        let is_first = engine.git(&["ls-remote", "origin"]).is_empty();
        if is_first {
            engine.write("README.md", "# tool\n");
            engine.commit("Begin");
            engine.git(&["push", "--quiet", "origin", "main"]);
        } else {
            engine.git(&["pull", "--quiet", "origin", "main"]);
        }
        engine.git(&["fetch", "--quiet", "origin"]);
        engine.json(ANN, &["init", "--clients", "none", "--no-hooks"]);
        let file = engine.root.join(".comity/config.toml");
        let given: Vec<&str> = self.settings.lines().filter(|line| line.starts_with('[')).collect();
        let shown = std::fs::read_to_string(&file).unwrap();
        // A table that is set below is not begun above.
        let lines = shown.lines().filter(|line| !given.contains(line));
        let text = lines.map(|line| format!("{line}\n")).collect::<String>();
        std::fs::write(&file, format!("{text}{}", self.settings)).unwrap();
        engine.write(".git/info/exclude", ".comity/\n");
        engine.json(ANN, &["trust"]);
        engine
    }

    /// Opens an issue; returns its number.
    pub fn open(&self, login: &str, title: &str, body: &str, labels: &[&str]) -> u64 {
        let made = json!({ "title": title, "body": body, "labels": labels });
        self.hub.person(login, "POST", &at("issues"), made)["number"].as_u64().unwrap()
    }

    pub fn say(&self, login: &str, issue: u64, text: &str) -> u64 {
        let made = self.hub.person(
            login,
            "POST",
            &at(&format!("issues/{issue}/comments")),
            json!({ "body": text }),
        );
        made["id"].as_u64().unwrap()
    }

    pub fn label(&self, login: &str, issue: u64, word: &str) {
        self.hub.person(
            login,
            "POST",
            &at(&format!("issues/{issue}/labels")),
            json!({ "labels": [word] }),
        );
    }

    pub fn unlabel(&self, login: &str, issue: u64, word: &str) {
        let path = at(&format!("issues/{issue}/labels/{}", encoded(word)));
        self.hub.person(login, "DELETE", &path, Value::Null);
    }

    pub fn issue(&self, issue: u64) -> Value {
        self.hub.person("ann", "GET", &at(&format!("issues/{issue}")), Value::Null)
    }

    /// The labels of an issue, sorted.
    pub fn labels(&self, issue: u64) -> Vec<String> {
        let issue = self.issue(issue);
        let name = |label: &Value| label["name"].as_str().unwrap().to_owned();
        let mut names: Vec<String> = issue["labels"].as_array().unwrap().iter().map(name).collect();
        names.sort();
        names
    }

    /// Who an issue is assigned to, sorted.
    pub fn assignees(&self, issue: u64) -> Vec<String> {
        let issue = self.issue(issue);
        let mut names: Vec<String> = issue["assignees"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["login"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    /// Authors and texts of the comments of an issue, in order.
    pub fn comments(&self, issue: u64) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for page in 1.. {
            let path = at(&format!("issues/{issue}/comments?per_page=100&page={page}"));
            let part = self.hub.person("ann", "GET", &path, Value::Null);
            let part = part.as_array().unwrap();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found.extend(part.iter().map(|one| (text(&one["user"]["login"]), text(&one["body"]))));
            if part.len() < 100 {
                break;
            }
        }
        found
    }

    /// What comity's own account said under an issue.
    pub fn said(&self, issue: u64) -> Vec<String> {
        let is_own = |by: &str| by == "comity-bot" || by.ends_with("[bot]");
        let own = self.comments(issue).into_iter().filter(|(by, _)| is_own(by));
        own.map(|(_, text)| text).collect()
    }

    /// GitHub cannot be reached.
    pub fn cut_off(&self) {
        self.hub.fault(Rule::always(On::Any, Fault::Refused));
    }
}

impl Drop for Field {
    /// Whatever a test is about: comity asks GitHub only for what its own document has.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.hub.requests_are_valid();
        }
    }
}

/// A path below the repository.
pub fn at(rest: &str) -> String {
    format!("/repos/{REPO}/{rest}")
}

/// The operations in the marker of a comment.
pub fn operations(text: &str) -> Vec<String> {
    let last = text.lines().last().unwrap_or_default();
    let inside = last.strip_prefix("<!-- comity op=").and_then(|rest| rest.strip_suffix(" -->"));
    inside
        .map(|list| list.split(',').map(|one| one.trim().to_owned()).collect())
        .unwrap_or_default()
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Engine {
    fn clean(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null()).current_dir(&self.root);
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("USER", "ann");
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "ann")
                .env(format!("GIT_{role}_EMAIL"), "ann@example.org");
        }
        command
    }

    pub fn git(&self, args: &[&str]) -> String {
        run(self.clean(Path::new("git")).args(args))
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A call of comity as somebody.
    pub fn comity(&self, who: &str, args: &[&str]) -> Command {
        let mut command = self.clean(&self.binary);
        command.env("COMITY_AGENT", who).env("GH_TOKEN", &self.token).args(args).arg("--json");
        command
    }

    pub fn call(&self, who: &str, args: &[&str]) -> Done {
        Done::from(self.comity(who, args).output().unwrap())
    }

    /// Lines of a shell as somebody, who has comity on the path.
    pub fn shell(&self, who: &str, lines: &str) -> Done {
        let tools = self.home.join("bin");
        if !tools.exists() {
            std::fs::create_dir_all(&tools).unwrap();
            std::os::unix::fs::symlink(&self.binary, tools.join("comity")).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut command = self.clean(Path::new("sh"));
        command.args(["-c", lines]).env("PATH", format!("{}:{path}", tools.display()));
        command.env("COMITY_AGENT", who).env("GH_TOKEN", &self.token);
        Done::from(command.output().unwrap())
    }

    /// Runs comity, which must succeed.
    pub fn json(&self, who: &str, args: &[&str]) -> Value {
        self.call(who, args).json()
    }

    /// One pass.
    pub fn sync(&self) -> Value {
        self.json(ANN, &["github", "sync"])["sync"].clone()
    }

    /// A pass that goes on in the background.
    pub fn start_sync(&self) -> Child {
        let mut command = self.comity(ANN, &["github", "sync"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Passes until nothing is left to be sent; returns all that went in and out.
    pub fn settle(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let done = self.call(ANN, &["github", "sync"]);
            if done.exit != 0 {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            let sync = done.json()["sync"].clone();
            inside.extend(sync["in"].as_array().unwrap().iter().cloned());
            outside.extend(sync["out"].as_array().unwrap().iter().cloned());
            if sync["pending"] == 0 {
                return (inside, outside);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("something is pending for ever: {:?}", self.call(ANN, &["github", "sync"]));
    }

    pub fn task(&self, id: &str) -> Value {
        self.json(ANN, &["task", "show", id])["task"].clone()
    }

    pub fn status(&self, id: &str) -> String {
        self.task(id)["status"].as_str().unwrap().to_owned()
    }

    /// The tasks by the numbers of their issues.
    pub fn tasks(&self) -> Vec<Value> {
        let list = self.json(ANN, &["task", "list", "--all"]);
        list["tasks"].as_array().unwrap().clone()
    }

    /// The end of the log.
    pub fn head(&self) -> Value {
        self.json(ANN, &["log", "head"])
    }

    /// Commits on the branch of a task and pushes it; returns the commit.
    pub fn work(&self, branch: &str, file: &str) -> String {
        self.git(&["switch", "--quiet", "-C", branch]);
        self.write(file, &format!("fn {}() {{}}\n", file.replace(['/', '.', '-'], "_")));
        let sha = self.commit("Work");
        self.git(&["push", "--quiet", "--force", "origin", branch]);
        sha
    }
}
