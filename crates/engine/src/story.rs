//! What happened, the newest first: in a repository, and to one task with what was asked about it.

use crate::pages::{bad_cursor, limit, page};
use crate::read::Reader;
use comity_api::{EventsPage, LogFilter, StoryAnswer};
use comity_core::ids::Seq;
use comity_core::refusal::Refusal;
use comity_core::view;
use comity_store::EventQuery;

/// Events of a task that its story is told from.
const STORY_EVENTS_MAX: usize = 100;
/// Questions of a task that are told, the last ones.
const STORY_DECISIONS_MAX: usize = 20;

impl Reader<'_> {
    pub(crate) fn latest(&mut self, filter: &LogFilter) -> Result<EventsPage, Refusal> {
        let limit = limit(filter.limit)?;
        let before = match filter.after.as_deref() {
            Some(cursor) => cursor.parse().map_err(|_| bad_cursor(cursor))?,
            None => u64::MAX,
        };
        let task = filter.task.as_deref().map(|id| self.find(id)).transpose()?;
        let query = EventQuery {
            repo: Some(self.caller.repo.clone()),
            task: task.map(|task| task.id),
            before: Some(Seq(before)),
            limit: limit + 1,
            ..EventQuery::default()
        };
        let events = self.tx.events(&query)?;
        let views: Vec<_> = events.iter().map(crate::view::event).collect();
        let (events, next) = page(views, limit, |event| event.seq.to_string());
        Ok(EventsPage { events, next })
    }

    pub(crate) fn story(&mut self, id: &str) -> Result<StoryAnswer, Refusal> {
        let task = self.find(id)?;
        let mut decisions = Vec::new();
        let skipped = task.decisions.len().saturating_sub(STORY_DECISIONS_MAX);
        for id in task.decisions.iter().skip(skipped) {
            let repo = &task.repo;
            let found = self.settled(|facts| Ok(facts.decision(repo, *id)?.cloned()))?;
            decisions.extend(found.as_ref().map(view::decision));
        }
        let wanted = LogFilter {
            task: Some(task.id.to_string()),
            limit: Some(STORY_EVENTS_MAX),
            ..LogFilter::default()
        };
        let EventsPage { events, next } = self.latest(&wanted)?;
        let more = next.is_some();
        Ok(StoryAnswer { task: self.task_view(&task)?, decisions, events, more })
    }
}
