//! A clean clone of one commit, for one run. It shares the objects of the repository and nothing else: no ref, no remote, no
//! hook, no setting.

use crate::git::Git;
use comity_core::refusal::{Code, Refusal};
use comity_project::plain_file;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Component, Path, PathBuf};

/// Submodules inside of submodules, at most.
const DEPTH_MAX: usize = 8;
const SUBMODULE: &str = "160000";
/// Nobody but the user looks into a clone: it may hold what is not public.
const PRIVATE: u32 = 0o700;

/// A clone with a directory for temporary files beside it. It is removed when this is dropped; one that a killed process left
/// behind is removed by the next.
pub struct Clone {
    home: PathBuf,
    /// Held while the clone is in use.
    _lock: File,
    /// What whoever runs something in it should know.
    pub remarks: Vec<String>,
}

impl Clone {
    /// Makes a clone of a commit below a directory of caches.
    pub fn of(common_dir: &Path, commit: &str, cache: &Path) -> Result<Clone, Refusal> {
        let runs = cache.join("runs");
        private_dir(&runs)?;
        // One at a time makes a clone or clears up: a clone is never seen without its lock.
        let turn = cache.join("runs.lock");
        let turn = File::create(&turn).map_err(|error| failed(&turn, &error))?;
        flock(&turn, FlockOperation::LockExclusive)
            .map_err(|error| failed(cache, &error.into()))?;
        remove_left_behind(&runs);
        let made = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(&runs)
            .map_err(|error| failed(&runs, &error))?;
        let home = made.path().to_owned();
        let lock = File::create(home.join("lock")).map_err(|error| failed(&home, &error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed(&home, &error.into()))?;
        let mut clone = Clone { home: made.keep(), _lock: lock, remarks: Vec::new() };
        drop(turn);
        for dir in [clone.tree(), clone.temporary()] {
            private_dir(&dir)?;
        }
        clone.check_out(common_dir, commit, &clone.tree(), 0)?;
        let lfs = clone.git().lines(&["ls-files", "--", ":(attr:filter=lfs)"]);
        if !lfs.is_empty() {
            let text = format!("{} files of Git LFS are there as pointers only", lfs.len());
            clone.remarks.push(text);
        }
        Ok(clone)
    }

    /// The directory with the files of the commit.
    pub fn tree(&self) -> PathBuf {
        self.home.join("tree")
    }

    /// The directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.home.join("tmp")
    }

    fn git(&self) -> Git {
        alone(&self.tree())
    }

    /// Makes a repository that takes its objects from another one, with a commit checked out. Submodules come from where the
    /// other repository has them.
    fn check_out(
        &mut self,
        from: &Path,
        commit: &str,
        to: &Path,
        depth: usize,
    ) -> Result<(), Refusal> {
        let git = alone(to);
        let blind = |what: &str| {
            let short = commit.get(..10).unwrap_or(commit);
            Refusal::new(Code::CouldNotRun, format!("git could not {what} {short}"))
                .hint("fetch what is missing; comity fetches nothing by itself")
        };
        let format = Git::at(from).line(&["rev-parse", "--show-object-format"]);
        let format = format!("--object-format={}", format.as_deref().unwrap_or("sha1"));
        if !git.does(&["init", "--quiet", "--template=", &format, "."]) {
            return Err(blind("make a clone for"));
        }
        let own = to.join(".git");
        let alternates = own.join("objects/info/alternates");
        let objects = format!("{}\n", from.join("objects").display());
        private_dir(&own.join("objects/info"))?;
        std::fs::write(&alternates, objects).map_err(|error| failed(&alternates, &error))?;
        if from.join("shallow").exists() {
            let shallow = own.join("shallow");
            plain_file::copy(&from.join("shallow"), &shallow)
                .map_err(|error| failed(&shallow, &error))?;
        }
        if !git.does(&["checkout", "--quiet", "--force", "--detach", "--end-of-options", commit]) {
            return Err(blind("check out"));
        }
        for (path, commit) in submodules(&git) {
            let local = name_of(&git, &path).map(|name| from.join("modules").join(name));
            match local.filter(|dir| dir.is_dir() && depth < DEPTH_MAX) {
                Some(local) => self.check_out(&local, &commit, &to.join(&path), depth + 1)?,
                None => {
                    let text = format!("the submodule {path} is not here and stays empty");
                    self.remarks.push(text);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        // The next run removes what is left.
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Git with no settings of the user: no filter and no program runs.
fn alone(dir: &Path) -> Git {
    let git = Git::at(dir).with("GIT_CONFIG_GLOBAL", "/dev/null").with("GIT_CONFIG_NOSYSTEM", "1");
    git.with("GIT_ATTR_NOSYSTEM", "1").with("GIT_CEILING_DIRECTORIES", dir.as_os_str())
}

/// Lists the submodules of what is checked out, with the commit that each of them has to be at.
fn submodules(git: &Git) -> Vec<(String, String)> {
    let output = git.output(&["ls-files", "--stage", "-z"]);
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let read = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        let mut words = about.split(' ');
        let commit = words.next().filter(|mode| *mode == SUBMODULE).and_then(|_| words.next())?;
        Some((path.to_owned(), commit.to_owned()))
    };
    text.unwrap_or_default().split('\0').filter_map(read).collect()
}

/// Returns the name under which `.gitmodules` has a path; none where it could lead out of the directory of modules.
fn name_of(git: &Git, path: &str) -> Option<String> {
    let args = ["config", "-z", "--file", ".gitmodules", "--get-regexp", "^submodule\\..*\\.path$"];
    let text = String::from_utf8(git.output(&args)?.stdout).ok()?;
    let name = text.split('\0').find_map(|entry| {
        let (key, value) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        (value == path).then(|| name.to_owned())
    })?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    Path::new(&name).components().all(is_plain).then_some(name)
}

/// Removes the clones of processes that are gone.
fn remove_left_behind(runs: &Path) {
    let Ok(entries) = runs.read_dir() else { return };
    for home in entries.flatten().map(|entry| entry.path()) {
        let lock = File::open(home.join("lock"));
        let is_used =
            lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
        if !is_used {
            let _ = std::fs::remove_dir_all(&home);
        }
    }
}

pub(super) fn private_dir(dir: &Path) -> Result<(), Refusal> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(dir);
    made.map_err(|error| failed(dir, &error))
}

pub(super) fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("cannot write {}: {error}", path.display()))
        .hint("make the directory writable, or set XDG_CACHE_HOME to one that is")
}
