//! What the processes of an account share: whose turn it is, and how much was written.

use crate::client::now;
use crate::quota::{Ledger, Pace};
use crate::rows::ACCOUNTS;
use crate::sync::Turn;
use comity_core::refusal::Refusal;
use comity_core::time::Millis;
use comity_engine::{KeptRows, Service};

pub struct Shared {
    service: Service,
    /// The row of the ledger.
    key: String,
    /// What only one process may do ends where another one took over.
    turn: Option<Turn>,
}

impl Shared {
    pub fn new(service: Service, key: String) -> Shared {
        Shared { service, key, turn: None }
    }

    pub fn hold(&mut self, turn: Turn) {
        self.turn = Some(turn);
    }

    /// Refuses to go on where another process took over.
    pub fn keep_turn(&self) -> Result<(), Refusal> {
        self.turn.as_ref().map_or(Ok(()), Turn::keep)
    }

    pub fn read(&self) -> Result<Ledger, Refusal> {
        Ok(stored(&self.service.kept(ACCOUNTS)?, &self.key))
    }

    /// Takes the next write of the account, if it may be done now; otherwise returns how long it has to wait. Nobody else
    /// takes one in between.
    pub fn take(&self, own: &mut Ledger, pace: Pace, creates: bool) -> Result<Millis, Refusal> {
        self.change(own, move |ledger| ledger.take(now(), pace, creates))
    }

    /// Writes down what was learned, beside what others wrote down.
    pub fn save(&self, own: &mut Ledger) -> Result<(), Refusal> {
        self.change(own, |_| ())
    }

    fn change<T: Send + 'static>(
        &self,
        own: &mut Ledger,
        change: impl FnOnce(&mut Ledger) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (key, known) = (self.key.clone(), own.clone());
        let (ledger, answer) = self.service.change_kept(ACCOUNTS, move |rows| {
            let mut ledger = known.with(&stored(rows, &key));
            let answer = change(&mut ledger);
            (vec![(key, serde_json::to_vec(&ledger).ok())], (ledger, answer))
        })?;
        *own = ledger;
        Ok(answer)
    }
}

fn stored(rows: &KeptRows, key: &str) -> Ledger {
    rows.get(key).and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}
