//! A PostgreSQL server of the tests' own, and an empty store in it for whoever wants one.
//!
//! `COMITY_TEST_POSTGRES` names one that `./check` has started; without it a test starts its own. A
//! server that happens to run is never used.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "tests start a server of their own")]

use crate::clock::{Clock, SystemClock};
use crate::postgres::{OpenOptions, PgStore};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/cluster")
}

/// Runs the script, and returns what it printed.
pub fn cluster(args: &[&str]) -> String {
    let output = Command::new(script()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cluster {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A server that stops with the test.
pub struct Cluster {
    dir: PathBuf,
    /// The URL of its first database.
    pub url: String,
}

impl Cluster {
    pub fn start(settings: &[&str]) -> Cluster {
        let dir = new_dir();
        let mut args = vec!["start", dir.to_str().unwrap()];
        args.extend(settings);
        let url = cluster(&args);
        Cluster { dir, url }
    }

    /// Starts one that follows another.
    pub fn following(primary: &Cluster) -> Cluster {
        let dir = new_dir();
        let url = cluster(&["standby", dir.to_str().unwrap(), primary.path()]);
        Cluster { dir, url }
    }

    pub fn path(&self) -> &str {
        self.dir.to_str().unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // One that a test has stopped already does not stop again.
        let _ = Command::new(script()).args(["stop", self.path()]).output();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Makes a directory that is short enough for a socket's name.
fn new_dir() -> PathBuf {
    let dir = std::env::temp_dir().join(format!("comity_{}", unique()));
    std::fs::create_dir(&dir).unwrap();
    dir
}

/// Makes a name that no other process on the server has. The id of a process that has ended may be given again, so
/// the time is part of it.
fn unique() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let ms = SystemClock.read().wall_ms;
    format!("{}_{number}_{ms:x}", std::process::id())
}

/// Returns the URL of the server that the tests of this process share. It goes with the process, however
/// that ends.
fn shared() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        if let Ok(given) = std::env::var("COMITY_TEST_POSTGRES") {
            return given;
        }
        let dir = new_dir();
        let url = cluster(&["start", dir.to_str().unwrap(), "fsync=off"]);
        let mut follow = Command::new("sh");
        follow.args(["-c", "\"$0\" follow \"$1\" \"$2\" &"]).arg(script()).arg(&dir);
        follow.arg(std::process::id().to_string()).process_group(0);
        follow.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(follow.status().unwrap().success());
        url
    })
}

/// Runs a statement as the owner of the database.
pub fn psql(url: &str, text: &str) -> String {
    let output =
        Command::new("psql").args([url, "-XAtqc", text, "-v", "ON_ERROR_STOP=1"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes an empty store in a schema of its own and returns its URL.
pub fn empty_store_at(server: &str) -> String {
    let schema = format!("s{}", unique());
    psql(server, &format!("CREATE SCHEMA {schema}"));
    format!("{server}&options=-csearch_path%3D{schema}")
}

/// Makes an empty store on the server that the tests share, and returns its URL.
pub fn empty_store() -> String {
    empty_store_at(shared())
}

/// Opens a store, whatever the environment says.
pub fn open(url: &str) -> PgStore {
    PgStore::open(url, OpenOptions::default(), &|_| None).unwrap()
}
