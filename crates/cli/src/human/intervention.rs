//! A stuck task in words: what was wanted, what happened last, what is wrong, what is asked.

use super::words::{BOLD, paint};
use super::{Screen, event, task};
use comity_api::InterventionAnswer;
use comity_core::view::DecisionView;

pub fn full(answer: &InterventionAnswer, screen: &Screen) -> String {
    let mut out = task::one_line(&answer.task, screen);
    section(&mut out, "Contract", &answer.contract);
    let events: String = answer.events.iter().map(|entry| event::line(entry, screen)).collect();
    section(&mut out, "Last entries of the log", &events);
    section(&mut out, "Error report", answer.error.as_deref().unwrap_or_default());
    let question = |decision: &DecisionView| {
        let state = match decision.state.as_str() {
            "open" => String::new(),
            state => format!(" ({state})"),
        };
        format!("{}  {}{state}\n", decision.id, decision.question)
    };
    let questions: String = answer.questions.iter().map(question).collect();
    section(&mut out, "Questions", &questions);
    let id = &answer.task.id;
    out.push_str(&format!("\nLet it continue with: comity task intervene {id} --feedback TEXT\n"));
    out
}

fn section(out: &mut String, heading: &str, body: &str) {
    if body.trim().is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", paint(BOLD, heading)));
    for line in body.trim_end().lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
}
