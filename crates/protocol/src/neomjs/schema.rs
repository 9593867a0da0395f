//! JSON Schemas of the three contracts.

use serde_json::{Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string", "pattern": "\\S"}})
}

/// The schema of a task contract.
pub(super) fn task() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Task contract (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["version", "type", "role", "goal", "requirements"],
        "properties": {
            "version": {"enum": [1, "1", "1.0"]},
            "type": {"type": "string", "description": "The kind of work, such as implementation."},
            "role": {"type": "string", "description": "Who should do it: pm, dev or qa."},
            "goal": {"type": "string", "pattern": "\\S"},
            "context": {
                "type": "object",
                "properties": {
                    "epic_issue": {"type": ["integer", "string"]},
                    "files": texts(),
                    "knowledge_base_refs": texts(),
                },
            },
            "requirements": texts(),
        },
    })
}

/// The schema of a result contract.
pub(super) fn result() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Result contract (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {"type": "string", "description": "success, or failed or blocked."},
            "pr_url": {"type": "string", "pattern": "^https?://"},
            "files_modified": texts(),
            "test_results": {"type": "string", "description": "Such as: Passed (3/3)."},
        },
    })
}

/// The schema of an error report.
pub(super) fn error() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "Error report (Neo.mjs Agent Task Protocol v1.0)",
        "type": "object",
        "required": ["status", "reason"],
        "properties": {
            "status": {"const": "blocked"},
            "reason": {"type": "string", "pattern": "\\S"},
            "error_log": {"type": "string"},
            "attempts": {"type": "integer", "minimum": 0},
            "request": {"type": "string", "description": "What is asked for."},
        },
    })
}
