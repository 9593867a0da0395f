//! The list of tools is what clients see: it is small, portable, and says what the tools really take.

use super::*;
use serde_json::Map;

fn listed() -> Vec<Value> {
    all().iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

#[test]
fn the_list_of_tools_is_small_and_in_its_fixed_order() {
    let names: Vec<&str> = all().iter().map(|tool| tool.name.as_ref()).collect();
    let wanted = [
        "claim_task",
        "lease_files",
        "release",
        "record",
        "submit_work",
        "review_task",
        "ask",
        "look_up",
        "create_task",
        "remember",
    ];
    assert_eq!(names, wanted);
    let tokens = json!({ "tools": listed() }).to_string().len() / 4;
    assert!(tokens <= 2_500, "{tokens} tokens");
}

#[test]
fn schemas_have_nothing_that_a_client_does_not_understand() {
    fn walk(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    assert!(!["format", "$ref", "$defs"].contains(&key.as_str()), "{path}/{key}");
                    assert!(key != "type" || !field.is_array(), "{path}/{key}");
                    walk(field, &format!("{path}/{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    for tool in listed() {
        walk(&tool, tool["name"].as_str().unwrap());
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
    }
}

/// A value that fits a property of a schema.
fn sample(name: &str, schema: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match (schema["type"].as_str().unwrap(), name) {
        ("boolean", _) => json!(true),
        ("integer", _) => json!(1),
        ("array", _) => json!(["a"]),
        (_, "ttl" | "expires") => json!("15m"),
        (_, "role") => json!("critic"),
        (_, "to") => json!("planner"),
        _ => json!("a"),
    }
}

fn reads(tool: &str, given: Map<String, Value>) -> Result<(), String> {
    let done = match tool {
        "claim_task" => read::<ClaimTask>(tool, given).map(drop),
        "lease_files" => read::<LeaseFiles>(tool, given).map(drop),
        "release" => read::<Release>(tool, given).map(drop),
        "record" => read::<Record>(tool, given).map(drop),
        "submit_work" => read::<SubmitWork>(tool, given).map(drop),
        "review_task" => read::<ReviewTask>(tool, given).map(drop),
        "ask" => read::<Ask>(tool, given).map(drop),
        "look_up" => read::<LookUp>(tool, given).map(drop),
        "create_task" => read::<CreateTask>(tool, given).map(drop),
        "remember" => read::<Remember>(tool, given).map(drop),
        other => panic!("{other}"),
    };
    done.map_err(|refusal| refusal.message)
}

#[test]
fn each_tool_takes_what_its_schema_says_and_no_more() {
    for tool in listed() {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let whole: Map<String, Value> =
            properties.iter().map(|(key, schema)| (key.clone(), sample(key, schema))).collect();
        assert_eq!(reads(name, whole.clone()), Ok(()), "{name}");
        for (key, schema) in properties {
            for word in schema["enum"].as_array().into_iter().flatten() {
                let mut given = whole.clone();
                given.insert(key.clone(), word.clone());
                assert_eq!(reads(name, given), Ok(()), "{name}.{key} = {word}");
            }
        }
        let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        for key in properties.keys() {
            let mut given = whole.clone();
            given.remove(key);
            let is_required = required.iter().any(|one| one == key);
            assert_eq!(reads(name, given).is_err(), is_required, "{name}.{key}");
        }
        let mut given = whole;
        given.insert("other".to_owned(), json!(1));
        let said = reads(name, given).unwrap_err();
        assert!(said.contains("unknown field `other`"), "{said}");
    }
}

#[test]
fn the_rest_of_a_brief_is_read_with_a_tool_beside_an_answer_and_in_a_refusal() {
    let brief = json!({"more": {"count": 3, "how": "brief"}});
    let wanted = r#"look_up {"paths":["src/a"],"what":"brief","limit":500}"#;
    let asked = || json!({"paths": ["src/a"]});
    let answer = read_further(Ok(json!({ "brief": brief })), asked()).unwrap();
    assert_eq!(answer["brief"]["more"]["how"], wanted);
    let held = Refusal::new(Code::LeaseHeld, "held").detail("brief", brief);
    let refusal = read_further(Err(held), asked()).unwrap_err();
    assert_eq!(refusal.details["brief"]["more"]["how"], wanted);
    assert_eq!(read_further(Ok(json!({})), asked()).unwrap(), json!({}));
}

#[test]
fn an_option_is_a_key_or_a_key_and_its_label() {
    let read = option("own: write it ourselves");
    assert_eq!((read.key.as_str(), read.label.as_deref()), ("own", Some("write it ourselves")));
    assert_eq!((option("own").key, option("own").label), ("own".to_owned(), None));
}

/// The name of an operation's type.
fn marker(row: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    row.split(['.', '-']).map(capital).collect()
}

#[test]
fn the_table_names_this_door_for_exactly_the_operations_that_tools_and_resources_call() {
    let sources = [include_str!("tools.rs"), include_str!("catalogue.rs")].concat();
    for row in comity_api::TABLE {
        let called = sources.contains(&format!("op::{}>", marker(row.name)));
        let named = row.doors.contains(&comity_api::Door::Mcp);
        assert_eq!(named, called, "{}", row.name);
    }
}
