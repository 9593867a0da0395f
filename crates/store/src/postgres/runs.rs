//! Runs and budgets.

use super::error::DbError;
use super::link::{Link, arrays, values};
use super::sql;
use super::write::{Dirty, Writer, bodies};
use crate::RunQuery;
use crate::rows::{self, signed};
use comity_core::budget::{Budget, Scope};
use comity_core::ids::RepoName;
use comity_core::run::Run;

pub(super) fn runs(link: &Link, query: &RunQuery) -> Result<Vec<Run>, DbError> {
    let (repo, limit) = (query.repo.as_str().to_owned(), rows::limit(query.limit));
    let after = signed(query.after.map_or(0, |id| id.0));
    let found = match &query.task {
        Some(task) => {
            let given = values![repo, after, limit, task.as_str().to_owned(), query.live_only];
            link.query(sql::RUNS_OF_TASK, given)?
        }
        None if query.live_only => link.query(sql::RUNS_LIVE, values![repo, after, limit])?,
        None => link.query(sql::RUNS_BY_NUMBER, values![repo, after, limit])?,
    };
    found.iter().map(|row| rows::entity(row, 0)).collect()
}

pub(super) fn budgets(
    link: &Link,
    repo: &RepoName,
    after: Option<&Scope>,
    limit: usize,
) -> Result<Vec<Budget>, DbError> {
    let after = after.map_or("", Scope::as_str).to_owned();
    let given = values![repo.as_str().to_owned(), after, rows::limit(limit)];
    link.query(sql::BUDGETS_OF_REPO, given)?.iter().map(|row| rows::entity(row, 0)).collect()
}

impl Writer<'_> {
    pub(super) fn runs(&mut self, list: &[Dirty<'_, Run>]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, run =>
            run.repo.as_str().to_owned(), signed(run.id.0), run.task.as_str().to_owned(),
            run.state.is_live(), run.due,
        ];
        given.push(bodies(list.iter().map(|run| run.it))?);
        self.add(sql::SET_RUNS, given);
        self.mend_due(sql::MEND_RUNS_DUE, list);
        Ok(())
    }

    pub(super) fn budgets(&mut self, list: &[&Budget]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, it =>
            it.repo.as_str().to_owned(), it.scope.as_str().to_owned()];
        given.push(bodies(list.iter().copied())?);
        self.add(sql::SET_BUDGETS, given);
        Ok(())
    }
}
