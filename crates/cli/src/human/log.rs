//! The log's health in words.

use super::words::{BAD, BOLD, DIM, GOOD, ago, count, cut, more, paint, width, wrap};
use super::{Screen, story};
use crate::local_time::date_and_time;
use comity_api::{EventView, EventsPage, HeadAnswer, RebuildAnswer, SweptAnswer, VerifyAnswer};

/// The widest name of who acts, in a list.
const AGENT_COLUMNS: usize = 16;

/// What happened, the newest first, by the local clock.
pub fn list(answer: &EventsPage, screen: &Screen) -> String {
    if answer.events.is_empty() && screen.terminal {
        return "Nothing has happened yet.\n".to_owned();
    }
    let agents = answer.events.iter().map(|event| width(&event.agent)).max().unwrap_or(0);
    let tasks = answer.events.iter().map(|event| width(task_of(event))).max().unwrap_or(0);
    let widths = (agents.min(AGENT_COLUMNS), tasks);
    let lines = answer.events.iter().map(|event| aligned(event, widths, screen));
    lines.collect::<String>() + &more(answer.next.as_ref(), screen)
}

/// One event, on a line of its own.
pub fn line(event: &EventView, screen: &Screen) -> String {
    aligned(event, (AGENT_COLUMNS, TASK_COLUMNS), screen)
}

/// The width of a task's id where the other lines are not known.
const TASK_COLUMNS: usize = 5;

fn task_of(event: &EventView) -> &str {
    event.task.as_deref().unwrap_or("")
}

fn aligned(event: &EventView, (agents, tasks): (usize, usize), screen: &Screen) -> String {
    let when = date_and_time(event.ts);
    let says = story::words(event);
    if !screen.terminal {
        return format!("{when}\t{}\t{}\t{says}\n", event.agent, task_of(event));
    }
    let agent = cut(&event.agent, agents);
    let agent = format!("{agent}{}", " ".repeat(agents.saturating_sub(width(&agent))));
    let task = format!("{:<tasks$}", task_of(event));
    let used = width(&when) + width(&agent) + width(&task) + 6;
    let says = cut(&says, screen.columns.saturating_sub(used).max(12));
    format!("{}  {agent}  {}  {says}\n", paint(DIM, &when), paint(BOLD, &task))
}

pub fn head(answer: &HeadAnswer, screen: &Screen) -> String {
    let (seq, hash) = (answer.seq, &answer.hash);
    if !screen.terminal {
        let ts = answer.ts.map(|at| at.to_string()).unwrap_or_default();
        return format!("{seq}\t{hash}\t{ts}\n");
    }
    let when = answer.ts.map(|at| format!("  {}", ago(at, screen))).unwrap_or_default();
    format!("{seq}  {hash}{}\n", if seq == 0 { "  (empty)" } else { when.as_str() })
}

pub fn verify(answer: &VerifyAnswer, _: &Screen) -> String {
    let events = answer.events;
    if answer.ok {
        return format!("{} {events} events, head {}\n", paint(GOOD, "ok"), answer.head);
    }
    let mut out = format!("{} {events} events\n", paint(BAD, "damaged"));
    for problem in &answer.problems {
        out.push_str(&format!("  - {problem}\n"));
    }
    out
}

pub fn rebuild(answer: &RebuildAnswer, screen: &Screen) -> String {
    let rebuilt = &answer.rebuilt;
    let parts = [
        count(rebuilt.agents, "agent", "agents"),
        count(rebuilt.decisions, "decision", "decisions"),
        count(rebuilt.directives, "directive", "directives"),
        count(rebuilt.leases, "lease", "leases"),
        count(rebuilt.memories, "memory", "memories"),
        count(rebuilt.repos, "repository", "repositories"),
        count(rebuilt.tasks, "task", "tasks"),
    ];
    let said = format!("Rebuilt {} from {} events", parts.join(", "), answer.events);
    wrap(&said, "", screen.columns)
}

pub fn sweep(answer: &SweptAnswer, _: &Screen) -> String {
    let ended = &answer.reclaimed;
    let mut out = String::new();
    for (ids, word) in [
        (&ended.tasks, "task"),
        (&ended.leases, "lease"),
        (&ended.decisions, "decision"),
        (&ended.memories, "memory"),
        (&ended.directives, "directive"),
    ] {
        for id in ids {
            out.push_str(&format!("Reclaimed {word} {id}\n"));
        }
    }
    if out.is_empty() { "Nothing has expired.\n".to_owned() } else { out }
}
