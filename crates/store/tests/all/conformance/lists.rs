//! Lists: filtered, ordered, paged.

use super::memories::{directed, written};
use super::world::{
    Extras, agent, answered, asked, claimed, created, done, elsewhere, fence, locked, other_repo,
    registered, repo, task_id, task_key, unlocked,
};
use super::{Outcome, World};
use comity_core::facts::Entity;
use comity_core::ids::{DecisionId, LeaseId};
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_store::{DecisionQuery, LeaseQuery, StoreError, TaskQuery};

pub(super) fn all_tasks() -> TaskQuery {
    TaskQuery::of(repo(), 100)
}

fn numbers(world: &mut World, query: &TaskQuery) -> Result<Vec<u64>, StoreError> {
    Ok(world.store.read()?.tasks(query)?.iter().map(|task| task.number).collect())
}

fn labels(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn tasks_are_filtered_and_paged(world: &mut World) -> Outcome {
    world.commit(vec![
        created(1, |task| task.labels = labels(&["a", "b"])),
        created(2, |task| {
            task.labels = labels(&["b"]);
            task.role = Some(Role::Critic);
        }),
        created(3, |task| task.dependencies = vec![task_id("T1")]),
        created(4, |task| task.initiative = Some("launch".to_owned())),
        created(5, |task| {
            task.assignee = Some(agent("ann"));
            task.labels = labels(&["b", "c", "a"]);
        }),
        elsewhere(created(1, |task| task.labels = labels(&["a"]))),
        done("T4"),
    ])?;
    let all = all_tasks();
    let queued = vec![Status::Queued];
    let cases: Vec<(TaskQuery, &[u64])> = vec![
        (all.clone(), &[1, 2, 3, 4, 5]),
        (TaskQuery { repo: other_repo(), ..all.clone() }, &[1]),
        (TaskQuery { statuses: queued.clone(), ..all.clone() }, &[1, 2, 3, 5]),
        (
            TaskQuery { statuses: vec![Status::Done, Status::Queued], limit: 4, ..all.clone() },
            &[1, 2, 3, 4],
        ),
        (TaskQuery { unblocked_only: true, ..all.clone() }, &[1, 2, 5]),
        (TaskQuery { labels: labels(&["b"]), ..all.clone() }, &[1, 2, 5]),
        (TaskQuery { labels: labels(&["b", "a"]), ..all.clone() }, &[1, 5]),
        (TaskQuery { labels: labels(&["b", "a"]), limit: 1, ..all.clone() }, &[1]),
        (TaskQuery { labels: labels(&["b", "a"]), after: 1, ..all.clone() }, &[5]),
        (TaskQuery { role: Some(Role::Critic), ..all.clone() }, &[2]),
        (TaskQuery { initiative: Some("launch".to_owned()), ..all.clone() }, &[4]),
        (TaskQuery { assignee: Some(agent("ann")), ..all.clone() }, &[5]),
        (TaskQuery { assignee: Some(agent("ann")), unblocked_only: true, ..all.clone() }, &[5]),
        (TaskQuery { initiative: Some("launch".to_owned()), statuses: queued, ..all.clone() }, &[]),
        (TaskQuery { after: 2, limit: 2, ..all.clone() }, &[3, 4]),
        (TaskQuery { limit: 0, ..all }, &[]),
    ];
    for (query, wanted) in cases {
        assert_eq!(numbers(world, &query)?, wanted, "{query:?}");
    }
    let counts = world.store.read()?.status_counts(&repo())?;
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(Status::Queued, 4), (Status::Done, 1)]);
    Ok(())
}

pub(super) fn leases_are_filtered_and_paged(world: &mut World) -> Outcome {
    let owner = |n: u64| if n.is_multiple_of(2) { "bob" } else { "ann" };
    // Paths run against the numbers, so that the order of one is not the order of the other.
    let drafts = (1..=6).map(|n| locked(n, &format!("p{}", 9 - n), owner(n), n));
    world.commit(drafts.chain([elsewhere(locked(9, "x", "ann", 9))]).collect())?;
    let all = LeaseQuery { repo: repo(), owner: None, after: None, limit: 100 };
    let mut find = |query: &LeaseQuery| -> Result<Vec<u64>, StoreError> {
        Ok(world.store.read()?.leases(query)?.iter().map(|lease| lease.id.0).collect())
    };
    assert_eq!(find(&all)?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(find(&LeaseQuery { owner: Some(agent("bob")), ..all.clone() })?, [2, 4, 6]);
    assert_eq!(find(&LeaseQuery { after: Some(LeaseId(2)), limit: 2, ..all.clone() })?, [3, 4]);
    let query = LeaseQuery { owner: Some(agent("bob")), after: Some(LeaseId(2)), ..all };
    assert_eq!(find(&query)?, [4, 6]);
    Ok(())
}

pub(super) fn decisions_are_filtered_and_paged(world: &mut World) -> Outcome {
    world.commit((1..=5).map(asked).chain([answered(2), elsewhere(asked(7))]).collect())?;
    let all = DecisionQuery { repo: repo(), open_only: false, after: None, limit: 100 };
    let mut find = |query: &DecisionQuery| -> Result<Vec<u64>, StoreError> {
        Ok(world.store.read()?.decisions(query)?.iter().map(|found| found.id.0).collect())
    };
    assert_eq!(find(&all)?, [1, 2, 3, 4, 5]);
    assert_eq!(find(&DecisionQuery { open_only: true, ..all.clone() })?, [1, 3, 4, 5]);
    let query = DecisionQuery { open_only: true, after: Some(DecisionId(1)), limit: 2, ..all };
    assert_eq!(find(&query)?, [3, 4]);
    Ok(())
}

pub(super) fn agents_come_with_their_signs_of_life(world: &mut World) -> Outcome {
    let now = world.now();
    let presence = vec![(agent("bob"), None, now), (agent("eve"), None, now)];
    let drafts = ["cy", "ann", "bob"].map(registered).to_vec();
    world.commit_with(drafts, &Extras { presence, ..Extras::default() })?;
    let mut tx = world.store.read()?;
    let all = tx.agents(None, 10)?;
    let ids: Vec<&str> = all.iter().map(|(agent, _)| agent.id.as_str()).collect();
    assert_eq!(ids, ["ann", "bob", "cy"]);
    let seen: Vec<Option<Timestamp>> = all.iter().map(|(_, life)| life.latest()).collect();
    assert_eq!(seen, [None, Some(now), None]);
    assert_eq!(tx.agents(Some(&agent("ann")), 1)?.len(), 1);
    assert!(tx.agents(Some(&agent("cy")), 10)?.is_empty());
    Ok(())
}

pub(super) fn held_tasks_are_found_in_every_repository(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), created(2, |_| ()), elsewhere(created(1, |_| ()))])?;
    world.commit(claimed("T2", "ann", 4))?;
    world.commit(claimed("T1", "ann", 6).into_iter().map(elsewhere).collect())?;
    let mut tx = world.store.read()?;
    let held = tx.held_by(&agent("ann"), 10)?;
    assert_eq!(held, [(repo(), task_id("T2")), (other_repo(), task_id("T1"))]);
    assert_eq!(tx.held_by(&agent("ann"), 1)?.len(), 1);
    assert!(tx.held_by(&agent("bob"), 10)?.is_empty());
    Ok(())
}

pub(super) fn due_comes_earliest_first_and_can_be_moved(world: &mut World) -> Outcome {
    let start = world.now();
    let at = |secs: i64| Some(start.plus(Millis::from_secs(secs)));
    let lease = Key::Lease(repo(), LeaseId(1));
    let decision = Key::Decision(repo(), DecisionId(1));
    let due = [(task_key("T1"), at(30)), (lease.clone(), at(10)), (decision.clone(), at(20))];
    let extras = Extras { due: due.into_iter().collect(), ..Extras::default() };
    let drafts = vec![created(1, |_| ()), locked(1, "a", "ann", 2), asked(1), created(2, |_| ())];
    world.commit_with(drafts, &extras)?;
    let find = |world: &mut World, secs: i64, limit: usize| {
        world.store.read()?.due(start.plus(Millis::from_secs(secs)), limit)
    };
    assert!(find(world, 9, 10)?.is_empty());
    assert_eq!(find(world, 20, 10)?, [lease.clone(), decision.clone()], "at the time itself");
    assert_eq!(find(world, 99, 2)?, [lease.clone(), decision.clone()]);
    assert_eq!(find(world, 99, 9)?, [lease.clone(), decision.clone(), task_key("T1")]);
    let moved = [(lease.clone(), at(40)), (decision, None), (task_key("T9"), at(1))];
    world.commit_with(vec![], &Extras { due: moved.into_iter().collect(), ..Extras::default() })?;
    assert_eq!(find(world, 99, 9)?, [task_key("T1"), lease]);
    // A change that says nothing of the time leaves it; an entity that ends takes it along.
    world.commit(vec![done("T1"), unlocked(1, "a", "ann")])?;
    assert_eq!(find(world, 99, 9)?, [task_key("T1")]);
    Ok(())
}

pub(super) fn entities_are_complete_and_in_the_order_of_their_keys(world: &mut World) -> Outcome {
    let mut drafts: Vec<_> = (1..=12).map(|n| created(n, |_| ())).collect();
    drafts.extend((1..=3).map(|n| locked(n, &format!("p{}", 9 - n), "ann", n)));
    drafts.extend([asked(1), asked(2), registered("bob"), registered("ann")]);
    drafts.extend((1..=3).map(|n| written(n, "a", |_| ())));
    drafts.extend([directed(1), directed(2), elsewhere(written(1, "b", |_| ()))]);
    drafts.extend([elsewhere(created(1, |_| ())), elsewhere(locked(1, "q", "ann", 20))]);
    drafts.extend(claimed("T3", "ann", fence(30).get()));
    for n in 21..=22 {
        drafts.extend([locked(n, "gone", "ann", n), unlocked(n, "gone", "ann")]);
    }
    world.commit(drafts)?;
    let mut tx = world.store.read()?;
    let all = tx.entities(None, 100)?;
    assert_eq!(all.len(), 2 + 13 + 4 + 2 + 2 + 4 + 2 + 2);
    assert!(all.is_sorted_by(|(a, _), (b, _)| a < b));
    for size in [1, 2, 5, 13] {
        let mut paged: Vec<(Key, Entity)> = Vec::new();
        loop {
            let page = tx.entities(paged.last().map(|(key, _)| key), size)?;
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= size);
            paged.extend(page);
        }
        assert_eq!(paged, all, "in pages of {size}");
    }
    Ok(())
}
