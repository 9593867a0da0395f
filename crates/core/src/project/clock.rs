//! What a corrected clock does: whatever was dated after it counts from it.
//!
//! Only times that something is counted from are moved. What tells when something happened stays as the log has it.

use crate::decision::Decision;
use crate::directive::Directive;
use crate::event::{Event, Placed};
use crate::lease::Lease;
use crate::memory::Memory;
use crate::run::Run;
use crate::state::{Key, State};
use crate::task::Task;
use crate::time::Timestamp;

/// Moves the times of everything in the state that an event corrects; names what it moved.
pub fn correct(state: &mut State, placed: &Placed) -> Vec<Key> {
    if !matches!(placed.draft.event, Event::ClockCorrected(_)) {
        return Vec::new();
    }
    let at = placed.ts;
    let mut moved = Vec::new();
    for ((repo, id), it) in &mut state.tasks {
        moved.extend(task(it, at).then(|| Key::Task(repo.clone(), id.clone())));
    }
    for ((repo, id), it) in &mut state.leases {
        moved.extend(lease(it, at).then(|| Key::Lease(repo.clone(), *id)));
    }
    for ((repo, id), it) in &mut state.decisions {
        moved.extend(decision(it, at).then(|| Key::Decision(repo.clone(), *id)));
    }
    for ((repo, id), it) in &mut state.memories {
        moved.extend(memory(it, at).then(|| Key::Memory(repo.clone(), *id)));
    }
    for ((repo, id), it) in &mut state.directives {
        moved.extend(directive(it, at).then(|| Key::Directive(repo.clone(), *id)));
    }
    for ((repo, id), it) in &mut state.runs {
        moved.extend(run(it, at).then(|| Key::Run(repo.clone(), *id)));
    }
    moved
}

/// Moves a time that lies after the clock; tells whether it did.
fn clamp(time: &mut Timestamp, at: Timestamp) -> bool {
    let is_after = *time > at;
    *time = (*time).min(at);
    is_after
}

/// Moves a start, and its end with it.
fn shift(start: &mut Timestamp, end: Option<&mut Timestamp>, at: Timestamp) -> bool {
    let ahead = start.since(at);
    if let (true, Some(end)) = (*start > at, end) {
        *end = Timestamp::from_ms(end.ms().saturating_sub(ahead.ms()));
    }
    clamp(start, at)
}

fn task(task: &mut Task, at: Timestamp) -> bool {
    let mut moved = false;
    if let Some(claim) = &mut task.claim {
        moved |= clamp(&mut claim.claimed_at, at);
        moved |= claim.started_at.as_mut().is_some_and(|started| clamp(started, at));
    }
    if let Some(feedback) = &mut task.feedback {
        moved |= clamp(&mut feedback.at, at);
    }
    if let Some(block) = &mut task.block {
        moved |= shift(&mut block.since, block.retry_at.as_mut(), at);
    }
    moved
}

fn lease(lease: &mut Lease, at: Timestamp) -> bool {
    clamp(&mut lease.acquired_at, at) | clamp(&mut lease.renewed_at, at)
}

fn decision(decision: &mut Decision, at: Timestamp) -> bool {
    shift(&mut decision.created_at, decision.expires_at.as_mut(), at)
}

fn memory(memory: &mut Memory, at: Timestamp) -> bool {
    shift(&mut memory.created_at, memory.expires_at.as_mut(), at)
}

fn run(run: &mut Run, at: Timestamp) -> bool {
    clamp(&mut run.created_at, at) | run.started_at.as_mut().is_some_and(|time| clamp(time, at))
}

fn directive(directive: &mut Directive, at: Timestamp) -> bool {
    shift(&mut directive.created_at, directive.expires_at.as_mut(), at)
}
