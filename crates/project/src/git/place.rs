//! Where a repository is: its own directory, the one its worktrees share, and its work trees.

use super::ini::Ini;
use std::path::{Path, PathBuf};

/// A repository as seen from one directory.
#[derive(Clone, Debug)]
pub struct Place {
    /// The top of the work tree that the caller is in.
    pub work_tree: Option<PathBuf>,
    /// The directory that all linked worktrees share.
    pub common_dir: PathBuf,
    /// Whether only the looks of the directory make it a repository: it is not called `.git`, and nothing points to it.
    /// A repository can bring such a directory along as files of its own.
    pub by_looks: bool,
}

impl Place {
    /// Looks for a repository at exactly this directory.
    pub fn at(dir: &Path) -> Option<Place> {
        let dot_git = dir.join(".git");
        if let Ok(text) = super::read(&dot_git) {
            let git_dir = dir.join(text.trim().strip_prefix("gitdir:")?.trim());
            let common_dir = tidy(&common_dir(&git_dir)?);
            return Some(Place { work_tree: Some(dir.to_owned()), common_dir, by_looks: false });
        }
        if is_git_dir(&dot_git) {
            let work_tree = Some(dir.to_owned());
            return Some(Place { work_tree, common_dir: dot_git, by_looks: false });
        }
        // Inside a repository's own directory, or in a bare one.
        if is_git_dir(dir) {
            let is_named = dir.ends_with(".git");
            let work_tree = dir.parent().filter(|_| is_named).map(Path::to_owned);
            return Some(Place { work_tree, common_dir: dir.to_owned(), by_looks: !is_named });
        }
        None
    }

    /// Finds the repository that a directory is in. What only looks like a bare repository and lies in a work tree
    /// is data of that work tree.
    pub fn around<'d>(dirs: impl Iterator<Item = &'d Path>) -> Option<Place> {
        let mut places = dirs.filter_map(Place::at);
        let first = places.next()?;
        if !first.by_looks {
            return Some(first);
        }
        Some(places.find(|place| !place.by_looks).unwrap_or(first))
    }

    /// Reads the shared configuration, which the user wrote. An included file may be the repository's own, so what
    /// decides where comity works is never taken from one.
    pub fn config(&self) -> Ini {
        Ini::read(&self.common_dir.join("config"))
    }

    /// Reads the shared configuration with the files that it includes.
    fn config_with_includes(&self) -> Ini {
        Ini::read_with_includes(&self.common_dir.join("config"), None)
    }

    /// Returns the work tree that owns the shared directory; a bare repository is its own.
    pub fn main_tree(&self, config: &Ini) -> PathBuf {
        if self.common_dir.ends_with(".git")
            && let Some(parent) = self.common_dir.parent()
        {
            return parent.to_owned();
        }
        if let Some(tree) = config.get("core", "worktree") {
            return tidy(&self.common_dir.join(tree));
        }
        let bare = config.get("core", "bare") == Some("true");
        match &self.work_tree {
            Some(tree) if !bare && !self.is_linked(tree) => tree.clone(),
            _ => self.common_dir.clone(),
        }
    }

    pub fn linked_trees(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.common_dir.join("worktrees")) else {
            return Vec::new();
        };
        let top = |entry: std::fs::DirEntry| {
            let text = super::read(&entry.path().join("gitdir")).ok()?;
            let dot_git = entry.path().join(text.trim());
            dot_git.parent().map(tidy)
        };
        entries.flatten().filter_map(top).collect()
    }

    fn is_linked(&self, tree: &Path) -> bool {
        self.linked_trees().iter().any(|linked| linked == tree)
    }
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    match super::read(&git_dir.join("commondir")) {
        Ok(text) => Some(git_dir.join(text.trim())),
        Err(_) => git_dir.is_dir().then(|| git_dir.to_owned()),
    }
}

/// Resolves `..` and links where the directory exists, so that every worktree says the same.
fn tidy(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns `owner/name` of the remote `origin`, or of the only remote there is.
pub fn remote_name(place: &Place) -> Option<String> {
    let url = remote_url(&place.config()).or_else(|| remote_url(&place.config_with_includes()))?;
    owner_and_name(&url)
}

fn remote_url(config: &Ini) -> Option<String> {
    let names = config.names("remote");
    let only = names.first().filter(|first| names.iter().all(|name| name == *first));
    let url = config
        .get("remote.origin", "url")
        .or_else(|| only.and_then(|name| config.get(&format!("remote.{name}"), "url")));
    url.map(str::to_owned)
}

/// Reads `owner/name` out of a remote's URL; a path on this machine has no owner.
fn owner_and_name(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || host.len() < 2 {
                return None;
            }
            path
        }
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owners, name) = path.rsplit_once('/')?;
    let owner = owners.rsplit('/').next()?;
    (!owner.is_empty() && !name.is_empty()).then(|| format!("{owner}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::owner_and_name;

    #[test]
    fn a_remote_gives_owner_and_name() {
        for url in [
            "git@github.com:ann/tool.git",
            "https://github.com/ann/tool",
            "https://github.com/ann/tool.git/",
            "ssh://git@example.org:2222/group/ann/tool.git",
        ] {
            assert_eq!(owner_and_name(url).as_deref(), Some("ann/tool"), "{url}");
        }
    }

    #[test]
    fn a_path_has_no_owner() {
        for url in ["/srv/git/tool.git", "../tool.git", "file:///srv/ann/tool", "C:/x/y", "tool"] {
            assert_eq!(owner_and_name(url), None, "{url}");
        }
    }
}
