//! Checking a mission.

use super::checker::{Checker, is_date, is_object, truthy};
use super::in_prose;
pub use super::schema::mission as schema;
use crate::contract::{Mode, keys_there};
use crate::document::{Data, Node};
use crate::mission::CONTEXT_ORDER;
use crate::problem::Problems;
use comity_core::pattern::{Pattern, PatternError, RepoPath};

const CONTEXT_FILES: [&str; 2] = ["epic_file", "task_file"];

pub fn marks(text: &str, tree: Option<&Node>) -> u32 {
    if tree.is_none() {
        return u32::from(in_prose::is_meant(text, &in_prose::MISSION));
    }
    keys_there(tree, &["epic_id", "prd_id", "instruction"])
}

pub fn validate(root: &Node, mode: Mode) -> Problems {
    let mut check = Checker::new(root, mode);
    if !is_object(root, mode) {
        check.error(root.at, "", "Mission must be an object");
        return check.found;
    }
    check.version();
    check.id("task_id", "T", "TNNN");
    check.id("epic_id", "E", "ENNN");
    check.id("prd_id", "PRD-", "PRD-NNN");
    instruction(&mut check);
    context(&mut check);
    constraints(&mut check);
    timeout(&mut check);
    if mode != Mode::Compat {
        further(&mut check);
    }
    check.found
}

fn instruction(check: &mut Checker<'_>) {
    let Some(value) = check.required("instruction") else { return };
    if value.text().is_none() || is_date(value, check.mode) {
        check.error(value.at, "instruction", "Field instruction must be a string");
    }
}

fn context(check: &mut Checker<'_>) {
    let Some(value) = check.required("context") else { return };
    if !is_object(value, check.mode) {
        check.error(value.at, "context", "Field context must be an object");
        return;
    }
    for key in CONTEXT_FILES {
        if truthy(value, key).is_none() {
            let at = value.get(key).map_or(value.at, |file| file.at);
            let path = format!("context.{key}");
            check.error(at, &path, format!("Missing required field: {path}"));
        }
    }
}

fn constraints(check: &mut Checker<'_>) {
    let Some(value) = check.root.get("constraints") else { return };
    // The original crashes on null here, and takes a list for constraints that say nothing.
    let list = matches!(value.data, Data::List(_)) && check.mode != Mode::Compat;
    if list || !is_object(value, check.mode) {
        check.error(value.at, "constraints", "Field constraints must be an object");
        return;
    }
    for (key, wanted) in
        [("max_files", "number"), ("no_git_commit", "boolean"), ("no_new_deps", "boolean")]
    {
        let fits = |found: &Node| match &found.data {
            Data::Number(_) => wanted == "number",
            Data::Bool(_) => wanted == "boolean",
            _ => false,
        };
        if let Some(found) = value.get(key).filter(|found| !fits(found)) {
            let path = format!("constraints.{key}");
            check.error(found.at, &path, format!("Field {path} must be a {wanted}"));
        }
    }
}

fn timeout(check: &mut Checker<'_>) {
    let Some(value) = check.root.get("timeout") else { return };
    let fits = match &value.data {
        Data::Number(numeral) => match &numeral.value {
            Some(number) => number.as_f64().is_some_and(|n| n >= 0.0),
            None => check.mode == Mode::Compat && !numeral.text.starts_with('-'),
        },
        _ => false,
    };
    if !fits {
        check.error(value.at, "timeout", "Field timeout must be a non-negative number");
    }
}

fn further(check: &mut Checker<'_>) {
    let blank = |text: &str| text.trim().is_empty() && !text.is_empty();
    if let Some(value) = check.root.get("instruction").filter(|v| v.text().is_some_and(blank)) {
        check.error(value.at, "instruction", "instruction is blank");
    }
    for entry in check.root.get("context").map_or(&[][..], Node::entries) {
        if CONTEXT_ORDER.contains(&entry.key.as_str()) {
            context_file(check, &format!("context.{}", entry.key), &entry.value);
        }
    }
    let Some(constraints) = check.root.get("constraints") else { return };
    if let Some(value) = constraints.get("max_files")
        && let Data::Number(numeral) = &value.data
        && numeral.whole().is_none_or(|files| files < 0)
    {
        let path = "constraints.max_files";
        let message = format!("Field {path} must be a whole number, zero or more");
        check.error(value.at, path, message);
    }
    if let Some(value) = constraints.get("allow_delete") {
        allow_delete(check, value);
    }
}

/// The original's own missions name files outside the root by absolute paths: those are only remarked.
fn context_file(check: &mut Checker<'_>, path: &str, value: &Node) {
    match value.text() {
        Some("") => {}
        Some(text) => match RepoPath::parse(text) {
            Ok(_) => {}
            Err(PatternError::Absolute) => {
                let message = format!("{path} is absolute and may be outside the root");
                check.found.warning(value.at, path, message);
            }
            Err(_) => {
                check.path(path, value, |text| {
                    RepoPath::parse(text).map(|path| path.as_str().to_owned())
                });
            }
        },
        None if value.data == Data::Null => {}
        None => check.error(value.at, path, format!("{path} must be a string")),
    }
}

fn allow_delete(check: &mut Checker<'_>, value: &Node) {
    let path = "constraints.allow_delete";
    if !matches!(value.data, Data::List(_)) {
        check.error(value.at, path, format!("Field {path} must be an array"));
        return;
    }
    for (place, item) in value.items().iter().enumerate() {
        let path = format!("{path}[{place}]");
        let parsed = item.text().map(Pattern::parse);
        match parsed {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                check.error(item.at, &path, format!("{path}: '{}': {error}", check.shown(item)));
            }
            None => check.error(item.at, &path, format!("{path} must be a string")),
        }
    }
}
