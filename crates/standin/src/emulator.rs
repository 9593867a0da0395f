//! The emulator of GitHub below the fault layer: npm's `emulate`, installed once and started for each test.

use serde_json::json;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Who and what is there at the beginning. Every login has the token `gho_LOGIN`.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Everybody who has an account, by login.
    pub users: Vec<String>,
    /// Repositories as `owner/name`; each has one commit.
    pub repositories: Vec<String>,
    /// Repository, login and level: read, triage, write, maintain or admin.
    pub levels: Vec<(String, String, String)>,
    /// An App with the id 12345, the slug `comity` and the installation 777, signed by this key.
    pub app_key: Option<String>,
    /// The path that the API is below, as on a server of a company: `/api/v3`, or nothing.
    pub base: String,
}

impl Default for Seed {
    /// `ann/tool`, where `comity-bot` may write, `bob` maintains, `tess` triages and `eve` is a stranger.
    fn default() -> Seed {
        let level =
            |who: &str, level: &str| ("ann/tool".to_owned(), who.to_owned(), level.to_owned());
        Seed {
            users: ["ann", "comity-bot", "bob", "tess", "eve"].map(str::to_owned).to_vec(),
            repositories: vec!["ann/tool".to_owned()],
            levels: vec![
                level("comity-bot", "write"),
                level("bob", "maintain"),
                level("tess", "triage"),
            ],
            app_key: None,
            base: String::new(),
        }
    }
}

/// The emulator, running. It ends with its parent, however that ends.
pub(crate) struct Emulator {
    child: Child,
    pub address: String,
    _seed: TempDir,
}

/// The directory of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the packages are, which are installed on first use.
///
/// # Errors
/// A sentence that says why they cannot be had.
pub fn packages() -> Result<PathBuf, String> {
    let done = Command::new(repository().join("tests/github/install"))
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    if done.status.success() { Ok(PathBuf::from(said)) } else { Err(said) }
}

/// The Node that the packages bring along.
pub fn node(packages: &Path) -> PathBuf {
    packages.join("node_modules/node/bin/node")
}

impl Emulator {
    /// Starts it behind the public address `url`.
    pub fn start(packages: &Path, seed: &Seed, url: &str) -> Emulator {
        for _ in 0..5 {
            if let Some(emulator) = Emulator::try_start(packages, seed, url) {
                return emulator;
            }
        }
        panic!("the emulator does not start");
    }

    fn try_start(packages: &Path, seed: &Seed, url: &str) -> Option<Emulator> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("seed.json");
        std::fs::write(&file, seed.document().to_string()).unwrap();
        // A port that was free a moment ago; where somebody else was faster, another one is tried.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(node(packages));
        command.arg(repository().join("tests/github/emulate.mjs")).arg(packages);
        command
            .args(["start", "--service", "github", "--host", "127.0.0.1", "--port"])
            .arg(port.to_string());
        command.args(["--base-url", url, "--seed"]).arg(&file).current_dir(dir.path());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        if !lines.any(|line| line.contains("Ready.")) {
            let _ = child.wait();
            return None;
        }
        // What it says later has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Emulator { child, address: format!("127.0.0.1:{port}"), _seed: dir })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Seed {
    fn document(&self) -> serde_json::Value {
        let token = |(at, login): (usize, &String)| {
            (
                format!("gho_{login}"),
                json!({ "login": login, "id": 100 + at, "scopes": ["repo", "user"] }),
            )
        };
        let user = |login: &String| json!({ "login": login, "name": login, "email": format!("{login}@example.org") });
        let repository = |name: &String| {
            let (owner, name) = name.split_once('/').unwrap();
            json!({ "owner": owner, "name": name, "description": "a tool", "language": "Rust", "auto_init": true })
        };
        let tokens: serde_json::Map<_, _> = self.users.iter().enumerate().map(token).collect();
        let users: Vec<_> = self.users.iter().map(user).collect();
        let repositories: Vec<_> = self.repositories.iter().map(repository).collect();
        let mut document =
            json!({ "tokens": tokens, "github": { "users": users, "repos": repositories } });
        if let Some(key) = &self.app_key {
            let may = json!({ "contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "metadata": "read" });
            let (owner, _) = self.repositories[0].split_once('/').unwrap();
            document["github"]["apps"] = json!([{ "app_id": 12345, "slug": "comity", "name": "comity", "private_key": key,
                "permissions": may, "events": ["issues", "issue_comment"],
                "installations": [{ "installation_id": 777, "account": owner, "repository_selection": "all", "permissions": may }] }]);
        }
        document
    }
}
