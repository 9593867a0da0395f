//! The definition of an agent: `.neo/agents/NAME.yml`.

use crate::contract::{Mode, keys_there, says};
use crate::document::{Node, Style, to_yaml};
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use comity_core::role::Role;
use serde_json::Value;

const INHERITED: &str = "$inherited";

const TOOLS: &[&str] = &[
    "Read",
    "Write",
    "Edit",
    "Bash",
    "Glob",
    "Grep",
    "Agent",
    "WebSearch",
    "WebFetch",
    "NotebookEdit",
];
const SANDBOXES: &[&str] = &["writable", "readonly"];

const SUBAGENT: &[Field] = &[
    must("description", Shape::Text, "what it is for"),
    must("prompt", Shape::Text, "its prompt, or the file that has it"),
    may("tools", Shape::List(&Shape::Text), "its tools"),
    may("model", Shape::Text, "its model"),
];

const FIELDS: &[Field] = &[
    must("name", Shape::Text, "the agent's name"),
    may("extends", Shape::Text, "the agent it is made of"),
    may("description", Shape::AnyText, "what it is for"),
    may("version", Shape::AnyText, "the version of the definition"),
    may("model", Shape::Text, "opus, sonnet, haiku, or a model's name"),
    may("tools", Shape::List(&Shape::Text), "its tools; $inherited for those it extends"),
    may("prompt", Shape::AnyText, "its prompt, or the file that has it"),
    may("promptAppend", Shape::AnyText, "what is added to the prompt it extends"),
    may("sandbox", Shape::Word(SANDBOXES), "whether it may write"),
    may("maxTurns", Shape::Whole(1, i64::MAX), "turns of one session"),
    may("maxCost", Shape::Amount, "most dollars of one session"),
    may("mcpServers", Shape::List(&Shape::Text), "its MCP servers"),
    may("agents", Shape::Named(SUBAGENT), "agents that it may start"),
];

/// Counts the marks of a definition: nothing else has a name and says how the agent works.
pub fn marks(_: &str, tree: Option<&Node>) -> u32 {
    let own = [
        "extends",
        "tools",
        "sandbox",
        "prompt",
        "promptAppend",
        "maxTurns",
        "maxCost",
        "mcpServers",
    ];
    keys_there(tree, &["name"]) * keys_there(tree, &own)
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    let mut found = shape::check(root, FIELDS);
    let extends = root.get("extends").is_some();
    for (place, tool) in root.items_of("tools").iter().enumerate() {
        let Some(word) = tool.text() else { continue };
        let path = format!("tools[{place}]");
        if word == INHERITED && !extends {
            found.error(tool.at, path, "$inherited needs extends: there is nothing to inherit");
        } else if word != INHERITED && !TOOLS.contains(&word) && !word.starts_with("mcp__") {
            let message =
                format!("{path}: {word:?} is none of the known tools: {}", TOOLS.join(", "));
            found.warning(tool.at, path, message);
        }
    }
    if !extends && root.get("prompt").is_none() {
        found.warning(root.at, "prompt", "the agent has no prompt and extends no other agent");
    }
    found
}

pub fn schema() -> Value {
    shape::schema("Agent", "The definition of an agent.", FIELDS)
}

pub fn render(root: &Node) -> String {
    // Descriptions are in quotes, as in the definitions that come with the tool.
    let mut quoted = vec!["description".to_owned()];
    for entry in root.get("agents").map_or(&[][..], Node::entries) {
        quoted.push(format!("agents.{}.description", entry.key));
    }
    let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
    to_yaml(&root.to_value(), &Style { quoted: &quoted, ..Style::default() })
}

/// The roles that an agent of this definition gets here: by its name, else by what it may write.
pub fn roles(root: &Node) -> Vec<Role> {
    let name = root.get("name").and_then(Node::text).unwrap_or_default();
    if let Ok(role) = Role::parse(name) {
        return vec![role];
    }
    vec![if says(Some(root), "sandbox", &["readonly"]) {
        Role::Observer
    } else {
        Role::Implementer
    }]
}
