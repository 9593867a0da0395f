//! Answers of what takes more than one transaction, such as an import: they are remembered under the caller's key as
//! those of single commands are, once all of it is done. What is interrupted before is begun again.

use crate::batch::{first_answer, open_facts, settle};
use crate::caller::Caller;
use crate::intake::safe_key;
use crate::service::Service;
use comity_core::chain::Hash;
use comity_core::command::Command;
use comity_core::decide::check_input;
use comity_core::facts::{Facts, Saved};
use comity_core::refusal::{Code, Refusal};
use comity_store::{Changes, ReadTx, Rows};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// A key and what it stands for.
#[derive(Clone)]
pub struct Keyed {
    caller: Caller,
    key: String,
    input: Hash,
}

impl Keyed {
    /// Binds a key to what the caller gave.
    pub fn new(caller: Caller, key: &str, input: &str) -> Result<Keyed, Refusal> {
        let keyed = Caller { key: Some(key.to_owned()), ..caller.clone() };
        check_input(&keyed.request(Command::Heartbeat))?;
        let input = Hash::of(format!("{}\n{input}", caller.repo).as_bytes());
        Ok(Keyed { caller, key: safe_key(key.to_owned()), input })
    }

    fn first(
        &self,
        tx: &mut (impl ReadTx + ?Sized),
        facts: &mut Facts,
    ) -> Result<Option<String>, Refusal> {
        let saved =
            settle(tx, facts, |facts| Ok(facts.saved(&self.caller.actor, &self.key)?.cloned()))?;
        saved.map(|saved| first_answer(&saved, &self.key, Some(self.input))).transpose()
    }
}

impl Service {
    /// Returns the answer that was given under the key before.
    pub fn remembered<T: DeserializeOwned>(&self, keyed: &Keyed) -> Result<Option<T>, Refusal> {
        let first = self.read_stored(|tx| {
            let mut facts = open_facts(tx, &self.settings().policy, 0)?;
            keyed.first(tx, &mut facts)
        })?;
        if first.is_some() {
            self.with_store(|store| match store.may_have_standbys() {
                true => Ok(store.write()?.confirm()?),
                false => Ok(()),
            })?;
        }
        first.as_deref().map(read).transpose()
    }

    /// Remembers an answer; returns the one that counts, which is the first.
    pub fn remember<T: Serialize + DeserializeOwned>(
        &self,
        keyed: &Keyed,
        answer: T,
    ) -> Result<T, Refusal> {
        let text = serde_json::to_string(&answer)
            .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))?;
        let (policy, keyed) = (self.settings().policy.clone(), keyed.clone());
        let first = self.with_store(move |store| {
            let mut tx = store.write()?;
            let mut facts = open_facts(tx.as_mut(), &policy, 0)?;
            if let Some(first) = keyed.first(tx.as_mut(), &mut facts)? {
                tx.confirm()?;
                return Ok(Some(first));
            }
            let saved = Saved { input: keyed.input, answer: text, at: facts.moment.now };
            let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
            tx.commit(Changes {
                events: &[],
                rows: Rows { facts: &facts, dirty: &dirty, due: &due },
                presence: &[],
                saved: &[(keyed.caller.actor.clone(), keyed.key.clone(), saved)],
                kept: &[],
            })?;
            Ok(None)
        })?;
        first.as_deref().map_or(Ok(answer), read)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|error| {
        Refusal::new(Code::Internal, format!("a remembered answer does not read: {error}"))
    })
}
