//! New dependencies: what manifests and lockfiles name that they did not name before.
//!
//! A name that another manifest of the same ecosystem had before is not new, and a new version is none either, nor is a name that
//! stands for a package of the repository itself; the same name from another place is. A lockfile may grow only because a manifest that it belongs to asks for something else than before: its own
//! additions come from nowhere then.

mod go;
mod node;
mod own;
mod place;
mod python;
mod rust;

use crate::diff::{Change, files_at, text_at};
use crate::git::Git;
use comity_core::command::FileAction;
use comity_core::observed::NewDependency;
use std::collections::{BTreeMap, BTreeSet};

/// Dependencies by name, with what is asked of them. One that comes from elsewhere than the ecosystem's registry has its source in
/// its name.
pub(crate) type Names = BTreeMap<String, String>;

/// Manifests of one ecosystem that are read for what was known before.
const MANIFESTS_MAX: usize = 300;

/// Directories whose manifests are data of tests: no tool takes them for the project's.
const TEST_DATA: [&str; 7] =
    ["fixtures", "__fixtures__", "fixture", "testdata", "test-data", "test_data", "test-fixtures"];

/// Directories whose manifests are copies of others' work, or show something: what they name is not used by the project.
const ASIDE: [&str; 5] = ["examples", "templates", "node_modules", "vendor", "third_party"];

/// Directories of tests, where a manifest may be broken on purpose.
const TESTS: [&str; 5] = ["test", "tests", "__tests__", "spec", "specs"];

fn is_test_data(path: &str) -> bool {
    let dir = split(path).0;
    let has_data = ["test/data", "tests/data"];
    dir.split('/').any(|part| TEST_DATA.contains(&part))
        || has_data.iter().any(|part| format!("/{dir}/").contains(&format!("/{part}/")))
}

fn is_aside(path: &str) -> bool {
    is_test_data(path) || path.split('/').any(|part| ASIDE.contains(&part))
}

/// What reads files of one format, given its text and its directory; none when the text cannot be read.
type Reader = fn(&str, &str) -> Option<Names>;

/// The family of tools that share dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ecosystem {
    Rust,
    /// npm, pnpm, yarn.
    Node,
    /// pip, poetry, uv.
    Python,
    Go,
    /// Tools whose files are not read.
    Other,
}

#[derive(Clone, Copy)]
struct Format {
    ecosystem: Ecosystem,
    is_lock: bool,
    read: Reader,
}

const fn manifest(ecosystem: Ecosystem, read: Reader) -> Option<Format> {
    Some(Format { ecosystem, is_lock: false, read })
}

const fn lock(ecosystem: Ecosystem, read: Reader) -> Option<Format> {
    Some(Format { ecosystem, is_lock: true, read })
}

/// Returns the directory and the name of a file.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn format_of(path: &str) -> Option<Format> {
    let (dir, name) = split(path);
    match name {
        "Cargo.toml" => manifest(Ecosystem::Rust, rust::manifest),
        "config.toml" | "config" if dir.ends_with(".cargo") => {
            manifest(Ecosystem::Rust, rust::config)
        }
        "Cargo.lock" => lock(Ecosystem::Rust, rust::lock),
        "package.json" => manifest(Ecosystem::Node, node::manifest),
        "package-lock.json" | "npm-shrinkwrap.json" => lock(Ecosystem::Node, node::npm_lock),
        "yarn.lock" => lock(Ecosystem::Node, node::yarn_lock),
        ".npmrc" => manifest(Ecosystem::Node, node::npmrc),
        "pyproject.toml" => manifest(Ecosystem::Python, python::pyproject),
        "hatch.toml" => manifest(Ecosystem::Python, python::hatch),
        "Pipfile" => manifest(Ecosystem::Python, python::pipfile),
        "poetry.lock" | "uv.lock" | "pdm.lock" => lock(Ecosystem::Python, python::lock),
        _ if name.starts_with("pylock.") && name.ends_with(".toml") => {
            lock(Ecosystem::Python, python::lock)
        }
        "Pipfile.lock" => lock(Ecosystem::Python, python::pipfile_lock),
        "go.mod" | "go.work" => manifest(Ecosystem::Go, go::manifest),
        "go.sum" | "go.work.sum" => lock(Ecosystem::Go, go::sum),
        _ if is_unread(dir, name) => manifest(Ecosystem::Other, unread),
        _ if is_requirements(path) => manifest(Ecosystem::Python, python::requirements),
        _ => None,
    }
}

/// Names of files that name dependencies, or places to take them from, in a form that only their own tool can tell for sure. Any
/// change of one may add some. Upper and lower case are alike.
const UNREAD: [&str; 86] = [
    // npm, pnpm, yarn, bun, deno
    ".pnpmfile.cjs",
    ".yarnrc",
    ".yarnrc.yml",
    "bower.json",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    "deno.lock",
    "import_map.json",
    "jsr.json",
    "package.yaml",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    // Python
    "environment.yaml",
    "environment.yml",
    "pip.conf",
    "pixi.lock",
    "pixi.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "uv.toml",
    // Maven, Gradle, sbt, Clojure
    "build.sbt",
    "deps.edn",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    "plugins.sbt",
    "pom.xml",
    "project.clj",
    // Ruby, PHP, Crystal
    "composer.json",
    "composer.lock",
    "gemfile",
    "gemfile.local",
    "gemfile.lock",
    "gems.locked",
    "gems.rb",
    "shard.lock",
    "shard.yml",
    // .NET
    "directory.packages.props",
    "dotnet-tools.json",
    "global.json",
    "nuget.config",
    "packages.config",
    "packages.lock.json",
    "paket.dependencies",
    "paket.lock",
    // Swift
    "cartfile",
    "cartfile.resolved",
    "package.resolved",
    "package.swift",
    "podfile",
    "podfile.lock",
    // Elixir, Erlang
    "mix.exs",
    "mix.lock",
    "rebar.config",
    "rebar.lock",
    // Dart, Haskell, C and C++, Zig, Nix, Bazel, D, Elm, Julia, Perl, R
    "build.zig.zon",
    "cabal.project",
    "cabal.project.freeze",
    "cabal.project.local",
    "conanfile.py",
    "conanfile.txt",
    "cpanfile",
    "cpanfile.snapshot",
    "dub.json",
    "dub.sdl",
    "dub.selections.json",
    "elm.json",
    "flake.lock",
    "flake.nix",
    "manifest.toml",
    "module.bazel",
    "module.bazel.lock",
    "project.toml",
    "pubspec.lock",
    "pubspec.yaml",
    "renv.lock",
    "stack.yaml",
    "stack.yaml.lock",
    "vcpkg-configuration.json",
    "vcpkg.json",
    "workspace",
    "workspace.bazel",
    "workspace.bzlmod",
];
/// Ends of such names.
const UNREAD_ENDS: [&str; 15] = [
    ".gradle",
    ".gradle.kts",
    ".gradle.dcl",
    ".versions.toml",
    "gradle.lockfile",
    ".gemfile",
    ".gemfile.lock",
    ".gemspec",
    ".csproj",
    ".fsproj",
    ".vbproj",
    ".props",
    ".targets",
    ".podspec",
    ".cabal",
];

fn is_unread(dir: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    UNREAD.contains(&&*name)
        || UNREAD_ENDS.iter().any(|end| name.ends_with(end))
        || (["extensions.xml", "settings.xml"].contains(&&*name) && dir.ends_with(".mvn"))
        || (name.ends_with(".lockfile") && dir.ends_with("dependency-locks"))
        // A manifest for one version of Swift.
        || (name.starts_with("package@swift-") && name.ends_with(".swift"))
}

fn unread(_text: &str, _dir: &str) -> Option<Names> {
    None
}

/// `requirements.txt`, `requirements-dev.in`, `dev-requirements.txt`, `requirements/test.txt`.
fn is_requirements(path: &str) -> bool {
    let (dir, name) = split(path);
    let text = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in"));
    text.is_some_and(|stem| {
        stem.contains("requirements") || dir.rsplit('/').next() == Some("requirements")
    })
}

/// Changed files that others name as parts of them.
#[derive(Default)]
struct Included {
    /// Lists of requirements.
    lists: BTreeSet<String>,
    /// Scripts that Gradle's scripts apply.
    scripts: BTreeSet<String>,
}

/// A file beside what it is read as. What a go.mod only marks as needed by others is like a lockfile, and what npm's lockfile says
/// that the project asks for is like a manifest. A script of Python may name what it needs in a comment.
fn formats(path: &str, included: &Included) -> Vec<Format> {
    let more = match split(path).1 {
        "go.mod" => lock(Ecosystem::Go, go::indirect),
        "package-lock.json" | "npm-shrinkwrap.json" => {
            manifest(Ecosystem::Node, node::npm_lock_wishes)
        }
        name if name.ends_with(".py") => manifest(Ecosystem::Python, python::script),
        _ => None,
    };
    let known = match format_of(path) {
        None if included.lists.contains(path) => manifest(Ecosystem::Python, python::requirements),
        None if included.scripts.contains(path) => manifest(Ecosystem::Other, unread),
        known => known,
    };
    known.into_iter().chain(more).collect()
}

/// Returns the dependencies that a manifest or a lockfile names, with what is asked of them; none when the file is neither, or
/// cannot be read.
pub fn named(path: &str, text: &str) -> Option<BTreeMap<String, String>> {
    format_of(path).and_then(|format| format.names(path, text))
}

impl Format {
    /// Reads a file. A byte order mark is none of its text.
    fn names(self, path: &str, text: &str) -> Option<Names> {
        (self.read)(text.strip_prefix('\u{feff}').unwrap_or(text), split(path).0)
    }
}

/// One changed file that names dependencies.
struct ChangedManifest<'a> {
    file: &'a Change,
    format: Format,
    /// What it names; none when it cannot be read.
    after: Option<Names>,
    before: Names,
}

/// Lists the dependencies that the changes add.
pub(crate) fn added(git: &Git, base: &str, commit: &str, files: &[Change]) -> Vec<NewDependency> {
    let there = |file: &&Change| {
        file.file.action != FileAction::Deleted
            && !file.is_submodule
            && !is_test_data(&file.file.path)
    };
    let included = included(git, commit, files);
    let mut read = Vec::new();
    for file in files.iter().filter(there) {
        for format in formats(&file.file.path, &included) {
            read.push(compare(git, base, commit, file, format));
        }
    }
    let (mut found, mut owned) = (Vec::new(), BTreeMap::new());
    for one in &read {
        let path = &one.file.file.path;
        let Some(after) = &one.after else {
            let among_tests = split(path).0.split('/').any(|part| TESTS.contains(&part));
            if !among_tests && !is_same(git, base, commit, one.file) {
                let message = format!(
                    "comity cannot read {path} and cannot tell whether it adds a dependency"
                );
                found.push(NewDependency { path: path.clone(), message });
            }
            continue;
        };
        let mut new: BTreeSet<&String> =
            after.keys().filter(|name| !one.before.contains_key(*name)).collect();
        if one.format.is_lock && is_explained(one, &read) {
            new.retain(|name| is_swapped(name, one, &read));
        }
        if new.is_empty() {
            continue;
        }
        let known = known(git, base, one.format);
        new.retain(|name| !known.contains(*name));
        if !one.format.is_lock && !new.is_empty() {
            let ecosystem = one.format.ecosystem;
            let own = owned.entry(ecosystem).or_insert_with(|| own::read(git, commit, ecosystem));
            // What the repository has of its own, it has with all its extras.
            new.retain(|name| !own.has(path, name.split('[').next().unwrap_or(name)));
        }
        for name in new {
            let message = format!("{path} adds the dependency {name}");
            let new = NewDependency { path: path.clone(), message };
            // A file that is read in two ways may say the same in both.
            if !found.contains(&new) {
                found.push(new);
            }
        }
    }
    found
}

/// Tells whether a file has the text that it had, here or where it was moved from.
fn is_same(git: &Git, base: &str, commit: &str, file: &Change) -> bool {
    let old = file.file.moved_from.as_deref().unwrap_or(&file.git_path);
    text_at(git, base, old).is_some_and(|text| text_at(git, commit, &file.git_path) == Some(text))
}

fn compare<'a>(
    git: &Git,
    base: &str,
    commit: &str,
    file: &'a Change,
    format: Format,
) -> ChangedManifest<'a> {
    let read = |commit: &str, path: &str| {
        text_at(git, commit, path).and_then(|text| format.names(path, &text))
    };
    let old_path = file.file.moved_from.as_deref().unwrap_or(&file.git_path);
    let after = read(commit, &file.git_path);
    // What was data of tests before made nothing known.
    let before = Some(old_path).filter(|path| !is_aside(path) || is_aside(&file.file.path));
    let before = before.and_then(|path| read(base, path)).unwrap_or_default();
    ChangedManifest { file, format, after, before }
}

/// Tells whether a manifest that a lockfile belongs to asks for something else than before.
fn is_explained(lock: &ChangedManifest<'_>, read: &[ChangedManifest<'_>]) -> bool {
    let top = split(&lock.file.file.path).0;
    // A lockfile that is read for what it asks for explains nothing.
    let is_manifest = |one: &ChangedManifest<'_>| {
        !one.format.is_lock && format_of(&one.file.file.path).is_none_or(|format| !format.is_lock)
    };
    read.iter().any(|one| {
        is_manifest(one)
            && one.format.ecosystem == lock.format.ecosystem
            && own::is_below(split(&one.file.file.path).0, top)
            && one.after.as_ref() != Some(&one.before)
    })
}

/// Tells whether a lockfile takes something from a new place that it took from the registry before, which no manifest asks for.
fn is_swapped(name: &str, lock: &ChangedManifest<'_>, read: &[ChangedManifest<'_>]) -> bool {
    let Some((plain, place)) = name.split_once(" (") else { return false };
    let asked = |one: &ChangedManifest<'_>| {
        !one.format.is_lock && one.after.as_ref().is_some_and(|after| after.contains_key(name))
    };
    let used = |known: &String| known.split_once(" (").is_some_and(|(_, known)| known == place);
    lock.before.contains_key(plain) && !read.iter().any(asked) && !lock.before.keys().any(used)
}

/// Finds changed files that other files name as parts of them, under a name that says nothing.
fn included(git: &Git, commit: &str, files: &[Change]) -> Included {
    let unnamed: BTreeSet<&str> = files
        .iter()
        .filter(|file| format_of(&file.file.path).is_none())
        .map(|file| &*file.git_path)
        .collect();
    if unnamed.is_empty() {
        return Included::default();
    }
    let may_be = |path: &&str| path.ends_with(".txt") || path.ends_with(".in");
    let lists = if unnamed.iter().any(may_be) { lists(git, commit) } else { BTreeSet::new() };
    Included { lists, scripts: applied(git, commit, &unnamed) }
}

/// Lists what lists of requirements include.
fn lists(git: &Git, commit: &str) -> BTreeSet<String> {
    let is_list = |path: &String| is_requirements(path) || split(path).1 == "pyproject.toml";
    let lists = files_at(git, commit).into_iter().filter(is_list);
    let mut found = BTreeSet::new();
    for path in lists.take(MANIFESTS_MAX) {
        let text = text_at(git, commit, &path).unwrap_or_default();
        let names = match split(&path).1 {
            "pyproject.toml" => python::dynamic_lists(&text),
            _ => python::includes(&text),
        };
        let inside = |name: String| place::inside(split(&path).0, &name);
        found.extend(names.into_iter().filter_map(inside));
    }
    found
}

/// Lists files whose name stands in a line of a Gradle script that applies something. The path before the name may be an
/// expression, so the name alone decides.
fn applied(git: &Git, commit: &str, unnamed: &BTreeSet<&str>) -> BTreeSet<String> {
    let lines = git.lines(&[
        "grep",
        "-h",
        "-I",
        "-E",
        "apply.*from",
        commit,
        "--",
        "*.gradle",
        "*.gradle.kts",
    ]);
    let names = |path: &&&str| {
        let name = split(path).1;
        lines.iter().any(|line| line.contains(name))
    };
    unnamed.iter().filter(names).map(|path| (*path).to_owned()).collect()
}

/// Every dependency that a file of the ecosystem named before: for a manifest, another manifest; for a lockfile, any.
fn known(git: &Git, base: &str, of: Format) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let files = files_at(git, base)
        .into_iter()
        .filter(|path| !is_aside(path))
        .filter_map(|path| Some((format_of(&path)?, path)))
        .filter(|(format, _)| format.ecosystem == of.ecosystem && (of.is_lock || !format.is_lock));
    for (format, path) in files.take(MANIFESTS_MAX) {
        let text = text_at(git, base, &path);
        let read = text.and_then(|text| format.names(&path, &text));
        names.extend(read.unwrap_or_default().into_keys());
    }
    names
}

#[cfg(test)]
mod tests;
