//! Transactions, time and waking.

use super::world::{
    Extras, agent, commit, created, done, locked, registered, repo, task_id, task_key, unlocked,
};
use super::{Outcome, World};
use comity_core::facts::{Facts, Need};
use comity_core::ids::{LeaseId, Seq};
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_store::{Reader, Rows, StoreError, TaskQuery};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub(super) fn an_uncommitted_transaction_leaves_no_trace(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ())])?;
    let before = world.store.read()?.entities(None, 10)?;
    let mut tx = world.store.write()?;
    tx.clear_projections()?;
    assert!(tx.entities(None, 10)?.is_empty(), "inside it is seen");
    drop(tx);
    assert_eq!(world.store.read()?.entities(None, 10)?, before);
    world.commit(vec![done("T1")])?;
    Ok(())
}

pub(super) fn a_closed_store_refuses_writers_and_no_reader(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ())])?;
    let mut other = world.another();
    world.store.close(Some("it moved"))?;
    for handle in [&mut world.store, &mut other] {
        let refused = handle.write().err();
        assert!(
            matches!(&refused, Some(StoreError::Closed(why)) if why == "it moved"),
            "{refused:?}"
        );
        assert_eq!(handle.read()?.head()?.seq, Seq(1));
    }
    other.close(None)?;
    world.commit(vec![created(2, |_| ())])?;
    Ok(())
}

pub(super) fn a_reader_keeps_its_snapshot_while_a_writer_commits(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ())])?;
    let mut other = world.another();
    let mut reader = other.read()?;
    world.commit(vec![created(2, |_| ())])?;
    assert_eq!(reader.head()?.seq, Seq(1));
    let mut facts = Facts::default();
    reader.load(&[Need::TaskPrefix(repo(), "T".to_owned())], &mut facts)?;
    assert_eq!(facts.state.tasks.len(), 1);
    drop(reader);
    assert_eq!(other.read()?.head()?.seq, Seq(2));
    Ok(())
}

pub(super) fn a_reader_of_its_own_sees_the_latest_commit_in_its_next_read(
    world: &mut World,
) -> Outcome {
    let mut reader = world.store.reader()?;
    assert_eq!(reader.read()?.head()?.seq, Seq(0));
    world.commit(vec![created(1, |_| ())])?;
    let mut snapshot = reader.read()?;
    assert_eq!(snapshot.head()?.seq, Seq(1), "it was made before the commit");
    world.commit(vec![created(2, |_| ())])?;
    let found = snapshot.tasks(&TaskQuery::of(repo(), 10))?;
    assert_eq!(found.len(), 1, "a snapshot does not change");
    drop(snapshot);
    let mut snapshot = reader.read()?;
    assert_eq!(snapshot.head()?.seq, Seq(2));
    assert_eq!(snapshot.tasks(&TaskQuery::of(repo(), 10))?.len(), 2);
    Ok(())
}

/// As many as there are connections in a pool that is given to nobody else, but for the writer's.
const READERS: usize = 7;
const WRITES: u64 = 30;

pub(super) fn readers_on_many_threads_read_while_a_writer_writes(world: &mut World) -> Outcome {
    let readers: Result<Vec<_>, StoreError> = (0..READERS).map(|_| world.store.reader()).collect();
    let read = |mut reader: Box<dyn Reader>| {
        let (start, mut seen) = (Instant::now(), 0);
        while seen < WRITES {
            assert!(start.elapsed() < Duration::from_secs(60), "the writer does not get on");
            let mut snapshot = reader.read()?;
            let head = snapshot.head()?.seq.0;
            assert!(head >= seen, "a later snapshot is not older");
            let tasks = snapshot.tasks(&TaskQuery::of(repo(), 100))?;
            assert_eq!(tasks.len() as u64, head, "log and rows are of one commit");
            seen = head;
        }
        Ok::<(), StoreError>(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            readers?.into_iter().map(|reader| scope.spawn(move || read(reader))).collect();
        for number in 1..=WRITES {
            world.commit(vec![created(number, |_| ())])?;
        }
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

pub(super) fn what_is_kept_after_a_commit_never_hides_what_another_handle_committed(
    world: &mut World,
) -> Outcome {
    world.commit(vec![created(1, |_| ())])?;
    commit(&mut *world.another(), vec![done("T1")], &Extras::default())?;
    // A writer, since no reader relies on what was kept.
    let mut tx = world.store.write()?;
    let mut facts = Facts::at(tx.moment()?, tx.head()?);
    tx.load(&[Need::Entity(task_key("T1"))], &mut facts)?;
    let task = facts.state.tasks.get(&(repo(), task_id("T1"))).unwrap();
    assert_eq!(task.status, Status::Done);
    Ok(())
}

pub(super) fn a_row_that_ended_is_gone(world: &mut World) -> Outcome {
    world.commit(vec![locked(1, "src/a", "ann", 1), locked(2, "src/b", "ann", 2)])?;
    world.commit(vec![unlocked(1, "src/a", "ann")])?;
    for need in [
        Need::Entity(Key::Lease(repo(), LeaseId(1))),
        Need::LeasesNear(repo(), "src".to_owned()),
        Need::LeasesOf(repo(), agent("ann")),
    ] {
        let facts = world.load(&need)?;
        assert!(!facts.state.leases.contains_key(&(repo(), LeaseId(1))));
    }
    // Granted and ended in one transaction, it never comes to be.
    world.commit(vec![locked(3, "src/c", "ann", 4), unlocked(3, "src/c", "ann")])?;
    let facts = world.load(&Need::LeasesOf(repo(), agent("ann")))?;
    assert_eq!(facts.state.leases.len(), 1);
    Ok(())
}

pub(super) fn projections_can_be_cleared_and_written_anew(world: &mut World) -> Outcome {
    world.commit(vec![
        created(1, |task| task.labels = vec!["a".to_owned()]),
        created(2, |task| task.dependencies = vec![task_id("T1")]),
        locked(1, "src", "ann", 3),
        registered("ann"),
    ])?;
    let before = world.store.read()?.entities(None, 100)?;
    let mut tx = world.store.write()?;
    tx.clear_projections()?;
    // Row by row, as a rebuild in small pieces does, dependants before what they depend on.
    for (key, entity) in before.iter().rev() {
        let mut facts = Facts::default();
        facts.put(key.clone(), Some(entity.clone()));
        let dirty = BTreeSet::from([key.clone()]);
        tx.write_rows(&Rows { facts: &facts, dirty: &dirty, due: &BTreeMap::new() })?;
    }
    let (facts, dirty, due) = (Facts::default(), BTreeSet::new(), BTreeMap::new());
    let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
    tx.commit(comity_store::Changes { events: &[], rows, presence: &[], saved: &[], kept: &[] })?;
    assert_eq!(world.store.read()?.entities(None, 100)?, before);
    let facts = world.load(&Need::Candidates(repo(), None))?;
    assert_eq!(facts.state.tasks.len(), 1, "and it is known again what waits");
    Ok(())
}

pub(super) fn time_is_never_before_the_last_event(world: &mut World) -> Outcome {
    let start = world.now();
    world.commit(vec![created(1, |_| ())])?;
    world.clock.set(|reading| reading.wall_ms -= 60_000);
    assert_eq!(world.store.read()?.moment()?.now, start);
    world.clock.set(|reading| reading.wall_ms += 61_000);
    assert_eq!(world.store.read()?.moment()?.now, start.plus(Millis::from_secs(1)));
    Ok(())
}

pub(super) fn a_host_that_slept_is_noticed_once(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ())])?;
    assert_eq!(world.store.read()?.moment()?.woke_at, None);
    world.clock.set(|reading| {
        reading.wall_ms += 3_600_000;
        reading.boot_ms += 3_600_000;
        reading.slept_ms += 3_500_000;
    });
    let woke: Option<Timestamp> = Some(world.now());
    assert_eq!(world.store.read()?.moment()?.woke_at, woke, "a reader sees it");
    assert_eq!(world.another().read()?.moment()?.woke_at, woke, "every reader does");
    world.commit(vec![created(2, |_| ())])?;
    world.clock.pass(Millis::from_secs(60));
    assert_eq!(world.another().read()?.moment()?.woke_at, woke, "and it is remembered");
    world.commit(vec![created(3, |_| ())])?;
    assert_eq!(world.store.write()?.moment()?.woke_at, woke);
    Ok(())
}

pub(super) fn a_watch_wakes_when_another_handle_commits(world: &mut World) -> Outcome {
    let mut watch = world.store.watch()?;
    assert!(!watch.wait(Duration::from_millis(20))?, "nothing happened yet");
    let mut other = world.another();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            commit(&mut *other, vec![created(1, |_| ())], &Extras::default()).map(drop)
        });
        watch.wait(Duration::from_secs(20)).map(|woken| assert!(woken))
    })?;
    assert!(start.elapsed() < Duration::from_secs(10), "long before the time was up");
    assert!(!watch.wait(Duration::from_millis(20))?, "once for one commit");
    Ok(())
}

pub(super) fn a_watch_notices_what_was_committed_between_two_waits(world: &mut World) -> Outcome {
    let mut watch = world.store.watch()?;
    world.commit(vec![created(1, |_| ())])?;
    assert!(watch.wait(Duration::ZERO)?);
    assert!(!watch.wait(Duration::ZERO)?);
    // Signs of life are commits, too, though the log does not move.
    let presence = vec![(agent("ann"), None, world.now())];
    world.commit_with(vec![], &Extras { presence, ..Extras::default() })?;
    assert!(watch.wait(Duration::ZERO)?);
    Ok(())
}

pub(super) fn many_commits_wake_a_watch_once(world: &mut World) -> Outcome {
    let mut watch = world.store.watch()?;
    for number in 1..=50 {
        world.commit(vec![created(number, |_| ())])?;
    }
    assert!(watch.wait(Duration::from_secs(20))?);
    // On a server, what the first look did not hear yet may wake it once more.
    watch.wait(Duration::from_millis(100))?;
    assert!(!watch.wait(Duration::ZERO)?);
    Ok(())
}

pub(super) fn a_watch_is_stopped_from_another_thread(world: &mut World) -> Outcome {
    let mut watch = world.store.watch()?;
    let mut other = world.store.watch()?;
    let stop = watch.stopper();
    let start = Instant::now();
    let woken = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop();
        });
        watch.wait(Duration::from_secs(60))
    })?;
    assert!(!woken, "nothing was committed");
    stop();
    world.commit(vec![created(1, |_| ())])?;
    assert!(!watch.wait(Duration::from_secs(60))?, "it stays stopped");
    assert!(start.elapsed() < Duration::from_secs(10), "long before the time was up");
    assert!(other.wait(Duration::from_secs(20))?, "no other watch is stopped");
    Ok(())
}
