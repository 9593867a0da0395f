//! A schema says what the check says: both are held against the same examples.

use crate::contract::*;
use regex::Regex;

/// Checks a value by the words of JSON Schema that the schemas of this crate use; any other fails the test.
fn fits(value: &Value, schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema != &Value::Bool(false) };
    schema.iter().all(|(word, wanted)| match word.as_str() {
        "$schema" | "title" | "description" => true,
        "type" => match wanted {
            Value::Array(kinds) => kinds.iter().any(|kind| is_a(value, kind.as_str().unwrap())),
            kind => is_a(value, kind.as_str().unwrap()),
        },
        "enum" => wanted.as_array().unwrap().iter().any(|word| same(word, value)),
        "anyOf" => wanted.as_array().unwrap().iter().any(|form| fits(value, form)),
        "not" => !fits(value, wanted),
        "required" => value.as_object().is_none_or(|map| {
            wanted.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|map| {
            let known = wanted.as_object().unwrap();
            map.iter().all(|(key, value)| known.get(key).is_none_or(|inner| fits(value, inner)))
        }),
        // Only objects without named properties have a schema here.
        "additionalProperties" => {
            value.as_object().is_none_or(|map| map.values().all(|value| fits(value, wanted)))
        }
        "items" => value.as_array().is_none_or(|list| list.iter().all(|item| fits(item, wanted))),
        "minItems" => value.as_array().is_none_or(|l| l.len() as u64 >= wanted.as_u64().unwrap()),
        "minLength" => value.as_str().is_none_or(|t| t.len() as u64 >= wanted.as_u64().unwrap()),
        "pattern" => {
            value.as_str().is_none_or(|t| Regex::new(wanted.as_str().unwrap()).unwrap().is_match(t))
        }
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
        other => panic!("{other} is not known to this test"),
    })
}

fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

/// A good contract of each kind, and pairs of a key and a value that it is given instead.
const TABLE: &[(&str, &str, &[&str])] = &[
    (
        "mission",
        r#"{"version":"1","task_id":"T1","epic_id":"E1","prd_id":"PRD-1","instruction":"do",
            "context":{"epic_file":"e.md","task_file":"t.md"},"constraints":{"max_files":3},"timeout":0}"#,
        &[
            "version",
            "task_id",
            "epic_id",
            "prd_id",
            "instruction",
            "context",
            "constraints",
            "timeout",
            "constraints.max_files",
            "constraints.no_git_commit",
            "constraints.allow_delete",
            "context.epic_file",
            "context.dev_md",
            "context.anything",
            "anything",
        ],
    ),
    (
        "result",
        r#"{"version":"1","task_id":"T1","status":"completed","files_modified":[{"path":"a","action":"created"}],
            "log":[{"level":"info","message":"m","timestamp":"2025-01-15"},
                   {"level":"info","message":"m","timestamp":"2025-01-15"}],
            "issues":[{"type":"question","description":"d"}],"completed_at":"2025-01-15"}"#,
        &[
            "version",
            "task_id",
            "status",
            "files_modified",
            "log",
            "issues",
            "completed_at",
            "anything",
        ],
    ),
    (
        "neo-task",
        r#"{"version":1.0,"type":"implementation","role":"dev","goal":"g","context":{"files":["a"]},"requirements":["r"]}"#,
        &[
            "version",
            "type",
            "role",
            "goal",
            "context",
            "requirements",
            "context.files",
            "context.knowledge_base_refs",
            "context.anything",
            "anything",
        ],
    ),
    (
        "neo-result",
        r#"{"status":"success","pr_url":"https://x.org/1","files_modified":["a"],"test_results":"ok"}"#,
        &["status", "pr_url", "files_modified", "test_results", "anything"],
    ),
    (
        "neo-error",
        r#"{"status":"blocked","reason":"r","error_log":"l","attempts":3,"request":"q"}"#,
        &["status", "reason", "error_log", "attempts", "request", "anything"],
    ),
    (
        "developer",
        r#"{"task_id":"T1","status":"DONE","concerns":["c"],"evidence":{"command":"make","exit_code":0},
            "commit":"abc","files_changed":3,"branch_completion":{"branch":"b","recommendation":"keep"}}"#,
        &[
            "task_id",
            "status",
            "concerns",
            "evidence",
            "evidence.command",
            "evidence.summary",
            "commit",
            "files_changed",
            "tests",
            "notes",
            "tasks",
            "branch_completion",
            "branch_completion.commits",
            "branch_completion.options",
            "branch_completion.recommendation",
            "pr_url",
            "anything",
        ],
    ),
    (
        "reviewer",
        r#"{"verdict":"APPROVED","spec_compliance":"PASS","summary":"s",
            "spec_deviations":[{"type":"extra","description":"d"}],
            "issues":[{"severity":"WARNING","description":"d","line":3}],"verification":{"typecheck":"pass"}}"#,
        &[
            "verdict",
            "spec_compliance",
            "spec_deviations",
            "summary",
            "pr_comment",
            "verification",
            "verification.typecheck",
            "verification.secrets_scan",
            "issues",
            "issues.0.lens",
            "issues.0.line",
            "issues.0.severity",
            "spec_deviations.0.type",
            "anything",
        ],
    ),
    (
        "scout",
        r#"{"summary":"s","health_score":7,"findings":[{"id":"F-1","severity":"LOW","title":"t","decision_id":null}]}"#,
        &[
            "summary",
            "health_score",
            "findings",
            "decisions_created",
            "memories_written",
            "strengths",
            "anything",
        ],
    ),
    (
        "architect",
        r#"{"plan_path":".neo/specs/a.md","summary":"s"}"#,
        &["plan_path", "summary", "branch", "commit", "anything"],
    ),
    (
        "supervisor",
        r#"{"summary":"s","evidence":["e"],"criteriaResults":[{"criterion":"c","met":true,"evidence":"e"}]}"#,
        &["summary", "evidence", "branch", "criteriaResults", "criteriaResults.0.met", "anything"],
    ),
    (
        "supervisor",
        r#"{"reason":"r","question":"q","context":"c","urgency":"low"}"#,
        &["reason", "context", "urgency", "anything"],
    ),
    (
        "supervisor",
        r#"{"type":"complete","supervisorId":"s","summary":"s","evidence":["e"]}"#,
        &["type", "supervisorId", "summary", "evidence", "branch", "criteriaResults", "anything"],
    ),
    (
        "supervisor",
        r#"{"type":"blocked","reason":"r","question":"q","urgency":"low"}"#,
        &["reason", "question", "context", "urgency", "anything"],
    ),
    (
        "supervisor",
        r#"{"type":"failed","error":"e"}"#,
        &["type", "supervisorId", "error", "anything"],
    ),
    (
        "agent",
        r#"{"name":"a","prompt":"p","tools":["Read"],"agents":{"x":{"description":"d","prompt":"p"}}}"#,
        &[
            "name",
            "extends",
            "description",
            "model",
            "tools",
            "sandbox",
            "maxTurns",
            "maxCost",
            "agents",
            "agents.x",
            "agents.x.tools",
            "anything",
        ],
    ),
    (
        "ace-done",
        r#"{"task_id":"task-1","summary":"s","files_changed":["a"],"commands_run":["make"]}"#,
        &[
            "task_id",
            "summary",
            "files_changed",
            "commands_run",
            "status",
            "state",
            "blocked",
            "blocked_questions",
            "anything",
        ],
    ),
];

const VALUES: &[&str] = &[
    "null",
    "\"\"",
    "\"x\"",
    "7",
    "10.0",
    "-1",
    "1.5",
    "true",
    "[]",
    "{}",
    "[null]",
    "[7]",
    "[\"x\"]",
    "[{}]",
    "{\"x\": 1}",
    "\"DONE\"",
    "\"1\"",
    "\"Blocked\"",
    "\"2025-01-15T10:30\"",
    "1",
    "false",
    "\" \"",
    "[\"\"]",
    "\" QA\"",
];

fn put(root: &mut Value, path: &str, value: Value) {
    let mut place = root;
    for part in path.split('.') {
        if let Ok(number) = part.parse::<usize>() {
            place = &mut place[number];
            continue;
        }
        if place.get(part).is_none() {
            place[part] = Value::Null;
        }
        place = &mut place[part];
    }
    *place = value;
}

fn held_against(name: &str, schema: &Value, value: &Value) {
    let checked = check(&value.to_string(), kind(name), Mode::Full);
    assert_eq!(
        checked.is_valid(),
        fits(value, schema),
        "{name}: the check and the schema differ on {value}: {:?}",
        checked.problems
    );
}

#[test]
fn the_check_and_the_schema_of_every_kind_agree() {
    let names: Vec<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
    // A comment and a prompt are no JSON: their schemas only say what is read out of them.
    let documents = KINDS.iter().filter(|kind| ![ace::COMMENT.name, "resume"].contains(&kind.name));
    assert!(documents.into_iter().all(|kind| names.contains(&kind.name)));
    for (name, example, keys) in TABLE {
        let schema = (kind(name).unwrap().schema)();
        let good: Value = serde_json::from_str(example).unwrap();
        assert!(check(example, kind(name), Mode::Full).is_valid(), "{name}");
        held_against(name, &schema, &good);
        for key in *keys {
            for text in VALUES {
                let mut changed = good.clone();
                put(&mut changed, key, serde_json::from_str(text).unwrap());
                held_against(name, &schema, &changed);
            }
            if !key.contains('.') {
                let mut without = good.clone();
                without.as_object_mut().unwrap().shift_remove(*key);
                held_against(name, &schema, &without);
            }
        }
    }
}
