//! Answers of what takes more than one transaction, such as an import: they are remembered under the caller's key as
//! those of single commands are, once all of it is done. What is interrupted before is begun again.

use crate::batch::{first_answer, open_facts, settle};
use crate::engine::{Asker, Engine};
use comity_core::chain::Hash;
use comity_core::command::{Command, Request};
use comity_core::decide::check_input;
use comity_core::facts::{Facts, Saved};
use comity_core::refusal::Refusal;
use comity_store::{Changes, ReadTx, Rows};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A key and what it stands for.
#[derive(Clone, Debug)]
pub struct Keyed {
    asker: Asker,
    key: String,
    input: Hash,
}

impl Keyed {
    /// Binds a key to what the caller gave.
    pub fn new(asker: Asker, key: &str, input: &str) -> Result<Keyed, Refusal> {
        check_input(&Request {
            actor: asker.actor.clone(),
            repo: asker.repo.clone(),
            fence: None,
            key: Some(key.to_owned()),
            host: None,
            workspace: None,
            command: Command::Heartbeat,
        })?;
        let input = Hash::of(format!("{}\n{input}", asker.repo).as_bytes());
        Ok(Keyed { asker, key: key.to_owned(), input })
    }

    fn first(
        &self,
        tx: &mut (impl ReadTx + ?Sized),
        facts: &mut Facts,
    ) -> Result<Option<Value>, Refusal> {
        let saved =
            settle(tx, facts, |facts| Ok(facts.saved(&self.asker.actor, &self.key)?.cloned()))?;
        saved.map(|saved| first_answer(&saved, &self.key, Some(self.input))).transpose()
    }
}

impl Engine {
    /// Returns the answer that was given under the key before.
    pub fn remembered(&mut self, keyed: &Keyed) -> Result<Option<Value>, Refusal> {
        let mut tx = self.store.read()?;
        let mut facts = open_facts(tx.as_mut(), &self.settings.policy, 0)?;
        keyed.first(tx.as_mut(), &mut facts)
    }

    /// Remembers an answer; returns the one that counts, which is the first.
    pub fn remember(&mut self, keyed: &Keyed, answer: Value) -> Result<Value, Refusal> {
        let mut tx = self.store.write()?;
        let mut facts = open_facts(tx.as_mut(), &self.settings.policy, 0)?;
        if let Some(first) = keyed.first(tx.as_mut(), &mut facts)? {
            return Ok(first);
        }
        let saved = Saved { input: keyed.input, answer: answer.to_string(), at: facts.moment.now };
        let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
        tx.commit(Changes {
            events: &[],
            rows: Rows { facts: &facts, dirty: &dirty, due: &due },
            presence: &[],
            saved: &[(keyed.asker.actor.clone(), keyed.key.clone(), saved)],
        })?;
        Ok(answer)
    }
}
