//! The files of a tree: where they are, and replacing one without losing what somebody else wrote meanwhile.

use comity_core::refusal::{Code, Refusal};
use comity_project::plain_file;
use comity_protocol::collab::{StateFile as Kind, etag};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest state file that is read; far above what its own tools could handle.
pub const FILE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Who may read and write a new file, before the process's own mask.
const NEW_MODE: Mode = Mode::from_raw_mode(0o666);

/// What the name of a file has that waits to take the place of another.
const MARK: &str = ".comity-";

/// What the files of a tree look like: number, length and time of change.
pub type Sight = Vec<(PathBuf, Option<(u64, u64, i64, i64)>)>;

/// The directory of a tree, `…/collaboration`.
#[derive(Clone, Debug)]
pub struct Tree {
    pub dir: PathBuf,
}

/// What became of a replacement.
#[derive(Debug, PartialEq)]
pub enum Published {
    Done,
    /// Somebody wrote the file meanwhile. The file has the new text now, and what they wrote is in this file, which
    /// they may still have open.
    Overtaken(PathBuf),
}

impl Tree {
    /// Names the tree in a directory: the directory itself, or `collaboration/` in it when that is where it is.
    pub fn at(dir: &Path) -> Tree {
        let inner = dir.join("collaboration");
        let here = dir.join("state").is_dir() || !inner.join("state").is_dir();
        Tree { dir: if here { dir.to_owned() } else { inner } }
    }

    pub fn state(&self, kind: Kind) -> PathBuf {
        self.dir.join("state").join(kind.file())
    }

    pub fn events(&self) -> PathBuf {
        self.dir.join("events").join("events.jsonl")
    }

    /// Returns the directory of the events that agents write by themselves.
    pub fn agent_events(&self) -> PathBuf {
        self.dir.join("events").join("agents")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("logs").join("log.md")
    }

    /// Returns the directory of the tree that a file would belong to, if it were one that is written here. Agents write
    /// their own events by themselves.
    pub fn around(file: &Path) -> Option<&Path> {
        let dir = file.parent()?.parent()?;
        let name = file.file_name()?.to_str()?;
        let name = match name.strip_prefix('.').and_then(|name| name.split_once(MARK)) {
            Some((name, _)) => name,
            None => name,
        };
        let (named, tree) = (file.with_file_name(name), Tree { dir: dir.to_owned() });
        let is_state = Kind::ALL.into_iter().any(|kind| tree.state(kind) == named);
        (is_state || tree.events() == named || tree.log() == named).then_some(dir)
    }

    /// Says what the files look like from outside.
    pub fn sight(&self) -> Sight {
        let mut paths: Vec<PathBuf> = Kind::ALL.into_iter().map(|kind| self.state(kind)).collect();
        paths.push(self.events());
        let own = std::fs::read_dir(self.agent_events()).into_iter().flatten().flatten();
        paths.extend(own.map(|entry| entry.path()));
        paths.sort();
        let look = |path: PathBuf| {
            let found = std::fs::metadata(&path).ok();
            let mark =
                found.map(|found| (found.ino(), found.len(), found.mtime(), found.mtime_nsec()));
            (path, mark)
        };
        paths.into_iter().map(look).collect()
    }

    /// Looks at a file. Only a plain one is read and written: a link may lead anywhere, and what is neither may never end.
    /// False when nothing is there.
    pub fn is_there(path: &Path) -> Result<bool, Refusal> {
        let found = match std::fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed("read", path, &error)),
        };
        let what = match found.file_type() {
            kind if kind.is_file() => return Ok(true),
            kind if kind.is_dir() => "a directory",
            kind if kind.is_symlink() => "a link",
            _ => "a pipe or a device",
        };
        Err(Refusal::input(format!(
            "{}: this is {what} and no file; it is left alone",
            path.display()
        ))
        .hint("put a plain file there, or take it away"))
    }

    /// Sees that no directory of the tree is a link: what is written below it would be written elsewhere. What lies in
    /// the project's root comes with the repository, so the way from there to the tree has none, either.
    pub fn has_no_links(&self, root: &Path) -> Result<(), Refusal> {
        let inside = self.dir.ancestors().take_while(|dir| *dir != root && dir.starts_with(root));
        let own = ["state", "events", "events/agents", "logs"].map(|name| self.dir.join(name));
        for dir in own.iter().map(PathBuf::as_path).chain(inside) {
            if std::fs::symlink_metadata(dir).is_ok_and(|found| found.is_symlink()) {
                return Err(is_link(dir));
            }
        }
        Ok(())
    }

    /// Reads a file of a tree; one that is not there is none.
    pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
        if !Tree::is_there(path)? {
            return Ok(None);
        }
        let (dir, name) = (directory(path)?, name_of(path));
        let read = |file| plain_file::read_all(file, FILE_BYTES_MAX);
        match plain_file::open_in(&dir, &name).and_then(read) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                let said = format!("{}: {error}", path.display());
                Err(Refusal::new(Code::LimitExceeded, said))
            }
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    /// Makes the directory of a file and returns it, open: no link, and none is put in its place meanwhile.
    pub fn make_room(path: &Path) -> Result<OwnedFd, Refusal> {
        let dir = path.parent().unwrap_or(path);
        if let Some(tree) = dir.parent() {
            std::fs::create_dir_all(tree).map_err(|error| failed("make", tree, &error))?;
        }
        match std::fs::create_dir(dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed("make", dir, &error));
            }
            _ => {}
        }
        directory(path)
    }

    /// Opens a file of a tree to add to it; makes it where there is none.
    pub fn append(path: &Path) -> Result<File, Refusal> {
        let dir = Tree::make_room(path)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
        let file = openat(&dir, name_of(path), flags | OFlags::CLOEXEC, NEW_MODE);
        file.map(File::from).map_err(|error| failed("open", path, &error.into()))
    }

    /// Replaces a file in one step. `expected` is the ETag of what was there when it was read, none when nothing
    /// was.
    ///
    /// The old and the new file change places, so that what somebody wrote in between is in our hands and not
    /// gone.
    pub fn publish(
        path: &Path,
        bytes: &[u8],
        expected: Option<&str>,
    ) -> Result<Published, Refusal> {
        let dir = Tree::make_room(path)?;
        let temporary = written_beside(&dir, path, bytes)?;
        let done = Tree::swap(&dir, path, &temporary, expected);
        if !matches!(done, Ok(Published::Overtaken(_))) {
            // What was displaced is known.
            let _ = unlinkat(&dir, name_of(&temporary), AtFlags::empty());
        }
        done
    }

    fn swap(
        dir: &OwnedFd,
        path: &Path,
        temporary: &Path,
        expected: Option<&str>,
    ) -> Result<Published, Refusal> {
        let (new, name) = (name_of(temporary), name_of(path));
        let rename = |flags| renameat_with(dir, &new, dir, &name, flags);
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => {
                return match rename(RenameFlags::NOREPLACE) {
                    Ok(()) => Ok(Published::Done),
                    Err(Errno::EXIST) => Tree::swap(dir, path, temporary, expected),
                    Err(_) => plain_rename(dir, temporary, path),
                };
            }
            // A file system without exchange: as good as its own tools do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return plain_rename(dir, temporary, path);
            }
            Err(error) => return Err(failed("replace", path, &error.into())),
        }
        match Tree::read(temporary) {
            Ok(Some(displaced)) if expected == Some(etag(&displaced).as_str()) => {
                Ok(Published::Done)
            }
            // Also when it is no file at all: whoever put it there may want it.
            _ => Ok(Published::Overtaken(temporary.to_owned())),
        }
    }

    /// Finds what a process left that was killed while it replaced a file: the new text, or what somebody else had
    /// written. To be asked only by who holds the tree.
    pub fn left_behind(path: &Path) -> Vec<PathBuf> {
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let prefix = format!(".{name}{MARK}");
        let entries =
            path.parent().and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten();
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    }

    /// Puts a displaced file back into its place, where ours is. What somebody wrote there meanwhile stays beside it,
    /// to be found by the next look.
    pub fn put_back(path: &Path, displaced: &Path, ours: &str) -> Result<(), Refusal> {
        let dir = directory(path)?;
        let (old, name) = (name_of(displaced), name_of(path));
        if renameat_with(&dir, &old, &dir, &name, RenameFlags::EXCHANGE).is_err() {
            return renameat(&dir, &old, &dir, &name)
                .map_err(|error| failed("put back", path, &error.into()));
        }
        if Tree::read(displaced)?.is_some_and(|bytes| etag(&bytes) == ours) {
            let _ = std::fs::remove_file(displaced);
        }
        Ok(())
    }
}

fn plain_rename(dir: &OwnedFd, temporary: &Path, path: &Path) -> Result<Published, Refusal> {
    renameat(dir, name_of(temporary), dir, name_of(path))
        .map_err(|error| failed("replace", path, &error.into()))?;
    Ok(Published::Done)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Opens the directory of a file of a tree. A link is refused: it may lead anywhere.
fn directory(path: &Path) -> Result<OwnedFd, Refusal> {
    let dir = path.parent().unwrap_or(path);
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    match rustix::fs::open(dir, flags, Mode::empty()) {
        Ok(found) => Ok(found),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(is_link(dir)),
        Err(error) => Err(failed("open", dir, &error.into())),
    }
}

fn is_link(dir: &Path) -> Refusal {
    let said = format!("{} is no directory of the tree, but a link or a file", dir.display());
    Refusal::input(format!("{said}; nothing is read or written through it"))
        .hint("put a directory there, or give the directory that it leads to")
}

/// Says what could not be done with a file.
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::StoreUnavailable, format!("cannot {what} {}: {error}", path.display()))
        .hint("see that the directory is there and that you may write to it")
}

/// Writes a file with a name of its own beside another, down to the disk.
fn written_beside(dir: &OwnedFd, path: &Path, bytes: &[u8]) -> Result<PathBuf, Refusal> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = name_of(path);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".{name}{MARK}{}-{n:x}", std::process::id()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let write = || -> std::io::Result<()> {
        let file = openat(dir, name_of(&temporary), flags | OFlags::CLOEXEC, NEW_MODE)?;
        let mut file = File::from(file);
        if let Ok(old) = plain_file::open_in(dir, &name).and_then(|old| old.metadata()) {
            // Who may read and write it stays as it was.
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    };
    match write() {
        Ok(()) => Ok(temporary),
        Err(error) => {
            let _ = unlinkat(dir, name_of(&temporary), AtFlags::empty());
            Err(failed("write", &temporary, &error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_tree_is_told_by_its_place_in_it() {
        let dir =
            |path: &'static str| Tree::around(Path::new(path)).map(|dir| dir.to_str().unwrap());
        assert_eq!(dir("collaboration/state/tasks.json"), Some("collaboration"));
        assert_eq!(dir("collaboration/state/.tasks.json.comity-7-0"), Some("collaboration"));
        assert_eq!(dir("a/b/events/events.jsonl"), Some("a/b"));
        assert_eq!(dir("logs/log.md"), Some(""));
        assert_eq!(dir("collaboration/events/agents/ada.jsonl"), None, "agents write these");
        assert_eq!(dir("collaboration/state/notes.json"), None);
        assert_eq!(dir("tasks.json"), None);
    }
}
