//! The base branch, which work is merged into, and what is checked out.

use crate::git::Git;
use comity_core::observed::ClaimSeen;
use comity_core::refusal::Refusal;

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
        let mut found = commits(git, &wanted).into_iter();
        let (head, remote) = (found.next().flatten(), found.next().flatten());
        let usual = found.flatten().next();
        if let (Some(name), None, Some(_)) = (set, &usual, &head) {
            let message = format!("[project] base is {name:?}, but there is no such branch here");
            return Err(
                Refusal::input(message).hint("set [project] base to a branch of this repository")
            );
        }
        let default = remote.filter(|_| set.is_none()).and_then(|tip| remote_default(git, tip));
        Ok(Standing { head, base: default.or(usual) })
    }

    /// Returns what a claim that is made now begins with.
    pub(crate) fn claim(&self, git: &Git) -> Option<ClaimSeen> {
        let base = self.base.clone().or_else(|| self.head.clone());
        let base = base.or_else(|| empty_tree(git))?;
        Some(ClaimSeen { base, head: self.head.clone() })
    }
}

/// The refs of a branch, the local one first.
fn places(name: &str) -> [String; 2] {
    [format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")]
}

/// The remote's default branch: the local branch of that name, else what the remote has.
fn remote_default(git: &Git, tip: String) -> Option<String> {
    let name = git.line(&["symbolic-ref", "--quiet", REMOTE_HEAD])?;
    let name = name.strip_prefix("refs/remotes/origin/")?;
    git.commit(&format!("refs/heads/{name}")).or(Some(tip))
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
