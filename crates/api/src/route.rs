//! Where the operations are found over HTTP. The path follows from the name of the row and from its input, so that no
//! operation has a route of its own.

use crate::table::{Door, Kind, Row, TABLE};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Patch,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
        }
    }
}

/// One way to call an operation.
#[derive(Clone)]
pub struct Route {
    pub method: Method,
    /// The segments after `/api/v1/`; `{id}` stands for an id.
    pub path: String,
    pub row: &'static Row,
}

/// Groups of operations whose things are many.
const PLURALS: [(&str, &str); 12] = [
    ("task", "tasks"),
    ("lease", "leases"),
    ("agent", "agents"),
    ("decision", "decisions"),
    ("memory", "memories"),
    ("directive", "directives"),
    ("event", "events"),
    ("gate", "gates"),
    ("run", "runs"),
    ("budget", "budgets"),
    ("interface", "interfaces"),
    ("pad", "pads"),
];
/// Verbs that make a thing: they are posted to the collection.
const MAKING: [&str; 6] = ["create", "acquire", "register", "ask", "write", "emit"];

/// Lists every way to call an operation over HTTP. Streams have a route of their own.
pub fn routes() -> Vec<Route> {
    let rows = TABLE.iter().filter(|row| row.doors.contains(&Door::Http));
    rows.filter(|row| row.kind != Kind::Stream).flat_map(|row| of_row(row)).collect()
}

fn of_row(row: &'static Row) -> Vec<Route> {
    let route = |method, path: String| Route { method, path, row };
    let natural = if row.kind == Kind::Write { Method::Post } else { Method::Get };
    let Some((group, verb)) = row.name.split_once('.') else {
        let path = if row.kind == Kind::Write { format!("{}s", row.name) } else { row.name.into() };
        return vec![route(natural, path)];
    };
    let plural = PLURALS.iter().find(|(one, _)| *one == group);
    let base = plural.map_or(group, |(_, many)| many);
    let item = format!("{base}/{{id}}");
    let id = id_of(row);
    match verb {
        "list" if id == Id::None => vec![route(Method::Get, base.to_owned())],
        "list" | "show" if id != Id::None => vec![route(Method::Get, item)],
        "update" => vec![route(Method::Patch, item)],
        _ if plural.is_some() && MAKING.contains(&verb) => {
            vec![route(Method::Post, base.to_owned())]
        }
        _ => {
            let bare = (id != Id::Required).then(|| format!("{base}/{verb}"));
            let named = (id != Id::None).then(|| format!("{item}/{verb}"));
            let paths = bare.into_iter().chain(named);
            // A question may be too long for an address.
            let posted = (row.kind == Kind::Read).then_some(Method::Post);
            paths
                .flat_map(|path| {
                    let post = posted.map(|method| route(method, path.clone()));
                    std::iter::once(route(natural, path)).chain(post)
                })
                .collect()
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    None,
    Optional,
    Required,
}

/// Tells whether the input of a row names a thing by its id.
fn id_of(row: &Row) -> Id {
    let schema = (row.input)().to_value();
    let Some(id) = schema.pointer("/properties/id") else { return Id::None };
    match &id["type"] {
        Value::Array(types) if types.iter().any(|kind| kind == "null") => Id::Optional,
        _ => Id::Required,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_of_http_has_a_route_and_no_two_share_one() {
        let all = routes();
        let mut seen = BTreeSet::new();
        for route in &all {
            assert!(seen.insert((route.method.as_str(), route.path.clone())), "{}", route.path);
        }
        for row in TABLE.iter().filter(|row| row.doors.contains(&Door::Http)) {
            let routed = all.iter().any(|route| route.row.name == row.name);
            assert!(routed || row.kind == Kind::Stream, "{}", row.name);
        }
    }

    #[test]
    fn an_address_has_a_place_for_an_id_only_where_the_input_has_one() {
        for route in routes().iter().filter(|route| route.path.contains("{id}")) {
            let schema = (route.row.input)().to_value();
            assert!(schema.pointer("/properties/id").is_some(), "{}", route.path);
        }
    }

    #[test]
    fn paths_follow_from_names() {
        let all = routes();
        let path = |name: &str| {
            let of = all.iter().filter(|route| route.row.name == name);
            of.map(|route| format!("{} {}", route.method.as_str(), route.path)).collect::<Vec<_>>()
        };
        assert_eq!(path("task.create"), ["POST tasks"]);
        assert_eq!(path("task.list"), ["GET tasks"]);
        assert_eq!(path("task.show"), ["GET tasks/{id}"]);
        assert_eq!(path("task.update"), ["PATCH tasks/{id}"]);
        assert_eq!(path("task.claim"), ["POST tasks/claim", "POST tasks/{id}/claim"]);
        assert_eq!(path("task.approve"), ["POST tasks/{id}/approve"]);
        assert_eq!(path("task.verbs"), ["GET tasks/{id}/verbs", "POST tasks/{id}/verbs"]);
        assert_eq!(path("gate.list"), ["GET gates/{id}"]);
        assert_eq!(path("decision.answer"), ["POST decisions/{id}/answer"]);
        assert_eq!(path("agent.register"), ["POST agents"]);
        assert_eq!(path("memory.search"), ["GET memories/search", "POST memories/search"]);
        assert_eq!(path("note"), ["POST notes"]);
        assert_eq!(path("board"), ["GET board"]);
        assert_eq!(path("run.show"), ["GET runs/{id}"]);
        assert_eq!(path("run.logs"), ["GET runs/{id}/logs", "POST runs/{id}/logs"]);
        // What is named by something else than an id has it as a field.
        assert_eq!(path("pad.show"), ["GET pads/show", "POST pads/show"]);
        assert_eq!(path("interface.show"), ["GET interfaces/show", "POST interfaces/show"]);
    }
}
