//! Posts, and the places at which posts and memories are found.

use super::memories::{forgotten, written};
use super::world::{agent, elsewhere, locked, repo};
use super::{Outcome, World};
use comity_core::event::{ChangeNoted, Draft, Event, InterfacePublished, MessageSent};
use comity_core::facts::Need;
use comity_core::ids::{MemoryId, Seq};
use comity_core::post::{PlaceKind, PostId, PostKind, Recipient, place_of, places_near};
use comity_core::state::Key;
use comity_store::PostsFrom;

fn draft(event: Event) -> Draft {
    let via = comity_core::via::Via::default();
    Draft { repo: repo(), agent: agent("ann"), task: None, event, via }
}

pub(super) fn change(path: &str) -> Draft {
    let paths = vec![path.to_owned()];
    draft(Event::ChangeNoted(ChangeNoted { paths, text: "renamed it".to_owned() }))
}

pub(super) fn message(to: Recipient) -> Draft {
    draft(Event::MessageSent(MessageSent { to, text: "look".to_owned() }))
}

pub(super) fn interface(name: &str, version: u64, path: &str) -> Draft {
    draft(Event::InterfacePublished(Box::new(InterfacePublished {
        name: name.to_owned(),
        version,
        text: "fn f()".to_owned(),
        paths: vec![path.to_owned()],
        to: vec![Recipient::Agent(agent("bob"))],
        owner_task: None,
    })))
}

fn at(kind: PostKind, seq: u64) -> (Seq, PostId) {
    (Seq(seq), PostId::at(kind, Seq(seq)))
}

pub(super) fn posts_and_memories_are_found_at_their_places(world: &mut World) -> Outcome {
    world.commit(vec![
        change("src/a.rs"),
        change("src"),
        change("docs/**"),
        elsewhere(change("src/a.rs")),
        message(Recipient::All),
        written(1, "text", |memory| memory.scope = "src/**".to_owned()),
        written(2, "text", |_| {}),
    ])?;
    let mut tx = world.store.read()?;
    let near = |kind, path| places_near(kind, path);
    let found = tx.posts_at(&repo(), &near(PlaceKind::Change, "src/a.rs"), PostsFrom::NEWEST, 9)?;
    assert_eq!(found, [at(PostKind::Change, 2), at(PostKind::Change, 1)], "newest first");
    let found = tx.posts_at(&repo(), &near(PlaceKind::Change, "SRC/b.rs"), PostsFrom::NEWEST, 9)?;
    assert_eq!(found, [at(PostKind::Change, 2)], "case is folded");
    let found = tx.posts_at(&repo(), &near(PlaceKind::Change, ""), PostsFrom::NEWEST, 9)?;
    assert_eq!(found.len(), 3, "the root is near everything");
    let found = tx.posts_at(&repo(), &near(PlaceKind::Change, ""), PostsFrom::NEWEST, 1)?;
    assert_eq!(found, [at(PostKind::Change, 3)], "the newest of each place");
    let all = place_of(PlaceKind::Message, &Recipient::All);
    assert_eq!(tx.posts_at(&repo(), &[all], PostsFrom::NEWEST, 9)?, [at(PostKind::Message, 5)]);
    let memories =
        tx.posts_at(&repo(), &near(PlaceKind::Memory, "src/a.rs"), PostsFrom::NEWEST, 9)?;
    assert_eq!(memories, [(Seq(6), PostId::of_memory(MemoryId(1)))]);
    drop(tx);
    world.commit(vec![forgotten(1)])?;
    let mut tx = world.store.read()?;
    assert!(
        tx.posts_at(&repo(), &near(PlaceKind::Memory, "src/a.rs"), PostsFrom::NEWEST, 9)?
            .is_empty()
    );
    Ok(())
}

pub(super) fn posts_are_listed_page_by_page(world: &mut World) -> Outcome {
    world.commit(vec![
        change("a"),
        interface("api", 1, "b"),
        elsewhere(change("a")),
        change("c"),
        change("a"),
    ])?;
    let mut tx = world.store.read()?;
    let api = (Seq(2), PostId::named(PostKind::Interface, "api"));
    let one = |seq| at(PostKind::Change, seq);
    let found = tx.posts_before(&repo(), Seq(u64::MAX), 9)?;
    assert_eq!(found, [one(5), one(4), api.clone(), one(1)], "the newest first");
    assert_eq!(tx.posts_before(&repo(), Seq(4), 1)?, [api]);
    assert!(tx.posts_before(&repo(), Seq(1), 9)?.is_empty());
    let near = places_near(PlaceKind::Change, "");
    let mut at_places = |from, limit| tx.posts_at(&repo(), &near, from, limit);
    assert_eq!(at_places(PostsFrom::Before(Seq(5)), 1)?, [one(4)]);
    assert_eq!(at_places(PostsFrom::Before(Seq(4)), 9)?, [one(1)]);
    assert_eq!(at_places(PostsFrom::After(Seq(0)), 2)?, [one(1), one(4)], "the oldest first");
    assert_eq!(at_places(PostsFrom::After(Seq(1)), 9)?, [one(4), one(5)]);
    assert!(at_places(PostsFrom::After(Seq(5)), 9)?.is_empty());
    Ok(())
}

pub(super) fn places_follow_a_new_version(world: &mut World) -> Outcome {
    world.commit(vec![interface("api", 1, "src/old.rs")])?;
    let id = PostId::named(PostKind::Interface, "api");
    world.load(&Need::Entity(Key::Post(repo(), id.clone())))?;
    world.commit(vec![interface("api", 2, "src/new.rs")])?;
    let mut tx = world.store.read()?;
    let near = |path| places_near(PlaceKind::Interface, path);
    assert!(tx.posts_at(&repo(), &near("src/old.rs"), PostsFrom::NEWEST, 9)?.is_empty());
    assert_eq!(
        tx.posts_at(&repo(), &near("src/new.rs"), PostsFrom::NEWEST, 9)?,
        [(Seq(2), id.clone())]
    );
    let bob = place_of(PlaceKind::Interface, &Recipient::Agent(agent("bob")));
    assert_eq!(tx.posts_at(&repo(), &[bob], PostsFrom::NEWEST, 9)?, [(Seq(2), id)]);
    Ok(())
}

pub(super) fn leases_below_a_directory_are_bounded(world: &mut World) -> Outcome {
    world.commit(vec![
        locked(1, "src/b.rs", "ann", 1),
        locked(2, "src/a.rs", "ann", 2),
        locked(3, "src2/a.rs", "ann", 3),
        locked(4, "src", "ann", 4),
    ])?;
    let mut tx = world.store.read()?;
    let paths = |leases: Vec<comity_core::lease::Lease>| -> Vec<String> {
        leases.into_iter().map(|lease| lease.path).collect()
    };
    assert_eq!(paths(tx.leases_below(&repo(), "src", 9)?), ["src/a.rs", "src/b.rs"]);
    assert_eq!(paths(tx.leases_below(&repo(), "src", 1)?), ["src/a.rs"]);
    Ok(())
}
