//! What a supervisor does, in words.

use super::Screen;
use crate::run::supervise::{PostAnswer, StepView, StepsAnswer};
use comity_api::WhyRun;
use std::fmt::Write;

pub fn step(step: &StepView) -> String {
    let became = match (&step.run, &step.decision, &step.refused) {
        (_, _, Some(refused)) => {
            let why = refused.get("message").and_then(|text| text.as_str()).unwrap_or("refused");
            format!(" (not now: {why})")
        }
        (Some(run), ..) => format!(" → {run}"),
        (None, Some(decision), None) => format!(" → {decision}"),
        (None, None, None) => String::new(),
    };
    format!("{}: {}{became}\n  {}\n", step.subject, step.action, first_line(&step.because))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

pub fn steps(answer: &StepsAnswer, _: &Screen) -> String {
    if answer.steps.is_empty() {
        return if answer.idle { "Nothing is due.\n" } else { "Nothing is due now.\n" }.to_owned();
    }
    answer.steps.iter().map(step).collect()
}

pub fn post(answer: &PostAnswer, _: &Screen) -> String {
    let it = &answer.supervisor;
    let mut out = format!("{}: {}\n", it.name, it.state);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name:<10} {value}");
        }
    };
    line("host", it.host.clone());
    line("process", it.pid.map(|pid| pid.to_string()));
    line("since", it.since.clone());
    line("last beat", it.last_beat.clone());
    line("runs", Some(format!("{} at work, {} waiting", it.live_runs, it.queued_runs)));
    line("due", Some(it.due.to_string()));
    out
}

pub fn why(answer: &WhyRun, _: &Screen) -> String {
    if answer.because.is_empty() {
        return format!("{} was started without the supervisor.\n", answer.run);
    }
    let mut out = String::new();
    for one in &answer.because {
        let _ = writeln!(out, "{:<24} {}", one.rule, one.action);
        let _ = writeln!(out, "  {}", first_line(&one.because));
    }
    out
}
