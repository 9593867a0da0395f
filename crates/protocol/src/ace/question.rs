//! The comment with which an agent asks: `BLOCKED:` with its questions.

use super::Generation;
use super::items::{self, Item};
use crate::markdown::{Line, after_word};

const LABELS: &str = "BLOCKED:";
const PROJECT: &str = "**BLOCKED - Agent Needs Input**";
const HOW_LABELS: &str = "Reply with `ANSWER:` followed by your responses when ready.";
const HOW_PROJECT: &str =
    "Please reply with your answers and re-add the `agent` label when ready to resume.";

/// What an agent needs to know before it can go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocked {
    /// The questions, at least one.
    pub questions: Vec<String>,
    /// What was said before them.
    pub about: Option<String>,
}

/// Returns what follows the word on its line, and which generation's word it is.
pub(super) fn marked<'a>(line: &Line<'a>) -> Option<(&'a str, Generation)> {
    if let Some(rest) = after_word(line, PROJECT) {
        return Some((rest, Generation::Project));
    }
    let bold = || after_word(line, "**BLOCKED:**");
    Some((after_word(line, LABELS).or_else(bold)?, Generation::Labels))
}

impl Blocked {
    /// Makes a comment of questions; empty ones are left out. None is left when all are.
    pub fn new(questions: &[String]) -> Option<Blocked> {
        let questions: Vec<String> = questions
            .iter()
            .map(|question| tidy(question))
            .filter(|question| !question.is_empty())
            .collect();
        (!questions.is_empty()).then_some(Blocked { questions, about: None })
    }

    /// Reads what follows the word. A comment without a list is one question.
    pub(super) fn read(first: &str, rest: &[Line<'_>], generation: Generation) -> Option<Blocked> {
        let listed = items::read(first, rest, is_labelled);
        let before = without_how(&listed.before);
        if listed.items.is_empty() {
            return Blocked::new(&[before]);
        }
        let text = |item: &Item| match generation {
            Generation::Labels => items::label(&item.text, &["question", "q"])
                .map_or(item.text.as_str(), |(_, text)| text)
                .to_owned(),
            Generation::Project => item.text.clone(),
        };
        let questions: Vec<String> = listed.items.iter().map(text).collect();
        let about = (!before.is_empty()).then_some(before);
        Some(Blocked { about, ..Blocked::new(&questions)? })
    }

    pub(super) fn render(&self, generation: Generation) -> String {
        let mut out = match generation {
            Generation::Labels => format!("{LABELS}\n\n"),
            Generation::Project => format!("{PROJECT}\n\n"),
        };
        if let Some(about) = &self.about {
            out.push_str(&format!("{about}\n\n"));
        }
        for (place, question) in (1..).zip(&self.questions) {
            match generation {
                Generation::Labels => {
                    items::write(&mut out, &format!("- Question {place}: "), None, question);
                }
                Generation::Project => {
                    items::write(&mut out, &format!("{place}. "), Some(place), question);
                }
            }
        }
        out.push('\n');
        out.push_str(match generation {
            Generation::Labels => HOW_LABELS,
            Generation::Project => HOW_PROJECT,
        });
        out
    }
}

fn is_labelled(text: &str) -> bool {
    items::label(text, &["question", "q"]).is_some()
}

/// Lines of nothing but spaces become empty, and none is left around the text.
pub(super) fn tidy(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(|line| if line.trim().is_empty() { "" } else { line }).collect();
    lines.join("\n").trim().to_owned()
}

/// The line that tells how to answer is no part of the question.
fn without_how(text: &str) -> String {
    let is_how = |line: &&str| {
        let line = line.trim();
        line.starts_with("Reply with `ANSWER:`") || line == HOW_PROJECT
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_how(line)).collect();
    tidy(&kept.join("\n"))
}
