//! The comment with which an agent asks: `BLOCKED:` with its questions.

use super::Generation;
use super::items::{self, Item};
use crate::markdown::{Line, after_word};

const LABELS: &str = "BLOCKED:";
const PROJECT: &str = "**BLOCKED - Agent Needs Input**";
const HOW_LABELS: &str = "Reply with `ANSWER:` followed by your responses when ready.";
const HOW_PROJECT: &str =
    "Please reply with your answers and re-add the `agent` label when ready to resume.";

#[derive(Clone, Debug, PartialEq)]
pub struct Blocked {
    pub questions: Vec<Asked>,
    pub about: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Counted from one. A question that is asked again keeps its number.
    pub number: u32,
    pub text: String,
}

/// Adds the keys that a question can be answered with, for who has nothing but the comment.
pub fn with_options(question: &str, options: &[(&str, Option<&str>)]) -> String {
    if options.is_empty() {
        return question.to_owned();
    }
    let option = |(key, label): &(&str, Option<&str>)| match label {
        Some(label) => format!("`{key}` ({label})"),
        None => format!("`{key}`"),
    };
    let options: Vec<String> = options.iter().map(option).collect();
    format!("{question} Answer with one of: {}.", options.join(", "))
}

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
        let said = questions.iter().map(|question| tidy(question)).filter(|text| !text.is_empty());
        let asked = (1..).zip(said).map(|(number, text)| Asked { number, text });
        Blocked::numbered(asked)
    }

    pub fn numbered(questions: impl IntoIterator<Item = Asked>) -> Option<Blocked> {
        let tidied = questions.into_iter().map(|asked| Asked { text: tidy(&asked.text), ..asked });
        let questions: Vec<Asked> = tidied.filter(|asked| !asked.text.is_empty()).collect();
        (!questions.is_empty()).then_some(Blocked { questions, about: None })
    }

    /// Reads what follows the word. A comment without a list is one question.
    pub(super) fn read(first: &str, rest: &[Line<'_>], generation: Generation) -> Option<Blocked> {
        let listed = items::read(first, rest, is_labelled);
        let before = without_how(&listed.before);
        if listed.items.is_empty() {
            return Blocked::new(&[before]);
        }
        let read = |item: &Item| match items::label(&item.text, &["question", "q"]) {
            Some((number, text)) if generation == Generation::Labels => {
                (Some(number), text.to_owned())
            }
            _ => (item.number, item.text.clone()),
        };
        let read: Vec<(Option<u32>, String)> = listed.items.iter().map(read).collect();
        let numbers: Vec<u32> = read.iter().filter_map(|(number, _)| *number).collect();
        // Numbers that do not count on are no numbers.
        let counted = numbers.len() == read.len()
            && numbers.first() > Some(&0)
            && numbers.windows(2).all(|pair| pair.first() < pair.last());
        let texts: Vec<String> = read.into_iter().map(|(_, text)| text).collect();
        let blocked = if counted {
            let asked = numbers.into_iter().zip(texts);
            Blocked::numbered(asked.map(|(number, text)| Asked { number, text }))
        } else {
            Blocked::new(&texts)
        };
        Some(Blocked { about: (!before.is_empty()).then_some(before), ..blocked? })
    }

    pub(super) fn render(&self, generation: Generation) -> String {
        let mut out = match generation {
            Generation::Labels => format!("{LABELS}\n\n"),
            Generation::Project => format!("{PROJECT}\n\n"),
        };
        if let Some(about) = &self.about {
            out.push_str(&format!("{about}\n\n"));
        }
        for Asked { number, text } in &self.questions {
            match generation {
                Generation::Labels => {
                    items::write(&mut out, &format!("- Question {number}: "), None, text);
                }
                Generation::Project => {
                    items::write(&mut out, &format!("{number}. "), Some(*number), text);
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
