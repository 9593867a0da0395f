//! A store that another process has open: operations are sent to it, and its answers are ours.

use crate::caller::Caller;
use crate::observer::Answered;
use crate::service::{Service, Settings};
use crate::stream::Stop;
use comity_api::{EventView, Operation, Row};
use comity_core::brief::NewsItem;
use comity_core::refusal::{Code, Refusal};
use comity_store::{ReadTx, Reader, Store, StoreError, Watch, WriteTx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Carries operations to a server.
pub trait Far: Send + Sync {
    /// Calls an operation by its row, with JSON in and JSON out.
    fn call(
        &self,
        row: &'static Row,
        caller: &Caller,
        input: Value,
    ) -> Result<Answered<Value>, Refusal>;

    /// Hands every event from a place on to a sink, until the sink wants no more.
    fn follow(
        &self,
        from: Option<u64>,
        sink: &mut dyn FnMut(&EventView) -> bool,
        stop: &Stop,
    ) -> Result<(), Refusal>;

    fn url(&self) -> String;

    /// Returns what was new for the caller in the answers so far, once.
    fn news(&self) -> Vec<NewsItem> {
        Vec::new()
    }
}

/// Who answers operations, here or there.
pub trait Whereabouts {
    /// Returns the server that answers instead, if there is one.
    fn far(&self) -> Option<&Arc<dyn Far>> {
        None
    }
}

impl Whereabouts for Service {
    fn far(&self) -> Option<&Arc<dyn Far>> {
        self.memo().far.as_ref()
    }
}

/// Sends an operation to the server that answers instead; none where there is no such server.
pub fn far_call<O>(
    of: &dyn Whereabouts,
    caller: &Caller,
    input: &O::Input,
) -> Option<Result<Answered<O::Output>, Refusal>>
where
    O: Operation,
    O::Input: Serialize,
    O::Output: DeserializeOwned,
{
    let far = of.far()?;
    let bad = |error: serde_json::Error| {
        Refusal::new(Code::Internal, format!("an answer of the server: {error}"))
    };
    let sent = serde_json::to_value(input).map_err(bad);
    Some(sent.and_then(|input| far.call(O::ROW, caller, input)).and_then(|answered| {
        let Answered { output, remarks } = answered;
        Ok(Answered { output: serde_json::from_value(output).map_err(bad)?, remarks })
    }))
}

impl Service {
    /// Makes a service whose operations a server answers.
    pub fn over(far: Arc<dyn Far>, settings: Settings) -> Result<Service, Refusal> {
        Service::elsewhere(Box::new(Nowhere(far.url())), settings, far)
    }
}

/// The store of somebody else: whatever is no operation is refused.
struct Nowhere(String);

impl Nowhere {
    fn refused<T>(&self) -> Result<T, StoreError> {
        let text = format!("only a process on its own host opens it; this one asks {}", self.0);
        Err(StoreError::other("cannot open the store itself", text))
    }
}

impl Reader for Nowhere {
    fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        self.refused()
    }
}

impl Store for Nowhere {
    fn write(&mut self) -> Result<Box<dyn WriteTx + '_>, StoreError> {
        self.refused()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.refused()
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreError> {
        self.refused()
    }

    fn close(&mut self, _: Option<&str>) -> Result<(), StoreError> {
        self.refused()
    }

    fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        self.refused()
    }

    fn url(&self) -> String {
        self.0.clone()
    }
}
