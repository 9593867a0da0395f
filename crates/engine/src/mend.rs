//! Going on after damage that nothing can undo: a person decides, the log says so, and the state follows the log.

use crate::caller::Caller;
use crate::service::Service;
use comity_core::command::{Command, Mend};
use comity_core::event::EventsLost;
use comity_core::refusal::Refusal;
use comity_core::time::Millis;
use comity_store::Gone;

impl Service {
    /// Returns how far the time of the log is ahead of the store's clock.
    pub fn clock_ahead(&self) -> Result<Millis, Refusal> {
        self.read_stored(|tx| Ok(tx.moment()?.ahead()))
    }

    /// Goes on without events that are gone. The store was opened to do so.
    pub fn accept_loss(&self, caller: &Caller, gone: &Gone) -> Result<(), Refusal> {
        // What the lost events made is taken back first, so that nothing is decided on it.
        self.rebuild()?;
        let (first, last, lost_head) = (gone.first, gone.last, gone.hash.to_string());
        let lost = EventsLost { first, last, lost_head };
        self.execute(caller.request(Command::Mend(Mend::Loss(lost)))).map(drop)
    }

    /// Lets the log go on from the clock's time. Whatever is dated after it counts from it.
    pub fn correct_clock(&self, caller: &Caller) -> Result<(), Refusal> {
        self.execute(caller.request(Command::Mend(Mend::Clock)))?;
        self.rebuild().map(drop)
    }
}
