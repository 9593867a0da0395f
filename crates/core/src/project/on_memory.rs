//! What events do to memories and directives.

use crate::directive::Directive;
use crate::event::{Draft, Event, Placed};
use crate::memory::{Memory, Source};
use crate::state::Key;

/// Names the entities that an event about a memory or a directive changes. A task that it names is where the
/// memory comes from; it stays as it is.
pub(super) fn touched(draft: &Draft) -> Vec<Key> {
    let repo = || draft.repo.clone();
    match &draft.event {
        Event::MemoryWritten(e) => vec![Key::Repo(repo()), Key::Memory(repo(), e.memory)],
        Event::MemoryUpdated(e) => vec![Key::Memory(repo(), e.memory)],
        Event::MemorySuperseded(e) => vec![Key::Memory(repo(), e.memory)],
        Event::MemoryForgotten(e) | Event::MemoryExpired(e) => {
            vec![Key::Memory(repo(), e.memory)]
        }
        Event::DirectiveCreated(e) => {
            vec![Key::Repo(repo()), Key::Directive(repo(), e.directive)]
        }
        Event::DirectiveToggled(e) => vec![Key::Directive(repo(), e.directive)],
        Event::DirectiveTriggered(e) => vec![Key::Directive(repo(), e.directive)],
        Event::DirectiveDeleted(e) => vec![Key::Directive(repo(), e.directive)],
        _ => Vec::new(),
    }
}

pub fn memory(before: Option<Memory>, placed: &Placed) -> Option<Memory> {
    let draft = &placed.draft;
    if let Event::MemoryWritten(e) = &draft.event {
        let (agent, task) = (draft.agent.clone(), draft.task.clone());
        return Some(Memory {
            repo: draft.repo.clone(),
            id: e.memory,
            kind: e.kind,
            scope: e.scope.clone(),
            text: e.text.clone(),
            tags: e.tags.clone(),
            source: Source { agent, task, event: placed.seq },
            created_at: placed.ts,
            expires_at: e.expires_at,
            superseded_by: None,
            origin: None,
        });
    }
    let mut memory = before?;
    match &draft.event {
        Event::MemoryUpdated(e) => {
            // Who says it now is its source; the task that it was learnt on stays.
            if memory.text != e.text {
                memory.source.agent = draft.agent.clone();
                memory.source.event = placed.seq;
            }
            memory.kind = e.kind;
            memory.scope.clone_from(&e.scope);
            memory.text.clone_from(&e.text);
            memory.tags.clone_from(&e.tags);
            memory.expires_at = e.expires_at;
        }
        Event::MemorySuperseded(e) => memory.superseded_by = Some(e.by),
        Event::TakenOver(e) => memory.origin = Some(e.origin.clone()),
        Event::MemoryForgotten(_) | Event::MemoryExpired(_) => return None,
        _ => {}
    }
    Some(memory)
}

pub fn directive(before: Option<Directive>, placed: &Placed) -> Option<Directive> {
    if let Event::DirectiveCreated(e) = &placed.draft.event {
        return Some(Directive {
            repo: placed.draft.repo.clone(),
            id: e.directive,
            text: e.text.clone(),
            trigger: e.trigger,
            priority: e.priority,
            enabled: true,
            description: e.description.clone(),
            created_at: placed.ts,
            expires_at: e.expires_at,
            last_triggered_at: None,
            origin: None,
        });
    }
    let mut directive = before?;
    match &placed.draft.event {
        Event::DirectiveToggled(e) => directive.enabled = e.enabled,
        Event::DirectiveTriggered(_) => directive.last_triggered_at = Some(placed.ts),
        Event::TakenOver(e) => directive.origin = Some(e.origin.clone()),
        Event::DirectiveDeleted(_) => return None,
        _ => {}
    }
    Some(directive)
}
