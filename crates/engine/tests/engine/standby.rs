//! A primary whose synchronous standby is away, and every way in which a COMMIT that waits for it is broken off: what
//! was answered is on the standby when it takes over, and no fence is given out twice.

use crate::support::{caller, claim, request, without_git};
use comity_api::{Nothing, op};
use comity_core::command::{Command, NewTask, Request};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Service;
use comity_store::postgres::{OpenOptions, PgStore};
use comity_store::test_server::{Cluster, cluster, empty_store_at, psql};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long commits of these tests wait for a standby.
const SHORT: Duration = Duration::from_millis(1_000);
const LONG: Duration = Duration::from_secs(20);
/// Commands of each worker.
const COMMANDS: usize = 60;
const SOCKET: &str = ".s.PGSQL.5432";

#[derive(Clone, Copy, Debug)]
enum Way {
    Cancel,
    Terminate,
    Kill,
    Restart,
    Cut,
}

const WAYS: [Way; 5] = [Way::Cancel, Way::Terminate, Way::Kill, Way::Restart, Way::Cut];

/// Stands between client and server; all connections through it can be cut at once.
struct Wire {
    dir: tempfile::TempDir,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Wire {
    fn to(server: &Cluster) -> Wire {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let (open, real) = (Arc::new(Mutex::new(Vec::new())), PathBuf::from(server.path()));
        let kept = open.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // A server that does not run hangs up.
                let Ok(server) = UnixStream::connect(real.join(SOCKET)) else { continue };
                for stream in [&client, &server] {
                    kept.lock().unwrap().push(stream.try_clone().unwrap());
                }
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pump(from, to));
                std::thread::spawn(move || pump(server, client));
            }
        });
        Wire { dir, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn pump(mut from: UnixStream, mut to: UnixStream) {
    let mut buffer = [0; 65_536];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// The first server, with its store.
struct Primary {
    server: Cluster,
    store: String,
    wire: Wire,
}

impl Primary {
    fn start() -> Primary {
        let server = Cluster::start(&["fsync=off", "synchronous_standby_names=*"]);
        psql(&server.url, "ALTER SYSTEM SET synchronous_standby_names = ''");
        psql(&server.url, "SELECT pg_reload_conf()");
        let store = empty_store_at(&server.url);
        drop(open(&store, LONG));
        let wire = Wire::to(&server);
        Primary { server, store, wire }
    }

    /// Makes a standby that commits wait for from now on.
    fn standby(&self) -> Cluster {
        let standby = Cluster::following(&self.server);
        psql(&self.server.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
        psql(&self.server.url, "SELECT pg_reload_conf()");
        let ready = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait_for("the standby", || psql(&self.server.url, ready) == "1");
        standby
    }

    /// Opens the store as clients see it, whose connections can be cut.
    fn service(&self, confirm_wait: Duration) -> Service {
        let wire = self.wire.dir.path().to_str().unwrap();
        open(&self.store.replace(self.server.path(), wire), confirm_wait)
    }

    /// Ends the wait of every COMMIT; tells whether there was one.
    fn break_waits(&self, way: Way) -> bool {
        let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        let pids = psql(&self.server.url, &format!("SELECT pid {waiting}"));
        if pids.is_empty() {
            return false;
        }
        match way {
            Way::Cancel => {
                psql(&self.server.url, &format!("SELECT count(pg_cancel_backend(pid)) {waiting}"));
            }
            Way::Terminate => {
                let end = format!("SELECT count(pg_terminate_backend(pid)) {waiting}");
                psql(&self.server.url, &end);
            }
            Way::Kill => {
                let pid = pids.lines().next().unwrap();
                assert!(Process::new("kill").args(["-9", pid]).status().unwrap().success());
                wait_for("the server", || runs(&self.server.url));
            }
            Way::Restart => {
                cluster(&["stop", self.server.path(), "fast"]);
                cluster(&["start", self.server.path()]);
            }
            Way::Cut => self.wire.cut(),
        }
        true
    }
}

fn runs(url: &str) -> bool {
    let asked = Process::new("psql").args([url, "-XAtqc", "SELECT 1"]).output().unwrap();
    asked.status.success()
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < LONG, "{what} does not come");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn open(url: &str, confirm_wait: Duration) -> Service {
    let options = OpenOptions { confirm_wait, ..OpenOptions::default() };
    let store = PgStore::open(url, options, &|_| None).unwrap();
    Service::inline(Box::new(store), without_git()).unwrap()
}

fn create(service: &Service, title: &str) -> Value {
    let new = NewTask { title: title.to_owned(), ..NewTask::default() };
    execute(service, request("human:ann", Command::CreateTask(Box::new(new)))).unwrap()
}

fn execute(service: &Service, request: Request) -> Result<Value, Refusal> {
    service.execute(request)?.into_json()
}

fn keyed(agent: &str, id: &str, key: Option<String>) -> Request {
    Request { key, ..request(agent, claim(id)) }
}

/// Sends a command while somebody breaks the wait of its COMMIT, again and again where that is quick.
fn disturbed(
    primary: &Primary,
    way: Way,
    service: &Service,
    sent: Request,
) -> Result<Value, Refusal> {
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || execute(service, sent));
        wait_for("a commit that waits", || primary.break_waits(way) || answer.is_finished());
        while !answer.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
            if matches!(way, Way::Cancel | Way::Terminate | Way::Cut) {
                primary.break_waits(way);
            }
        }
        answer.join().unwrap()
    })
}

/// Rounds of one test; ten times as many in the long form.
fn rounds(short: usize) -> usize {
    if std::env::var_os("COMITY_LONG").is_some() { short * 10 } else { short }
}

/// What was answered: the fence of each task.
type Answered = BTreeMap<u64, String>;

fn note_answer(answered: &mut Answered, answer: &Value) {
    let task = answer["task"]["id"].as_str().unwrap().to_owned();
    let other = answered.insert(answer["fence"].as_u64().unwrap(), task.clone());
    assert!(other.is_none_or(|other| other == task), "a fence was given out twice");
}

#[test]
fn rule_5_5_what_was_answered_while_the_standby_was_away_survives_its_promotion() {
    let primary = Primary::start();
    for round in 0..rounds(WAYS.len()) {
        let way = WAYS[round % WAYS.len()];
        one_round(&primary, way, round);
        println!("round {round}: {way:?}");
    }
}

fn one_round(primary: &Primary, way: Way, round: usize) {
    let standby = primary.standby();
    let service = primary.service(SHORT);
    let ids: Vec<String> = (0..4)
        .map(|number| create(&service, &format!("{round}.{number}")))
        .map(|answer| answer["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    let mut answered = Answered::new();
    note_answer(&mut answered, &execute(&service, keyed("ada", &ids[0], None)).unwrap());

    cluster(&["stop", standby.path(), "immediate"]);
    let mut keys = BTreeMap::new();
    for (agent, id, key) in [("bob", &ids[1], None), ("cy", &ids[2], Some(format!("k{round}")))] {
        let start = Instant::now();
        match disturbed(primary, way, &service, keyed(agent, id, key)) {
            Ok(answer) => note_answer(&mut answered, &answer),
            // Whoever could not even begin has done nothing.
            Err(refusal) if refusal.code == Code::StoreUnavailable => {}
            Err(refusal) => {
                assert_eq!(refusal.code, Code::Unconfirmed, "{way:?}: {refusal}");
                let key = refusal.details["idempotency_key"].as_str().unwrap().to_owned();
                keys.insert(id.clone(), (agent, key));
            }
        }
        assert!(start.elapsed() < LONG, "the wait is bounded");
    }
    // Whoever asks again with the key gets no answer from the primary alone either.
    for (id, (agent, key)) in &keys {
        match execute(&service, keyed(agent, id, Some(key.clone()))) {
            Ok(answer) => note_answer(&mut answered, &answer),
            // One who waits for the standby may still hold the store.
            Err(refusal) => {
                let is_no_answer =
                    [Code::Unconfirmed, Code::StoreUnavailable].contains(&refusal.code);
                assert!(is_no_answer, "{way:?}: {refusal}");
            }
        }
    }
    drop(service);

    cluster(&["stop", primary.server.path(), "immediate"]);
    cluster(&["start", standby.path()]);
    cluster(&["promote", standby.path()]);
    psql(&standby.url, "ALTER SYSTEM SET synchronous_standby_names = ''");
    psql(&standby.url, "SELECT pg_reload_conf()");
    let store = primary.store.replace(primary.server.path(), standby.path());
    let service = open(&store, LONG);
    for (fence, task) in &answered {
        let kept = format!("SELECT count(*) FROM events WHERE seq = {fence} AND task = '{task}'");
        assert_eq!(psql(&store, &kept), "1", "{way:?}: {task} under fence {fence} is lost");
    }
    for (id, (agent, key)) in &keys {
        note_answer(
            &mut answered,
            &execute(&service, keyed(agent, id, Some(key.clone()))).unwrap(),
        );
    }
    note_answer(&mut answered, &execute(&service, keyed("dee", &ids[3], None)).unwrap());
    assert!(service.verify().unwrap().ok);

    drop((service, standby));
    cluster(&["start", primary.server.path()]);
    psql(&primary.server.url, "ALTER SYSTEM SET synchronous_standby_names = ''");
    psql(&primary.server.url, "SELECT pg_reload_conf()");
}

#[test]
fn rule_5_5_a_command_whose_wait_was_broken_is_answered_when_the_standby_is_back_in_time() {
    let primary = Primary::start();
    let standby = primary.standby();
    let service = primary.service(LONG);
    let id = create(&service, "one")["task"]["id"].as_str().unwrap().to_owned();
    cluster(&["stop", standby.path(), "immediate"]);
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| execute(&service, keyed("ada", &id, None)));
        wait_for("a commit that waits", || primary.break_waits(Way::Cancel));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!answer.is_finished(), "the warning is no acknowledgement");
        cluster(&["start", standby.path()]);
        answer.join().unwrap().unwrap()
    });
    let there = primary.store.replace(primary.server.path(), standby.path());
    let fence = &answer["fence"];
    let kept = format!("SELECT count(*) FROM events WHERE seq = {fence} AND task = '{id}'");
    assert_eq!(psql(&there, &kept), "1");
}

#[test]
fn rule_5_5_a_server_without_standbys_saves_no_answer_that_nobody_asked_for() {
    let server = Cluster::start(&["fsync=off"]);
    let store = empty_store_at(&server.url);
    let service = open(&store, LONG);
    create(&service, "one");
    assert_eq!(psql(&store, "SELECT count(*) FROM idempotency"), "0");
}

/// Writes and reads as single commands do, each over a connection of its own; returns what failed.
fn work(url: &str, worker: usize) -> Vec<Refusal> {
    let options = OpenOptions::default;
    let one = |number: usize| {
        let store = PgStore::open(url, options(), &|_| None)?;
        let service = Service::inline(Box::new(store), without_git())?;
        let note = Command::Note {
            kind: "progress".to_owned(),
            text: format!("{worker}.{number}"),
            task: None,
        };
        execute(&service, request("ada", note))?;
        service.call::<op::Status>(&caller("ada"), Nothing {}).map(drop)
    };
    (0..COMMANDS).filter_map(|number| one(number).err()).collect()
}

#[test]
fn every_command_is_answered_while_server_processes_are_ended_all_the_time() {
    let server = Cluster::start(&["fsync=off"]);
    let store = empty_store_at(&server.url);
    create(&open(&store, LONG), "one");
    let done = AtomicBool::new(false);
    let (failed, ended) = std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE pid <> pg_backend_pid() AND application_name = 'comity'";
            let mut ended = 0;
            while !done.load(Ordering::SeqCst) {
                ended += psql(&server.url, end).parse::<usize>().unwrap();
                std::thread::sleep(Duration::from_millis(30));
            }
            ended
        });
        let store = &store;
        let workers: Vec<_> =
            (0..3).map(|worker| scope.spawn(move || work(store, worker))).collect();
        let failed: Vec<Refusal> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        done.store(true, Ordering::SeqCst);
        (failed, ending.join().unwrap())
    });
    println!("{ended} server processes ended; {} commands failed", failed.len());
    assert!(ended > 10, "only {ended} server processes were ended");
    assert_eq!(failed, []);
    let notes = "SELECT count(*), count(DISTINCT body) FROM events WHERE event = 'note'";
    let wanted = 3 * COMMANDS;
    assert_eq!(psql(&store, notes), format!("{wanted}|{wanted}"), "each is stored once");
}
