//! Questions in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, BUSY, DIM, GOOD, PLAIN, WARN, ago, left, more, paint, wrap};
use comity_api::{AnsweredDecision, DecisionAnswer, DecisionsPage};
use comity_core::view::DecisionView;

pub fn list(answer: &DecisionsPage, screen: &Screen) -> String {
    let decisions = &answer.decisions;
    if decisions.is_empty() && screen.terminal {
        return "No open questions.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "STATE", "TO", "TASK", "QUESTION"], "QUESTION");
    for decision in decisions {
        let said = match (&decision.answer, screen.terminal) {
            (Some(answer), true) => format!("{} → {answer}", decision.question),
            _ => decision.question.clone(),
        };
        let style = if decision.state == "open" { WARN } else { PLAIN };
        table.row(vec![
            (decision.id.clone(), BOLD),
            (decision.state.clone(), style),
            plain(&decision.to),
            plain(decision.task.as_deref().unwrap_or("-")),
            plain(said),
        ]);
    }
    table.render(screen) + &more(answer.next.as_ref(), screen)
}

pub fn full(answer: &DecisionAnswer, screen: &Screen) -> String {
    whole(&answer.decision, screen)
}

/// The question with its answer, and the task that the answer made.
pub fn answered(answer: &AnsweredDecision, screen: &Screen) -> String {
    let mut out = whole(&answer.decision, screen);
    if let Some(task) = &answer.task {
        let made = format!("{} {}", task.id, task.title);
        out.push_str(&wrap(&format!("The answer made {made}"), "  ", screen.columns));
    }
    out
}

fn whole(decision: &DecisionView, screen: &Screen) -> String {
    let mut out = format!("{}  {}\n", paint(BOLD, &decision.id), decision.state);
    out.push_str(&wrap(&decision.question, "  ", screen.columns));
    if let Some(context) = &decision.context {
        out.push('\n');
        out.push_str(&paint_lines(&wrap(context, "  ", screen.columns)));
    }
    out.push('\n');
    for option in &decision.options {
        let chosen = decision.answer.as_ref() == Some(&option.key);
        let style = if chosen { GOOD } else { PLAIN };
        let label = option.label.as_ref().map(|label| format!("  {label}")).unwrap_or_default();
        let default =
            if decision.default.as_ref() == Some(&option.key) { "  (default)" } else { "" };
        let mark = if chosen { "✓" } else { "-" };
        out.push_str(&format!("  {mark} {}{label}{default}\n", paint(style, &option.key)));
    }
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<6}"))));
        }
    };
    field(
        "asked",
        format!(
            "{} by {}, to {}",
            ago(decision.created_at, screen),
            decision.asked_by,
            decision.to
        ),
    );
    field("task", decision.task.clone().unwrap_or_default());
    match (&decision.answer, decision.state.as_str()) {
        (Some(said), _) => {
            let text = decision.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let by = decision.answered_by.clone().unwrap_or_default();
            field("answer", format!("{}{text}", paint(GOOD, said)));
            field("by", by);
        }
        (None, "open") => {
            field("ends", decision.expires_at.map(|at| left(at, screen)).unwrap_or_default());
            let how = format!("comity decision answer {} {}", decision.id, example(decision));
            out.push_str(&format!("\nAnswer with: {}\n", paint(BUSY, &how)));
        }
        (None, _) => {}
    }
    out
}

fn example(decision: &DecisionView) -> &str {
    match (decision.r#type.as_str(), decision.options.first()) {
        ("approval", _) => "approved",
        (_, Some(option)) => &option.key,
        (_, None) => "TEXT",
    }
}

fn paint_lines(text: &str) -> String {
    text.lines().map(|line| paint(DIM, line) + "\n").collect()
}
