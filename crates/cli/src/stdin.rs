//! Standard input, which only one argument of a call can stand for.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Reads standard input to its end: at most so many bytes, and one more of what is longer.
pub fn read(most: usize) -> io::Result<Vec<u8>> {
    if IS_TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("only one - can stand for standard input"));
    }
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
