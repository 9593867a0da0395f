//! The repository's own packages: names that stand for a directory of the repository itself, where the tool takes them from there.

use super::{Ecosystem, MANIFESTS_MAX, go, is_aside, node, python, split};
use crate::diff::{files_at, text_at};
use crate::git::Git;
use std::collections::BTreeMap;

/// Names, each with the directory below which it stands for the repository's own package.
#[derive(Debug, Default)]
pub(super) struct Own(Vec<(String, String)>);

impl Own {
    /// Tells whether a name in a file stands for one of the repository's own packages.
    pub(super) fn has(&self, file: &str, name: &str) -> bool {
        let dir = split(file).0;
        self.0.iter().any(|(top, own)| own == name && is_below(dir, top))
    }

    /// Collects the names that the manifests of an ecosystem define.
    pub(super) fn of(ecosystem: Ecosystem, files: &BTreeMap<String, String>) -> Own {
        Own(match ecosystem {
            // Cargo's own packages are told by a path in the dependency itself.
            Ecosystem::Rust | Ecosystem::Other => Vec::new(),
            Ecosystem::Node => workspaces(files),
            Ecosystem::Python => each(files, "pyproject.toml", python::own_sources),
            Ecosystem::Go => modules(files),
        })
    }
}

/// Tells whether a directory is another one, or below it.
pub(super) fn is_below(dir: &str, top: &str) -> bool {
    let rest = dir.strip_prefix(top);
    rest.is_some_and(|rest| top.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Reads the files of a commit that tell an ecosystem's own packages.
pub(super) fn read(git: &Git, commit: &str, ecosystem: Ecosystem) -> Own {
    let names: &[&str] = match ecosystem {
        Ecosystem::Rust | Ecosystem::Other => return Own::default(),
        Ecosystem::Node => &["package.json"],
        Ecosystem::Python => &["pyproject.toml"],
        Ecosystem::Go => &["go.mod", "go.work"],
    };
    let files = files_at(git, commit).into_iter();
    let files = files.filter(|path| names.contains(&split(path).1) && !is_aside(path));
    let text = |path: String| Some((text_at(git, commit, &path)?, path));
    let files = files.take(MANIFESTS_MAX).filter_map(text);
    Own::of(ecosystem, &files.map(|(text, path)| (path, text)).collect())
}

/// What each file of a name defines for everything below its directory.
fn each(
    files: &BTreeMap<String, String>,
    name: &str,
    read: fn(&str, &str) -> Vec<String>,
) -> Vec<(String, String)> {
    let named = files.iter().filter(|(path, _)| split(path).1 == name);
    let defined = named.flat_map(|(path, text)| {
        let dir = split(path).0;
        read(text, dir).into_iter().map(|own| (dir.to_owned(), own))
    });
    defined.collect()
}

/// The packages that a workspace of npm or yarn has.
fn workspaces(files: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, text) in files {
        let top = split(path).0;
        let members = node::members(text);
        if members.is_empty() {
            continue;
        }
        for (path, text) in files.iter().filter(|(path, _)| split(path).1 == "package.json") {
            let dir = split(path).0;
            let below = dir.strip_prefix(top).filter(|_| is_below(dir, top));
            let below = below.map(|rest| rest.trim_start_matches('/'));
            if below.is_some_and(|below| node::is_member(below, &members)) {
                found.extend(node::package_name(text).map(|name| (top.to_owned(), name)));
            }
        }
    }
    found
}

/// The modules that a go.work uses.
fn modules(files: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let used = each(files, "go.work", go::used);
    let module = |(top, dir): (String, String)| {
        let path = if dir.is_empty() { "go.mod".to_owned() } else { format!("{dir}/go.mod") };
        Some((top, go::module(files.get(&path)?)?))
    };
    used.into_iter().filter_map(module).collect()
}
