//! The work tree of a run: a repository of its own that takes its objects from the project's, with one branch.

use crate::place::{failed, home, private_dir};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::RunView;
use comity_guard::git::{Git, snapshot, snapshot_within};
use comity_project::{Context, plain_file};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The work tree of a run. It is this run's alone while this lives.
pub struct Workspace {
    pub(crate) tree: PathBuf,
    /// The directory of the project's repository.
    common: PathBuf,
    run: String,
    branch: String,
    /// What was checked out when the run began.
    began: Option<String>,
    /// The last snapshot.
    wip: Option<String>,
    /// New files that are larger are left out of it, in bytes.
    most: u64,
    /// Files that were left out, and told.
    left_out: BTreeSet<String>,
    _lock: File,
}

/// Names the ignored files that a work tree gets as well.
const INCLUDED: &str = ".worktreeinclude";

/// What came of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// Something changed since the last one.
    pub is_new: bool,
    /// New files that are too large for it, each told once.
    pub left_out: Vec<String>,
}

fn could_not(what: &str) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("git could not {what}"))
}

fn does(git: &Git, args: &[&str]) -> bool {
    git.output(args).is_some_and(|output| output.status.success())
}

/// Characters of a branch that may stand in the name of a directory.
fn plain(branch: &str) -> String {
    branch
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .collect()
}

/// How deep a repository is looked through for locks: refs are called like branches.
const REFS_DEPTH: usize = 8;

/// Removes the locks that a git left which was killed. Nobody else is at work here, so each of them is one of those.
fn remove_locks(dir: &Path, depth: usize) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        let is_dir = kind.is_ok_and(|kind| kind.is_dir());
        let has_refs = entry.file_name() == "refs" || dir.file_name().is_none_or(|n| n != ".git");
        if is_dir && has_refs && depth > 0 {
            remove_locks(&path, depth - 1);
        } else if !is_dir && path.extension().is_some_and(|extension| extension == "lock") {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Workspace {
    /// Makes the work tree of a run, or goes on with the one that an earlier run of the task left.
    pub fn make(
        context: &Context,
        run: &str,
        task: &str,
        branch: &str,
        base: &str,
    ) -> Result<Workspace, Refusal> {
        let common = context.root.git.as_ref().map(|git| git.common_dir.clone());
        let common = common.ok_or_else(|| could_not("find the repository of the project"))?;
        let all = home(context)?.join("ws");
        private_dir(&all)?;
        let tree = all.join(format!("{task}-{}", plain(branch)));
        let lock = all.join(format!("{task}-{}.lock", plain(branch)));
        let lock_file = File::create(&lock).map_err(|error| failed(&lock, &error))?;
        flock(&lock_file, FlockOperation::LockExclusive)
            .map_err(|error| failed(&lock, &error.into()))?;
        let (run, branch) = (run.to_owned(), branch.to_owned());
        let most = context.config.spaces()?.untracked_file_max;
        let (began, wip, left_out) = (None, None, BTreeSet::new());
        let mut space =
            Workspace { tree, common, run, branch, began, wip, most, left_out, _lock: lock_file };
        let pinned = format!("refs/comity/run/{}/base", space.run);
        if !does(&Git::at(&space.common), &["update-ref", &pinned, base]) {
            return Err(could_not(&format!("pin the commit {base}")));
        }
        if !space.tree.join(".git").is_dir() {
            space.create(context, base)?;
        }
        remove_locks(&space.tree.join(".git"), REFS_DEPTH);
        space.follow(context);
        space.began = space.head();
        Ok(space)
    }

    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Brings what happened in the project since into the work tree: the base branch as that of a remote, so that what is
    /// compared is what the run itself did, and further commits on the branch of
    /// the task where nothing is under way.
    fn follow(&self, context: &Context) {
        let root = Git::at(&self.common);
        let Some(git) = self.plain() else { return };
        for branch in self.base_branches(context, &root) {
            if let Some(tip) = root.commit(&branch) {
                let there = format!("refs/remotes/origin/{branch}");
                does(&git, &["update-ref", &there, &tip]);
                does(&git, &["symbolic-ref", "refs/remotes/origin/HEAD", &there]);
            }
        }
        let tip = root.commit(&format!("refs/heads/{}", self.branch));
        if let (Some(tip), Some(head)) = (tip, self.head())
            && tip != head
            && self.is_clean()
            && does(&git, &["merge-base", "--is-ancestor", &head, &tip])
        {
            does(&git, &["checkout", "--quiet", "-B", &self.branch, &tip]);
        }
    }

    fn is_clean(&self) -> bool {
        let status = self.plain().and_then(|git| git.output(&["status", "--porcelain"]));
        status.is_some_and(|output| output.status.success() && output.stdout.is_empty())
    }

    /// Lists the files that the run changed, those that git does not know yet left aside.
    pub(crate) fn changed(&self) -> Vec<String> {
        let Some(began) = &self.began else { return Vec::new() };
        // Who made git unable to tell has changed something.
        let Some(git) = self.plain() else { return vec![".git/config".to_owned()] };
        let output = git.output(&["diff", "--name-only", "-z", began]);
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default()
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn git(&self) -> Git {
        Git::at(&self.tree)
    }

    /// Returns git without the filters that the agent may have set: they would run outside of its walls.
    fn plain(&self) -> Option<Git> {
        self.git().without_filters()
    }

    fn create(&self, context: &Context, base: &str) -> Result<(), Refusal> {
        private_dir(&self.tree)?;
        let git = self.git().with("GIT_CEILING_DIRECTORIES", self.tree.as_os_str());
        let root = Git::at(&self.common);
        let format = root.line(&["rev-parse", "--show-object-format"]);
        let format = format!("--object-format={}", format.as_deref().unwrap_or("sha1"));
        if !does(&git, &["init", "--quiet", "--template=", &format, "."]) {
            return Err(could_not("make the work tree of the run"));
        }
        let own = self.tree.join(".git");
        let info = own.join("objects/info");
        private_dir(&info)?;
        let objects = format!("{}\n", self.common.join("objects").display());
        let alternates = info.join("alternates");
        std::fs::write(&alternates, objects).map_err(|error| failed(&alternates, &error))?;
        if self.common.join("shallow").exists() {
            let _ = plain_file::copy(&self.common.join("shallow"), &own.join("shallow"));
        }
        let project = context.root.dir.to_string_lossy().into_owned();
        let author = |name: &str| root.users_setting(name);
        let settings = [
            ("comity.root", Some(project)),
            ("gc.auto", Some("0".to_owned())),
            ("user.name", author("user.name").or_else(|| Some("comity".to_owned()))),
            ("user.email", author("user.email").or_else(|| Some("comity@localhost".to_owned()))),
        ];
        for (name, value) in settings {
            if let Some(value) = value {
                does(&git, &["config", name, &value]);
            }
        }
        let start = root.commit(&format!("refs/heads/{}", self.branch));
        let start = start.as_deref().unwrap_or(base);
        if !does(&git, &["checkout", "--quiet", "--force", "-B", &self.branch, start]) {
            return Err(could_not(&format!("check out {start}")));
        }
        self.include(&context.root.dir);
        Ok(())
    }

    /// Copies files of the project's checkout that git ignores and that `.worktreeinclude` names, as `.gitignore` names files.
    fn include(&self, project: &Path) {
        if !project.join(INCLUDED).is_file() {
            return;
        }
        let list = |rules: &str| {
            let args = ["ls-files", "-z", "--others", "--ignored", rules];
            let output = Git::at(project).output(&args).filter(|output| output.status.success());
            let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            text.unwrap_or_default().split('\0').map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let ignored = list("--exclude-standard");
        let named = list(&format!("--exclude-from={INCLUDED}"));
        for name in named.intersection(&ignored).filter(|name| !name.is_empty()) {
            let (from, to) = (project.join(name), self.tree.join(name));
            let is_plain = from.symlink_metadata().is_ok_and(|data| data.is_file());
            if let (true, Some(dir)) = (is_plain, to.parent()) {
                // A file that cannot be copied is one that the agent does without.
                let _ = std::fs::create_dir_all(dir).and_then(|()| std::fs::copy(&from, &to));
            }
        }
    }

    /// Goes on with the files that a run left which worked elsewhere, where nothing was committed after them.
    pub(crate) fn take_over(&self, run: &str) {
        let Some(git) = self.plain().filter(|_| self.is_clean()) else { return };
        let root = Git::at(&self.common);
        let Some(wip) = root.commit(&format!("refs/comity/run/{run}/wip")) else { return };
        if self.head().is_some() && root.commit(&format!("{wip}^")) == self.head() {
            does(&git, &["restore", "--source", &wip, "--worktree", "--", "."]);
        }
    }

    fn base_branches(&self, context: &Context, root: &Git) -> Vec<String> {
        let set = context.config.base_branch().map(str::to_owned);
        let known = ["main", "master"].map(str::to_owned);
        let wanted = set.into_iter().chain(known);
        let here = |name: &String| root.commit(&format!("refs/heads/{name}")).is_some();
        wanted.filter(here).take(1).collect()
    }

    pub(crate) fn head(&self) -> Option<String> {
        self.git().commit("HEAD")
    }

    /// Lists the commits since another one, the oldest first, with the first line of each message.
    pub(crate) fn commits_since(&self, last: Option<&str>) -> Vec<(String, String)> {
        let range = last.map_or_else(|| "HEAD".to_owned(), |last| format!("{last}..HEAD"));
        let args =
            ["log", "--reverse", "--first-parent", "--max-count=200", "--format=%H %s", &range];
        let output = self.git().output(&args).filter(|output| output.status.success());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let lines = text.unwrap_or_default();
        let pairs = lines.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(sha, subject)| (sha.to_owned(), subject.to_owned())).collect()
    }

    /// Keeps the files as they are now reachable in the work tree's repository.
    pub fn snapshot(&mut self) -> Kept {
        let Ok((commit, large)) = snapshot_within(&self.tree, &self.run, self.most) else {
            return Kept::default();
        };
        let left_out = large.into_iter().filter(|name| self.left_out.insert(name.clone()));
        let left_out = left_out.collect();
        Kept { is_new: self.keep(commit), left_out }
    }

    fn keep(&mut self, commit: String) -> bool {
        if self.wip.as_ref() == Some(&commit) {
            return false;
        }
        let name = format!("refs/comity/run/{}/wip", self.run);
        let kept = does(&self.git(), &["update-ref", &name, &commit]);
        self.wip = Some(commit);
        kept
    }

    pub(crate) fn wip(&self) -> Option<String> {
        self.wip.clone()
    }

    /// Brings what the run did into the project's repository: its head and its last snapshot under refs of the run, and its
    /// branch where that only moves it forward and nobody has it checked out.
    pub(crate) fn bring_home(&self) -> Result<Option<String>, Refusal> {
        self.keep_at_home()?;
        let root = Git::at(&self.common);
        let new = root.commit(&format!("refs/comity/run/{}/head", self.run));
        Ok(new.and_then(|new| forward(&root, &self.branch, &new)))
    }

    /// Brings the head and the last snapshot of the run into the project's repository, under refs of the run.
    pub(crate) fn keep_at_home(&self) -> Result<(), Refusal> {
        let root = Git::at(&self.common).with("GIT_ALLOW_PROTOCOL", "file");
        let run = &self.run;
        let tree = self.tree.to_string_lossy();
        let head = format!("+HEAD:refs/comity/run/{run}/head");
        let wip = format!("+refs/comity/run/{run}/wip:refs/comity/run/{run}/wip");
        let mut refs = vec![head.as_str()];
        if self.wip.is_some() {
            refs.push(&wip);
        }
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &tree];
        args.extend(refs);
        if !does(&root, &args) {
            return Err(could_not("bring the work of the run into the project's repository"));
        }
        Ok(())
    }
}

/// Moves a branch of the project forward. Says why it was not moved.
pub(crate) fn forward(root: &Git, branch: &str, new: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    let old = root.commit(&name);
    if old.as_deref() == Some(new) {
        return None;
    }
    if checked_out(root, branch) {
        return Some(format!("{branch} is checked out and was not moved"));
    }
    let forward =
        old.as_deref().is_none_or(|old| does(root, &["merge-base", "--is-ancestor", old, new]));
    let none = "0".repeat(new.len());
    let was = old.as_deref().unwrap_or(&none);
    if !forward || !does(root, &["update-ref", &name, new, was]) {
        return Some(format!("{branch} has other commits and was not moved"));
    }
    None
}

/// Tells whether some work tree has a branch checked out.
pub(crate) fn checked_out(root: &Git, branch: &str) -> bool {
    let listed = root.output(&["worktree", "list", "--porcelain"]);
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = format!("branch refs/heads/{branch}");
    listed.unwrap_or_default().lines().any(|known| known == line)
}

/// Returns the commit that a run begins with: what the caller named, else the tip of the base branch.
pub(crate) fn base_commit(context: &Context, named: Option<&str>) -> Result<String, Refusal> {
    let git = Git::at(&context.root.dir);
    if let Some(name) = named {
        return git.named_commit(name);
    }
    let set = context.config.base_branch();
    let names = set.into_iter().chain(["main", "master", "HEAD"]);
    names.map(|name| git.commit(name)).find_map(|found| found).ok_or_else(|| {
        could_not("find a commit to begin with").hint("commit something first, or name a commit")
    })
}

/// Returns what a run changed: its files as they are now while it lives, else as they were kept last.
pub fn diff(context: &Context, run: &RunView) -> Result<String, Refusal> {
    let nothing =
        || could_not("find what the run changed").hint("a run on another host shows it there");
    let id = run.id.clone().unwrap_or_default();
    let base = run.base.clone().unwrap_or_else(|| "HEAD".to_owned());
    let tree = run.workspace.as_ref().map(PathBuf::from).filter(|tree| tree.join(".git").is_dir());
    let root = Git::at(&context.root.dir);
    let kept = |what: &str| root.commit(&format!("refs/comity/run/{id}/{what}"));
    let output = match tree.filter(|_| run.state.is_live()) {
        Some(tree) => {
            // What git does not know yet is shown, too.
            let now = snapshot(&tree, &id)?;
            Git::at(&tree).output(&["diff", &base, &now])
        }
        None => {
            let last = kept("wip").or_else(|| kept("head")).ok_or_else(nothing)?;
            root.output(&["diff", &base, &last])
        }
    };
    let output = output.filter(|output| output.status.success()).ok_or_else(nothing)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
