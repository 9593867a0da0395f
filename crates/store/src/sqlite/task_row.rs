//! The row of a task, its edges and labels, and the cached count of open dependencies.
//!
//! The count of a task changes when its own edges change, or when a task it depends on becomes done
//! or stops being so. Both are noted while rows are written and settled once at the end.

use super::error::DbError;
use super::sql;
use super::write::run;
use crate::commit_cache::{self, CommitCache};
use crate::rows::{self, json};
use comity_core::ids::{Fence, RepoName, TaskId};
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use rusqlite::{Connection, Row, params};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct TaskWriter<'a> {
    conn: &'a Connection,
    cache: &'a CommitCache<TaskRow>,
    written: TaskRows,
    recount: BTreeSet<(RepoName, TaskId)>,
}

pub(super) type TaskRows = BTreeMap<Key, TaskRow>;

/// What the database holds of a task.
pub(super) struct TaskRow {
    rowid: i64,
    columns: Columns,
    dependencies: Vec<TaskId>,
    labels: Vec<String>,
}

/// The columns that tasks are found by. While they stay the same, no index has to be updated.
#[derive(PartialEq)]
struct Columns {
    number: i64,
    status: String,
    priority: u8,
    role: Option<String>,
    assignee: Option<String>,
    initiative: Option<String>,
    parent: Option<String>,
    holder: Option<String>,
    fence: Option<i64>,
    preferred: Option<String>,
    due_at: Option<i64>,
}

impl commit_cache::TaskRow for TaskRow {
    fn set_due(&mut self, due_at: Option<i64>) {
        self.columns.due_at = due_at;
    }
}

impl TaskRow {
    /// Makes the row of a task that was just read.
    pub(super) fn of(task: &Task, rowid: i64, due_at: Option<i64>) -> TaskRow {
        let (dependencies, labels) = (task.dependencies.clone(), task.labels.clone());
        TaskRow { rowid, columns: Columns::of(task, due_at), dependencies, labels }
    }
}

impl Columns {
    fn of(task: &Task, due_at: Option<i64>) -> Columns {
        let claim = task.claim.as_ref();
        Columns {
            number: rows::signed(task.number),
            status: task.status.as_str().to_owned(),
            priority: task.priority.rank(),
            role: task.role.map(Role::as_str).map(str::to_owned),
            assignee: task.assignee.as_ref().map(ToString::to_string),
            initiative: task.initiative.clone(),
            parent: task.parent.as_ref().map(ToString::to_string),
            holder: claim.map(|claim| claim.agent.to_string()),
            fence: claim.map(|claim| claim.fence).map(Fence::get).map(rows::signed),
            preferred: task.preferred.as_ref().map(ToString::to_string),
            due_at,
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Columns> {
        Ok(Columns {
            number: row.get(1)?,
            status: row.get(2)?,
            priority: row.get(3)?,
            role: row.get(4)?,
            assignee: row.get(5)?,
            initiative: row.get(6)?,
            parent: row.get(7)?,
            holder: row.get(8)?,
            fence: row.get(9)?,
            preferred: row.get(10)?,
            due_at: row.get(11)?,
        })
    }

    fn is_done(&self) -> bool {
        self.status == Status::Done.as_str()
    }
}

impl<'a> TaskWriter<'a> {
    pub(super) fn new(conn: &'a Connection, cache: &'a CommitCache<TaskRow>) -> TaskWriter<'a> {
        TaskWriter { conn, cache, written: TaskRows::new(), recount: BTreeSet::new() }
    }

    fn old(&self, repo: &RepoName, id: &TaskId) -> Result<Option<(i64, Columns)>, DbError> {
        let mut statement = self.conn.prepare_cached(sql::TASK_COLUMNS)?;
        let mut found = statement.query(params![repo.as_str(), id.as_str()])?;
        let Some(row) = found.next()? else { return Ok(None) };
        Ok(Some((row.get(0)?, Columns::read(row)?)))
    }

    /// Writes a task. `due` is none when the due time stays as it is.
    pub(super) fn write(
        &mut self,
        key: &Key,
        task: &Task,
        due: Option<Option<Timestamp>>,
    ) -> Result<(), DbError> {
        let known = self.cache.row(key);
        let read = if known.is_none() { self.old(&task.repo, &task.id)? } else { None };
        let old = known.map(|row| (row.rowid, &row.columns));
        let old = old.or(read.as_ref().map(|(rowid, columns)| (*rowid, columns)));
        let old_due = old.and_then(|(_, columns)| columns.due_at);
        let due_at = due.map_or(old_due, |due| due.map(Timestamp::ms));
        let columns = Columns::of(task, due_at);
        let was_done = old.is_some_and(|(_, columns)| columns.is_done());
        let rowid = match old {
            Some((rowid, before)) if *before == columns => {
                run(self.conn, sql::UPDATE_TASK_BODY, params![rowid, json(task)?])?;
                rowid
            }
            Some((rowid, _)) => {
                self.set(sql::UPDATE_TASK, Some(rowid), &columns, task)?;
                rowid
            }
            None => {
                self.set(sql::INSERT_TASK, None, &columns, task)?;
                self.conn.last_insert_rowid()
            }
        };
        if was_done != columns.is_done() {
            self.recount_dependants(&task.repo, &task.id)?;
        }
        if known.is_none_or(|row| row.dependencies != task.dependencies) {
            self.sync_dependencies(task, old.is_some())?;
        }
        if known.is_none_or(|row| row.labels != task.labels) {
            self.sync_labels(task, old.is_some())?;
        }
        let (dependencies, labels) = (task.dependencies.clone(), task.labels.clone());
        self.written.insert(key.clone(), TaskRow { rowid, columns, dependencies, labels });
        Ok(())
    }

    fn set(&self, text: &str, rowid: Option<i64>, c: &Columns, task: &Task) -> Result<(), DbError> {
        let given = params![
            task.repo.as_str(),
            task.id.as_str(),
            c.number,
            c.status,
            c.priority,
            c.role,
            c.assignee,
            c.initiative,
            c.parent,
            c.holder,
            c.fence,
            c.preferred,
            c.due_at,
            json(task)?,
            rowid,
        ];
        run(self.conn, text, given)
    }

    pub(super) fn delete(&mut self, repo: &RepoName, id: &TaskId) -> Result<(), DbError> {
        let was_done = self.old(repo, id)?.is_some_and(|(_, columns)| columns.is_done());
        let given = params![repo.as_str(), id.as_str()];
        run(self.conn, sql::DELETE_TASKS, given)?;
        run(self.conn, sql::DELETE_DEPS, given)?;
        run(self.conn, sql::DELETE_LABELS, given)?;
        if was_done { self.recount_dependants(repo, id) } else { Ok(()) }
    }

    fn words(&self, text: &str, task: &Task) -> Result<BTreeSet<String>, DbError> {
        let mut statement = self.conn.prepare_cached(text)?;
        let mut found = statement.query(params![task.repo.as_str(), task.id.as_str()])?;
        let mut words = BTreeSet::new();
        while let Some(row) = found.next()? {
            words.insert(row.get(0)?);
        }
        Ok(words)
    }

    fn sync_dependencies(&mut self, task: &Task, is_old: bool) -> Result<(), DbError> {
        let stored = if is_old { self.words(sql::DEPS_OF, task)? } else { BTreeSet::new() };
        let wanted: BTreeSet<String> = task.dependencies.iter().map(ToString::to_string).collect();
        if stored == wanted {
            return Ok(());
        }
        let (repo, id) = (task.repo.as_str(), task.id.as_str());
        run(self.conn, sql::DELETE_DEPS, params![repo, id])?;
        for on in &wanted {
            run(self.conn, sql::ADD_DEP, params![repo, id, on])?;
        }
        self.recount.insert((task.repo.clone(), task.id.clone()));
        Ok(())
    }

    fn sync_labels(&self, task: &Task, is_old: bool) -> Result<(), DbError> {
        let stored = if is_old { self.words(sql::LABELS_OF, task)? } else { BTreeSet::new() };
        let wanted: BTreeSet<String> = task.labels.iter().cloned().collect();
        if stored == wanted {
            return Ok(());
        }
        let (repo, id) = (task.repo.as_str(), task.id.as_str());
        run(self.conn, sql::DELETE_LABELS, params![repo, id])?;
        for label in &wanted {
            let given = params![repo, label, rows::signed(task.number), id];
            run(self.conn, sql::ADD_LABEL, given)?;
        }
        Ok(())
    }

    fn recount_dependants(&mut self, repo: &RepoName, id: &TaskId) -> Result<(), DbError> {
        let mut statement = self.conn.prepare_cached(sql::DEPENDANT_IDS)?;
        let mut found = statement.query(params![repo.as_str(), id.as_str()])?;
        while let Some(row) = found.next()? {
            self.recount.insert((repo.clone(), rows::task_id(row, 0)?));
        }
        Ok(())
    }

    /// Writes the counts that may have changed.
    pub(super) fn finish(self) -> Result<TaskRows, DbError> {
        for (repo, id) in &self.recount {
            run(self.conn, sql::SET_WAITS, params![repo.as_str(), id.as_str()])?;
        }
        Ok(self.written)
    }
}
