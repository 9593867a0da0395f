//! The store as it was: the log is replayed up to a place into the model, where all questions are asked as ever.

use crate::service::Service;
use crate::verify::replayed;
use comity_api::At;
use comity_core::hint::Hint;
use comity_core::ids::Seq;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_store::memory::MemoryStore;
use comity_store::{EventQuery, ReadTx};

/// Events that are read at a time.
const PAGE: usize = 2_000;

/// A moment of the past, as a caller names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After the event at this place.
    Seq(u64),
    /// After the last event that was not later than this.
    Time(Timestamp),
}

impl Moment {
    /// Reads a seq or an RFC 3339 time.
    pub fn parse(text: &str) -> Result<Moment, Refusal> {
        let seq = text.parse().ok().map(Moment::Seq);
        seq.or_else(|| Timestamp::parse(text).map(Moment::Time)).ok_or_else(|| {
            let shown = comity_core::ids::shorten(text);
            Refusal::input(format!("{shown:?} is neither a seq nor a time"))
                .hint(Hint::default().mention("at").say(" takes 481 or 2026-11-18T14:02:00Z"))
        })
    }
}

impl Service {
    /// Returns the store as it was at a moment. It can be read; what is written there is thrown away with it.
    pub fn at(&self, moment: Moment) -> Result<Service, Refusal> {
        let found = self.read_stored(|tx| found(tx, moment))?;
        let (events, at) = self.read_stored(|tx| up_to(tx, found))?;
        let state = replayed(&events)?;
        let store = MemoryStore::of_log(events, state, at.ts);
        Service::of_the_past(Box::new(store), self.settings().clone(), at)
    }

    /// Returns the place of a moment in the log.
    pub fn place(&self, moment: Moment) -> Result<u64, Refusal> {
        self.read_stored(|tx| found(tx, moment)).map(|seq| seq.0)
    }

    /// Returns the moment that this service answers for, if it is one of the past.
    pub fn moment(&self) -> Option<At> {
        self.memo().at
    }
}

fn found(tx: &mut dyn ReadTx, moment: Moment) -> Result<Seq, Refusal> {
    let head = tx.head()?.seq;
    let seq = match moment {
        Moment::Seq(seq) if seq > head.0 => {
            let message = format!("the log ends at {head}, before {seq}");
            return Err(Refusal::new(Code::NotFound, message));
        }
        Moment::Seq(seq) => Seq(seq),
        Moment::Time(time) => last_before(tx, time, head)?,
    };
    match seq.0 {
        0 => Err(Refusal::new(Code::NotFound, "the log begins later than that")),
        _ => Ok(seq),
    }
}

/// Finds the last event that is not later than a time. Times only grow along the log, but for a corrected clock.
pub(crate) fn last_before(tx: &mut dyn ReadTx, time: Timestamp, head: Seq) -> Result<Seq, Refusal> {
    let (mut low, mut high) = (0, head.0);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let query = EventQuery { after: Seq(middle - 1), limit: 1, ..EventQuery::default() };
        let is_later = tx.events(&query)?.first().is_none_or(|event| event.ts > time);
        if is_later { high = middle - 1 } else { low = middle }
    }
    Ok(Seq(low))
}

fn up_to(tx: &mut dyn ReadTx, end: Seq) -> Result<(Vec<comity_core::chain::Stored>, At), Refusal> {
    let mut events = Vec::new();
    let mut after = Seq(0);
    while after < end {
        let page = tx.events(&EventQuery { after, limit: PAGE, ..EventQuery::default() })?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        events.extend(page.into_iter().take_while(|event| event.seq <= end));
    }
    let ts = events.last().map(|event| event.ts).unwrap_or_default();
    Ok((events, At { seq: end.0, ts }))
}
