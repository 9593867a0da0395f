//! What happened, in words: one sentence an event, and a task with all that was said about it.

use super::post::from_others;
use super::words::{BAD, BOLD, DIM, GOOD, PLAIN, ago, cut, paint, width, wrap};
use super::{Screen, task};
use crate::terminal::Ink;
use comity_api::{EventView, StoryAnswer};
use comity_core::brief::Brief;
use comity_core::view::DecisionView;
use comity_engine::telling;
use serde::{Deserialize, Serialize};

/// Entries of each part of a story, the newest ones.
const ENTRIES_MAX: usize = 8;
/// Lines of the timeline.
const TIMELINE_MAX: usize = 12;

/// What happened to one task or several, each with what others left for whoever works on it.
#[derive(Serialize, Deserialize)]
pub struct Stories(pub Vec<(StoryAnswer, Option<Brief>)>);

pub fn all(stories: &Stories, screen: &Screen) -> String {
    let told = stories.0.iter();
    let told: Vec<String> = told
        .map(|(story, brief)| full(story, screen) + &from_others(brief.as_ref(), screen))
        .collect();
    told.join("\n")
}

fn full(story: &StoryAnswer, screen: &Screen) -> String {
    let mut out = task::full(&story.task, screen);
    feedback(&mut out, story, screen);
    questions(&mut out, &story.decisions, screen);
    let named = |names: &'static [&'static str]| {
        story.events.iter().filter(move |event| names.contains(&event.event.as_str()))
    };
    section(&mut out, "Notes", named(&["note"]).map(|event| note(event)), screen);
    section(&mut out, "Failures", story.events.iter().filter_map(failure), screen);
    section(&mut out, "Evidence", named(&["tests_run", "gate_waived"]).map(evidence), screen);
    timeline(&mut out, story, screen);
    out
}

/// An entry of a section: when, who, what.
struct Entry<'e> {
    event: &'e EventView,
    text: String,
    ink: Ink,
}

fn section<'e>(
    out: &mut String,
    heading: &str,
    entries: impl Iterator<Item = Entry<'e>>,
    screen: &Screen,
) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    out.push_str(&format!("\n  {}\n", paint(BOLD, heading)));
    for Entry { event, text, ink } in entries.by_ref().take(ENTRIES_MAX) {
        let front = format!("{}, {}: ", event.agent, ago(event.ts, screen));
        let wrapped = wrap(&format!("{front}{text}"), "    ", screen.columns);
        for (number, line) in wrapped.lines().enumerate() {
            // Who and when are dim where they fit the first line.
            match line.trim_start().strip_prefix(&front).filter(|_| number == 0) {
                Some(rest) => {
                    out.push_str(&format!("    {}{}\n", paint(DIM, &front), paint(ink, rest)));
                }
                None => out.push_str(&format!("{}\n", paint(ink, line))),
            }
        }
    }
    let left = entries.count();
    if left > 0 {
        out.push_str(&format!("    {}\n", paint(DIM, &format!("and {left} older"))));
    }
}

fn feedback(out: &mut String, story: &StoryAnswer, screen: &Screen) {
    let Some(feedback) = &story.task.feedback else { return };
    out.push_str(&format!("\n  {}\n", paint(BOLD, "Feedback")));
    let (by, round) = (&feedback.by, feedback.round);
    let at = ago(feedback.at, screen);
    let text = format!("{by} sent round {round} back, {at}: {}", feedback.words());
    out.push_str(&wrap(&text, "    ", screen.columns));
}

fn questions(out: &mut String, decisions: &[DecisionView], screen: &Screen) {
    if decisions.is_empty() {
        return;
    }
    out.push_str(&format!("\n  {}\n", paint(BOLD, "Questions")));
    for decision in decisions.iter().rev().take(ENTRIES_MAX) {
        let asked = format!("{}  {} asks: {}", decision.id, decision.asked_by, decision.question);
        out.push_str(&wrap(&asked, "    ", screen.columns));
        let answer = match (&decision.answer, &decision.answered_by) {
            (Some(answer), by) => {
                let text = decision.text.as_ref().map(|text| format!(": {text}"));
                let by = by.as_ref().map(|by| format!("{by} answers: ")).unwrap_or_default();
                paint(GOOD, &format!("{by}{answer}{}", text.unwrap_or_default()))
            }
            (None, _) if decision.state == "open" => {
                paint(Ink::Busy, &format!("comity decision answer {} ANSWER", decision.id))
            }
            (None, _) => paint(DIM, &decision.state),
        };
        out.push_str(&format!("        {answer}\n"));
    }
}

fn timeline(out: &mut String, story: &StoryAnswer, screen: &Screen) {
    // What has its own place above is not told twice.
    let told = ["note", "tests_run", "lease_renewed", "review_feedback"];
    let events: Vec<&EventView> =
        story.events.iter().filter(|event| !told.contains(&event.event.as_str())).collect();
    if events.is_empty() {
        return;
    }
    out.push_str(&format!("\n  {}\n", paint(BOLD, "Timeline")));
    let shown = events.get(..TIMELINE_MAX).unwrap_or(&events);
    let times: Vec<String> = shown.iter().map(|event| ago(event.ts, screen)).collect();
    let time_columns = times.iter().map(|time| width(time)).max().unwrap_or(0);
    let agent_columns = shown.iter().map(|event| width(&event.agent)).max().unwrap_or(0);
    for (event, time) in shown.iter().zip(times) {
        let front = format!("{time:<time_columns$}  {:<agent_columns$}", event.agent);
        let room = screen.columns.saturating_sub(width(&front) + 6).max(12);
        out.push_str(&format!("    {}  {}\n", paint(DIM, &front), cut(&words(event), room)));
    }
    if story.more || events.len() > shown.len() {
        let all = format!("all of it: comity log --task {}", story.task.id);
        out.push_str(&format!("    {}\n", paint(DIM, &all)));
    }
}

fn note(event: &EventView) -> Entry<'_> {
    let kind = event.text("type").filter(|kind| *kind != "progress");
    let kind = kind.map(|kind| format!("({kind}) ")).unwrap_or_default();
    let text = format!("{kind}{}", event.text("text").unwrap_or_default());
    Entry { event, text, ink: PLAIN }
}

fn failure(event: &EventView) -> Option<Entry<'_>> {
    let failed = event.text("new_status") == Some("failed");
    let text = match event.event.as_str() {
        "status_changed" if failed => event.text("reason").unwrap_or("no reason was given"),
        "error" => event.text("error_log").or(event.text("reason")).unwrap_or_default(),
        "locks_reclaimed" => "comity ended the claim: there was no sign of life",
        _ => return None,
    };
    Some(Entry { event, text: text.to_owned(), ink: BAD })
}

fn evidence(event: &EventView) -> Entry<'_> {
    let pass = event.text("result") == Some("pass") || event.event == "gate_waived";
    Entry { event, text: words(event), ink: if pass { GOOD } else { BAD } }
}

/// One event as a sentence about who acts, with the reason.
pub fn words(event: &EventView) -> String {
    let why = telling::why(event).map(|why| format!(": {why}"));
    telling::what(event) + &why.unwrap_or_default()
}
