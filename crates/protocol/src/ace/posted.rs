//! The comments that end a piece of work, as a contract that can be handed in: it is done, it failed, or somebody
//! must answer first.

use super::{Author, Blocked, Comment, Done, Failed};
use crate::contract::{Kind, Mode};
use crate::document::{Data, Entry, Fault, Node, Place};
use crate::problem::Problems;
use comity_core::command::{IssueKind, ReportStatus, ReportedIssue, ReportedLine, WorkReport};
use serde_json::{Map, Value, json};

/// What a worker posts when it stops.
pub const COMMENT: Kind = Kind {
    name: "ace-comment",
    help: "ACE: the comment with which a worker asks, is done, or failed",
    read,
    marks,
    validate,
    schema,
    report: Some(report),
};

/// One mark at most; whatever else a text may be counts more, since comments have lines such as these in them.
fn marks(given: &str, _tree: Option<&Node>) -> u32 {
    u32::from(read(given).is_ok())
}

fn read(given: &str) -> Result<Node, Fault> {
    let (ending, entries) = match Comment::read(given, Author::Agent) {
        Some(Comment::Blocked(blocked)) => ("blocked", asked(blocked)),
        Some(Comment::Done(done)) => ("done", opened(done)),
        Some(Comment::Failed(Failed { error })) => ("failed", vec![("error", text(error))]),
        _ => {
            let message = "the comment neither asks, nor says that the work is done or failed";
            return Err(Fault { message: message.to_owned(), at: Place::START });
        }
    };
    let entry =
        |(key, value): (&str, Node)| Entry { key: key.to_owned(), key_at: Place::START, value };
    let first = ("ending", text(ending.to_owned()));
    Ok(node(Data::Map(std::iter::once(first).chain(entries).map(entry).collect())))
}

fn node(data: Data) -> Node {
    Node { data, at: Place::START, plain: true }
}

fn text(text: String) -> Node {
    node(Data::Text(text))
}

fn asked(blocked: Blocked) -> Vec<(&'static str, Node)> {
    let questions = blocked.questions.into_iter().map(|asked| text(asked.text)).collect();
    let about = blocked.about.map(|about| ("about", text(about)));
    about.into_iter().chain([("questions", node(Data::List(questions)))]).collect()
}

fn opened(done: Done) -> Vec<(&'static str, Node)> {
    let url = done.url.filter(|url| !url.trim().is_empty());
    let pr = url.or_else(|| done.number.map(|number| format!("#{number}")));
    pr.into_iter().map(|pr| ("pr", text(pr))).collect()
}

fn validate(root: &Node, _mode: Mode) -> Problems {
    let mut found = Problems::new();
    if said(root, "ending").as_deref() == Some("done") && root.get("pr").is_none() {
        found.warning(root.at, "pr", "the comment names no pull request");
    }
    found
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A comment of the ACE labels protocol, as it is read",
        "type": "object",
        "required": ["ending"],
        "properties": {
            "ending": {"enum": ["blocked", "done", "failed"]},
            "about": {"type": "string", "description": "What is said before the questions."},
            "questions": {"type": "array", "items": {"type": "string"}},
            "pr": {"type": "string", "description": "The address of the pull request, or # and its number."},
            "error": {"type": "string"},
        },
    })
}

fn said(root: &Node, key: &str) -> Option<String> {
    root.get(key).and_then(Node::written).filter(|text| !text.trim().is_empty())
}

fn report(root: &Node) -> WorkReport {
    let status = match said(root, "ending").as_deref() {
        Some("done") => ReportStatus::Completed,
        Some("blocked") => ReportStatus::Blocked,
        _ => ReportStatus::Failed,
    };
    let line = |level: &str, message: String| ReportedLine::new(level, message);
    let about = said(root, "about").map(|text| line("info", text));
    let error = said(root, "error").map(|text| line("error", text));
    let questions = root.get("questions").map_or(&[][..], Node::items).iter();
    let asked = questions
        .filter_map(Node::written)
        .map(|question| ReportedIssue::new(IssueKind::Question, question));
    WorkReport {
        contract: COMMENT.name.to_owned(),
        task_id: None,
        status,
        files_modified: Vec::new(),
        log: about.into_iter().chain(error).collect(),
        issues: asked.collect(),
        completed_at: None,
        pr: said(root, "pr"),
        evidence: Vec::new(),
        other: Map::new(),
        keys: Vec::new(),
    }
}
