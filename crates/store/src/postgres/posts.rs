//! Posts, and the places at which posts and memories are found.

use super::error::DbError;
use super::link::{Link, arrays, values};
use super::sql;
use super::write::{Writer, bodies};
use crate::PostsFrom;
use crate::rows::{self, signed};
use comity_core::ids::{RepoName, Seq};
use comity_core::memory::Memory;
use comity_core::post::{Post, PostId};
use std::collections::BTreeSet;
use tokio_postgres::Row;

fn found(list: &[Row]) -> Result<Vec<(Seq, PostId)>, DbError> {
    list.iter()
        .map(|row| Ok((Seq(rows::number(row, 0)?), PostId::stored(row.try_get(1)?))))
        .collect()
}

pub(super) fn at(
    link: &Link,
    repo: &RepoName,
    places: &[String],
    from: PostsFrom,
    limit: usize,
) -> Result<Vec<(Seq, PostId)>, DbError> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let (statement, event) = match from {
        PostsFrom::Before(event) => (sql::POSTS_BACK_FROM, event),
        PostsFrom::After(event) => (sql::POSTS_ON_FROM, event),
    };
    let repo = repo.as_str().to_owned();
    let given = values![repo, places.to_vec(), signed(event.0), rows::limit(limit)];
    Ok(crate::listing::merged(found(&link.query(statement, given)?)?, from))
}

pub(super) fn before(
    link: &Link,
    repo: &RepoName,
    before: Seq,
    limit: usize,
) -> Result<Vec<(Seq, PostId)>, DbError> {
    let given = values![repo.as_str().to_owned(), signed(before.0), rows::limit(limit)];
    found(&link.query(sql::POSTS_BEFORE, given)?)
}

/// Where something is found: repository, id, place in the log, places.
type Placed<'r> = (&'r str, PostId, Seq, BTreeSet<String>);

impl Writer<'_> {
    pub(super) fn posts(&mut self, list: &[&Post]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, post =>
            post.repo.as_str().to_owned(), post.id.as_str().to_owned(), signed(post.seq.0)];
        given.push(bodies(list.iter().copied())?);
        self.add(sql::SET_POSTS, given);
        let placed = list.iter().map(|it| (it.repo.as_str(), it.id.clone(), it.seq, it.places()));
        self.places(&placed.collect::<Vec<_>>());
        Ok(())
    }

    /// Writes where memories are found.
    pub(super) fn memory_places<'r>(&mut self, memories: impl Iterator<Item = &'r Memory>) {
        let placed = memories.map(|memory| {
            let id = PostId::of_memory(memory.id);
            (memory.repo.as_str(), id, memory.source.event, memory.places())
        });
        self.places(&placed.collect::<Vec<_>>());
    }

    fn places(&mut self, list: &[Placed<'_>]) {
        let (of, ids): (Vec<String>, Vec<String>) =
            list.iter().map(|(repo, id, ..)| ((*repo).to_owned(), id.as_str().to_owned())).unzip();
        self.add(sql::DELETE_PLACES, values![of, ids]);
        let (mut repos, mut places) = (Vec::new(), Vec::new());
        let (mut seqs, mut ids) = (Vec::new(), Vec::new());
        for (repo, id, seq, all) in list {
            for place in all {
                repos.push((*repo).to_owned());
                places.push(place.clone());
                seqs.push(signed(seq.0));
                ids.push(id.as_str().to_owned());
            }
        }
        if !repos.is_empty() {
            self.add(sql::ADD_PLACES, values![repos, places, seqs, ids]);
        }
    }
}

/// Returns the statements that find a place for every memory of a store that had none.
pub(super) fn place_memories(link: &Link) -> Result<(), DbError> {
    let found = link.query("SELECT body FROM memories ORDER BY repo, number", values![])?;
    let memories: Vec<Memory> =
        found.iter().map(|row| rows::entity(row, 0)).collect::<Result<_, _>>()?;
    let cache = crate::commit_cache::CommitCache::default();
    let mut writer = Writer::new(link, &cache, 0);
    writer.memory_places(memories.iter());
    link.together(None, &writer.finish().0, None).map(drop)
}

/// Says which posts and memories have places that differ from their content.
pub(super) fn mismatches(link: &Link) -> Result<Vec<String>, DbError> {
    let stored: BTreeSet<(String, String, i64, String)> = link
        .query(ALL_PLACES, values![])?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)))
        .collect::<Result<_, DbError>>()?;
    let mut wanted = BTreeSet::new();
    let mut add = |repo: &RepoName, id: &PostId, seq: Seq, places: BTreeSet<String>| {
        let row = |place| (repo.as_str().to_owned(), place, signed(seq.0), id.as_str().to_owned());
        wanted.extend(places.into_iter().map(row));
    };
    for row in link.query("SELECT body FROM posts ORDER BY repo, id", values![])? {
        let post: Post = rows::entity(&row, 0)?;
        add(&post.repo, &post.id, post.seq, post.places());
    }
    for row in link.query("SELECT body FROM memories ORDER BY repo, number", values![])? {
        let memory: Memory = rows::entity(&row, 0)?;
        add(&memory.repo, &PostId::of_memory(memory.id), memory.source.event, memory.places());
    }
    let wrong = stored.symmetric_difference(&wanted).count();
    Ok((wrong != 0).then(|| format!("{wrong} {MISPLACED}")).into_iter().collect())
}

const MISPLACED: &str = "places of posts and memories differ from their content";
const ALL_PLACES: &str =
    "SELECT repo, place, seq, id FROM post_places ORDER BY repo, place, seq, id";
