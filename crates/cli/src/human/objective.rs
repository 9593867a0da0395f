//! Objectives in words.

use super::Screen;
use comity_api::{PieceAnswer, RunAnswer, TaskAnswer};

pub fn piece(answer: &PieceAnswer, _: &Screen) -> String {
    let run = &answer.run;
    let id = run.id.as_deref().unwrap_or_default();
    let mut out = format!("{id} ({} on {}) {}\n", run.agent, answer.task, run.state);
    if let Some(error) = &run.error {
        out.push_str(&format!("{}: {}\n", error.kind, error.message));
    }
    if let Some(said) = &answer.said {
        out.push_str(said.trim_end());
        out.push('\n');
    }
    out
}

pub fn completed(answer: &RunAnswer, _: &Screen) -> String {
    let task = answer.run.task.as_deref().unwrap_or_default();
    format!("The objective {task} is reached.\n")
}

pub fn blocked(answer: &TaskAnswer, _: &Screen) -> String {
    let needs = answer.task.needs.as_deref().unwrap_or_default();
    format!("{} waits for an answer: {needs}\n", answer.task.id)
}
