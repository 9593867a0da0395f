//! Memories with the words they are found by, and directives.

use super::error::DbError;
use super::link::{Link, Op, arrays, values};
use super::sql;
use super::write::{Dirty, Writer, bodies, numbered};
use crate::rows::{self, signed};
use crate::term_search::{end_of_prefix, with_every_term};
use crate::{DirectiveQuery, MemoryQuery};
use comity_core::directive::Directive;
use comity_core::ids::{MemoryId, RepoName};
use comity_core::memory::{Memory, MemoryType};
use comity_core::search::Term;
use std::collections::BTreeSet;
use tokio_postgres::Row;

/// Memories compared with their words at a time.
const COMPARED: i64 = 1_000;

pub(super) fn memories(link: &Link, query: &MemoryQuery) -> Result<Vec<Memory>, DbError> {
    let filter = &query.filter;
    // Rows may be dropped below only where there are tags; then the limit is kept there.
    let most = if filter.tags.is_empty() { rows::limit(query.limit) } else { i64::MAX };
    let given = values![
        query.repo.as_str().to_owned(),
        signed(query.after.map_or(0, |id| id.0)),
        most,
        filter.kind.map(|kind| MemoryType::as_str(kind).to_owned()),
        filter.scope.clone(),
        filter.all,
    ];
    let found = link.query(sql::MEMORIES, given)?;
    let mut all: Vec<Memory> =
        found.iter().map(|row| rows::entity(row, 0)).collect::<Result<_, _>>()?;
    all.retain(|memory| filter.fits(memory));
    all.truncate(query.limit);
    Ok(all)
}

pub(super) fn memories_with(
    link: &Link,
    repo: &RepoName,
    terms: &[Term],
    limit: usize,
) -> Result<Vec<MemoryId>, DbError> {
    let repo = repo.as_str();
    let ops: Vec<Op> = terms
        .iter()
        .map(|term| match term {
            Term::Stem(word) => {
                Op::new(sql::MEMORIES_OF_WORD, values![repo.to_owned(), word.clone()])
            }
            Term::Prefix(word) => {
                let given = values![repo.to_owned(), word.clone(), end_of_prefix(word)];
                Op::new(sql::MEMORIES_OF_PREFIX, given)
            }
        })
        .collect();
    let mut found = link.together(None, &ops, None)?.into_iter();
    with_every_term(terms, limit, |_| {
        let list = found.next().unwrap_or_default();
        list.iter().map(|row| rows::number(row, 0).map(MemoryId)).collect()
    })
}

pub(super) fn directives(link: &Link, query: &DirectiveQuery) -> Result<Vec<Directive>, DbError> {
    let after = signed(query.after.map_or(0, |id| id.0));
    let given = values![query.repo.as_str().to_owned(), after, rows::limit(query.limit)];
    link.query(sql::DIRECTIVES_BY_NUMBER, given)?.iter().map(|row| rows::entity(row, 0)).collect()
}

impl Writer<'_> {
    pub(super) fn memories(&mut self, list: &[Dirty<'_, Memory>]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, m =>
            m.repo.as_str().to_owned(), signed(m.id.0), m.kind.as_str().to_owned(),
            m.scope.clone(), m.superseded_by.is_some(), m.due,
        ];
        given.push(bodies(list.iter().map(|m| m.it))?);
        self.add(sql::SET_MEMORIES, given);
        self.mend_due(sql::MEND_MEMORIES_DUE, list);
        let (mut repos, mut words, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for memory in list {
            for word in memory.terms() {
                repos.push(memory.repo.as_str().to_owned());
                words.push(word);
                numbers.push(signed(memory.id.0));
            }
        }
        let (of, which) = numbered(list.iter().map(|m| (&m.repo, m.id.0)));
        let given = values![of, which, repos.clone(), words.clone(), numbers.clone()];
        self.add(sql::DELETE_OTHER_WORDS, given);
        self.add(sql::ADD_WORDS, values![repos, words, numbers]);
        self.memory_places(list.iter().map(|memory| memory.it));
        Ok(())
    }

    pub(super) fn directives(&mut self, list: &[Dirty<'_, Directive>]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, d =>
            d.repo.as_str().to_owned(), signed(d.id.0), d.due];
        given.push(bodies(list.iter().map(|d| d.it))?);
        self.add(sql::SET_DIRECTIVES, given);
        self.mend_due(sql::MEND_DIRECTIVES_DUE, list);
        Ok(())
    }
}

/// Says which memories have columns or words that differ from their bodies.
pub(super) fn mismatches(link: &Link) -> Result<Vec<String>, DbError> {
    let mut found = Vec::new();
    let (mut repo, mut number) = (String::new(), 0_i64);
    loop {
        let page = link.query(MEMORIES_AND_WORDS, values![repo.clone(), number, COMPARED])?;
        for row in &page {
            let memory: Memory = rows::entity(row, 0)?;
            if !is_found(&memory, row)? {
                let (id, of) = (memory.id, &memory.repo);
                found.push(format!(
                    "memory {id} of {of}: its columns or search words differ from its content"
                ));
            }
            (repo, number) = (memory.repo.as_str().to_owned(), signed(memory.id.0));
        }
        if page.is_empty() {
            break;
        }
    }
    let lost = link.query(LOST_WORDS, values![])?;
    let problem = |row: &Row| {
        let (of, number): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(format!("memory M{number} of {of}: its search words are stored, but the memory is gone"))
    };
    found.extend(lost.iter().map(problem).collect::<Result<Vec<_>, DbError>>()?);
    Ok(found)
}

fn is_found(memory: &Memory, row: &Row) -> Result<bool, DbError> {
    let (kind, scope): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
    let superseded: bool = row.try_get(3)?;
    let words: Vec<String> = row.try_get(4)?;
    Ok(kind == memory.kind.as_str()
        && scope == memory.scope
        && superseded == memory.superseded_by.is_some()
        && words.into_iter().collect::<BTreeSet<_>>() == memory.terms())
}

const MEMORIES_AND_WORDS: &str = "SELECT m.body, m.kind, m.scope, m.superseded, ARRAY(
        SELECT w.word FROM memory_words w WHERE w.repo = m.repo AND w.memory = m.number)
    FROM memories m WHERE (m.repo, m.number) > ($1, $2) ORDER BY m.repo, m.number LIMIT $3";
const LOST_WORDS: &str = "SELECT DISTINCT w.repo, w.memory FROM memory_words w WHERE NOT EXISTS (
    SELECT 1 FROM memories m WHERE m.repo = w.repo AND m.number = w.memory) LIMIT 100";
