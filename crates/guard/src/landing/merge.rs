//! Making the commit that has the work: from objects alone, without a work tree.

use crate::git::{Git, OwnDir, version};
use comity_api::Strategy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_project::Environment;

/// `git merge-tree --write-tree` came with this version.
const MERGES_SINCE: (u32, u32) = (2, 38);
/// Its option for the base of the merge came with this one.
const REPLAYS_SINCE: (u32, u32) = (2, 40);
/// Who merges where git does not know the user.
const NOBODY: (&str, &str) = ("comity", "comity@localhost");
/// Commits that are replayed at most.
const REPLAYED_MAX: usize = 1_000;
/// Subjects that the message of one commit for many lists.
const LISTED_MAX: usize = 50;

/// What became of an attempt to merge.
pub(super) enum Merged {
    /// The commit that has the work.
    Commit(String),
    /// The paths that both sides changed.
    Conflict(Vec<String>),
}

/// A merge that is to be made.
pub(super) struct Merge<'a> {
    pub git: Git,
    pub task: &'a Task,
    /// The tip of the branch.
    pub base: &'a str,
    /// The submitted commit.
    pub work: &'a str,
    /// The name of the branch, for messages.
    pub branch: &'a str,
}

/// Refuses what this git cannot do.
pub(super) fn check_version(strategy: Strategy) -> Result<(), Refusal> {
    let wanted = if strategy == Strategy::Rebase { REPLAYS_SINCE } else { MERGES_SINCE };
    match version() {
        Some(found) if found >= wanted => Ok(()),
        found => {
            let found =
                found.map_or("none".to_owned(), |(major, minor)| format!("{major}.{minor}"));
            let (major, minor) = wanted;
            let message = format!("landing needs git {major}.{minor} or newer; this is {found}");
            Err(Refusal::new(Code::CouldNotRun, message)
                .hint("update git, or merge by hand and finish the task then"))
        }
    }
}

/// Returns git as the user who merges. What the environment says comes first, as for git itself.
pub(super) fn as_user(git: Git, environment: &Environment) -> Git {
    let (name, email) = NOBODY;
    let set = |key: &str| git.users_setting(key).is_some();
    let (has_name, has_email) = (set("user.name"), set("user.email"));
    let mut git = git;
    for (variable, is_set, otherwise) in [
        ("GIT_AUTHOR_NAME", has_name, name),
        ("GIT_AUTHOR_EMAIL", has_email, email),
        ("GIT_COMMITTER_NAME", has_name, name),
        ("GIT_COMMITTER_EMAIL", has_email, email),
    ] {
        match environment.own(variable) {
            Some(value) => git = git.with(variable, value),
            None if !is_set => git = git.with(variable, otherwise),
            None => {}
        }
    }
    git
}

impl Merge<'_> {
    pub fn make(&self, strategy: Strategy) -> Result<Merged, Refusal> {
        match strategy {
            Strategy::Merge => self.joined(),
            Strategy::Squash => self.squashed(),
            Strategy::Rebase => self.replayed(),
        }
    }

    fn joined(&self) -> Result<Merged, Refusal> {
        let tree = match self.tree(&[self.base, self.work])? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Merged::Conflict(paths)),
        };
        let Task { id, title, .. } = self.task;
        let message = format!("Merge {id}: {title}\n\nInto {}.\n", self.branch);
        self.commit(&self.git, &tree, &[self.base, self.work], &message)
    }

    /// One commit with the author of the work. The message of a single commit is kept.
    fn squashed(&self) -> Result<Merged, Refusal> {
        let tree = match self.tree(&[self.base, self.work])? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Merged::Conflict(paths)),
        };
        let range = format!("{}..{}", self.base, self.work);
        let subjects = self.git.lines(&["log", "--reverse", "--no-merges", "--format=%s", &range]);
        let message = match subjects.as_slice() {
            [_] => self.message_of(self.work)?,
            many => {
                let list: String =
                    many.iter().take(LISTED_MAX).map(|line| format!("- {line}\n")).collect();
                format!("{} ({})\n\n{list}", self.task.title, self.task.id)
            }
        };
        self.commit(&self.by_author_of(self.work)?, &tree, &[self.base], &message)
    }

    /// Each commit anew on top of the branch. One that changes nothing there any more is left out.
    fn replayed(&self) -> Result<Merged, Refusal> {
        let range = format!("{}..{}", self.base, self.work);
        let merges = self.git.lines(&["rev-list", "--merges", "--max-count=1", &range]);
        let all = self.git.lines(&["rev-list", "--reverse", "--topo-order", &range]);
        if !merges.is_empty() || all.len() > REPLAYED_MAX {
            let why = if merges.is_empty() { "too many commits" } else { "merge commits" };
            return Err(Refusal::new(
                Code::CouldNotRun,
                format!("{} has {why}, which cannot be replayed", self.task.id),
            )
            .hint("use another strategy: merge or squash"));
        }
        let mut onto = self.base.to_owned();
        for commit in all {
            let parent = self.git.commit(&format!("{commit}^")).ok_or_else(|| failed("replay"))?;
            if parent == onto {
                onto = commit;
                continue;
            }
            let from = format!("--merge-base={parent}");
            let tree = match self.tree(&[&from, &onto, &commit])? {
                Ok(tree) => tree,
                Err(paths) => return Ok(Merged::Conflict(paths)),
            };
            if self.git.line(&["rev-parse", &format!("{onto}^{{tree}}")]).as_ref() == Some(&tree) {
                continue;
            }
            let message = self.message_of(&commit)?;
            match self.commit(&self.by_author_of(&commit)?, &tree, &[&onto], &message)? {
                Merged::Commit(made) => onto = made,
                conflict @ Merged::Conflict(_) => return Ok(conflict),
            }
        }
        Ok(Merged::Commit(onto))
    }

    /// Merges two commits; returns the tree, or the paths that both changed.
    fn tree(&self, what: &[&str]) -> Result<Result<String, Vec<String>>, Refusal> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
        // Without settings there is no merge driver, whatever the attributes say.
        let own = OwnDir::of(&self.git, &[]).ok_or_else(|| failed("merge"))?;
        let output = own.git.output(&[&args[..], what].concat()).ok_or_else(|| failed("merge"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut names = text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned);
        let tree = names.next();
        match (output.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Ok(tree)),
            (Some(1), Some(_)) => Ok(Err(names.collect())),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let said = said.lines().next().unwrap_or_default().to_owned();
                Err(Refusal::new(Code::Unobserved, format!("git could not merge: {said}")))
            }
        }
    }

    fn commit(
        &self,
        git: &Git,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<Merged, Refusal> {
        let mut args = vec!["commit-tree", "--no-gpg-sign", tree];
        args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
        args.extend(["-F", "-"]);
        let output = git.fed(&args, message).filter(|output| output.status.success());
        let made = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        made.map(Merged::Commit).ok_or_else(|| failed("make the commit"))
    }

    fn message_of(&self, commit: &str) -> Result<String, Refusal> {
        let output = self.git.output(&["show", "--no-patch", "--format=%B", commit]);
        let output = output.filter(|output| output.status.success());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.ok_or_else(|| failed("read a message"))
    }

    fn by_author_of(&self, commit: &str) -> Result<Git, Refusal> {
        let format = "--format=%an%n%ae%n%aI";
        let lines = self.git.lines(&["show", "--no-patch", format, commit]);
        let [name, email, date] = lines.as_slice() else { return Err(failed("read an author")) };
        let git = self.git.clone().with("GIT_AUTHOR_NAME", name).with("GIT_AUTHOR_EMAIL", email);
        Ok(git.with("GIT_AUTHOR_DATE", date))
    }
}

fn failed(what: &str) -> Refusal {
    Refusal::new(Code::Internal, format!("git could not {what}"))
}
