//! What the land rule has to see: what a round changed, what a merge added, and what was changed before it was leased.

use crate::base_branch::Standing;
use crate::git::{Git, WorkTree};
use crate::span;
use comity_core::ids::AgentId;
use comity_core::observed::{FileChange, LeaseSeen};
use comity_core::pattern::spell_path;
use comity_core::task::Task;
use comity_project::git::{Index, Refs, Staged};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Commits of the base branch that are searched for the one that brought the work.
const MERGES_MAX: &str = "--max-count=100000";

/// Lists the names that differ between two commits; none when git cannot tell.
pub(crate) fn names(git: &Git, from: &str, to: &str) -> Option<BTreeSet<String>> {
    let args =
        ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", from, to];
    let output = git.output(&args).filter(|output| output.status.success())?;
    Some(spelled(&output.stdout))
}

pub(crate) fn spelled(listed: &[u8]) -> BTreeSet<String> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(spell_path).collect()
}

/// Returns which files of the work are as they were when it was handed in last.
pub(crate) fn as_submitted(
    git: &Git,
    task: &Task,
    commit: &str,
    files: &[FileChange],
) -> BTreeSet<String> {
    let last = task.handed_in.as_ref().and_then(|round| round.commit.as_deref());
    let Some(changed) = last.and_then(|last| names(git, last, commit)) else {
        return BTreeSet::new();
    };
    let all = files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
    all.filter(|path| !changed.contains(*path)).cloned().collect()
}

/// Lists what the merge that brought a commit changes beyond it. A merge is judged by its difference to its first parent;
/// commits that came without a merge are those that were handed in. None when git cannot tell.
pub(crate) fn added_by_merge(git: &Git, submitted: &str, merged: &str) -> Option<Vec<String>> {
    let has = |commit: &str| git.does(&["merge-base", "--is-ancestor", submitted, commit]);
    let nothing = Some(Vec::new());
    if !has(merged) {
        return nothing;
    }
    let range = format!("{submitted}..{merged}");
    let line = git.lines(&["rev-list", "--first-parent", MERGES_MAX, "--end-of-options", &range]);
    // The newest come first, and all that have the work come before all that have not.
    let with_it = line.partition_point(|commit| has(commit));
    let Some(merge) = with_it.checked_sub(1).and_then(|at| line.get(at)) else { return nothing };
    let parent = git.commit(&format!("{merge}^1"))?;
    if has(&parent) {
        return nothing;
    }
    let fork = git.line(&["merge-base", &parent, submitted])?;
    let (brought, work) = (names(git, &parent, merge)?, names(git, &fork, submitted)?);
    Some(brought.difference(&work).cloned().collect())
}

/// A claim whose work a lease may be for, where its files are.
struct Place<'l> {
    task: &'l Task,
    tree: PathBuf,
}

/// Looks whether files that are about to be leased were changed already: where the caller is, where the task was claimed,
/// and on the task's branch. What cannot be seen counts as changed.
pub(crate) fn lease_seen(
    tree: &Path,
    base: Option<&str>,
    rounds: &[Task],
    host: Option<&str>,
    patterns: &[String],
    owner: &AgentId,
) -> LeaseSeen {
    let is_own = |task: &&Task| {
        let claim = task.claim.as_ref();
        claim.is_some_and(|claim| claim.agent == *owner && claim.base.is_some())
    };
    let mut own = rounds.iter().filter(is_own);
    let (Some(task), None) = (own.next(), own.next()) else {
        return LeaseSeen {
            is_ambiguous: rounds.iter().filter(is_own).count() > 1,
            ..Default::default()
        };
    };
    let claim = task.claim.as_ref();
    let elsewhere = claim
        .filter(|claim| claim.host.as_deref() == host)
        .and_then(|claim| claim.workspace.as_ref())
        .map(PathBuf::from)
        .filter(|there| there != tree && there.is_dir());
    let mut changed = BTreeSet::new();
    for tree in std::iter::once(tree.to_owned()).chain(elsewhere) {
        match changed_at(&Place { task, tree }, base, patterns) {
            Some(found) => changed.extend(found),
            None => return LeaseSeen { is_ambiguous: true, ..LeaseSeen::default() },
        }
    }
    LeaseSeen { changed: changed.into_iter().collect(), is_ambiguous: false }
}

fn head(tree: &Path) -> Option<String> {
    Refs::of(tree)?.commit("HEAD")
}

/// Tells whether files are surely as a commit has them, staged and in the work tree. One process of git says what the commit has, and
/// git's files say the rest; where they leave a doubt, the answer is no, and git has to look at the work tree.
fn is_as_begun(tree: &Path, begin: &str, paths: &[String]) -> bool {
    // A name that can be spelled in two ways may be another file, too.
    if paths.is_empty() || !paths.iter().all(|path| path.is_ascii()) {
        return false;
    }
    let Some(index) = Index::of(tree, begin.len()) else { return false };
    let staged: Option<Vec<_>> = paths.iter().map(|path| index.same(tree, path)).collect();
    let Some(staged) = staged else { return false };
    let args = ["ls-tree", "-z", "--full-tree", "--end-of-options", begin];
    let args: Vec<&str> = args.into_iter().chain(paths.iter().map(String::as_str)).collect();
    let Some(output) = Git::at(tree).output(&args).filter(|output| output.status.success()) else {
        return false;
    };
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut had: BTreeMap<&str, Staged> = BTreeMap::new();
    for (about, path) in listed.split('\0').filter_map(|entry| entry.split_once('\t')) {
        let mut words = about.split(' ');
        let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        had.insert(path, Staged { mode: mode.to_owned(), id: id.to_owned() });
    }
    paths.iter().zip(&staged).all(|(path, staged)| had.get(path.as_str()) == staged.as_ref())
}

fn changed_at(
    place: &Place<'_>,
    base: Option<&str>,
    patterns: &[String],
) -> Option<BTreeSet<String>> {
    let git = Git::at(&place.tree);
    let begin = place.task.claim.as_ref()?.base.as_deref()?;
    let last = place.task.handed_in.as_ref().and_then(|round| round.commit.as_deref());
    let literal = patterns.iter().all(|text| !text.contains(['*', '?', '[', '{', ']', '}']));
    let only: &[String] = if literal { patterns } else { &[] };
    let tip = place.task.branch.as_deref().and_then(|branch| git.branch_commit(branch));
    let is_all = |head: Option<&String>| {
        tip.as_deref().is_none_or(|tip| tip == begin || head.is_some_and(|head| head == tip))
    };
    // A file that is as it was at the claim needs no further question.
    if literal && is_all(head(&place.tree).as_ref()) && is_as_begun(&place.tree, begin, only) {
        return Some(BTreeSet::new());
    }
    let files = WorkTree::of(&place.tree)?;
    let mut changed = files.differs_from(begin, only)?;
    if changed.is_empty() && is_all(files.head.as_ref()) {
        return Some(changed);
    }
    let standing = Standing::of(&git, base).ok()?;
    let from = |tip: Option<&str>| span::begin(&git, tip, begin, standing.base.as_deref());
    let here = from(files.head.as_deref())?;
    if here != begin {
        changed = files.differs_from(&here, only)?;
    }
    if let Some(last) = last {
        let since = files.differs_from(last, only)?;
        changed.retain(|path| since.contains(path));
    }
    if let Some(tip) = place.task.branch.as_deref().and_then(|branch| git.branch_commit(branch)) {
        let mut committed = names(&git, &from(Some(&tip))?, &tip)?;
        if let Some(last) = last {
            let since = names(&git, last, &tip)?;
            committed.retain(|path| since.contains(path));
        }
        changed.extend(committed);
    }
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new(format: &str) -> Repository {
            let made = Repository(tempfile::tempdir().unwrap());
            made.git(&[
                "init",
                "--quiet",
                "--initial-branch=main",
                &format!("--object-format={format}"),
            ]);
            for name in ["a", "src/b", "src/c", "src/run"] {
                made.write(name, "one\n");
            }
            made.git(&["add", "--all"]);
            made.git(&["update-index", "--chmod=+x", "src/run"]);
            made.git(&["commit", "--quiet", "--message", "one"]);
            made.git(&["checkout", "--quiet", "--", "."]);
            made
        }

        fn git(&self, args: &[&str]) -> String {
            let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            let output = Git::at(self.0.path()).output(&[&who, args].concat()).unwrap();
            assert!(
                output.status.success(),
                "{args:?} {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        /// Writes a file as if a while ago: what is as young as the index is doubtful.
        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            let file = File::options().append(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
        }

        /// What is surely as a commit has it is so by git, too; returns whether git needed not be asked.
        fn is_sure(&self, commit: &str, path: &str) -> bool {
            let paths = [path.to_owned()];
            let sure = is_as_begun(self.0.path(), commit, &paths);
            let files = WorkTree::of(self.0.path()).unwrap();
            let differs = files.differs_from(commit, &paths).unwrap();
            assert!(!sure || differs.is_empty(), "{path}: {differs:?}");
            sure
        }
    }

    #[test]
    fn a_file_that_is_as_it_was_begun_is_known_without_looking_at_the_work_tree() {
        for format in ["sha1", "sha256"] {
            let it = Repository::new(format);
            let begin = it.git(&["rev-parse", "HEAD"]);
            let all = |it: &Repository| {
                ["a", "src/b", "new", "src/new/er"].map(|path| it.is_sure(&begin, path))
            };
            assert_eq!(all(&it), [true; 4], "{format}");
            for version in ["3", "4", "2"] {
                it.git(&["update-index", "--index-version", version]);
                assert_eq!(all(&it), [true; 4], "{format} {version}");
            }
            for (flag, back) in [
                ("--assume-unchanged", "--no-assume-unchanged"),
                ("--skip-worktree", "--no-skip-worktree"),
            ] {
                it.git(&["update-index", flag, "a"]);
                assert_eq!(all(&it), [false, true, true, true], "{flag}");
                it.git(&["update-index", back, "a"]);
            }
            it.git(&["update-index", "--split-index"]);
            assert_eq!(all(&it), [false; 4], "a split index");
            it.git(&["update-index", "--no-split-index"]);
            assert_eq!(all(&it), [true; 4]);
            assert!(
                !it.is_sure(&begin, "src")
                    && !it.is_sure(&begin, "src/")
                    && !it.is_sure(&begin, "a/x")
            );
            // A later commit changes another file only.
            it.write("src/c", "two or three\n");
            it.git(&["commit", "--quiet", "--all", "--message", "two"]);
            assert!(it.is_sure(&begin, "a") && !it.is_sure(&begin, "src/c"));
        }
    }

    #[test]
    fn whatever_happened_to_a_file_is_looked_at() {
        let it = Repository::new("sha1");
        let begin = it.git(&["rev-parse", "HEAD"]);
        it.write("a", "two\n");
        assert!(!it.is_sure(&begin, "a"), "written");
        it.git(&["add", "a"]);
        assert!(!it.is_sure(&begin, "a"), "staged");
        it.write("a", "one\n");
        assert!(!it.is_sure(&begin, "a"), "staged, and put back");
        std::fs::remove_file(it.0.path().join("src/b")).unwrap();
        assert!(!it.is_sure(&begin, "src/b"), "removed");
        it.git(&["rm", "--quiet", "--cached", "src/c"]);
        assert!(!it.is_sure(&begin, "src/c"), "removed from the index");
        it.write("new", "one\n");
        assert!(!it.is_sure(&begin, "new"), "new");
        let run = it.0.path().join("src/run");
        std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        assert!(!it.is_sure(&begin, "src/run"), "not to be run any more");
        it.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{begin},lib")]);
        assert!(!it.is_sure(&begin, "lib/x") && !it.is_sure(&begin, "lib"), "a submodule");
    }
}
