//! What a supervisor looks at: the whole of a repository from one snapshot, as it is in effect.

use crate::batch::settle;
use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::{Reason, TaskFilter, WhyRun};
use comity_core::decide::find_run;
use comity_core::decision::Decision;
use comity_core::ids::{AgentId, Seq};
use comity_core::limits::PAGE_MAX;
use comity_core::memory::MemoryFilter;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::run::Run;
use comity_core::seat::Seat;
use comity_core::status::Status;
use comity_core::supervise::{Seen, Settings, Step, View};
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_store::{DecisionQuery, DirectiveQuery, EventQuery, MemoryQuery, RunQuery};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Finished tasks that are looked at: the last of so many numbers.
const FINISHED_SPAN: u64 = 2_000;
const OPEN: [Status; 9] = [
    Status::Queued,
    Status::Claimed,
    Status::InProgress,
    Status::Review,
    Status::ChangesRequested,
    Status::Approved,
    Status::Merging,
    Status::Blocked,
    Status::Failed,
];

impl Service {
    /// Returns everything that rules of the supervisor look at, and when it was so.
    pub fn supervision(
        &self,
        caller: &Caller,
        settings: &Settings,
    ) -> Result<(View, Timestamp), Refusal> {
        self.read(caller, |reader| {
            let tasks = reader.supervised_tasks()?;
            let runs = reader.supervised_runs(&tasks)?;
            let decisions = reader.all_decisions()?;
            let repo = reader.caller.repo.clone();
            let directives = reader.tx.directives(&DirectiveQuery {
                repo: repo.clone(),
                after: None,
                limit: PAGE_MAX,
            })?;
            let memories = reader.tx.memories(&MemoryQuery {
                repo,
                filter: MemoryFilter::default(),
                after: None,
                limit: PAGE_MAX,
            })?;
            let (policy, settings) = (reader.policy.clone(), settings.clone());
            let seen = Seen::default();
            let view =
                View { tasks, runs, decisions, directives, memories, policy, settings, seen };
            Ok((view, reader.facts.moment.now))
        })
    }

    /// Leaves out the steps that were done under their keys before.
    pub fn not_done(&self, caller: &Caller, steps: &[Step]) -> Result<Vec<Step>, Refusal> {
        self.read(caller, |reader| {
            let mut left = Vec::new();
            for step in steps {
                let (actor, key) = (&reader.caller.actor, step.key());
                let done = settle(reader.tx, &mut reader.facts, |facts| {
                    Ok(facts.saved(actor, &key)?.is_some())
                })?;
                if !done {
                    left.push(step.clone());
                }
            }
            Ok(left)
        })
    }

    /// Returns the roles of an agent; none of one that is not registered.
    pub fn roles(&self, caller: &Caller, id: &AgentId) -> Result<Vec<Role>, Refusal> {
        self.read(caller, |reader| {
            settle(reader.tx, &mut reader.facts, |facts| {
                Ok(facts.agent(id)?.map(|agent| agent.roles.clone()).unwrap_or_default())
            })
        })
    }

    /// Returns who has a seat, and the last sign of life from there.
    pub fn seat(&self, caller: &Caller, name: &str) -> Result<Option<(Seat, Timestamp)>, Refusal> {
        self.read(caller, |reader| {
            let repo = reader.caller.repo.clone();
            settle(reader.tx, &mut reader.facts, |facts| {
                let Some(seat) = facts.counters(&repo)?.seats.get(name).cloned() else {
                    return Ok(None);
                };
                let life = facts.last_life(&seat.holder, seat.fence, seat.since)?;
                Ok(Some((seat, life)))
            })
        })
    }
}

impl Reader<'_> {
    fn supervised_tasks(&mut self) -> Result<Vec<Task>, Refusal> {
        let open = TaskFilter { statuses: OPEN.to_vec(), ..TaskFilter::default() };
        let mut tasks = self.tasks_after(&open, 0)?;
        let repo = self.caller.repo.clone();
        let highest = settle(self.tx, &mut self.facts, |facts| Ok(facts.counters(&repo)?.tasks))?;
        let done = TaskFilter { statuses: vec![Status::Done], ..TaskFilter::default() };
        tasks.extend(self.tasks_after(&done, highest.saturating_sub(FINISHED_SPAN))?);
        Ok(tasks)
    }

    fn tasks_after(&mut self, filter: &TaskFilter, after: u64) -> Result<Vec<Task>, Refusal> {
        let (mut tasks, mut after) = (Vec::new(), after);
        loop {
            let (page, next) = self.task_rows(filter, after, PAGE_MAX)?;
            tasks.extend(page);
            match next {
                Some(next) => after = next,
                None => return Ok(tasks),
            }
        }
    }

    fn supervised_runs(&mut self, tasks: &[Task]) -> Result<Vec<Run>, Refusal> {
        let wanted: BTreeSet<_> = tasks.iter().map(|task| task.id.clone()).collect();
        let repo = self.caller.repo.clone();
        let mut query =
            RunQuery { repo, task: None, live_only: false, after: None, limit: PAGE_MAX };
        let mut runs = Vec::new();
        loop {
            let stored = self.tx.runs(&query)?;
            let Some(last) = stored.last() else { return Ok(runs) };
            query.after = Some(last.id);
            let stored = stored.into_iter().map(|run| self.effective(run));
            runs.extend(stored.filter(|run| run.state.is_live() || wanted.contains(&run.task)));
        }
    }

    fn all_decisions(&mut self) -> Result<Vec<Decision>, Refusal> {
        let repo = self.caller.repo.clone();
        let mut query = DecisionQuery { repo, open_only: false, after: None, limit: PAGE_MAX };
        let mut all = Vec::new();
        loop {
            let stored = self.tx.decisions(&query)?;
            let Some(last) = stored.last() else { return Ok(all) };
            query.after = Some(last.id);
            all.extend(stored.into_iter().map(|one| {
                let place = (one.repo.clone(), one.id);
                self.facts.state.decisions.get(&place).cloned().unwrap_or(one)
            }));
        }
    }

    /// Returns the steps of the supervisor that led to a run: those about its task, up to its dispatch.
    pub(crate) fn run_why(&mut self, id: &str) -> Result<WhyRun, Refusal> {
        let repo = self.caller.repo.clone();
        let run = settle(self.tx, &mut self.facts, |facts| find_run(facts, &repo, id).cloned())?;
        let mut query = EventQuery {
            repo: Some(repo),
            task: Some(run.task.clone()),
            event: Some("supervised".to_owned()),
            limit: PAGE_MAX,
            ..EventQuery::default()
        };
        let mut because = Vec::new();
        loop {
            let stored = self.tx.events(&query)?;
            let Some(last) = stored.last() else { break };
            query.after = last.seq;
            for event in &stored {
                let view = crate::view::event(event);
                let of = view.text("run");
                because.push(reason(event.seq, &view.fields));
                if of == Some(run.id.to_string().as_str()) {
                    return Ok(WhyRun { run: run.id.to_string(), because });
                }
            }
        }
        // Whoever started it did so without the supervisor.
        if run.rule.is_none() {
            because.clear();
        }
        Ok(WhyRun { run: run.id.to_string(), because })
    }
}

fn reason(seq: Seq, fields: &Map<String, Value>) -> Reason {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let facts = fields.get("facts").and_then(Value::as_object).cloned().unwrap_or_default();
    Reason {
        seq: seq.0,
        rule: text("rule"),
        facts,
        because: text("because"),
        action: text("action"),
    }
}
