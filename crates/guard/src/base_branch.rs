//! The base branch, which work is merged into, and what is checked out.

use crate::git::Git;
use comity_core::observed::ClaimSeen;
use comity_core::refusal::Refusal;
use comity_project::git::Refs;

/// Names that a base branch has where nothing else says which it is.
const USUAL: [&str; 2] = ["main", "master"];
const REMOTE_HEAD: &str = "refs/remotes/origin/HEAD";

/// Where a repository stands.
#[derive(Debug)]
pub struct Standing {
    /// The commit that is checked out; none in a repository without a commit.
    pub head: Option<String>,
    /// The tip of the base branch; none where there is no such branch.
    pub base: Option<String>,
}

impl Standing {
    /// Looks at a repository. The base branch is the one that is set, else the remote's default, `main` or `master`; its tip is
    /// that of the local branch, else the remote's.
    pub fn of(git: &Git, set: Option<&str>) -> Result<Standing, Refusal> {
        let names: Vec<&str> = set.map_or_else(|| USUAL.to_vec(), |name| vec![name]);
        let mut wanted = vec!["HEAD".to_owned(), REMOTE_HEAD.to_owned()];
        wanted.extend(names.iter().flat_map(|name| places(name)));
        // A process of git costs more than a whole claim: it is asked only where its files do not say.
        let refs = Refs::of(git.dir());
        let mut found = match &refs {
            Some(refs) => wanted.iter().map(|name| refs.commit(name)).collect(),
            None => commits(git, &wanted),
        }
        .into_iter();
        let (head, remote) = (found.next().flatten(), found.next().flatten());
        let usual = found.flatten().next();
        if let (Some(name), None, Some(_)) = (set, &usual, &head) {
            let message = format!("[project] base is {name:?}, but there is no such branch here");
            return Err(
                Refusal::input(message).hint("set [project] base to a branch of this repository")
            );
        }
        let default = remote
            .filter(|_| set.is_none())
            .and_then(|tip| remote_default(git, refs.as_ref(), tip));
        Ok(Standing { head, base: default.or(usual) })
    }

    /// Returns what a claim that is made now begins with.
    pub(crate) fn claim(&self, git: &Git) -> Option<ClaimSeen> {
        let base = self.base.clone().or_else(|| self.head.clone());
        let base = base.or_else(|| empty_tree(git))?;
        Some(ClaimSeen { base, head: self.head.clone() })
    }
}

/// Returns the name of the base branch where the settings have none.
pub(crate) fn name(git: &Git) -> Option<String> {
    let remote = git.line(&["symbolic-ref", "--quiet", REMOTE_HEAD]);
    let remote =
        remote.and_then(|name| Some(name.strip_prefix("refs/remotes/origin/")?.to_owned()));
    let usual = || USUAL.iter().find(|name| git.branch_commit(name).is_some());
    remote.or_else(|| usual().map(|name| (*name).to_owned()))
}

/// The refs of a branch, the local one first.
fn places(name: &str) -> [String; 2] {
    [format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")]
}

/// The remote's default branch: the local branch of that name, else what the remote has.
fn remote_default(git: &Git, refs: Option<&Refs>, tip: String) -> Option<String> {
    let name = match refs {
        Some(refs) => refs.target(REMOTE_HEAD),
        None => git.line(&["symbolic-ref", "--quiet", REMOTE_HEAD]),
    }?;
    let local = format!("refs/heads/{}", name.strip_prefix("refs/remotes/origin/")?);
    let here = match refs {
        Some(refs) => refs.commit(&local),
        None => git.commit(&local),
    };
    here.or(Some(tip))
}

/// Returns the commit of each name, all by one call of git.
fn commits(git: &Git, names: &[String]) -> Vec<Option<String>> {
    let input: String = names.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
    let output = git.fed(&["cat-file", "--batch-check=%(objectname)"], &input);
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let read = |line: &str| (!line.contains(' ')).then(|| line.to_owned());
    let mut found: Vec<Option<String>> = text.unwrap_or_default().lines().map(read).collect();
    found.resize(names.len(), None);
    found
}

fn empty_tree(git: &Git) -> Option<String> {
    let output = git.fed(&["hash-object", "-t", "tree", "--stdin"], "")?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The files and git itself have to say the same, in every form that refs are kept in.
    fn agree(tree: &Path, set: Option<&str>) -> Standing {
        let git = Git::at(tree);
        let read = Standing::of(&git, set).unwrap();
        // A directory below the top has no `.git`, so that git is asked.
        let below = tree.join("below");
        std::fs::create_dir_all(&below).unwrap();
        assert!(Refs::of(&below).is_none());
        let asked = Standing::of(&Git::at(&below), set).unwrap();
        assert_eq!((&read.head, &read.base), (&asked.head, &asked.base));
        read
    }

    fn git(tree: &Path, args: &[&str]) -> String {
        let output = Git::at(tree)
            .output(&[&["-c", "user.name=x", "-c", "user.email=x@example.org"], args].concat());
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(tree: &Path) -> String {
        git(tree, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
        git(tree, &["rev-parse", "HEAD"])
    }

    #[test]
    fn refs_that_are_read_from_files_are_what_git_says() {
        for format in ["files", "reftable"] {
            let dir = tempfile::tempdir().unwrap();
            let tree = dir.path().join("tree");
            std::fs::create_dir(&tree).unwrap();
            let made = Git::at(&tree).does(&[
                "init",
                "--quiet",
                "--initial-branch=main",
                &format!("--ref-format={format}"),
            ]);
            if !made {
                assert_eq!(format, "reftable", "git makes no repository");
                continue;
            }
            assert_eq!(Refs::of(&tree).is_some(), format == "files");
            assert_eq!(agree(&tree, None).head, None, "there is no commit yet");
            let first = commit(&tree);
            assert_eq!(agree(&tree, None).base.as_ref(), Some(&first));
            git(&tree, &["switch", "--quiet", "--create", "feat/T1-x"]);
            let second = commit(&tree);
            git(&tree, &["pack-refs", "--all"]);
            let packed = agree(&tree, None);
            assert_eq!((packed.head.as_ref(), packed.base.as_ref()), (Some(&second), Some(&first)));
            // A loose ref wins over the packed one.
            let third = commit(&tree);
            assert_eq!(agree(&tree, Some("feat/T1-x")).base.as_ref(), Some(&third));
            git(&tree, &["update-ref", "refs/remotes/origin/trunk", &second]);
            git(&tree, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
            assert_eq!(
                agree(&tree, None).base.as_ref(),
                Some(&second),
                "the remote's default branch"
            );
            git(&tree, &["branch", "trunk", &third]);
            assert_eq!(agree(&tree, None).base.as_ref(), Some(&third), "the local one goes first");
            git(&tree, &["switch", "--quiet", "--detach", &first]);
            assert_eq!(agree(&tree, None).head.as_ref(), Some(&first));
            let linked = dir.path().join("linked");
            git(&tree, &["worktree", "add", "--quiet", linked.to_str().unwrap(), "trunk"]);
            assert_eq!(agree(&linked, None).head.as_ref(), Some(&third));
            if let Some(refs) = Refs::of(&tree) {
                let real = |path: &Path| std::fs::canonicalize(path).unwrap();
                assert_eq!(
                    refs.holder("refs/heads/trunk").map(|at| real(&at)),
                    Some(real(&linked))
                );
                assert_eq!(refs.holder("refs/heads/main"), None);
                assert_eq!(refs.commit("refs/heads/../../HEAD"), None);
            }
        }
    }
}
