//! Addresses and the operations behind them, and how the text of an address becomes an input.

use comity_api::{Method, Row};
use comity_core::refusal::Refusal;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Of what kind a field of an input is, as far as the text of an address is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Text,
    Number,
    Flag,
    List,
    /// A number where the text is one, a text otherwise.
    Either,
}

/// One way to call an operation.
pub struct Address {
    method: &'static str,
    segments: Vec<String>,
    pub row: &'static Row,
    fields: BTreeMap<String, Field>,
}

pub struct Routes(Vec<Address>);

/// What was found at a path.
pub enum AtPath<'r> {
    Address(&'r Address, Option<String>),
    /// Something is there, but it takes other methods.
    OtherMethods(Vec<&'static str>),
    Nothing,
}

/// Parameters that every address takes.
const COMMON: [&str; 3] = ["repo", "at", "dry_run"];

impl Routes {
    pub fn all() -> Routes {
        let address = |route: comity_api::Route| Address {
            method: route.method.as_str(),
            segments: route.path.split('/').map(str::to_owned).collect(),
            fields: fields(route.row),
            row: route.row,
        };
        Routes(comity_api::routes().into_iter().map(address).collect())
    }

    /// Finds what is at a path. A name wins over a place for an id.
    pub fn find(&self, method: &str, path: &str) -> AtPath<'_> {
        let parts: Vec<&str> = path.split('/').collect();
        let mut there: Vec<(&Address, Option<String>)> =
            self.0.iter().filter_map(|one| Some((one, one.matches(&parts)?))).collect();
        there.sort_by_key(|(_, id)| id.is_some());
        // A place for an id is none where something else has that name.
        if there.iter().any(|(_, id)| id.is_none()) {
            there.retain(|(one, id)| {
                id.is_none() || one.segments.len() != parts.len() || parts.len() > 2
            });
        }
        let methods: Vec<&'static str> = there.iter().map(|(one, _)| one.method).collect();
        let wanted = if method == "HEAD" { "GET" } else { method };
        match there.into_iter().find(|(one, _)| one.method == wanted) {
            Some((address, id)) => AtPath::Address(address, id),
            None if methods.is_empty() => AtPath::Nothing,
            None => AtPath::OtherMethods(methods),
        }
    }
}

impl Address {
    /// Compares a path; the inner value is the id in it.
    fn matches(&self, parts: &[&str]) -> Option<Option<String>> {
        if parts.len() != self.segments.len() {
            return None;
        }
        let mut id = None;
        for (part, segment) in parts.iter().zip(&self.segments) {
            match segment.as_str() {
                "{id}" => id = Some(decoded(part)?),
                name if name == *part => {}
                _ => return None,
            }
        }
        Some(id)
    }

    pub fn is_get(&self) -> bool {
        self.method == Method::Get.as_str()
    }

    /// Makes an input of the parameters of an address.
    pub fn input(&self, query: &[(String, String)]) -> Result<Map<String, Value>, Refusal> {
        let mut input = Map::new();
        for (name, text) in query.iter().filter(|(name, _)| !COMMON.contains(&name.as_str())) {
            let (name, field) = self.field(name).ok_or_else(|| {
                let known: Vec<&str> =
                    self.fields.keys().map(String::as_str).chain(COMMON).collect();
                let name = comity_core::ids::shorten(name);
                Refusal::input(format!("there is no parameter {name:?}"))
                    .hint(format!("use one of: {}", known.join(", ")))
            })?;
            let bad = |wanted: &str| Refusal::input(format!("{name}: {text:?} is not {wanted}"));
            let value = match field {
                Field::Text => json!(text),
                Field::Number => json!(text.parse::<u64>().map_err(|_| bad("a number"))?),
                Field::Flag => match text.as_str() {
                    "" | "1" | "true" => json!(true),
                    "0" | "false" => json!(false),
                    _ => return Err(bad("true or false")),
                },
                Field::Either => text.parse::<u64>().map_or_else(|_| json!(text), |n| json!(n)),
                Field::List => {
                    let list = input.entry(name.clone()).or_insert_with(|| json!([]));
                    if let Some(list) = list.as_array_mut() {
                        list.push(json!(text));
                    }
                    continue;
                }
            };
            input.insert(name, value);
        }
        Ok(input)
    }

    /// Finds a field; a list is also known by the name of one entry.
    fn field(&self, name: &str) -> Option<(String, Field)> {
        let plurals = [name.to_owned(), format!("{name}s"), format!("{name}es")];
        let of_list = |name: &&String| self.fields.get(*name) == Some(&Field::List);
        let found = match self.fields.get(name) {
            Some(_) => plurals.first(),
            None => plurals.iter().find(of_list),
        };
        found.and_then(|name| Some((name.clone(), *self.fields.get(name)?)))
    }

    pub fn takes(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }
}

fn fields(row: &Row) -> BTreeMap<String, Field> {
    let schema = (row.input)().to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    let kind = |schema: &Value| {
        let is = |wanted: &str| match schema.get("type") {
            Some(Value::String(kind)) => kind == wanted,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        };
        match schema {
            _ if is("array") => Field::List,
            _ if is("integer") => Field::Number,
            _ if is("boolean") => Field::Flag,
            _ if is("string") => Field::Text,
            _ => Field::Either,
        }
    };
    let all = properties.into_iter().flatten();
    all.map(|(name, schema)| (name.clone(), kind(schema))).collect()
}

/// Reads the parameters of an address.
pub fn query(text: &str) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |text: &str| decoded(&text.replace('+', " "));
            read(name).zip(read(value)).ok_or_else(|| Refusal::input("the address is not UTF-8"))
        })
        .collect()
}

/// Takes the percent signs out of a text.
pub fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let digits = std::str::from_utf8(bytes.get(at + 1..at + 3)?).ok()?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> String {
        match Routes::all().find(method, path) {
            AtPath::Address(address, id) => {
                format!("{} {}", address.row.name, id.unwrap_or_default())
            }
            AtPath::OtherMethods(methods) => methods.join(","),
            AtPath::Nothing => String::new(),
        }
    }

    #[test]
    fn paths_lead_to_operations() {
        assert_eq!(found("GET", "tasks"), "task.list ");
        assert_eq!(found("POST", "tasks/claim"), "task.claim ");
        assert_eq!(found("POST", "tasks/T%31/claim"), "task.claim T1");
        assert_eq!(found("GET", "tasks/T1"), "task.show T1");
        assert_eq!(found("GET", "agents/claude-code:1"), "agent.show claude-code:1");
        assert_eq!(found("GET", "memories/search"), "memory.search ");
        assert_eq!(found("DELETE", "board"), "GET");
        assert_eq!(found("GET", "nothing/here"), "");
        assert_eq!(found("GET", "tasks/%ff"), "");
    }

    #[test]
    fn parameters_become_what_the_input_wants() {
        let routes = Routes::all();
        let AtPath::Address(list, _) = routes.find("GET", "tasks") else { panic!() };
        let input = |text: &str| list.input(&query(text).unwrap());
        let read = input("status=queued&status=review&limit=5&all=1&search=a+b&repo=x").unwrap();
        let wanted =
            json!({"statuses": ["queued", "review"], "limit": 5, "all": true, "search": "a b"});
        assert_eq!(Value::Object(read), wanted);
        assert!(input("nonsense=1").is_err() && input("limit=many").is_err());
        assert!(query("a=%zz").is_err());
    }
}
