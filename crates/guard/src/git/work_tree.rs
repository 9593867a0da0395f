//! The files of a work tree, read without the repository's settings.

use super::Git;
use comity_core::command::FileAction;
use comity_core::observed::FileChange;
use comity_core::pattern::spell_path;
use comity_project::git::Refs;
use comity_project::plain_file;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Whether files that git does not know yet are changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFiles {
    Count,
    Ignore,
}

/// Settings that say how files are read. They are taken over as values; none of them names a program.
const TAKEN_OVER: &str = "^core\\.(filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat\
    |autocrlf|eol|excludesfile|sparsecheckout|sparsecheckoutcone)$";

/// A work tree with a git directory of its own, which has a copy of the index and no settings. A filter, a hook or a monitor
/// that the repository or the user names does not exist there. So a file that a filter would change is taken as it lies
/// in the work tree; as long as its size and time are those of the index, it counts as unchanged.
pub struct WorkTree {
    git: Git,
    /// The commit that is checked out; none in a repository without a commit.
    pub head: Option<String>,
    _dir: TempDir,
}

impl WorkTree {
    /// Prepares to read a work tree; none when it is none.
    pub fn of(tree: &Path) -> Option<WorkTree> {
        let plain = Git::at(tree);
        let files = ["index", "info/exclude", "info/sparse-checkout"];
        let asked: Vec<&str> = std::iter::once("--show-toplevel")
            .chain(files.iter().flat_map(|name| ["--git-path", name]))
            .collect();
        let own = OwnDir::of(&plain, &asked)?;
        let [top, index, exclude, sparse] = own.answers.as_slice() else { return None };
        let at = |name: &str| own.dir.path().join(name);
        let head = match Refs::of(tree) {
            Some(refs) => refs.commit("HEAD"),
            None => plain.commit("HEAD"),
        };
        std::fs::write(at("HEAD"), head.as_deref().unwrap_or(NO_COMMIT)).ok()?;
        for (from, to) in [(exclude, "info/exclude"), (sparse, "info/sparse-checkout")] {
            copy(Path::new(from), &at(to))?;
        }
        copy_index(Path::new(index), own.dir.path())?;
        let mut git = own.git.with("GIT_WORK_TREE", top);
        for (name, value) in taken_over(&plain)? {
            git = git.setting(name, value);
        }
        Some(WorkTree { git, head, _dir: own.dir })
    }

    /// Tells whether something is not committed; none when git cannot tell.
    pub fn is_dirty(&self, new_files: NewFiles) -> Option<bool> {
        Some(!self.changes(new_files)?.is_empty())
    }

    /// Lists what is not committed; none when git cannot tell.
    pub fn changes(&self, new_files: NewFiles) -> Option<Vec<FileChange>> {
        let new = match new_files {
            NewFiles::Count => "--untracked-files=all",
            NewFiles::Ignore => "--untracked-files=no",
        };
        let output = status(&self.git, &[new])?;
        let read = |(status, path): (&[u8], &[u8])| {
            let action = match status {
                b"?? " | b"A  " => FileAction::Created,
                _ => FileAction::Modified,
            };
            FileChange { path: spell_path(path), action, moved_from: None }
        };
        Some(entries(&output).map(read).collect())
    }

    /// Names what is not committed, in the bytes of the file system: both names of a moved file. None when git cannot tell.
    pub fn names(&self) -> Option<Vec<Vec<u8>>> {
        let output = status(&self.git, &["--untracked-files=all"])?;
        Some(entries(&output).map(|(_, path)| path.to_owned()).collect())
    }

    /// Lists the files that are not as a commit has them, new ones among them; of these paths only, where some are named. None
    /// when git cannot tell.
    pub fn differs_from(&self, commit: &str, only: &[String]) -> Option<BTreeSet<String>> {
        let git = self.git.clone().with("GIT_LITERAL_PATHSPECS", "1");
        if self.head.as_deref() == Some(commit) {
            let only = only.iter().map(String::as_str);
            let args: Vec<&str> = ["--untracked-files=all", "--"].into_iter().chain(only).collect();
            let output = status(&git, &args)?;
            return Some(entries(&output).map(|(_, path)| spell_path(path)).collect());
        }
        let alone = "--ignore-submodules=dirty";
        let known = ["diff", "--name-only", "-z", "--no-renames", alone, commit, "--"];
        let new = ["ls-files", "-z", "--others", "--exclude-standard", "--"];
        let mut found = BTreeSet::new();
        for args in [&known[..], &new[..]] {
            let args: Vec<&str> =
                args.iter().copied().chain(only.iter().map(String::as_str)).collect();
            let output = git.output(&args).filter(|output| output.status.success())?;
            found.extend(crate::land::spelled(&output.stdout));
        }
        Some(found)
    }

    /// Writes all files as a tree and returns its id. Other repositories and work trees that lie inside of this one
    /// are nobody's change, unless they are submodules that were added on purpose.
    pub fn write(&self) -> Option<String> {
        self.write_where(&|_| true)
    }

    /// Writes the files as a tree, of the new ones those that are wanted, and returns its id.
    pub(crate) fn write_where(&self, wanted: &dyn Fn(&OsStr) -> bool) -> Option<String> {
        // What is new goes first: it may stand where a tracked file or directory was.
        self.add(&["ls-files", "-z", "--others", "--exclude-standard"], wanted)?;
        self.add(&["ls-files", "-z", "--modified"], &|_| true)?;
        self.git.line(&["write-tree"])
    }

    fn add(&self, list: &[&str], wanted: &dyn Fn(&OsStr) -> bool) -> Option<()> {
        let listed = self.git.output(list).filter(|output| output.status.success())?.stdout;
        let is_wanted = |name: &&[u8]| {
            let plain = name.strip_suffix(b"\0").unwrap_or(name);
            !plain.ends_with(b"/") && wanted(OsStr::from_bytes(plain))
        };
        let names = listed.split_inclusive(|byte| *byte == 0).filter(is_wanted);
        let names: Vec<u8> = names.flatten().copied().collect();
        if names.is_empty() {
            return Some(());
        }
        let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        self.git.fed(&args, names).is_some_and(|output| output.status.success()).then_some(())
    }
}

/// A git directory of comity's own that has the objects of a repository and no settings: no program that a setting names exists
/// there.
pub(crate) struct OwnDir {
    pub git: Git,
    pub(super) dir: TempDir,
    /// What git said to what was asked beside.
    pub answers: Vec<String>,
}

/// What `HEAD` says where nothing is committed.
const NO_COMMIT: &str = "ref: refs/heads/none";

impl OwnDir {
    /// Makes one for the repository that git works in. The same call of `git rev-parse` answers what else is asked.
    pub(crate) fn of(plain: &Git, asked: &[&str]) -> Option<OwnDir> {
        let args = ["rev-parse", "--show-object-format", "--path-format=absolute"];
        let files = ["--git-path", "objects", "--git-path", "shallow"];
        let lines = plain.lines(&[&args[..], &files[..], asked].concat());
        let [format, objects, shallow, answers @ ..] = lines.as_slice() else { return None };
        let dir = tempfile::tempdir().ok()?;
        let at = |name: &str| dir.path().join(name);
        for name in ["refs", "objects", "info"] {
            std::fs::create_dir(at(name)).ok()?;
        }
        std::fs::write(at("HEAD"), NO_COMMIT).ok()?;
        copy(Path::new(shallow), &at("shallow"))?;
        let config =
            format!("[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = {format}\n");
        std::fs::write(at("config"), config).ok()?;
        let git = plain
            .clone()
            .with("GIT_DIR", dir.path())
            .with("GIT_OBJECT_DIRECTORY", objects)
            .with("GIT_CONFIG_GLOBAL", "/dev/null")
            .with("GIT_CONFIG_NOSYSTEM", "1")
            .with("GIT_ATTR_NOSYSTEM", "1");
        Some(OwnDir { git, dir, answers: answers.to_vec() })
    }
}

/// Writes what is staged as a tree and returns its id. The index stays as it is: git would read files through filters to write it
/// again.
pub(crate) fn write_staged(git: &Git) -> Option<String> {
    let own = OwnDir::of(git, &["--git-path", "index"])?;
    copy_index(Path::new(own.answers.first()?), own.dir.path())?;
    own.git.with("GIT_INDEX_FILE", own.dir.path().join("index")).line(&["write-tree"])
}

/// Asks what is not committed.
fn status(git: &Git, more: &[&str]) -> Option<Vec<u8>> {
    // Git must not start itself in a submodule, whose settings are its own.
    let args = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"];
    let output = git.output(&[&args[..], more].concat());
    output.filter(|output| output.status.success()).map(|output| output.stdout)
}

/// Reads the status and the name of each entry of `git status --porcelain -z`.
fn entries(output: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    output.split(|byte| *byte == 0).filter_map(|entry| entry.split_at_checked(3))
}

/// Copies a file where there is one.
fn copy(from: &Path, to: &Path) -> Option<()> {
    match plain_file::copy(from, to) {
        Ok(_) => Some(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(()),
        Err(_) => None,
    }
}

/// Copies the index with its time, by which git knows which files it has to read again. A split index has a second part.
fn copy_index(index: &Path, to: &Path) -> Option<()> {
    let Ok(time) = index.metadata().and_then(|data| data.modified()) else { return Some(()) };
    let beside = index.parent()?.read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_shared = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"sharedindex."))
    };
    for file in beside.filter(is_shared) {
        copy(&file, &to.join(file.file_name()?))?;
    }
    copy(index, &to.join("index"))?;
    let copied = std::fs::File::options().append(true).open(to.join("index")).ok()?;
    copied.set_modified(time).ok()
}

/// Reads the settings that are taken over.
fn taken_over(git: &Git) -> Option<Vec<(String, std::ffi::OsString)>> {
    let output = git.output(&["config", "-z", "--get-regexp", TAKEN_OVER])?.stdout;
    let mut found = Vec::new();
    for entry in output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let mut parts = entry.splitn(2, |byte| *byte == b'\n');
        let name = String::from_utf8_lossy(parts.next()?).into_owned();
        // A name without a value is a switch that is on.
        let value = parts.next().unwrap_or(b"true");
        found.push((name, OsStr::from_bytes(value).to_owned()));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository of its own: nothing of the machine's or the user's settings counts.
    fn repository() -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--initial-branch=main"]);
        dir
    }

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut git = Git::at(dir).with("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            git = git.with(name, "t");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            git = git.with(name, "t@example.org");
        }
        let output = git.output(args).unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(dir: &TempDir, name: &str, text: &str) {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Names the files of a work tree as they would be handed in.
    fn files(dir: &TempDir) -> Vec<String> {
        let tree = WorkTree::of(dir.path()).unwrap().write().unwrap();
        let list = git(dir.path(), &["ls-tree", "-r", "--name-only", &tree]);
        list.lines().map(str::to_owned).collect()
    }

    #[test]
    fn files_and_directories_may_take_each_others_places() {
        let dir = repository();
        for name in ["file", "dir/x", "linked/x", "gone", "kept"] {
            write(&dir, name, "1\n");
        }
        for split in [false, true] {
            git(dir.path(), &["add", "--all"]);
            if split {
                git(dir.path(), &["update-index", "--split-index"]);
            }
            git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "one"]);
            assert_eq!(WorkTree::of(dir.path()).unwrap().is_dirty(NewFiles::Count), Some(false));
        }
        for name in ["file", "gone"] {
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
        for name in ["dir", "linked"] {
            std::fs::remove_dir_all(dir.path().join(name)).unwrap();
        }
        write(&dir, "file/y", "1\n");
        write(&dir, "dir", "1\n");
        write(&dir, "elsewhere/x", "2\n");
        write(&dir, "ignored.log", "1\n");
        write(&dir, ".git/info/exclude", "*.log\n");
        std::os::unix::fs::symlink("elsewhere", dir.path().join("linked")).unwrap();
        git(dir.path(), &["init", "--quiet", "nested"]);
        write(&dir, "nested/n", "1\n");
        assert_eq!(files(&dir), ["dir", "elsewhere/x", "file/y", "kept", "linked"]);
        assert_eq!(WorkTree::of(dir.path()).unwrap().is_dirty(NewFiles::Ignore), Some(true));
    }

    #[test]
    fn line_ends_and_encodings_are_those_of_the_attributes() {
        let dir = repository();
        write(&dir, ".gitattributes", "*.bat eol=crlf\n*.txt working-tree-encoding=UTF-16LE\n");
        write(&dir, "a.bat", "1\r\n");
        std::fs::write(dir.path().join("a.txt"), b"1\0\n\0").unwrap();
        git(dir.path(), &["add", "--all"]);
        git(dir.path(), &["commit", "--quiet", "-m", "one"]);
        std::fs::File::options()
            .append(true)
            .open(dir.path().join("a.bat"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        let tree = WorkTree::of(dir.path()).unwrap();
        assert_eq!(
            tree.is_dirty(NewFiles::Count),
            Some(false),
            "another time alone changes nothing"
        );
        assert_eq!(tree.write().unwrap(), git(dir.path(), &["rev-parse", "HEAD^{tree}"]).trim());
    }

    #[test]
    fn a_repository_without_a_commit_and_one_of_sha256_are_read_too() {
        let dir = repository();
        write(&dir, "a", "1\n");
        assert_eq!(files(&dir), ["a"]);
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--object-format=sha256"]);
        write(&dir, "a", "1\n");
        assert_eq!(files(&dir), ["a"]);
        let bare = tempfile::tempdir().unwrap();
        assert!(WorkTree::of(bare.path()).is_none(), "no work tree");
    }
}
