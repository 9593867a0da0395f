//! A ref written and HEAD read without a call of git, where refs are plain files. A claim is too short to
//! wait for another process.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What is known without asking git.
#[derive(Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// This.
    Is(T),
    /// There is none.
    None,
    /// Only git can tell.
    AskGit,
}

/// Where a repository's files are.
pub struct Repository {
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl Repository {
    /// Finds the files that belong to a work tree.
    pub fn of(work_tree: &Path) -> Option<Repository> {
        let dot_git = work_tree.join(".git");
        let git_dir = match fs::read_to_string(&dot_git) {
            Ok(text) => work_tree.join(text.trim().strip_prefix("gitdir:")?.trim()),
            Err(_) => dot_git,
        };
        let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim()),
            Err(_) => git_dir.clone(),
        };
        git_dir.join("HEAD").is_file().then_some(Repository { git_dir, common_dir })
    }

    /// Returns the commit that is checked out.
    pub fn head(&self) -> Known<String> {
        let Ok(text) = fs::read_to_string(self.git_dir.join("HEAD")) else { return Known::AskGit };
        match text.trim().strip_prefix("ref:") {
            None => hash(&text).map_or(Known::AskGit, Known::Is),
            // Another kind of storage says so by a name that no branch can have.
            Some(name) if name.trim().starts_with("refs/heads/.") => Known::AskGit,
            Some(name) => self.look_up(name.trim()),
        }
    }

    /// Returns what a ref that all work trees share stands for.
    pub fn look_up(&self, name: &str) -> Known<String> {
        if !is_plain(name) {
            return Known::AskGit;
        }
        match fs::read_to_string(self.common_dir.join(name)) {
            Ok(text) => return hash(&text).map_or(Known::AskGit, Known::Is),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return Known::AskGit,
        }
        let packed = match fs::read_to_string(self.common_dir.join("packed-refs")) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Known::None,
            Err(_) => return Known::AskGit,
        };
        let found = packed.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
        found.map_or(Known::None, |text| hash(text).map_or(Known::AskGit, Known::Is))
    }

    /// Returns the numbers that refs directly below a prefix are named by.
    pub fn numbers(&self, prefix: &str) -> Known<BTreeSet<u64>> {
        if !is_plain(prefix.trim_end_matches('/')) || self.head() == Known::AskGit {
            return Known::AskGit;
        }
        let mut found = BTreeSet::new();
        match fs::read_dir(self.common_dir.join(prefix)) {
            Ok(entries) => {
                let names =
                    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
                found.extend(names.filter_map(|name| name.parse::<u64>().ok()));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return Known::AskGit,
        }
        match fs::read_to_string(self.common_dir.join("packed-refs")) {
            Ok(text) => {
                let named =
                    |line: &str| line.split_once(' ')?.1.strip_prefix(prefix)?.parse::<u64>().ok();
                found.extend(text.lines().filter_map(named));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return Known::AskGit,
        }
        if found.is_empty() { Known::None } else { Known::Is(found) }
    }

    /// Writes a ref; tells whether it could, as git itself does it: by a lock that becomes the file.
    pub fn write(&self, name: &str, commit: &str) -> bool {
        let path = self.common_dir.join(name);
        let Some(dir) = path.parent().filter(|_| is_plain(name)) else { return false };
        let lock = self.common_dir.join(format!("{name}.lock"));
        if fs::create_dir_all(dir).is_err() {
            return false;
        }
        let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(&lock) else {
            return false;
        };
        let written = file.write_all(format!("{commit}\n").as_bytes()).is_ok();
        let done = written && fs::rename(&lock, &path).is_ok();
        if !done {
            // Left behind, it would keep git from ever writing the ref.
            let _ = fs::remove_file(&lock);
        }
        done
    }
}

/// Names that git takes for refs and that stay below the directory.
fn is_plain(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-%".contains(&b))
    };
    name.starts_with("refs/") && !name.contains("..") && name.split('/').all(part)
}

fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        let output = command.args(args).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn what_is_read_and_written_is_what_git_reads_and_writes() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "--quiet", "--initial-branch=main"]);
        let here = Repository::of(&main).unwrap();
        assert_eq!(here.head(), Known::None, "nothing is committed yet");
        git(&main, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
        let one = git(&main, &["rev-parse", "HEAD"]);
        assert_eq!(here.head(), Known::Is(one.clone()));
        git(&main, &["pack-refs", "--all"]);
        assert_eq!(here.head(), Known::Is(one.clone()), "packed");
        let side = dir.path().join("side");
        git(&main, &["worktree", "add", "--quiet", "-b", "feat/x", side.to_str().unwrap()]);
        git(&side, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
        let two = git(&side, &["rev-parse", "HEAD"]);
        let there = Repository::of(&side).unwrap();
        assert_eq!(there.head(), Known::Is(two.clone()), "in a linked work tree");
        git(&side, &["checkout", "--quiet", "--detach"]);
        assert_eq!(there.head(), Known::Is(two.clone()), "detached");
        let name = "refs/comity/base/T-1.a";
        assert_eq!(there.look_up(name), Known::None);
        assert!(there.write(name, &two));
        assert_eq!(git(&main, &["rev-parse", name]), two, "all work trees share it");
        assert_eq!(here.look_up(name), Known::Is(two.clone()));
        git(&main, &["update-ref", name, &one, &two]);
        git(&main, &["pack-refs", "--all"]);
        assert_eq!(here.look_up(name), Known::Is(one));
        assert!(here.write(name, &two));
        assert_eq!(git(&side, &["rev-parse", name]), two, "over a packed one");
        assert_eq!(here.numbers("refs/comity/begin/a%2E/"), Known::None);
        assert!(there.write("refs/comity/begin/a%2E/7", &two));
        git(&main, &["pack-refs", "--all"]);
        assert!(there.write("refs/comity/begin/a%2E/12", &two));
        let both = Known::Is(BTreeSet::from([7, 12]));
        assert_eq!(here.numbers("refs/comity/begin/a%2E/"), both, "packed and not");
        git(&main, &["fsck"]);
    }

    #[test]
    fn names_that_are_no_refs_are_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]);
        let here = Repository::of(dir.path()).unwrap();
        for odd in ["refs/../x", "refs/a..b", "refs/a.lock", "refs/a.", "x", "refs//a", "refs/.a"] {
            assert_eq!(here.look_up(odd), Known::AskGit, "{odd}");
            assert!(!here.write(odd, "x"), "{odd}");
        }
    }
}
