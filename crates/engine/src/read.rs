//! Answering questions from one snapshot. What has expired is applied to the copy, never to the store.

use crate::answer::{holds, mission_of};
use crate::batch::{open_facts, settle};
use crate::caller::Caller;
use crate::pages::{id_after, limit, number_after, page};
use crate::service::Memo;
use crate::task_lists::task_has;
use comity_api::{
    AgentAnswer, AgentFilter, AgentsPage, AskBrief, BriefedTask, CheckPaths, ConflictView,
    DecisionAnswer, DecisionFilter, DecisionsPage, EventFilter, EventsPage, GatesAnswer,
    LeaseFilter, LeasesPage, MissionAnswer, PathView, PathsAnswer, Since, SuggestAgents,
    SuggestionsAnswer, TaskFilter, WhyAnswer,
};
use comity_core::decide::{conflicts, find_decision, find_task, not_found, sweep};
use comity_core::decision::Decision;
use comity_core::facts::{Facts, Presence, Ruling};
use comity_core::ids::{AgentId, DecisionId, LeaseId, Seq, TaskId};
use comity_core::lease::{Lease, LeaseMode};
use comity_core::limits;
use comity_core::pattern::Pattern;
use comity_core::policy::Policy;
use comity_core::ready::{Caller as Claimant, is_ready, roles_of};
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::view;
use comity_store::{DecisionQuery, EventQuery, LeaseQuery, ReadTx, TaskQuery};
use serde_json::Value;
use std::collections::BTreeSet;

/// Expired things that a read takes into account.
const DUE_MAX: usize = 10_000;

/// One snapshot with the asker before it.
pub(crate) struct Reader<'a> {
    pub(crate) tx: &'a mut dyn ReadTx,
    pub(crate) facts: Facts,
    pub(crate) policy: &'a Policy,
    pub(crate) caller: &'a Caller,
    /// What the sweep changed in the copy.
    pub(crate) changed: BTreeSet<Key>,
    pub(crate) memo: &'a Memo,
}

impl<'a> Reader<'a> {
    pub(crate) fn open(
        tx: &'a mut dyn ReadTx,
        policy: &'a Policy,
        caller: &'a Caller,
        memo: &'a Memo,
    ) -> Result<Reader<'a>, Refusal> {
        let mut facts = open_facts(tx, policy, DUE_MAX)?;
        let swept = settle(tx, &mut facts, |facts| sweep(facts, policy))?;
        for draft in swept.events {
            facts.apply(draft);
        }
        let changed = facts.take_dirty();
        Ok(Reader { tx, facts, policy, caller, changed, memo })
    }

    /// Runs a rule over what is stored, loading what it asks for.
    pub(crate) fn settled<T>(
        &mut self,
        rule: impl FnMut(&Facts) -> Ruling<T>,
    ) -> Result<T, Refusal> {
        settle(self.tx, &mut self.facts, rule)
    }

    /// Shows a task with the whole brief for it.
    pub(crate) fn briefed(&mut self, id: &str) -> Result<BriefedTask, Refusal> {
        let task = self.find(id)?;
        let asked = AskBrief { task: Some(task.id.to_string()), ..AskBrief::default() };
        let brief = Some(self.asked_brief(&asked)?);
        Ok(BriefedTask { task: self.task_view(&task)?, brief })
    }

    pub(crate) fn mission(&mut self, id: &str) -> Result<MissionAnswer, Refusal> {
        let task = self.find(id)?;
        let mission = self.settled(|facts| mission_of(facts, &task))?;
        Ok(MissionAnswer { task: self.task_view(&task)?, mission })
    }

    pub(crate) fn gates(&mut self, id: &str) -> Result<GatesAnswer, Refusal> {
        let task = self.find(id)?;
        Ok(GatesAnswer { gates: view::gates(&task, self.policy) })
    }

    pub(crate) fn decision(&mut self, id: &str) -> Result<DecisionAnswer, Refusal> {
        let repo = &self.caller.repo;
        let decision = self.settled(|facts| find_decision(facts, repo, id).cloned())?;
        Ok(DecisionAnswer { decision: view::decision(&decision) })
    }

    pub(crate) fn find(&mut self, id: &str) -> Result<Task, Refusal> {
        let repo = &self.caller.repo;
        self.settled(|facts| find_task(facts, repo, id).cloned())
    }

    pub(crate) fn task_view(&mut self, task: &Task) -> Result<view::TaskView, Refusal> {
        let (policy, caller) = (self.policy, Some(&self.caller.actor));
        self.settled(|facts| view::task(facts, task, policy, caller))
    }

    pub(crate) fn caller_roles(&mut self) -> Result<Vec<Role>, Refusal> {
        let (actor, policy) = (&self.caller.actor, self.policy);
        self.settled(|facts| roles_of(facts, actor, policy))
    }

    pub(crate) fn why(&mut self, id: &str) -> Result<WhyAnswer, Refusal> {
        let task = self.find(id)?;
        let roles = self.caller_roles()?;
        let (actor, policy) = (&self.caller.actor, self.policy);
        let why = self.settled(|facts| {
            comity_core::why::why(facts, &task, Claimant { id: actor, roles: &roles }, policy)
        })?;
        Ok(WhyAnswer { why })
    }

    /// Returns tasks after a number as they are in effect, and where to go on when there may be more.
    pub(crate) fn task_rows(
        &mut self,
        filter: &TaskFilter,
        after: u64,
        count: usize,
    ) -> Result<(Vec<Task>, Option<u64>), Refusal> {
        let repo = self.caller.repo.clone();
        let overlay: Vec<Task> = self
            .changed
            .iter()
            .filter_map(|key| match key {
                Key::Task(of, id) if *of == repo => self.facts.state.task(of, id).cloned(),
                _ => None,
            })
            .collect();
        let asked = count + overlay.len();
        let query = TaskQuery {
            repo,
            statuses: filter.statuses.clone(),
            assignee: filter.assignee.clone(),
            labels: filter.labels.clone(),
            role: filter.role,
            initiative: filter.initiative.clone(),
            unblocked_only: filter.ready,
            after,
            limit: asked,
        };
        let stored = self.tx.tasks(&query)?;
        let last = stored.last().filter(|_| stored.len() == asked).map(|task| task.number);
        let is_overlaid = |id: &TaskId| overlay.iter().any(|task| task.id == *id);
        let mut tasks: Vec<Task> =
            stored.into_iter().filter(|task| !is_overlaid(&task.id)).collect();
        let horizon = last.unwrap_or(u64::MAX);
        tasks.extend(
            overlay
                .into_iter()
                .filter(|task| task.number > after && task.number <= horizon && fits(task, filter)),
        );
        tasks.sort_by_key(|task| task.number);
        Ok((tasks, last))
    }

    pub(crate) fn is_ready(&mut self, task: &Task, roles: &[Role]) -> Result<bool, Refusal> {
        let caller = Claimant { id: &self.caller.actor, roles };
        let policy = self.policy;
        self.settled(|facts| is_ready(facts, task, caller, policy))
    }

    pub(crate) fn leases(&mut self, wanted: &LeaseFilter) -> Result<LeasesPage, Refusal> {
        let limit = limit(wanted.limit)?;
        let after = id_after(wanted.after.as_deref(), LeaseId::parse)?;
        let leases = self.live_leases(wanted.owner.as_ref(), after, limit + 1)?;
        let mut views = Vec::new();
        for lease in &leases {
            views.push(self.settled(|facts| view::lease(facts, lease))?);
        }
        let (leases, next) = page(views, limit, |lease| lease.lock_id.clone());
        Ok(LeasesPage { leases, next })
    }

    pub(crate) fn live_leases(
        &mut self,
        owner: Option<&AgentId>,
        mut after: Option<LeaseId>,
        count: usize,
    ) -> Result<Vec<Lease>, Refusal> {
        let mut live = Vec::new();
        loop {
            let query = LeaseQuery {
                repo: self.caller.repo.clone(),
                owner: owner.cloned(),
                after,
                limit: limits::PAGE_MAX,
            };
            let stored = self.tx.leases(&query)?;
            let full = stored.len() == limits::PAGE_MAX;
            after = stored.last().map(|lease| lease.id);
            for lease in stored {
                // What the sweep ended in the copy is no longer there.
                if !self.changed.contains(&Key::Lease(lease.repo.clone(), lease.id)) {
                    live.push(lease);
                }
                if live.len() == count {
                    return Ok(live);
                }
            }
            if !full {
                return Ok(live);
            }
        }
    }

    pub(crate) fn check_paths(&mut self, wanted: &CheckPaths) -> Result<PathsAnswer, Refusal> {
        let mut paths = Vec::new();
        for path in &wanted.paths {
            let repo = &self.caller.repo;
            let rule = self.settled(|facts| facts.case_rule_of(repo))?;
            let pattern = Pattern::parse_with(path, rule).map_err(|error| {
                let path = comity_core::ids::shorten(path);
                Refusal::new(error.code(), format!("path {path:?}: {error}"))
            })?;
            let caller = self.caller;
            let checked = self.settled(|facts| {
                let near = facts.leases_near(&caller.repo, pattern.literal_prefix())?;
                let mut mine = false;
                for lease in near {
                    let covers = Pattern::parse_with(&lease.path, pattern.case_rule())
                        .is_ok_and(|held| comity_core::pattern::overlap(&held, &pattern).is_some());
                    mine |= lease.owner == caller.actor && covers && facts.is_live(lease)?;
                }
                let found =
                    conflicts(facts, &caller.repo, &pattern, &caller.actor, LeaseMode::Exclusive)?;
                let mut list = Vec::new();
                for conflict in &found {
                    list.push(ConflictView {
                        wanted: conflict.wanted.clone(),
                        witness: conflict.witness.clone(),
                        held: view::lease(facts, &conflict.held)?,
                    });
                }
                let (path, free) = (pattern.as_str().to_owned(), found.is_empty());
                Ok(PathView { path, free, mine, conflicts: list })
            })?;
            paths.push(checked);
        }
        Ok(PathsAnswer { paths })
    }

    pub(crate) fn agents(&mut self, wanted: &AgentFilter) -> Result<AgentsPage, Refusal> {
        let limit = limit(wanted.limit)?;
        let after = wanted.after.as_deref().map(AgentId::parse).transpose()?;
        let agents = self.tx.agents(after.as_ref(), limit + 1)?;
        let mut views = Vec::new();
        for (agent, presence) in agents {
            views.push(self.agent_view(&agent, &presence)?);
        }
        let (agents, next) = page(views, limit, |agent| agent.id.clone());
        Ok(AgentsPage { agents, next })
    }

    pub(crate) fn agent_view(
        &mut self,
        agent: &comity_core::agent::Agent,
        presence: &Presence,
    ) -> Result<view::AgentView, Refusal> {
        let repo = self.caller.repo.clone();
        self.settled(|facts| facts.counters(&repo))?;
        let holds = holds(self.tx, &mut self.facts, &repo, &agent.id)?;
        Ok(view::agent(agent, presence, holds, self.facts.moment.now))
    }

    pub(crate) fn agent(&mut self, id: &str) -> Result<AgentAnswer, Refusal> {
        let id = AgentId::parse(id)?;
        let found = self.settled(|facts| Ok((facts.agent(&id)?.cloned(), facts.presence(&id)?)))?;
        let (Some(agent), presence) = found else {
            return Err(not_found("agent", id.as_str()));
        };
        Ok(AgentAnswer { agent: self.agent_view(&agent, &presence)? })
    }

    pub(crate) fn suggest(&mut self, wanted: &SuggestAgents) -> Result<SuggestionsAnswer, Refusal> {
        let mut suggestions = Vec::new();
        let mut after: Option<AgentId> = None;
        loop {
            let agents = self.tx.agents(after.as_ref(), limits::PAGE_MAX)?;
            let full = agents.len() == limits::PAGE_MAX;
            after = agents.last().map(|(agent, _)| agent.id.clone());
            for (agent, presence) in agents {
                let view = self.agent_view(&agent, &presence)?;
                let declared = agent.about.get("status").and_then(Value::as_str);
                let now = self.facts.moment.now;
                let found =
                    crate::suggest::suggestion(&view, declared, &wanted.labels, wanted.role, now);
                suggestions.extend(found);
            }
            if !full {
                break;
            }
        }
        suggestions.sort_by(|a, b| b.score.cmp(&a.score).then(a.agent.cmp(&b.agent)));
        suggestions.truncate(limits::PAGE_DEFAULT);
        Ok(SuggestionsAnswer { suggestions })
    }

    pub(crate) fn decisions(&mut self, wanted: &DecisionFilter) -> Result<DecisionsPage, Refusal> {
        let limit = limit(wanted.limit)?;
        let after = id_after(wanted.after.as_deref(), DecisionId::parse)?;
        let decisions = self.decision_rows(wanted.all, after, limit + 1)?;
        let views: Vec<_> = decisions.iter().map(view::decision).collect();
        let (decisions, next) = page(views, limit, |decision| decision.id.clone());
        Ok(DecisionsPage { decisions, next })
    }

    pub(crate) fn decision_rows(
        &mut self,
        all: bool,
        after: Option<DecisionId>,
        count: usize,
    ) -> Result<Vec<Decision>, Refusal> {
        let repo = self.caller.repo.clone();
        let overlay: Vec<Decision> = self
            .changed
            .iter()
            .filter_map(|key| match key {
                Key::Decision(of, id) if *of == repo => {
                    self.facts.state.decisions.get(&(of.clone(), *id)).cloned()
                }
                _ => None,
            })
            .filter(|decision| after.is_none_or(|after| decision.id > after))
            .collect();
        let query = DecisionQuery { repo, open_only: !all, after, limit: count + overlay.len() };
        let mut rows = self.tx.decisions(&query)?;
        rows.retain(|row| !overlay.iter().any(|changed| changed.id == row.id));
        let open = |d: &Decision| d.state == comity_core::decision::DecisionState::Open;
        rows.extend(overlay.into_iter().filter(|decision| all || open(decision)));
        rows.sort_by_key(|decision| decision.id);
        rows.truncate(count);
        Ok(rows)
    }

    pub(crate) fn events(&mut self, filter: &EventFilter) -> Result<EventsPage, Refusal> {
        let limit = limit(filter.limit)?;
        let mut query = EventQuery {
            repo: (!filter.all_repos).then(|| self.caller.repo.clone()),
            event: filter.event.clone(),
            after: Seq(number_after(filter.after.as_deref())?),
            limit: limit + 1,
            ..EventQuery::default()
        };
        if let Some(id) = &filter.task {
            query.task = Some(self.find(id)?.id);
        }
        match filter.since {
            Some(Since::Seq(seq)) => query.after = query.after.max(Seq(seq)),
            Some(Since::Time(time)) => query.since = Some(time),
            None => {}
        }
        let events = self.tx.events(&query)?;
        let views: Vec<_> = events.iter().map(crate::view::event).collect();
        let (events, next) = page(views, limit, |event| event.seq.to_string());
        Ok(EventsPage { events, next })
    }
}

/// Tells whether a task that the sweep changed still belongs to a list.
fn fits(task: &Task, filter: &TaskFilter) -> bool {
    (filter.statuses.is_empty() || filter.statuses.contains(&task.status))
        && filter.assignee.as_ref().is_none_or(|agent| task.assignee.as_ref() == Some(agent))
        && filter.labels.iter().all(|label| task.labels.contains(label))
        && filter.role.is_none_or(|role| task.role == Some(role))
        && filter.initiative.as_ref().is_none_or(|name| task.initiative.as_ref() == Some(name))
        && (!filter.ready || task.status == Status::Queued)
        && filter.search.as_ref().is_none_or(|words| task_has(task, words))
}
