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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Token;
    use crate::client::{Client, Method, Trouble};
    use comity_core::refusal::Code;
    use comity_engine::Settings;
    use comity_store::SystemClock;
    use comity_store::memory::MemoryStore;
    use std::sync::Arc;

    fn service() -> Service {
        let store = MemoryStore::new(Arc::new(SystemClock));
        Service::inline(Box::new(store), Settings::default()).unwrap()
    }

    #[test]
    fn two_projects_of_an_account_write_one_after_the_other() {
        let service = service();
        let pace = Pace { between: Millis::from_secs(60), floors: false };
        let shared = || Shared::new(service.clone(), "ledger/x/bot".to_owned());
        let (mut one, mut two) = (Ledger::default(), Ledger::default());
        assert_eq!(shared().take(&mut one, pace, false).unwrap().ms(), 0);
        let wait = shared().take(&mut two, pace, false).unwrap();
        assert!(wait.ms() > 50_000, "the other one wrote just now: {wait}");
        one.told(Some(4_000), Some(5_000), Some(9_000_000_000));
        shared().save(&mut one).unwrap();
        shared().save(&mut two).unwrap();
        let both = shared().read().unwrap();
        assert_eq!(
            (both.writes.len(), both.remaining),
            (1, Some(4_000)),
            "neither writes over the other"
        );
    }

    #[test]
    fn whoever_lost_the_turn_writes_no_more() {
        let service = service();
        let turn = Turn::of_host("here", service.clone());
        let mut shared = Shared::new(service.clone(), "ledger/x/bot".to_owned());
        assert!(turn.keep().is_ok());
        // The machine slept for a while; meanwhile another one took over.
        turn.forget_when_kept();
        let other = Turn::of_host("there", service);
        other.take_over();
        shared.hold(turn);
        let token = Token::Fixed("t".to_owned());
        let mut client = Client::new("http://127.0.0.1:1", token, Millis::from_ms(0)).unwrap();
        client.shared = Some(shared);
        let done = client.send(Method::Post, "/repos/a/b/issues", None, true);
        assert!(
            matches!(&done, Err(Trouble::Here(refusal)) if refusal.code == Code::SyncBusy),
            "{done:?}"
        );
        assert_eq!(client.counts.writes, 0);
    }
}
