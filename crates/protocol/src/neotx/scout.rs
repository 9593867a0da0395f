//! What a scout reports.

use crate::contract::{Mode, keys_there};
use crate::document::{Data, Node};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use serde_json::Value;
use std::collections::BTreeSet;

pub const FINDINGS_MAX: usize = 20;

/// How many there are; no document fixes that these are numbers.
const COUNT: Shape = Shape::Whole(0, i64::MAX);
const SEVERITIES: &[&str] = &["CRITICAL", "HIGH", "MEDIUM", "LOW"];

const FINDING: &[Field] = &[
    must("id", Shape::Text, "F-1, F-2, …"),
    may(
        "category",
        Shape::AnyText,
        "bug, security, performance, quality, architecture, testing, …",
    ),
    must("severity", Shape::Word(SEVERITIES), "how grave it is"),
    must("title", Shape::Text, "in a few words"),
    may("description", Shape::AnyText, "what it is and why it matters"),
    may("files", Shape::List(&Shape::AnyText), "where: path or path:line"),
    may("suggestion", Shape::AnyText, "what to do"),
    may("effort", Shape::Word(&["XS", "S", "M", "L"]), "how much work it is"),
    may("decision_id", Shape::AnyText, "the decision that was asked for it"),
];

const FIELDS: &[Field] = &[
    must("summary", Shape::Text, "the state of the code in a sentence or two"),
    may("health_score", Shape::Whole(1, 10), "1 to 10"),
    must("findings", Shape::List(&Shape::Object(FINDING)), "what was found"),
    may("decisions_created", Shape::Usually(&COUNT), "how many decisions were asked"),
    may("memories_written", Shape::Usually(&COUNT), "how many memories were written"),
    may("strengths", Shape::List(&Shape::AnyText), "what is good"),
];

pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let own = ["findings", "health_score", "decisions_created", "memories_written", "strengths"];
    keys_there(tree, &own)
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    let mut seen = BTreeSet::new();
    let findings = root.items_of("findings");
    for (place, finding) in findings.iter().enumerate() {
        let Some(id) = finding.get("id").and_then(Node::text) else { continue };
        let path = format!("findings[{place}].id");
        let number = id.strip_prefix("F-").unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            let at = root.place_of(&path);
            found.warning(
                at,
                path.clone(),
                format!("{path} should be F- and a number, not {id:?}"),
            );
        }
        if !seen.insert(id) {
            found.error(root.place_of(&path), path.clone(), format!("{path}: {id} is given twice"));
        }
    }
    if findings.len() > FINDINGS_MAX {
        let message = format!(
            "the report has {} findings; it should have at most {FINDINGS_MAX}",
            findings.len()
        );
        found.warning(root.place_of("findings"), "findings", message);
    }
    found
}

pub fn schema() -> Value {
    shape::schema("Scout report", "What a scout found in a repository.", FIELDS)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub id: String,
    pub severity: String,
    pub title: String,
    pub details: String,
    pub decision: Option<String>,
    /// XS, S, M or L.
    pub effort: Option<String>,
}

pub fn findings(root: &Node) -> Vec<Finding> {
    let one = |node: &Node| {
        let mut details = node.text_of("description");
        for (key, heading) in
            [("category", "Category"), ("suggestion", "Suggestion"), ("effort", "Effort")]
        {
            let said = node.text_of(key);
            if !said.is_empty() {
                details.push_str(&format!("\n{heading}: {said}"));
            }
        }
        let files: Vec<String> = node.items_of("files").iter().filter_map(Node::written).collect();
        if !files.is_empty() {
            details.push_str(&format!("\nFiles: {}", files.join(", ")));
        }
        let decision = node.get("decision_id").filter(|id| id.data != Data::Null);
        let effort = node.text_of("effort");
        Finding {
            effort: (!effort.is_empty()).then_some(effort),
            id: node.text_of("id"),
            severity: node.text_of("severity"),
            title: node.text_of("title"),
            details: details.trim().to_owned(),
            decision: decision.and_then(Node::written).filter(|id| !id.is_empty() && id != "null"),
        }
    };
    root.items_of("findings").iter().map(one).collect()
}
