//! Parameters of a call, by name.

use super::methods::Failure;
use comity_core::ids::AgentId;
use serde_json::{Map, Value};

pub struct Params(pub Map<String, Value>);

impl Params {
    /// Returns a text that has to be there.
    pub fn text(&self, key: &str) -> Result<String, Failure> {
        match self.0.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            None | Some(Value::Null) => {
                Err(Failure::input(format!("the parameter '{key}' is missing")))
            }
            Some(_) => Err(Failure::input(format!("the parameter '{key}' is not a text"))),
        }
    }

    /// Returns a text that may be left out; an empty one counts as left out.
    pub fn optional(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(key).map(|text| Some(text).filter(|text| !text.is_empty())),
        }
    }

    /// Returns a list of texts that may be left out.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Failure> {
        let bad = || Failure::input(format!("the parameter '{key}' is not a list of texts"));
        let list = match self.0.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(bad()),
        };
        list.iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(bad))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Returns an agent that has to be named.
    pub fn agent(&self, key: &str) -> Result<AgentId, Failure> {
        AgentId::parse(&self.text(key)?).map_err(Failure::from)
    }
}
