//! The contract of a result: the work is done and a pull request is open.

use super::check::{beyond, list};
use super::envelope;
use crate::contract::{Mode, SURE, changed_file, ended, keys_there, says};
use crate::document::{Data, Fault, Node, Place, Style, to_yaml};
use crate::markdown;
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, check_paths, may, must, should};
use crate::test_claims;
use comity_core::command::{Extra, ReportStatus, ReportedEvidence, ReportedLine, WorkReport};
use comity_core::event::ResultReported;
use comity_core::pattern::listed_path;
use serde_json::{Map, Value, json};

const HEADER: &str = "# AGENT RESULT CONTRACT";
const CREATED: &str = "PR Created:";
const TESTS: &str = "tests";
const TESTS_SAID: &str = "Tests: ";
const KNOWN: [&str; 4] = ["status", "pr_url", "files_modified", "test_results"];
/// The words that are written; more are understood.
const WRITTEN: [&str; 3] = ["success", "failed", "blocked"];
const STATUSES: &[&str] =
    &["success", "completed", "done", "ok", "failure", "failed", "error", "fail", "blocked"];
const FIELDS: &[Field] = &[
    must("status", Shape::AnyCase(STATUSES), "success, failed or blocked"),
    should("pr_url", Shape::Url, "the pull request"),
    may("files_modified", Shape::OneOrMore(&Shape::Scalar), "the files that were changed"),
    may("test_results", Shape::AnyScalar, "how the tests ended, such as: Passed (3/3)"),
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultContract {
    pub status: String,
    pub pr_url: Option<String>,
    pub files_modified: Vec<String>,
    pub test_results: Option<String>,
    pub more: Extra,
}

/// Reads a result; a comment that only says where the pull request is counts as one.
pub(super) fn read(given: &str) -> Result<Node, Fault> {
    let read = envelope::read(given);
    if read.as_ref().is_ok_and(|node| node.get("status").is_some()) {
        return read;
    }
    match created(given) {
        Some((url, at)) => Ok(Node::of_value(&json!({"status": "success", "pr_url": url}), at)),
        None => read,
    }
}

/// Finds `PR Created: <url>` at the start of a line that is no code and no quotation.
pub(crate) fn created(given: &str) -> Option<(String, Place)> {
    let (text, taken) = envelope::unwrapped(given);
    (1..).zip(markdown::lines(&text)).zip(taken).find_map(|((line, text), taken)| {
        let url = markdown::after_word(&text, CREATED)?.split_whitespace().next()?;
        let before = text.text.find(url).and_then(|place| text.text.get(..place))?;
        let column = u32::try_from(before.chars().count()).ok()?.saturating_add(taken + 1);
        Some((url.to_owned(), Place { line, column }))
    })
}

pub(super) fn marks(given: &str, tree: Option<&Node>) -> u32 {
    if envelope::has_header(given, HEADER) {
        return SURE;
    }
    let success = u32::from(says(tree, "status", &["success"]));
    // A developer's report may name its pull request, too; its status is another word.
    let named = tree.and_then(|tree| tree.get("status")).and_then(Node::text);
    let own_word = named.is_none_or(|word| status(word).is_some() && word == word.to_lowercase());
    let url = keys_there(tree, &["pr_url"]) * u32::from(own_word);
    success + url + keys_there(tree, &["test_results"])
}

pub(super) fn validate(root: &Node, mode: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    if let Some(value) = root.get("status")
        && mode == Mode::Strict
        && !value.text().is_some_and(|word| WRITTEN.contains(&word))
    {
        let message = format!("status must be one of {}", WRITTEN.join(", "));
        found.error(value.at, "status", message);
    }
    check_paths(&mut found, "files_modified", root.get("files_modified"), listed_path);
    found
}

pub(super) fn schema() -> Value {
    shape::schema("Result contract", "Neo.mjs Agent Task Protocol v1.0", FIELDS)
}

fn status(word: &str) -> Option<ReportStatus> {
    let word = word.trim().to_lowercase();
    match word.as_str() {
        "success" | "completed" | "done" | "ok" => Some(ReportStatus::Completed),
        "failure" | "failed" | "error" | "fail" => Some(ReportStatus::Failed),
        "blocked" => Some(ReportStatus::Blocked),
        _ => None,
    }
}

impl ResultContract {
    pub fn of(root: &Node) -> ResultContract {
        ResultContract {
            status: root.text_of("status"),
            pr_url: root.said("pr_url"),
            files_modified: list(root.get("files_modified")),
            test_results: root.said("test_results"),
            more: beyond(root, &KNOWN),
        }
    }

    /// Returns the result that an agent handed in, from what the log keeps of it. The pull request is the task's.
    pub fn of_report(told: &ResultReported, pr: Option<&str>) -> ResultContract {
        let tests = told.log.iter().find_map(|line| line.message.strip_prefix(TESTS_SAID));
        ResultContract {
            status: "success".to_owned(),
            pr_url: pr.map(str::to_owned),
            files_modified: told.files_modified.iter().map(|file| file.path.clone()).collect(),
            test_results: tests.map(str::to_owned),
            more: Extra { other: told.other.clone(), keys: told.keys.clone() },
        }
    }

    pub fn tests_pass(&self) -> Option<bool> {
        test_claims::claim(self.test_results.as_ref()?)
    }

    pub fn render(&self) -> String {
        let mut out = Map::new();
        out.insert("status".to_owned(), json!(self.status));
        if let Some(url) = &self.pr_url {
            out.insert("pr_url".to_owned(), json!(url));
        }
        if !self.files_modified.is_empty() {
            out.insert("files_modified".to_owned(), json!(self.files_modified));
        }
        if let Some(tests) = &self.test_results {
            out.insert("test_results".to_owned(), json!(tests));
        }
        let out = self.more.whole(out);
        let quoted = ["pr_url", "files_modified[]", "test_results"];
        let style = Style { quoted: &quoted, ..Style::default() };
        format!("{HEADER}\n{}", to_yaml(&Value::Object(out), &style))
    }
}

pub(super) fn report(root: &Node) -> WorkReport {
    let result = ResultContract::of(root);
    let said = result.test_results.iter().map(|tests| {
        let level = if result.tests_pass() == Some(false) { "error" } else { "info" };
        ReportedLine::new(level, format!("{TESTS_SAID}{tests}"))
    });
    // What the words claim counts for the gate of that name, at the lowest tier.
    let claimed = result.tests_pass().map(|pass| ReportedEvidence {
        gate: TESTS.to_owned(),
        pass,
        report: result
            .test_results
            .as_deref()
            .and_then(|said| said.lines().next())
            .map(str::to_owned),
    });
    let status = status(&result.status).unwrap_or(ReportStatus::Failed);
    WorkReport {
        files_modified: result.files_modified.iter().map(|name| changed_file(name)).collect(),
        lists_files: root
            .get("files_modified")
            .is_some_and(|files| matches!(files.data, Data::List(_))),
        log: said.collect(),
        evidence: claimed.into_iter().collect(),
        pr: result.pr_url,
        other: result.more.other,
        keys: result.more.keys,
        ..ended("neo-result", status)
    }
}
