//! The end of the log, kept once more beside the database, so that a shortened log is noticed.
//!
//! The file is written after each COMMIT, while the write lock is held. It is overwritten in place and never synced: the
//! store is the truth. After a crash the file is behind the log or does not read, which means nothing; it is never
//! ahead. So a log that ends before it has lost events.

use super::lock::open_beside;
use crate::StoreError;
use crate::error::Gone;
use comity_core::chain::{Hash, Head};
use comity_core::ids::Seq;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Hexadecimal digits of the checksum.
const CHECK_CHARS: usize = 16;
/// Place (20 digits), hash (64), checksum, two spaces and a line feed. Less than a sector, so that it is written whole.
const LINE_BYTES: usize = 20 + 1 + 64 + 1 + CHECK_CHARS + 1;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) seq: Seq,
    pub(super) hash: Hash,
}

pub(super) fn path(db: &Path) -> PathBuf {
    super::beside(db, ".head")
}

fn checked(text: &str) -> String {
    let mut check = Hash::of(text.as_bytes()).to_string();
    check.truncate(CHECK_CHARS);
    check
}

fn line(head: &Head) -> String {
    let text = format!("{:020} {}", head.seq.0, head.hash);
    let check = checked(&text);
    format!("{text} {check}\n")
}

/// Reads a line. One that was not written whole says nothing.
fn parse(line: &[u8]) -> Option<Kept> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (text, check) = line.rsplit_once(' ')?;
    if checked(text) != check {
        return None;
    }
    let (seq, hash) = text.split_once(' ')?;
    Some(Kept { seq: Seq(seq.parse().ok()?), hash: Hash::parse(hash)? })
}

/// Reads what is kept beside a database.
pub(super) fn read(db: &Path) -> Option<Kept> {
    let mut kept = KeptHead { file: File::open(path(db)).ok(), ..KeptHead::new(db, false) };
    kept.read()
}

/// Says which events are gone from a log that ends so.
pub(super) fn gone(kept: Option<Kept>, end: &Head) -> Option<Gone> {
    let kept = kept?;
    let is_gone = end.seq < kept.seq || (end.seq == kept.seq && end.hash != kept.hash);
    let first = Seq(end.seq.0.min(kept.seq.0 - u64::from(kept.seq.0 > 0)) + 1);
    is_gone.then_some(Gone { first, last: kept.seq, hash: kept.hash })
}

/// The file, opened with the first use.
pub(super) struct KeptHead {
    path: PathBuf,
    file: Option<File>,
    /// A person goes on without what is gone: the next commit sets the file anew.
    accepts_loss: bool,
}

impl KeptHead {
    pub(super) fn new(db: &Path, accepts_loss: bool) -> KeptHead {
        KeptHead { path: path(db), file: None, accepts_loss }
    }

    pub(super) fn accepts_loss(&self) -> bool {
        self.accepts_loss
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(open_beside(&self.path)?);
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read(&mut self) -> Option<Kept> {
        let mut line = [0; LINE_BYTES];
        self.file.as_ref()?.read_exact_at(&mut line, 0).ok()?;
        parse(&line)
    }

    /// Refuses to write after a log that has lost its end.
    pub(super) fn check(&mut self, end: &Head) -> Result<(), StoreError> {
        if self.accepts_loss || self.open().is_err() {
            return Ok(());
        }
        gone(self.read(), end).map_or(Ok(()), |gone| Err(StoreError::Gone(gone)))
    }

    /// Follows a commit. A failure leaves the file behind the log, which harms nobody.
    pub(super) fn follow(&mut self, end: &Head) {
        let written = self.open().and_then(|file| file.write_all_at(line(end).as_bytes(), 0));
        match written {
            Ok(()) => self.accepts_loss = false,
            Err(_) => self.file = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::time::Timestamp;

    fn head(seq: u64, text: &str) -> Head {
        Head { seq: Seq(seq), ts: Timestamp::default(), hash: Hash::of(text.as_bytes()) }
    }

    #[test]
    fn a_line_reads_back_and_a_torn_one_says_nothing() {
        let line = line(&head(7, "x"));
        assert_eq!(line.len(), LINE_BYTES);
        let kept = Kept { seq: Seq(7), hash: Hash::of(b"x") };
        assert_eq!(parse(line.as_bytes()), Some(kept));
        for at in 0..line.len() {
            let mut torn = line.clone().into_bytes();
            torn[at] ^= 1;
            assert_eq!(parse(&torn), None, "{at}");
            assert_eq!(parse(&line.as_bytes()[..at]), None, "{at}");
        }
        assert_eq!(parse(&[0; LINE_BYTES]), None);
    }

    #[test]
    fn a_line_torn_at_any_byte_never_says_that_events_are_gone() {
        let ends = [head(9, "9"), head(10, "10"), head(11, "11")];
        let lines = ends.each_ref().map(line);
        for (old, new) in [(0, 1), (1, 2)] {
            for at in 0..=LINE_BYTES {
                // A crash leaves the beginning of the new line and the end of the old one, or the other way round.
                for (front, back) in [(new, old), (old, new)] {
                    let mut torn = lines[front].as_bytes()[..at].to_vec();
                    torn.extend_from_slice(&lines[back].as_bytes()[at..]);
                    // The store was synced before the line was begun.
                    assert_eq!(gone(parse(&torn), &ends[new]), None, "{at}");
                }
                let mut zeroed = lines[new].clone().into_bytes();
                zeroed[at..].fill(0);
                assert_eq!(gone(parse(&zeroed), &ends[new]), None, "{at}");
            }
        }
    }

    #[test]
    fn after_a_torn_line_the_next_commit_guards_the_log_again() {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("comity.db");
        let mut kept = KeptHead::new(&db, false);
        kept.follow(&head(4, "4"));
        let whole = std::fs::read(path(&db)).unwrap();
        for at in 0..whole.len() {
            std::fs::write(path(&db), &whole[..at]).unwrap();
            assert_eq!(read(&db), None, "{at}");
            let mut next = KeptHead::new(&db, false);
            next.check(&head(4, "4")).unwrap();
            next.follow(&head(5, "5"));
            assert!(matches!(next.check(&head(4, "4")), Err(StoreError::Gone(_))), "{at}");
        }
    }

    #[test]
    fn a_log_that_ends_before_the_kept_head_has_lost_events_and_one_that_goes_on_has_not() {
        let kept = Some(Kept { seq: Seq(5), hash: Hash::of(b"5") });
        assert_eq!(gone(kept, &head(5, "5")), None);
        assert_eq!(gone(kept, &head(9, "9")), None, "behind is harmless");
        assert_eq!(gone(None, &head(0, "")), None);
        let lost = |end: &Head| gone(kept, end).map(|gone| (gone.first.0, gone.last.0));
        assert_eq!(lost(&head(2, "2")), Some((3, 5)));
        assert_eq!(lost(&head(0, "")), Some((1, 5)));
        assert_eq!(lost(&head(5, "other")), Some((5, 5)));
    }
}
