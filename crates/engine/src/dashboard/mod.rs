//! What the pages of the dashboard show, computed from one snapshot and the folded log.

mod cards;
mod crew;
mod flow;
mod history;
mod inbox;
mod lanes;
mod panel;
mod scene;
mod together;
mod tree;
mod verbs;

pub use together::one_inbox;

use crate::fold::Look;
use crate::read::Reader;
use crate::service::Memo;
use comity_api::{At, Life, Mark};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::CheckState;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::GateView;

/// A day.
pub(crate) const DAY: Millis = Millis::from_secs(86_400);

/// Returns the column of the board that a status belongs to.
pub(crate) fn column(status: Status) -> &'static str {
    match status {
        Status::Queued => "queued",
        Status::Claimed | Status::InProgress | Status::ChangesRequested => "working",
        Status::Review => "review",
        Status::Approved | Status::Merging => "approved",
        Status::Blocked | Status::Failed => "blocked",
        Status::Done => "done",
        Status::Abandoned => "abandoned",
    }
}

/// Columns of the board with their titles, from left to right.
pub(crate) const COLUMNS: [(&str, &str); 6] = [
    ("queued", "Queued"),
    ("working", "Working"),
    ("review", "Review"),
    ("approved", "Approved"),
    ("blocked", "Blocked"),
    ("done", "Done"),
];

/// Says how far the evidence of a gate goes.
pub(crate) fn mark(gate: &GateView) -> Mark {
    let mark = match gate.state {
        CheckState::Open => "open",
        CheckState::Failed => "failed",
        CheckState::Waived => "waived",
        CheckState::Met => gate.tier.as_deref().unwrap_or("claimed"),
    };
    Mark { name: gate.name.clone(), mark: mark.to_owned() }
}

/// Describes a grant that ends at a time without a further sign of life.
pub(crate) fn life(expires_at: Timestamp, ttl: Millis, now: Timestamp) -> Life {
    let last_seen = Timestamp::from_ms(expires_at.ms().saturating_sub(ttl.ms()));
    let silent = comity_core::attention::is_half_gone(last_seen, expires_at, now);
    Life { last_seen, ttl_seconds: ttl.secs_ceil(), expires_at, silent }
}

/// Says how long something took, as people say it.
pub(crate) fn age(length: Millis) -> String {
    let minutes = length.ms() / 60_000;
    match (minutes / 1_440, minutes / 60, minutes % 60) {
        (0, 0, 0) => format!("{} s", length.ms() / 1_000),
        (0, 0, minutes) => format!("{minutes} m"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} m"),
        (days, _, _) => format!("{days} d"),
    }
}

impl<'a> Reader<'a> {
    /// Looks at the past up to this snapshot.
    pub(crate) fn fold(&mut self) -> Result<Look<'a>, Refusal> {
        let memo: &'a Memo = self.memo;
        memo.folds.look(self.tx)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.facts.moment.now
    }

    pub(crate) fn at(&self) -> Option<At> {
        self.memo.at
    }

    pub(crate) fn seq(&self) -> u64 {
        self.facts.head.seq.0
    }
}
