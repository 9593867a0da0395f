//! New dependencies: what manifests and lockfiles name that they did not name before.
//!
//! A name that any manifest of the same ecosystem had before is not new. A lockfile counts only where
//! no manifest of its ecosystem changed: its own additions then come from nowhere else.

mod go;
mod java;
mod node;
mod python;
mod rust;

use crate::check::Violation;
use crate::diff::{Change, files_at, text_at};
use crate::git::Git;
use comity_core::command::FileAction;
use std::collections::BTreeSet;

/// Names of dependencies.
pub(crate) type Names = BTreeSet<String>;

/// Manifests of one ecosystem that are read for what was known before.
const MANIFESTS_MAX: usize = 300;

/// What reads one kind of file; none when the text cannot be read.
type Reader = fn(&str) -> Option<Names>;

/// The family of tools that share dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecosystem {
    /// Cargo.
    Rust,
    /// npm, pnpm, yarn.
    Node,
    /// pip, poetry, uv.
    Python,
    /// Go modules.
    Go,
    /// Maven and Gradle.
    Java,
}

/// How a file is read.
#[derive(Clone, Copy)]
struct Kind {
    ecosystem: Ecosystem,
    is_lock: bool,
    read: Reader,
}

const fn manifest(ecosystem: Ecosystem, read: Reader) -> Option<Kind> {
    Some(Kind { ecosystem, is_lock: false, read })
}

const fn lock(ecosystem: Ecosystem, read: Reader) -> Option<Kind> {
    Some(Kind { ecosystem, is_lock: true, read })
}

fn kind(path: &str) -> Option<Kind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "Cargo.toml" => manifest(Ecosystem::Rust, rust::manifest),
        "Cargo.lock" => lock(Ecosystem::Rust, rust::lock),
        "package.json" => manifest(Ecosystem::Node, node::manifest),
        "package-lock.json" | "npm-shrinkwrap.json" => lock(Ecosystem::Node, node::npm_lock),
        "pnpm-lock.yaml" => lock(Ecosystem::Node, node::pnpm_lock),
        "yarn.lock" => lock(Ecosystem::Node, node::yarn_lock),
        "pyproject.toml" => manifest(Ecosystem::Python, python::pyproject),
        "Pipfile" => manifest(Ecosystem::Python, python::pipfile),
        "setup.cfg" => manifest(Ecosystem::Python, python::setup_cfg),
        "poetry.lock" | "uv.lock" | "pdm.lock" => lock(Ecosystem::Python, python::lock),
        "Pipfile.lock" => lock(Ecosystem::Python, python::pipfile_lock),
        "go.mod" => manifest(Ecosystem::Go, go::manifest),
        "go.sum" => lock(Ecosystem::Go, go::sum),
        "pom.xml" => manifest(Ecosystem::Java, java::maven),
        "build.gradle" | "build.gradle.kts" | "settings.gradle" | "settings.gradle.kts" => {
            manifest(Ecosystem::Java, java::gradle)
        }
        "gradle.lockfile" | "buildscript-gradle.lockfile" => {
            lock(Ecosystem::Java, java::gradle_lock)
        }
        _ if name.ends_with(".versions.toml") => manifest(Ecosystem::Java, java::catalogue),
        _ if is_requirements(path) => manifest(Ecosystem::Python, python::requirements),
        _ => None,
    }
}

/// `requirements.txt`, `requirements-dev.in`, `dev-requirements.txt`, `requirements/test.txt`.
fn is_requirements(path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let text = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in"));
    text.is_some_and(|stem| {
        stem.contains("requirements") || dir.rsplit('/').next() == Some("requirements")
    })
}

/// Lists the dependencies that the changes add.
pub(crate) fn added(git: &Git, base: &str, commit: &str, files: &[Change]) -> Vec<Violation> {
    let mut found = Vec::new();
    let there = |file: &&Change| file.action != FileAction::Deleted && !file.is_submodule;
    for file in files.iter().filter(there) {
        let Some(kind) = kind(&file.path) else { continue };
        if kind.is_lock && has_manifest(files, kind.ecosystem) {
            continue;
        }
        let text = text_at(git, commit, &file.git_path);
        let Some(after) = text.and_then(|text| (kind.read)(&text)) else {
            let message =
                format!("{} cannot be read, so new dependencies cannot be ruled out", file.path);
            found.push(Violation::new("no_new_deps", Some(&file.path), message));
            continue;
        };
        let old_path = file.moved_from.as_deref().unwrap_or(&file.git_path);
        let before = text_at(git, base, old_path).and_then(|text| (kind.read)(&text));
        let mut new: Names = after.difference(&before.unwrap_or_default()).cloned().collect();
        if !new.is_empty() && !kind.is_lock {
            let known = known(git, base, kind.ecosystem);
            new.retain(|name| !known.contains(name));
        }
        for name in new {
            let message = format!("{} adds the dependency {name}", file.path);
            found.push(Violation::new("no_new_deps", Some(&file.path), message));
        }
    }
    found
}

fn has_manifest(files: &[Change], ecosystem: Ecosystem) -> bool {
    files.iter().filter_map(|file| kind(&file.path)).any(|k| k.ecosystem == ecosystem && !k.is_lock)
}

/// Every dependency that a manifest of the ecosystem named before.
fn known(git: &Git, base: &str, ecosystem: Ecosystem) -> Names {
    let mut names = Names::new();
    let manifests = files_at(git, base)
        .into_iter()
        .filter_map(|path| Some((kind(&path)?, path)))
        .filter(|(kind, _)| kind.ecosystem == ecosystem && !kind.is_lock);
    for (kind, path) in manifests.take(MANIFESTS_MAX) {
        let text = text_at(git, base, &path);
        names.extend(text.and_then(|text| (kind.read)(&text)).unwrap_or_default());
    }
    names
}

#[cfg(test)]
mod tests;
