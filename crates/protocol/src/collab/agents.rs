//! Agent records.

use super::document::{StateFile, problem_at};
use super::tasks::texts;
use super::{Problem, seconds};
use comity_core::agent::Agent;
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::time::Timestamp;
use serde_json::{Map, Value, json};

/// Returns the record of an agent. With several roles `role` is the first and `roles` has all of them.
pub fn agent_record(
    agent: &Agent,
    status: &str,
    last_seen: Option<Timestamp>,
) -> Map<String, Value> {
    let mut record = Map::new();
    let mut put = |key: &str, value: Value| record.insert(key.to_owned(), value);
    put("id", json!(agent.id));
    agent.roles.first().map(|role| put("role", json!(role)));
    put("skills", json!(agent.skills));
    put("status", agent.about.get("status").cloned().unwrap_or_else(|| json!(status)));
    // What others say counts where it is later, or where the agent never was heard of here.
    let told = agent.about.get("last_seen").cloned().unwrap_or_default();
    let later = told.as_str().and_then(Timestamp::parse) > last_seen;
    let here = last_seen.filter(|_| !later);
    put("last_seen", here.map_or(told, |time| json!(seconds(time))));
    if agent.roles.len() > 1 {
        put("roles", json!(agent.roles));
    }
    for (key, value) in &agent.about {
        record.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    record
}

pub fn read_agent(
    id: AgentId,
    record: &Map<String, Value>,
) -> Result<Command, Vec<(String, String)>> {
    let mut problems = Vec::new();
    let mut roles: Vec<Role> = Vec::new();
    let mut skills = None;
    let mut about = Map::new();
    for (key, value) in record {
        match (key.as_str(), value) {
            ("id", _) | ("last_seen", Value::Null) => {}
            ("role" | "roles", Value::Null) => {}
            ("role", Value::String(word)) => add_role(&mut roles, word, key, &mut problems),
            ("roles", Value::Array(words)) => {
                for word in words {
                    add_role(&mut roles, word.as_str().unwrap_or_default(), key, &mut problems);
                }
            }
            ("skills", Value::Array(_)) => match texts("skills", value) {
                Ok(texts) => skills = Some(texts),
                Err((key, message)) => problems.push((key.to_owned(), message)),
            },
            ("role" | "roles" | "skills", _) => {
                problems.push((
                    key.clone(),
                    "role is a text; roles and skills are lists of texts".to_owned(),
                ));
            }
            _ => {
                about.insert(key.clone(), value.clone());
            }
        }
    }
    if problems.is_empty() {
        Ok(Command::AgentDescribe { id, roles, skills, about })
    } else {
        Err(problems)
    }
}

fn add_role(roles: &mut Vec<Role>, word: &str, key: &str, problems: &mut Vec<(String, String)>) {
    match Role::parse(word) {
        Ok(role) if !roles.contains(&role) => roles.push(role),
        Ok(_) => {}
        Err(refusal) => problems.push((key.to_owned(), refusal.message)),
    }
}

pub fn read_agent_at(
    record: &Map<String, Value>,
    id: &str,
    n: usize,
    text: &str,
) -> Result<Command, Vec<Problem>> {
    let place =
        |(key, message): (String, String)| problem_at(StateFile::Agents, text, n, &key, message);
    let id =
        AgentId::parse(id).map_err(|refusal| vec![place(("id".to_owned(), refusal.message))])?;
    read_agent(id, record).map_err(|problems| problems.into_iter().map(place).collect())
}
