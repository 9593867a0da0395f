//! Runs and budgets.

use super::error::DbError;
use super::query::collect;
use super::sql;
use super::write::run as execute;
use crate::RunQuery;
use crate::rows::{self, json, signed};
use comity_core::budget::{Budget, Scope};
use comity_core::ids::RepoName;
use comity_core::run::Run;
use comity_core::time::Timestamp;
use rusqlite::{Connection, params};

pub(super) fn runs(conn: &Connection, query: &RunQuery) -> Result<Vec<Run>, DbError> {
    let (repo, limit) = (query.repo.as_str(), rows::limit(query.limit));
    let after = signed(query.after.map_or(0, |id| id.0));
    match &query.task {
        Some(task) => {
            let given = params![repo, after, limit, task.as_str(), query.live_only];
            collect(conn, sql::RUNS_OF_TASK, given, |row| rows::entity(row, 0))
        }
        None => {
            let text = if query.live_only { sql::RUNS_LIVE } else { sql::RUNS_BY_NUMBER };
            collect(conn, text, params![repo, after, limit], |row| rows::entity(row, 0))
        }
    }
}

pub(super) fn budgets(
    conn: &Connection,
    repo: &RepoName,
    after: Option<&Scope>,
    limit: usize,
) -> Result<Vec<Budget>, DbError> {
    let given = params![repo.as_str(), after.map_or("", Scope::as_str), rows::limit(limit)];
    collect(conn, sql::BUDGETS_OF_REPO, given, |row| rows::entity(row, 0))
}

pub(super) fn set_run(
    conn: &Connection,
    run: &Run,
    due: Option<Option<Timestamp>>,
) -> Result<(), DbError> {
    let given = params![
        run.repo.as_str(),
        signed(run.id.0),
        run.task.as_str(),
        run.state.is_live(),
        due.flatten().map(Timestamp::ms),
        json(run)?,
        due.is_some(),
    ];
    execute(conn, sql::SET_RUN, given)
}

pub(super) fn set_budget(conn: &Connection, budget: &Budget) -> Result<(), DbError> {
    let given = params![budget.repo.as_str(), budget.scope.as_str(), json(budget)?];
    execute(conn, sql::SET_BUDGET, given)
}
