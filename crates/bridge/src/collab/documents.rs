//! State files made from the store, over what is there.

use super::history::by_id;
use comity_engine::CollabState;
use comity_protocol::collab::{
    OutsideLock, StateFile as Kind, agent_record, document, file_record, lock_record,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Puts entries of one document into the places that they have in another.
pub(super) fn put_entries(kind: Kind, document: &mut Value, ids: &BTreeSet<String>, from: &Value) {
    let from = by_id(kind)(from);
    let list = document.get_mut(kind.list()).and_then(Value::as_array_mut);
    for entry in list.into_iter().flatten() {
        let id = entry.get(kind.key()).and_then(Value::as_str).filter(|id| ids.contains(*id));
        if let Some(new) = id.and_then(|id| from.get(id)) {
            *entry = Value::Object((*new).clone());
        }
    }
}

/// Returns the entries of a document that come from the store.
pub(super) fn ids(kind: Kind, state: &CollabState, document: &Value) -> BTreeSet<String> {
    match kind {
        Kind::Tasks => state.tasks.iter().map(|task| task.id.clone()).collect(),
        Kind::Agents => state.agents.iter().map(|(agent, ..)| agent.id.to_string()).collect(),
        // Of the locks nothing else is written.
        Kind::Locks => {
            let entries = document.get(kind.list()).and_then(Value::as_array).into_iter().flatten();
            let ids = entries.filter_map(|entry| entry.get(kind.key())?.as_str());
            ids.map(str::to_owned).collect()
        }
    }
}

/// Makes a state file from the store, over what is there.
pub fn fresh(
    kind: Kind,
    state: &CollabState,
    outside: &BTreeMap<String, OutsideLock>,
    template: Option<&Value>,
) -> Value {
    let records: Vec<Map<String, Value>> = match kind {
        Kind::Tasks => state.tasks.iter().map(file_record).collect(),
        Kind::Locks => state
            .leases
            .iter()
            .map(|lease| lock_record(lease, outside.get(&lease.lock_id)))
            .collect(),
        Kind::Agents => state
            .agents
            .iter()
            .map(|(agent, word, seen)| agent_record(agent, word, *seen))
            .collect(),
    };
    // A lock that is not in the store is none; a task or agent that the rules refused stays where it was written.
    document(kind, template, records, &|_| kind != Kind::Locks)
}
