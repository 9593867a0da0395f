//! Imports over a store that counts its transactions and may fail between two of them.

use super::out;
use comity_api::{ImportReport, Nothing, op};
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_engine::{Caller, Service, Settings};
use comity_protocol::beads;
use comity_protocol::plan::Source;
use comity_store::memory::MemoryStore;
use comity_store::{ReadTx, Reader, Store, StoreError, SystemClock, Watch, WriteTx};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counted {
    inner: MemoryStore,
    writes: Arc<AtomicUsize>,
    /// How many transactions the disk has room for.
    room: usize,
}

impl Reader for Counted {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        self.inner.read()
    }
}

impl Store for Counted {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        if self.writes.fetch_add(1, Ordering::SeqCst) >= self.room {
            return Err(StoreError::Full);
        }
        self.inner.write()
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
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
    report: Result<ImportReport, Refusal>,
    writes: usize,
    events: u64,
}

fn import(store: &MemoryStore, actor: &str, text: &str, room: usize) -> Try {
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = Counted { inner: store.clone(), writes: writes.clone(), room };
    let service = Service::inline(Box::new(counted), Settings::default()).unwrap();
    let by = Caller::new(AgentId::parse(actor).unwrap(), RepoName::parse("acme/app").unwrap());
    let here = service.all_tasks(&by).unwrap();
    let source = Source::new(beads::PROVIDER).unwrap();
    let earlier = source.earlier(&here);
    let plan = beads::read(text, &earlier).unwrap();
    let report = out(&service, &by, source, &plan, true);
    let events = service.call::<op::LogHead>(&by, Nothing {}).unwrap().seq;
    Try { report, writes: writes.load(Ordering::SeqCst), events }
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
    let report = first.report.unwrap();
    assert_eq!(report.imported, 2000, "{:?}", report.left_out);
    assert!(first.writes <= 2000_usize.div_ceil(256), "{} transactions", first.writes);
    let second = import(&store, "human:ann", &text, usize::MAX);
    assert_eq!((second.writes, second.events), (0, first.events));
    assert_eq!(second.report.unwrap().existing, 2000);
}

#[test]
fn an_import_that_is_interrupted_and_run_again_neither_loses_nor_doubles_anything() {
    let text = issues(1000);
    for actor in ["human:ann", "codex-cli"] {
        let whole = import(&store(), actor, &text, usize::MAX);
        for room in 0..whole.writes {
            let store = store();
            let broken = import(&store, actor, &text, room);
            assert!(broken.report.is_err());
            let again = import(&store, actor, &text, usize::MAX);
            assert_eq!(again.events, whole.events, "{actor}, interrupted after {room}");
            let (report, whole) = (again.report.unwrap(), whole.report.as_ref().unwrap());
            assert_eq!(report.tasks, whole.tasks);
            assert_eq!(report.left_out, whole.left_out);
        }
    }
}

#[test]
fn a_person_finishes_in_a_few_transactions_what_an_agent_took_over() {
    let store = store();
    let text = issues(600);
    import(&store, "codex-cli", &text, usize::MAX).report.unwrap();
    let by_person = import(&store, "human:ann", &text, usize::MAX);
    assert!(by_person.writes <= 2, "{}", by_person.writes);
    let report = by_person.report.unwrap();
    let done = report.tasks.iter().filter(|task| task.status == Status::Done);
    assert_eq!(done.count(), 200);
    let left = &report.left_out;
    assert!(left.iter().all(|left| left.what != "status done"), "{left:?}");
    let events = by_person.events;
    assert_eq!(import(&store, "human:ann", &text, usize::MAX).events, events);
}

#[test]
fn a_whole_that_waits_for_its_own_part_gets_the_dependency_afterwards() {
    let store = store();
    let text = "{\"id\":\"x\",\"title\":\"whole\",\"dependencies\":[{\"depends_on_id\":\"x.1\"}]}\n\
                {\"id\":\"x.1\",\"title\":\"part\"}\n";
    let first = import(&store, "codex-cli", text, usize::MAX);
    assert_eq!(first.report.unwrap().left_out, []);
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
    let report = import(&store, "codex-cli", text, usize::MAX).report.unwrap();
    assert_eq!(report.imported, 2);
    let left: Vec<&str> = report.left_out.iter().map(|left| left.what.as_str()).collect();
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
        import(&store, "codex-cli", text, usize::MAX).report.unwrap();
    }
    for text in [first, second] {
        let report = import(&store, "human:ann", text, usize::MAX).report.unwrap();
        assert!(report.left_out.is_empty() && report.changed.is_empty(), "{report:?}");
        assert_eq!(report.tasks[0].status, Status::Done, "{report:?}");
    }
    let done = import(&store, "human:ann", &format!("{first}{second}"), usize::MAX);
    let whole = import(&store, "human:ann", second, usize::MAX);
    assert_eq!(whole.events, done.events);
    assert_eq!(whole.report.unwrap().changed, []);
}
