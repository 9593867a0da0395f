//! JSON Schemas of mission and result.

use serde_json::{Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Agents often leave out the quotes; what comity writes has them.
fn version() -> Value {
    json!({"enum": ["1", 1], "description": "The version of the protocol; write it as a text."})
}

fn list_of(least: u64, properties: &Value) -> Value {
    let required: Vec<String> =
        properties.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
    let item = json!({"type": "object", "required": required, "properties": properties});
    json!({"type": "array", "minItems": least, "items": item})
}

pub fn mission() -> Value {
    let path = |about: &str| json!({"type": ["string", "null"], "description": about});
    json!({
        "$schema": DIALECT,
        "title": "Mission (Agent Protocol v1)",
        "description": "What an agent is to do.",
        "type": "object",
        "required": ["version", "task_id", "epic_id", "prd_id", "instruction", "context"],
        "properties": {
            "version": version(),
            "task_id": {"type": "string", "pattern": "^T[0-9]+$"},
            "epic_id": {"type": "string", "pattern": "^E[0-9]+$"},
            "prd_id": {"type": "string", "pattern": "^PRD-[0-9]+$"},
            "instruction": {
                "type": "string", "pattern": "\\S", "description": "The task in natural language.",
            },
            "context": {
                "type": "object",
                "description": "Paths of files to read first.",
                "required": ["epic_file", "task_file"],
                "properties": {
                    "dev_md": path("How to work in this repository."),
                    "epic_file": {"type": "string", "minLength": 1, "description": "The epic."},
                    "task_file": {"type": "string", "minLength": 1, "description": "The task."},
                    "memory": path("What is known from earlier work."),
                    "toolset": path("Which tools there are."),
                },
                "additionalProperties": true,
            },
            "constraints": {
                "type": "object",
                "properties": {
                    "max_files": {"type": "integer", "minimum": 0},
                    "no_git_commit": {"type": "boolean"},
                    "no_new_deps": {"type": "boolean"},
                    "allow_delete": {"type": "array", "items": {"type": "string", "minLength": 1}},
                },
            },
            "timeout": {"type": "number", "minimum": 0, "description": "Seconds; 0 is no limit."},
        },
    })
}

pub fn result() -> Value {
    let text = json!({"type": "string", "pattern": "\\S"});
    let time = json!({
        "type": "string",
        "pattern": "^\\s*[0-9]{4}-?[0-9]{2}-?[0-9]{2}",
        "description": "An ISO 8601 time.",
    });
    json!({
        "$schema": DIALECT,
        "title": "Result (Agent Protocol v1)",
        "description": "What came of a mission.",
        "type": "object",
        "required": ["version", "task_id", "status", "files_modified", "log", "completed_at"],
        "properties": {
            "version": version(),
            "task_id": {"type": "string", "pattern": "^T[0-9]+$"},
            "status": {"enum": ["completed", "failed", "blocked"]},
            "files_modified": list_of(0, &json!({
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Relative to the root; each file once.",
                },
                "action": {"enum": ["created", "modified", "deleted"]},
            })),
            "log": list_of(2, &json!({
                "level": {"enum": ["info", "tip", "warn", "error", "critical"]},
                "message": text,
                "timestamp": time,
            })),
            "issues": list_of(0, &json!({
                "type": {"enum": ["blocker", "question", "concern"]},
                "description": text,
            })),
            "completed_at": time,
        },
    })
}
