//! Several stores on one file: in one process, and in several.

use comity_core::chain::{Head, Stored};
use comity_core::event::{Draft, Event, Note};
use comity_core::facts::Facts;
use comity_core::ids::{AgentId, RepoName};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Changes, EventQuery, Reader, Rows, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CHILD: &str = "COMITY_STORE_TEST_CHILD";
const EACH: u64 = 50;

fn open(path: &Path, lock_wait: Duration) -> SqliteStore {
    SqliteStore::open(path, OpenOptions { lock_wait, ..OpenOptions::default() }).unwrap()
}

fn note(store: &mut dyn Store, by: &str) -> Result<(), StoreError> {
    let mut tx = store.write()?;
    let head = tx.head()?;
    let mut facts = Facts::at(tx.moment()?, head);
    let draft = Draft {
        repo: RepoName::parse("acme/app").unwrap(),
        agent: AgentId::parse(by).unwrap(),
        task: None,
        event: Event::Note(Note { kind: "progress".to_owned(), text: by.to_owned() }),
        via: comity_core::via::Via::default(),
    };
    let events = [Stored::seal(&facts.apply(draft), head.hash).unwrap()];
    let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
    let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
    tx.commit(Changes { events: &events, rows, presence: &[], saved: &[], kept: &[] })
}

/// Checks the whole chain and returns how many events each writer has.
fn verified(store: &mut dyn Store) -> BTreeMap<String, u64> {
    let query = EventQuery { limit: usize::MAX, ..EventQuery::default() };
    let mut head = Head::default();
    let mut counts = BTreeMap::new();
    for event in store.read().unwrap().events(&query).unwrap() {
        assert_eq!(event.problem_after(&head), None);
        head = event.head();
        *counts.entry(event.agent).or_default() += 1;
    }
    counts
}

/// Runs one test of this binary in another process.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, path).stdout(Stdio::piped());
    command
}

fn as_child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

#[test]
fn stores_in_threads_of_one_process_agree() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    std::thread::scope(|scope| {
        for name in ["ann", "bob", "cy", "dee"] {
            let path = path.clone();
            scope.spawn(move || {
                let mut store = open(&path, Duration::from_secs(60));
                (0..EACH).for_each(|_| note(&mut store, name).unwrap());
            });
        }
    });
    let counts = verified(&mut open(&path, Duration::from_secs(1)));
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [EACH; 4]);
}

#[test]
fn stores_in_several_processes_agree() {
    if let Some(path) = as_child() {
        // The first process to come makes the store; all of them may try.
        let mut store = open(&path, Duration::from_secs(60));
        let name = format!("p{}", std::process::id());
        (0..EACH).for_each(|_| note(&mut store, &name).unwrap());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let start = |_| child("processes::stores_in_several_processes_agree", &path).spawn().unwrap();
    let children: Vec<_> = (0..4).map(start).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let counts = verified(&mut open(&path, Duration::from_secs(1)));
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [EACH; 4]);
}

#[test]
fn the_wait_behind_a_holder_that_does_not_move_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let mut store = open(&path, Duration::from_millis(300));
    note(&mut store, "ann").unwrap();
    let lock = std::fs::File::options().write(true).open(dir.path().join("store.db.lock")).unwrap();
    lock.lock().unwrap();
    let start = Instant::now();
    assert!(matches!(note(&mut store, "ann"), Err(StoreError::Held(_))));
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(store.read().unwrap().head().unwrap().seq.0, 1, "readers do not wait");
    lock.unlock().unwrap();
    note(&mut store, "ann").unwrap();
}

#[test]
fn a_process_that_is_killed_in_a_transaction_leaves_no_lock() {
    if let Some(path) = as_child() {
        let mut store = open(&path, Duration::from_secs(5));
        let _tx = store.write().unwrap();
        std::fs::write(path.with_extension("ready"), "").unwrap();
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let mut store = open(&path, Duration::from_secs(20));
    let test = "processes::a_process_that_is_killed_in_a_transaction_leaves_no_lock";
    let mut child = child(test, &path).spawn().unwrap();
    while !path.with_extension("ready").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    note(&mut store, "ann").unwrap();
    assert!(store.integrity().unwrap().is_empty());
}

#[test]
fn a_watch_wakes_when_another_process_commits() {
    if let Some(path) = as_child() {
        std::thread::sleep(Duration::from_millis(100));
        note(&mut open(&path, Duration::from_secs(5)), "ann").unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = open(&path, Duration::from_secs(5));
    let mut watch = store.watch().unwrap();
    let test = "processes::a_watch_wakes_when_another_process_commits";
    let mut child = child(test, &path).spawn().unwrap();
    assert!(watch.wait(Duration::from_secs(20)).unwrap());
    assert!(child.wait().unwrap().success());
}

/// Ten seconds in the long form; the bounds are those of the product, not of a fast machine.
fn writing_time() -> Duration {
    let long = std::env::var_os("COMITY_LONG").is_some();
    if long { Duration::from_secs(10) } else { Duration::from_secs(3) }
}

const WAITED: &str = "longest wait in ms: ";

/// Syncs a file of its own while the others write, and returns how long the slowest sync took.
fn longest_sync(path: &Path) -> Duration {
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    let mut file = std::fs::File::create(path).unwrap();
    while start.elapsed() < writing_time() {
        let before = Instant::now();
        file.write_all(b"x").unwrap();
        file.sync_data().unwrap();
        longest = longest.max(before.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    longest
}

#[test]
fn eight_writing_processes_are_served_fairly() {
    if let Some(path) = as_child() {
        let mut store = open(&path, Duration::from_secs(60));
        let name = format!("p{}", std::process::id());
        while !path.with_extension("go").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (start, mut longest) = (Instant::now(), Duration::ZERO);
        while start.elapsed() < writing_time() {
            let before = Instant::now();
            note(&mut store, &name).unwrap();
            longest = longest.max(before.elapsed());
        }
        println!("{WAITED}{}", longest.as_millis());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    drop(open(&path, Duration::from_secs(1)));
    let test = "processes::eight_writing_processes_are_served_fairly";
    let children: Vec<_> = (0..8).map(|_| child(test, &path).spawn().unwrap()).collect();
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(path.with_extension("go"), "").unwrap();
    let stall = longest_sync(&dir.path().join("probe"));
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        let waited = said.lines().find_map(|line| line.strip_prefix(WAITED)?.parse().ok()).unwrap();
        // A disk that stalls keeps everybody waiting, which says nothing about turns.
        let bound = Duration::from_secs(1).max(stall * 2);
        assert!(Duration::from_millis(waited) <= bound, "waited {waited} ms, the disk {stall:?}");
    }
    let counts = verified(&mut open(&path, Duration::from_secs(1)));
    let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
    println!("eight writers: {least} to {most} commits each");
    assert!(least * 2 >= *most, "the slowest wrote {least}, the fastest {most}");
}
