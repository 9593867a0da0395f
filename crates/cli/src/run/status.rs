//! `comity status`

use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::refusal::Refusal;
use comity_engine::Query;
use serde_json::{Map, Value, json};

pub(super) fn run(context: &Context) -> Result<Reply, Refusal> {
    let answer = context.query(Query::Status)?;
    let mut out = Map::new();
    out.insert("root".to_owned(), json!(context.root.dir.display().to_string()));
    out.insert("store".to_owned(), json!(context.store_url()));
    out.insert("repo".to_owned(), json!(context.repo.as_str()));
    out.insert("me".to_owned(), json!(context.actor.as_str()));
    if let Value::Object(fields) = answer {
        out.extend(fields);
    }
    Ok(Reply::new(Value::Object(out), Shape::Status))
}
