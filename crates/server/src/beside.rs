//! Small files beside the store that several processes change: tokens, sessions, links. Nobody else can read them.

use comity_core::refusal::{Code, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const SECRET_BYTES: usize = 32;

/// Which file it is, and how it was when it was read: a change puts another file in its place.
type Stamp = (u64, u64, i64, i64, u64);

/// What was read last, and from which file.
type Seen<T> = Arc<Mutex<Option<(Stamp, Arc<T>)>>>;

/// A file that holds one value as JSON.
pub struct Beside<T> {
    file: PathBuf,
    seen: Seen<T>,
}

impl<T> Clone for Beside<T> {
    fn clone(&self) -> Beside<T> {
        Beside { file: self.file.clone(), seen: self.seen.clone() }
    }
}

impl<T: Default + Serialize + DeserializeOwned> Beside<T> {
    pub fn at(file: PathBuf) -> Beside<T> {
        Beside { file, seen: Arc::default() }
    }

    /// Returns the value, which is read again only when the file has changed.
    pub fn value(&self) -> Result<Arc<T>, Refusal> {
        let Ok(of) = std::fs::metadata(&self.file) else { return self.read().map(Arc::new) };
        let stamp = (of.dev(), of.ino(), of.mtime(), of.mtime_nsec(), of.len());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = seen.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(value.clone());
        }
        let value = Arc::new(self.read()?);
        *seen = Some((stamp, value.clone()));
        Ok(value)
    }

    fn read(&self) -> Result<T, Refusal> {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| failed(&format!("read {}", self.file.display()), &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(failed(&format!("read {}", self.file.display()), &error)),
        }
    }

    /// Changes the file in one step, one process at a time.
    pub fn change<A>(&self, work: impl FnOnce(&mut T) -> Result<A, Refusal>) -> Result<A, Refusal> {
        let cannot = |error: &dyn std::fmt::Display| {
            failed(&format!("write {}", self.file.display()), error)
        };
        let lock = owned(&self.file.with_extension("lock")).map_err(|error| cannot(&error))?;
        let turn = rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive);
        turn.map_err(|error| cannot(&error))?;
        let mut kept = self.read()?;
        let done = work(&mut kept)?;
        let text = serde_json::to_vec(&kept).map_err(|error| cannot(&error))?;
        let new = self.file.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut file = owned(&new)?;
            file.set_len(0)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&new, &self.file)
        };
        write().map_err(|error| cannot(&error))?;
        Ok(done)
    }
}

/// Opens a file that nobody else can read.
fn owned(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

/// Makes a secret that nobody can guess.
pub fn secret() -> Result<String, Refusal> {
    let mut bytes = [0; SECRET_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed("make a secret", &error))?;
    Ok(hex(&bytes))
}

/// Returns what is kept of a secret.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn failed(what: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::StoreUnavailable, format!("comity cannot {what}: {error}"))
}
