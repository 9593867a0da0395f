//! JSON Schemas of the three contracts.

use comity_core::role::Role;
use serde_json::{Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

const SCALAR: [&str; 3] = ["string", "number", "boolean"];

/// A list of texts, or one text; numbers and truth values are read as they are written.
fn texts() -> Value {
    json!({
        "type": ["array", "string", "null"],
        "items": {"type": SCALAR, "pattern": "\\S"},
    })
}

/// What should be there and may be missing.
fn wished(about: &str) -> Value {
    json!({"type": ["string", "number", "boolean", "null"], "description": about})
}

fn needed(about: &str) -> Value {
    json!({"type": SCALAR, "pattern": "\\S", "description": about})
}

/// Words that are read whatever their case.
fn any_case(words: &[&str]) -> String {
    let letter = |c: char| format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase());
    let words: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    format!("^\\s*({})\\s*$", words.join("|"))
}

pub(super) fn task() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Task contract (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["goal", "requirements"],
        "properties": {
            "version": {
                "type": ["number", "string", "null"],
                "pattern": "^\\s*1(\\.0*)?\\s*$",
                "minimum": 1,
                "maximum": 1,
                "description": "1.0",
            },
            "type": wished("The kind of work, such as implementation."),
            "role": {
                "type": ["string", "null"],
                "pattern": any_case(&Role::WORDS.map(|(word, _)| word)),
                "description": "Who should do it: pm, dev or qa.",
            },
            "goal": needed("What is wanted."),
            "context": {
                "type": ["object", "null"],
                "properties": {
                    "epic_issue": {"description": "The number of the epic."},
                    "files": texts(),
                    "knowledge_base_refs": texts(),
                },
                "additionalProperties": true,
            },
            "requirements": {
                "type": ["array", "string"],
                "items": {"type": SCALAR, "pattern": "\\S"},
            },
        },
    })
}

pub(super) fn result() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Result contract (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {
                "type": "string",
                "pattern": any_case(super::result::STATUSES),
                "description": "success; also failed or blocked.",
            },
            "pr_url": {"type": ["string", "null"], "pattern": "^https?://"},
            "files_modified": texts(),
            "test_results": wished("Such as: Passed (3/3)."),
        },
    })
}

pub(super) fn error() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Error report (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["status", "reason"],
        "properties": {
            "status": {"type": "string", "pattern": any_case(&["blocked"])},
            "reason": needed("What went wrong, in short."),
            "error_log": wished("What the tools said."),
            "attempts": {
                "type": ["integer", "string", "null"], "minimum": 0, "pattern": "^\\s*[0-9]+\\s*$",
            },
            "request": wished("What is asked for."),
        },
    })
}
