//! What an architect reports: where the plan is.

use crate::contract::{Mode, keys_there};
use crate::document::Node;
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use comity_core::pattern::RepoPath;
use serde_json::Value;

const FIELDS: &[Field] = &[
    must("plan_path", Shape::Text, "the plan, relative to the repository, such as .neo/specs/a.md"),
    must("summary", Shape::Text, "the plan in a sentence or two"),
    may("branch", Shape::AnyText, "the branch that has the plan"),
    may("commit", Shape::AnyText, "the commit that has it"),
];

pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    keys_there(tree, &["plan_path"])
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    if let Some(path) = root.get("plan_path").and_then(Node::text)
        && !path.trim().is_empty()
        && let Err(error) = RepoPath::parse(path)
    {
        let at = root.place_of("plan_path");
        found.error(at, "plan_path", format!("plan_path is no path below the root: {error}"));
    }
    found
}

pub fn schema() -> Value {
    shape::schema("Architect report", "Where the plan of a piece of work is.", FIELDS)
}
