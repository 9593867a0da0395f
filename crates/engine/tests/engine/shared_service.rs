//! One started service for many: few threads, nobody forgotten, nobody told twice.

use crate::support::{caller, request, tail, without_git};
use comity_api::{DecisionAnswer, LeasesAnswer};
use comity_core::command::{Command, LeaseChange, NewTask, Question};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::{Done, Reply, Service, Settings, Stop};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(120);
/// Places in the writer's queue.
const QUEUE: usize = 512;

fn open(path: &Path) -> Box<SqliteStore> {
    Box::new(SqliteStore::open(path, OpenOptions::default()).unwrap())
}

struct Place {
    dir: tempfile::TempDir,
    service: Service,
}

impl Place {
    fn started() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("comity.db"));
        let service = Service::start(store, without_git()).unwrap();
        Place { dir, service }
    }

    /// A second handle on the same file, as another process has it.
    fn other(&self) -> Service {
        Service::inline(open(&self.dir.path().join("comity.db")), Settings::default()).unwrap()
    }

    fn ask_questions(&self, count: usize) {
        let questions = (0..count).map(|n| request("agent-1", question(&format!("Number {n}?"))));
        let answers = self.service.execute_all(questions.collect());
        for (n, answer) in answers.into_iter().enumerate() {
            let made: DecisionAnswer = answer.unwrap().take().unwrap();
            assert_eq!(made.decision.id, format!("D{}", n + 1), "the answers come in order");
        }
    }

    fn assert_log_is_sound(&self) {
        let report = self.other().verify().unwrap();
        assert!(report.ok, "{report:?}");
    }
}

fn question(text: &str) -> Command {
    Command::DecisionAsk(Box::new(Question {
        question: text.to_owned(),
        task: None,
        options: Vec::new(),
        kind: None,
        context: None,
        default: None,
        to: None,
        expires: None,
        proposes: None,
    }))
}

fn answer(n: usize) -> Command {
    Command::DecisionAnswer { id: format!("D{n}"), answer: format!("answer {n}") }
}

fn note(text: &str) -> Command {
    Command::Note { kind: "progress".to_owned(), text: text.to_owned(), task: None }
}

fn create(title: &str) -> Command {
    Command::CreateTask(Box::new(NewTask { title: title.to_owned(), ..NewTask::default() }))
}

fn acquire(path: &str) -> Command {
    let patterns = vec![path.to_owned()];
    let (task, purpose, ttl) = (None, None, None);
    Command::Lease(LeaseChange::Acquire { patterns, task, purpose, ttl, shared: false })
}

fn release_all() -> Command {
    Command::Lease(LeaseChange::Release { ids: Vec::new(), all: true })
}

/// Says to a process of these tests that it runs one test alone.
const ALONE: &str = "COMITY_TEST_ALONE";

/// Tells whether a test has this process to itself, so that its threads can be counted. Where it has not, the test is run
/// again in a process of its own, and this one leaves it at that.
fn is_alone(test: &str) -> bool {
    if std::env::var_os("NEXTEST").is_some() || std::env::var_os(ALONE).is_some() {
        return true;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test itself, in a process of its own")]
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args([&format!("{module}::{test}"), "--exact"]).env(ALONE, "1");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn wait_for_threads(expected: usize) {
    let start = Instant::now();
    while threads() != expected {
        assert!(start.elapsed() < LONG, "{} threads instead of {expected}", threads());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A callback that sends what it is given.
fn tell(told: &Sender<Result<Reply, Refusal>>) -> Done {
    let told = told.clone();
    Box::new(move |outcome| drop(told.send(outcome)))
}

/// One writer: its next command is queued when the last one is answered, without a thread.
fn write_on(service: &Service, mut left: Vec<usize>, done: Sender<()>) {
    let Some(next) = left.pop() else { return done.send(()).unwrap() };
    let own = service.clone();
    let then: Done = Box::new(move |outcome| {
        outcome.unwrap();
        write_on(&own, left, done);
    });
    service.submit(request("human:ann", answer(next)), then);
}

/// One who waits for the lease that all want, and gives it back at once.
fn take_in_turn(service: &Service, n: usize, told: &Sender<(usize, Result<Reply, Refusal>)>) {
    let (own, told) = (service.clone(), told.clone());
    let actor = format!("taker-{n}");
    let then: Done = Box::new(move |outcome| {
        let actor = format!("taker-{n}");
        own.submit(request(&actor, release_all()), Box::new(drop));
        drop(told.send((n, outcome)));
    });
    let wanted = request(&actor, acquire("src/"));
    service.submit_waiting(wanted, None, Millis::from_secs(100), then).unwrap();
}

type Seen = Arc<Mutex<Vec<u64>>>;

fn follow(service: &Service, after: u64) -> (u64, Seen) {
    let seen = Seen::default();
    let kept = seen.clone();
    let sink = move |event: &comity_api::EventView| {
        kept.lock().unwrap().push(event.seq);
        true
    };
    tail(service, after + 1, &Stop::default(), sink).unwrap();
    (after, seen)
}

#[test]
fn sixty_four_writers_and_a_thousand_waiters() {
    const WAITERS: usize = 1_000;
    const WRITERS: usize = 64;
    const TAKERS: usize = 16;
    if !is_alone("sixty_four_writers_and_a_thousand_waiters") {
        return;
    }
    let before = threads();
    let place = Place::started();
    let service = &place.service;
    place.ask_questions(WAITERS);
    service.execute(request("holder", acquire("src/"))).unwrap();
    let head = service
        .call::<comity_api::op::LogHead>(&caller("agent-1"), comity_api::Nothing {})
        .unwrap()
        .seq;
    let mut sinks: Vec<_> = (0..8).map(|_| follow(service, 0)).collect();
    let (told, answers) = channel();
    for n in 1..=WAITERS {
        let told = told.clone();
        let done = Box::new(move |outcome| drop(told.send((n, outcome))));
        service.when_settled(&caller("agent-1"), &format!("D{n}"), None, done).unwrap();
    }
    let (taken, leases) = channel();
    (0..TAKERS).for_each(|n| take_in_turn(service, n, &taken));
    let (finished, writers) = channel();
    for writer in 0..WRITERS {
        let own = (1..=WAITERS).filter(|n| n % WRITERS == writer).collect();
        write_on(service, own, finished.clone());
        if writer % 8 == 0 {
            sinks.push(follow(service, head));
        }
    }
    service.execute(request("holder", release_all())).unwrap();
    let during = threads();
    assert!(during <= before + 3, "{during} threads, {before} before");
    (0..WRITERS).for_each(|_| writers.recv_timeout(LONG).unwrap());
    let mut woken = vec![0; WAITERS + 1];
    for _ in 0..WAITERS {
        let (n, outcome): (usize, Result<DecisionAnswer, Refusal>) =
            answers.recv_timeout(LONG).unwrap();
        assert_eq!(outcome.unwrap().decision.answer, Some(format!("answer {n}")));
        woken[n] += 1;
    }
    assert!(woken[1..].iter().all(|times| *times == 1), "{woken:?}");
    let mut served: Vec<usize> = (0..TAKERS).map(|_| one_taker(&leases)).collect();
    served.sort_unstable();
    assert_eq!(served, (0..TAKERS).collect::<Vec<_>>());
    // The last taker gives its lease back, which is the last event.
    let end = all_released(service);
    for (after, seen) in sinks {
        let start = Instant::now();
        while seen.lock().unwrap().last() != Some(&end) {
            assert!(start.elapsed() < LONG, "{:?} is not {end}", seen.lock().unwrap().last());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(*seen.lock().unwrap(), (after + 1..=end).collect::<Vec<_>>());
    }
    service.stop();
    assert!(answers.try_recv().is_err() && leases.try_recv().is_err(), "nobody is told twice");
    wait_for_threads(before);
    place.assert_log_is_sound();
}

fn one_taker(leases: &Receiver<(usize, Result<Reply, Refusal>)>) -> usize {
    let (n, outcome) = leases.recv_timeout(LONG).unwrap();
    let taken: LeasesAnswer = outcome.unwrap().take().unwrap();
    assert_eq!(taken.leases[0].owner, format!("taker-{n}"));
    n
}

/// Waits until no lease is left; returns the end of the log.
fn all_released(service: &Service) -> u64 {
    use comity_api::{LeaseFilter, Nothing, op};
    let start = Instant::now();
    loop {
        let left = service.call::<op::LeaseList>(&caller("agent-1"), LeaseFilter::default());
        if left.unwrap().leases.is_empty() {
            return service.call::<op::LogHead>(&caller("agent-1"), Nothing {}).unwrap().seq;
        }
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Holds the writer up in a callback until the other end is dropped.
fn hold_up(service: &Service) -> Sender<()> {
    let (release, held) = channel::<()>();
    let (begun, begins) = channel();
    let stay: Done = Box::new(move |_| {
        begun.send(()).unwrap();
        assert!(held.recv().is_err());
    });
    service.submit(request("agent-1", note("hold")), stay);
    begins.recv_timeout(LONG).unwrap();
    release
}

#[test]
fn a_full_queue_refuses_at_once_and_loses_nothing_that_it_took() {
    let place = Place::started();
    let held = hold_up(&place.service);
    let (told, answers) = channel();
    for n in 0..QUEUE {
        place.service.submit(request("agent-1", create(&format!("taken {n}"))), tell(&told));
    }
    assert!(answers.try_recv().is_err(), "nothing is answered before it is written");
    for n in 0..100 {
        place.service.submit(request("agent-1", create(&format!("refused {n}"))), tell(&told));
        let refusal = answers.try_recv().expect("at once").unwrap_err();
        assert_eq!(refusal.code, Code::StoreUnavailable);
        assert_eq!(refusal.details["queue"], QUEUE);
    }
    // One who waits has time: a full queue is no reason to give up.
    let (taken, lease) = channel();
    let wanted = request("agent-2", acquire("src/"));
    place.service.submit_waiting(wanted, None, Millis::from_secs(100), tell(&taken)).unwrap();
    drop(held);
    for _ in 0..QUEUE {
        answers.recv_timeout(LONG).unwrap().unwrap();
    }
    lease.recv_timeout(LONG).unwrap().unwrap();
    place.service.stop();
    assert!(answers.try_recv().is_err());
    let filter = comity_api::TaskFilter { limit: Some(1), ..Default::default() };
    let other = place.other();
    let page = other.call::<comity_api::op::TaskList>(&caller("agent-1"), filter).unwrap();
    assert_eq!(page.tasks[0].title, "taken 0");
    let status = other.call::<comity_api::op::Status>(&caller("agent-1"), Default::default());
    let queued = status.unwrap().counts.of(comity_core::status::Status::Queued);
    assert_eq!(queued, i64::try_from(QUEUE).unwrap());
    place.assert_log_is_sound();
}

#[test]
fn stop_finishes_what_is_queued_tells_who_waits_and_ends_the_threads() {
    if !is_alone("stop_finishes_what_is_queued_tells_who_waits_and_ends_the_threads") {
        return;
    }
    let before = threads();
    let place = Place::started();
    let service = place.service.clone();
    place.ask_questions(100);
    service.execute(request("holder", acquire("src/"))).unwrap();
    let (told, waiters) = channel();
    for n in 1..=100 {
        let told = told.clone();
        let done = Box::new(move |outcome| drop(told.send((n, outcome))));
        service.when_settled(&caller("agent-1"), &format!("D{n}"), None, done).unwrap();
    }
    let (taken, lease) = channel();
    let wanted = request("agent-2", acquire("src/"));
    service.submit_waiting(wanted, None, Millis::from_secs(100), tell(&taken)).unwrap();
    let (events, followed) = channel();
    let sink = move |event: &comity_api::EventView| events.send(event.seq).is_ok();
    tail(&service, 1, &Stop::default(), sink).unwrap();
    let held = hold_up(&service);
    let (written, answers) = channel();
    (0..200).for_each(|n| service.submit(request("agent-1", note(&n.to_string())), tell(&written)));
    let stopping = service.clone();
    let stop = std::thread::spawn(move || stopping.stop());
    drop(held);
    stop.join().unwrap();
    wait_for_threads(before);
    for _ in 0..200 {
        answers.try_recv().expect("answered before stop returns").unwrap();
    }
    let mut told: Vec<i32> = Vec::new();
    while let Ok((n, outcome)) = waiters.try_recv() {
        let refusal: Refusal = Result::<DecisionAnswer, _>::unwrap_err(outcome);
        assert_eq!(refusal.code, Code::StoreUnavailable);
        told.push(n);
    }
    told.sort_unstable();
    assert_eq!(told, (1..=100).collect::<Vec<_>>());
    assert_eq!(lease.try_recv().unwrap().unwrap_err().code, Code::StoreUnavailable);
    while followed.try_recv().is_ok() {}
    let ended = followed.recv_timeout(Duration::ZERO).unwrap_err();
    assert_eq!(ended, RecvTimeoutError::Disconnected, "the sink is let go");
    // What comes later is refused, and nothing hangs.
    service.stop();
    let late = service.execute(request("agent-1", note("late"))).unwrap_err();
    assert_eq!(late.code, Code::StoreUnavailable);
    service.submit(request("agent-1", note("late")), tell(&written));
    assert_eq!(answers.try_recv().unwrap().unwrap_err().code, Code::StoreUnavailable);
    let late = service.wait_for_decision(&caller("agent-1"), "D1", None).unwrap_err();
    assert_eq!(late.code, Code::StoreUnavailable);
    assert!(tail(&service, 1, &Stop::default(), |_| true).is_err());
    place.assert_log_is_sound();
}

#[test]
fn a_callback_may_stop_the_service_or_drop_the_last_of_it() {
    if !is_alone("a_callback_may_stop_the_service_or_drop_the_last_of_it") {
        return;
    }
    let before = threads();
    // A small batch is answered by the writer itself, a large one by the waker, a wait by the hub.
    for batch in [1, 100] {
        for drops in [false, true] {
            let Place { dir, service } = Place::started();
            let (told, answers) = channel();
            let held = hold_up(&service);
            for n in 1..batch {
                service.submit(request("agent-1", note(&n.to_string())), tell(&told));
            }
            let own = service.clone();
            let last: Done = Box::new(move |_| if drops { drop(own) } else { own.stop() });
            service.submit(request("agent-1", note("last")), last);
            if drops {
                drop(service);
            }
            drop(held);
            (1..batch).for_each(|_| drop(answers.recv_timeout(LONG).unwrap().unwrap()));
            wait_for_threads(before);
            drop(dir);
        }
    }
    let Place { dir, service } = Place::started();
    service.execute(request("agent-1", question("Which?"))).unwrap();
    let (own, (told, woken)) = (service.clone(), channel());
    let done = Box::new(move |outcome: Result<DecisionAnswer, Refusal>| {
        own.stop();
        drop(own);
        drop(told.send(outcome));
    });
    service.when_settled(&caller("agent-1"), "D1", None, done).unwrap();
    service.submit(request("human:ann", answer(1)), Box::new(drop));
    drop(service);
    woken.recv_timeout(LONG).unwrap().unwrap();
    wait_for_threads(before);
    drop(dir);
}

#[test]
fn who_waits_does_not_keep_the_service_alive_and_is_told_when_it_ends() {
    if !is_alone("who_waits_does_not_keep_the_service_alive_and_is_told_when_it_ends") {
        return;
    }
    let before = threads();
    let Place { dir, service } = Place::started();
    service.execute(request("agent-1", question("Which?"))).unwrap();
    service.execute(request("holder", acquire("src/"))).unwrap();
    let (told, woken) = channel();
    let done = Box::new(move |outcome| drop(told.send(outcome)));
    service.when_settled(&caller("agent-1"), "D1", None, done).unwrap();
    let (taken, lease) = channel();
    let wanted = request("agent-2", acquire("src/"));
    service.submit_waiting(wanted, None, Millis::from_secs(100), tell(&taken)).unwrap();
    drop(service);
    let outcome: Result<DecisionAnswer, Refusal> = woken.recv_timeout(LONG).unwrap();
    assert_eq!(outcome.unwrap_err().code, Code::StoreUnavailable);
    let outcome = lease.recv_timeout(LONG).unwrap();
    assert_eq!(outcome.unwrap_err().code, Code::StoreUnavailable);
    wait_for_threads(before);
    drop(dir);
}

#[test]
fn a_callback_that_panics_or_waits_for_the_service_harms_nobody() {
    let place = Place::started();
    let service = &place.service;
    service.execute(request("agent-1", question("Which?"))).unwrap();
    service.submit(request("agent-1", note("one")), Box::new(|_| panic!("meant")));
    let sink = |_: &comity_api::EventView| panic!("meant");
    tail(service, u64::MAX, &Stop::default(), sink).unwrap();
    let done = Box::new(|_| panic!("meant"));
    service.when_settled(&caller("agent-1"), "D1", None, done).unwrap();
    let (told, answers) = channel();
    let own = service.clone();
    let waits: Done = Box::new(move |_| {
        let refusal = own.execute(request("agent-1", note("inside"))).unwrap_err();
        let other = own.wait_for_decision(&caller("agent-1"), "D1", None).unwrap_err();
        told.send([refusal.code, other.code]).unwrap();
    });
    service.submit(request("agent-1", note("two")), waits);
    assert_eq!(answers.recv_timeout(LONG).unwrap(), [Code::Internal; 2]);
    service.execute(request("human:ann", answer(1))).unwrap();
    service.wait_for_decision(&caller("agent-1"), "D1", None).unwrap();
    service.execute(request("agent-1", note("three"))).unwrap();
}

#[test]
fn a_stream_that_is_told_to_stop_lets_its_sink_go() {
    let place = Place::started();
    let stop = Stop::default();
    let (told, seen) = channel();
    let sink = move |event: &comity_api::EventView| told.send(event.seq).is_ok();
    tail(&place.service, 1, &stop, sink).unwrap();
    place.service.execute(request("agent-1", note("one"))).unwrap();
    assert_eq!(seen.recv_timeout(LONG).unwrap(), 1);
    assert_eq!(seen.recv_timeout(LONG).unwrap(), 2);
    stop.stop();
    let ended = seen.recv_timeout(LONG).unwrap_err();
    assert_eq!(ended, RecvTimeoutError::Disconnected, "without another commit");
}

#[test]
fn a_sink_may_call_the_service() {
    let place = Place::started();
    place.ask_questions(1);
    let (own, (told, seen)) = (place.service.clone(), channel());
    let sink = move |event: &comity_api::EventView| {
        if event.event == "note" {
            own.when_settled(&caller("agent-1"), "D1", None, Box::new(drop)).unwrap();
            own.submit(request("agent-1", create("from a sink")), Box::new(drop));
        }
        told.send(event.event.clone()).is_ok()
    };
    tail(&place.service, 3, &Stop::default(), sink).unwrap();
    place.service.execute(request("agent-1", note("go"))).unwrap();
    assert_eq!(seen.recv_timeout(LONG).unwrap(), "note");
    assert_eq!(seen.recv_timeout(LONG).unwrap(), "task_created");
}

#[test]
fn a_commit_of_another_handle_wakes_a_waiter() {
    let place = Place::started();
    place.ask_questions(1);
    let (told, woken) = channel();
    let done = Box::new(move |outcome| drop(told.send(outcome)));
    place.service.when_settled(&caller("agent-1"), "D1", None, done).unwrap();
    let (events, followed) = channel();
    let sink = move |event: &comity_api::EventView| events.send(event.event.clone()).is_ok();
    tail(&place.service, 3, &Stop::default(), sink).unwrap();
    place.other().execute(request("human:ann", answer(1))).unwrap();
    let outcome: Result<DecisionAnswer, Refusal> =
        woken.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(outcome.unwrap().decision.answer.as_deref(), Some("answer 1"));
    assert_eq!(followed.recv_timeout(LONG).unwrap(), "agent_registered");
    assert_eq!(followed.recv_timeout(LONG).unwrap(), "decision_answered");
}

#[test]
fn what_cannot_be_committed_is_refused_and_the_writer_goes_on() {
    let place = Place::started();
    let db = rusqlite::Connection::open(place.dir.path().join("comity.db")).unwrap();
    place.ask_questions(1);
    let broken =
        "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'broken'); END";
    db.execute_batch(broken).unwrap();
    let requests = |text: &str| (0..20).map(|_| request("agent-1", note(text))).collect();
    for answer in place.service.execute_all(requests("lost")) {
        assert_eq!(answer.unwrap_err().code, Code::StoreUnavailable);
    }
    db.execute_batch("DROP TRIGGER broken").unwrap();
    assert!(place.service.execute_all(requests("kept")).iter().all(Result::is_ok));
    place.service.stop();
    assert_eq!(place.other().verify().unwrap().events, 22);
    place.assert_log_is_sound();
}

#[test]
fn an_inline_service_starts_no_thread() {
    if !is_alone("an_inline_service_starts_no_thread") {
        return;
    }
    let before = threads();
    let dir = tempfile::tempdir().unwrap();
    let service = Service::inline(open(&dir.path().join("c.db")), Settings::default()).unwrap();
    service.execute(request("agent-1", question("Which?"))).unwrap();
    let (told, answers) = channel();
    service.submit(request("agent-1", note("one")), tell(&told));
    answers.try_recv().expect("done before it returns").unwrap();
    let many = (0..300).map(|n| request("agent-1", note(&n.to_string()))).collect();
    assert!(service.execute_all(many).iter().all(Result::is_ok));
    let during = threads();
    service.wait_for_decision(&caller("agent-1"), "D1", Millis::parse("1s")).unwrap_err();
    assert_eq!((during, threads()), (before, before));
    assert_eq!(service.verify().unwrap().events, 303);
}

#[test]
fn five_hundred_waiting_claims_hold_no_threads_and_each_gets_one_task_once() {
    const CLAIMS: usize = 500;
    if !is_alone("five_hundred_waiting_claims_hold_no_threads_and_each_gets_one_task_once") {
        return;
    }
    let before = threads();
    let place = Place::started();
    let service = &place.service;
    let none = comity_core::task::Deliverable::None;
    let first = NewTask { title: "first".to_owned(), deliverable: none, ..NewTask::default() };
    service.execute(request("human:ann", Command::CreateTask(Box::new(first)))).unwrap();
    for n in 0..CLAIMS {
        let new = NewTask {
            title: format!("task {n}"),
            depends_on: vec!["T1".to_owned()],
            ..NewTask::default()
        };
        service.execute(request("human:ann", Command::CreateTask(Box::new(new)))).unwrap();
    }
    let mine = |command| service.execute(request("holder", command)).unwrap();
    mine(Command::Start { id: "T1".to_owned(), ttl: None, reason: None });
    let (told, claimed) = channel();
    for n in 0..CLAIMS {
        let told = told.clone();
        let done = Box::new(move |outcome: Result<comity_engine::Answered<Reply>, Refusal>| {
            drop(told.send(outcome));
        });
        let wish = comity_core::command::ClaimWish::default();
        let patience = Millis::from_secs(300);
        service.claim_later(&caller(&format!("waiter-{n}")), &wish, patience, done).unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    assert!(claimed.try_recv().is_err(), "nothing is ready yet");
    let now = threads();
    assert!(now <= before + 5, "{now} threads, {before} before");
    let submit = comity_core::command::Submission { id: "T1".to_owned(), ..Default::default() };
    mine(Command::Submit(submit));
    let ann = |command| service.execute(request("human:ann", command)).unwrap();
    ann(comity_core::command::TaskVerb::Approve.on("T1", None));
    ann(Command::Done { id: "T1".to_owned(), merged: None, unmerged: false, reason: None });
    let mut ids: Vec<String> = (0..CLAIMS)
        .map(|_| {
            let answered = claimed.recv_timeout(LONG).unwrap().unwrap();
            answered.output.take::<comity_api::ClaimAnswer>().unwrap().task.id
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), CLAIMS, "each has another task");
    drop(told);
    assert!(claimed.recv_timeout(LONG).is_err(), "nobody is told twice");
    place.assert_log_is_sound();
}
