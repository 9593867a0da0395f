//! `docs/reference/operations.md` is the table of operations with its schemas. `COMITY_BLESS=1` rewrites it.

use comity_api::{Door, Kind, Row, TABLE};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;

const INTRODUCTION: &str = "# Operations\n\nA door is a way into comity: the command line, JSON-RPC, MCP, HTTP. All doors \
call the same operations. This page lists the input and output of each one.\n\nA type with a capital letter is a \
shape. The shapes are at the end of the page. You may leave out an input field that may be null.\n\nTests generate \
this page: `COMITY_BLESS=1 cargo test -p comity-engine operations_page`.\n";

/// Objects with fields of their own, each under one name, in the order in which they are met.
#[derive(Default)]
struct Shapes {
    /// The operation or shape that is being written.
    owner: String,
    known: Vec<(String, Value)>,
}

impl Shapes {
    /// Returns the name of an object, giving it one after the field where it is met first.
    fn name(&mut self, field: &str, object: &Map<String, Value>) -> String {
        let mut shape = object.clone();
        shape.retain(|key, _| ["properties", "required"].contains(&key.as_str()));
        let shape = Value::Object(shape);
        if let Some((name, _)) = self.known.iter().find(|(_, known)| *known == shape) {
            return name.clone();
        }
        // Where the field's own name is taken, the owner's comes before it.
        let owner = self.owner.rsplit('.').next().unwrap_or_default();
        let longer = format!("{}{}", capital(owner), capital(field));
        let numbered = (2..9).map(|n| format!("{longer}{n}"));
        let is_free = |name: &String| self.known.iter().all(|(known, _)| known != name);
        let mut names = [capital(field), longer.clone()].into_iter().chain(numbered);
        let name = names.find(is_free).expect("a free name");
        self.known.push((name.clone(), shape));
        name
    }
}

fn singular(field: &str) -> String {
    match field.strip_suffix("ies") {
        Some(start) => format!("{start}y"),
        None => field.strip_suffix('s').unwrap_or(field).to_owned(),
    }
}

fn capital(field: &str) -> String {
    let words = field.split(['_', '-']).flat_map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<Vec<_>>()
    });
    words.collect()
}

/// An operation by its name, with its input.
fn operation_of(schema: &Value) -> Option<String> {
    let name = schema.pointer("/properties/operation/const")?.as_str()?;
    Some(format!("`{name}`"))
}

fn types(shapes: &mut Shapes, field: &str, schema: &Value) -> String {
    let Some(object) = schema.as_object() else { return "any".to_owned() };
    let several = ["oneOf", "anyOf"].iter().find_map(|key| object.get(*key)?.as_array());
    if let Some(names) = several.and_then(|several| several.iter().map(operation_of).collect()) {
        let names: Vec<String> = names;
        return format!("`operation` ({}) with its `input`", names.join(", "));
    }
    if let Some(several) = several {
        let words: Vec<String> = several.iter().map(|one| types(shapes, field, one)).collect();
        return words.join(" or ");
    }
    if let Some(word) = object.get("const") {
        return format!("`{}`", word.as_str().map_or_else(|| word.to_string(), str::to_owned));
    }
    if let Some(words) = object.get("enum").and_then(Value::as_array) {
        let words: Vec<String> =
            words.iter().map(|word| word.to_string().replace('"', "`")).collect();
        return words.join(" or ");
    }
    let named: Vec<&str> = match object.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return "any".to_owned(),
    };
    let words = named.into_iter().map(|name| match name {
        "array" => match object.get("items") {
            Some(items) => format!("list of {}", types(shapes, &singular(field), items)),
            None => "list".to_owned(),
        },
        "object" if object.contains_key("properties") => shapes.name(field, object),
        "object" => match object.get("additionalProperties") {
            Some(Value::Object(one)) if !one.is_empty() => {
                format!("map to {}", types(shapes, field, &Value::Object(one.clone())))
            }
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    });
    words.collect::<Vec<_>>().join(" or ")
}

fn fields(out: &mut String, shapes: &mut Shapes, schema: &Value) {
    let none = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    if fields.is_empty() {
        out.push_str("\n(no fields)\n");
        return;
    }
    out.push_str("\n| field | type | meaning |\n|---|---|---|\n");
    for (name, field) in fields {
        let meaning = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let meaning = meaning.replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(out, "| `{name}` | {} | {meaning} |", types(shapes, name, field));
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
        out.push_str("\nFurther fields are allowed.\n");
    }
}

fn operation(out: &mut String, shapes: &mut Shapes, row: &Row) {
    let kind = match row.kind {
        Kind::Write => "writes",
        Kind::Read => "reads",
        Kind::Stream => "streams",
    };
    let doors = row.doors.iter().map(|door| match door {
        Door::CommandLine => "command line".to_owned(),
        Door::Rpc(method) => format!("JSON-RPC `{method}`"),
        Door::Mcp => "MCP".to_owned(),
        Door::Http => "HTTP".to_owned(),
    });
    let doors = doors.collect::<Vec<_>>().join(", ");
    let verb = row.verb.map(|verb| format!("; verb `{verb}`")).unwrap_or_default();
    let _ = write!(out, "\n### {}\n\n{}. ({kind}{verb}; {doors})\n\nInput:\n", row.name, row.help);
    row.name.clone_into(&mut shapes.owner);
    fields(out, shapes, (row.input)().as_value());
    out.push_str("\nOutput:\n");
    fields(out, shapes, (row.output)().as_value());
}

fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    let mut shapes = Shapes::default();
    let group = |row: &Row| row.name.split_once('.').map_or("others", |(group, _)| group);
    let mut groups: Vec<&str> = Vec::new();
    for row in TABLE {
        if !groups.contains(&group(row)) {
            groups.push(group(row));
        }
    }
    groups.sort_by_key(|name| *name == "others");
    for name in groups {
        let _ = write!(out, "\n## {name}\n");
        let own = TABLE.iter().filter(|row| group(row) == name);
        own.for_each(|row| operation(&mut out, &mut shapes, row));
    }
    out.push_str("\n## Shapes\n");
    let mut at = 0;
    while let Some((name, schema)) = shapes.known.get(at).cloned() {
        let _ = write!(out, "\n### {name}\n");
        shapes.owner = name;
        fields(&mut out, &mut shapes, &schema);
        at += 1;
    }
    out
}

/// Compares a recorded file of the reference with what the code says, or writes it.
fn is_recorded(name: &str, wanted: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("COMITY_BLESS").is_some() {
        std::fs::write(&file, wanted).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == wanted, "run COMITY_BLESS=1 cargo test -p comity-engine operations_page");
}

#[test]
fn the_page_of_operations_is_the_table_of_the_code() {
    is_recorded("operations.md", &page());
}

#[test]
fn operations_page_of_http_is_the_document_that_the_server_has() {
    is_recorded("openapi.json", &format!("{:#}\n", comity_api::openapi()));
}

/// The document of HTTP has the schemas of all other operations.
#[test]
fn operations_page_of_schemas_has_every_operation_that_http_does_not_have() {
    let in_document = |row: &&Row| row.doors.contains(&Door::Http) && row.kind != Kind::Stream;
    let schemas = TABLE.iter().filter(|row| !in_document(row)).map(|row| {
        let both = json!({"input": (row.input)().to_value(), "output": (row.output)().to_value()});
        (row.name.to_owned(), both)
    });
    let schemas: Map<String, Value> = schemas.collect();
    assert!(schemas.contains_key("task.land") && !schemas.contains_key("task.show"));
    is_recorded("schemas.json", &format!("{:#}\n", Value::Object(schemas)));
}

#[test]
fn the_document_names_every_operation_of_http_and_resolves_its_references() {
    let document = comity_api::openapi();
    let text = document.to_string();
    let http = TABLE.iter().filter(|row| row.doors.contains(&Door::Http));
    for row in http.filter(|row| row.kind != Kind::Stream) {
        assert!(text.contains(&format!("\"operationId\":\"{}", row.name)), "{}", row.name);
    }
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
