//! Memories, the words they are found by, and directives.

use super::world::{Extras, agent, elsewhere, other_repo, repo, task_id};
use super::{Outcome, World};
use comity_core::directive::Trigger;
use comity_core::event::{
    DirectiveCreated, DirectiveDeleted, DirectiveTriggered, Draft, Event, MemoryGone,
    MemorySuperseded, MemoryWritten,
};
use comity_core::facts::{Facts, Need};
use comity_core::ids::{DirectiveId, MemoryId, RepoName};
use comity_core::memory::{MemoryFilter, MemoryType};
use comity_core::search::{Search, Term};
use comity_core::state::Key;
use comity_core::time::{Millis, Timestamp};
use comity_store::{DirectiveQuery, MemoryQuery, StoreError};

fn draft(event: Event) -> Draft {
    Draft {
        repo: repo(),
        agent: agent("ann"),
        task: Some(task_id("T1")),
        event,
        via: comity_core::via::Via::default(),
    }
}

pub(super) fn written(number: u64, text: &str, change: impl FnOnce(&mut MemoryWritten)) -> Draft {
    let mut memory = MemoryWritten {
        memory: MemoryId(number),
        kind: MemoryType::Fact,
        scope: "global".to_owned(),
        text: text.to_owned(),
        tags: Vec::new(),
        expires_at: None,
    };
    change(&mut memory);
    draft(Event::MemoryWritten(Box::new(memory)))
}

pub(super) fn rewritten(number: u64, text: &str) -> Draft {
    draft(Event::MemoryUpdated(Box::new(MemoryWritten {
        memory: MemoryId(number),
        kind: MemoryType::Focus,
        scope: "src".to_owned(),
        text: text.to_owned(),
        tags: vec!["changed".to_owned()],
        expires_at: None,
    })))
}

pub(super) fn superseded(number: u64, by: u64) -> Draft {
    let body = MemorySuperseded { memory: MemoryId(number), by: MemoryId(by) };
    draft(Event::MemorySuperseded(body))
}

pub(super) fn forgotten(number: u64) -> Draft {
    draft(Event::MemoryForgotten(MemoryGone { memory: MemoryId(number) }))
}

pub(super) fn directed(number: u64) -> Draft {
    draft(Event::DirectiveCreated(Box::new(DirectiveCreated {
        directive: DirectiveId(number),
        text: format!("Directive {number}"),
        trigger: Trigger::Idle,
        priority: number,
        description: None,
        expires_at: None,
    })))
}

pub(super) fn followed(number: u64) -> Draft {
    let body = DirectiveTriggered { directive: DirectiveId(number), trigger: Trigger::Idle };
    draft(Event::DirectiveTriggered(body))
}

pub(super) fn undirected(number: u64) -> Draft {
    let body = DirectiveDeleted { directive: DirectiveId(number), reason: None };
    draft(Event::DirectiveDeleted(body))
}

/// What a store hands over as candidates, and what of it really matches, the best first.
fn search(
    world: &mut World,
    of: &RepoName,
    query: &str,
) -> Result<(Vec<u64>, Vec<u64>), StoreError> {
    let search = Search::parse(query);
    let mut tx = world.store.read()?;
    let candidates = tx.memories_with(of, search.looked_up(), 100)?;
    let needs: Vec<Need> =
        candidates.iter().map(|id| Need::Entity(Key::Memory(of.clone(), *id))).collect();
    let mut facts = Facts::at(tx.moment()?, tx.head()?);
    tx.load(&needs, &mut facts)?;
    let found = facts.state.memories.into_values().filter(|memory| search.matches(memory));
    let ranked = search.rank(found.collect());
    let numbers = candidates.iter().map(|id| id.0).collect();
    Ok((numbers, ranked.iter().map(|memory| memory.id.0).collect()))
}

pub(super) fn memories_are_filtered_and_paged(world: &mut World) -> Outcome {
    world.commit(vec![
        written(1, "one", |_| ()),
        written(2, "two", |memory| memory.scope = "src/net".to_owned()),
        written(3, "three", |memory| memory.kind = MemoryType::Feedback),
        written(4, "four", |memory| memory.tags = vec!["a".to_owned(), "b".to_owned()]),
        written(5, "five", |memory| {
            memory.tags = vec!["b".to_owned()];
            memory.scope = "docs".to_owned();
        }),
        superseded(1, 4),
        elsewhere(written(1, "other", |_| ())),
    ])?;
    let of = |filter: MemoryFilter, after: u64, limit: usize| MemoryQuery {
        repo: repo(),
        filter,
        after: Some(MemoryId(after)),
        limit,
    };
    let any = MemoryFilter::default();
    let scope = |name: &str| Some(name.to_owned());
    let tags = |list: &[&str]| list.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let cases: Vec<(MemoryQuery, &[u64])> = vec![
        (of(any.clone(), 0, 9), &[2, 3, 4, 5]),
        (of(MemoryFilter { all: true, ..any.clone() }, 0, 9), &[1, 2, 3, 4, 5]),
        (of(any.clone(), 2, 2), &[3, 4]),
        (of(MemoryFilter { scope: scope("src/net"), ..any.clone() }, 0, 9), &[2, 3, 4]),
        (of(MemoryFilter { scope: scope("nowhere"), ..any.clone() }, 0, 9), &[3, 4]),
        (of(MemoryFilter { kind: Some(MemoryType::Feedback), ..any.clone() }, 0, 9), &[3]),
        (of(MemoryFilter { tags: tags(&["b"]), ..any.clone() }, 0, 9), &[4, 5]),
        (of(MemoryFilter { tags: tags(&["b"]), ..any.clone() }, 0, 1), &[4]),
        (of(MemoryFilter { tags: tags(&["b", "a"]), ..any.clone() }, 0, 9), &[4]),
        (of(any, 0, 0), &[]),
    ];
    for (query, wanted) in cases {
        let found = world.store.read()?.memories(&query)?;
        let numbers: Vec<u64> = found.iter().map(|memory| memory.id.0).collect();
        assert_eq!(numbers, wanted, "{query:?}");
    }
    Ok(())
}

pub(super) fn memories_are_found_by_their_words_and_stems(world: &mut World) -> Outcome {
    world.commit(vec![
        written(1, "Migrations run before the deployment", |_| ()),
        written(2, "Never migrate on Friday; a migration takes hours", |_| ()),
        written(3, "The parser is recursive", |memory| memory.tags = vec!["Friday".to_owned()]),
        written(4, "数据库很慢 and naïve", |_| ()),
        elsewhere(written(1, "migrate elsewhere", |_| ())),
    ])?;
    let here = repo();
    for (query, wanted) in [
        ("migrating", vec![2, 1]),
        ("FRIDAY migrations", vec![2]),
        ("friday", vec![3, 2]),
        ("据库", vec![4]),
        ("NAÏVE", vec![4]),
        ("rec*", vec![3]),
        ("recursiv*", vec![3]),
        ("deployment fri*", vec![]),
        ("absent", vec![]),
        ("", vec![]),
        ("\" OR 1=1 -- '*", vec![]),
    ] {
        assert_eq!(search(world, &here, query)?.1, wanted, "{query}");
    }
    assert_eq!(search(world, &other_repo(), "migrate")?.0, [1]);
    Ok(())
}

pub(super) fn words_follow_their_memory(world: &mut World) -> Outcome {
    let here = repo();
    world.commit(vec![written(1, "old words", |_| ()), written(2, "old", |_| ())])?;
    assert_eq!(search(world, &here, "old")?.0, [2, 1], "the newest first");
    world.commit(vec![rewritten(1, "new words"), superseded(2, 1)])?;
    assert_eq!(search(world, &here, "old")?.0, [2], "also what was replaced");
    assert_eq!(search(world, &here, "words changed")?.0, [1]);
    world.commit(vec![forgotten(1)])?;
    assert_eq!(search(world, &here, "words")?.0, Vec::<u64>::new());
    let terms = [Term::Prefix("ol".to_owned())];
    assert_eq!(world.store.read()?.memories_with(&here, &terms, 0)?, []);
    assert_eq!(world.store.read()?.memories_with(&here, &terms, 9)?, [MemoryId(2)]);
    assert_eq!(world.store.read()?.memories_with(&here, &[], 9)?, []);
    Ok(())
}

pub(super) fn candidates_hold_every_match(world: &mut World) -> Outcome {
    let texts = [
        "caching caches cached",
        "a cache",
        "parses files",
        "the parser parsed a file",
        "Retry-After",
        "éclairs",
        "v2 of the API",
        "retries retry",
        "x",
        "files, filing",
        "ΣΟΦΙΑ σοφια",
    ];
    let all = (1..).zip(texts).map(|(number, text)| written(number, text, |_| ()));
    world.commit(all.collect())?;
    let list =
        MemoryQuery { repo: repo(), filter: MemoryFilter::default(), after: None, limit: 99 };
    let stored = world.store.read()?.memories(&list)?;
    for query in ["cache", "cach*", "parse file", "retry", "retr*", "API v2", "fil*", "σοφια", "é*"]
    {
        let wanted = Search::parse(query);
        let expected: Vec<u64> =
            stored.iter().filter(|m| wanted.matches(m)).map(|m| m.id.0).collect();
        let (candidates, _) = search(world, &repo(), query)?;
        assert!(!expected.is_empty(), "{query}");
        assert!(expected.iter().all(|id| candidates.contains(id)), "{query}: {candidates:?}");
    }
    Ok(())
}

pub(super) fn directives_are_paged_and_follow_their_events(world: &mut World) -> Outcome {
    world.commit((1..=4).map(directed).chain([elsewhere(directed(9))]).collect())?;
    world.commit(vec![followed(2), undirected(3)])?;
    let of = |after: u64, limit: usize| DirectiveQuery {
        repo: repo(),
        after: Some(DirectiveId(after)),
        limit,
    };
    let mut tx = world.store.read()?;
    let found = tx.directives(&of(0, 9))?;
    let ids: Vec<u64> = found.iter().map(|directive| directive.id.0).collect();
    assert_eq!(ids, [1, 2, 4]);
    let followed: Vec<bool> =
        found.iter().map(|directive| directive.last_triggered_at.is_some()).collect();
    assert_eq!(followed, [false, true, false]);
    assert_eq!(tx.directives(&of(1, 1))?.len(), 1);
    assert!(tx.directives(&of(4, 9))?.is_empty());
    Ok(())
}

pub(super) fn memories_and_directives_fall_due(world: &mut World) -> Outcome {
    let start = world.now();
    let at = |secs: i64| Some(start.plus(Millis::from_secs(secs)));
    let memory = Key::Memory(repo(), MemoryId(1));
    let directive = Key::Directive(repo(), DirectiveId(1));
    let due = [(memory.clone(), at(20)), (directive.clone(), at(10))];
    let extras = Extras { due: due.into_iter().collect(), ..Extras::default() };
    world.commit_with(vec![written(1, "a", |_| ()), directed(1)], &extras)?;
    let find = |world: &mut World, until: Timestamp| world.store.read()?.due(until, 9);
    let late = start.plus(Millis::from_secs(99));
    assert_eq!(find(world, start)?, []);
    assert_eq!(find(world, late)?, [directive.clone(), memory.clone()]);
    // A change that says nothing of the time leaves it; it can be moved; what is gone takes it along.
    world.commit(vec![rewritten(1, "b"), followed(1)])?;
    assert_eq!(find(world, late)?, [directive.clone(), memory.clone()]);
    let moved = [(memory.clone(), at(5)), (directive, None)];
    world.commit_with(vec![], &Extras { due: moved.into_iter().collect(), ..Extras::default() })?;
    assert_eq!(find(world, late)?, [memory]);
    world.commit(vec![forgotten(1), undirected(1)])?;
    assert_eq!(find(world, late)?, []);
    Ok(())
}
