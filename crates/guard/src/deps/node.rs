//! npm and yarn.

use super::{Names, place};
use comity_core::pattern::{Pattern, RepoPath};
use serde_json::{Map, Value};

const SECTIONS: [&str; 4] =
    ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
/// What puts something else in the place of a dependency.
const REPLACEMENTS: [&str; 3] = ["/overrides", "/resolutions", "/pnpm/overrides"];
/// What gives dependencies to others' packages.
const EXTENSIONS: [&str; 2] = ["/packageExtensions", "/pnpm/packageExtensions"];
/// Where packages come from that come from nowhere else.
const REGISTRIES: [&str; 2] = ["https://registry.npmjs.org", "https://registry.yarnpkg.com"];
/// Words that stand for a version.
const TAGS: [&str; 5] = ["latest", "next", "beta", "alpha", "canary"];
/// What points to a directory.
const LOCAL: [&str; 3] = ["file:", "link:", "portal:"];
/// How what comes from elsewhere than the registry begins.
const ELSEWHERE: [&str; 9] =
    ["git+", "git:", "git@", "github:", "gitlab:", "bitbucket:", "gist:", "http:", "https:"];

pub(super) fn manifest(text: &str, dir: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    Some(of_package(&root, dir))
}

/// Other registries than the usual ones that npm's settings name.
pub(super) fn npmrc(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
        let is_registry = key == "registry" || key.ends_with(":registry");
        // What a variable stands for is not known here.
        let other = place::other_host(value, &REGISTRIES).or(value.contains('$').then_some(value));
        if let Some(place) = other.filter(|_| is_registry) {
            names.insert(format!("{key} {place}"), String::new());
        }
    }
    Some(names)
}

fn of_package(root: &Value, dir: &str) -> Names {
    let mut names = Names::new();
    sections(root, dir, &mut names);
    for place in REPLACEMENTS {
        replaced(root.pointer(place), dir, &mut names);
    }
    for place in EXTENSIONS {
        extended(root.pointer(place), dir, &mut names);
    }
    names
}

fn sections(package: &Value, dir: &str, names: &mut Names) {
    for section in SECTIONS {
        let entries = package.get(section).and_then(Value::as_object);
        for (name, wanted) in entries.into_iter().flatten() {
            let wanted = wanted.as_str().unwrap_or_default();
            if let Some(name) = named(name, wanted, dir) {
                names.insert(name, wanted.to_owned());
            }
        }
    }
}

fn extended(packages: Option<&Value>, dir: &str, names: &mut Names) {
    for package in packages.and_then(Value::as_object).into_iter().flatten() {
        sections(package.1, dir, names);
    }
}

/// The patterns of a workspace's members.
pub(super) fn members(text: &str) -> Vec<String> {
    let root: Value = serde_json::from_str(text).unwrap_or_default();
    let keys = ["/workspaces", "/workspaces/packages"];
    let lists = keys.iter().filter_map(|key| root.pointer(key)?.as_array());
    lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Tells whether a directory, relative to the workspace's, is a member of it.
pub(super) fn is_member(dir: &str, patterns: &[String]) -> bool {
    let matches = |pattern: &str| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        if !pattern.contains(['*', '?', '[', '{']) {
            return pattern == dir;
        }
        let pattern = Pattern::parse(pattern).ok();
        let path = RepoPath::parse(dir).ok();
        pattern.zip(path).is_some_and(|(pattern, path)| pattern.covers(&path))
    };
    let (without, with): (Vec<&String>, Vec<&String>) =
        patterns.iter().partition(|pattern| pattern.starts_with('!'));
    with.into_iter().any(|pattern| matches(pattern))
        && !without.into_iter().any(|pattern| matches(pattern.trim_start_matches('!')))
}

/// The name of a package.
pub(super) fn package_name(text: &str) -> Option<String> {
    let root: Value = serde_json::from_str(text).ok()?;
    root.get("name")?.as_str().map(str::to_owned)
}

/// The package that an entry stands for; none when it is the repository's own.
fn named(name: &str, wanted: &str, dir: &str) -> Option<String> {
    let is_path = wanted.starts_with(['.', '/', '~']) && wanted.contains('/');
    let local = LOCAL.iter().find_map(|prefix| wanted.strip_prefix(prefix));
    if let Some(path) = local.or(is_path.then_some(wanted)) {
        return (!place::is_own(dir, path)).then(|| place::from(name, path));
    }
    if wanted.starts_with("workspace:") {
        return None;
    }
    // A change to a package that the repository has as a file.
    if wanted.starts_with("patch:") {
        return Some(name.to_owned());
    }
    if let Some(wanted) = wanted.strip_prefix("npm:") {
        return Some(if is_version(wanted) { name } else { before_version(wanted) }.to_owned());
    }
    // `owner/repository` is GitHub's.
    let short = wanted.contains('/') && !wanted.starts_with('@');
    if short || ELSEWHERE.iter().any(|prefix| wanted.starts_with(prefix)) {
        return Some(place::from(name, wanted));
    }
    Some(name.to_owned())
}

/// Tells a version, a range of them or a tag from the name of a package.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text).starts_with(is_digit);
    number
        || text.is_empty()
        || text.starts_with(['^', '~', '<', '>', '=', '*'])
        || TAGS.contains(&text)
}

/// What a replacement names, when it is more than another version; they may be nested, as deep as the JSON reader allows.
fn replaced(value: Option<&Value>, dir: &str, names: &mut Names) {
    for (name, wanted) in value.and_then(Value::as_object).into_iter().flatten() {
        replaced(Some(wanted), dir, names);
        let wanted = wanted.as_str().unwrap_or_default();
        replacement(name, wanted, dir, names);
    }
}

fn replacement(name: &str, wanted: &str, dir: &str, names: &mut Names) {
    if let Some(other) = named(name, wanted, dir).filter(|other| other != name) {
        names.insert(other, wanted.to_owned());
    }
}

/// A name with where it was taken from, when that is not the registry.
fn resolved(name: &str, source: &str, dir: &str) -> String {
    let path = LOCAL.iter().find_map(|prefix| source.strip_prefix(prefix));
    if source.starts_with("git") || path.is_some_and(|path| !place::is_own(dir, path)) {
        return place::from(name, source);
    }
    let host = place::other_host(source, &REGISTRIES);
    host.map_or_else(|| name.to_owned(), |host| place::from(name, host))
}

pub(super) fn npm_lock(text: &str, dir: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    if let Some(packages) = root.get("packages").and_then(Value::as_object) {
        for (place, package) in packages {
            let linked = package.get("link").and_then(Value::as_bool) == Some(true);
            let text = |key: &str| package.get(key).and_then(Value::as_str);
            let source = text("resolved").unwrap_or_default();
            let leaves = linked && place::inside(dir, source).is_none();
            if let Some((_, name)) = place.rsplit_once("node_modules/")
                && (!linked || leaves)
            {
                let name = text("name").unwrap_or(name);
                let name =
                    if leaves { place::from(name, source) } else { resolved(name, source, dir) };
                names.insert(name, String::new());
            }
        }
    } else if let Some(dependencies) = root.get("dependencies").and_then(Value::as_object) {
        nested(dependencies, dir, &mut names);
    }
    Some(names)
}

/// What npm's lockfile says that the repository's own packages ask for, which they have to ask for themselves.
pub(super) fn npm_lock_wishes(text: &str, dir: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    let packages = root.get("packages").and_then(Value::as_object).into_iter().flatten();
    for (place, package) in packages.filter(|(place, _)| !place.contains("node_modules/")) {
        let dir = place::inside(dir, place).unwrap_or_default();
        sections(package, &dir, &mut names);
    }
    Some(names)
}

/// The first form of npm's lockfile; nesting is bounded by the JSON reader.
fn nested(dependencies: &Map<String, Value>, dir: &str, names: &mut Names) {
    for (name, entry) in dependencies {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let alias = text("version").strip_prefix("npm:").map(before_version);
        names.insert(resolved(alias.unwrap_or(name), text("resolved"), dir), String::new());
        if let Some(inner) = entry.get("dependencies").and_then(Value::as_object) {
            nested(inner, dir, names);
        }
    }
}

fn before_version(key: &str) -> &str {
    let at = key.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(place, _)| place);
    let slash = || {
        let digit = |place: &usize| key.get(place + 1..).is_some_and(|v| v.starts_with(is_digit));
        key.rfind('/').filter(digit)
    };
    key.get(..at.or_else(slash).unwrap_or(key.len())).unwrap_or(key)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Keys such as `"@scope/name@^1.0.0", name@npm:^2:` at the left margin, each with what stands below it.
pub(super) fn yarn_lock(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut current: Vec<String> = Vec::new();
    for line in text.lines() {
        if !line.starts_with([' ', '#']) && line.trim_end().ends_with(':') {
            current = patterns(line, dir);
            names.extend(current.iter().map(|name| (name.clone(), String::new())));
        } else if let Some(source) = line.trim().strip_prefix("resolved ") {
            for name in &current {
                let other = resolved(name, source.trim_matches('"'), dir);
                if other != *name && !name.contains(" (") {
                    names.remove(name);
                    names.insert(other, String::new());
                }
            }
        }
    }
    Some(names)
}

/// The packages that a key of yarn's lockfile names; one that is a part of the workspace is its own under each of its ranges.
fn patterns(line: &str, dir: &str) -> Vec<String> {
    let key = line.trim_end().trim_end_matches(':');
    let split = |pattern: &'_ str| {
        let pattern = pattern.trim().trim_matches('"').to_owned();
        let name = pattern_name(&pattern).to_owned();
        let range = pattern.get(name.len() + 1..).unwrap_or_default().to_owned();
        (name, range)
    };
    let all: Vec<(String, String)> =
        key.split(',').filter(|part| part.contains('@')).map(split).collect();
    let own = |name: &str| {
        all.iter().any(|(other, range)| other == name && range.starts_with("workspace:"))
    };
    let foreign = all.iter().filter(|(name, _)| !own(name));
    foreign.filter_map(|(name, range)| named(name, range, dir)).collect()
}

/// The name before the `@` of a range.
fn pattern_name(pattern: &str) -> &str {
    let at = pattern.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(place, _)| place);
    pattern.get(..at.unwrap_or(pattern.len())).unwrap_or(pattern)
}
