//! The log: exact, gap-free, and found by what it is about.

use super::world::{created, done, elsewhere, other_repo, repo, task_id};
use super::{Outcome, World};
use comity_core::chain::{Hash, Head, Stored};
use comity_core::facts::Facts;
use comity_core::ids::Seq;
use comity_core::time::Millis;
use comity_store::{Changes, EventQuery, Rows, StoreError};
use std::collections::{BTreeMap, BTreeSet};

fn all() -> EventQuery {
    EventQuery { limit: 1000, ..EventQuery::default() }
}

fn found(world: &mut World, query: &EventQuery) -> Result<Vec<u64>, StoreError> {
    let mut tx = world.store.read()?;
    Ok(tx.events(query)?.iter().map(|event| event.seq.0).collect())
}

pub(super) fn events_come_back_byte_for_byte(world: &mut World) -> Outcome {
    let title = "quotes \" and \u{1F600} and \\ and é";
    let first = world.commit(vec![created(1, |task| task.title = title.to_owned())])?;
    let more = world.commit(vec![created(2, |_| ()), elsewhere(created(1, |_| ()))])?;
    let written: Vec<Stored> = first.into_iter().chain(more).collect();
    let read = world.store.read()?.events(&all())?;
    assert_eq!(read, written);
    let mut head = Head::default();
    for event in &read {
        assert_eq!(event.problem_after(&head), None);
        head = event.head();
    }
    Ok(())
}

pub(super) fn the_head_moves_with_the_log(world: &mut World) -> Outcome {
    assert_eq!(world.store.read()?.head()?, Head::default());
    let stored = world.commit(vec![created(1, |_| ()), created(2, |_| ())])?;
    assert_eq!(Some(world.store.read()?.head()?), stored.last().map(Stored::head));
    assert_eq!(world.store.write()?.head()?.seq, Seq(2));
    Ok(())
}

pub(super) fn an_append_that_leaves_a_gap_is_refused(world: &mut World) -> Outcome {
    let written = world.commit(vec![created(1, |_| ())])?;
    let last = written.last().unwrap();
    let next = Stored { seq: Seq(2), prev: last.hash, ..last.clone() };
    let gap = Stored { seq: Seq(3), ..next.clone() };
    let unchained = Stored { prev: Hash::GENESIS, ..next.clone() };
    for events in [[gap.clone(), next.clone()], [next.clone(), next], [unchained, gap]] {
        let facts = Facts::default();
        let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
        let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
        let changes = Changes { events: &events, rows, presence: &[], saved: &[], kept: &[] };
        assert!(world.store.write()?.commit(changes).is_err());
        assert_eq!(world.store.read()?.head()?, last.head());
    }
    Ok(())
}

pub(super) fn events_are_found_by_repo_task_name_and_time(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), elsewhere(created(1, |_| ()))])?;
    world.clock.pass(Millis::from_secs(5));
    let since = world.now();
    world.commit(vec![done("T1"), created(2, |_| ()), elsewhere(done("T1"))])?;
    let here = Some(repo());
    let t1 = Some(task_id("T1"));
    let name = Some("status_changed".to_owned());
    let query = EventQuery { repo: here.clone(), ..all() };
    assert_eq!(found(world, &query)?, [1, 3, 4]);
    let query = EventQuery { repo: Some(other_repo()), task: t1.clone(), ..all() };
    assert_eq!(found(world, &query)?, [2, 5]);
    assert_eq!(found(world, &EventQuery { task: t1.clone(), ..all() })?, [1, 2, 3, 5]);
    assert_eq!(found(world, &EventQuery { event: name.clone(), ..all() })?, [3, 5]);
    let query = EventQuery { event: name.clone(), repo: here.clone(), ..all() };
    assert_eq!(found(world, &query)?, [3]);
    let query = EventQuery { event: name, repo: here.clone(), task: t1, ..all() };
    assert_eq!(found(world, &query)?, [3]);
    assert_eq!(found(world, &EventQuery { since: Some(since), ..all() })?, [3, 4, 5]);
    let query = EventQuery { since: Some(since), repo: here, ..all() };
    assert_eq!(found(world, &query)?, [3, 4]);
    let later = Some(since.plus(Millis::from_secs(1)));
    assert!(found(world, &EventQuery { since: later, ..all() })?.is_empty());
    Ok(())
}

pub(super) fn events_come_newest_first_from_before_a_place(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), elsewhere(created(1, |_| ()))])?;
    let written = world.commit(vec![done("T1"), created(2, |_| ()), elsewhere(done("T1"))])?;
    let back = |before: u64| EventQuery { before: Some(Seq(before)), ..all() };
    assert_eq!(found(world, &back(u64::MAX))?, [5, 4, 3, 2, 1]);
    let here = Some(repo());
    let query = EventQuery { repo: here.clone(), limit: 2, ..back(4) };
    assert_eq!(found(world, &query)?, [3, 1]);
    let query = EventQuery { repo: here, task: Some(task_id("T1")), ..back(u64::MAX) };
    assert_eq!(found(world, &query)?, [3, 1]);
    // With the predecessor's hash of each, as forwards.
    let last = world.store.read()?.events(&EventQuery { limit: 3, ..back(u64::MAX) })?;
    assert!(last.iter().rev().eq(&written));
    Ok(())
}

pub(super) fn events_are_paged_by_place(world: &mut World) -> Outcome {
    let written = world.commit((1..=7).map(|n| created(n, |_| ())).collect())?;
    let mut read: Vec<Stored> = Vec::new();
    loop {
        let after = read.last().map_or(Seq(0), |event| event.seq);
        let page = world.store.read()?.events(&EventQuery { after, limit: 3, ..all() })?;
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        read.extend(page);
    }
    assert_eq!(read, written, "with the predecessor's hash at the start of each page");
    Ok(())
}
