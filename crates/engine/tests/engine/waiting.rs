//! Whoever waits wakes at once when another handle on the store commits.

use crate::support::{caller, request, tail};
use comity_api::{ClaimAnswer, LeaseFilter, LeasesAnswer, op};
use comity_core::command::{ClaimWish, Command, LeaseChange, NewTask, Question, TaskVerb};
use comity_core::ids::Fence;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::{Caller, Service, Settings, Stop};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use std::path::Path;
use std::time::{Duration, Instant};

fn open(path: &Path) -> Service {
    let store = SqliteStore::open(path, OpenOptions::default()).unwrap();
    Service::inline(Box::new(store), Settings::default()).unwrap()
}

fn question() -> Command {
    Command::DecisionAsk(Box::new(Question {
        question: "Which?".to_owned(),
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

fn acquire() -> Command {
    Command::Lease(LeaseChange::Acquire {
        patterns: vec!["src/".to_owned()],
        task: None,
        purpose: None,
        ttl: None,
        shared: false,
    })
}

#[test]
fn rule_6_3_an_answer_wakes_the_waiter_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    engine.execute(request("agent-1", question())).unwrap();
    let other = path;
    let waiter = std::thread::spawn(move || {
        let engine = open(&other);
        let answer = engine.wait_for_decision(&caller("agent-1"), "D1", Millis::parse("30s"));
        (answer, Instant::now())
    });
    std::thread::sleep(Duration::from_millis(300));
    let answer = Command::DecisionAnswer { id: "D1".to_owned(), answer: "this".to_owned() };
    engine.execute(request("human:ann", answer)).unwrap();
    let answered = Instant::now();
    let (answer, woken) = waiter.join().unwrap();
    assert_eq!(answer.unwrap().decision.answer.as_deref(), Some("this"));
    // Without the wake file it would be the half second of the safety look.
    assert!(woken.saturating_duration_since(answered) < Duration::from_millis(400));
}

#[test]
fn rule_6_3_a_waiter_whose_time_is_up_gets_exit_six_and_the_question_stays_open() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(&dir.path().join("comity.db"));
    engine.execute(request("agent-1", question())).unwrap();
    let refusal =
        engine.wait_for_decision(&caller("agent-1"), "D1", Millis::parse("1s")).unwrap_err();
    assert_eq!(refusal.code, Code::TimedOut);
    assert_eq!(refusal.code.exit_status(), 6);
    assert_eq!(refusal.details["decision"]["state"], "open");
}

#[test]
fn rule_4_3_a_wait_for_a_lease_ends_when_it_is_released_or_when_the_time_is_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    engine.execute(request("agent-1", acquire())).unwrap();
    let refusal = engine
        .execute_waiting(&request("agent-2", acquire()), None, Millis::from_secs(1))
        .unwrap_err();
    assert_eq!(refusal.code, Code::TimedOut);
    assert_eq!(refusal.details["conflicts"][0]["held"]["owner"], "agent-1");
    let waiter = std::thread::spawn(move || {
        open(&path).execute_waiting(&request("agent-2", acquire()), None, Millis::from_secs(30))
    });
    std::thread::sleep(Duration::from_millis(300));
    let release = Command::Lease(LeaseChange::Release { ids: vec!["L1".to_owned()], all: false });
    engine.execute(request("agent-1", release)).unwrap();
    let taken: LeasesAnswer = waiter.join().unwrap().unwrap().take().unwrap();
    assert_eq!(taken.leases[0].owner, "agent-2");
}

#[test]
fn a_tail_sees_every_event_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    let other = path;
    let tail = std::thread::spawn(move || {
        let (told, seen) = std::sync::mpsc::channel();
        let sink = move |event: &comity_api::EventView| {
            told.send(event.seq).unwrap();
            event.seq < 41
        };
        tail(&open(&other), 1, &Stop::default(), sink).unwrap();
        seen.iter().collect::<Vec<u64>>()
    });
    for n in 0..40 {
        let text = format!("note {n}");
        let note = Command::Note { kind: "progress".to_owned(), text, task: None };
        engine.execute(request("agent-1", note)).unwrap();
    }
    assert_eq!(tail.join().unwrap(), (1..=41).collect::<Vec<u64>>());
}

#[test]
fn a_tail_that_nobody_writes_for_ends_when_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    drop(open(&path));
    let stop = Stop::default();
    let told = stop.clone();
    let tail = std::thread::spawn(move || tail(&open(&path), 1, &told, |_| true));
    std::thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    stop.stop();
    tail.join().unwrap().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10));
}

#[test]
fn rule_4_4_waiting_with_a_fence_keeps_only_that_grant_alive_and_goes_on_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(&dir.path().join("comity.db"));
    engine.execute(request("agent-1", question())).unwrap();
    let lease = |path: &str| {
        Command::Lease(LeaseChange::Acquire {
            patterns: vec![path.to_owned()],
            task: None,
            purpose: None,
            ttl: Millis::parse("1s"),
            shared: false,
        })
    };
    let kept: LeasesAnswer =
        engine.execute(request("agent-1", lease("a"))).unwrap().take().unwrap();
    engine.execute(request("agent-1", lease("b"))).unwrap();
    let fenced = Caller { fence: Fence::new(kept.leases[0].fence), ..caller("agent-1") };
    let waited = Millis::parse("2s");
    engine.wait_for_decision(&fenced, "D1", waited).unwrap_err();
    let left = engine.call::<op::LeaseList>(&caller("agent-1"), LeaseFilter::default()).unwrap();
    let paths: Vec<_> = left.leases.iter().map(|lease| lease.path.as_str()).collect();
    assert_eq!(paths, ["a"]);
    // A grant that has ended is no reason to stop waiting.
    let all = Command::Lease(LeaseChange::Release { ids: Vec::new(), all: true });
    engine.execute(request("agent-1", all)).unwrap();
    engine.execute(request("agent-1", lease("c"))).unwrap();
    let refusal = engine.wait_for_decision(&fenced, "D1", Millis::parse("1s")).unwrap_err();
    assert_eq!(refusal.code, Code::TimedOut);
}

fn new_task(title: &str) -> Command {
    Command::CreateTask(Box::new(NewTask { title: title.to_owned(), ..NewTask::default() }))
}

/// Waits for a task in a thread of its own; returns the claimed task or the refusal, and how long it took.
fn claims(
    path: &Path,
    actor: &'static str,
    wish: ClaimWish,
    patience: &'static str,
) -> std::thread::JoinHandle<(Result<ClaimAnswer, Refusal>, Duration)> {
    let path = path.to_owned();
    std::thread::spawn(move || {
        let (engine, begun) = (open(&path), Instant::now());
        let wait = Millis::parse(patience).unwrap();
        let claimed = engine.claim_waiting(&caller(actor), &wish, wait);
        (claimed.and_then(|answered| answered.output.take()), begun.elapsed())
    })
}

#[test]
fn rule_2_2_a_claim_waits_for_a_task_and_each_of_several_waiters_gets_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    let waiters = ["agent-1", "agent-2", "agent-3"]
        .map(|actor| claims(&path, actor, ClaimWish::default(), "30s"));
    std::thread::sleep(Duration::from_millis(300));
    for title in ["a", "b", "c"] {
        engine.execute(request("human:ann", new_task(title))).unwrap();
    }
    let mut ids: Vec<String> = waiters
        .into_iter()
        .map(|waiter| {
            let (claimed, took) = waiter.join().unwrap();
            assert!(took < Duration::from_secs(10), "{took:?}");
            claimed.unwrap().task.id
        })
        .collect();
    ids.sort();
    assert_eq!(ids, ["T1", "T2", "T3"]);
}

#[test]
fn rule_2_2_a_waiting_claim_is_woken_by_the_next_expiry() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    engine.execute(request("human:ann", new_task("a"))).unwrap();
    let short = ClaimWish { ttl: Millis::parse("2s"), ..ClaimWish::default() };
    engine.execute(request("agent-1", Command::Claim(short))).unwrap();
    let (claimed, took) = claims(&path, "agent-2", ClaimWish::default(), "30s").join().unwrap();
    assert_eq!(claimed.unwrap().task.id, "T1");
    assert!(took < Duration::from_millis(3_500), "{took:?}");
}

#[test]
fn rule_2_2_a_claim_that_waits_in_vain_says_why_and_a_finished_task_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let engine = open(&path);
    engine.execute(request("human:ann", new_task("a"))).unwrap();
    engine.execute(request("agent-1", Command::Claim(ClaimWish::default()))).unwrap();
    let (refused, _) = claims(&path, "agent-2", ClaimWish::default(), "1s").join().unwrap();
    let refusal = refused.unwrap_err();
    assert_eq!(refusal.code, Code::TimedOut, "{refusal}");
    assert!(refusal.details.contains_key("reasons"), "{:?}", refusal.details);
    engine.execute(request("human:ann", TaskVerb::Abandon.on("T1", None))).unwrap();
    let named = ClaimWish { id: Some("T1".to_owned()), ..ClaimWish::default() };
    let (refused, took) = claims(&path, "agent-2", named, "30s").join().unwrap();
    assert_eq!(refused.unwrap_err().code, Code::NotReady);
    assert!(took < Duration::from_secs(5), "{took:?}");
}
