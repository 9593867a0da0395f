//! What a server that runs for long asks of a service beside the operations.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::{CardsMessage, PresenceMessage, Sign, TaskFilter, TaskLife};
use comity_core::chain::Stored;
use comity_core::ids::Seq;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_store::EventQuery;
use std::sync::PoisonError;

/// Events at the end of the log whose hashes a quick check recomputes.
const END_EVENTS: usize = 100;

impl Service {
    /// Returns the cards of the board that the events after a place changed.
    pub fn changed_cards(&self, caller: &Caller, after: u64) -> Result<CardsMessage, Refusal> {
        self.read(caller, |reader| reader.changed_cards(Seq(after)))
    }

    /// Returns the last signs of life, and how long claims live.
    pub fn signs_of_life(&self, caller: &Caller) -> Result<PresenceMessage, Refusal> {
        self.read(caller, |reader| reader.signs_of_life())
    }

    /// Recomputes the hashes at the end of the log; returns the place of the last event.
    pub fn check_end(&self) -> Result<u64, Refusal> {
        let mut events = self.read_stored(|tx| {
            let (before, limit) = (Some(Seq(u64::MAX)), END_EVENTS);
            Ok(tx.events(&EventQuery { before, limit, ..EventQuery::default() })?)
        })?;
        events.reverse();
        for (event, next) in events.iter().zip(events.iter().skip(1)) {
            if let Some(problem) = next.problem_after(&event.head()) {
                return Err(Refusal::new(Code::StoreDamaged, problem));
            }
        }
        Ok(events.last().map_or(0, |event: &Stored| event.seq.0))
    }

    /// Checks the whole log, and remembers when and with what result.
    pub fn verify_and_note(&self) -> Result<bool, Refusal> {
        let ok = self.verify()?.ok;
        let now = self.store_time()?;
        *self.memo().verified.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, ok));
        Ok(ok)
    }

    /// Forgets what nobody asked for in a while.
    pub fn rest(&self) {
        self.memo().folds.rest();
    }
}

impl Reader<'_> {
    fn signs_of_life(&mut self) -> Result<PresenceMessage, Refusal> {
        let now = self.now();
        let known = self.tx.agents(None, PAGE_MAX)?;
        let sign =
            |(agent, presence): (comity_core::agent::Agent, comity_core::facts::Presence)| {
                presence.latest().map(|last_seen| Sign { id: agent.id.to_string(), last_seen })
            };
        let agents = known.into_iter().filter_map(sign).collect();
        let statuses = vec![Status::Claimed, Status::InProgress];
        let filter = TaskFilter { statuses, ..TaskFilter::default() };
        let (tasks, _) = self.task_rows(&filter, 0, PAGE_MAX)?;
        let mut lives = Vec::new();
        for task in tasks {
            let Some(claim) = &task.claim else { continue };
            let until =
                crate::batch::settle(self.tx, &mut self.facts, |facts| facts.claim_expiry(claim))?;
            let life = crate::dashboard::life(until, claim.ttl, now);
            lives.push(TaskLife { task: task.id.to_string(), life });
        }
        Ok(PresenceMessage { now, agents, lives })
    }
}
