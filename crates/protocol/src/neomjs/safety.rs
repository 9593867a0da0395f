//! The protocol's safety rules, as far as text can say: what may be pushed. What may be deleted is for the guard,
//! which sees the diff.

use comity_core::pattern::{Pattern, RepoPath};

pub const PROTECTED: [&str; 2] = ["main", "master"];

/// One ref of a push, as git tells its `pre-push` hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The ref here; `(delete)` when the one there goes away.
    pub local: String,
    /// The commit here; nothing but zeros when the one there goes away.
    pub commit: String,
    pub remote: String,
}

/// Reads what git writes to its hook: local ref, local commit, remote ref, remote commit. Lines of another form are
/// given back, so that nothing passes unseen.
pub fn read_pushes(text: &str) -> Result<Vec<Push>, String> {
    let mut pushes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [local, commit, remote, _] => {
                let [local, commit, remote] =
                    [local, commit, remote].map(|word| (*word).to_owned());
                pushes.push(Push { local, commit, remote });
            }
            _ => return Err(line.to_owned()),
        }
    }
    Ok(pushes)
}

impl Push {
    pub fn branch(&self) -> Option<&str> {
        self.remote.strip_prefix("refs/heads/")
    }
}

/// Tells whether a text can name branches: one, or by a glob several.
pub fn is_pattern(text: &str) -> Result<(), String> {
    Pattern::parse(text).map(|_| ()).map_err(|error| format!("{text:?}: {error}"))
}

/// A name without a glob is that branch only, not the ones below it.
fn names(pattern: &str, branch: &str) -> bool {
    let has_glob = pattern.contains(['*', '?', '[', '{']);
    let covers = || Some(Pattern::parse(pattern).ok()?.covers(&RepoPath::parse(branch).ok()?));
    pattern == branch || (has_glob && covers() == Some(true))
}

pub fn protected_pushes<'a>(pushes: &'a [Push], protected: &[String]) -> Vec<&'a str> {
    let branch = |push: &'a Push| push.branch().unwrap_or(&push.remote);
    let is_protected = |branch: &&str| protected.iter().any(|pattern| names(pattern, branch));
    pushes.iter().map(branch).filter(is_protected).collect()
}
