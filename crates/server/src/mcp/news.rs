//! What an agent has missed since its last call: answers to its questions, grants that it lost, work that was sent back, and
//! new instructions.

use crate::Served;
use comity_api::{ById, EventFilter, EventView, ListDirectives, Nothing, Since, op};
use comity_core::command::Command;
use comity_core::directive::Trigger;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::AgentView;
use comity_engine::{Caller, Mark};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Agents that are remembered; of more, all are forgotten, and their next call looks back to their last sign of life.
const AGENTS_MAX: usize = 1_000;
/// Events that one call looks at. Of more, the oldest are left out.
const EVENTS_MAX: u64 = 500;
/// Most entries in one answer.
const NEWS_MAX: usize = 20;
/// How often reading counts as a sign of life at the least; more often where a grant is short.
const BEAT_EVERY: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct Last {
    seq: u64,
    beat: Instant,
    /// How often the agent has to be heard of, so that none of its grants runs out.
    every: Duration,
    /// The mark of the store before news were looked for last, if they could be read.
    mark: Option<Mark>,
}

/// The last calls of agents.
#[derive(Default)]
pub struct Recent(Mutex<BTreeMap<String, Last>>);

impl Recent {
    /// Tells whether there can be nothing new for an agent: it looked when the store was as it is, and its sign of life is
    /// young.
    pub fn is_still(&self, agent: &str, mark: Mark) -> bool {
        self.last(agent)
            .is_some_and(|last| last.mark == Some(mark) && last.beat.elapsed() < last.every)
    }

    fn last(&self, agent: &str) -> Option<Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(agent).copied()
    }

    fn keep(&self, agent: &str, last: Last) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= AGENTS_MAX && !all.contains_key(agent) {
            all.clear();
        }
        all.insert(agent.to_owned(), last);
    }
}

impl Served {
    /// Returns what is new for a caller. Its call counts as a sign of life, also when it only read.
    pub fn news(
        &self,
        recent: &Recent,
        caller: &Caller,
        wrote: bool,
    ) -> Result<Vec<Value>, Refusal> {
        let mark = self.service.mark();
        if !wrote && mark.is_some_and(|mark| recent.is_still(caller.actor.as_str(), mark)) {
            return Ok(Vec::new());
        }
        let reader = Caller { key: None, fence: None, ..caller.clone() };
        let me = caller.actor.as_str();
        let head = self.service.call::<op::LogHead>(&reader, Nothing {})?.seq;
        let (last, now) = (recent.last(me), Instant::now());
        let beat = last.is_none_or(|last| now.duration_since(last.beat) >= last.every);
        let every = match last {
            Some(last) if !wrote && !beat => last.every,
            _ => self.service.beat_every(&reader).unwrap_or(BEAT_EVERY).min(BEAT_EVERY),
        };
        let mut news = match last {
            Some(last) => self.events_for(&reader, Since::Seq(last.seq), head)?,
            None => self.first_news(&reader, head)?,
        };
        let beaten = if wrote || beat { now } else { last.map_or(now, |last| last.beat) };
        recent.keep(me, Last { seq: head, beat: beaten, every, mark: None });
        if beat && !wrote && self.is_registered(&reader)? {
            self.service.submit(reader.request(Command::Heartbeat), Box::new(drop));
        }
        news.truncate(NEWS_MAX);
        for item in self.service.news(&reader)? {
            news.push(super::tools::json_of(&item)?);
        }
        recent.keep(me, Last { seq: head, beat: beaten, every, mark });
        Ok(news)
    }

    /// Of an agent's first call: what happened since its last sign of life, and what to do at the start.
    fn first_news(&self, caller: &Caller, head: u64) -> Result<Vec<Value>, Refusal> {
        let trigger = Some(Trigger::Startup);
        let input = ListDirectives { trigger, active: true, ..ListDirectives::default() };
        let due = self.service.call::<op::DirectiveList>(caller, input)?.directives;
        let due = due.into_iter().map(|one| {
            json!({"kind": "directive", "id": one.id, "text": one.text, "trigger": one.trigger})
        });
        let missed = match self.known(caller)?.and_then(|agent| agent.last_seen) {
            Some(seen) => self.events_for(caller, Since::Time(seen), head)?,
            None => Vec::new(),
        };
        Ok(due.chain(missed).collect())
    }

    fn is_registered(&self, caller: &Caller) -> Result<bool, Refusal> {
        Ok(self.known(caller)?.is_some())
    }

    /// Returns the task that a caller means who names none: the only one that it holds.
    pub(crate) fn only_task(&self, caller: &Caller) -> Result<Option<String>, Refusal> {
        let mut tasks = self.known(caller)?.map(|agent| agent.holds.tasks).unwrap_or_default();
        Ok(if tasks.len() == 1 { tasks.pop() } else { None })
    }

    fn known(&self, caller: &Caller) -> Result<Option<AgentView>, Refusal> {
        let id = caller.actor.to_string();
        match self.service.call::<op::AgentShow>(caller, ById { id }) {
            Ok(known) => Ok(Some(known.agent)),
            Err(refusal) if refusal.code == Code::NotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    fn events_for(&self, caller: &Caller, since: Since, head: u64) -> Result<Vec<Value>, Refusal> {
        let since = match since {
            Since::Seq(seq) if seq >= head => return Ok(Vec::new()),
            Since::Seq(seq) => Since::Seq(seq.max(head.saturating_sub(EVENTS_MAX))),
            time => time,
        };
        let limit = usize::try_from(EVENTS_MAX).ok();
        let input = EventFilter { since: Some(since), limit, ..EventFilter::default() };
        let events = self.service.call::<op::EventList>(caller, input)?.events;
        let mut news = Vec::new();
        for event in events.iter().filter(|event| event.agent != caller.actor.as_str()) {
            news.extend(self.item(caller, event)?);
        }
        Ok(news)
    }

    /// Returns who had a task before an event.
    fn last_claimed_by(
        &self,
        caller: &Caller,
        id: &str,
        before: u64,
    ) -> Result<Option<String>, Refusal> {
        let (task, event) = (Some(id.to_owned()), Some("task_claimed".to_owned()));
        let limit = usize::try_from(EVENTS_MAX).ok();
        let input = EventFilter { task, event, limit, ..EventFilter::default() };
        let claims = self.service.call::<op::EventList>(caller, input)?.events;
        let last = claims.into_iter().rfind(|claim| claim.seq < before);
        Ok(last.map(|claim| claim.text("assignee").unwrap_or(&claim.agent).to_owned()))
    }

    /// Returns what an event means for a caller; most mean nothing.
    fn item(&self, caller: &Caller, event: &EventView) -> Result<Option<Value>, Refusal> {
        let me = caller.actor.as_str();
        let text = |key: &str| event.text(key).map(str::to_owned);
        Ok(match event.event.as_str() {
            "decision_answered" | "decision_expired" => {
                let Some(id) = text("decision") else { return Ok(None) };
                let asked = self.service.call::<op::DecisionShow>(caller, ById { id })?.decision;
                (asked.asked_by == me).then(|| {
                    json!({"kind": "answer", "decision": asked.id, "question": asked.question,
                           "answer": asked.answer, "text": asked.text, "state": asked.state,
                           "task": asked.task})
                })
            }
            "locks_reclaimed" if event.text("owner") == Some(me) => {
                let locks = event.fields.get("locks").and_then(Value::as_array);
                let paths = locks.into_iter().flatten().filter_map(|lock| lock.get("path"));
                let paths: Vec<&Value> = paths.collect();
                Some(json!({"kind": "lost", "task": event.task, "paths": paths,
                            "reason": "no sign of life in time"}))
            }
            "status_changed" => {
                let Some(id) = event.task.clone() else { return Ok(None) };
                let (from, to) = (text("old_status"), text("new_status"));
                let held = ["claimed", "in_progress", "review"].map(Some);
                if !held.contains(&from.as_deref()) || to.as_deref() == Some("approved") {
                    return Ok(None);
                }
                let mine = self.last_claimed_by(caller, &id, event.seq)?.as_deref() == Some(me);
                mine.then(|| {
                    json!({"kind": "moved", "task": id, "from": from, "to": to,
                           "by": event.agent, "reason": text("reason")})
                })
            }
            "directive_created" => Some(json!({"kind": "directive", "id": text("directive"),
                                               "text": text("text"), "trigger": text("trigger")})),
            _ => None,
        })
    }
}
