//! A commit: events, rows, signs of life, saved answers, and what the clocks said, each kind as one
//! statement over arrays.

use super::error::DbError;
use super::link::{Link, Op, Value, arrays, values};
use super::sql;
use super::{TaskEdges, TaskRows};
use crate::commit_cache::CommitCache;
use crate::listing::{Place, PlaceId};
use crate::rows::{self, EntityKind, json, literal_prefix, signed};
use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::agent::{Agent, Counters};
use comity_core::budget::Budget;
use comity_core::decision::{Decision, DecisionState};
use comity_core::directive::Directive;
use comity_core::ids::{AgentId, Fence, RepoName, TaskId};
use comity_core::lease::{Lease, LeaseMode, PastLease};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::memory::Memory;
use comity_core::post::{Post, PostId};
use comity_core::role::Role;
use comity_core::run::Run;
use comity_core::state::Key;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// The meta row that keeps the last look at the clocks.
const CLOCK: &str = "clock";
/// How many rows of each kind one commit deletes at most, so that no commit pays for a long absence.
const PRUNED_MAX: i64 = 1_000;
/// A sign of life is of use only until the next one; kept a little, since deleting costs a write too.
const SIGNS_KEPT_MS: i64 = 60_000;
/// One commit in so many deletes what the last commits made void.
const PRUNE_EVERY: i64 = 64;
/// And what was missed then, once in so many: the whole is looked at, dead rows that an old snapshot keeps
/// included.
const PRUNE_ALL_EVERY: i64 = 8_192;
/// How far back the frequent deletion looks, in commits and in time.
const PRUNE_BACK: i64 = 4 * PRUNE_EVERY;
const PRUNE_BACK_MS: i64 = 2 * SIGNS_KEPT_MS;
/// Written in place of a due time, it leaves the stored time as it is.
pub(super) const KEEP: i64 = -1;

pub(super) struct Writer<'a> {
    pub(super) link: &'a Link,
    pub(super) cache: &'a CommitCache<TaskEdges>,
    /// The number that this commit will have.
    pub(super) commit: i64,
    pub(super) ops: Vec<Op>,
    written: TaskRows,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        link: &'a Link,
        cache: &'a CommitCache<TaskEdges>,
        commit: i64,
    ) -> Writer<'a> {
        Writer { link, cache, commit, ops: Vec::new(), written: TaskRows::new() }
    }

    pub(super) fn add(&mut self, text: &'static str, values: Vec<Value>) {
        self.ops.push(Op::new(text, values));
    }

    /// Returns the statements, and what they leave in the rows of tasks.
    pub(super) fn finish(self) -> (Vec<Op>, TaskRows) {
        (self.ops, self.written)
    }

    pub(super) fn changes(
        &mut self,
        changes: &Changes<'_>,
        now: Timestamp,
        note: Option<&ClockNote>,
    ) -> Result<(), DbError> {
        self.rows(&changes.rows)?;
        let corrected = crate::corrected(changes.events);
        if let Some(at) = corrected {
            self.add(sql::CORRECT_SIGNS, values![at.ms()]);
            self.add(sql::CORRECT_SAVED, values![at.ms()]);
            self.add(sql::DELETE_META, values![CLOCK.to_owned()]);
        }
        if !changes.saved.is_empty() {
            let given = arrays![changes.saved, it =>
                it.0.as_str().to_owned(), it.1.clone(), it.2.input.0.to_vec(), it.2.answer.clone(),
                it.2.at.ms(),
            ];
            self.add(sql::SET_SAVED, given);
        }
        self.kept_rows(changes.kept);
        if let Some(note) = note.filter(|_| corrected.is_none()) {
            self.add(sql::SET_META, values![CLOCK.to_owned(), json(note)?]);
        }
        if self.commit % PRUNE_ALL_EVERY == 0 {
            let saved_until = now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
            self.add(sql::PRUNE_SAVED, values![saved_until, PRUNED_MAX]);
            self.prune(now, 0, 0);
        } else if self.commit % PRUNE_EVERY == 0 {
            let since_ms = now.ms().saturating_sub(SIGNS_KEPT_MS + PRUNE_BACK_MS);
            self.prune(now, self.commit - PRUNE_BACK, since_ms);
        }
        Ok(())
    }

    /// Of several changes of one row the last one counts.
    fn kept_rows(&mut self, changes: &[(String, String, Option<Vec<u8>>)]) {
        let last: BTreeMap<(&String, &String), Option<&Vec<u8>>> =
            changes.iter().map(|(space, key, value)| ((space, key), value.as_ref())).collect();
        let (mut set, mut gone) = ((Vec::new(), Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for ((space, key), value) in last {
            if let Some(value) = value {
                set.0.push(space.clone());
                set.1.push(key.clone());
                set.2.push(value.clone());
            } else {
                gone.0.push(space.clone());
                gone.1.push(key.clone());
            }
        }
        if !set.0.is_empty() {
            self.add(sql::SET_KEPT, values![set.0, set.1, set.2]);
        }
        if !gone.0.is_empty() {
            self.add(sql::DELETE_KEPT, values![gone.0, gone.1]);
        }
    }

    /// Clears away counters and signs of life that newer ones have made void, from a commit and a time on.
    fn prune(&mut self, now: Timestamp, since_commit: i64, since_ms: i64) {
        self.add(sql::PRUNE_REPOS, values![since_commit, self.commit]);
        let void_before = now.ms().saturating_sub(SIGNS_KEPT_MS);
        let old_before = now.ms().saturating_sub(PRESENCE_LIFE.ms());
        let given = values![void_before, old_before, PRUNED_MAX * 10, since_ms];
        self.add(sql::PRUNE_SIGNS, given);
    }

    /// Adds the statement that a commit ends with; it answers the number of the commit.
    pub(super) fn end(&mut self, changes: &Changes<'_>, channel: &str) {
        let mut given = arrays![changes.events, event =>
            signed(event.seq.0), event.ts.ms(), event.event.clone(), i64::from(event.v),
            event.repo.clone(), event.agent.clone(), event.task.clone(), event.body.clone(),
            event.body_hash.0.to_vec(), event.hash.0.to_vec(),
        ];
        given.extend(arrays![changes.presence, it =>
            it.0.as_str().to_owned(), signed(it.1.map_or(0, Fence::get)), it.2.ms(),
        ]);
        given.extend(values![channel.to_owned()]);
        self.add(sql::COMMITTED, given);
    }

    /// Writes each dirty row as the facts have it, and the due times of rows that are not dirty.
    pub(super) fn rows(&mut self, rows: &Rows<'_>) -> Result<(), DbError> {
        let due = |key: &Key| match rows.due.get(key) {
            Some(due) => due.map(Timestamp::ms),
            None => Some(KEEP),
        };
        let mut dirty = DirtyRows::default();
        for key in rows.dirty {
            dirty.sort(rows, key, due(key));
        }
        // First, since open dependencies are counted without them.
        self.gone(&dirty.gone);
        self.repos(&dirty.repos);
        self.agents(&dirty.agents)?;
        self.tasks(&dirty)?;
        self.leases(&dirty.leases);
        self.past_leases(&dirty.past_leases);
        self.decisions(&dirty.decisions)?;
        self.memories(&dirty.memories)?;
        self.directives(&dirty.directives)?;
        self.posts(&dirty.posts)?;
        self.runs(&dirty.runs)?;
        self.budgets(&dirty.budgets)?;
        self.moved(rows);
        Ok(())
    }

    /// Deletes the rows that the facts do not have any more, those of one kind together.
    fn gone(&mut self, keys: &[&Key]) {
        for keys in keys.chunk_by(|one, other| Place::of(one).kind == Place::of(other).kind) {
            let Some(kind) = keys.first().map(|key| Place::of(key).kind) else { continue };
            let beside = match kind {
                EntityKind::Task => &[sql::DELETE_DEPS, sql::DELETE_LABELS][..],
                EntityKind::Memory => &[sql::DELETE_WORDS],
                EntityKind::Post => &[sql::DELETE_PLACES],
                _ => &[],
            };
            for text in beside.iter().chain([&sql::by_key(kind).delete]) {
                self.add(text, places(keys));
            }
            let memory = |key: &&Key| match key {
                Key::Memory(repo, id) => Some((repo.clone(), PostId::of_memory(*id))),
                _ => None,
            };
            let memories: Vec<(RepoName, PostId)> = keys.iter().filter_map(memory).collect();
            if !memories.is_empty() {
                let given = arrays![memories, it =>
                    it.0.as_str().to_owned(), it.1.as_str().to_owned()];
                self.add(sql::DELETE_PLACES, given);
            }
        }
    }

    fn repos(&mut self, repos: &[(&RepoName, &Counters)]) {
        if repos.is_empty() {
            return;
        }
        let mut given = values![self.commit];
        given.extend(arrays![repos, it =>
            it.0.as_str().to_owned(), signed(it.1.tasks), signed(it.1.leases),
            signed(it.1.decisions), signed(it.1.memories), signed(it.1.directives),
            rows::fold_case(it.1), rows::seats(it.1),
        ]);
        self.add(sql::SET_REPOS, given);
    }

    fn agents(&mut self, agents: &[&Agent]) -> Result<(), DbError> {
        if agents.is_empty() {
            return Ok(());
        }
        let mut given = arrays![agents, agent => agent.id.as_str().to_owned()];
        given.push(bodies(agents.iter().copied())?);
        self.add(sql::SET_AGENTS, given);
        Ok(())
    }

    fn leases(&mut self, list: &[Dirty<'_, Lease>]) {
        if list.is_empty() {
            return;
        }
        let given = arrays![list, l =>
            l.repo.as_str().to_owned(), signed(l.id.0), literal_prefix(&l.path), l.path.clone(),
            l.mode == LeaseMode::Shared, l.owner.as_str().to_owned(), l.purpose.clone(),
            l.claim_of.as_ref().map(ToString::to_string), signed(l.fence.get()),
            l.acquired_at.ms(), l.renewed_at.ms(), l.ttl.ms(), l.due, l.late,
        ];
        self.add(sql::SET_LEASES, given);
        self.mend_due(sql::MEND_LEASES_DUE, list);
    }

    /// Forgets the marks of rows that are new, for which no due time was there to be kept.
    pub(super) fn mend_due<T>(&mut self, text: &'static str, list: &[Dirty<'_, T>]) {
        if list.iter().any(|it| it.due == Some(KEEP)) {
            self.add(text, values![]);
        }
    }

    fn past_leases(&mut self, list: &[&PastLease]) {
        if list.is_empty() {
            return;
        }
        let given = arrays![list, l =>
            l.repo.as_str().to_owned(), signed(l.id.0), literal_prefix(&l.path), signed(l.ended.0),
            l.path.clone(), l.mode == LeaseMode::Shared, l.owner.as_str().to_owned(),
            l.claim_of.as_ref().map(ToString::to_string), signed(l.fence.get()),
            l.acquired_at.ms(), l.late, l.ended_at.ms(), l.expired,
        ];
        self.add(sql::SET_PAST_LEASES, given);
    }

    fn decisions(&mut self, list: &[Dirty<'_, Decision>]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut given = arrays![list, d =>
            d.repo.as_str().to_owned(), signed(d.id.0), d.state == DecisionState::Open, d.due];
        given.push(bodies(list.iter().map(|d| d.it))?);
        self.add(sql::SET_DECISIONS, given);
        self.mend_due(sql::MEND_DECISIONS_DUE, list);
        Ok(())
    }

    /// Writes the due times of entities that are not dirty.
    fn moved(&mut self, rows: &Rows<'_>) {
        let (mut tasks, mut leases, mut decisions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut memories, mut directives, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for (key, due) in rows.due.iter().filter(|(key, _)| !rows.dirty.contains(*key)) {
            let due = due.map(Timestamp::ms);
            match key {
                Key::Task(repo, id) => tasks.push((repo, id.as_str().to_owned(), due)),
                Key::Lease(repo, id) => leases.push((repo, signed(id.0), due)),
                Key::Decision(repo, id) => decisions.push((repo, signed(id.0), due)),
                Key::Memory(repo, id) => memories.push((repo, signed(id.0), due)),
                Key::Directive(repo, id) => directives.push((repo, signed(id.0), due)),
                Key::Run(repo, id) => runs.push((repo, signed(id.0), due)),
                Key::Repo(_)
                | Key::Agent(_)
                | Key::Budget(..)
                | Key::PastLease(..)
                | Key::Post(..) => {}
            }
        }
        if !tasks.is_empty() {
            let given = columns(tasks);
            self.add(sql::SET_TASKS_DUE, values![given.0, given.1, given.2]);
        }
        for (text, list) in [
            (sql::SET_LEASES_DUE, leases),
            (sql::SET_DECISIONS_DUE, decisions),
            (sql::SET_MEMORIES_DUE, memories),
            (sql::SET_DIRECTIVES_DUE, directives),
            (sql::SET_RUNS_DUE, runs),
        ] {
            if !list.is_empty() {
                let given = columns(list);
                self.add(text, values![given.0, given.1, given.2]);
            }
        }
    }

    /// Writes tasks, their edges and labels, and the cached counts of open dependencies that may have
    /// changed: a task's own edges did, or a task it depends on became done or stopped being so.
    fn tasks(&mut self, dirty: &DirtyRows<'_>) -> Result<(), DbError> {
        let gone: Vec<(&RepoName, &TaskId)> = dirty
            .gone
            .iter()
            .filter_map(|key| match key {
                Key::Task(repo, id) => Some((repo, id)),
                _ => None,
            })
            .collect();
        if dirty.tasks.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let before = self.before(dirty)?;
        let (mut edges, mut labels, mut turned) = (Vec::new(), Vec::new(), gone);
        for Dirty { it: task, .. } in &dirty.tasks {
            let key = Key::Task(task.repo.clone(), task.id.clone());
            let old = self.cache.row(&key).or_else(|| before.get(&key));
            let done = task.status == comity_core::status::Status::Done;
            if old.map_or(done, |old| old.done != done) {
                turned.push((&task.repo, &task.id));
            }
            if old.map_or(!task.dependencies.is_empty(), |o| o.dependencies != task.dependencies) {
                edges.push(*task);
            }
            if old.map_or(!task.labels.is_empty(), |old| old.labels != task.labels) {
                labels.push(*task);
            }
            self.written.insert(key, TaskEdges::of(task));
        }
        self.set_tasks(&dirty.tasks)?;
        self.set_labels(&labels);
        self.set_edges(&edges, &turned);
        Ok(())
    }

    /// Reads the stored rows of tasks that no rule has loaded. Only a rebuild writes such tasks.
    fn before(&self, dirty: &DirtyRows<'_>) -> Result<TaskRows, DbError> {
        let key = |task: &Task| Key::Task(task.repo.clone(), task.id.clone());
        let unknown = dirty.tasks.iter().filter(|task| self.cache.row(&key(task)).is_none());
        let unknown: Vec<(&RepoName, &TaskId)> = unknown.map(|t| (&t.it.repo, &t.it.id)).collect();
        if unknown.is_empty() {
            return Ok(TaskRows::new());
        }
        let (repos, ids) = named(unknown.into_iter());
        let found = self.link.query(sql::TASKS_STORED, values![repos, ids])?;
        let read = |row| {
            let task: Task = rows::entity(row, 1)?;
            Ok((Key::Task(task.repo.clone(), task.id.clone()), TaskEdges::of(&task)))
        };
        found.iter().map(read).collect()
    }

    fn set_tasks(&mut self, list: &[Dirty<'_, Task>]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let text = |name: Option<&AgentId>| name.map(|name| name.as_str().to_owned());
        let mut given = arrays![list, t =>
            t.repo.as_str().to_owned(), t.id.as_str().to_owned(), signed(t.number),
            t.status.as_str().to_owned(), i32::from(t.priority.rank()),
            t.role.map(|role| Role::as_str(role).to_owned()), text(t.assignee.as_ref()),
            t.initiative.clone(), t.parent.as_ref().map(ToString::to_string),
            text(t.claim.as_ref().map(|claim| &claim.agent)),
            t.claim.as_ref().map(|claim| signed(claim.fence.get())),
            text(t.preferred.as_ref()), t.due,
        ];
        given.push(bodies(list.iter().map(|t| t.it))?);
        self.add(sql::SET_TASKS, given);
        self.mend_due(sql::MEND_TASKS_DUE, list);
        Ok(())
    }

    fn set_labels<'t>(&mut self, tasks: &[&'t Task]) {
        if tasks.is_empty() {
            return;
        }
        let (repos, ids) = named(tasks.iter().map(|task| (&task.repo, &task.id)));
        self.add(sql::DELETE_LABELS, values![repos, ids]);
        let each =
            |task: &&'t Task| task.labels.iter().map(|label| (*task, label)).collect::<Vec<_>>();
        let each: Vec<(&Task, &String)> = tasks.iter().flat_map(each).collect();
        let given = arrays![each, it =>
            it.0.repo.as_str().to_owned(), it.1.clone(), signed(it.0.number),
            it.0.id.as_str().to_owned(),
        ];
        self.add(sql::ADD_LABELS, given);
    }

    fn set_edges<'t>(&mut self, tasks: &[&'t Task], turned: &[(&RepoName, &TaskId)]) {
        if !tasks.is_empty() {
            let (repos, ids) = named(tasks.iter().map(|task| (&task.repo, &task.id)));
            self.add(sql::DELETE_DEPS, values![repos, ids]);
            let each = |task: &&'t Task| {
                task.dependencies.iter().map(|on| (*task, on)).collect::<Vec<_>>()
            };
            let each: Vec<(&Task, &TaskId)> = tasks.iter().flat_map(each).collect();
            let given = arrays![each, it =>
                it.0.repo.as_str().to_owned(), it.0.id.as_str().to_owned(),
                it.1.as_str().to_owned()];
            self.add(sql::ADD_DEPS, given);
        }
        if !tasks.is_empty() || !turned.is_empty() {
            let own = named(tasks.iter().map(|task| (&task.repo, &task.id)));
            let turned = named(turned.iter().copied());
            self.add(sql::SET_WAITS, values![own.0, own.1, turned.0, turned.1]);
        }
    }
}

/// An entity that changed, and when its time may be up.
pub(super) struct Dirty<'r, T> {
    pub(super) it: &'r T,
    pub(super) due: Option<i64>,
}

impl<T> std::ops::Deref for Dirty<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.it
    }
}

#[derive(Default)]
struct DirtyRows<'r> {
    repos: Vec<(&'r RepoName, &'r Counters)>,
    agents: Vec<&'r Agent>,
    tasks: Vec<Dirty<'r, Task>>,
    leases: Vec<Dirty<'r, Lease>>,
    decisions: Vec<Dirty<'r, Decision>>,
    past_leases: Vec<&'r PastLease>,
    memories: Vec<Dirty<'r, Memory>>,
    directives: Vec<Dirty<'r, Directive>>,
    posts: Vec<&'r Post>,
    runs: Vec<Dirty<'r, Run>>,
    budgets: Vec<&'r Budget>,
    gone: Vec<&'r Key>,
}

impl<'r> DirtyRows<'r> {
    fn sort(&mut self, rows: &Rows<'r>, key: &'r Key, due: Option<i64>) {
        let state = &rows.facts.state;
        let found = match key {
            Key::Repo(repo) => state.repos.get(repo).map(|it| self.repos.push((repo, it))),
            Key::Agent(id) => state.agents.get(id).map(|it| self.agents.push(it)),
            Key::Task(repo, id) => {
                state.task(repo, id).map(|it| self.tasks.push(Dirty { it, due }))
            }
            Key::Lease(repo, id) => {
                state.leases.get(&(repo.clone(), *id)).map(|it| self.leases.push(Dirty { it, due }))
            }
            Key::Decision(repo, id) => state
                .decisions
                .get(&(repo.clone(), *id))
                .map(|it| self.decisions.push(Dirty { it, due })),
            Key::Memory(repo, id) => state
                .memories
                .get(&(repo.clone(), *id))
                .map(|it| self.memories.push(Dirty { it, due })),
            Key::Directive(repo, id) => state
                .directives
                .get(&(repo.clone(), *id))
                .map(|it| self.directives.push(Dirty { it, due })),
            Key::PastLease(repo, id) => {
                state.past_leases.get(&(repo.clone(), *id)).map(|it| self.past_leases.push(it))
            }
            Key::Post(repo, id) => {
                state.posts.get(&(repo.clone(), id.clone())).map(|it| self.posts.push(it))
            }
            Key::Run(repo, id) => {
                state.runs.get(&(repo.clone(), *id)).map(|it| self.runs.push(Dirty { it, due }))
            }
            Key::Budget(repo, of) => {
                state.budgets.get(&(repo.clone(), of.clone())).map(|it| self.budgets.push(it))
            }
        };
        // Counters are never taken back.
        if found.is_none() && !matches!(key, Key::Repo(_)) {
            self.gone.push(key);
        }
    }
}

/// Returns entities as the arrays of bodies that the statements take.
pub(super) fn bodies<'e, T: Serialize + 'e>(
    list: impl Iterator<Item = &'e T>,
) -> Result<Value, DbError> {
    Ok(Box::new(list.map(json).collect::<Result<Vec<String>, _>>()?))
}

/// Returns the columns of keys of one kind.
fn places(keys: &[&Key]) -> Vec<Value> {
    let (mut names, mut ids, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for place in keys.iter().map(|key| Place::of(key)) {
        names.push(place.name.to_owned());
        match place.id {
            PlaceId::None => {}
            PlaceId::Text(id) => ids.push(id.to_owned()),
            PlaceId::Number(number) => numbers.push(signed(number)),
        }
    }
    let mut given = values![names];
    if !ids.is_empty() {
        given.extend(values![ids]);
    }
    if !numbers.is_empty() {
        given.extend(values![numbers]);
    }
    given
}

fn named<'r>(list: impl Iterator<Item = (&'r RepoName, &'r TaskId)>) -> (Vec<String>, Vec<String>) {
    list.map(|(repo, id)| (repo.as_str().to_owned(), id.as_str().to_owned())).unzip()
}

pub(super) fn numbered<'r>(
    list: impl Iterator<Item = (&'r RepoName, u64)>,
) -> (Vec<String>, Vec<i64>) {
    list.map(|(repo, number)| (repo.as_str().to_owned(), signed(number))).unzip()
}

type Columns<T> = (Vec<String>, Vec<T>, Vec<Option<i64>>);

fn columns<T>(list: Vec<(&RepoName, T, Option<i64>)>) -> Columns<T> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for (repo, id, due) in list {
        columns.0.push(repo.as_str().to_owned());
        columns.1.push(id);
        columns.2.push(due);
    }
    columns
}
