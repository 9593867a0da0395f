//! Pads, interfaces, changes and messages in the shapes that users and programs hold on to.

use crate::limits::PAD_BYTES_TIDY;
use crate::pad;
use crate::post::{Owner, Post};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PAD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PadView {
    pub scope: String,
    /// Zero while nobody has written to it.
    pub version: u64,
    pub text: String,
    pub sections: Vec<String>,
    pub by: Option<String>,
    pub ts: Option<Timestamp>,
    /// Whether it is so long that somebody should shorten it.
    pub wants_tidying: bool,
}

pub fn pad(scope: &str, post: Option<&Post>) -> PadView {
    let text = post.map(|post| post.text.clone()).unwrap_or_default();
    let names = pad::sections(&text);
    let names = names.iter().map(|it| it.name.to_owned()).filter(|name| !name.is_empty());
    PadView {
        scope: scope.to_owned(),
        version: post.map_or(0, |post| post.version),
        sections: names.collect(),
        by: post.map(|post| post.by.to_string()),
        ts: post.map(|post| post.ts),
        wants_tidying: text.len() > PAD_BYTES_TIDY,
        text,
    }
}

/// INTERFACE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceView {
    pub name: String,
    pub version: u64,
    pub text: String,
    pub paths: Vec<String>,
    /// Who builds against it.
    pub r#for: Vec<String>,
    pub owner: Option<Owner>,
    pub by: String,
    pub task: Option<String>,
    pub ts: Timestamp,
    pub seq: u64,
}

pub fn interface(post: &Post) -> InterfaceView {
    InterfaceView {
        name: post.id.name().to_owned(),
        version: post.version,
        text: post.text.clone(),
        paths: post.paths.clone(),
        r#for: post.to.iter().map(ToString::to_string).collect(),
        owner: post.owner.clone(),
        by: post.by.to_string(),
        task: post.task.as_ref().map(ToString::to_string),
        ts: post.ts,
        seq: post.seq.0,
    }
}

/// MESSAGE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageView {
    pub seq: u64,
    pub from: String,
    pub to: String,
    pub text: String,
    pub ts: Timestamp,
}

pub fn message(post: &Post) -> MessageView {
    MessageView {
        seq: post.seq.0,
        from: post.by.to_string(),
        to: post.to.first().map(ToString::to_string).unwrap_or_default(),
        text: post.text.clone(),
        ts: post.ts,
    }
}
