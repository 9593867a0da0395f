//! The comment with which somebody answers: `ANSWER:`, and which question each part of it belongs to.

use super::items::{self, Item};
use super::question::tidy;
use crate::markdown::{self, Line, after_word};
use std::fmt;

const WORD: &str = "ANSWER:";
const LABELS: [&str; 5] = ["answer to question", "answer", "question", "q", "a"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub parts: Vec<AnswerPart>,
    /// What was said before and after the list, or all of it when there is none.
    pub beside: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AnswerPart {
    pub number: Option<u32>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// One place for each question; none where it is still open.
    pub answers: Vec<Option<String>>,
    pub beside: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Empty,
    NoSuchQuestion(u32),
    Twice(u32),
    TooMany(usize, usize),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Empty => f.write_str("the answer is empty"),
            Mismatch::NoSuchQuestion(number) => write!(f, "there is no question {number}"),
            Mismatch::Twice(number) => write!(f, "question {number} is answered twice"),
            Mismatch::TooMany(given, asked) => {
                write!(f, "{given} answers were given to {asked} questions")
            }
        }
    }
}

pub(super) fn marked<'a>(line: &Line<'a>) -> Option<&'a str> {
    after_word(line, WORD).or_else(|| after_word(line, "**ANSWER:**"))
}

impl Answer {
    pub fn find(text: &str) -> Option<Answer> {
        Answer::of_lines(&markdown::lines(text))
    }

    /// Reads an answer that needs no word before it.
    pub fn of_text(text: &str) -> Answer {
        Answer::read("", &markdown::lines(text))
    }

    /// Reads a reply that needs no word before it: what it quotes is not its own.
    pub(super) fn of_reply(text: &str) -> Option<Answer> {
        let is_quote =
            |line: &Line<'_>| line.fence.is_none() && line.text.trim_start().starts_with('>');
        let mut lines = markdown::lines(text);
        lines.retain(|line| !is_quote(line));
        let answer = Answer::read("", &lines);
        (answer != Answer::default()).then_some(answer)
    }

    /// Reads every answer from its word to the next one; somebody may begin anew for each question.
    pub(super) fn of_lines(lines: &[Line<'_>]) -> Option<Answer> {
        let starts: Vec<(usize, &str)> = lines
            .iter()
            .enumerate()
            .filter_map(|(place, line)| marked(line).map(|first| (place, first)))
            .collect();
        let ends = starts.iter().skip(1).map(|(place, _)| *place).chain([lines.len()]);
        let read = |((place, first), end): (&(usize, &str), usize)| {
            Answer::read(first, lines.get(place + 1..end).unwrap_or_default())
        };
        let mut blocks: Vec<Answer> = starts.iter().zip(ends).map(read).collect();
        if blocks.len() < 2 {
            return blocks.pop();
        }
        let mut whole = Answer::default();
        for block in blocks {
            match (block.parts.is_empty(), block.beside.is_empty()) {
                (_, true) => {}
                (true, false) => {
                    whole.parts.push(AnswerPart { number: None, text: block.beside });
                    continue;
                }
                (false, false) if whole.beside.is_empty() => whole.beside = block.beside,
                (false, false) => whole.beside = format!("{}\n\n{}", whole.beside, block.beside),
            }
            whole.parts.extend(block.parts);
        }
        Some(whole)
    }

    pub(super) fn read(first: &str, rest: &[Line<'_>]) -> Answer {
        let listed = items::read(first, rest, |text| items::label(text, &LABELS).is_some());
        // A list that counts every item as one is a list without numbers.
        let counts = |item: &Item| item.number.is_some_and(|number| number > 1);
        let counted = listed.items.len() < 2 || listed.items.iter().any(counts);
        let part = |item: Item| match items::label(&item.text, &LABELS) {
            Some((number, text)) => AnswerPart { number: Some(number), text: tidy(text) },
            None => AnswerPart { number: item.number.filter(|_| counted), text: tidy(&item.text) },
        };
        let around = [tidy(&listed.before), tidy(&listed.after)];
        let around: Vec<String> = around.into_iter().filter(|text| !text.is_empty()).collect();
        Answer { parts: listed.items.into_iter().map(part).collect(), beside: around.join("\n\n") }
    }

    /// Gives each question its answer: by number, else by order, else the one text to all of them.
    pub fn matched(&self, questions: usize) -> Result<Matched, Mismatch> {
        self.matched_to(&vec![true; questions])
    }

    /// The same where some questions are answered already: numbers count all of them, an answer without a number
    /// goes to one that is open.
    pub fn matched_to(&self, open: &[bool]) -> Result<Matched, Mismatch> {
        let given: Vec<&AnswerPart> =
            self.parts.iter().filter(|part| !part.text.is_empty()).collect();
        let beside = Some(self.beside.clone()).filter(|text| !text.is_empty());
        let numbered = given.iter().any(|part| part.number.is_some());
        let waiting = open.iter().filter(|open| **open).count();
        let all = |text: &String| {
            open.iter().map(|open| open.then(|| text.clone())).collect::<Vec<Option<String>>>()
        };
        if given.is_empty() {
            let text = beside.ok_or(Mismatch::Empty)?;
            return Ok(Matched { answers: all(&text), beside: None });
        }
        if waiting == 1 && given.len() > 1 && !numbered {
            // Several points, but one question: all of it answers it.
            let items: Vec<String> =
                given.iter().map(|part| format!("- {}", part.text.replace('\n', "\n  "))).collect();
            return Ok(Matched { answers: all(&items.join("\n")), beside });
        }
        if given.len() > waiting && !numbered {
            return Err(Mismatch::TooMany(given.len(), waiting));
        }
        let mut answers: Vec<Option<String>> = vec![None; open.len()];
        for part in given.iter().filter(|part| part.number.is_some()) {
            let number = part.number.unwrap_or_default();
            let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            let slot = place.and_then(|place| answers.get_mut(place));
            match slot.ok_or(Mismatch::NoSuchQuestion(number))? {
                slot @ None => *slot = Some(part.text.clone()),
                Some(_) => return Err(Mismatch::Twice(number)),
            }
        }
        for part in given.iter().filter(|part| part.number.is_none()) {
            let mut slots = answers.iter_mut().zip(open);
            let free = slots.find(|(slot, open)| slot.is_none() && **open);
            let (slot, _) = free.ok_or(Mismatch::TooMany(given.len(), waiting))?;
            *slot = Some(part.text.clone());
        }
        Ok(Matched { answers, beside })
    }

    pub(super) fn render(&self) -> String {
        let mut out = format!("{WORD}\n\n");
        if !self.beside.is_empty() {
            out.push_str(&format!("{}\n", self.beside));
            if !self.parts.is_empty() {
                out.push('\n');
            }
        }
        for part in &self.parts {
            let bullet = match part.number {
                Some(number) => format!("- Answer to question {number}: "),
                None => "- ".to_owned(),
            };
            items::write(&mut out, &bullet, None, &part.text);
        }
        out
    }
}
