//! The comments as a contract that can be checked. Those that end a piece of work can be handed in: it is done, it
//! failed, or somebody must answer first.

use super::{Answer, AnswerPart, Blocked, Comment, Done, Failed, Word};
use crate::contract::{ContractKind, Mode, ended};
use crate::document::{Fault, Node, Place, says_nothing};
use crate::markdown::{self, Line};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use comity_core::command::{
    IssueKind, REASON_KEY, ReportStatus, ReportedIssue, ReportedLine, WorkReport,
};
use serde_json::{Value, json};

pub const COMMENT: ContractKind = ContractKind {
    name: "ace-comment",
    help: "ACE: a comment: claim, BLOCKED, ANSWER, resuming, done or failed",
    read: |given, _| read(given),
    marks,
    validate,
    schema,
    report: Some(report),
};

const COMMENTS: [&str; 6] = ["claim", "blocked", "answer", "resuming", "done", "failed"];

/// One mark at most; whatever else a text may be counts more, since comments have lines such as these in them.
fn marks(given: &str, _tree: Option<&Node>) -> u32 {
    u32::from(word_at(given).is_some())
}

fn word_at(given: &str) -> Option<Place> {
    let lines = markdown::lines(given);
    let (place, _) = Word::all(&lines).next()?;
    Some(place_in(&lines, place))
}

fn place_in(lines: &[Line<'_>], number: usize) -> Place {
    let before = lines.get(number).map_or(0, |line| markdown::indent(line.text));
    let from_one = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    Place { line: from_one(number), column: from_one(before) }
}

pub(crate) fn ends(given: &str) -> Vec<(Place, ReportStatus)> {
    let lines = markdown::lines(given);
    let words = Word::all(&lines);
    words.filter_map(|(number, word)| Some((place_in(&lines, number), word.status()?))).collect()
}

fn contradiction(given: &str, first: Place) -> Option<Fault> {
    let ends = ends(given);
    let (_, decided) = ends.first().filter(|(at, _)| *at == first)?;
    let (at, other) = ends.iter().find(|(_, status)| status != decided)?;
    let message = format!(
        "this text reports {} (line {}) and {} (line {}); leave one",
        decided.as_str(),
        first.line,
        other.as_str(),
        at.line
    );
    Some(Fault { message, at: *at })
}

fn read(given: &str) -> Result<Node, Fault> {
    let Some(at) = word_at(given) else {
        let message = "no line begins with a word of the protocol: **Agent Claim**, BLOCKED:, ANSWER:, \
                       **Agent Resuming**, PR opened:, **Agent Complete** or **Agent Failed**";
        return Err(Fault { message: message.to_owned(), at: Place::START });
    };
    if let Some(fault) = contradiction(given, at) {
        return Err(fault);
    }
    let (name, parts) = match Comment::parse(given) {
        Some(Comment::Claim(claim)) => ("claim", json!(claim)),
        Some(Comment::Blocked(Blocked { about, questions })) => {
            let questions: Vec<&str> = questions.iter().map(|asked| asked.text.as_str()).collect();
            ("blocked", json!({"about": about, "questions": questions}))
        }
        Some(Comment::Answer(answer)) => {
            ("answer", json!({"beside": answer.beside, "answers": answered(&answer)}))
        }
        Some(Comment::Resuming) => ("resuming", json!({})),
        Some(Comment::Done(Done { number, url })) => {
            let url = url.filter(|url| !url.trim().is_empty());
            ("done", json!({"pr": url.or_else(|| number.map(|number| format!("#{number}")))}))
        }
        Some(Comment::Failed(Failed { error })) => ("failed", json!({"error": error})),
        None => {
            let message = "the comment asks for input, but it has no question".to_owned();
            return Err(Fault { message, at });
        }
    };
    let mut all = json!({"comment": name});
    if let (Value::Object(all), Value::Object(parts)) = (&mut all, parts) {
        all.extend(parts.into_iter().filter(|(_, value)| !says_nothing(value)));
    }
    Ok(Node::of_value(&all, at))
}

fn answered(answer: &Answer) -> Vec<String> {
    let given = answer.parts.iter().filter(|part| !part.text.is_empty());
    let one = |part: &AnswerPart| match part.number {
        Some(number) => format!("{number}: {}", part.text),
        None => part.text.clone(),
    };
    given.map(one).collect()
}

fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut found = Problems::new();
    let there = |key: &str| root.get(key).is_some();
    let comment = root.said("comment").unwrap_or_default();
    match comment.as_str() {
        "claim" if !there("agent") && !there("branch") => {
            found.warning(root.at, "branch", "the claim names neither agent nor branch");
        }
        "answer" if !there("answers") && !there("beside") => {
            found.error(root.at, "answers", "the answer is empty");
        }
        "done" if !there("pr") => {
            found.warning(root.at, "pr", "the comment names no pull request");
        }
        "failed" if !there("error") => {
            found.warning(root.at, "error", "the comment does not say what went wrong");
        }
        _ => {}
    }
    found
}

const TEXTS: Shape = Shape::List(&Shape::AnyText);
const FIELDS: &[Field] = &[
    must("comment", Shape::Word(&COMMENTS), "what the comment is"),
    may("agent", Shape::AnyText, "who has claimed the issue"),
    may("host", Shape::AnyText, "on which host"),
    may("repository", Shape::AnyText, "in which repository"),
    may("branch", Shape::AnyText, "on which branch"),
    may("workspace", Shape::AnyText, "in which work tree"),
    may("started", Shape::AnyText, "since when"),
    may("about", Shape::AnyText, "what is said before the questions"),
    may("questions", TEXTS, "what is asked"),
    may("answers", TEXTS, "the answers, with the number of the question where it is named"),
    may("beside", Shape::AnyText, "what is said beside the answers"),
    may("pr", Shape::AnyText, "the address of the pull request, or # and its number"),
    may("error", Shape::AnyText, "what went wrong"),
];

fn schema() -> Value {
    shape::schema("Comment", "A comment of the ACE labels protocol, as comity reads it.", FIELDS)
}

/// What a comment that ends a piece of work reports; claims, answers and resuming end nothing.
fn report(root: &Node) -> Option<WorkReport> {
    let status = match root.said("comment")?.as_str() {
        "done" => ReportStatus::Completed,
        "blocked" => ReportStatus::Blocked,
        "failed" => ReportStatus::Failed,
        _ => return None,
    };
    let line = |level: &str, message: String| ReportedLine::new(level, message);
    let about = root.said("about").map(|text| line("info", text));
    let error = root.said("error").map(|text| line("error", text));
    let questions = root.items_of("questions").iter();
    let asked = questions
        .filter_map(Node::written)
        .map(|question| ReportedIssue::new(IssueKind::Question, question));
    // What is said before the questions is why they are asked.
    let reason = root.said("about").map(|about| (REASON_KEY.to_owned(), Value::String(about)));
    Some(WorkReport {
        log: about.into_iter().chain(error).collect(),
        issues: asked.collect(),
        pr: root.said("pr"),
        other: reason.into_iter().collect(),
        ..ended(COMMENT.name, status)
    })
}
