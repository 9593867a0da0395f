//! What goes wrong on the way to GitHub, said beforehand by a test.

use crate::http::Request;
use std::time::Duration;

/// What happens to one call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection is closed before anything is done.
    Refused,
    /// The call is carried out, and its answer is lost.
    Lost,
    /// The call is not carried out; this status is the answer.
    Before(u16),
    /// The call is carried out; this status is the answer all the same.
    After(u16),
    /// The quota of the hour is used up: nothing is done. The quota comes back after this many seconds; with a number
    /// below zero GitHub names a moment that is past.
    Primary(i64),
    /// GitHub asks for a pause: nothing is done. With seconds, it says how long.
    Secondary(Option<u64>),
    /// Nothing is done, and the answer shows things as they are: GitHub drops some steps without a word.
    Dropped,
    /// The answer comes late.
    Slow(Duration),
    /// A read is answered as the one before it.
    Stale,
}

/// Which calls a rule is about.
#[derive(Clone, Debug)]
pub enum On {
    /// Every call.
    Any,
    /// Every call that may change something.
    Writes,
    /// Every call that only asks.
    Reads,
    /// A method, and a piece of path and query.
    Call(&'static str, String),
}

/// One rule: of the calls that it is about, every n-th has the next fault of the list.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Which calls.
    pub on: On,
    /// Every how many of them.
    pub every: u64,
    /// How often at most.
    pub times: u64,
    /// What happens, one after the other.
    pub faults: Vec<Fault>,
    seen: u64,
    done: u64,
}

impl Rule {
    /// The next call of these has the fault.
    pub fn next(on: On, fault: Fault) -> Rule {
        Rule { on, every: 1, times: 1, faults: vec![fault], seen: 0, done: 0 }
    }

    /// All of these calls have the fault, until the rules are taken away.
    pub fn always(on: On, fault: Fault) -> Rule {
        Rule { times: u64::MAX, ..Rule::next(on, fault) }
    }

    /// Every n-th of these calls has one of the faults.
    pub fn every(every: u64, on: On, faults: Vec<Fault>) -> Rule {
        Rule { on, every, times: u64::MAX, faults, seen: 0, done: 0 }
    }

    /// The fault of this call, if it has one.
    pub(crate) fn of(&mut self, request: &Request) -> Option<Fault> {
        let is_meant = match &self.on {
            On::Any => true,
            On::Writes => request.is_write(),
            On::Reads => !request.is_write(),
            On::Call(method, piece) => request.method == *method && request.target.contains(piece),
        };
        if !is_meant || self.done >= self.times {
            return None;
        }
        self.seen += 1;
        if !self.seen.is_multiple_of(self.every) {
            return None;
        }
        let fault =
            self.faults[usize::try_from(self.done).unwrap_or(0) % self.faults.len()].clone();
        self.done += 1;
        Some(fault)
    }
}
