//! A short command on SQLite needs no runtime and starts no thread of its own.

use crate::sandbox::Sandbox;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long the command may take to come to the store.
const LONG: Duration = Duration::from_secs(120);
/// The thread that waits in the kernel for the write lock, which this process has. The kernel cuts its name.
const WAITER: &str = "comity-lock-wai";

/// Returns the names of a process's threads; none when it has ended.
fn threads(process: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(name).map(|name| name.trim().to_owned()).collect()
}

#[test]
fn a_command_on_sqlite_starts_no_runtime_and_no_thread_but_the_one_that_waits_for_the_lock() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--clients", "none"]);
    // The lock holds the command up where it has opened everything that it needs.
    let lock = std::fs::File::open(sandbox.root.join(".git/comity/comity.db.lock")).unwrap();
    lock.lock().unwrap();
    let mut note = sandbox.comity().args(&["note", "progress", "one", "--json"]).spawn();
    let process = note.id();
    let (mut seen, start) = (BTreeSet::new(), Instant::now());
    let mut look = || {
        let threads = threads(process);
        assert!(threads.len() <= 2, "{threads:?}");
        seen.extend(threads);
        seen.contains(WAITER)
    };
    while !look() {
        assert!(start.elapsed() < LONG, "it does not come to the store");
    }
    lock.unlock().unwrap();
    loop {
        look();
        if let Some(status) = note.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
    }
    // Before it becomes comity, the new process has the name of the test's thread.
    let ours = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
    seen.remove(ours.trim());
    assert_eq!(seen, BTreeSet::from(["comity".to_owned(), WAITER.to_owned()]));
}
