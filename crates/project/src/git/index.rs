//! The index of a work tree, read by hand: whether a file is as it was staged is asked before every edit of a free file, and a
//! process of git costs more than all the rest.

use super::Place;
use super::refs::own_dir;
use crate::plain_file;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The largest index that is read; where it is larger, git itself is asked.
const INDEX_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The head of the file, and what comes before the id of an entry.
const HEAD_BYTES: usize = 12;
const STAT_FIELDS: usize = 10;
/// Of the flags of an entry: the stage, that a person vouches for the file, that there are more flags.
const STAGED_TWICE: u16 = 0x3000;
const VOUCHED_FOR: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
/// Extensions without which the entries are not all that is staged.
const NEEDED: [&[u8]; 2] = [b"link", b"sdir"];
const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_000;
const KIND: u32 = 0o170_000;
const OWNER_RUNS: u32 = 0o100;

/// What is staged at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Such as `100644`.
    pub mode: String,
    pub id: String,
}

/// An entry as the file has it.
struct Entry<'i> {
    stat: [u32; STAT_FIELDS],
    id: &'i [u8],
    flags: u16,
    more_flags: u16,
}

/// The index of one work tree.
pub struct Index {
    bytes: Vec<u8>,
    /// Bytes of an id.
    id_bytes: usize,
    /// When the file was written, in seconds.
    written: i64,
}

impl Index {
    /// Reads the index of the work tree at exactly this directory, whose objects have ids of so many digits. None where it cannot be read
    /// here: then git itself has to be asked.
    pub fn of(work_tree: &Path, id_digits: usize) -> Option<Index> {
        Place::at(work_tree)?;
        let file = own_dir(&work_tree.join(".git"))?.join("index");
        // Read before the file: an index that is replaced meanwhile is newer than this says, which makes entries doubtful.
        let written = std::fs::metadata(&file).ok()?.mtime();
        let bytes = plain_file::read(&file, INDEX_BYTES_MAX).ok()?;
        Some(Index { bytes, id_bytes: id_digits / 2, written })
    }

    /// Returns what is staged at a path, if the file in the work tree is surely the same; nothing where neither has a file there. None where
    /// only git can tell.
    pub fn same(&self, work_tree: &Path, path: &str) -> Option<Option<Staged>> {
        let found = self.find(path)?;
        match (std::fs::symlink_metadata(work_tree.join(path)), found) {
            (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => Some(None),
            (Ok(about), Some(entry)) if self.is_as_staged(&entry, &about) => {
                let [.., mode, _, _, _] = entry.stat;
                let id = entry.id.iter().map(|byte| format!("{byte:02x}")).collect();
                Some(Some(Staged { mode: format!("{mode:06o}"), id }))
            }
            _ => None,
        }
    }

    /// A file that was written in the second in which the index was is doubtful, as it is for git.
    fn is_as_staged(&self, entry: &Entry<'_>, about: &Metadata) -> bool {
        let [ctime, ctime_ns, mtime, mtime_ns, _, inode, mode, _, _, size] = entry.stat;
        let low = |number: i64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        let low_of = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        let is_plain = entry.flags & (STAGED_TWICE | VOUCHED_FOR) == 0 && entry.more_flags == 0;
        let kind = match about.mode() & KIND {
            LINK => Some(LINK),
            FILE if about.mode() & OWNER_RUNS != 0 => Some(FILE | 0o755),
            FILE => Some(FILE | 0o644),
            _ => None,
        };
        is_plain
            && kind == Some(mode)
            && i64::from(mtime) < self.written
            && (mtime, mtime_ns) == (low(about.mtime()), low(about.mtime_nsec()))
            && (ctime, ctime_ns) == (low(about.ctime()), low(about.ctime_nsec()))
            && (inode, size) == (low_of(about.ino()), low_of(about.size()))
    }

    /// Finds the entry of a path. None where the index is not all that is staged, or has the path in another way than as one file.
    fn find(&self, path: &str) -> Option<Option<Entry<'_>>> {
        let wanted = path.as_bytes();
        let is_above = |name: &[u8], other: &[u8]| {
            other.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'/'))
        };
        let (version, count) = match self.bytes.get(..HEAD_BYTES)? {
            [b'D', b'I', b'R', b'C', 0, 0, 0, version @ 2..=4, count @ ..] => {
                (*version, u32::from_be_bytes(count.try_into().ok()?))
            }
            _ => return None,
        };
        let (mut at, mut name, mut found) = (HEAD_BYTES, Vec::new(), None);
        for _ in 0..count {
            let entry = self.entry(version, &mut at, &mut name)?;
            if name == wanted {
                found = Some(entry);
            } else if is_above(&name, wanted) || is_above(wanted, &name) {
                return None;
            }
        }
        let end = self.bytes.len().checked_sub(self.id_bytes)?;
        while at < end {
            let head = self.bytes.get(at..at + 8)?;
            let (signature, length) = head.split_at(4);
            if NEEDED.contains(&signature) {
                return None;
            }
            at += 8 + usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?;
        }
        (at == end).then_some(found)
    }

    /// Reads the entry at a place and moves on to the next one. The name is made of that of the entry before.
    fn entry(&self, version: u8, at: &mut usize, name: &mut Vec<u8>) -> Option<Entry<'_>> {
        let start = *at;
        let mut take = |length: usize| {
            let taken = self.bytes.get(*at..at.checked_add(length)?)?;
            *at += length;
            Some(taken)
        };
        let mut stat = [0; STAT_FIELDS];
        for field in &mut stat {
            *field = u32::from_be_bytes(take(4)?.try_into().ok()?);
        }
        let id = take(self.id_bytes)?;
        let flags = u16::from_be_bytes(take(2)?.try_into().ok()?);
        let is_extended = flags & EXTENDED != 0;
        let more_flags =
            if is_extended { u16::from_be_bytes(take(2)?.try_into().ok()?) } else { 0 };
        if version == 4 {
            let mut cut = 0_usize;
            loop {
                let [byte] = take(1)? else { return None };
                cut = cut.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
                if byte & 0x80 == 0 {
                    break;
                }
                cut = cut.checked_add(1)?;
            }
            name.truncate(name.len().checked_sub(cut)?);
        } else {
            name.clear();
        }
        let rest = self.bytes.get(*at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(rest.get(..length)?);
        *at += length + 1;
        if version < 4 {
            *at = start + (*at - start).next_multiple_of(8);
        }
        Some(Entry { stat, id, flags, more_flags })
    }
}
