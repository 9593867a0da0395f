//! Memories with the words they are found by, and directives.

use super::error::DbError;
use super::posts;
use super::query::collect;
use super::sql;
use super::write::run;
use crate::rows::{self, json, signed};
use crate::term_search::{end_of_prefix, with_every_term};
use crate::{DirectiveQuery, MemoryQuery};
use comity_core::directive::Directive;
use comity_core::ids::{MemoryId, RepoName};
use comity_core::memory::{Memory, MemoryType};
use comity_core::post::PostId;
use comity_core::search::Term;
use comity_core::time::Timestamp;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

pub(super) fn memories(conn: &Connection, query: &MemoryQuery) -> Result<Vec<Memory>, DbError> {
    let filter = &query.filter;
    let given = params![
        query.repo.as_str(),
        signed(query.after.map_or(0, |id| id.0)),
        filter.kind.map(MemoryType::as_str),
        filter.scope,
        filter.all,
    ];
    let mut statement = conn.prepare_cached(sql::MEMORIES)?;
    let mut found = statement.query(given)?;
    let mut all = Vec::new();
    while all.len() < query.limit {
        let Some(row) = found.next()? else { break };
        let memory: Memory = rows::entity(row, 0)?;
        if filter.fits(&memory) {
            all.push(memory);
        }
    }
    Ok(all)
}

pub(super) fn memories_with(
    conn: &Connection,
    repo: &RepoName,
    terms: &[Term],
    limit: usize,
) -> Result<Vec<MemoryId>, DbError> {
    with_every_term(terms, limit, |term| {
        let read = |row: &rusqlite::Row<'_>| rows::number(row, 0).map(MemoryId);
        match term {
            Term::Stem(word) => {
                collect(conn, sql::MEMORIES_OF_WORD, params![repo.as_str(), word], read)
            }
            Term::Prefix(word) => {
                let given = params![repo.as_str(), word, end_of_prefix(word)];
                collect(conn, sql::MEMORIES_OF_PREFIX, given, read)
            }
        }
    })
}

pub(super) fn directives(
    conn: &Connection,
    query: &DirectiveQuery,
) -> Result<Vec<Directive>, DbError> {
    let after = signed(query.after.map_or(0, |id| id.0));
    let given = params![query.repo.as_str(), after, rows::limit(query.limit)];
    collect(conn, sql::DIRECTIVES_BY_NUMBER, given, |row| rows::entity(row, 0))
}

pub(super) fn set_memory(
    conn: &Connection,
    memory: &Memory,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let (repo, number) = (memory.repo.as_str(), signed(memory.id.0));
    let given = params![
        repo,
        number,
        memory.kind.as_str(),
        memory.scope,
        memory.superseded_by.is_some(),
        due.flatten().map(Timestamp::ms),
        json(memory)?,
        due.is_some(),
    ];
    run(conn, sql::SET_MEMORY, given)?;
    let (stored, terms) = (words_of(conn, memory)?, memory.terms());
    for word in stored.difference(&terms) {
        run(conn, sql::DELETE_MEMORY_WORD, params![repo, word, number])?;
    }
    for word in terms.difference(&stored) {
        run(conn, sql::ADD_MEMORY_WORD, params![repo, word, number])?;
    }
    posts::set_memory(conn, memory)
}

pub(super) fn delete_words(
    conn: &Connection,
    repo: &RepoName,
    id: MemoryId,
) -> Result<(), DbError> {
    run(conn, sql::DELETE_MEMORY_WORDS, params![repo.as_str(), signed(id.0)])?;
    posts::delete_places(conn, repo, &PostId::of_memory(id))
}

pub(super) fn set_directive(
    conn: &Connection,
    directive: &Directive,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let given = params![
        directive.repo.as_str(),
        signed(directive.id.0),
        due.flatten().map(Timestamp::ms),
        json(directive)?,
        due.is_some(),
    ];
    run(conn, sql::SET_DIRECTIVE, given)
}

fn words_of(conn: &Connection, memory: &Memory) -> Result<BTreeSet<String>, DbError> {
    let given = params![memory.repo.as_str(), signed(memory.id.0)];
    Ok(collect(conn, sql::WORDS_OF_MEMORY, given, |row| Ok(row.get(0)?))?.into_iter().collect())
}

/// Counts the memories whose stored words differ from those in their bodies.
pub(super) fn misplaced(conn: &Connection) -> Result<usize, DbError> {
    let mut statement = conn.prepare("SELECT body FROM memories")?;
    let mut found = statement.query([])?;
    let mut wrong = 0;
    while let Some(row) = found.next()? {
        let memory: Memory = rows::entity(row, 0)?;
        wrong += usize::from(words_of(conn, &memory)? != memory.terms());
    }
    Ok(wrong)
}
