//! Commands that go through an observer: looked at, decided, and told how it ended.

use crate::support::{World, claim, request, start, submit};
use comity_core::command::{Command, FileAction};
use comity_core::ids::AgentId;
use comity_core::observed::{ClaimSeen, FileChange, Observed, RulesSeen, WorkSeen};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_engine::{Answered, Look, Observer, Reply, Seen, Service, Settings};
use comity_store::memory::MemoryStore;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sees one changed file, and writes down how commands ended.
#[derive(Default)]
struct Eyes {
    looks: AtomicUsize,
    /// How often the version that was looked at is an old one.
    late: usize,
    ended: Mutex<Vec<&'static str>>,
}

impl Observer for Eyes {
    fn observe(&self, look: &Look<'_>) -> Result<Seen, Refusal> {
        let looks = self.looks.fetch_add(1, Ordering::SeqCst);
        let work = look.task.filter(|_| look.wanted.work.is_some()).map(|task| WorkSeen {
            task_version: task.version - u64::from(looks < self.late),
            commit: "c0ffee1".to_owned(),
            base: "b45e".to_owned(),
            files: vec![FileChange {
                path: "a.rs".to_owned(),
                action: FileAction::Created,
                moved_from: None,
            }],
            shared_with: look.beside.to_vec(),
            ..WorkSeen::default()
        });
        let claim = ClaimSeen { base: "b45e".to_owned(), head: None };
        let claim = look.wanted.claim.then_some(claim);
        let rules = look.wanted.rules.then_some(RulesSeen::NoneThere);
        let observed = Observed { claim, work, rules, ..Observed::default() };
        Ok(Seen { observed, remarks: vec!["looked".to_owned()] })
    }

    fn accepted(&self, _: &Look<'_>, _: &Observed, _: Option<&TaskView>) -> Vec<String> {
        self.ended.lock().unwrap().push("accepted");
        Vec::new()
    }

    fn refused(&self, _: &Look<'_>, _: &Observed) {
        self.ended.lock().unwrap().push("refused");
    }
}

/// A task with git that agent-1 has started.
fn begun() -> Service {
    let clock = std::sync::Arc::new(comity_store::SystemClock);
    let store = MemoryStore::new(clock);
    let engine = Service::inline(Box::new(store), Settings::default()).unwrap();
    for title in ["One", "Two"] {
        let new = comity_core::command::NewTask { title: title.to_owned(), ..Default::default() };
        engine.execute(request("human:ann", Command::CreateTask(Box::new(new)))).unwrap();
    }
    for (agent, id) in [("agent-1", "T1"), ("agent-2", "T2")] {
        let mut taken = request(agent, start(id));
        taken.workspace = Some("/trees/one".to_owned());
        engine.execute_seen(&taken, &Eyes::default()).unwrap();
    }
    engine
}

fn hands_in(engine: &Service, eyes: &Eyes) -> Result<Answered<Reply>, Refusal> {
    let mut request = request("agent-1", submit("T1", "HEAD"));
    request.workspace = Some("/trees/one".to_owned());
    engine.execute_seen(&request, eyes)
}

#[test]
fn what_was_seen_is_recorded_and_claims_beside_are_shown() {
    let (engine, eyes) = (begun(), Eyes::default());
    let Answered { output: answer, remarks } = hands_in(&engine, &eyes).unwrap();
    let answer = answer.into_json().unwrap();
    assert_eq!(answer["task"]["commit"], "c0ffee1");
    let shared = "note: the check is shared with T2 (agent-2): they have the same work tree";
    assert_eq!(remarks, ["looked", shared]);
    assert_eq!(answer["shared_with"][0]["agent"], "agent-2");
    assert_eq!(*eyes.ended.lock().unwrap(), ["accepted"]);
}

#[test]
fn a_task_that_changed_meanwhile_is_looked_at_once_more() {
    let eyes = Eyes { late: 1, ..Eyes::default() };
    hands_in(&begun(), &eyes).unwrap();
    assert_eq!(eyes.looks.load(Ordering::SeqCst), 2);
    assert_eq!(*eyes.ended.lock().unwrap(), ["refused", "accepted"]);
    let eyes = Eyes { late: 9, ..Eyes::default() };
    let refusal = hands_in(&begun(), &eyes).unwrap_err();
    assert_eq!((refusal.code, eyes.looks.load(Ordering::SeqCst)), (Code::VersionMismatch, 2));
}

#[test]
fn without_an_observer_code_is_not_handed_in_and_other_commands_are_not_looked_at() {
    let engine = begun();
    let refusal = engine.execute(request("agent-1", submit("T1", "HEAD"))).unwrap_err();
    assert_eq!(refusal.code, Code::Unobserved);
    let eyes = Eyes::default();
    engine.execute_seen(&request("agent-1", Command::Heartbeat), &eyes).unwrap();
    assert_eq!(eyes.looks.load(Ordering::SeqCst), 0);
    let agent = AgentId::parse("agent-1").unwrap();
    let mut world = World::memory();
    let id = world.create("Free", |_| {});
    world.run(agent.as_str(), claim(&id));
    world.run(agent.as_str(), start(&id));
    world.run(agent.as_str(), submit(&id, "abc"));
    assert_eq!(world.status(&id), "review", "a project without git");
}
