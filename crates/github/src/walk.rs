//! Random walks on both sides: a task moves here, people move its issue there, and passes bring both together.

use crate::desired::{Around, Standing, applied, shown, steps};
use crate::inbound::{Asked, Look};
use crate::model::{IssueEvent, Label, User};
use crate::rows::IssueRow;
use crate::sync::shows_alike;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_protocol::labels::{Dialect, Issue};
use proptest::prelude::*;

const STEPS: usize = 200;
/// Both sides are equal after so many passes.
const PASSES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// The task moves to one of the states that may follow.
    Here(usize),
    /// Somebody sets a word, or removes one.
    Label(usize),
    Unlabel(usize),
    Close(bool),
    Reopen,
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..8).prop_map(Step::Here),
        2 => (0usize..8).prop_map(Step::Label),
        1 => (0usize..8).prop_map(Step::Unlabel),
        1 => any::<bool>().prop_map(Step::Close),
        1 => Just(Step::Reopen),
        3 => Just(Step::Pass),
    ]
}

struct Sides {
    dialect: Dialect,
    status: Status,
    row: IssueRow,
    labels: Vec<String>,
    closed: bool,
    not_planned: bool,
    events: Vec<IssueEvent>,
    writes: Vec<String>,
}

impl Sides {
    fn new(dialect: Dialect) -> Sides {
        let word = dialect.mark(Status::Queued).word.unwrap_or_default().to_owned();
        let labels = vec![word, "bug".to_owned()];
        let mut row = IssueRow { task: Some("T1".to_owned()), ..IssueRow::default() };
        row.seen.labels.clone_from(&labels);
        row.seen.updated_at = "seen".to_owned();
        Sides {
            dialect,
            status: Status::Queued,
            row,
            labels,
            closed: false,
            not_planned: false,
            events: Vec::new(),
            writes: Vec::new(),
        }
    }

    fn happened(&mut self, by: &str, event: &str, label: &str) {
        let id = self.events.len() as u64 + 1;
        self.events.push(IssueEvent {
            id,
            event: event.to_owned(),
            actor: User { login: by.to_owned() },
            label: Label { name: label.to_owned(), ..Label::default() },
            created_at: String::new(),
        });
    }

    fn label(&mut self, by: &str, word: &str) {
        if !self.labels.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            self.labels.push(word.to_owned());
            self.happened(by, "labeled", word);
        }
    }

    fn unlabel(&mut self, by: &str, word: &str) {
        if self.labels.iter().any(|known| known == word) {
            self.labels.retain(|known| known != word);
            self.happened(by, "unlabeled", word);
        }
    }

    fn set_state(&mut self, by: &str, state: Issue) {
        let closed = state != Issue::Open;
        if closed != self.closed {
            (self.closed, self.not_planned) = (closed, state == Issue::NotPlanned);
            self.happened(by, if closed { "closed" } else { "reopened" }, "");
        }
    }

    fn walk(&mut self, step: &Step) {
        let words: Vec<String> = self.dialect.words().into_iter().map(str::to_owned).collect();
        match step {
            Step::Here(n) => {
                let next = self.status.next();
                if let Some(to) = next.get(n % next.len().max(1)) {
                    self.status = *to;
                }
            }
            Step::Label(n) => self.label("ann", &words[n % words.len()]),
            Step::Unlabel(n) => self.unlabel("ann", &words[n % words.len()]),
            Step::Close(not_planned) => {
                let state = if *not_planned { Issue::NotPlanned } else { Issue::Completed };
                self.set_state("ann", state);
            }
            Step::Reopen => self.set_state("ann", Issue::Open),
            Step::Pass => self.pass(),
        }
    }

    /// What `sync` does, with rules that refuse whatever needs eyes or gates.
    fn pass(&mut self) {
        let before = self.row.seen.clone();
        self.row.seen.labels.clone_from(&self.labels);
        (self.row.seen.closed, self.row.seen.not_planned) = (self.closed, self.not_planned);
        self.row.left_closed &= self.closed;
        self.row.moved |= !shows_alike(&self.dialect, &before, &self.row.seen);
        let dialect = self.dialect.clone();
        let around = Around {
            dialect: &dialect,
            now: Timestamp::from_ms(1),
            ttl: Millis::from_secs(1),
            max_attempts: 3,
            assignee: None,
            reviewer: None,
        };
        let standing = |status| Standing { status, is_expected_back: false, attempts: 3 };
        let row = self.row.clone();
        let look = Look {
            dialect: &dialect,
            shown: shown(standing(self.status), &row, &around),
            known: self.status,
            code: true,
            row: &row,
        };
        if look.differs() && row.moved {
            let asked = look.asked(&self.events, &|event| event.actor.login == "bot");
            let refused = |status: &Status| {
                matches!(status, Status::Review | Status::Done | Status::Approved | Status::Merging)
            };
            match asked {
                Asked::Wish { wish, .. } if !wish.steps.iter().any(refused) => {
                    for to in &wish.steps {
                        assert!(self.status.may_become(*to), "{} -> {to}", self.status);
                        self.status = *to;
                    }
                }
                Asked::Wish { .. } | Asked::Refused { .. } => {
                    self.row.left_closed = self.closed && !self.status.is_finished();
                }
                Asked::Nothing | Asked::Stale => {}
            }
            self.row.event = self.events.len() as u64;
        }
        self.row.moved = false;
        let wanted = steps(standing(self.status), &self.row, &around);
        for label in &wanted.add {
            self.label("bot", label);
            self.writes.push(format!("+{label}"));
        }
        for label in &wanted.remove {
            self.unlabel("bot", label);
            self.writes.push(format!("-{label}"));
        }
        if let Some(state) = wanted.state {
            self.set_state("bot", state);
            self.writes.push(format!("{state:?}"));
        }
        applied(&mut self.row, &wanted);
    }

    fn is_equal(&self) -> bool {
        let mark = self.dialect.mark(self.status);
        let words = self.dialect.states_in(&self.labels);
        let same = match (mark.word, words.as_slice()) {
            (Some(word), [only]) => word.eq_ignore_ascii_case(only),
            (None, []) => true,
            _ => false,
        };
        let closed = (mark.issue != Issue::Open) == self.closed || self.row.left_closed;
        same && closed
    }
}

#[expect(clippy::disallowed_methods, reason = "the environment says how long tests may take")]
fn cases() -> u32 {
    if std::env::var_os("COMITY_LONG").is_some() { 10_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_sides_end_equal_in_three_passes_and_no_word_flips(
        dialect in prop_oneof![Just(Dialect::neo()), Just(Dialect::ace())],
        steps in proptest::collection::vec(step(), 1..STEPS),
    ) {
        let mut sides = Sides::new(dialect);
        for step in &steps {
            sides.walk(step);
        }
        sides.writes.clear();
        for _ in 0..PASSES {
            sides.pass();
        }
        prop_assert!(sides.is_equal(), "{} {:?} closed {}", sides.status, sides.labels, sides.closed);
        prop_assert!(sides.labels.contains(&"bug".to_owned()), "foreign labels are untouched");
        for (place, write) in sides.writes.iter().enumerate() {
            prop_assert!(!sides.writes[..place].contains(write), "{write} twice: {:?}", sides.writes);
        }
        let done = sides.writes.len();
        sides.pass();
        prop_assert_eq!(sides.writes.len(), done, "a pass without news writes nothing");
    }
}
