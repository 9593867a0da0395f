//! Where a thing comes from that was made in another system.
//!
//! It is a field of its own and no text: what people write into texts and tags is never taken for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a thing is over there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    pub source: String,
    /// The id in the other system.
    pub item: String,
    /// Fields of the other system that comity has no field for.
    #[serde(default)]
    pub other: Map<String, Value>,
}
