//! Many callers on one writer: nothing lost, nothing twice, a refusal spoils nothing.

use crate::support::{claim, request};
use comity_api::TaskAnswer;
use comity_core::command::{Command, NewTask};
use comity_core::refusal::Code;
use comity_engine::{Service, Settings};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use std::collections::BTreeSet;

fn create(title: &str) -> Command {
    Command::CreateTask(Box::new(NewTask { title: title.to_owned(), ..NewTask::default() }))
}

#[test]
fn sixteen_callers_share_the_writer_and_every_answer_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("comity.db");
    let store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
    let service = Service::start(Box::new(store), Settings::default()).unwrap();
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let service = service.clone();
            std::thread::spawn(move || {
                let actor = format!("agent-{caller}");
                let mut ids = Vec::new();
                for n in 0..25 {
                    let refusal = service.execute(request(&actor, claim("nothing"))).unwrap_err();
                    assert_eq!(refusal.code, Code::NotFound);
                    let made = request(&actor, create(&format!("{caller}.{n}")));
                    let answer: TaskAnswer = service.execute(made).unwrap().take().unwrap();
                    ids.push(answer.task.id);
                }
                ids
            })
        })
        .collect();
    let ids: Vec<String> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
    drop(service);
    assert_eq!(ids.len(), 400);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 400);
    let store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
    let engine = Service::inline(Box::new(store), Settings::default()).unwrap();
    let report = engine.verify().unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.events, 416);
}
