//! Everything about one task: its graph, its spans of time, its evidence, its story.

use super::column;
use super::history::{line, says_nothing_new};
use crate::batch::settle;
use crate::read::Reader;
use comity_api::{
    ById, Edge, EndedLease, EvidenceAnswer, EvidenceView, Graph, Node, PanelAnswer, RunFilter, Span,
};
use comity_core::chain::Stored;
use comity_core::event::{Event, Verdict};
use comity_core::ids::TaskId;
use comity_core::limits::PAGE_MAX;
use comity_core::memory::{Memory, MemoryFilter};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::view::{self, MemoryView, RunView};
use comity_store::{EventQuery, MemoryQuery};
use std::collections::BTreeMap;

/// Steps of the graph in each direction, and tasks in it.
const GRAPH_STEPS: i32 = 2;
const NODES_MAX: usize = 60;
/// Events of a task that are read for its panel.
const EVENTS_MAX: usize = 500;
/// Memories that are looked at, and shown.
const MEMORIES_READ: usize = 500;
const MEMORIES_MAX: usize = 10;
/// Leases that have ended and are shown.
const ENDED_MAX: usize = 20;
/// Runs that are shown.
const RUNS_MAX: usize = 20;

impl Reader<'_> {
    pub(crate) fn panel(&mut self, input: &ById) -> Result<PanelAnswer, Refusal> {
        let task = self.find(&input.id)?;
        let story = self.story(task.id.as_str())?;
        let events = self.last_events_of(&task)?;
        let lines: Vec<&Stored> =
            events.iter().rev().filter(|event| !says_nothing_new(&event.event)).collect();
        let history: Vec<_> = lines.iter().map(|event| line(event)).collect();
        let leases = self.live_leases(None, None, usize::MAX)?;
        let own = leases.iter().filter(|lease| lease.claim_of.as_ref() == Some(&task.id));
        let mut held = Vec::new();
        for lease in own {
            held.push(settle(self.tx, &mut self.facts, |facts| view::lease(facts, lease))?);
        }
        let (repo, id) = (task.repo.clone(), task.id.clone());
        let children = settle(self.tx, &mut self.facts, |facts| {
            let tasks = facts.children(&repo, &id)?;
            Ok(tasks.iter().map(|child| child.id.to_string()).collect())
        })?;
        let verbs = if self.at().is_some() { Vec::new() } else { self.verbs_of(&task)? };
        Ok(PanelAnswer {
            seq: self.seq(),
            at: self.at(),
            now: self.now(),
            card: self.card_of(&task)?,
            why: self.why(task.id.as_str())?.why,
            verbs,
            evidence: evidence(&events),
            graph: self.graph(&task)?,
            spans: self.spans(&task)?,
            folded: events.len() - history.len(),
            history,
            more: events.len() >= EVENTS_MAX,
            leases: held,
            ended_leases: self.ended_leases(&task)?,
            decisions: story.decisions,
            memories: self.memories_for(&task)?,
            children,
            runs: self.last_runs(&task)?,
            task: story.task,
        })
    }

    fn last_runs(&mut self, task: &Task) -> Result<Vec<RunView>, Refusal> {
        let all = RunFilter { task: Some(task.id.to_string()), ..RunFilter::default() };
        let mut runs = self.runs(&RunFilter { limit: Some(PAGE_MAX), ..all })?.runs;
        runs.reverse();
        runs.truncate(RUNS_MAX);
        Ok(runs)
    }

    pub(crate) fn evidence(&mut self, input: &ById) -> Result<EvidenceAnswer, Refusal> {
        let task = self.find(&input.id)?;
        let events = self.last_events_of(&task)?;
        let gates = view::gates(&task, self.policy);
        Ok(EvidenceAnswer { gates, evidence: evidence(&events) })
    }

    /// Returns the last events of a task, in the order of the log.
    fn last_events_of(&mut self, task: &Task) -> Result<Vec<Stored>, Refusal> {
        let query = EventQuery {
            repo: Some(task.repo.clone()),
            task: Some(task.id.clone()),
            before: Some(comity_core::ids::Seq(u64::MAX)),
            limit: EVENTS_MAX,
            ..EventQuery::default()
        };
        let mut events = self.tx.events(&query)?;
        events.reverse();
        Ok(events)
    }

    fn graph(&mut self, task: &Task) -> Result<Graph, Refusal> {
        let mut nodes: BTreeMap<TaskId, Node> = BTreeMap::new();
        let mut edges: Vec<Edge> = Vec::new();
        let mut add = |of: &Task, step: i32| {
            let room = nodes.len() < NODES_MAX;
            let is_new = room && !nodes.contains_key(&of.id);
            if is_new {
                let node = Node {
                    id: of.id.to_string(),
                    title: of.title.clone(),
                    status: of.status,
                    column: column(of.status).to_owned(),
                    step,
                };
                nodes.insert(of.id.clone(), node);
            }
            is_new
        };
        add(task, 0);
        for direction in [-1, 1] {
            let mut edge = vec![task.clone()];
            for step in 1..=GRAPH_STEPS {
                let mut next = Vec::new();
                for of in &edge {
                    for other in self.neighbours(of, direction)? {
                        let (from, to) = if direction < 0 { (&other, of) } else { (of, &other) };
                        let link = Edge { from: from.id.to_string(), to: to.id.to_string() };
                        if add(&other, direction * step) {
                            next.push(other.clone());
                        }
                        if !edges.contains(&link) {
                            edges.push(link);
                        }
                    }
                }
                edge = next;
            }
        }
        let known: Vec<Node> = nodes.into_values().collect();
        edges.retain(|edge| {
            let is_known = |id: &str| known.iter().any(|node| node.id == id);
            is_known(&edge.from) && is_known(&edge.to)
        });
        Ok(Graph { nodes: known, edges })
    }

    fn neighbours(&mut self, task: &Task, direction: i32) -> Result<Vec<Task>, Refusal> {
        let (repo, id) = (&task.repo, &task.id);
        settle(self.tx, &mut self.facts, |facts| {
            if direction > 0 {
                return Ok(facts.dependants(repo, id)?.into_iter().cloned().collect());
            }
            let mut needed = Vec::new();
            for id in &task.dependencies {
                needed.extend(facts.task(repo, id)?.cloned());
            }
            Ok(needed)
        })
    }

    fn spans(&mut self, task: &Task) -> Result<Vec<Span>, Refusal> {
        let fold = self.fold()?;
        let past = fold.of(task.repo.as_str());
        let Some(id) = past.number(task.id.as_str()) else { return Ok(Vec::new()) };
        let steps: Vec<_> = past.steps_of(id).collect();
        let mut round = 0;
        let span = |(place, step): (usize, &&crate::fold::Step)| {
            round += u32::from(step.status == Status::InProgress);
            Span {
                status: step.status,
                column: column(step.status).to_owned(),
                from: step.ts,
                to: steps.get(place + 1).map(|next| next.ts),
                agent: past.text(step.worker.filter(|_| step.status != Status::Queued)),
                round: (round > 0).then_some(round),
            }
        };
        Ok(steps.iter().enumerate().map(span).collect())
    }

    fn ended_leases(&mut self, task: &Task) -> Result<Vec<EndedLease>, Refusal> {
        let fold = self.fold()?;
        let past = fold.of(task.repo.as_str());
        let id = past.number(task.id.as_str());
        let own = past.holds.iter().rev().filter(|hold| hold.task.is_some() && hold.task == id);
        let ended = own.filter_map(|hold| {
            let ended_at = hold.to?;
            let at_end = |step: &&crate::fold::Step| step.ts >= ended_at;
            let step = id.and_then(|id| past.steps_of(id).find(at_end));
            let how = match (hold.reclaimed, step.map(|step| step.status)) {
                (true, _) => "reclaimed",
                (false, Some(Status::Review)) => "submitted",
                (false, Some(Status::Blocked)) => "blocked",
                (false, Some(Status::Failed)) => "failed",
                _ => "released",
            };
            Some(EndedLease {
                path: past.name(hold.path).to_owned(),
                lock_id: format!("L{}", hold.id),
                ended_at,
                how: how.to_owned(),
            })
        });
        Ok(ended.take(ENDED_MAX).collect())
    }

    /// Returns memories whose scope is a path that the task declares, or the task itself.
    fn memories_for(&mut self, task: &Task) -> Result<Vec<MemoryView>, Refusal> {
        let query = MemoryQuery {
            repo: task.repo.clone(),
            filter: MemoryFilter::default(),
            after: None,
            limit: MEMORIES_READ,
        };
        let now = self.now();
        let fits = |memory: &Memory| {
            let scope = memory.scope.as_str();
            let of_path = || {
                (scope.contains('/') || scope.contains('.'))
                    && task.files.iter().any(|file| super::tree::meet(file, scope))
            };
            !memory.is_expired(now) && (scope == task.id.as_str() || of_path())
        };
        let found = self.tx.memories(&query)?;
        Ok(found
            .iter()
            .filter(|memory| fits(memory))
            .take(MEMORIES_MAX)
            .map(view::memory)
            .collect())
    }

    /// Returns how a task came to be, as far as one page goes.
    pub(crate) fn latest_of(&mut self, task: &str) -> Result<Vec<Stored>, Refusal> {
        let task = self.find(task)?;
        self.last_events_of(&task)
    }
}

fn evidence(events: &[Stored]) -> Vec<EvidenceView> {
    let view = |stored: &Stored| {
        let body = stored.body.as_deref()?;
        let Ok(Event::TestsRun(run)) = Event::decode(&stored.event, body) else { return None };
        let event = crate::view::event(stored);
        Some(EvidenceView {
            gate: run.gate,
            passed: run.result == Verdict::Pass,
            tier: run.tier.to_string(),
            commit: run.commit,
            round: run.round,
            by: stored.agent.clone(),
            at: stored.ts,
            seq: stored.seq.0,
            tail: event.text("output_tail").map(str::to_owned),
            report: run.report,
        })
    };
    events.iter().rev().filter_map(view).collect()
}
