//! Needs: each kind is answered, with too many entities perhaps, never with too few.

use super::world::{
    Extras, agent, claimed, created, done, elsewhere, fence, locked, other_repo, preferring,
    reclaimed, registered, repo, repository_set, status, task_id, task_key, unlocked,
};
use super::{Outcome, World};
use comity_core::chain::Hash;
use comity_core::event::{Dependency, Draft, Event};
use comity_core::facts::{
    CANDIDATE_PAGE, CANDIDATES_FIRST, Entity, Facts, Need, PREFIX_MATCHES_MAX, Saved,
};
use comity_core::ids::{LeaseId, Seq, TaskId};
use comity_core::pattern::{Pattern, overlap};
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::time::Millis;
use comity_store::StoreError;

fn loaded_tasks(facts: &Facts) -> Vec<&str> {
    facts.state.tasks.keys().map(|(_, id)| id.as_str()).collect()
}

pub(super) fn an_entity_is_loaded_or_known_to_be_absent(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), locked(1, "src", "ann", 2), registered("bob")])?;
    for key in [Key::Repo(repo()), task_key("T1"), Key::Lease(repo(), LeaseId(1))] {
        let facts = world.load(&Need::Entity(key.clone()))?;
        assert!(facts.knows(&key));
        let state = &facts.state;
        assert_eq!(state.repos.len() + state.tasks.len() + state.leases.len(), 1, "{key:?}");
    }
    let facts = world.load(&Need::Entity(Key::Agent(agent("bob"))))?;
    assert_eq!(facts.agent(&agent("bob")).unwrap().unwrap().skills, ["rust"]);
    assert_eq!(facts.presence(&agent("bob")).unwrap().latest(), None);
    let facts = world.load(&Need::Entity(task_key("T2")))?;
    assert_eq!(facts.task(&repo(), &task_id("T2")), Ok(None));
    let facts = world.load(&Need::Entity(Key::Agent(agent("eve"))))?;
    assert_eq!(facts.agent(&agent("eve")), Ok(None));
    Ok(())
}

pub(super) fn a_repository_keeps_what_was_set_for_it(world: &mut World) -> Outcome {
    let fold_case = |world: &mut World| {
        let facts = world.load(&Need::Entity(Key::Repo(repo())))?;
        Ok::<_, StoreError>(facts.counters(&repo()).unwrap().fold_case)
    };
    world.commit(vec![created(1, |_| ())])?;
    assert_eq!(fold_case(world)?, None);
    for (number, set) in [(2, true), (3, false), (4, true)] {
        world.commit(vec![repository_set(set)])?;
        world.commit(vec![created(number, |_| ())])?;
        assert_eq!(fold_case(world)?, Some(set));
        let all = world.store.read()?.entities(None, 1)?;
        assert!(matches!(&all[..], [(_, Entity::Repo(c))] if c.fold_case == Some(set)), "{all:?}");
    }
    // A pattern that differs in case only is near where case is folded, and where the rule is not known yet.
    world.commit(vec![locked(1, "SRC", "ann", 2)])?;
    let near = Need::LeasesNear(repo(), "SRC".to_owned());
    assert_eq!(world.load(&near)?.state.leases.len(), 1);
    Ok(())
}

pub(super) fn what_is_known_is_not_overwritten(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), locked(1, "src", "ann", 2)])?;
    let mut tx = world.store.read()?;
    let mut facts = Facts::at(tx.moment()?, tx.head()?);
    let lease = Key::Lease(repo(), LeaseId(1));
    tx.load(&[Need::Entity(task_key("T1")), Need::Entity(lease)], &mut facts)?;
    facts.apply(done("T1"));
    facts.apply(unlocked(1, "src", "ann"));
    let needs = [
        Need::Candidates(repo(), None),
        Need::TaskPrefix(repo(), "T".to_owned()),
        Need::LeasesNear(repo(), "src".to_owned()),
    ];
    tx.load(&needs, &mut facts)?;
    assert_eq!(facts.task(&repo(), &task_id("T1")).unwrap().unwrap().status, Status::Done);
    assert!(facts.state.leases.is_empty(), "a lease that ended in this batch stays ended");
    Ok(())
}

pub(super) fn a_prefix_finds_at_most_five_tasks(world: &mut World) -> Outcome {
    world.commit((1..=12).map(|n| created(n, |_| ())).collect())?;
    world.commit(vec![elsewhere(created(100, |_| ()))])?;
    let find = |world: &mut World, prefix: &str| -> Result<Vec<TaskId>, StoreError> {
        let facts = world.load(&Need::TaskPrefix(repo(), prefix.to_owned()))?;
        let ids = facts.tasks_by_prefix(&repo(), prefix).unwrap();
        assert!(ids.iter().all(|id| facts.task(&repo(), id).unwrap().is_some()));
        Ok(ids)
    };
    assert_eq!(find(world, "T12")?, [task_id("T12")]);
    let many = find(world, "T1")?;
    assert_eq!(many.len(), 4, "T1, T10, T11, T12");
    assert_eq!(many.first(), Some(&task_id("T1")), "the exact one is among them");
    assert_eq!(find(world, "T")?.len(), PREFIX_MATCHES_MAX);
    assert!(find(world, "X")?.is_empty());
    Ok(())
}

pub(super) fn a_number_finds_its_task(world: &mut World) -> Outcome {
    world.commit(vec![created(3, |_| ()), elsewhere(created(4, |_| ()))])?;
    let taken = |world: &mut World, number| {
        let facts = world.load(&Need::TaskNumber(repo(), number))?;
        Ok::<_, StoreError>(facts.number_taken(&repo(), number).unwrap())
    };
    assert!(taken(world, 3)?);
    assert!(!taken(world, 4)?);
    Ok(())
}

pub(super) fn work_that_was_sent_back_is_found_for_its_assignee(world: &mut World) -> Outcome {
    world.commit(vec![created(1, |_| ()), created(2, |_| ()), created(3, |_| ())])?;
    for (n, who) in [(1, "ann"), (2, "bo"), (3, "ann")] {
        world.commit(claimed(&format!("T{n}"), who, n))?;
    }
    for id in ["T1", "T2"] {
        world.commit(vec![
            status(id, Status::Claimed, Status::InProgress),
            status(id, Status::InProgress, Status::Review),
            status(id, Status::Review, Status::ChangesRequested),
        ])?;
    }
    let facts = world.load(&Need::Preferred(repo(), agent("ann")))?;
    let ids: Vec<_> =
        facts.sent_back(&repo(), &agent("ann")).unwrap().iter().map(|t| &t.id).collect();
    assert_eq!(ids, [&task_id("T1")]);
    world.commit(vec![status("T1", Status::ChangesRequested, Status::InProgress)])?;
    let facts = world.load(&Need::Preferred(repo(), agent("ann")))?;
    assert_eq!(facts.sent_back(&repo(), &agent("ann")), Ok(Vec::new()));
    Ok(())
}

pub(super) fn candidates_come_by_priority_and_number_page_by_page(world: &mut World) -> Outcome {
    let total = (CANDIDATES_FIRST + CANDIDATE_PAGE) as u64 + 10;
    let drafts = (1..=total)
        .map(|n| created(n, |task| task.priority = Priority::from_rank(u8::from(n % 2 == 0))));
    world.commit(drafts.collect())?;
    world.commit(vec![done("T1"), elsewhere(created(1, |_| ()))])?;
    let mut tx = world.store.read()?;
    let mut facts = Facts::at(tx.moment()?, tx.head()?);
    let mut next = Some(Need::Candidates(repo(), None));
    let mut pages = 0;
    while let Some(need) = next {
        tx.load(&[need], &mut facts)?;
        next = facts.candidates(&repo()).unwrap().1.map(|beyond| beyond.next);
        pages += 1;
        if pages == 1 {
            let (first, _) = facts.candidates(&repo()).unwrap();
            assert_eq!(first.len(), CANDIDATES_FIRST);
            assert_eq!(first.first().map(|task| task.number), Some(3), "T1 is done");
        }
    }
    assert_eq!(pages, 3);
    let (all, _) = facts.candidates(&repo()).unwrap();
    let odd = (3..=total).filter(|n| n % 2 == 1);
    let even = (1..=total).filter(|n| n % 2 == 0);
    let wanted: Vec<u64> = odd.chain(even).collect();
    assert_eq!(all.iter().map(|task| task.number).collect::<Vec<_>>(), wanted);
    Ok(())
}

fn depends(id: &str, on: &str, add: bool) -> Draft {
    let edge = Dependency { on: task_id(on) };
    let event = if add { Event::DependencyAdded(edge) } else { Event::DependencyRemoved(edge) };
    Draft {
        repo: repo(),
        agent: agent("ann"),
        task: Some(task_id(id)),
        event,
        via: comity_core::via::Via::default(),
    }
}

fn ready_and_waiting(world: &mut World) -> Result<(Vec<String>, u64), StoreError> {
    let facts = world.load(&Need::Candidates(repo(), None))?;
    let ready = loaded_tasks(&facts).into_iter().map(str::to_owned).collect();
    let facts = world.load(&Need::Waiting(repo()))?;
    Ok((ready, facts.waiting(&repo()).unwrap()))
}

pub(super) fn a_task_waits_until_its_last_dependency_is_done(world: &mut World) -> Outcome {
    let on = |ids: &'static [&str]| ids.iter().map(|id| task_id(id)).collect::<Vec<_>>();
    world.commit(vec![
        created(3, |task| task.dependencies = on(&["T1", "T2"])),
        created(1, |_| ()),
        created(2, |_| ()),
        created(4, |task| task.dependencies = on(&["T9"])),
    ])?;
    let mut expect = |drafts: Vec<Draft>, ready: &[&str], waiting: u64| -> Outcome {
        world.commit(drafts)?;
        let found = ready_and_waiting(world)?;
        assert_eq!(
            (found.0.iter().map(String::as_str).collect(), found.1),
            (ready.to_vec(), waiting)
        );
        Ok(())
    };
    expect(vec![], &["T1", "T2"], 2)?;
    expect(vec![done("T1")], &["T2"], 2)?;
    expect(vec![done("T2")], &["T3"], 1)?;
    expect(vec![status("T1", Status::Done, Status::Queued)], &["T1"], 2)?;
    expect(vec![depends("T3", "T1", false)], &["T1", "T3"], 1)?;
    expect(vec![depends("T3", "T4", true)], &["T1"], 2)?;
    expect(vec![done("T4")], &["T1", "T3"], 0)?;
    // Both in one transaction, the dependant before what it depends on.
    expect(vec![depends("T3", "T1", true), done("T1")], &["T3"], 0)
}

pub(super) fn ended_leases_near_a_path_are_found_by_when_they_ended(world: &mut World) -> Outcome {
    let paths = ["src", "src/a.rs", "src/*.rs", "srcx/b", "**/*.md", "lib/sub/x", "docs/a", "."];
    let mut drafts = Vec::new();
    for (path, n) in paths.iter().zip(1..) {
        drafts.extend([locked(n, path, "ann", n), unlocked(n, path, "ann")]);
    }
    drafts.extend([locked(9, "src/a.rs", "bob", 30), locked(10, "src/live.rs", "bob", 31)]);
    drafts.extend([elsewhere(locked(1, "src", "ann", 1)), elsewhere(unlocked(1, "src", "ann"))]);
    world.commit(drafts)?;
    let at = world.now();
    let last = world.commit(vec![reclaimed(&[9], "src/a.rs", "bob", at)])?[0].seq;
    let find = |world: &mut World, after: u64, wanted: &[&str]| -> Result<Vec<u64>, StoreError> {
        let wanted: Vec<String> = wanted.iter().map(|path| (*path).to_owned()).collect();
        let facts = world.load(&Need::HeldNear(repo(), Seq(after), wanted.clone()))?;
        let (_, past) = facts.held_near(&repo(), Seq(after), &wanted).unwrap();
        assert!(past.iter().all(|lease| lease.repo == repo() && lease.ended > Seq(after)));
        Ok(past.iter().map(|lease| lease.id.0).collect())
    };
    // At the path, on the way to it, and below it; a pattern without a literal beginning may lie anywhere.
    assert_eq!(find(world, 0, &["src/a.rs"])?, [1, 2, 3, 5, 8, 9]);
    assert_eq!(find(world, 0, &["lib/sub"])?, [5, 6, 8]);
    assert_eq!(find(world, 0, &["docs/a", "srcx/b/c"])?, [4, 5, 7, 8]);
    assert_eq!(find(world, 0, &[""])?, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(find(world, last.0 - 1, &["src/a.rs"])?, [9]);
    assert!(find(world, last.0, &["src/a.rs"])?.is_empty());
    let paths = vec!["src/live.rs".to_owned()];
    let facts = world.load(&Need::HeldNear(repo(), last, paths.clone()))?;
    let (live, _) = facts.held_near(&repo(), last, &paths).unwrap();
    assert_eq!(live.iter().map(|lease| lease.id.0).collect::<Vec<_>>(), [10]);
    let facts = world.load(&Need::Entity(Key::PastLease(repo(), LeaseId(9))))?;
    let past = &facts.state.past_leases[&(repo(), LeaseId(9))];
    assert_eq!((past.ended, past.ended_at, past.expired), (last, at, true));
    assert_eq!((past.owner.as_str(), &*past.path), ("bob", "src/a.rs"));
    Ok(())
}

pub(super) fn leases_near_a_prefix_are_never_too_few(world: &mut World) -> Outcome {
    let paths = [
        ".",
        "src",
        "src/",
        "src/lib.rs",
        "src/store/**",
        "src/store/*.rs",
        "src-old/a",
        "src0",
        "srcx/b",
        "**/*.md",
        "*.toml",
        "{src,docs}/a",
        "src/store",
        "docs/a/b/c/d.md",
        "doc?/x",
        "src/store/sql",
        "src/store.rs",
        "é/ü",
        "a b/c",
        "[ab]/c",
    ];
    let drafts = paths.iter().zip(1..).map(|(path, n)| locked(n, path, "ann", n));
    world.commit(drafts.chain([elsewhere(locked(1, "src", "bob", 50))]).collect())?;
    for path in paths {
        let wanted = Pattern::parse(path).unwrap();
        let prefix = wanted.literal_prefix().to_owned();
        let facts = world.load(&Need::LeasesNear(repo(), prefix.clone()))?;
        let near: Vec<&str> =
            facts.leases_near(&repo(), &prefix).unwrap().map(|lease| lease.path.as_str()).collect();
        for other in paths {
            if overlap(&wanted, &Pattern::parse(other).unwrap()).is_some() {
                assert!(near.contains(&other), "{other} overlaps {path}, found {near:?}");
            }
        }
        assert!(facts.state.leases.values().all(|lease| lease.repo == repo()));
    }
    let facts = world.load(&Need::LeasesNear(repo(), "src/store".to_owned()))?;
    assert!(facts.state.leases.values().all(|lease| lease.path != "src-old/a"), "not everything");
    Ok(())
}

pub(super) fn what_many_claims_ask_for_is_found_for_each_of_them(world: &mut World) -> Outcome {
    let agents = ["ann", "bob", "cy"];
    let mut drafts: Vec<_> = (1..=9).map(|n| created(n, |_| ())).collect();
    for (n, name) in (1..=9).zip(agents.iter().cycle().take(7)) {
        drafts.push(preferring(&format!("T{n}"), name));
    }
    for (n, path) in (1..).zip(["src", "src/a", "src/a/b", "src/b", "docs/x", "srcx", "*.md"]) {
        drafts.push(locked(n, path, "dee", n));
        drafts.push(elsewhere(locked(n, path, "dee", 50 + n)));
    }
    world.commit(drafts)?;
    let prefixes = ["src/a", "src/a/b", "docs/y", "tests"];
    let all_prefixes = ["src/a", "docs/y", ""];
    for prefixes in [&prefixes[..], &all_prefixes[..]] {
        let mut needs: Vec<Need> =
            agents.iter().map(|name| Need::Preferred(repo(), agent(name))).collect();
        for of in [repo(), other_repo()] {
            needs.extend(prefixes.iter().map(|it| Need::LeasesNear(of.clone(), (*it).to_owned())));
        }
        let mut together = Facts::default();
        world.store.read()?.load(&needs, &mut together)?;
        for need in &needs {
            assert!(together.has_answer(need), "{need:?}");
            let alone = world.load(need)?;
            let has = |key| together.state.leases.contains_key(key);
            assert!(alone.state.leases.keys().all(has), "{need:?}");
            let has = |key| together.state.tasks.contains_key(key);
            assert!(alone.state.tasks.keys().all(has), "{need:?}");
        }
        let preferred = |name: &str| together.preferred(&repo(), &agent(name)).unwrap().len();
        assert_eq!(agents.map(preferred), [3, 2, 2]);
    }
    Ok(())
}

pub(super) fn leases_of_an_owner_are_complete(world: &mut World) -> Outcome {
    let owner = |n: u64| if n.is_multiple_of(3) { "bob" } else { "ann" };
    world.commit((1..=9).map(|n| locked(n, &format!("f{n}"), owner(n), n)).collect())?;
    let facts = world.load(&Need::LeasesOf(repo(), agent("bob")))?;
    let ids: Vec<u64> =
        facts.leases_of(&repo(), &agent("bob")).unwrap().iter().map(|lease| lease.id.0).collect();
    assert_eq!(ids, [3, 6, 9]);
    let full = world.load(&Need::Entity(Key::Lease(repo(), LeaseId(6))))?;
    assert_eq!(facts.lease(&repo(), LeaseId(6)), full.lease(&repo(), LeaseId(6)));
    Ok(())
}

pub(super) fn dependants_children_and_closure_are_complete(world: &mut World) -> Outcome {
    let on = |n: u64| vec![task_id(&format!("T{n}"))];
    world.commit(vec![
        created(1, |task| task.dependencies = vec![task_id("T9")]),
        created(2, |task| task.dependencies = on(1)),
        created(3, |task| task.dependencies = on(2)),
        created(4, |task| task.dependencies = on(1)),
        created(5, |task| task.parent = Some(task_id("T1"))),
        created(6, |task| task.parent = Some(task_id("T1"))),
        elsewhere(created(7, |task| task.dependencies = on(1))),
        elsewhere(created(8, |task| task.parent = Some(task_id("T1")))),
    ])?;
    let facts = world.load(&Need::Dependants(repo(), task_id("T1")))?;
    let found = facts.dependants(&repo(), &task_id("T1")).unwrap();
    assert_eq!(found.iter().map(|task| task.number).collect::<Vec<_>>(), [2, 4]);
    let facts = world.load(&Need::Children(repo(), task_id("T1")))?;
    let found = facts.children(&repo(), &task_id("T1")).unwrap();
    assert_eq!(found.iter().map(|task| task.number).collect::<Vec<_>>(), [5, 6]);
    let facts = world.load(&Need::Closure(repo(), task_id("T3")))?;
    facts.closure(&repo(), &task_id("T3")).unwrap();
    for id in ["T2", "T1"] {
        assert!(facts.task(&repo(), &task_id(id)).unwrap().is_some(), "{id}");
    }
    assert_eq!(facts.task(&repo(), &task_id("T9")), Ok(None), "what is not there is known too");
    Ok(())
}

pub(super) fn saved_answers_are_remembered_for_seven_days(world: &mut World) -> Outcome {
    let now = world.store.read()?.moment()?.now;
    let saved =
        |answer: &str| Saved { input: Hash::of(b"input"), answer: answer.to_owned(), at: now };
    let key = "key \u{e9}".to_owned();
    let save = |answer: &str| Extras {
        saved: vec![(agent("ann"), key.clone(), saved(answer))],
        ..Extras::default()
    };
    world.commit_with(vec![], &save("first"))?;
    world.commit_with(vec![], &save("{\"a\":1}"))?;
    let find = |world: &mut World, actor: &str| -> Result<Option<Saved>, StoreError> {
        let facts = world.load(&Need::Saved(agent(actor), key.clone()))?;
        Ok(facts.saved(&agent(actor), &key).unwrap().cloned())
    };
    assert_eq!(find(world, "ann")?, Some(saved("{\"a\":1}")), "the last one counts");
    assert_eq!(find(world, "bob")?, None, "keys belong to who used them");
    world.clock.pass(Millis::from_secs(7 * 86_400 - 1));
    assert!(find(world, "ann")?.is_some());
    world.clock.pass(Millis::from_secs(1));
    assert_eq!(find(world, "ann")?, None);
    world.commit(vec![created(1, |_| ())])?;
    assert_eq!(find(world, "ann")?, None);
    Ok(())
}

pub(super) fn saved_answers_are_listed_page_by_page(world: &mut World) -> Outcome {
    let now = world.store.read()?.moment()?.now;
    let saved = |n: u64| Saved { input: Hash::of(&[1]), answer: format!("{n}"), at: now };
    let entry = |n: u64| {
        let who = if n.is_multiple_of(2) { "ann" } else { "bob" };
        (agent(who), format!("k{n}"), saved(n))
    };
    let all: Vec<_> = (1..=7).map(entry).collect();
    world.commit_with(vec![], &Extras { saved: all.clone(), ..Extras::default() })?;
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = world.store.read()?.saved(after.as_ref(), 3)?;
        let Some((actor, key, _)) = page.last() else { break };
        after = Some((actor.clone(), key.clone()));
        found.extend(page);
    }
    let mut wanted = all;
    wanted.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    assert_eq!(found, wanted);
    world.clock.pass(Millis::from_secs(7 * 86_400));
    assert!(world.store.read()?.saved(None, 10)?.is_empty());
    Ok(())
}

pub(super) fn a_saved_answer_that_is_written_later_keeps_its_age(world: &mut World) -> Outcome {
    let given = world.store.read()?.moment()?.now;
    world.clock.pass(Millis::from_secs(6 * 86_400));
    let old = Saved { input: Hash::of(&[1]), answer: "old".to_owned(), at: given };
    let saved = vec![(agent("ann"), "k".to_owned(), old.clone())];
    world.commit_with(vec![], &Extras { saved: saved.clone(), ..Extras::default() })?;
    assert_eq!(world.store.read()?.saved(None, 10)?, saved);
    let facts = world.load(&Need::Saved(agent("ann"), "k".to_owned()))?;
    assert_eq!(facts.saved(&agent("ann"), "k").unwrap(), Some(&old));
    world.clock.pass(Millis::from_secs(86_400));
    assert!(world.store.read()?.saved(None, 10)?.is_empty());
    Ok(())
}

pub(super) fn what_doors_keep_is_listed_in_order_and_removed(world: &mut World) -> Outcome {
    let set = |space: &str, key: &str, value: Option<&[u8]>| {
        (space.to_owned(), key.to_owned(), value.map(<[u8]>::to_vec))
    };
    let kept = vec![
        set("b", "2", Some(b"two")),
        set("b", "10", Some(&[0, 255])),
        set("a", "z", Some(b"")),
        set("b", "2", Some(b"second")),
        set("c", "x", Some(b"gone")),
        set("c", "x", None),
    ];
    world.commit_with(vec![], &Extras { kept, ..Extras::default() })?;
    let row =
        |space: &str, key: &str, value: &[u8]| (space.to_owned(), key.to_owned(), value.to_vec());
    let all = vec![row("a", "z", b""), row("b", "10", &[0, 255]), row("b", "2", b"second")];
    assert_eq!(world.store.read()?.kept_rows(None, 10)?, all);
    assert_eq!(
        world.another().read()?.kept_rows(Some(&("b".into(), String::new())), 1)?,
        all[1..2]
    );
    let kept = vec![set("b", "10", None), set("b", "none", None)];
    world.commit_with(vec![], &Extras { kept, ..Extras::default() })?;
    assert_eq!(world.store.read()?.kept_rows(Some(&("a".into(), "z".into())), 9)?, all[2..]);
    world.clock.pass(Millis::from_secs(90 * 86_400));
    assert_eq!(world.store.read()?.kept_rows(None, 10)?.len(), 2, "nothing kept is forgotten");
    Ok(())
}

pub(super) fn presence_only_moves_forward(world: &mut World) -> Outcome {
    let start = world.now();
    let at = |secs: i64| start.plus(Millis::from_secs(secs));
    let seen = |fence, secs| Extras {
        presence: vec![(agent("ann"), fence, at(secs))],
        ..Extras::default()
    };
    world.commit_with(vec![], &seen(None, 20))?;
    world.commit_with(vec![], &seen(None, 10))?;
    world.commit_with(vec![], &seen(Some(fence(5)), 30))?;
    world.commit_with(vec![], &seen(Some(fence(6)), 40))?;
    let find = |world: &mut World| {
        let facts = world.load(&Need::Entity(Key::Agent(agent("ann"))))?;
        Ok::<_, StoreError>(facts.presence(&agent("ann")).unwrap())
    };
    let presence = find(world)?;
    assert_eq!(presence.general, Some(at(20)));
    assert_eq!(presence.for_grant(fence(5)), Some(at(30)));
    assert_eq!(presence.latest(), Some(at(40)));
    world.clock.pass(Millis::from_secs(8 * 86_400 + 35));
    world.commit(vec![created(1, |_| ())])?;
    let presence = find(world)?;
    assert_eq!(presence.general, Some(at(20)), "the last sign of life is kept");
    assert_eq!(presence.by_fence.len(), 1, "old ones for single grants are not");
    Ok(())
}
