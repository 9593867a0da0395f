//! A copy of the store in one file, and a store made from such a file again.

use crate::context::Context;
use crate::store::{Access, Place};
use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Service;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// What stands behind the name of a database in the names of the files that go with it: its write-ahead log, the index of
/// that, and the end of the log that is kept beside the store (RULES 5.1).
const GOES_WITH: [&str; 4] = ["", "-wal", "-shm", ".head"];
/// Why writers of a store that was replaced are refused.
const REPLACED: &str = "a person restored a backup in its place";
/// How much of two files is compared at once.
const COMPARED_BYTES: usize = 1 << 16;

/// A backup that was written or read.
#[derive(Debug)]
pub struct Copied {
    pub events: u64,
    pub head: String,
    pub bytes: u64,
}

/// What a restore left behind.
#[derive(Debug)]
pub struct Restored {
    pub copy: Copied,
    /// Where the store is now that was replaced.
    pub replaced: Option<PathBuf>,
}

/// Writes the store as it is at one moment into a new file, while others go on writing. The copy is verified.
pub fn backup(context: &Context, file: &Path) -> Result<Copied, Refusal> {
    if !context.store.exists() {
        let text = format!("there is no store at {}", context.store_url());
        return Err(Refusal::new(Code::NotFound, text).hint(say("see ").quote(op("status"))));
    }
    refuse_existing(file)?;
    let work = workshop(context)?;
    let made = work.path().join("comity.db");
    let source = context.service(Access::Read)?;
    if !source.backup(&made)? {
        let target = open(context, &made)?;
        match source.copy_to(&target, |_, _| {}) {
            // Whoever writes meanwhile is in the next backup: the copy was verified as far as it goes.
            Err(refusal) if refusal.code != Code::NotReady => return Err(refusal),
            _ => {}
        }
    }
    let copied = finished(context, &made, work.path())?;
    put(&copied.1, file)?;
    Ok(copied.0)
}

/// Makes the store from a backup. One that is there is only replaced when that is wanted, and kept beside the new one.
pub fn restore(
    context: &Context,
    file: &Path,
    replace: bool,
    stamp: &str,
) -> Result<Restored, Refusal> {
    let Place::File(db) = &context.store else {
        return Err(Refusal::input("a backup is restored into a file, not into a server")
            .hint(say("copy it into an empty database with ").quote(op("store.copy"))));
    };
    if db.exists() && !replace {
        let text = format!("there is a store at {}", db.display());
        return Err(Refusal::input(text)
            .hint(say("give ").mention("replace").say(" to keep it beside the restored one")));
    }
    let work = workshop(context)?;
    let made = work.path().join("given.db");
    for suffix in ["", "-wal"] {
        let from = beside(file, suffix);
        if suffix.is_empty() || from.exists() {
            std::fs::copy(&from, beside(&made, suffix)).map_err(|error| unread(&from, &error))?;
        }
    }
    let given = open(context, &made)?;
    if given.is_closed()? {
        given.close(None)?;
    }
    let (copy, made) = finished(context, &made, work.path())?;
    let replaced = set_aside(context, db, stamp)?;
    std::fs::rename(&made, db).map_err(|error| unwritten(db, &error))?;
    // The end of the log that was kept beside the old store went with it; the new store keeps its own from here on.
    Ok(Restored { copy, replaced })
}

/// A directory beside the store, where a copy can be opened.
fn workshop(context: &Context) -> Result<TempDir, Refusal> {
    let dir = context.beside_store();
    let made = std::fs::create_dir_all(&dir)
        .and_then(|()| tempfile::Builder::new().prefix("backup-").tempdir_in(&dir));
    made.map_err(|error| unwritten(&dir, &error))
}

fn open(context: &Context, file: &Path) -> Result<Service, Refusal> {
    context.service_at(&Place::File(file.to_owned()), Access::Write)
}

/// Verifies a copy and makes one whole file of it, which needs no other beside it.
fn finished(context: &Context, made: &Path, work: &Path) -> Result<(Copied, PathBuf), Refusal> {
    let whole = work.join("whole.db");
    let store = open(context, made)?;
    let mut problems = store.integrity()?;
    let report = store.verify()?;
    problems.extend(report.problems);
    if !problems.is_empty() {
        return Err(Refusal::new(Code::Internal, "the copy does not verify")
            .hint(say("see ").quote(op("log.verify")))
            .detail("problems", problems));
    }
    store.backup(&whole)?;
    let bytes = std::fs::metadata(&whole).map_err(|error| unread(&whole, &error))?.len();
    Ok((Copied { events: report.events, head: report.head, bytes }, whole))
}

/// Puts a file where none is, readable for its owner only, and reads it back.
fn put(made: &Path, file: &Path) -> Result<(), Refusal> {
    let failed = |error: io::Error| unwritten(file, &error);
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = NamedTempFile::new_in(dir).map_err(failed)?;
    let mut from = File::open(made).map_err(failed)?;
    io::copy(&mut from, &mut part).map_err(failed)?;
    part.as_file().sync_all().map_err(failed)?;
    if !is_same(made, part.path()).map_err(failed)? {
        return Err(unwritten(file, &io::Error::other("it does not read back as it was written")));
    }
    part.persist_noclobber(file).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => failed(error.error),
    })?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}

fn is_same(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        let most = COMPARED_BYTES as u64;
        (&mut a).take(most).read_to_end(&mut left)?;
        (&mut b).take(most).read_to_end(&mut right)?;
        if left != right || left.is_empty() {
            return Ok(left == right);
        }
    }
}

/// Closes the store that is replaced, so that nobody writes into it unseen, and moves its files aside.
fn set_aside(context: &Context, db: &Path, stamp: &str) -> Result<Option<PathBuf>, Refusal> {
    let aside = beside(db, &format!(".replaced-{stamp}"));
    let is_there = db.exists();
    if is_there {
        // A store that cannot be opened is what a backup is for.
        if let Ok(old) = store_of(context, db) {
            old.close(Some(REPLACED))?;
        }
        refuse_existing(&aside)?;
    }
    for suffix in GOES_WITH {
        let from = beside(db, suffix);
        if from.exists() {
            let to = beside(&aside, suffix);
            std::fs::rename(&from, &to).map_err(|error| unwritten(&to, &error))?;
        }
    }
    Ok(is_there.then_some(aside))
}

fn store_of(context: &Context, db: &Path) -> Result<Service, Refusal> {
    context.service_at(&Place::File(db.to_owned()), Access::Read)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn refuse_existing(file: &Path) -> Result<(), Refusal> {
    match std::fs::symlink_metadata(file) {
        Ok(_) => Err(exists(file)),
        Err(_) => Ok(()),
    }
}

fn exists(file: &Path) -> Refusal {
    Refusal::input(format!("{} exists", file.display())).hint("choose another name")
}

fn unread(path: &Path, error: &io::Error) -> Refusal {
    let code = match error.kind() {
        io::ErrorKind::NotFound => Code::NotFound,
        _ => Code::InvalidInput,
    };
    Refusal::new(code, format!("cannot read {}: {error}", path.display()))
        .hint("give the file of a backup")
}

fn unwritten(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
}
