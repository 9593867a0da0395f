//! Posts, and the places at which posts and memories are found.

use super::error::DbError;
use super::query::collect;
use super::sql;
use super::write::run;
use crate::PostsFrom;
use crate::rows::{self, json, signed};
use comity_core::ids::{RepoName, Seq};
use comity_core::memory::Memory;
use comity_core::post::{Post, PostId, PostKind};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

fn found(row: &Row<'_>) -> Result<(Seq, PostId), DbError> {
    Ok((Seq(rows::number(row, 0)?), PostId::stored(row.get_ref(1)?.as_str().unwrap_or_default())))
}

pub(super) fn at(
    conn: &Connection,
    repo: &RepoName,
    places: &[String],
    from: PostsFrom,
    limit: usize,
) -> Result<Vec<(Seq, PostId)>, DbError> {
    let (statement, event) = match from {
        PostsFrom::Before(event) => (sql::POSTS_BACK_FROM, event),
        PostsFrom::After(event) => (sql::POSTS_ON_FROM, event),
    };
    let mut all = Vec::new();
    for place in places {
        let given = params![repo.as_str(), place, signed(event.0), rows::limit(limit)];
        all.extend(collect(conn, statement, given, found)?);
    }
    Ok(crate::listing::merged(all, from))
}

pub(super) fn before(
    conn: &Connection,
    repo: &RepoName,
    before: Seq,
    limit: usize,
) -> Result<Vec<(Seq, PostId)>, DbError> {
    let given = params![repo.as_str(), signed(before.0), rows::limit(limit)];
    collect(conn, sql::POSTS_BEFORE, given, found)
}

pub(super) fn set(conn: &Connection, post: &Post) -> Result<(), DbError> {
    let (repo, id, seq) = (post.repo.as_str(), post.id.as_str(), post.seq);
    run(conn, sql::SET_POST, params![repo, id, signed(seq.0), json(post)?])?;
    // A change notice or a message is written once, so that it never had places before.
    let had_some = matches!(post.kind, PostKind::Pad | PostKind::Interface);
    set_places(conn, repo, id, seq, &post.places(), had_some)
}

pub(super) fn delete_places(
    conn: &Connection,
    repo: &RepoName,
    id: &PostId,
) -> Result<(), DbError> {
    run(conn, sql::DELETE_PLACES, params![repo.as_str(), id.as_str()])
}

pub(super) fn set_memory(conn: &Connection, memory: &Memory) -> Result<(), DbError> {
    let id = PostId::of_memory(memory.id);
    let seq = memory.source.event;
    set_places(conn, memory.repo.as_str(), id.as_str(), seq, &memory.places(), true)
}

fn set_places(
    conn: &Connection,
    repo: &str,
    id: &str,
    seq: Seq,
    places: &BTreeSet<String>,
    had_some: bool,
) -> Result<(), DbError> {
    if had_some {
        run(conn, sql::DELETE_PLACES, params![repo, id])?;
    }
    for place in places {
        run(conn, sql::ADD_PLACE, params![repo, place, signed(seq.0), id])?;
    }
    Ok(())
}

/// Finds a place for every memory of a store that had none.
pub(super) fn place_memories(conn: &Connection) -> Result<(), DbError> {
    let mut statement = conn.prepare("SELECT body FROM memories")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let memory: Memory = rows::entity(row, 0)?;
        set_memory(conn, &memory)?;
    }
    Ok(())
}

/// Counts the posts and memories whose stored places differ from those that they have, and the places of nothing.
pub(super) fn misplaced(conn: &Connection) -> Result<i64, DbError> {
    let mut wrong = conn.query_row(LOST_PLACES, [], |row| row.get(0))?;
    let mut differs = |repo: &RepoName, id: &PostId, seq: Seq, places: BTreeSet<String>| {
        let given = params![repo.as_str(), id.as_str()];
        let read = |row: &Row<'_>| Ok((row.get(0)?, Seq(rows::number(row, 1)?)));
        let stored: BTreeSet<(String, Seq)> =
            collect(conn, sql::PLACES_OF, given, read)?.into_iter().collect();
        let wanted = places.into_iter().map(|place| (place, seq)).collect::<BTreeSet<_>>();
        wrong += i64::from(stored != wanted);
        Ok::<(), DbError>(())
    };
    let mut statement = conn.prepare("SELECT body FROM posts")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let post: Post = rows::entity(row, 0)?;
        differs(&post.repo, &post.id, post.seq, post.places())?;
    }
    let mut statement = conn.prepare("SELECT body FROM memories")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let memory: Memory = rows::entity(row, 0)?;
        let id = PostId::of_memory(memory.id);
        differs(&memory.repo, &id, memory.source.event, memory.places())?;
    }
    Ok(wrong)
}

const LOST_PLACES: &str = "SELECT count(*) FROM post_places p WHERE p.id NOT LIKE 'memory:%'
    AND NOT EXISTS (SELECT 1 FROM posts t WHERE t.repo = p.repo AND t.id = p.id)";
