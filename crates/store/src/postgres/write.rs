//! A commit: events, rows, signs of life, saved answers, and what the clocks said, each kind as one
//! statement over arrays.

use super::error::DbError;
use super::link::{Link, Op, values};
use super::memories::DirtyMemories;
use super::posts::DirtyPosts;
use super::runs::DirtyRuns;
use super::sql;
use super::{TaskEdges, TaskRows};
use crate::commit_cache::CommitCache;
use crate::rows::{self, signed};
use crate::transaction_time::ClockNote;
use crate::{Changes, PRESENCE_LIFE, Rows};
use comity_core::decision::{Decision, DecisionState};
use comity_core::ids::{AgentId, DecisionId, Fence, LeaseId, RepoName, TaskId};
use comity_core::lease::{Lease, LeaseMode, PastLease};
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::pattern::Pattern;
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use serde::Serialize;

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

pub(super) fn json(value: &impl Serialize) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::Row(format!("cannot encode: {error}")))
}

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

    pub(super) fn add(&mut self, text: &'static str, values: Vec<super::link::Value>) {
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
            let list = changes.saved;
            let given = values![
                list.iter().map(|(actor, ..)| actor.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(_, key, _)| key.clone()).collect::<Vec<_>>(),
                list.iter().map(|(.., saved)| saved.input.0.to_vec()).collect::<Vec<_>>(),
                list.iter().map(|(.., saved)| saved.answer.clone()).collect::<Vec<_>>(),
                list.iter().map(|(.., saved)| saved.at.ms()).collect::<Vec<_>>(),
            ];
            self.add(sql::SET_SAVED, given);
        }
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
        let (events, signs) = (changes.events, changes.presence);
        let given = values![
            events.iter().map(|event| signed(event.seq.0)).collect::<Vec<_>>(),
            events.iter().map(|event| event.ts.ms()).collect::<Vec<_>>(),
            events.iter().map(|event| event.event.clone()).collect::<Vec<_>>(),
            events.iter().map(|event| i64::from(event.v)).collect::<Vec<_>>(),
            events.iter().map(|event| event.repo.clone()).collect::<Vec<_>>(),
            events.iter().map(|event| event.agent.clone()).collect::<Vec<_>>(),
            events.iter().map(|event| event.task.clone()).collect::<Vec<_>>(),
            events.iter().map(|event| event.body.clone()).collect::<Vec<_>>(),
            events.iter().map(|event| event.body_hash.0.to_vec()).collect::<Vec<_>>(),
            events.iter().map(|event| event.hash.0.to_vec()).collect::<Vec<_>>(),
            signs.iter().map(|(agent, ..)| agent.as_str().to_owned()).collect::<Vec<_>>(),
            signs.iter().map(|(_, f, _)| signed(f.map_or(0, Fence::get))).collect::<Vec<_>>(),
            signs.iter().map(|(.., at)| at.ms()).collect::<Vec<_>>(),
            channel.to_owned(),
        ];
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
        self.repos(&dirty.repos);
        self.agents(&dirty)?;
        self.tasks(&dirty)?;
        self.leases(&dirty);
        self.past_leases(&dirty);
        self.decisions(&dirty)?;
        self.kept(&dirty.kept)?;
        self.posts(&dirty.posts)?;
        self.fleet(&dirty.fleet)?;
        self.moved(rows);
        Ok(())
    }

    fn repos(&mut self, repos: &[(&RepoName, &comity_core::agent::Counters)]) {
        if repos.is_empty() {
            return;
        }
        let given = values![
            self.commit,
            repos.iter().map(|(repo, _)| repo.as_str().to_owned()).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| signed(c.tasks)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| signed(c.leases)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| signed(c.decisions)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| signed(c.memories)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| signed(c.directives)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| rows::fold_case(c)).collect::<Vec<_>>(),
            repos.iter().map(|(_, c)| rows::seats(c)).collect::<Vec<_>>(),
        ];
        self.add(sql::SET_REPOS, given);
    }

    fn agents(&mut self, dirty: &DirtyRows<'_>) -> Result<(), DbError> {
        if !dirty.agents.is_empty() {
            let ids: Vec<String> =
                dirty.agents.iter().map(|agent| agent.id.as_str().to_owned()).collect();
            let bodies =
                dirty.agents.iter().map(|agent| json(*agent)).collect::<Result<Vec<_>, _>>()?;
            self.add(sql::SET_AGENTS, values![ids, bodies]);
        }
        if !dirty.gone_agents.is_empty() {
            let ids: Vec<String> =
                dirty.gone_agents.iter().map(|id| id.as_str().to_owned()).collect();
            self.add(sql::DELETE_AGENTS, values![ids]);
        }
        Ok(())
    }

    fn leases(&mut self, dirty: &DirtyRows<'_>) {
        let list = &dirty.leases;
        if !list.is_empty() {
            let given = values![
                list.iter().map(|(l, _)| l.repo.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| signed(l.id.0)).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| literal_prefix(&l.path)).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.path.clone()).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.mode == LeaseMode::Shared).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.owner.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.purpose.clone()).collect::<Vec<_>>(),
                list.iter()
                    .map(|(l, _)| l.claim_of.as_ref().map(ToString::to_string))
                    .collect::<Vec<_>>(),
                list.iter().map(|(l, _)| signed(l.fence.get())).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.acquired_at.ms()).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.renewed_at.ms()).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.ttl.ms()).collect::<Vec<_>>(),
                list.iter().map(|(_, due)| *due).collect::<Vec<_>>(),
                list.iter().map(|(l, _)| l.late).collect::<Vec<_>>(),
            ];
            self.add(sql::SET_LEASES, given);
            if list.iter().any(|(_, due)| *due == Some(KEEP)) {
                self.add(sql::MEND_LEASES_DUE, values![]);
            }
        }
        if !dirty.gone_leases.is_empty() {
            let (repos, numbers) = numbered(dirty.gone_leases.iter().map(|(r, id)| (*r, id.0)));
            self.add(sql::DELETE_LEASES, values![repos, numbers]);
        }
    }

    fn past_leases(&mut self, dirty: &DirtyRows<'_>) {
        let list = &dirty.past_leases;
        if !list.is_empty() {
            let given = values![
                list.iter().map(|l| l.repo.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|l| signed(l.id.0)).collect::<Vec<_>>(),
                list.iter().map(|l| literal_prefix(&l.path)).collect::<Vec<_>>(),
                list.iter().map(|l| signed(l.ended.0)).collect::<Vec<_>>(),
                list.iter().map(|l| l.path.clone()).collect::<Vec<_>>(),
                list.iter().map(|l| l.mode == LeaseMode::Shared).collect::<Vec<_>>(),
                list.iter().map(|l| l.owner.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter()
                    .map(|l| l.claim_of.as_ref().map(ToString::to_string))
                    .collect::<Vec<_>>(),
                list.iter().map(|l| signed(l.fence.get())).collect::<Vec<_>>(),
                list.iter().map(|l| l.acquired_at.ms()).collect::<Vec<_>>(),
                list.iter().map(|l| l.late).collect::<Vec<_>>(),
                list.iter().map(|l| l.ended_at.ms()).collect::<Vec<_>>(),
                list.iter().map(|l| l.expired).collect::<Vec<_>>(),
            ];
            self.add(sql::SET_PAST_LEASES, given);
        }
        if !dirty.gone_past_leases.is_empty() {
            let gone = dirty.gone_past_leases.iter().map(|(r, id)| (*r, id.0));
            let (repos, numbers) = numbered(gone);
            self.add(sql::DELETE_PAST_LEASES, values![repos, numbers]);
        }
    }

    fn decisions(&mut self, dirty: &DirtyRows<'_>) -> Result<(), DbError> {
        let list = &dirty.decisions;
        if !list.is_empty() {
            let bodies = list.iter().map(|(d, _)| json(*d)).collect::<Result<Vec<_>, _>>()?;
            let given = values![
                list.iter().map(|(d, _)| d.repo.as_str().to_owned()).collect::<Vec<_>>(),
                list.iter().map(|(d, _)| signed(d.id.0)).collect::<Vec<_>>(),
                list.iter().map(|(d, _)| d.state == DecisionState::Open).collect::<Vec<_>>(),
                list.iter().map(|(_, due)| *due).collect::<Vec<_>>(),
                bodies,
            ];
            self.add(sql::SET_DECISIONS, given);
            if list.iter().any(|(_, due)| *due == Some(KEEP)) {
                self.add(sql::MEND_DECISIONS_DUE, values![]);
            }
        }
        if !dirty.gone_decisions.is_empty() {
            let (repos, numbers) = numbered(dirty.gone_decisions.iter().map(|(r, id)| (*r, id.0)));
            self.add(sql::DELETE_DECISIONS, values![repos, numbers]);
        }
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
        if dirty.tasks.is_empty() && dirty.gone_tasks.is_empty() {
            return Ok(());
        }
        let before = self.before(dirty)?;
        let (mut edges, mut labels, mut turned) = (Vec::new(), Vec::new(), Vec::new());
        for (key, task, _) in &dirty.tasks {
            let old = self.cache.row(key).or_else(|| before.get(*key));
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
            self.written.insert((*key).clone(), TaskEdges::of(task));
        }
        self.set_tasks(&dirty.tasks)?;
        if !dirty.gone_tasks.is_empty() {
            for text in [sql::DELETE_TASKS, sql::DELETE_DEPS, sql::DELETE_LABELS] {
                let (repos, ids) = named(dirty.gone_tasks.iter().copied());
                self.add(text, values![repos, ids]);
            }
            turned.extend(dirty.gone_tasks.iter().copied());
        }
        self.set_labels(&labels);
        self.set_edges(&edges, &turned);
        Ok(())
    }

    /// Reads the stored rows of tasks that no rule has loaded. Only a rebuild writes such tasks.
    fn before(&self, dirty: &DirtyRows<'_>) -> Result<TaskRows, DbError> {
        let unknown: Vec<(&RepoName, &TaskId)> = dirty
            .tasks
            .iter()
            .filter(|(key, ..)| self.cache.row(key).is_none())
            .map(|(_, task, _)| (&task.repo, &task.id))
            .collect();
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

    fn set_tasks(&mut self, list: &[(&Key, &Task, Option<i64>)]) -> Result<(), DbError> {
        if list.is_empty() {
            return Ok(());
        }
        let text = |name: Option<&AgentId>| name.map(|name| name.as_str().to_owned());
        let bodies = list.iter().map(|(_, task, _)| json(*task)).collect::<Result<Vec<_>, _>>()?;
        let given = values![
            list.iter().map(|(_, t, _)| t.repo.as_str().to_owned()).collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| t.id.as_str().to_owned()).collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| signed(t.number)).collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| t.status.as_str().to_owned()).collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| i32::from(t.priority.rank())).collect::<Vec<_>>(),
            list.iter()
                .map(|(_, t, _)| t.role.map(|role| Role::as_str(role).to_owned()))
                .collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| text(t.assignee.as_ref())).collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| t.initiative.clone()).collect::<Vec<_>>(),
            list.iter()
                .map(|(_, t, _)| t.parent.as_ref().map(ToString::to_string))
                .collect::<Vec<_>>(),
            list.iter()
                .map(|(_, t, _)| text(t.claim.as_ref().map(|claim| &claim.agent)))
                .collect::<Vec<_>>(),
            list.iter()
                .map(|(_, t, _)| t.claim.as_ref().map(|claim| signed(claim.fence.get())))
                .collect::<Vec<_>>(),
            list.iter().map(|(_, t, _)| text(t.preferred.as_ref())).collect::<Vec<_>>(),
            list.iter().map(|(.., due)| *due).collect::<Vec<_>>(),
            bodies,
        ];
        self.add(sql::SET_TASKS, given);
        if list.iter().any(|(.., due)| *due == Some(KEEP)) {
            self.add(sql::MEND_TASKS_DUE, values![]);
        }
        Ok(())
    }

    fn set_labels(&mut self, tasks: &[&Task]) {
        if tasks.is_empty() {
            return;
        }
        let (repos, ids) = named(tasks.iter().map(|task| (&task.repo, &task.id)));
        self.add(sql::DELETE_LABELS, values![repos, ids]);
        let each =
            || tasks.iter().flat_map(|task| task.labels.iter().map(move |label| (task, label)));
        let given = values![
            each().map(|(task, _)| task.repo.as_str().to_owned()).collect::<Vec<_>>(),
            each().map(|(_, label)| label.clone()).collect::<Vec<_>>(),
            each().map(|(task, _)| signed(task.number)).collect::<Vec<_>>(),
            each().map(|(task, _)| task.id.as_str().to_owned()).collect::<Vec<_>>(),
        ];
        self.add(sql::ADD_LABELS, given);
    }

    fn set_edges(&mut self, tasks: &[&Task], turned: &[(&RepoName, &TaskId)]) {
        if !tasks.is_empty() {
            let (repos, ids) = named(tasks.iter().map(|task| (&task.repo, &task.id)));
            self.add(sql::DELETE_DEPS, values![repos, ids]);
            let each =
                || tasks.iter().flat_map(|task| task.dependencies.iter().map(move |on| (task, on)));
            let given = values![
                each().map(|(task, _)| task.repo.as_str().to_owned()).collect::<Vec<_>>(),
                each().map(|(task, _)| task.id.as_str().to_owned()).collect::<Vec<_>>(),
                each().map(|(_, on)| on.as_str().to_owned()).collect::<Vec<_>>(),
            ];
            self.add(sql::ADD_DEPS, given);
        }
        if !tasks.is_empty() || !turned.is_empty() {
            let own = named(tasks.iter().map(|task| (&task.repo, &task.id)));
            let turned = named(turned.iter().copied());
            self.add(sql::SET_WAITS, values![own.0, own.1, turned.0, turned.1]);
        }
    }
}

#[derive(Default)]
struct DirtyRows<'r> {
    repos: Vec<(&'r RepoName, &'r comity_core::agent::Counters)>,
    agents: Vec<&'r comity_core::agent::Agent>,
    gone_agents: Vec<&'r AgentId>,
    tasks: Vec<(&'r Key, &'r Task, Option<i64>)>,
    gone_tasks: Vec<(&'r RepoName, &'r TaskId)>,
    leases: Vec<(&'r Lease, Option<i64>)>,
    gone_leases: Vec<(&'r RepoName, LeaseId)>,
    decisions: Vec<(&'r Decision, Option<i64>)>,
    gone_decisions: Vec<(&'r RepoName, DecisionId)>,
    past_leases: Vec<&'r PastLease>,
    gone_past_leases: Vec<(&'r RepoName, LeaseId)>,
    kept: DirtyMemories<'r>,
    posts: DirtyPosts<'r>,
    fleet: DirtyRuns<'r>,
}

impl<'r> DirtyRows<'r> {
    fn sort(&mut self, rows: &Rows<'r>, key: &'r Key, due: Option<i64>) {
        let state = &rows.facts.state;
        match key {
            // Counters are never taken back.
            Key::Repo(repo) => self.repos.extend(state.repos.get(repo).map(|found| (repo, found))),
            Key::Agent(id) => match state.agents.get(id) {
                Some(agent) => self.agents.push(agent),
                None => self.gone_agents.push(id),
            },
            Key::Task(repo, id) => match state.task(repo, id) {
                Some(task) => self.tasks.push((key, task, due)),
                None => self.gone_tasks.push((repo, id)),
            },
            Key::Lease(repo, id) => match state.leases.get(&(repo.clone(), *id)) {
                Some(lease) => self.leases.push((lease, due)),
                None => self.gone_leases.push((repo, *id)),
            },
            Key::Decision(repo, id) => match state.decisions.get(&(repo.clone(), *id)) {
                Some(decision) => self.decisions.push((decision, due)),
                None => self.gone_decisions.push((repo, *id)),
            },
            Key::Memory(repo, id) => match state.memories.get(&(repo.clone(), *id)) {
                Some(memory) => self.kept.memories.push((memory, due)),
                None => self.kept.gone_memories.push((repo, *id)),
            },
            Key::Directive(repo, id) => match state.directives.get(&(repo.clone(), *id)) {
                Some(directive) => self.kept.directives.push((directive, due)),
                None => self.kept.gone_directives.push((repo, *id)),
            },
            Key::PastLease(repo, id) => match state.past_leases.get(&(repo.clone(), *id)) {
                Some(lease) => self.past_leases.push(lease),
                None => self.gone_past_leases.push((repo, *id)),
            },
            Key::Post(repo, id) => match state.posts.get(&(repo.clone(), id.clone())) {
                Some(post) => self.posts.posts.push(post),
                None => self.posts.gone.push((repo, id)),
            },
            Key::Run(repo, id) => match state.runs.get(&(repo.clone(), *id)) {
                Some(run) => self.fleet.runs.push((run, due)),
                None => self.fleet.gone_runs.push((repo, *id)),
            },
            Key::Budget(repo, scope) => match state.budgets.get(&(repo.clone(), scope.clone())) {
                Some(budget) => self.fleet.budgets.push(budget),
                None => self.fleet.gone_budgets.push((repo, scope)),
            },
        }
    }
}

/// A path that this build cannot read gets the empty prefix: it is then looked at every time, which
/// is slow but never misses an overlap.
pub(super) fn literal_prefix(path: &str) -> String {
    Pattern::prefix_of(path).unwrap_or_default()
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
