//! Needs to facts. The statements of all needs of one call are sent together.

use super::TaskEdges;
use super::error::DbError;
use super::link::{Link, Op, values};
use super::query::at;
use super::sql;
use crate::PRESENCE_LIFE;
use crate::commit_cache::CommitCache;
use crate::listing::Place;
use crate::rows;
use comity_core::facts::{
    Entity, Facts, Need, PREFERRED_MAX, PREFIX_MATCHES_MAX, Presence, WAITING_COUNT_MAX,
    candidate_page,
};
use comity_core::ids::{AgentId, RepoName, Seq, TaskId};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::pattern::surely_apart;
use comity_core::state::Key;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;

/// Answers needs through one connection, as of one time.
pub(super) struct Loader<'a> {
    pub(super) link: &'a Link,
    pub(super) now: Timestamp,
    pub(super) cache: Option<&'a RefCell<CommitCache<TaskEdges>>>,
}

impl Loader<'_> {
    /// Answers needs, in one round trip but for those that follow from one another. What every claim of a
    /// batch asks for is asked once for all of them.
    pub(super) fn load(&self, needs: &[&Need], facts: &mut Facts) -> Result<(), DbError> {
        let mut ops = Vec::new();
        let mut asked: Vec<(&Need, usize)> = Vec::new();
        let mut preferred: BTreeMap<&RepoName, Vec<&AgentId>> = BTreeMap::new();
        let mut near: BTreeMap<&RepoName, Vec<&str>> = BTreeMap::new();
        for need in needs {
            match need {
                Need::Preferred(repo, agent) => preferred.entry(repo).or_default().push(agent),
                Need::LeasesNear(repo, prefix) => near.entry(repo).or_default().push(prefix),
                need => {
                    let before = ops.len();
                    self.ask(need, facts, &mut ops);
                    asked.push((need, ops.len() - before));
                }
            }
        }
        ops.extend(preferred.iter().flat_map(|(repo, agents)| tasks_meant_for(repo, agents)));
        ops.extend(near.iter().map(|(repo, prefixes)| leases_near(repo, prefixes)));
        let mut found = self.link.together(None, &ops, None)?.into_iter();
        for (need, count) in asked {
            let results: Vec<Vec<Row>> = found.by_ref().take(count).collect();
            self.answer(need, &results, facts)?;
        }
        for (repo, _) in preferred {
            self.tasks(repo, &found.next().unwrap_or_default(), facts)?;
            self.tasks(repo, &found.next().unwrap_or_default(), facts)?;
        }
        for (_, prefixes) in near {
            leases(&found.next().unwrap_or_default(), &prefixes, facts)?;
        }
        let grouped = |need: &&&Need| matches!(need, Need::Preferred(..) | Need::LeasesNear(..));
        needs.iter().filter(grouped).for_each(|need| facts.mark_answered((*need).clone()));
        Ok(())
    }

    fn oldest_sign(&self) -> i64 {
        self.now.ms().saturating_sub(PRESENCE_LIFE.ms())
    }

    /// Puts in what is in the cache, and adds statements for the rest.
    fn ask(&self, need: &Need, facts: &mut Facts, ops: &mut Vec<Op>) {
        let text = |text: &str| text.to_owned();
        match need {
            Need::Entity(key) => self.ask_entity(key, facts, ops),
            Need::TaskNumber(repo, number) => {
                let given = values![text(repo.as_str()), rows::signed(*number)];
                ops.push(Op::new(sql::TASKS_BY_NUMBER, given));
            }
            Need::TaskPrefix(repo, prefix) => {
                let most = rows::limit(PREFIX_MATCHES_MAX);
                let given = values![text(repo.as_str()), prefix.clone(), most];
                ops.push(Op::new(sql::TASKS_BY_PREFIX, given));
            }
            Need::Candidates(repo, after) => {
                let (rank, number) =
                    after.map_or((-1, 0), |(r, n)| (i32::from(r), rows::signed(n)));
                let most = rows::limit(candidate_page(*after));
                let given = values![text(repo.as_str()), rank, number, most];
                ops.push(Op::new(sql::CANDIDATES, given));
            }
            Need::HeldNear(repo, after, paths) => {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                ops.push(leases_near(repo, &paths));
                ops.push(past_leases_near(repo, *after, &paths));
            }
            Need::LeasesOf(repo, owner) => {
                let given = values![text(repo.as_str()), text(owner.as_str()), 0_i64, i64::MAX];
                ops.push(Op::new(sql::LEASES_BY_OWNER, given));
            }
            Need::Dependants(repo, id) => {
                let given = values![text(repo.as_str()), text(id.as_str())];
                ops.push(Op::new(sql::DEPENDANTS, given));
            }
            Need::Children(repo, id) => {
                let given = values![text(repo.as_str()), text(id.as_str())];
                ops.push(Op::new(sql::TASKS_BY_PARENT, given));
            }
            // Followed step by step, since the facts may know edges that are not stored yet.
            Need::Closure(..) => {}
            // Asked once for all, by `load`.
            Need::Preferred(..) | Need::LeasesNear(..) => {}
            Need::Waiting(repo) => {
                let given = values![text(repo.as_str()), rows::signed(WAITING_COUNT_MAX)];
                ops.push(Op::new(sql::WAITING, given));
            }
            Need::Saved(actor, key) => {
                let oldest = self.now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
                let given = values![text(actor.as_str()), key.clone(), oldest];
                ops.push(Op::new(sql::SAVED, given));
            }
        }
    }

    fn ask_entity(&self, key: &Key, facts: &mut Facts, ops: &mut Vec<Op>) {
        let cache = self.cache.and_then(|cache| cache.borrow_mut().take(key));
        let known = cache.is_some();
        if let Some(entity) = cache {
            facts.put(key.clone(), Some(entity));
        }
        if let Key::Agent(id) = key {
            let signs = self.cache.and_then(|cache| cache.borrow_mut().take_presence(id));
            match signs {
                Some(presence) if known => return facts.put_presence(id.clone(), presence),
                _ => {
                    let given = values![id.as_str().to_owned(), self.oldest_sign()];
                    ops.push(Op::new(sql::PRESENCE, given));
                }
            }
        }
        if facts.knows(key) {
            return;
        }
        let place = Place::of(key);
        ops.push(Op::new(sql::by_key(place.kind).find, at(&place)));
    }

    fn answer(&self, need: &Need, results: &[Vec<Row>], facts: &mut Facts) -> Result<(), DbError> {
        let first = results.first().map(Vec::as_slice).unwrap_or_default();
        match need {
            Need::Entity(key) => return self.answer_entity(key, results, facts),
            Need::TaskNumber(repo, _) => drop(self.tasks(repo, first, facts)?),
            Need::TaskPrefix(repo, prefix) => {
                let ids = self.tasks(repo, first, facts)?;
                facts.put_prefix(repo.clone(), prefix.clone(), ids);
            }
            Need::Candidates(repo, after) => {
                let mut places = Vec::new();
                for row in first {
                    let rank: i32 = row.try_get(2)?;
                    places.push((u8::try_from(rank).unwrap_or(u8::MAX), rows::number(row, 3)?));
                }
                self.tasks(repo, first, facts)?;
                facts.put_candidates(repo.clone(), *after, &places);
            }
            Need::LeasesOf(..) => leases(first, &[""], facts)?,
            Need::HeldNear(..) => {
                leases(first, &[""], facts)?;
                for row in results.get(1).into_iter().flatten() {
                    let lease = rows::past_lease(row)?;
                    let key = Key::PastLease(lease.repo.clone(), lease.id);
                    facts.put(key, Some(Entity::PastLease(Box::new(lease))));
                }
            }
            Need::Preferred(..) | Need::LeasesNear(..) => {}
            Need::Dependants(repo, id) => {
                let ids = self.tasks(repo, first, facts)?;
                facts.put_dependants(repo.clone(), id.clone(), ids);
            }
            Need::Children(repo, id) => {
                let ids = self.tasks(repo, first, facts)?;
                facts.put_children(repo.clone(), id.clone(), ids);
            }
            Need::Closure(repo, id) => self.closure(repo, id, facts)?,
            Need::Waiting(repo) => {
                let count = first.first().map_or(Ok(0), |row| rows::number(row, 0))?;
                facts.put_waiting(repo.clone(), count);
            }
            Need::Saved(actor, key) => {
                let saved = first.first().map(|row| rows::saved(row, 0)).transpose()?;
                facts.put_saved(actor.clone(), key.clone(), saved);
            }
        }
        facts.mark_answered(need.clone());
        Ok(())
    }

    fn answer_entity(
        &self,
        key: &Key,
        results: &[Vec<Row>],
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let mut results = results.iter();
        if let Key::Agent(id) = key
            && let Some(signs) = results.next()
        {
            facts.put_presence(id.clone(), presence(signs)?);
        }
        let Some(found) = results.next() else { return Ok(()) };
        let Some(row) = found.first() else {
            facts.put(key.clone(), None);
            return Ok(());
        };
        if let Key::Task(repo, id) = key {
            return self.task(repo.clone(), id.clone(), row, 1, facts);
        }
        let entity = rows::found(Place::of(key).kind, row)?;
        facts.put(key.clone(), Some(entity));
        Ok(())
    }

    /// Puts in tasks from rows of `id, body`, and returns their ids.
    fn tasks(
        &self,
        repo: &RepoName,
        found: &[Row],
        facts: &mut Facts,
    ) -> Result<Vec<TaskId>, DbError> {
        let mut ids = Vec::new();
        for row in found {
            let id = rows::task_id(row, 0)?;
            self.task(repo.clone(), id.clone(), row, 1, facts)?;
            ids.push(id);
        }
        Ok(ids)
    }

    /// A task that is known already is not decoded again.
    fn task(
        &self,
        repo: RepoName,
        id: TaskId,
        row: &Row,
        body_at: usize,
        facts: &mut Facts,
    ) -> Result<(), DbError> {
        let key = Key::Task(repo, id);
        if facts.knows(&key) {
            return Ok(());
        }
        let cache = self.cache.and_then(|cache| cache.borrow_mut().take(&key));
        let entity = match cache {
            Some(entity) => entity,
            None => {
                let task: Box<Task> = rows::entity(row, body_at)?;
                if let Some(cache) = self.cache {
                    cache.borrow_mut().note_row(key.clone(), TaskEdges::of(&task));
                }
                Entity::Task(task)
            }
        };
        facts.put(key, Some(entity));
        Ok(())
    }

    /// What the facts know of a task already counts, so that edges of this batch are followed too.
    fn closure(&self, repo: &RepoName, id: &TaskId, facts: &mut Facts) -> Result<(), DbError> {
        let mut open = vec![id.clone()];
        let mut seen: BTreeSet<TaskId> = open.iter().cloned().collect();
        while !open.is_empty() {
            let layer: Vec<Need> = open
                .iter()
                .map(|id| Need::Entity(Key::Task(repo.clone(), id.clone())))
                .filter(|need| !facts.has_answer(need))
                .collect();
            self.load(&layer.iter().collect::<Vec<_>>(), facts)?;
            let mut next = Vec::new();
            for id in open {
                let task = facts.state.task(repo, &id);
                for on in task.iter().flat_map(|task| &task.dependencies) {
                    if seen.insert(on.clone()) {
                        next.push(on.clone());
                    }
                }
            }
            open = next;
        }
        Ok(())
    }

    /// Returns the signs of life of agents, without those for one grant that are too old to count.
    pub(super) fn presences(&self, agents: &[&AgentId]) -> Result<Vec<Presence>, DbError> {
        let op = |agent: &&AgentId| {
            Op::new(sql::PRESENCE, values![agent.as_str().to_owned(), self.oldest_sign()])
        };
        let ops: Vec<Op> = agents.iter().map(op).collect();
        self.link.together(None, &ops, None)?.iter().map(|signs| presence(signs)).collect()
    }
}

fn presence(signs: &[Row]) -> Result<Presence, DbError> {
    let mut presence = Presence::default();
    signs.iter().try_for_each(|row| rows::sign(&mut presence, row))?;
    Ok(presence)
}

/// Finds the tasks that prefer agents, and those that reviews sent back to them.
fn tasks_meant_for(repo: &RepoName, agents: &[&AgentId]) -> [Op; 2] {
    let agents: Vec<String> = agents.iter().map(|agent| agent.as_str().to_owned()).collect();
    [sql::PREFERRED, sql::SENT_BACK].map(|text| {
        let given = values![repo.as_str().to_owned(), agents.clone(), rows::limit(PREFERRED_MAX)];
        Op::new(text, given)
    })
}

/// Finds leases at a prefix, above it, and below it: between `prefix/` and `prefix0`, since `0` follows `/`.
fn leases_near(repo: &RepoName, prefixes: &[&str]) -> Op {
    let repo = repo.as_str().to_owned();
    if prefixes.contains(&"") {
        return Op::new(sql::LEASES_OF_REPO, values![repo]);
    }
    let [at, low, high] = places_near(prefixes);
    Op::new(sql::LEASES_NEAR, values![repo, at, low, high])
}

/// Finds leases near paths that ended after a place in the log.
fn past_leases_near(repo: &RepoName, after: Seq, paths: &[&str]) -> Op {
    let (repo, after) = (repo.as_str().to_owned(), rows::signed(after.0));
    if paths.contains(&"") {
        return Op::new(sql::PAST_LEASES_OF_REPO, values![repo, after]);
    }
    let [at, low, high] = places_near(paths);
    Op::new(sql::PAST_LEASES_NEAR, values![repo, at, low, high, after])
}

/// Returns where patterns near some paths begin: exactly there, or between two texts.
fn places_near(prefixes: &[&str]) -> [Vec<String>; 3] {
    let at = rows::ways_to(prefixes).into_iter().map(str::to_owned).collect();
    let below = |end: char| prefixes.iter().map(|it| format!("{it}{end}")).collect::<Vec<_>>();
    [at, below('/'), below('0')]
}

/// Puts in leases, but for those that surely have nothing in common with any of these literal paths.
fn leases(found: &[Row], near: &[&str], facts: &mut Facts) -> Result<(), DbError> {
    for row in found {
        let path: &str = row.try_get(2)?;
        let repo = rows::repo(row, 0)?;
        let rule = facts.known_case_rule(&repo);
        if near.iter().all(|near| surely_apart(near, path, rule)) {
            continue;
        }
        let lease = rows::lease(row, repo)?;
        let key = Key::Lease(lease.repo.clone(), lease.id);
        facts.put(key, Some(Entity::Lease(Box::new(lease))));
    }
    Ok(())
}
