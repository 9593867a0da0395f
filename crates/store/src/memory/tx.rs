//! A transaction on the model.

use super::Turn;
use super::data::Data;
use crate::clock::Clock;
use crate::listing;
use crate::transaction_time::{ClockNote, transaction_time};
use crate::{
    Changes, DecisionQuery, DirectiveQuery, EventQuery, KeptRow, LeaseQuery, MemoryQuery,
    PostsFrom, ReadTx, Rows, RunQuery, StoreError, TaskQuery, WriteTx, check_append,
};
use comity_core::agent::Agent;
use comity_core::budget::{Budget, Scope};
use comity_core::chain::{Head, Stored};
use comity_core::decision::{Decision, DecisionState};
use comity_core::directive::Directive;
use comity_core::facts::{
    Entity, Facts, Moment, Need, PREFERRED_MAX, PREFIX_MATCHES_MAX, Presence, Saved,
    WAITING_COUNT_MAX, candidate_page, place,
};
use comity_core::ids::{AgentId, MemoryId, RepoName, Seq, TaskId};
use comity_core::lease::Lease;
use comity_core::limits::IDEMPOTENCY_LIFE;
use comity_core::memory::Memory;
use comity_core::pattern::{Pattern, surely_apart};
use comity_core::post::PostId;
use comity_core::run::Run;
use comity_core::search::Term;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A snapshot, and for a writer the right to replace it.
pub(super) struct Tx<'a> {
    data: Arc<Data>,
    now: (Moment, Option<ClockNote>),
    turn: Option<Turn<'a>>,
    /// Rows were written before the commit, so that the snapshot is no longer what others see.
    staged: bool,
}

impl<'a> Tx<'a> {
    pub(super) fn new(data: Arc<Data>, clock: &dyn Clock, turn: Option<Turn<'a>>) -> Tx<'a> {
        let now = transaction_time(data.head().ts, data.noted.as_ref(), &clock.read());
        Tx { data, now, turn, staged: false }
    }

    fn tasks_where(&self, repo: &RepoName, wanted: impl Fn(&Task) -> bool) -> Vec<&Task> {
        let all = self.data.state.tasks.values().map(Box::as_ref);
        all.filter(|task| task.repo == *repo && wanted(task)).collect()
    }

    fn put_tasks(facts: &mut Facts, tasks: &[&Task]) -> Vec<TaskId> {
        for task in tasks {
            let key = Key::Task(task.repo.clone(), task.id.clone());
            facts.put(key, Some(Entity::Task(Box::new((*task).clone()))));
        }
        tasks.iter().map(|task| task.id.clone()).collect()
    }

    fn put_leases(&self, facts: &mut Facts, wanted: impl Fn(&Lease) -> bool) {
        for lease in self.data.state.leases.values().filter(|lease| wanted(lease)) {
            let key = Key::Lease(lease.repo.clone(), lease.id);
            facts.put(key, Some(Entity::Lease(Box::new(lease.clone()))));
        }
    }

    fn put_held(&self, facts: &mut Facts, repo: &RepoName, after: Seq, paths: &[String]) {
        let near = |path: &str| paths.iter().any(|wanted| is_near(path, wanted));
        self.put_leases(facts, |l| l.repo == *repo && near(&l.path));
        for lease in self.data.state.past_leases.values() {
            if lease.repo == *repo && lease.ended > after && near(&lease.path) {
                let key = Key::PastLease(repo.clone(), lease.id);
                facts.put(key, Some(Entity::PastLease(Box::new(lease.clone()))));
            }
        }
    }

    fn put_entity(&self, facts: &mut Facts, key: &Key) {
        facts.put(key.clone(), self.data.state.get(key));
        if let Key::Agent(id) = key {
            facts.put_presence(id.clone(), self.data.presence_of(id, self.now.0.now));
        }
    }

    fn put_candidates(&self, facts: &mut Facts, repo: &RepoName, after: Option<(u8, u64)>) {
        let mut tasks = self.tasks_where(repo, |task| {
            self.data.is_unblocked(task) && after.is_none_or(|after| place(task) > after)
        });
        tasks.sort_by_key(|task| place(task));
        tasks.truncate(candidate_page(after));
        let places: Vec<_> = tasks.iter().map(|task| place(task)).collect();
        Self::put_tasks(facts, &tasks);
        facts.put_candidates(repo.clone(), after, &places);
    }

    /// What the facts know of a task already counts, so that edges of this batch are followed too.
    fn put_closure(&self, facts: &mut Facts, repo: &RepoName, id: &TaskId) {
        let mut open = vec![id.clone()];
        let mut seen = open.clone();
        while let Some(id) = open.pop() {
            self.put_entity(facts, &Key::Task(repo.clone(), id.clone()));
            let task = facts.state.tasks.get(&(repo.clone(), id));
            for on in task.iter().flat_map(|task| &task.dependencies) {
                if !seen.contains(on) {
                    seen.push(on.clone());
                    open.push(on.clone());
                }
            }
        }
        facts.mark_answered(Need::Closure(repo.clone(), id.clone()));
    }

    fn load_one(&self, need: &Need, facts: &mut Facts) {
        match need {
            Need::Entity(key) => self.put_entity(facts, key),
            Need::TaskNumber(repo, number) => {
                Self::put_tasks(facts, &self.tasks_where(repo, |t| t.number == *number));
                facts.mark_answered(need.clone());
            }
            Need::TaskPrefix(repo, prefix) => {
                let mut tasks = self.tasks_where(repo, |t| t.id.as_str().starts_with(prefix));
                tasks.truncate(PREFIX_MATCHES_MAX);
                let ids = Self::put_tasks(facts, &tasks);
                facts.put_prefix(repo.clone(), prefix.clone(), ids);
            }
            Need::Candidates(repo, after) => self.put_candidates(facts, repo, *after),
            Need::Preferred(repo, agent) => {
                let mut tasks = self.tasks_where(repo, |task| {
                    self.data.is_unblocked(task) && task.preferred.as_ref() == Some(agent)
                });
                tasks.sort_by_key(|task| place(task));
                tasks.truncate(PREFERRED_MAX);
                Self::put_tasks(facts, &tasks);
                let mut sent_back = self.tasks_where(repo, |task| {
                    task.status == Status::ChangesRequested && task.assignee.as_ref() == Some(agent)
                });
                sent_back.truncate(PREFERRED_MAX);
                Self::put_tasks(facts, &sent_back);
                facts.mark_answered(need.clone());
            }
            Need::LeasesNear(repo, prefix) => {
                let rule = facts.known_case_rule(repo);
                let may_meet =
                    |l: &Lease| !surely_apart(prefix, &l.path, rule) && is_near(&l.path, prefix);
                self.put_leases(facts, |l| l.repo == *repo && may_meet(l));
                facts.mark_answered(need.clone());
            }
            Need::HeldNear(repo, after, paths) => {
                self.put_held(facts, repo, *after, paths);
                facts.mark_answered(need.clone());
            }
            Need::LeasesOf(repo, owner) => {
                self.put_leases(facts, |l| l.repo == *repo && l.owner == *owner);
                facts.mark_answered(need.clone());
            }
            Need::Dependants(repo, id) => {
                let tasks = self.tasks_where(repo, |t| t.dependencies.contains(id));
                let ids = Self::put_tasks(facts, &tasks);
                facts.put_dependants(repo.clone(), id.clone(), ids);
            }
            Need::Children(repo, id) => {
                let tasks = self.tasks_where(repo, |t| t.parent.as_ref() == Some(id));
                let ids = Self::put_tasks(facts, &tasks);
                facts.put_children(repo.clone(), id.clone(), ids);
            }
            Need::Closure(repo, id) => self.put_closure(facts, repo, id),
            Need::Waiting(repo) => {
                let waits =
                    |t: &Task| t.status == Status::Queued && self.data.open_dependencies(t) > 0;
                let count = self.tasks_where(repo, waits).len() as u64;
                facts.put_waiting(repo.clone(), count.min(WAITING_COUNT_MAX));
            }
            Need::Saved(actor, key) => {
                let saved = self.data.saved_answer(actor, key, self.now.0.now);
                facts.put_saved(actor.clone(), key.clone(), saved);
            }
        }
    }
}

/// Tells whether a lease's literal prefix lies on the way to, at, or below this one.
fn is_near(pattern: &str, prefix: &str) -> bool {
    let own = Pattern::prefix_of(pattern).unwrap_or_default();
    is_at_or_below(&own, prefix) || is_at_or_below(prefix, &own)
}

fn is_at_or_below(path: &str, above: &str) -> bool {
    above.is_empty() || path == above || path.starts_with(&format!("{above}/"))
}

/// Tells whether a memory has every term among its words and their stems.
fn has_all(memory: &Memory, terms: &[Term]) -> bool {
    let words = memory.terms();
    terms.iter().all(|term| match term {
        Term::Stem(word) => words.contains(word),
        Term::Prefix(text) => {
            words.range(text.clone()..).next().is_some_and(|w| w.starts_with(text))
        }
    })
}

fn matches(data: &Data, query: &TaskQuery, task: &Task) -> bool {
    task.number > query.after
        && (query.statuses.is_empty() || query.statuses.contains(&task.status))
        && (query.assignee.is_none() || query.assignee == task.assignee)
        && query.labels.iter().all(|label| task.labels.contains(label))
        && (query.role.is_none() || query.role == task.role)
        && (query.initiative.is_none() || query.initiative == task.initiative)
        && (!query.unblocked_only || data.is_unblocked(task))
}

impl ReadTx for Tx<'_> {
    fn moment(&mut self) -> Result<Moment, StoreError> {
        Ok(self.now.0)
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.data.head())
    }

    fn load(&mut self, needs: &[Need], facts: &mut Facts) -> Result<(), StoreError> {
        for need in needs {
            if !facts.has_answer(need) {
                self.load_one(need, facts);
            }
        }
        Ok(())
    }

    fn due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<Key>, StoreError> {
        let mut due: Vec<_> = self.data.due.iter().filter(|(_, at)| **at <= now).collect();
        due.sort_by_key(|(key, at)| (**at, *key));
        Ok(due.into_iter().take(limit).map(|(key, _)| key.clone()).collect())
    }

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.tasks_where(&query.repo, |task| matches(&self.data, query, task));
        tasks.sort_by_key(|task| task.number);
        Ok(tasks.into_iter().take(query.limit).cloned().collect())
    }

    fn leases(&mut self, query: &LeaseQuery) -> Result<Vec<Lease>, StoreError> {
        let wanted = |lease: &&Lease| {
            lease.repo == query.repo
                && query.after.is_none_or(|after| lease.id > after)
                && query.owner.as_ref().is_none_or(|owner| lease.owner == *owner)
        };
        let leases = self.data.state.leases.values().filter(wanted);
        Ok(leases.take(query.limit).cloned().collect())
    }

    fn leases_below(
        &mut self,
        repo: &RepoName,
        directory: &str,
        limit: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        let prefix = |lease: &Lease| Pattern::prefix_of(&lease.path).unwrap_or_default();
        let below = |lease: &&Lease| {
            lease.repo == *repo && prefix(lease).starts_with(&format!("{directory}/"))
        };
        let mut leases: Vec<Lease> =
            self.data.state.leases.values().filter(below).cloned().collect();
        leases.sort_by_key(|lease| (prefix(lease), lease.id));
        leases.truncate(limit);
        Ok(leases)
    }

    fn decisions(&mut self, query: &DecisionQuery) -> Result<Vec<Decision>, StoreError> {
        let wanted = |decision: &&Decision| {
            decision.repo == query.repo
                && query.after.is_none_or(|after| decision.id > after)
                && (!query.open_only || decision.state == DecisionState::Open)
        };
        let decisions = self.data.state.decisions.values().filter(wanted);
        Ok(decisions.take(query.limit).cloned().collect())
    }

    fn memories(&mut self, query: &MemoryQuery) -> Result<Vec<Memory>, StoreError> {
        let wanted = |memory: &&Memory| {
            memory.repo == query.repo
                && query.after.is_none_or(|after| memory.id > after)
                && query.filter.fits(memory)
        };
        let memories = self.data.state.memories.values().filter(wanted);
        Ok(memories.take(query.limit).cloned().collect())
    }

    fn memories_with(
        &mut self,
        repo: &RepoName,
        terms: &[Term],
        limit: usize,
    ) -> Result<Vec<MemoryId>, StoreError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.data.state.memories.values().rev();
        let found = all.filter(|memory| memory.repo == *repo && has_all(memory, terms));
        Ok(found.take(limit).map(|memory| memory.id).collect())
    }

    fn posts_at(
        &mut self,
        repo: &RepoName,
        places: &[String],
        from: PostsFrom,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError> {
        let state = &self.data.state;
        let posts = state.posts.values().filter(|post| post.repo == *repo);
        let posts = posts.map(|post| (post.seq, post.id.clone(), post.places()));
        let memories = state.memories.values().filter(|memory| memory.repo == *repo);
        let memories = memories
            .map(|memory| (memory.source.event, PostId::of_memory(memory.id), memory.places()));
        let all: Vec<_> = posts.chain(memories).collect();
        let mut found = Vec::new();
        for place in places {
            let here =
                all.iter().filter(|(seq, _, places)| from.has(*seq) && places.contains(place));
            let here = here.map(|(seq, id, _)| (*seq, id.clone())).collect();
            found.extend(listing::merged(here, from).into_iter().take(limit));
        }
        Ok(listing::merged(found, from))
    }

    fn posts_before(
        &mut self,
        repo: &RepoName,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, PostId)>, StoreError> {
        let posts = self.data.state.posts.values();
        let old = posts.filter(|post| post.repo == *repo && post.seq < before);
        let found = old.map(|post| (post.seq, post.id.clone())).collect();
        let mut found = listing::merged(found, PostsFrom::Before(before));
        found.truncate(limit);
        Ok(found)
    }

    fn directives(&mut self, query: &DirectiveQuery) -> Result<Vec<Directive>, StoreError> {
        let wanted = |directive: &&Directive| {
            directive.repo == query.repo && query.after.is_none_or(|after| directive.id > after)
        };
        let directives = self.data.state.directives.values().filter(wanted);
        Ok(directives.take(query.limit).cloned().collect())
    }

    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Run>, StoreError> {
        let wanted = |run: &&Run| {
            run.repo == query.repo
                && query.after.is_none_or(|after| run.id > after)
                && query.task.as_ref().is_none_or(|task| run.task == *task)
                && (!query.live_only || run.state.is_live())
        };
        let runs = self.data.state.runs.values().filter(wanted);
        Ok(runs.take(query.limit).cloned().collect())
    }

    fn budgets(
        &mut self,
        repo: &RepoName,
        after: Option<&Scope>,
        limit: usize,
    ) -> Result<Vec<Budget>, StoreError> {
        let wanted = |budget: &&Budget| {
            budget.repo == *repo && after.is_none_or(|after| budget.scope > *after)
        };
        let budgets = self.data.state.budgets.values().filter(wanted);
        Ok(budgets.take(limit).cloned().collect())
    }

    fn agents(
        &mut self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<(Agent, Presence)>, StoreError> {
        let agents = self.data.state.agents.values();
        let wanted = agents.filter(|agent| after.is_none_or(|after| agent.id > *after));
        let presence = |agent: &Agent| self.data.presence_of(&agent.id, self.now.0.now);
        Ok(wanted.take(limit).map(|agent| (agent.clone(), presence(agent))).collect())
    }

    fn held_by(
        &mut self,
        agent: &AgentId,
        limit: usize,
    ) -> Result<Vec<(RepoName, TaskId)>, StoreError> {
        let holds = |task: &&Task| task.claim.as_ref().is_some_and(|c| c.agent == *agent);
        let mut held: Vec<&Task> =
            self.data.state.tasks.values().map(Box::as_ref).filter(holds).collect();
        held.sort_by_key(|task| (&task.repo, task.number));
        Ok(held.into_iter().take(limit).map(|t| (t.repo.clone(), t.id.clone())).collect())
    }

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Stored>, StoreError> {
        let wanted = |event: &&Stored| {
            query.before.map_or(event.seq > query.after, |before| event.seq < before)
                && query.repo.as_ref().is_none_or(|repo| event.repo == repo.as_str())
                && query.task.as_ref().is_none_or(|id| event.task.as_deref() == Some(id.as_str()))
                && query.event.as_ref().is_none_or(|name| event.event == *name)
                && query.since.is_none_or(|since| query.before.is_some() || event.ts >= since)
        };
        let events = self.data.events.iter();
        Ok(match query.before {
            Some(_) => events.rev().filter(wanted).take(query.limit).cloned().collect(),
            None => events.filter(wanted).take(query.limit).cloned().collect(),
        })
    }

    fn saved(
        &mut self,
        after: Option<&(AgentId, String)>,
        limit: usize,
    ) -> Result<Vec<(AgentId, String, Saved)>, StoreError> {
        let oldest = self.now.0.now.ms().saturating_sub(IDEMPOTENCY_LIFE.ms());
        let live = self.data.saved.iter().filter(|(_, saved)| saved.at.ms() > oldest);
        let wanted = live.filter(|(key, _)| after.is_none_or(|after| *key > after));
        let row = |((actor, key), saved): (&(AgentId, String), &Saved)| {
            (actor.clone(), key.clone(), saved.clone())
        };
        Ok(wanted.take(limit).map(row).collect())
    }

    fn kept_rows(
        &mut self,
        after: Option<&(String, String)>,
        limit: usize,
    ) -> Result<Vec<KeptRow>, StoreError> {
        let rows = self.data.kept.iter().filter(|(key, _)| after.is_none_or(|after| *key > after));
        let row = |((space, key), value): (&(String, String), &Vec<u8>)| {
            (space.clone(), key.clone(), value.clone())
        };
        Ok(rows.take(limit).map(row).collect())
    }

    fn status_counts(&mut self, repo: &RepoName) -> Result<BTreeMap<Status, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for task in self.tasks_where(repo, |_| true) {
            *counts.entry(task.status).or_default() += 1;
        }
        Ok(counts)
    }

    fn entities(
        &mut self,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entity)>, StoreError> {
        let keys = self.data.state.keys().into_iter().filter(|key| Some(key) > after);
        let entity = |key: Key| self.data.state.get(&key).map(|entity| (key, entity));
        Ok(keys.filter_map(entity).take(limit).collect())
    }
}

impl WriteTx for Tx<'_> {
    fn commit(self: Box<Self>, changes: Changes<'_>) -> Result<(), StoreError> {
        let Tx { data, now: (_, note), turn, staged } = *self;
        check_append(&data.head(), changes.events)?;
        let Some(turn) = turn else { return Ok(()) };
        let mut current = turn.0.data();
        if staged {
            *current = data;
        } else {
            // Without this the data below would be copied as a whole.
            drop(data);
        }
        let data = Arc::make_mut(&mut current);
        data.apply(&changes);
        data.noted = match crate::corrected(changes.events) {
            Some(_) => None,
            None => note.or_else(|| data.noted.take()),
        };
        drop(current);
        turn.0.committed.notify_all();
        Ok(())
    }

    fn clear_projections(&mut self) -> Result<(), StoreError> {
        self.staged = true;
        Arc::make_mut(&mut self.data).clear_projections();
        Ok(())
    }

    fn write_rows(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.staged = true;
        Arc::make_mut(&mut self.data).write_rows(rows);
        Ok(())
    }
}
