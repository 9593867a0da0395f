//! The hash chain: hash = SHA-256(prev ‖ header ‖ SHA-256(body)).
//!
//! The body goes in as its own digest, so that a purged body leaves a chain that still verifies.

use crate::event::Placed;
use crate::ids::Seq;
use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt;

/// The one event that may be dated before its predecessor: a person has said that the log was ahead.
pub const CLOCK_CORRECTED: &str = "clock_corrected";

/// A SHA-256 digest, written as lower-case hex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The predecessor of the first event.
    pub const GENESIS: Hash = Hash([0; 32]);

    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Hash> {
        let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
        let bytes = text.as_bytes();
        let mut hash = Hash::GENESIS;
        if bytes.len() != 2 * hash.0.len() {
            return None;
        }
        for (byte, pair) in hash.0.iter_mut().zip(bytes.chunks(2)) {
            let [high, low] = pair else { return None };
            *byte = u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?;
        }
        Some(hash)
    }

    pub fn from_slice(bytes: &[u8]) -> Option<Hash> {
        bytes.try_into().ok().map(Hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        f.write_str(&text)
    }
}

/// The end of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The last event's place; zero when there is none.
    pub seq: Seq,
    pub ts: Timestamp,
    pub hash: Hash,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub seq: Seq,
    pub ts: Timestamp,
    pub event: String,
    /// The version of its fields.
    pub v: u32,
    pub repo: String,
    pub agent: String,
    pub task: Option<String>,
    /// Its fields, byte for byte; none when they were purged.
    pub body: Option<Vec<u8>>,
    /// The digest of the body, which outlives a purge.
    pub body_hash: Hash,
    /// The predecessor's hash.
    pub prev: Hash,
    pub hash: Hash,
}

impl Stored {
    /// Seals an event: encodes its fields and links it to its predecessor.
    pub fn seal(placed: &Placed, prev: Hash) -> Result<Stored, serde_json::Error> {
        let body = placed.draft.encode()?;
        let mut stored = Stored {
            seq: placed.seq,
            ts: placed.ts,
            event: placed.draft.event.name().to_owned(),
            v: crate::event::EVENT_VERSION,
            repo: placed.draft.repo.to_string(),
            agent: placed.draft.agent.to_string(),
            task: placed.draft.task.as_ref().map(ToString::to_string),
            body_hash: Hash::of(&body),
            body: Some(body),
            prev,
            hash: Hash::GENESIS,
        };
        stored.hash = stored.expected_hash(prev);
        Ok(stored)
    }

    /// Computes the hash that this event must have after `prev`.
    pub fn expected_hash(&self, prev: Hash) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(prev.0);
        // None of the fields can hold a line feed, so this cannot be read two ways.
        hasher.update(format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
            self.seq.0,
            self.ts.ms(),
            self.event,
            self.v,
            self.repo,
            self.agent,
            self.task.as_deref().unwrap_or("")
        ));
        hasher.update(self.body_hash.0);
        Hash(hasher.finalize().into())
    }

    pub fn head(&self) -> Head {
        Head { seq: self.seq, ts: self.ts, hash: self.hash }
    }

    /// Says what is wrong with this event as the successor of `prev`, if anything is.
    pub fn problem_after(&self, prev: &Head) -> Option<String> {
        let seq = self.seq;
        if self.seq.0 != prev.seq.0 + 1 {
            return Some(format!(
                "event {} is missing (found {seq} after {})",
                prev.seq.0 + 1,
                prev.seq
            ));
        }
        if self.body.as_ref().is_some_and(|body| Hash::of(body) != self.body_hash) {
            return Some(format!("event {seq}: the fields were changed"));
        }
        if self.expected_hash(prev.hash) != self.hash {
            return Some(format!("event {seq}: the hash does not follow from its predecessor"));
        }
        if self.ts < prev.ts && self.event != CLOCK_CORRECTED {
            return Some(format!("event {seq}: it is dated before its predecessor"));
        }
        None
    }
}
