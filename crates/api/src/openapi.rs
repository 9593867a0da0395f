//! The OpenAPI document, made of the table of operations.

use crate::route::{Method, routes};
use crate::table::{Kind, Row};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Returns the whole document.
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let path = format!("/api/v1/{}", route.path);
        let operation = operation(&mut schemas, route.row, route.method, &route.path);
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    let session = schemas.subschema_for::<crate::pages::SessionAnswer>();
    paths.insert("/api/v1/session".to_owned(), session_item(&session));
    paths.insert("/api/v1/events/stream".to_owned(), stream_item(&mut schemas));
    token_items(&mut schemas, &mut paths);
    paths.sort_keys();
    let mut components: Map<String, Value> = schemas.take_definitions(true);
    components.insert("Refused".to_owned(), refused());
    components.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "comity",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every operation of comity over HTTP.",
        },
        "security": [{"token": []}, {"cookie": []}, {}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "comity_4180"},
            },
        },
    })
}

fn operation(schemas: &mut SchemaGenerator, row: &Row, method: Method, path: &str) -> Value {
    let (input, output) = (row.describe)(schemas);
    let mut parameters = Vec::new();
    if path.contains("{id}") {
        parameters.push(json!({"name": "id", "in": "path", "required": true,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200}}));
    }
    parameters.push(repo());
    let id = format!("{}{}", row.name, if path.contains("{id}") { ".one" } else { "" });
    let id =
        if method == Method::Post && row.kind == Kind::Read { format!("{id}.post") } else { id };
    let mut operation = json!({
        "operationId": id,
        "summary": row.help,
        "tags": [row.name.split('.').next().unwrap_or_default()],
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": output}}},
            "304": {"description": "Nothing has changed."},
            "default": {
                "description": "A refusal.",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Refused"}}},
            },
        },
    });
    if row.kind == Kind::Read {
        parameters.push(json!({"name": "at", "in": "query", "schema": {"type": "string"},
            "description": "A seq or a time: the answer as it was then."}));
    }
    if method == Method::Get {
        parameters.extend(fields(row));
    } else {
        operation["requestBody"] =
            json!({"content": {"application/json": {"schema": body(row, &input, path)}}});
    }
    if row.kind == Kind::Write {
        parameters.push(json!({"name": "dry_run", "in": "query", "schema": {"type": "boolean"},
            "description": "Decide, and change nothing."}));
        for (name, what) in [
            ("Idempotency-Key", "The same key gives the first answer again."),
            ("If-Match", "The version of the task that the caller has seen."),
            ("Comity-Fence", "The grant that the call is made under."),
            ("Comity-CSRF", "Beside a cookie."),
        ] {
            parameters.push(json!({"name": name, "in": "header", "schema": {"type": "string"},
                "description": what}));
        }
    }
    operation["parameters"] = Value::Array(parameters);
    operation
}

/// Describes the body; the id is in the address.
fn body(row: &Row, input: &Schema, path: &str) -> Value {
    if !path.contains("{id}") {
        return input.clone().to_value();
    }
    let mut schema = (row.input)().to_value();
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.remove("id");
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != "id");
    }
    schema
}

/// Describes the fields of an input as parameters of an address.
fn fields(row: &Row) -> Vec<Value> {
    let schema = (row.input)().to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    let all = properties.into_iter().flatten().filter(|(name, _)| *name != "id");
    all.map(|(name, schema)| {
        let mut schema = schema.clone();
        // An address has no null: what is absent is left out.
        if let Some(Value::Array(types)) = schema.get("type").cloned() {
            let plain: Vec<Value> = types.into_iter().filter(|kind| kind != "null").collect();
            schema["type"] = plain.first().cloned().unwrap_or_default();
        }
        json!({"name": name, "in": "query", "schema": schema})
    })
    .collect()
}

/// The project that a request is about, where a server has several.
fn repo() -> Value {
    json!({"name": "repo", "in": "query", "schema": {"type": "string"}})
}

fn session_item(session: &Schema) -> Value {
    let answer = json!({"description": "The session.", "content": {"application/json": {"schema": session}}});
    let refusal = json!({"description": "A refusal.", "content": {"application/problem+json":
        {"schema": {"$ref": "#/components/schemas/Refused"}}}});
    let responses = json!({"200": answer, "default": refusal});
    let key = json!({"type": "object", "required": ["key"], "additionalProperties": false,
        "properties": {"key": {"type": "string"}}});
    json!({
        "parameters": [repo()],
        "get": {"operationId": "session.show", "summary": "Show the session of the cookie", "responses": responses},
        "post": {
            "operationId": "session.open",
            "summary": "Change the key of a link for a session",
            "requestBody": {"required": true, "content": {"application/json": {"schema": key}}},
            "responses": responses,
        },
        "delete": {"operationId": "session.close", "summary": "End the session", "responses": responses},
    })
}

/// Describes the tokens, which are kept beside the store and have no rows.
fn token_items(schemas: &mut SchemaGenerator, paths: &mut Map<String, Value>) {
    let one = schemas.subschema_for::<crate::pages::TokenAnswer>();
    let all = schemas.subschema_for::<crate::pages::TokensAnswer>();
    let new = schemas.subschema_for::<crate::pages::NewTokenInput>();
    let responses = |schema: &Schema| {
        json!({
            "200": {"description": "The answer.", "content": {"application/json": {"schema": schema}}},
            "default": {"description": "A refusal.", "content": {"application/problem+json":
                {"schema": {"$ref": "#/components/schemas/Refused"}}}},
        })
    };
    let csrf = json!({"name": "Comity-CSRF", "in": "header", "schema": {"type": "string"},
        "description": "Beside a cookie."});
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    paths.insert("/api/v1/tokens".to_owned(), json!({
        "parameters": [repo()],
        "get": {"operationId": "token.list", "summary": "List the tokens; only a person may", "responses": responses(&all)},
        "post": {
            "operationId": "token.create",
            "summary": "Make a token for an agent, and show it once; only a person may",
            "parameters": [csrf],
            "requestBody": {"required": true, "content": {"application/json": {"schema": new}}},
            "responses": responses(&one),
        },
    }));
    paths.insert(
        "/api/v1/tokens/{id}/revoke".to_owned(),
        json!({
            "parameters": [repo()],
            "post": {
                "operationId": "token.revoke",
                "summary": "End a token; only a person may",
                "parameters": [id, csrf],
                "responses": responses(&one),
            },
        }),
    );
}

fn stream_item(schemas: &mut SchemaGenerator) -> Value {
    let messages = json!({
        "cards": schemas.subschema_for::<crate::pages::CardsMessage>(),
        "log": schemas.subschema_for::<crate::output::EventView>(),
        "presence": schemas.subschema_for::<crate::pages::PresenceMessage>(),
        "reset": schemas.subschema_for::<crate::pages::ResetMessage>(),
    });
    json!({"get": {
        "operationId": "event.stream",
        "summary": "Follow the log as it grows",
        "parameters": [
            repo(),
            {"name": "from", "in": "query", "schema": {"type": "integer", "minimum": 0}},
            {"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer", "minimum": 0}},
        ],
        "responses": {
            "200": {
                "description": "Server-sent events. `x-messages` has the data of each kind.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
                "x-messages": messages,
            },
            "default": {"description": "A refusal.", "content": {"application/problem+json":
                {"schema": {"$ref": "#/components/schemas/Refused"}}}},
        },
    }})
}

fn refused() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "detail", "hint", "details", "links"],
        "properties": {
            "type": text, "title": text, "status": {"type": "integer"},
            "code": text, "detail": text, "hint": text, "details": {"type": "object"},
            "next": {"type": "array", "description": "The hint in pieces, for callers that word it themselves."},
            "links": {"type": "array", "description": "The requests that the hint names, with the operation as their relation.",
                "items": {"type": "object", "required": ["rel", "method", "href", "body"],
                    "properties": {"rel": text, "method": text, "href": text, "body": {"type": "object"}}}},
        },
    })
}
