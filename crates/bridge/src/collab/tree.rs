//! The files of a tree: where they are, and replacing one without losing what somebody else wrote meanwhile.

use comity_core::refusal::{Code, Refusal};
use comity_project::plain_file;
use comity_protocol::collab::{StateFile as Kind, etag};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The largest state file that is read; far above what its own tools could handle.
pub const FILE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Who may read and write a new file, before the process's own mask.
const NEW_MODE: Mode = Mode::from_raw_mode(0o666);

/// The same of a new directory.
const NEW_DIR_MODE: Mode = Mode::from_raw_mode(0o777);

/// What the name of a file has that waits to take the place of another.
const MARK: &str = ".comity-";

/// What the files of a tree look like: number, length and time of change.
pub type Sight = Vec<(PathBuf, Option<(u64, u64, i64, i64)>)>;

/// The directory of a tree, `…/collaboration`.
#[derive(Clone, Debug)]
pub struct Tree {
    pub dir: PathBuf,
    /// Where the way to it begins that a repository may have laid: the project's root, else the tree itself. No link
    /// below it is followed, also none that is put there meanwhile.
    base: PathBuf,
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
    pub fn new(dir: PathBuf, root: &Path) -> Tree {
        let base = if dir.starts_with(root) { root.to_owned() } else { dir.clone() };
        Tree { dir, base }
    }

    /// Names the tree in a directory: the directory itself, or `collaboration/` in it when that is where it is.
    pub fn at(dir: &Path, root: &Path) -> Tree {
        let inner = dir.join("collaboration");
        let here = dir.join("state").is_dir() || !inner.join("state").is_dir();
        Tree::new(if here { dir.to_owned() } else { inner }, root)
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
        let (named, tree) = (file.with_file_name(name), Tree::new(dir.to_owned(), dir));
        let is_state = Kind::ALL.into_iter().any(|kind| tree.state(kind) == named);
        (is_state || tree.events() == named || tree.log() == named).then_some(dir)
    }

    /// Says what the files look like from outside.
    pub fn sight(&self) -> Sight {
        let mut paths: Vec<PathBuf> = Kind::ALL.into_iter().map(|kind| self.state(kind)).collect();
        paths.push(self.events());
        paths
            .extend(self.names(&self.agent_events()).iter().map(|it| self.agent_events().join(it)));
        paths.sort();
        let look = |path: PathBuf| {
            let found = self.stat(&path).ok().flatten();
            let mark = found.and_then(|it| {
                let (length, second) = (u64::try_from(it.st_size).ok()?, it.st_mtime);
                Some((it.st_ino, length, second, i64::try_from(it.st_mtime_nsec).ok()?))
            });
            (path, mark)
        };
        paths.into_iter().map(look).collect()
    }

    /// Lists a directory of the tree, in order. What cannot be listed has nothing in it.
    pub fn names(&self, dir: &Path) -> Vec<String> {
        let entries = self.open(dir, false).ok().and_then(|open| Dir::read_from(open).ok());
        let entries = entries.into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        names
    }

    /// Looks at what is at a place, itself where it is a link; none where nothing is.
    fn stat(&self, path: &Path) -> Result<Option<Stat>, Refusal> {
        let dir = match self.directory(path) {
            Ok(dir) => dir,
            Err(refusal) if refusal.code == Code::InvalidInput => return Err(refusal),
            // There is no such directory yet.
            Err(_) => return Ok(None),
        };
        match statat(&dir, name_of(path), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("read", path, &error.into())),
        }
    }

    /// Looks at a file. Only a plain one is read and written: a link may lead anywhere, and what is neither may never end.
    /// False when nothing is there.
    pub fn is_there(&self, path: &Path) -> Result<bool, Refusal> {
        let Some(found) = self.stat(path)? else { return Ok(false) };
        let what = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => return Ok(true),
            FileType::Directory => "a directory",
            FileType::Symlink => "a link",
            _ => "a pipe or a device",
        };
        Err(Refusal::input(format!(
            "{}: this is {what} and no file; it is left alone",
            path.display()
        ))
        .hint("put a plain file there, or take it away"))
    }

    /// Opens a file of the tree to read it; none where no plain file is.
    pub fn file(&self, path: &Path) -> Option<File> {
        plain_file::open_in(self.directory(path).ok()?, &name_of(path)).ok()
    }

    /// Tells whether a file was written just now.
    pub fn is_young(&self, path: &Path) -> bool {
        let written = self.file(path).and_then(|file| file.metadata().ok()?.modified().ok());
        written.is_some_and(|at| at.elapsed().is_ok_and(|age| age < Duration::from_secs(2)))
    }

    /// Sees that no directory of the tree is a link, before anything is read: what is written below it would be written
    /// elsewhere. What lies in the project's root comes with the repository, so the way from there has none, either.
    pub fn has_no_links(&self) -> Result<(), Refusal> {
        ["state", "events", "events/agents", "logs"].iter().try_for_each(|name| {
            self.open(&self.dir.join(name), false).map(drop).or_else(|refusal| {
                // What is not there yet is made without links.
                if refusal.code == Code::InvalidInput { Err(refusal) } else { Ok(()) }
            })
        })
    }

    /// Opens a directory of the tree step by step. A link on the way is refused: it may lead anywhere.
    fn open(&self, dir: &Path, make: bool) -> Result<OwnedFd, Refusal> {
        let steps = dir.strip_prefix(&self.base).unwrap_or(Path::new(""));
        if make {
            let base = &self.base;
            std::fs::create_dir_all(base).map_err(|error| failed("make", base, &error))?;
        }
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let mut at = self.base.clone();
        let mut open = rustix::fs::open(&at, flags, Mode::empty())
            .map_err(|error| failed("open", &at, &error.into()))?;
        for step in steps {
            at.push(step);
            if make
                && let Err(error) = mkdirat(&open, step, NEW_DIR_MODE)
                && error != Errno::EXIST
            {
                return Err(failed("make", &at, &error.into()));
            }
            open = match openat(&open, step, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::LOOP | Errno::NOTDIR) => return Err(is_link(&at)),
                Err(error) => return Err(failed("open", &at, &error.into())),
            };
        }
        Ok(open)
    }

    fn directory(&self, path: &Path) -> Result<OwnedFd, Refusal> {
        self.open(path.parent().unwrap_or(path), false)
    }

    /// Reads a file of a tree; one that is not there is none.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
        if !self.is_there(path)? {
            return Ok(None);
        }
        let (dir, name) = (self.directory(path)?, name_of(path));
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

    /// Makes the directory of a file and returns it, open.
    fn make_room(&self, path: &Path) -> Result<OwnedFd, Refusal> {
        self.open(path.parent().unwrap_or(path), true)
    }

    /// Takes a file of the tree away, if it is there.
    pub fn remove(&self, path: &Path) {
        if let Ok(dir) = self.directory(path) {
            let _ = unlinkat(&dir, name_of(path), AtFlags::empty());
        }
    }

    /// Opens a file of a tree to add to it; makes it where there is none.
    pub fn append(&self, path: &Path) -> Result<File, Refusal> {
        let dir = self.make_room(path)?;
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
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<&str>,
    ) -> Result<Published, Refusal> {
        let dir = self.make_room(path)?;
        let temporary = written_beside(&dir, path, bytes)?;
        let done = self.swap(&dir, path, &temporary, expected);
        if !matches!(done, Ok(Published::Overtaken(_))) {
            // What was displaced is known.
            let _ = unlinkat(&dir, name_of(&temporary), AtFlags::empty());
        }
        done
    }

    fn swap(
        &self,
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
                    Err(Errno::EXIST) => self.swap(dir, path, temporary, expected),
                    Err(_) => plain_rename(dir, temporary, path),
                };
            }
            // A file system without exchange: as good as its own tools do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return plain_rename(dir, temporary, path);
            }
            Err(error) => return Err(failed("replace", path, &error.into())),
        }
        match self.read(temporary) {
            Ok(Some(displaced)) if expected == Some(etag(&displaced).as_str()) => {
                Ok(Published::Done)
            }
            // Also when it is no file at all: whoever put it there may want it.
            _ => Ok(Published::Overtaken(temporary.to_owned())),
        }
    }

    /// Finds what a process left that was killed while it replaced a file: the new text, or what somebody else had
    /// written. To be asked only by who holds the tree.
    pub fn left_behind(&self, path: &Path) -> Vec<PathBuf> {
        let prefix = format!(".{}{MARK}", name_of(path));
        let names = self.names(path.parent().unwrap_or(path));
        let left = names.iter().filter(|name| name.starts_with(&prefix));
        left.map(|name| path.with_file_name(name)).collect()
    }

    /// Puts a displaced file back into its place, where ours is. What somebody wrote there meanwhile stays beside it,
    /// to be found by the next look.
    pub fn put_back(&self, path: &Path, displaced: &Path, ours: &str) -> Result<(), Refusal> {
        let dir = self.directory(path)?;
        let (old, name) = (name_of(displaced), name_of(path));
        if renameat_with(&dir, &old, &dir, &name, RenameFlags::EXCHANGE).is_err() {
            return renameat(&dir, &old, &dir, &name)
                .map_err(|error| failed("put back", path, &error.into()));
        }
        if self.read(displaced)?.is_some_and(|bytes| etag(&bytes) == ours) {
            let _ = unlinkat(&dir, &old, AtFlags::empty());
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

    #[test]
    fn a_directory_that_becomes_a_link_on_the_way_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (root, victim) = (place.path().join("root"), place.path().join("victim"));
        std::fs::create_dir_all(victim.join("tree/state")).unwrap();
        std::fs::create_dir(&root).unwrap();
        let tree = Tree::new(root.join("a/tree"), &root);
        let file = tree.state(Kind::Tasks);
        assert_eq!(tree.publish(&file, b"[]", None).unwrap(), Published::Done);
        tree.has_no_links().unwrap();
        // After the look, somebody exchanges a directory between the root and the tree for a link.
        std::fs::rename(root.join("a"), root.join("b")).unwrap();
        std::os::unix::fs::symlink(&victim, root.join("a")).unwrap();
        let refused =
            |done: Result<(), Refusal>| assert_eq!(done.unwrap_err().code, Code::InvalidInput);
        refused(tree.publish(&file, b"[1]", None).map(drop));
        refused(tree.append(&tree.events()).map(drop));
        refused(tree.publish(&tree.log(), b"x", None).map(drop));
        std::fs::write(victim.join("tree/state/tasks.json"), "theirs").unwrap();
        refused(tree.read(&file).map(drop));
        refused(tree.is_there(&file).map(drop));
        std::fs::create_dir_all(victim.join("tree/events/agents")).unwrap();
        std::fs::write(victim.join("tree/events/agents/ada.jsonl"), "theirs").unwrap();
        std::fs::write(victim.join("tree/state/.tasks.json.comity-7-0"), "theirs").unwrap();
        assert_eq!(tree.names(&tree.agent_events()), Vec::<String>::new());
        assert_eq!(tree.left_behind(&file), Vec::<PathBuf>::new());
        assert!(tree.sight().iter().all(|(_, seen)| seen.is_none()), "{:?}", tree.sight());
        assert!(tree.file(&file).is_none() && !tree.is_young(&file));
        tree.remove(&file);
        assert_eq!(std::fs::read(victim.join("tree/state/tasks.json")).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(victim.join("tree")).unwrap().count(), 2);
        refused(tree.has_no_links());
        // The way to a tree outside the root is its caller's own.
        let outside = Tree::new(root.join("a/tree"), Path::new("/nowhere"));
        assert_eq!(outside.read(&file).unwrap().unwrap(), b"theirs");
    }
}
