//! What a reviewer reports, and what it means whatever its verdict says.

use crate::contract::{Mode, keys_there, says};
use crate::document::{Data, Node};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use serde_json::Value;

/// So many warnings block as one critical issue does.
pub const WARNINGS_MAX: usize = 5;

const VERDICTS: &[&str] = &["APPROVED", "CHANGES_REQUESTED"];
const COMPLIANCE: &[&str] = &["PASS", "FAIL"];
const SEVERITIES: &[&str] = &["CRITICAL", "WARNING", "SUGGESTION"];

/// Words that are usual. Only those above are fixed: none of these makes a review worthless.
const LENSES: Shape = Shape::Word(&["quality", "standards", "security", "performance", "coverage"]);
const DEVIATIONS: Shape = Shape::Word(&["missing", "extra", "misunderstood"]);
const TYPECHECK: Shape = Shape::Word(&["pass", "fail", "skipped"]);
const SECRETS_SCAN: Shape = Shape::Word(&["clean", "flagged", "skipped"]);
const PR_COMMENT: Shape = Shape::Word(&["posted", "failed"]);
const LINE: Shape = Shape::Whole(0, i64::MAX);

const DEVIATION: &[Field] = &[
    may("type", Shape::Usually(&DEVIATIONS), "how it deviates"),
    may("file", Shape::AnyText, "where"),
    must("description", Shape::Text, "what is wrong"),
];

const ISSUE: &[Field] = &[
    may("lens", Shape::Usually(&LENSES), "what was looked for"),
    must("severity", Shape::Word(SEVERITIES), "how grave it is"),
    may("category", Shape::AnyText, "what kind of issue it is"),
    may("file", Shape::AnyText, "where"),
    may("line", Shape::Usually(&LINE), "on which line"),
    must("description", Shape::Text, "what is wrong"),
    may("suggestion", Shape::AnyText, "how to mend it"),
];

const VERIFICATION: &[Field] = &[
    may("typecheck", Shape::Usually(&TYPECHECK), "whether types fit"),
    may("secrets_scan", Shape::Usually(&SECRETS_SCAN), "whether secrets were found"),
];

const FIELDS: &[Field] = &[
    must("verdict", Shape::Word(VERDICTS), "APPROVED or CHANGES_REQUESTED"),
    may("spec_compliance", Shape::Word(COMPLIANCE), "whether it is what was asked for"),
    may("spec_deviations", Shape::List(&Shape::Object(DEVIATION)), "where it is not"),
    must("summary", Shape::Text, "the review in a sentence or two"),
    may("pr_comment", Shape::Usually(&PR_COMMENT), "whether the comment was posted"),
    may("verification", Shape::Object(VERIFICATION), "what was run"),
    may("issues", Shape::List(&Shape::Object(ISSUE)), "everything that was found"),
];

pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let own = ["verdict", "spec_compliance", "spec_deviations", "pr_comment", "verification"];
    keys_there(tree, &own)
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    if says(Some(root), "verdict", &["APPROVED"])
        && let Some(why) = blocking(root)
    {
        let at = root.place_of("verdict");
        let message = format!("comity counts the verdict as CHANGES_REQUESTED: {why}");
        found.warning(at, "verdict", message);
    }
    found
}

pub fn schema() -> Value {
    shape::schema("Review", "What a reviewer reports.", FIELDS)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub approved: bool,
    pub notes: String,
}

/// Returns why a review blocks, whatever its verdict says.
pub fn blocking(root: &Node) -> Option<String> {
    let count = |severity: &str| {
        let issues = root.items_of("issues");
        issues.iter().filter(|issue| says(Some(issue), "severity", &[severity])).count()
    };
    let (critical, warnings) = (count("CRITICAL"), count("WARNING"));
    let mut why = Vec::new();
    if says(Some(root), "spec_compliance", &["FAIL"]) {
        why.push("the work is not what was asked for (spec_compliance FAIL)".to_owned());
    }
    if critical > 0 {
        why.push(format!("{critical} CRITICAL"));
    }
    if warnings >= WARNINGS_MAX {
        why.push(format!("{warnings} WARNING ({WARNINGS_MAX} block)"));
    }
    (!why.is_empty()).then(|| why.join(", "))
}

pub fn outcome(root: &Node) -> Outcome {
    let blocks = blocking(root);
    let approved = says(Some(root), "verdict", &["APPROVED"]) && blocks.is_none();
    let mut notes = root.text_of("summary");
    if let Some(why) = &blocks {
        notes.push_str(&format!("\nBlocks: {why}"));
    }
    for item in root.items_of("spec_deviations") {
        let (kind, file) = (item.text_of("type"), item.text_of("file"));
        let kind = if kind.is_empty() { String::new() } else { format!(", {kind}") };
        let place = if file.is_empty() { String::new() } else { format!(" {file}") };
        notes.push_str(&format!("\n- spec{kind}{place}: {}", item.text_of("description")));
    }
    // The gravest first: that is what is to be mended first.
    for severity in SEVERITIES {
        for item in root.items_of("issues") {
            if !says(Some(item), "severity", &[severity]) {
                continue;
            }
            notes.push_str(&format!(
                "\n- {severity}{}: {}",
                place(item),
                item.text_of("description")
            ));
            let suggestion = item.text_of("suggestion");
            if !suggestion.is_empty() {
                notes.push_str(&format!(" ({suggestion})"));
            }
        }
    }
    Outcome { approved, notes }
}

fn place(item: &Node) -> String {
    let file = item.get("file").and_then(Node::text).filter(|file| !file.is_empty());
    let line = item.get("line").filter(|line| line.data != Data::Null).and_then(Node::written);
    match (file, line) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        (Some(file), None) => format!(" {file}"),
        _ => String::new(),
    }
}
