//! Next steps in the words of the tools: a call that a model can make as it stands.

use comity_core::hint::{Argument, Call, Given, Plain, Wording, op};
use serde_json::{Map, Value, json};

pub struct Tools;

/// An operation, the tool that calls it, and the arguments that the tool adds.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const TOOLS: &[Row] = &[
    ("task.claim", "claim_task", &[]),
    ("task.create", "create_task", &[]),
    ("task.list", "look_up", &[("what", "tasks")]),
    ("task.show", "look_up", &[("what", "task")]),
    ("task.mission", "look_up", &[("what", "task")]),
    ("gate.list", "look_up", &[("what", "task")]),
    ("task.why", "look_up", &[("what", "why")]),
    ("task.start", "record", &[("kind", "start")]),
    ("task.check", "record", &[("kind", "item_met")]),
    ("task.subtask", "record", &[("kind", "step_started")]),
    ("gate.record", "record", &[("kind", "gate")]),
    ("agent.heartbeat", "record", &[("kind", "heartbeat")]),
    ("note", "record", &[("kind", "progress")]),
    ("task.submit", "submit_work", &[("outcome", "completed")]),
    ("task.block", "submit_work", &[("outcome", "blocked")]),
    ("task.fail", "submit_work", &[("outcome", "failed")]),
    ("task.release", "release", &[]),
    ("lease.release", "release", &[]),
    ("task.review", "review_task", &[("verdict", "take")]),
    ("task.approve", "review_task", &[("verdict", "approve")]),
    ("task.request-changes", "review_task", &[("verdict", "request_changes")]),
    ("lease.acquire", "lease_files", &[]),
    ("lease.list", "look_up", &[("what", "leases")]),
    ("lease.check", "look_up", &[("what", "paths")]),
    ("decision.ask", "ask", &[]),
    ("decision.list", "look_up", &[("what", "decisions")]),
    ("decision.show", "look_up", &[("what", "decision")]),
    ("decision.wait", "look_up", &[("what", "decision")]),
    ("tell", "record", &[("kind", "message")]),
    ("pad.show", "look_up", &[("what", "pad")]),
    ("pad.append", "remember", &[("type", "pad")]),
    ("interface.show", "look_up", &[("what", "interface")]),
    ("interface.list", "look_up", &[("what", "interface")]),
    ("brief", "look_up", &[("what", "brief")]),
    ("memory.write", "remember", &[]),
    ("memory.list", "look_up", &[("what", "memories")]),
    ("memory.search", "look_up", &[("what", "memories")]),
    ("agent.list", "look_up", &[("what", "agents")]),
    ("event.list", "look_up", &[("what", "events")]),
    ("status", "look_up", &[("what", "status")]),
];

/// Returns the operation that a call of a writing tool comes down to.
pub fn operation(tool: &str, arguments: &Map<String, Value>) -> &'static str {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    match (tool, given("kind")) {
        ("record", "step_done") => return "task.subtask",
        ("record", "discovery" | "milestone") => return "note",
        ("release", _) if given("task").is_empty() => return "lease.release",
        _ => {}
    }
    let fits = |(_, of, fixed): &&Row| {
        *of == tool && fixed.iter().all(|(name, value)| given(name) == *value)
    };
    TOOLS.iter().find(fits).map_or("", |(operation, ..)| operation)
}

/// Arguments that have another name in a tool, or in all.
fn renamed<'n>(tool: &str, name: &'n str) -> &'n str {
    match (tool, name) {
        ("look_up" | "claim_task", "id") => "id",
        ("look_up", "scope" | "name" | "task") => "id",
        (_, "id") => "task",
        ("release", "ids") => "leases",
        ("lease_files", "patterns") => "paths",
        ("record", "verdict") => "passed",
        ("record", "item") => "text",
        ("look_up", "status" | "label") => "query",
        (_, "wait" | "timeout") => "wait_seconds",
        (_, other) => other,
    }
}

/// Returns an argument as the schema of its tool wants it.
fn value(name: &str, given: &Given, schema: &Value) -> Value {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (given, kind) {
        (Given::Value(text), _) if name == "passed" => json!(text == "pass"),
        // No call waits for longer.
        (Given::Value(_) | Given::Placeholder(_), _) if name == "wait_seconds" => json!(50),
        (Given::Value(text), "array") => json!([text]),
        (Given::Placeholder(what), "array") => json!([what]),
        (Given::Value(text), "integer" | "boolean") => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        (Given::Value(text), _) => json!(text),
        (Given::Placeholder(what), _) => json!(what),
        (Given::Nothing, _) => json!(true),
    }
}

impl Wording for Tools {
    fn call(&self, call: &Call) -> String {
        let row = TOOLS.iter().find(|(operation, ..)| *operation == call.operation);
        let Some((_, tool, fixed)) = row else {
            return format!("{} (no tool of yours; a person can)", Plain.call(call));
        };
        let mut arguments = Map::new();
        for (name, word) in *fixed {
            arguments.insert((*name).to_owned(), json!(word));
        }
        let known = super::tools::all().iter().find(|one| one.name == *tool);
        let properties = known.and_then(|one| one.input_schema.get("properties"));
        for argument in &call.arguments {
            let name = renamed(tool, &argument.name);
            // What a tool does not take is refused: the call without it is the next best.
            if let Some(schema) = properties.and_then(|all| all.get(name)) {
                arguments.insert(name.to_owned(), value(name, &argument.given, schema));
            }
        }
        format!("{tool} {}", Value::Object(arguments))
    }

    fn argument(&self, argument: &Argument) -> String {
        match (argument.name.as_ref(), &argument.given) {
            ("help", _) => "input schema".to_owned(),
            ("wait", _) => "wait_seconds".to_owned(),
            ("new", _) => {
                let ask = self.call(&op("decision.ask").ask("question", "QUESTION"));
                format!("it on the command line with --new, which a person does: `{ask}`")
            }
            (name, Given::Value(text)) => format!("{name} {}", json!(text)),
            (name, Given::Placeholder(_) | Given::Nothing) => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::decide::unknown_name;
    use comity_core::hint::say;
    use comity_core::refusal::Code;

    #[test]
    fn a_hint_is_a_tool_call() {
        let hint = say("see ").quote(op("task.why").id("T1"));
        assert_eq!(hint.worded(&Tools), r#"see `look_up {"what":"why","id":"T1"}`"#);
        let gate = op("gate.record").id("T1").ask("gate", "GATE").arg("verdict", "pass");
        let worded = r#"record {"kind":"gate","task":"T1","gate":"GATE","passed":true}"#;
        assert_eq!(Tools.call(&gate), worded);
        let hint = Code::LeaseHeld.default_hint().worded(&Tools);
        assert_eq!(hint, "take another task, wait with wait_seconds, or ask the holder");
        let all = Tools.call(&op("decision.list").arg("all", "true"));
        assert_eq!(all, r#"look_up {"what":"decisions"}"#, "no tool takes it");
        let brief = Tools.call(&op("brief").arg("task", "T1").arg("limit", "500"));
        assert_eq!(brief, r#"look_up {"what":"brief","id":"T1","limit":500}"#);
        let hint = unknown_name("gate", "tets", Some("tests")).next_step().worded(&Tools);
        assert!(hint.starts_with("did you mean tests?"), "{hint}");
        assert!(hint.ends_with(r#"`ask {"question":"QUESTION"}`"#), "{hint}");
        let persons = Tools.call(&op("gate.waive").id("T1"));
        assert!(persons.ends_with("(no tool of yours; a person can)"), "{persons}");
    }

    #[test]
    fn every_tool_that_a_hint_names_takes_the_arguments_that_it_names() {
        let tools = super::super::tools::all();
        for code in Code::ALL {
            for call in code.default_hint().calls() {
                let Some((_, tool, fixed)) = TOOLS.iter().find(|(of, ..)| *of == call.operation)
                else {
                    continue;
                };
                let tool = tools.iter().find(|one| one.name == *tool).unwrap();
                let known = |name: &str| tool.input_schema["properties"].get(name).is_some();
                assert!(fixed.iter().all(|(name, _)| known(name)), "{code}");
                for argument in &call.arguments {
                    assert!(known(renamed(&tool.name, &argument.name)), "{code}: {argument}");
                }
            }
        }
        for (operation, tool, _) in TOOLS {
            assert!(comity_api::row(operation).is_some(), "{operation}");
            assert!(tools.iter().any(|one| one.name == *tool), "{tool}");
        }
    }
}
