//! The connections that read. Callers take one, read a snapshot and put it back; when all are taken they wait.

use comity_store::{ReadTx, Reader, Store, StoreError};
use std::sync::{Condvar, Mutex, PoisonError};

/// Connections of a started service. Reads are short; more would only compete for the processor.
const READERS: usize = 4;

pub(crate) struct Readers {
    free: Mutex<Vec<Box<dyn Reader>>>,
    returned: Condvar,
}

/// A connection that goes back when it is dropped.
pub(crate) struct Taken<'a> {
    reader: Option<Box<dyn Reader>>,
    from: &'a Readers,
}

impl Readers {
    pub(crate) fn open(store: &dyn Store) -> Result<Readers, StoreError> {
        let free = (0..READERS).map(|_| store.reader()).collect::<Result<Vec<_>, _>>()?;
        Ok(Readers { free: Mutex::new(free), returned: Condvar::new() })
    }

    pub(crate) fn take(&self) -> Taken<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .returned
            .wait_while(free, |free| free.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        Taken { reader: free.pop(), from: self }
    }
}

impl Taken<'_> {
    pub(crate) fn read(&mut self) -> Result<Box<dyn ReadTx + '_>, StoreError> {
        match &mut self.reader {
            Some(reader) => reader.read(),
            None => Err(StoreError::other("cannot read the store", "BUG: a reader was put back")),
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.from.free.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            self.from.returned.notify_one();
        }
    }
}
