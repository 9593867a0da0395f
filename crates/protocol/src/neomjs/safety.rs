//! The protocol's safety rules, as far as text can say: what may be pushed. What may be deleted is for the guard,
//! which sees the diff.

/// Branches that agents never push to.
pub const PROTECTED: [&str; 2] = ["main", "master"];

/// One ref of a push, as git tells its `pre-push` hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The ref here; `(delete)` when the one there goes away.
    pub local: String,
    /// The ref there.
    pub remote: String,
}

/// Reads what git writes to its hook: local ref, local commit, remote ref, remote commit. Lines of another form are
/// given back, so that nothing passes unseen.
pub fn read_pushes(text: &str) -> Result<Vec<Push>, String> {
    let mut pushes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [local, _, remote, _] => {
                pushes.push(Push { local: (*local).to_owned(), remote: (*remote).to_owned() });
            }
            _ => return Err(line.to_owned()),
        }
    }
    Ok(pushes)
}

/// Returns the protected branches that a push would change.
pub fn protected_pushes<'a>(pushes: &'a [Push], protected: &[String]) -> Vec<&'a str> {
    let branch = |push: &'a Push| push.remote.strip_prefix("refs/heads/").unwrap_or(&push.remote);
    let is_protected = |name: &&str| protected.iter().any(|other| other == name);
    pushes.iter().map(branch).filter(is_protected).collect()
}
