//! Imports over a store that counts its transactions and may fail between two of them.

use super::carry;
use comity_core::command::{Command, Request};
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Refusal;
use comity_engine::{Engine, Query, Settings};
use comity_protocol::beads;
use comity_protocol::plan::Source;
use comity_store::memory::MemoryStore;
use comity_store::{ReadTx, Store, StoreError, SystemClock, Watch, WriteTx};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counted {
    inner: MemoryStore,
    writes: Arc<AtomicUsize>,
    /// How many transactions the disk has room for.
    room: usize,
}

impl Store for Counted {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        if self.writes.fetch_add(1, Ordering::SeqCst) >= self.room {
            return Err(StoreError::Full);
        }
        self.inner.write()
    }
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        self.inner.read()
    }
    fn watch(&self) -> Result<Box<dyn Watch>, StoreError> {
        self.inner.watch()
    }
    fn close(&mut self, reason: Option<&str>) -> Result<(), StoreError> {
        self.inner.close(reason)
    }
    fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        self.inner.integrity()
    }
    fn url(&self) -> String {
        self.inner.url()
    }
}

struct Try {
    answer: Result<Value, Refusal>,
    writes: usize,
    events: u64,
}

fn import(store: &MemoryStore, actor: &str, text: &str, room: usize) -> Try {
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = Counted { inner: store.clone(), writes: writes.clone(), room };
    let mut engine = Engine::new(Box::new(counted), Settings::default()).unwrap();
    let by = Request {
        actor: AgentId::parse(actor).unwrap(),
        repo: RepoName::parse("acme/app").unwrap(),
        fence: None,
        key: None,
        host: None,
        workspace: None,
        command: Command::Heartbeat,
    };
    let here = super::tasks(&mut engine, &super::asker(&by)).unwrap();
    let earlier = Source::new(beads::PROVIDER).unwrap().earlier(&here);
    let plan = beads::read(text, &earlier).unwrap();
    let answer = carry(&mut engine, by.clone(), beads::PROVIDER, &plan);
    let head = engine.query(&super::asker(&by), Query::Head).unwrap();
    let events = head["seq"].as_u64().unwrap_or_else(|| panic!("{head}"));
    Try { answer, writes: writes.load(Ordering::SeqCst), events }
}

fn store() -> MemoryStore {
    MemoryStore::new(Arc::new(SystemClock))
}

/// Issues in a chain, each with a comment and a reference; every third is closed, every fifth blocked.
fn issues(count: usize) -> String {
    let issue = |n: usize| {
        let status = match n {
            n if n % 3 == 0 => "closed",
            n if n % 5 == 0 => "blocked",
            _ => "open",
        };
        let on = n.saturating_sub(3);
        format!(
            "{{\"id\":\"i-{n}\",\"title\":\"issue {n}\",\"status\":\"{status}\",\"external_ref\":\"gh-{n}\",\
             \"comments\":[{{\"author\":\"ann\",\"text\":\"said {n}\"}}],\
             \"dependencies\":[{{\"depends_on_id\":\"i-{on}\"}}]}}\n"
        )
    };
    (0..count).map(issue).collect()
}

#[test]
fn two_thousand_items_take_a_few_transactions() {
    let store = store();
    let text = issues(2000);
    let first = import(&store, "human:ann", &text, usize::MAX);
    let answer = first.answer.unwrap();
    assert_eq!(answer["imported"], 2000, "{}", answer["left_out"]);
    assert!(first.writes <= 2000_usize.div_ceil(256), "{} transactions", first.writes);
    let second = import(&store, "human:ann", &text, usize::MAX);
    assert_eq!((second.writes, second.events), (0, first.events));
    assert_eq!(second.answer.unwrap()["existing"], 2000);
}

#[test]
fn an_import_that_is_interrupted_and_run_again_neither_loses_nor_doubles_anything() {
    let text = issues(1000);
    for actor in ["human:ann", "codex-cli"] {
        let whole = import(&store(), actor, &text, usize::MAX);
        for room in 0..whole.writes {
            let store = store();
            let broken = import(&store, actor, &text, room);
            assert!(broken.answer.is_err());
            let again = import(&store, actor, &text, usize::MAX);
            assert_eq!(again.events, whole.events, "{actor}, interrupted after {room}");
            let answer = again.answer.unwrap();
            assert_eq!(answer["tasks"], whole.answer.as_ref().unwrap()["tasks"]);
            assert_eq!(answer["left_out"], whole.answer.as_ref().unwrap()["left_out"]);
        }
    }
}

#[test]
fn a_person_finishes_in_a_few_transactions_what_an_agent_took_over() {
    let store = store();
    let text = issues(600);
    import(&store, "codex-cli", &text, usize::MAX).answer.unwrap();
    let by_person = import(&store, "human:ann", &text, usize::MAX);
    assert!(by_person.writes <= 2, "{}", by_person.writes);
    let answer = by_person.answer.unwrap();
    let done = answer["tasks"].as_array().unwrap().iter().filter(|task| task["status"] == "done");
    assert_eq!(done.count(), 200);
    let left = answer["left_out"].as_array().unwrap();
    assert!(left.iter().all(|left| left["what"] != "status done"), "{left:?}");
    let events = by_person.events;
    assert_eq!(import(&store, "human:ann", &text, usize::MAX).events, events);
}

#[test]
fn a_whole_that_waits_for_its_own_part_gets_the_dependency_afterwards() {
    let store = store();
    let text = "{\"id\":\"x\",\"title\":\"whole\",\"dependencies\":[{\"depends_on_id\":\"x.1\"}]}\n\
                {\"id\":\"x.1\",\"title\":\"part\"}\n";
    let first = import(&store, "codex-cli", text, usize::MAX);
    assert_eq!(first.answer.unwrap()["left_out"], serde_json::json!([]));
    assert_eq!(first.writes, 3, "made, joined, remembered");
    let again = import(&store, "codex-cli", text, usize::MAX);
    assert_eq!((again.events, again.writes), (first.events, 0));
}

#[test]
fn what_names_an_item_that_is_refused_is_taken_over_without_it() {
    let store = store();
    // The id cannot be kept as a reference: it has a line break.
    let text = "{\"id\":\"a\\nb\",\"title\":\"bad\"}\n\
                {\"id\":\"c\",\"title\":\"c\",\"dependencies\":[{\"depends_on_id\":\"a\\nb\"}]}\n\
                {\"id\":\"d\",\"title\":\"d\",\"dependencies\":[{\"depends_on_id\":\"c\"}]}\n";
    let answer = import(&store, "codex-cli", text, usize::MAX).answer.unwrap();
    assert_eq!(answer["imported"], 2);
    let left: Vec<&str> = answer["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["what"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["the task", "dependency on a\nb"]);
}

#[test]
fn parts_of_an_export_are_joined_whoever_imports_them_first() {
    let first = "{\"id\":\"a\",\"title\":\"a\",\"status\":\"closed\"}\n";
    let second = "{\"id\":\"b\",\"title\":\"b\",\"status\":\"closed\",\
                  \"dependencies\":[{\"depends_on_id\":\"a\"}]}\n";
    let store = store();
    // An agent may not finish them: both are kept back, and joined.
    for text in [first, second] {
        import(&store, "codex-cli", text, usize::MAX).answer.unwrap();
    }
    for text in [first, second] {
        let answer = import(&store, "human:ann", text, usize::MAX).answer.unwrap();
        assert_eq!(
            (&answer["left_out"], &answer["changed"]),
            (&Value::from([0; 0]), &Value::from([0; 0]))
        );
        assert_eq!(answer["tasks"][0]["status"], "done", "{answer}");
    }
    let done = import(&store, "human:ann", &format!("{first}{second}"), usize::MAX);
    let whole = import(&store, "human:ann", second, usize::MAX);
    assert_eq!(whole.events, done.events);
    assert_eq!(whole.answer.unwrap()["changed"], Value::from([0; 0]));
}
