//! What doors keep beside the log: rows of a space, read and changed in one transaction.
//! And the log as it is stored, for doors that say elsewhere what happened.

use crate::service::Service;
use comity_core::chain::Stored;
use comity_core::facts::Facts;
use comity_core::ids::{RepoName, Seq, TaskId};
use comity_core::refusal::Refusal;
use comity_store::{Changes, EventQuery, ReadTx, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// Rows that are read at once.
const PAGE: usize = 2_000;

/// The rows of a space.
pub type KeptRows = BTreeMap<String, Vec<u8>>;

/// Changes of rows; a row without a value is removed.
pub type KeptChanges = Vec<(String, Option<Vec<u8>>)>;

impl Service {
    /// Returns the rows of a space.
    pub fn kept(&self, space: &str) -> Result<KeptRows, Refusal> {
        self.read_stored(|tx| rows_of(tx, space))
    }

    /// Changes the rows of a space by what is there: nobody changes them in between.
    pub fn change_kept<T: Send + 'static>(
        &self,
        space: &str,
        change: impl FnOnce(&KeptRows) -> (KeptChanges, T) + Send + 'static,
    ) -> Result<T, Refusal> {
        let space = space.to_owned();
        self.with_store(move |store| {
            let mut tx = store.write()?;
            let (changes, answer) = change(&rows_of(tx.as_mut(), &space)?);
            if changes.is_empty() {
                return Ok(answer);
            }
            let rows = changes.into_iter().map(|(key, value)| (space.clone(), key, value));
            let kept: Vec<_> = rows.collect();
            let (facts, dirty, due) = (Facts::default(), BTreeSet::new(), BTreeMap::new());
            let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
            tx.commit(Changes { events: &[], rows, presence: &[], saved: &[], kept: &kept })?;
            Ok(answer)
        })
    }
}

pub(crate) fn rows_of(tx: &mut dyn ReadTx, space: &str) -> Result<KeptRows, Refusal> {
    let mut rows = KeptRows::new();
    let mut after = (space.to_owned(), String::new());
    loop {
        let page = tx.kept_rows(Some(&after), PAGE)?;
        let (found, count) = (rows.len(), page.len());
        for (of, key, value) in page {
            if of == space {
                after.1.clone_from(&key);
                rows.insert(key, value);
            }
        }
        if rows.len() - found < PAGE || count < PAGE {
            return Ok(rows);
        }
    }
}

/// Events that are read at once.
const EVENTS_PAGE: usize = 1_000;

impl Service {
    /// Returns the events of a repository after a place, so many at most, as they are stored.
    pub fn log_after(&self, repo: &RepoName, after: Seq) -> Result<Vec<Stored>, Refusal> {
        let query = EventQuery {
            repo: Some(repo.clone()),
            after,
            limit: EVENTS_PAGE,
            ..EventQuery::default()
        };
        self.read_stored(|tx| Ok(tx.events(&query)?))
    }

    /// Returns the events of a task before a place, the newest first.
    pub fn log_of_task_before(
        &self,
        repo: &RepoName,
        task: &TaskId,
        before: Seq,
    ) -> Result<Vec<Stored>, Refusal> {
        let query = EventQuery {
            repo: Some(repo.clone()),
            task: Some(task.clone()),
            before: Some(before),
            limit: EVENTS_PAGE,
            ..EventQuery::default()
        };
        self.read_stored(|tx| Ok(tx.events(&query)?))
    }

    /// Returns the first event of the log: it tells this store from every other.
    pub fn first_event(&self) -> Result<Option<Stored>, Refusal> {
        let query = EventQuery { limit: 1, ..EventQuery::default() };
        Ok(self.read_stored(|tx| Ok(tx.events(&query)?))?.pop())
    }
}
