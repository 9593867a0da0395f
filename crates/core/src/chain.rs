//! The hash chain: hash = SHA-256(prev ‖ header ‖ SHA-256(body)).
//!
//! The body goes in as its own digest, so that a purged body leaves a chain that still verifies.

use crate::event::Placed;
use crate::ids::Seq;
use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt;

/// A SHA-256 digest, written as lower-case hex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The predecessor of the first event.
    pub const GENESIS: Hash = Hash([0; 32]);

    /// Takes the digest of bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// Reads a digest from 32 bytes.
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
    /// Its time.
    pub ts: Timestamp,
    pub hash: Hash,
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its place.
    pub seq: Seq,
    /// Its time.
    pub ts: Timestamp,
    /// Its name.
    pub event: String,
    /// The version of its fields.
    pub v: u32,
    /// The repository.
    pub repo: String,
    /// Who caused it.
    pub agent: String,
    /// The task it is about.
    pub task: Option<String>,
    /// Its fields, byte for byte; none when they were purged.
    pub body: Option<Vec<u8>>,
    /// The digest of the body, which outlives a purge.
    pub body_hash: Hash,
    /// The predecessor's hash.
    pub prev: Hash,
    /// Its own hash.
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

    /// Returns the head of a log that ends with this event.
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
        if self.ts < prev.ts {
            return Some(format!("event {seq}: it is dated before its predecessor"));
        }
        None
    }
}
