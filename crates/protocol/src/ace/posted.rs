//! The comments as a contract that can be checked. Those that end a piece of work can be handed in: it is done, it
//! failed, or somebody must answer first.

use super::{Answer, Blocked, Claim, Comment, Done, Failed, Word};
use crate::contract::{ContractKind, Mode, ended};
use crate::document::{Data, Entry, Fault, Node, Place};
use crate::markdown::{self, Line};
use crate::problem::Problems;
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

type Part = (&'static str, Data);

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
        Some(Comment::Claim(claim)) => ("claim", taken(claim)),
        Some(Comment::Blocked(blocked)) => ("blocked", asked(blocked, at)),
        Some(Comment::Answer(answer)) => ("answer", answered(answer, at)),
        Some(Comment::Resuming) => ("resuming", Vec::new()),
        Some(Comment::Done(done)) => ("done", opened(done)),
        Some(Comment::Failed(Failed { error })) => ("failed", said_if(&[("error", Some(error))])),
        None => {
            let message = "the comment asks, and no question follows".to_owned();
            return Err(Fault { message, at });
        }
    };
    let entry =
        |(key, data): Part| Entry { key: key.to_owned(), key_at: at, value: node(data, at) };
    let first = ("comment", Data::Text(name.to_owned()));
    Ok(node(Data::Map(std::iter::once(first).chain(parts).map(entry).collect()), at))
}

fn node(data: Data, at: Place) -> Node {
    Node { data, at, plain: true }
}

fn said_if(parts: &[(&'static str, Option<String>)]) -> Vec<Part> {
    let said = parts.iter().filter_map(|(key, text)| Some((*key, text.clone()?)));
    said.filter(|(_, text)| !text.trim().is_empty()).map(|(k, t)| (k, Data::Text(t))).collect()
}

fn texts(list: impl IntoIterator<Item = String>, at: Place) -> Data {
    Data::List(list.into_iter().map(|text| node(Data::Text(text), at)).collect())
}

fn taken(claim: Claim) -> Vec<Part> {
    said_if(&[
        ("agent", claim.agent),
        ("host", claim.host),
        ("repository", claim.repository),
        ("branch", claim.branch),
        ("workspace", claim.workspace),
        ("started", claim.started.map(|time| time.to_string())),
    ])
}

fn asked(blocked: Blocked, at: Place) -> Vec<Part> {
    let questions = blocked.questions.into_iter().map(|asked| asked.text);
    let mut parts = said_if(&[("about", blocked.about)]);
    parts.push(("questions", texts(questions, at)));
    parts
}

fn answered(answer: Answer, at: Place) -> Vec<Part> {
    let one = |(number, text): (Option<u32>, String)| match number {
        Some(number) => format!("{number}: {text}"),
        None => text,
    };
    let given = answer.parts.into_iter().map(|part| (part.number, part.text));
    let answers: Vec<String> = given.filter(|(_, text)| !text.is_empty()).map(one).collect();
    let mut parts = said_if(&[("beside", Some(answer.beside))]);
    if !answers.is_empty() {
        parts.push(("answers", texts(answers, at)));
    }
    parts
}

fn opened(done: Done) -> Vec<Part> {
    let url = done.url.filter(|url| !url.trim().is_empty());
    said_if(&[("pr", url.or_else(|| done.number.map(|number| format!("#{number}"))))])
}

fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut found = Problems::new();
    let there = |key: &str| root.get(key).is_some();
    let comment = said(root, "comment").unwrap_or_default();
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

fn schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let texts =
        |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A comment of the ACE labels protocol, as it is read",
        "type": "object",
        "required": ["comment"],
        "properties": {
            "comment": {"enum": COMMENTS},
            "agent": text("Who has claimed the issue."),
            "host": text("On which host."),
            "repository": text("In which repository."),
            "branch": text("On which branch."),
            "workspace": text("In which work tree."),
            "started": text("Since when."),
            "about": text("What is said before the questions."),
            "questions": texts("What is asked."),
            "answers": texts("What is answered, with the number of the question where it is named."),
            "beside": text("What is said beside the answers."),
            "pr": text("The address of the pull request, or # and its number."),
            "error": text("What went wrong."),
        },
    })
}

fn said(root: &Node, key: &str) -> Option<String> {
    root.get(key).and_then(Node::written).filter(|text| !text.trim().is_empty())
}

/// What a comment that ends a piece of work reports; claims, answers and resuming end nothing.
fn report(root: &Node) -> Option<WorkReport> {
    let status = match said(root, "comment")?.as_str() {
        "done" => ReportStatus::Completed,
        "blocked" => ReportStatus::Blocked,
        "failed" => ReportStatus::Failed,
        _ => return None,
    };
    let line = |level: &str, message: String| ReportedLine::new(level, message);
    let about = said(root, "about").map(|text| line("info", text));
    let error = said(root, "error").map(|text| line("error", text));
    let questions = root.items_of("questions").iter();
    let asked = questions
        .filter_map(Node::written)
        .map(|question| ReportedIssue::new(IssueKind::Question, question));
    // What is said before the questions is why they are asked.
    let reason = said(root, "about").map(|about| (REASON_KEY.to_owned(), Value::String(about)));
    Some(WorkReport {
        log: about.into_iter().chain(error).collect(),
        issues: asked.collect(),
        pr: said(root, "pr"),
        other: reason.into_iter().collect(),
        ..ended(COMMENT.name, status)
    })
}
