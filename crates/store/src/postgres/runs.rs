//! Runs and budgets.

use super::error::DbError;
use super::link::{Link, values};
use super::sql;
use super::write::{KEEP, Writer, json, numbered};
use crate::RunQuery;
use crate::rows::{self, signed};
use comity_core::budget::{Budget, Scope};
use comity_core::ids::{RepoName, RunId};
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

#[derive(Default)]
pub(super) struct DirtyRuns<'r> {
    pub(super) runs: Vec<(&'r Run, Option<i64>)>,
    pub(super) gone_runs: Vec<(&'r RepoName, RunId)>,
    pub(super) budgets: Vec<&'r Budget>,
    pub(super) gone_budgets: Vec<(&'r RepoName, &'r Scope)>,
}

impl Writer<'_> {
    pub(super) fn fleet(&mut self, dirty: &DirtyRuns<'_>) -> Result<(), DbError> {
        let list = &dirty.runs;
        if !list.is_empty() {
            let bodies = list.iter().map(|(run, _)| json(*run)).collect::<Result<Vec<_>, _>>()?;
            let given = values![
                list.iter().map(|(run, _)| run.repo.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(run, _)| signed(run.id.0)).collect::<Vec<_>>(),
                list.iter().map(|(run, _)| run.task.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(run, _)| run.state.is_live()).collect::<Vec<_>>(),
                list.iter().map(|(_, due)| *due).collect::<Vec<_>>(),
                bodies,
            ];
            self.add(sql::SET_RUNS, given);
            if list.iter().any(|(_, due)| *due == Some(KEEP)) {
                self.add(sql::MEND_RUNS_DUE, values![]);
            }
        }
        if !dirty.gone_runs.is_empty() {
            let (repos, numbers) = numbered(dirty.gone_runs.iter().map(|(r, id)| (*r, id.0)));
            self.add(sql::DELETE_RUNS, values![repos, numbers]);
        }
        if !dirty.budgets.is_empty() {
            let list = &dirty.budgets;
            let bodies = list.iter().map(|it| json(*it)).collect::<Result<Vec<_>, _>>()?;
            let given = values![
                list.iter().map(|it| it.repo.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|it| it.scope.as_str().to_owned()).collect::<Vec<_>>(),
                bodies,
            ];
            self.add(sql::SET_BUDGETS, given);
        }
        if !dirty.gone_budgets.is_empty() {
            let list = &dirty.gone_budgets;
            let repos: Vec<String> = list.iter().map(|(r, _)| r.as_str().to_owned()).collect();
            let scopes: Vec<String> = list.iter().map(|(_, s)| s.as_str().to_owned()).collect();
            self.add(sql::DELETE_BUDGETS, values![repos, scopes]);
        }
        Ok(())
    }
}
