//! What was just said, said again: who calls, and what a read answered while nothing has changed since.

use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Refusal;
use comity_core::via::Via;
use comity_engine::{Caller, Mark};
use comity_project::identity::Said;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Answers and sessions that are remembered; of more, all are forgotten.
const KEPT_MAX: usize = 256;

/// An answer as it goes out: its content, and the line of it.
pub type Line = (Value, String);

/// A question, and who asked it about which repository.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    repo: RepoName,
    agent: AgentId,
    asked: String,
}

impl Question {
    pub fn of(caller: &Caller, asked: &Map<String, Value>) -> Option<Question> {
        let (repo, agent) = (caller.repo.clone(), caller.actor.clone());
        Some(Question { repo, agent, asked: serde_json::to_string(asked).ok()? })
    }
}

struct Kept {
    mark: Mark,
    until: Instant,
    line: Arc<Line>,
}

/// A session, and the one that it belongs to.
type Session = (Option<String>, Option<String>);

/// What a door remembers of its last calls.
#[derive(Default)]
pub struct Again {
    answers: Mutex<BTreeMap<Question, Kept>>,
    sessions: Mutex<BTreeMap<Session, (AgentId, Via)>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put<K: Ord, V>(into: &Mutex<BTreeMap<K, V>>, key: K, value: V) {
    let mut all = locked(into);
    if all.len() >= KEPT_MAX && !all.contains_key(&key) {
        all.clear();
    }
    all.insert(key, value);
}

impl Again {
    /// Returns what the same question of the same agent was answered with, if it would be answered so now.
    pub fn answer(&self, question: &Question, mark: Mark) -> Option<Arc<Line>> {
        let all = locked(&self.answers);
        let kept =
            all.get(question).filter(|kept| kept.mark == mark && Instant::now() < kept.until)?;
        Some(kept.line.clone())
    }

    /// Remembers an answer that was read when the store had a mark, and stays as it is for a while.
    pub fn keep(&self, question: Question, line: Arc<Line>, mark: Mark, left: Duration) {
        let until = Instant::now() + left;
        put(&self.answers, question, Kept { mark, until, line });
    }

    /// Tells who calls in a session, asking only once what does not change.
    pub fn caller(
        &self,
        said: &Said,
        ask: impl FnOnce() -> Result<Option<(AgentId, Via, bool)>, Refusal>,
    ) -> Result<Option<(AgentId, Via)>, Refusal> {
        let key = (said.session.clone(), said.root_session.clone());
        if let Some(known) = locked(&self.sessions).get(&key) {
            return Ok(Some(known.clone()));
        }
        let Some((actor, via, lasts)) = ask()? else { return Ok(None) };
        if lasts {
            put(&self.sessions, key, (actor.clone(), via.clone()));
        }
        Ok(Some((actor, via)))
    }
}
