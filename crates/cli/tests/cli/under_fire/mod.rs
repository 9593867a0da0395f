//! Many processes, killed processes, full and read-only disks: nothing acknowledged is lost.

mod crashes;
mod disk;
mod races;

use comity_store::test_server::empty_store;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A project outside git with a store of its own, as many processes see it.
pub struct Field {
    dir: tempfile::TempDir,
    url: String,
}

impl Field {
    pub fn new() -> Field {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("comity.db").display());
        let field = Field { dir, url };
        field.ok("human:ann", &["init", "--yes"]);
        field
    }

    pub fn with_store(store: &Path) -> Field {
        let url = format!("sqlite:{}", store.display());
        Field { dir: tempfile::tempdir().unwrap(), url }
    }

    /// The same with a store on PostgreSQL.
    pub fn on_server() -> Field {
        let field = Field { dir: tempfile::tempdir().unwrap(), url: empty_store() };
        field.ok("human:ann", &["init", "--yes"]);
        field
    }

    /// A command line of one agent, ready to be started.
    pub fn command(&self, actor: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
        command
            .args(["--json", "--as", actor, "--repo", "acme/app", "--root"])
            .arg(self.dir.path())
            .args(["--store", &self.url])
            .args(arguments)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, actor: &str, arguments: &[&str]) -> Output {
        self.command(actor, arguments).output().unwrap()
    }

    pub fn ok(&self, actor: &str, arguments: &[&str]) -> Value {
        let output = self.run(actor, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Every task title that is stored, by page.
    pub fn titles(&self) -> Vec<String> {
        let mut titles = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let page = self.ok("human:ann", &["task", "list", "--limit", "500", "--after", &after]);
            let tasks = page["tasks"].as_array().unwrap();
            titles.extend(tasks.iter().map(|task| task["title"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => after = next.to_owned(),
                None => return titles,
            }
        }
    }

    pub fn store(&self) -> PathBuf {
        PathBuf::from(self.url.trim_start_matches("sqlite:"))
    }

    /// The file whose lock a writer holds; whoever holds it stops all other writers.
    pub fn lock_file(&self) -> std::fs::File {
        self.ok("human:ann", &["agent", "heartbeat"]);
        std::fs::File::options().write(true).open(self.store().with_extension("db.lock")).unwrap()
    }

    pub fn log_is_clean(&self) {
        let report = self.ok("human:ann", &["log", "verify"]);
        assert_eq!(report["ok"], true, "{report}");
    }
}

/// The code of an error object on standard error.
pub fn code(output: &Output) -> String {
    let error: Value = serde_json::from_slice(&output.stderr).unwrap_or_default();
    error["error"]["code"].as_str().unwrap_or_default().to_owned()
}

/// The long form does more of the same.
pub fn times(short: usize) -> usize {
    if std::env::var_os("COMITY_LONG").is_some() { short * 10 } else { short }
}
