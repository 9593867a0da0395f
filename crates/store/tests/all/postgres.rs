//! What only a server and many hosts can do wrong: late commits, lost connections, lost answers, crashes.

use crate::conformance::repo;
use comity_core::agent::Counters;
use comity_core::chain::Stored;
use comity_core::event::{Draft, Event, Note};
use comity_core::facts::{Entity, Facts};
use comity_core::ids::{AgentId, Seq};
use comity_core::state::Key;
use comity_core::time::Millis;
use comity_store::postgres::{OpenOptions, PgStore};
use comity_store::test_server::{Cluster, cluster, empty_store, empty_store_at, open, psql};
use comity_store::{Changes, EventQuery, ManualClock, Reader, Rows, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Appends one event that says a text; returns its place.
fn note(store: &mut dyn Store, text: &str) -> Result<Seq, StoreError> {
    let mut tx = store.write()?;
    let head = tx.head()?;
    let mut facts = Facts::at(tx.moment()?, head);
    let body = Note { kind: "progress".to_owned(), text: text.to_owned() };
    let agent = AgentId::parse("ann").unwrap();
    let draft = Draft {
        repo: repo(),
        agent: agent.clone(),
        task: None,
        event: Event::Note(body),
        via: comity_core::via::Via::default(),
    };
    let events = [Stored::seal(&facts.apply(draft), head.hash).unwrap()];
    let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
    let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
    let presence = [(agent, None, facts.moment.now)];
    tx.commit(Changes { events: &events, rows, presence: &presence, saved: &[], kept: &[] })?;
    Ok(events[0].seq)
}

fn page(store: &mut dyn Store, after: Seq) -> Vec<Stored> {
    let query = EventQuery { after, limit: 10_000, ..EventQuery::default() };
    store.read().unwrap().events(&query).unwrap()
}

fn texts(store: &mut dyn Store) -> Vec<String> {
    let text = |event: &Stored| {
        let body: serde_json::Value =
            serde_json::from_slice(event.body.as_deref().unwrap()).unwrap();
        body["text"].as_str().unwrap().to_owned()
    };
    page(store, Seq(0)).iter().map(text).collect()
}

/// Checks that what was acknowledged is in the log, once, and the log without gaps.
fn assert_kept(url: &str, acknowledged: &[String]) {
    let mut store = open(url);
    let stored = texts(&mut store);
    let once: BTreeSet<&String> = stored.iter().collect();
    assert_eq!(once.len(), stored.len(), "nothing is stored twice");
    for text in acknowledged {
        assert!(once.contains(text), "{text} was acknowledged and is lost");
    }
    let mut last = Stored::head(&page(&mut store, Seq(0))[0]);
    for event in page(&mut store, Seq(1)) {
        assert_eq!(event.problem_after(&last), None);
        last = event.head();
    }
}

/// Lets several handles write until told to stop; returns what was acknowledged.
fn write_until(url: &str, writers: usize, disturb: impl FnOnce()) -> Vec<String> {
    let stop = AtomicBool::new(false);
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (stop, acknowledged) = (&stop, &acknowledged);
        for writer in 0..writers {
            scope.spawn(move || {
                let mut store = open(url);
                for number in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let text = format!("{writer}.{number}");
                    if note(&mut store, &text).is_ok() {
                        acknowledged.lock().unwrap().push(text);
                    }
                }
            });
        }
        disturb();
        stop.store(true, Ordering::SeqCst);
    });
    acknowledged.into_inner().unwrap()
}

#[test]
fn whoever_tails_the_log_never_skips_an_event_that_commits_late() {
    let url = empty_store();
    let mut reader = open(&url);
    let mut seen: Vec<u64> = Vec::new();
    let acknowledged = write_until(&url, 6, || {
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            let after = Seq(seen.last().copied().unwrap_or(0));
            seen.extend(page(&mut reader, after).iter().map(|event| event.seq.0));
        }
    });
    let after = Seq(seen.last().copied().unwrap_or(0));
    seen.extend(page(&mut reader, after).iter().map(|event| event.seq.0));
    assert_eq!(seen.len(), acknowledged.len());
    assert!(seen.iter().zip(1..).all(|(seq, place)| *seq == place), "in order and without gaps");
    assert!(acknowledged.len() > 100, "only {} commits", acknowledged.len());
}

#[test]
fn a_writer_that_is_slow_to_commit_keeps_the_others_waiting_and_not_behind_it() {
    let url = empty_store();
    let mut slow = open(&url);
    let tx = slow.write().unwrap();
    let other = url.clone();
    let quick = std::thread::spawn(move || {
        let mut store = open(&other);
        let start = Instant::now();
        (note(&mut store, "quick").unwrap(), start.elapsed())
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(page(&mut open(&url), Seq(0)).is_empty());
    drop(tx);
    let (seq, waited) = quick.join().unwrap();
    assert_eq!(seq, Seq(1));
    assert!(waited >= Duration::from_millis(200));
}

#[test]
fn the_wait_for_another_writer_is_bounded() {
    let url = empty_store();
    let mut holder = open(&url);
    let _tx = holder.write().unwrap();
    let options = OpenOptions { lock_wait: Duration::from_millis(300), ..OpenOptions::default() };
    let mut store = PgStore::open(&url, options, &|_| None).unwrap();
    let start = Instant::now();
    let refused = note(&mut store, "x").unwrap_err();
    assert!(matches!(refused, StoreError::Busy(_)), "{refused}");
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(_tx);
    note(&mut store, "y").unwrap();
}

/// Counts the connections that a process has to a store, by the name that its URL gives them.
fn connections(url: &str, name: &str) -> String {
    let text = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    psql(url, &text)
}

#[test]
fn handles_of_one_process_share_their_connections_and_never_have_more_than_the_limit() {
    let url = empty_store();
    let named = format!("{url}&application_name=pool-{}", std::process::id());
    let name = format!("pool-{}", std::process::id());
    let options = OpenOptions { connections: 3, ..OpenOptions::default() };
    let store = PgStore::open(&named, options, &|_| None).unwrap();
    let clones: Vec<PgStore> = (0..12).map(|_| store.clone()).collect();
    assert_eq!(connections(&url, &name), "1", "an idle handle has no connection of its own");
    let most = Mutex::new(0);
    std::thread::scope(|scope| {
        for (number, mut handle) in clones.into_iter().enumerate() {
            let (most, url, name) = (&most, &url, &name);
            scope.spawn(move || {
                for round in 0..10 {
                    note(&mut handle, &format!("{number}.{round}")).unwrap();
                    page(&mut handle, Seq(0));
                    if number == 0 {
                        let now: u32 = connections(url, name).parse().unwrap();
                        let mut most = most.lock().unwrap();
                        *most = now.max(*most);
                    }
                }
            });
        }
    });
    assert!(*most.lock().unwrap() <= 3);
    assert_eq!(texts(&mut { store }).len(), 120);
}

#[test]
fn the_wait_for_a_connection_is_bounded_and_says_why() {
    let url = empty_store();
    let connect_wait = Duration::from_millis(300);
    let options = OpenOptions { connections: 2, connect_wait, ..OpenOptions::default() };
    let store = PgStore::open(&url, options, &|_| None).unwrap();
    let (mut one, mut two, mut three) = (store.clone(), store.clone(), store);
    let held = (one.read().unwrap(), two.read().unwrap());
    let start = Instant::now();
    let refused = three.read().err().unwrap().to_string();
    assert!(refused.contains("all 2 connections"), "{refused}");
    assert!(start.elapsed() < Duration::from_secs(3));
    drop(held);
    three.read().unwrap();
}

#[test]
fn a_connection_that_ended_is_not_lent_again() {
    let url = empty_store();
    let name = format!("ended-{}", std::process::id());
    let mut store = open(&format!("{url}&application_name={name}"));
    let mut other = store.clone();
    {
        // Two connections, both idle afterwards.
        let _both = (store.read().unwrap(), other.read().unwrap());
    }
    assert_eq!(connections(&url, &name), "2");
    let ended = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{name}'"
    );
    assert_eq!(psql(&url, &ended), "2");
    note(&mut store, "after").unwrap();
    note(&mut other, "after that").unwrap();
    assert_eq!(texts(&mut store), ["after", "after that"]);
}

#[test]
fn ten_hosts_may_start_on_an_empty_database_at_once() {
    let url = empty_store();
    std::thread::scope(|scope| {
        let open: Vec<_> = (0..10).map(|_| scope.spawn(|| drop(open(&url)))).collect();
        open.into_iter().for_each(|host| host.join().unwrap());
    });
    note(&mut open(&url), "x").unwrap();
}

#[test]
fn a_store_of_the_first_schema_is_upgraded_with_what_it_holds() {
    let url = empty_store();
    let first = include_str!("../../src/postgres/migrations/0001_initial.sql");
    let checksum = comity_core::chain::Hash::of(first.as_bytes());
    psql(
        &url,
        &format!(
            "{first} CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY,
            checksum TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now());
            INSERT INTO schema_migrations (version, checksum) VALUES (1, '{checksum}');
            INSERT INTO repos VALUES ('acme/app', 1, 4, 3, 2)"
        ),
    );
    let mut store = open(&url);
    assert_eq!(store.integrity().unwrap(), Vec::<String>::new());
    let key = Key::Repo(repo());
    let kept = Counters { tasks: 4, leases: 3, decisions: 2, ..Counters::default() };
    assert_eq!(store.read().unwrap().entities(None, 9).unwrap(), [(key, Entity::Repo(kept))]);
    note(&mut store, "x").unwrap();
}

#[test]
fn the_databases_clock_decides() {
    let url = empty_store();
    let mut store = open(&url);
    let ms = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let before: i64 = psql(&url, ms).parse().unwrap();
    let now = store.read().unwrap().moment().unwrap().now.ms();
    let after: i64 = psql(&url, ms).parse().unwrap();
    assert!((before..=after).contains(&now), "{before} {now} {after}");
}

#[test]
fn backends_that_are_ended_lose_nothing_and_do_nothing_twice() {
    let server = Cluster::start(&["fsync=off"]);
    let url = empty_store_at(&server.url);
    note(&mut open(&url), "first").unwrap();
    let acknowledged = write_until(&url, 4, || {
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                    WHERE pid <> pg_backend_pid() AND application_name = 'comity'";
        for _ in 0..25 {
            psql(&server.url, kill);
            std::thread::sleep(Duration::from_millis(40));
        }
    });
    assert!(acknowledged.len() > 20, "only {}", acknowledged.len());
    assert_kept(&url, &acknowledged);
}

#[test]
fn a_server_that_crashes_under_load_keeps_what_was_acknowledged() {
    let server = Cluster::start(&[]);
    let url = empty_store_at(&server.url);
    note(&mut open(&url), "first").unwrap();
    let acknowledged = write_until(&url, 3, || {
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(400));
            cluster(&["stop", server.path(), "immediate"]);
            cluster(&["start", server.path()]);
        }
        std::thread::sleep(Duration::from_millis(400));
    });
    assert!(acknowledged.len() > 20, "only {}", acknowledged.len());
    assert_kept(&url, &acknowledged);
}

#[test]
fn a_watch_whose_connection_ends_wakes_and_goes_on() {
    let server = Cluster::start(&["fsync=off"]);
    let url = empty_store_at(&server.url);
    let store = open(&url);
    let mut watch = store.watch().unwrap();
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE query LIKE 'LISTEN %' AND pid <> pg_backend_pid()";
    psql(&url, kill);
    assert!(watch.wait(Duration::from_secs(10)).unwrap(), "anything may have happened meanwhile");
    assert!(!watch.wait(Duration::from_millis(50)).unwrap());
    note(&mut open(&url), "x").unwrap();
    assert!(watch.wait(Duration::from_secs(10)).unwrap());
}

/// Stands between client and server and, when armed, swallows the answer to a COMMIT.
fn swallowing_proxy(dir: &Path, server: &str, armed: &Arc<AtomicBool>) {
    let listener = UnixListener::bind(dir.join(".s.PGSQL.5432")).unwrap();
    let real = server.split("host=").nth(1).unwrap().split('&').next().unwrap();
    let real = Path::new(real).join(".s.PGSQL.5432");
    let armed = Arc::clone(armed);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), UnixStream::connect(&real).unwrap());
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pump(from, to, |_| true));
            let armed = Arc::clone(&armed);
            std::thread::spawn(move || {
                pump(server, client, |bytes| {
                    let done = bytes.windows(7).any(|part| part == b"COMMIT\0");
                    !(done && armed.swap(false, Ordering::SeqCst))
                });
            });
        }
    });
}

/// Passes bytes on until `go_on` says no; then both ends are closed.
fn pump(mut from: UnixStream, mut to: UnixStream, go_on: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 65_536];
    while let Ok(length) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        if length == 0 || !go_on(bytes) || to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn an_answer_lost_during_commit_is_looked_up_and_never_guessed() {
    let direct = empty_store();
    note(&mut open(&direct), "first").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let armed = Arc::new(AtomicBool::new(false));
    swallowing_proxy(dir.path(), &direct, &armed);
    let (before, rest) = direct.split_once("host=").unwrap();
    let (_, after) = rest.split_once('&').unwrap();
    let url = format!("{before}host={}&{after}", dir.path().display());
    let mut store = open(&url);
    for round in 0..5 {
        armed.store(true, Ordering::SeqCst);
        let seq = note(&mut store, &format!("round {round}")).unwrap();
        assert_eq!(seq, Seq(2 + round));
        assert!(!armed.load(Ordering::SeqCst), "the answer was lost");
    }
    assert_eq!(texts(&mut open(&direct)).len(), 6);
}

#[test]
fn a_fail_over_to_a_synchronous_standby_loses_nothing_that_was_acknowledged() {
    let primary = Cluster::start(&[]);
    let standby = Cluster::following(&primary);
    psql(&primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    psql(&primary.url, "SELECT pg_reload_conf()");
    let first = empty_store_at(&primary.url);
    let hosts = format!("host={},{}", primary.path(), standby.path());
    let url = first.replace(&format!("host={}", primary.path()), &hosts);
    let url = format!("{url}&target_session_attrs=read-write");
    note(&mut open(&url), "first").unwrap();
    let mut recovered = None;
    let acknowledged = write_until(&url, 4, || {
        std::thread::sleep(Duration::from_millis(1_000));
        let start = Instant::now();
        cluster(&["stop", primary.path(), "immediate"]);
        cluster(&["promote", standby.path()]);
        let mut store = open(&url);
        note(&mut store, "after").unwrap();
        recovered = Some(start.elapsed());
        std::thread::sleep(Duration::from_millis(1_000));
    });
    println!("{} acknowledged; written again after {recovered:?}", acknowledged.len());
    assert!(recovered.is_some_and(|time| time < Duration::from_secs(15)), "{recovered:?}");
    assert!(acknowledged.len() > 20, "only {}", acknowledged.len());
    let there = first.replace(primary.path(), standby.path());
    assert_kept(&there, &acknowledged);
}

#[test]
fn the_role_of_the_documentation_can_work_and_cannot_rewrite_the_log() {
    let server = Cluster::start(&["fsync=off"]);
    note(&mut open(&server.url), "by the owner").unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/run-on-postgresql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let script = page.split("```sql").nth(1).unwrap().split("```").next().unwrap();
    psql(&server.url, &script.replace('…', "pw"));
    let url = server.url.replace("comity@", "comity_agents@");
    let mut store = open(&url);
    assert_eq!(note(&mut store, "by an agent").unwrap(), Seq(2));
    assert_eq!(store.integrity().unwrap(), Vec::<String>::new());
    for rewrite in ["DELETE FROM events", "UPDATE events SET ts = 0", "DROP TABLE tasks"] {
        let tried =
            std::process::Command::new("psql").args([&url, "-c", rewrite]).output().unwrap();
        assert!(!tried.status.success(), "{rewrite}");
    }
    assert_eq!(texts(&mut store).len(), 2);
}

#[test]
fn signs_of_life_that_are_void_are_cleared_away_in_passing() {
    let url = empty_store();
    let clock = ManualClock::new();
    let options = OpenOptions { clock: Some(clock.clone()), ..OpenOptions::default() };
    let mut store = PgStore::open(&url, options, &|_| None).unwrap();
    for number in 0..400 {
        note(&mut store, &format!("{number}")).unwrap();
        clock.pass(Millis::from_secs(1));
    }
    let kept: usize = psql(&url, "SELECT count(*) FROM signs").parse().unwrap();
    assert!((1..200).contains(&kept), "{kept} of 400 are left");
}
