//! Two writers on one file, both long-lived: what one keeps in memory never hides what the other wrote.

use crate::support::{claim, request, retitle, start};
use comity_core::command::{Command, NewTask, Request, TaskVerb};
use comity_core::ids::Fence;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Service, Settings};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use serde_json::Value;

struct Pair {
    engines: [Service; 2],
    _dir: tempfile::TempDir,
}

impl Pair {
    fn new() -> Pair {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let store =
                SqliteStore::open(&dir.path().join("c.db"), OpenOptions::default()).unwrap();
            Service::inline(Box::new(store), Settings::default()).unwrap()
        };
        let engines = [open(), open()];
        Pair { engines, _dir: dir }
    }

    fn run(&self, which: usize, request: Request) -> Result<Value, Refusal> {
        self.engines[which % 2].execute(request)?.into_json()
    }

    fn create(&self, which: usize, files: &[&str]) -> String {
        let files = files.iter().map(ToString::to_string).collect();
        let new = NewTask { title: "work".to_owned(), files, ..NewTask::default() };
        let made = request("human:ann", Command::CreateTask(Box::new(new)));
        self.run(which, made).unwrap()["task"]["id"].as_str().unwrap().to_owned()
    }
}

fn fenced(actor: &str, fence: &Value, command: Command) -> Request {
    Request { fence: Fence::new(fence.as_u64().unwrap()), ..request(actor, command) }
}

#[test]
fn each_writer_sees_what_the_other_has_just_changed() {
    let pair = Pair::new();
    let id = pair.create(0, &[]);
    for turn in 0..40 {
        let title = format!("title {turn}");
        // Two turns each, so that a writer also works on what it has kept itself.
        let command = retitle(&id, &title);
        let answer = pair.run(turn / 2, request("human:ann", command)).unwrap();
        assert_eq!(answer["task"]["title"], *title);
        assert_eq!(answer["task"]["version"], 2 + turn);
    }
    let report = pair.engines[0].verify().unwrap();
    assert!(report.ok, "{report:?}");
}

#[test]
fn a_claim_released_through_the_other_writer_is_gone_and_its_fence_is_stale() {
    let pair = Pair::new();
    for turn in 0..12 {
        let id = pair.create(turn, &["src/"]);
        let answer = pair.run(turn, request("bot-1", claim(&id))).unwrap();
        let fence = answer["fence"].clone();
        pair.run(turn + 1, fenced("bot-1", &fence, start(&id))).unwrap();
        let taken = pair.run(turn, request("bot-2", claim(&id))).unwrap_err();
        assert_eq!(taken.code, Code::NotReady, "{taken}");
        let release = TaskVerb::Release.on(id.clone(), None);
        pair.run(turn + 1, fenced("bot-1", &fence, release)).unwrap();
        let late = pair.run(turn, fenced("bot-1", &fence, start(&id))).unwrap_err();
        assert_eq!(late.code, Code::StaleFence, "{late}");
        let answer = pair.run(turn, request("bot-2", claim(&id))).unwrap();
        assert_eq!(answer["leases"][0]["path"], "src/");
        let abandon = TaskVerb::Abandon.on(id, Some("enough".to_owned()));
        pair.run(turn + 1, request("human:ann", abandon)).unwrap();
    }
    let report = pair.engines[1].verify().unwrap();
    assert!(report.ok, "{report:?}");
}
