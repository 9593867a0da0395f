//! Operations that answer with one output after the other: handlers of the rows that are streams.

use crate::caller::Caller;
use crate::far::Whereabouts;
use crate::service::Service;
use comity_api::{EventView, Operation, TailEvents, op};
use comity_core::ids::Seq;
use comity_core::refusal::Refusal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the outputs of a stream go; it answers whether it wants more. It must not block.
pub type Sink<T> = Box<dyn FnMut(&T) -> bool + Send>;

/// Answers one operation that is a stream.
pub trait StreamHandler<O: Operation> {
    /// Hands each output to the sink until the sink wants no more, `stop` is told, or the service ends. A service for
    /// one caller does this on the caller's thread and returns at the end; a started one returns at once.
    fn stream(
        &self,
        caller: &Caller,
        input: O::Input,
        sink: Sink<O::Output>,
        stop: &Stop,
    ) -> Result<(), Refusal>;
}

/// Ends a stream from another thread. Clones share it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Told>);

#[derive(Default)]
struct Told {
    is_told: AtomicBool,
    /// Wakes who sleeps until something is committed.
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl Stop {
    /// Ends the stream: nothing is handed to its sink afterwards, but for what is under way.
    pub fn stop(&self) {
        self.0.is_told.store(true, Ordering::SeqCst);
        if let Some(wake) = &*self.0.wake.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }

    pub fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::SeqCst)
    }

    pub(crate) fn wakes(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *self.0.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }
}

impl StreamHandler<op::EventTail> for Service {
    fn stream(
        &self,
        caller: &Caller,
        input: TailEvents,
        mut sink: Sink<EventView>,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        if let Some(far) = self.far() {
            return far.follow(input.from, &mut sink, stop);
        }
        let after = match input.from {
            Some(seq) => Seq(seq.saturating_sub(1)),
            None => self.read_stored(|tx| Ok(tx.head()?.seq))?,
        };
        if self.hub().is_none() {
            return self.tail(caller, after, &mut sink, stop);
        }
        self.follow(caller, after, sink, stop.clone())
    }
}
