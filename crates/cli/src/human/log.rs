//! The log's health in words.

use super::Screen;
use super::words::{BAD, GOOD, ago, count, paint};
use comity_api::{HeadAnswer, RebuildAnswer, SweptAnswer, VerifyAnswer};

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

pub fn rebuild(answer: &RebuildAnswer, _: &Screen) -> String {
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
    format!("Rebuilt {} from {} events\n", parts.join(", "), answer.events)
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
