//! Remembering, changing what is remembered, and forgetting.

use super::posts::task_meant;
use super::{Answer, Rule, not_found};
use crate::command::{MemoryChanges, NewMemory};
use crate::event::{Draft, Event, MemoryGone, MemorySuperseded, MemoryWritten};
use crate::facts::{Facts, Ruling};
use crate::hint::{op, say};
use crate::ids::{MemoryId, RepoName, shorten};
use crate::memory::{GLOBAL_SCOPE, Memory};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;

/// Finds a memory by its id. One whose time is up is not there any more, applied or not.
pub fn find_memory<'a>(facts: &'a Facts, repo: &RepoName, text: &str) -> Ruling<&'a Memory> {
    let id = MemoryId::parse(text).ok_or_else(|| {
        Refusal::input(format!("memory id {:?} is not valid", shorten(text)))
            .hint(say("a memory id looks like M3; list them with ").quote(op("memory.list")))
    })?;
    let found = facts.memory(repo, id)?.filter(|memory| !memory.is_expired(facts.moment.now));
    found.ok_or_else(|| not_found("memory", text).into())
}

impl<'a> Rule<'a> {
    fn memory(&self, text: &str) -> Ruling<&'a Memory> {
        find_memory(self.facts, &self.request.repo, text)
    }

    pub(super) fn remember(&mut self, new: &NewMemory) -> Ruling<Answer> {
        let before = new.supersedes.as_ref().map(|text| self.memory(text)).transpose()?;
        let task = new.task.as_ref().map(|text| self.task(text)).transpose()?.map(|task| &task.id);
        if let Some(before) = before {
            is_current(before)?;
        }
        self.require(Verb::Remember)?;
        let id = MemoryId(self.facts.counters(&self.request.repo)?.memories + 1);
        // What is replaced says what the new one is about, unless that is said anew.
        let scope = new.scope.clone().or_else(|| before.map(|memory| memory.scope.clone()));
        let written = MemoryWritten {
            memory: id,
            kind: new.kind,
            scope: scope.map_or(Ok(GLOBAL_SCOPE.to_owned()), |scope| self.about(&scope))?,
            text: new.text.trim().to_owned(),
            tags: new.tags.clone(),
            expires_at: new.expires.map(|life| self.now().plus(life)),
        };
        self.push(task, Event::MemoryWritten(Box::new(written)));
        if let Some(before) = before {
            let body = MemorySuperseded { memory: before.id, by: id };
            self.push(task, Event::MemorySuperseded(body));
        }
        Ok(Answer::Memory(id))
    }

    /// Reads what a memory is about: a task by its id, everything, or a path.
    fn about(&self, scope: &str) -> Ruling<String> {
        let scope = scope.trim();
        let task = task_meant(self.facts, &self.request.repo, scope)?;
        Ok(task.map_or_else(|| scope.to_owned(), |task| task.id.to_string()))
    }

    pub(super) fn update_memory(&mut self, id: &str, changes: &MemoryChanges) -> Ruling<Answer> {
        let memory = self.memory(id)?;
        is_current(memory)?;
        self.require(Verb::Remember)?;
        let expires_at = match changes.expires {
            Some(life) => Some(self.now().plus(life)),
            None => memory.expires_at.filter(|_| !changes.keep),
        };
        let trimmed = |given: &Option<String>, old: &String| {
            given.as_ref().map_or_else(|| old.clone(), |text| text.trim().to_owned())
        };
        let updated = MemoryWritten {
            memory: memory.id,
            kind: changes.kind.unwrap_or(memory.kind),
            scope: match &changes.scope {
                Some(scope) => self.about(scope)?,
                None => memory.scope.clone(),
            },
            text: trimmed(&changes.text, &memory.text),
            tags: changes.tags.clone().unwrap_or_else(|| memory.tags.clone()),
            expires_at,
        };
        self.push(None, Event::MemoryUpdated(Box::new(updated)));
        Ok(Answer::Memory(memory.id))
    }

    pub(super) fn forget(&mut self, id: &str) -> Ruling<Answer> {
        let memory = self.memory(id)?;
        self.require(Verb::Forget)?;
        self.push(None, Event::MemoryForgotten(MemoryGone { memory: memory.id }));
        Ok(Answer::Forgotten(Box::new(memory.clone())))
    }
}

/// What was replaced is history: only the last of a line can be changed or replaced.
fn is_current(memory: &Memory) -> Ruling<()> {
    let Some(by) = memory.superseded_by else { return Ok(()) };
    Err(Refusal::new(Code::InvalidTransition, format!("{} was replaced by {by}", memory.id))
        .hint(say("see ").quote(op("memory.show").id(&by)).say(" and change that one"))
        .detail("superseded_by", by.to_string())
        .into())
}

/// Ends a memory whose time is up.
pub(super) fn expired(memory: &Memory) -> Draft {
    let gone = Event::MemoryExpired(MemoryGone { memory: memory.id });
    Draft::by_watchdog(memory.repo.clone(), None, gone)
}
