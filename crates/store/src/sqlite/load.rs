//! Needs to facts: each kind of need is one or a few searches by index.

use super::error::DbError;
use super::query::at;
use super::sql;
use super::task_row::TaskRow;
use crate::PRESENCE_LIFE;
use crate::commit_cache::CommitCache;
use crate::listing::Place;
use crate::rows;
use comity_core::facts::{
    Entity, Facts, Need, PREFERRED_MAX, PREFIX_MATCHES_MAX, Presence, Saved, WAITING_COUNT_MAX,
    candidate_page,
};
use comity_core::ids::{AgentId, RepoName, Seq, TaskId};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::pattern::surely_apart;
use comity_core::state::Key;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use rusqlite::{Connection, Params, Row, params};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Answers needs through one connection, as of one time.
pub(super) struct Loader<'a> {
    pub(super) conn: &'a Connection,
    pub(super) now: Timestamp,
    pub(super) cache: Option<&'a RefCell<CommitCache<TaskRow>>>,
}

impl Loader<'_> {
    pub(super) fn load(&self, need: &Need, facts: &mut Facts) -> Result<(), DbError> {
        match need {
            Need::Entity(key) => self.entity(key, facts)?,
            Need::TaskNumber(repo, number) => {
                let given = params![repo.as_str(), rows::signed(*number)];
                self.tasks_of(repo, sql::TASKS_BY_NUMBER, given, facts)?;
            }
            Need::TaskPrefix(repo, prefix) => {
                let most = rows::limit(PREFIX_MATCHES_MAX);
                let given = params![repo.as_str(), prefix, most];
                let ids = self.tasks_of(repo, sql::TASKS_BY_PREFIX, given, facts)?;
                facts.put_prefix(repo.clone(), prefix.clone(), ids);
            }
            Need::Candidates(repo, after) => self.candidates(repo, *after, facts)?,
            Need::Preferred(repo, agent) => {
                let given = params![repo.as_str(), agent.as_str(), rows::limit(PREFERRED_MAX)];
                self.tasks_of(repo, sql::PREFERRED, given, facts)?;
                self.tasks_of(repo, sql::SENT_BACK, given, facts)?;
            }
            Need::LeasesNear(repo, prefix) => self.leases_near(repo, prefix, facts)?,
            Need::HeldNear(repo, after, paths) => self.held_near(repo, *after, paths, facts)?,
            Need::LeasesOf(repo, owner) => {
                let given = params![repo.as_str(), owner.as_str(), 0, i64::MAX];
                self.leases_of(repo, "", sql::LEASES_BY_OWNER, given, facts)?;
            }
            Need::Dependants(repo, id) => {
                let given = params![repo.as_str(), id.as_str()];
                let ids = self.tasks_of(repo, sql::DEPENDANTS, given, facts)?;
                facts.put_dependants(repo.clone(), id.clone(), ids);
            }
            Need::Children(repo, id) => {
                let given = params![repo.as_str(), id.as_str()];
                let ids = self.tasks_of(repo, sql::TASKS_BY_PARENT, given, facts)?;
                facts.put_children(repo.clone(), id.clone(), ids);
            }
            Need::Closure(repo, id) => self.closure(repo, id, facts)?,
            Need::Waiting(repo) => {
                let given = params![repo.as_str(), rows::signed(WAITING_COUNT_MAX)];
                let mut statement = self.conn.prepare_cached(sql::WAITING)?;
                let count: i64 = statement.query_row(given, |row| row.get(0))?;
                facts.put_waiting(repo.clone(), count.unsigned_abs());
            }
            Need::Saved(actor, key) => {
                facts.put_saved(actor.clone(), key.clone(), self.saved(actor, key)?);
            }
        }
        // The kinds with an answer of their own were marked with it; once more is harmless.
        if !matches!(need, Need::Entity(_)) {
            facts.mark_answered(need.clone());
        }
        Ok(())
    }

    fn entity(&self, key: &Key, facts: &mut Facts) -> Result<(), DbError> {
        if facts.knows(key) {
            return Ok(());
        }
        facts.put(key.clone(), self.cached_or(key, || self.find(key))?);
        if let Key::Agent(id) = key {
            facts.put_presence(id.clone(), self.cached_presence(id)?);
        }
        Ok(())
    }

    /// Takes an entity from the cache, or finds it.
    fn cached_or(
        &self,
        key: &Key,
        find: impl FnOnce() -> Result<Option<Entity>, DbError>,
    ) -> Result<Option<Entity>, DbError> {
        let Some(cache) = self.cache else { return find() };
        let known = cache.borrow_mut().take(key);
        known.map_or_else(find, |entity| Ok(Some(entity)))
    }

    fn cached_presence(&self, agent: &AgentId) -> Result<Presence, DbError> {
        let Some(cache) = self.cache else { return self.presence(agent) };
        let known = cache.borrow_mut().take_presence(agent);
        known.map_or_else(|| self.presence(agent), Ok)
    }

    fn find(&self, key: &Key) -> Result<Option<Entity>, DbError> {
        let place = Place::of(key);
        let (mut statement, _) = at(self.conn, sql::by_key(place.kind).find, &place)?;
        let mut found = statement.raw_query();
        let Some(row) = found.next()? else { return Ok(None) };
        let is_task = matches!(key, Key::Task(..));
        let entity = if is_task { self.task(key, row, 0) } else { rows::found(place.kind, row) };
        entity.map(Some)
    }

    fn first<T>(
        &self,
        text: &str,
        given: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, DbError>,
    ) -> Result<Option<T>, DbError> {
        let mut statement = self.conn.prepare_cached(text)?;
        let mut found = statement.query(given)?;
        found.next()?.map(read).transpose()
    }

    /// Puts in the tasks that a statement finds as `id, body, rowid, due_at`; returns their ids.
    fn tasks_of(
        &self,
        repo: &RepoName,
        text: &str,
        given: impl Params,
        facts: &mut Facts,
    ) -> Result<Vec<TaskId>, DbError> {
        let mut statement = self.conn.prepare_cached(text)?;
        let mut found = statement.query(given)?;
        let mut ids = Vec::new();
        while let Some(row) = found.next()? {
            let id = rows::task_id(row, 0)?;
            self.put_task(facts, repo.clone(), id.clone(), row, 1)?;
            ids.push(id);
        }
        Ok(ids)
    }

    /// Puts in the leases that a statement finds, but for those that surely have nothing in common with
    /// a literal path: the ones that could lie anywhere are many, and reading them whole is dear.
    fn leases_of(
        &self,
        repo: &RepoName,
        near: &str,
        text: &str,
        given: impl Params,
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let rule = facts.known_case_rule(repo);
        let mut statement = self.conn.prepare_cached(text)?;
        let mut found = statement.query(given)?;
        while let Some(row) = found.next()? {
            // A path that is no text is damage, which reading the row reports.
            let path = row.get_ref(2)?.as_str().unwrap_or(".");
            if surely_apart(near, path, rule) {
                continue;
            }
            let lease = rows::lease(row, repo.clone())?;
            let key = Key::Lease(repo.clone(), lease.id);
            facts.put(key, Some(Entity::Lease(Box::new(lease))));
        }
        Ok(())
    }

    fn leases_near(&self, repo: &RepoName, prefix: &str, facts: &mut Facts) -> Result<(), DbError> {
        if prefix.is_empty() {
            return self.leases_of(repo, "", sql::LEASES_OF_REPO, params![repo.as_str()], facts);
        }
        for at in rows::ways_to(&[prefix]) {
            self.leases_of(repo, prefix, sql::LEASES_AT, params![repo.as_str(), at], facts)?;
        }
        self.leases_of(repo, prefix, sql::LEASES_BELOW, params![repo.as_str(), prefix], facts)
    }

    /// Puts in the leases near some paths: the live ones, and those that ended after a place in the log.
    fn held_near(
        &self,
        repo: &RepoName,
        after: Seq,
        paths: &[String],
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let (name, after) = (repo.as_str(), rows::signed(after.0));
        if paths.iter().any(String::is_empty) {
            self.leases_of(repo, "", sql::LEASES_OF_REPO, params![name], facts)?;
            return self.past_leases(sql::PAST_LEASES_OF_REPO, params![name, after], facts);
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for at in rows::ways_to(&paths) {
            self.leases_of(repo, "", sql::LEASES_AT, params![name, at], facts)?;
            self.past_leases(sql::PAST_LEASES_AT, params![name, at, after], facts)?;
        }
        for path in paths {
            self.leases_of(repo, "", sql::LEASES_BELOW, params![name, path], facts)?;
            self.past_leases(sql::PAST_LEASES_BELOW, params![name, path, after], facts)?;
        }
        Ok(())
    }

    fn past_leases(
        &self,
        text: &str,
        given: impl Params,
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let mut statement = self.conn.prepare_cached(text)?;
        let mut found = statement.query(given)?;
        while let Some(row) = found.next()? {
            let lease = rows::past_lease(row)?;
            let key = Key::PastLease(lease.repo.clone(), lease.id);
            facts.put(key, Some(Entity::PastLease(Box::new(lease))));
        }
        Ok(())
    }

    fn candidates(
        &self,
        repo: &RepoName,
        after: Option<(u8, u64)>,
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let (rank, number) = after.map_or((-1, 0), |(r, n)| (i64::from(r), rows::signed(n)));
        let given = params![repo.as_str(), rank, number, rows::limit(candidate_page(after))];
        let mut statement = self.conn.prepare_cached(sql::CANDIDATES)?;
        let mut found = statement.query(given)?;
        let mut places = Vec::new();
        while let Some(row) = found.next()? {
            places.push((row.get(1)?, rows::number(row, 2)?));
            self.put_task(facts, repo.clone(), rows::task_id(row, 0)?, row, 3)?;
        }
        facts.put_candidates(repo.clone(), after, &places);
        Ok(())
    }

    /// What the facts know of a task already counts, so that edges of this batch are followed too.
    fn closure(&self, repo: &RepoName, id: &TaskId, facts: &mut Facts) -> Result<(), DbError> {
        let mut open = vec![id.clone()];
        let mut seen: BTreeSet<TaskId> = open.iter().cloned().collect();
        while let Some(id) = open.pop() {
            self.entity(&Key::Task(repo.clone(), id.clone()), facts)?;
            let task = facts.state.task(repo, &id);
            for on in task.iter().flat_map(|task| &task.dependencies) {
                if seen.insert(on.clone()) {
                    open.push(on.clone());
                }
            }
        }
        Ok(())
    }

    /// Returns an agent's signs of life, without those for one grant that are too old to count.
    pub(super) fn presence(&self, agent: &AgentId) -> Result<Presence, DbError> {
        let oldest = self.now.ms().saturating_sub(PRESENCE_LIFE.ms());
        let mut statement = self.conn.prepare_cached(sql::PRESENCE)?;
        let mut found = statement.query(params![agent.as_str(), oldest])?;
        let mut presence = Presence::default();
        while let Some(row) = found.next()? {
            rows::sign(&mut presence, row)?;
        }
        Ok(presence)
    }

    /// Reads a task from its body, its rowid and its due time.
    fn task(&self, key: &Key, row: &Row<'_>, body_at: usize) -> Result<Entity, DbError> {
        let task: Box<Task> = rows::entity(row, body_at)?;
        if let Some(cache) = self.cache {
            let stored = TaskRow::of(&task, row.get(body_at + 1)?, row.get(body_at + 2)?);
            cache.borrow_mut().note_row(key.clone(), stored);
        }
        Ok(Entity::Task(task))
    }

    /// A task that is known already is not decoded again.
    fn put_task(
        &self,
        facts: &mut Facts,
        repo: RepoName,
        id: TaskId,
        row: &Row<'_>,
        body_at: usize,
    ) -> Result<(), DbError> {
        let key = Key::Task(repo, id);
        if facts.knows(&key) {
            return Ok(());
        }
        let task = self.cached_or(&key, || self.task(&key, row, body_at).map(Some))?;
        facts.put(key, task);
        Ok(())
    }

    fn saved(&self, actor: &AgentId, key: &str) -> Result<Option<Saved>, DbError> {
        let oldest = self.now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
        self.first(sql::SAVED, params![actor.as_str(), key, oldest], |row| rows::saved(row, 0))
    }
}
