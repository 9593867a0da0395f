//! Says to two agents that they act under one id.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_core::ids::{RepoName, Seq, TaskId};
use comity_core::namesake::{ever_elsewhere, last_elsewhere, may_be_shared, place_words};
use comity_core::refusal::Refusal;
use comity_core::via::Via;
use comity_store::EventQuery;
use std::cmp::Reverse;

/// Tasks of the caller whose events are looked at.
const HELD_MAX: usize = 8;
/// The newest events of each of them that are.
const EVENTS_MAX: usize = 16;
/// The event that a claim begins with; what came before it belongs to another one.
const BEGINNING: &str = "task_claimed";

/// What the caller's id did with a task that it holds.
struct Act {
    seq: u64,
    task: String,
    via: Via,
}

impl Service {
    /// Says that the caller's id acted last at another place, under a claim that lives. Nothing is said if the look
    /// fails: the command itself meets what is wrong with the store.
    pub(crate) fn another_just_acted(&self, caller: &Caller) -> Option<String> {
        let (here, acts) = self.acts_of(caller)?;
        Some(words(caller, &here, last_elsewhere(&here, &acts, |act| &act.via)?))
    }

    /// Says that the caller's id acts at another place, too, under a claim that lives.
    pub fn another_acts(&self, caller: &Caller) -> Option<String> {
        let (here, acts) = self.acts_of(caller)?;
        Some(words(caller, &here, ever_elsewhere(&here, &acts, |act| &act.via)?))
    }

    /// Reads where the caller is, in the words of the log, and what its id did under its claims, newest first.
    fn acts_of(&self, caller: &Caller) -> Option<(Via, Vec<Act>)> {
        if !may_be_shared(&caller.actor, &caller.via) {
            return None;
        }
        let policy = &self.settings().policy;
        let mut acts = self
            .read_stored(|tx| {
                let held = tx.held_by(&caller.actor, HELD_MAX)?;
                match held.is_empty() {
                    true => Ok(Vec::new()),
                    false => Reader::open(tx, policy, caller, self.memo())?.acts_on(&held),
                }
            })
            .ok()?;
        acts.sort_by_key(|act| Reverse(act.seq));
        Some((self.as_logged(caller.via.clone()), acts))
    }
}

impl Reader<'_> {
    fn acts_on(&mut self, held: &[(RepoName, TaskId)]) -> Result<Vec<Act>, Refusal> {
        let me = &self.caller.actor;
        let mut acts = Vec::new();
        for (repo, id) in held {
            let is_held = self.settled(|facts| {
                let claim = facts.task(repo, id)?.and_then(|task| task.claim.as_ref());
                Ok(claim.is_some_and(|claim| claim.agent == *me))
            })?;
            if !is_held {
                continue;
            }
            let before = Some(Seq(self.facts.head.seq.0 + 1));
            let (repo, task) = (Some(repo.clone()), Some(id.clone()));
            let query =
                EventQuery { repo, task, before, limit: EVENTS_MAX, ..EventQuery::default() };
            for event in self.tx.events(&query)? {
                if event.agent == me.as_str() {
                    let via = Via::of_body(event.body.as_deref().unwrap_or_default());
                    acts.push(Act { seq: event.seq.0, task: id.to_string(), via });
                }
                if event.event == BEGINNING {
                    break;
                }
            }
        }
        Ok(acts)
    }
}

fn words(caller: &Caller, here: &Via, act: &Act) -> String {
    let (me, task) = (&caller.actor, &act.task);
    let (there, here) = (place_words(&act.via), place_words(here));
    format!(
        "note: {me} also works on {task} from {there}; this command comes from {here}. \
         If these are two agents, give each an id of its own (COMITY_AGENT)"
    )
}
