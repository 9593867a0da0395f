//! npm, pnpm and yarn.

use super::{Names, place};
use serde_json::{Map, Value};

const SECTIONS: [&str; 4] =
    ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
/// What puts something else in the place of a dependency.
const REPLACEMENTS: [&str; 3] = ["/overrides", "/resolutions", "/pnpm/overrides"];
/// What points to a directory.
const LOCAL: [&str; 3] = ["file:", "link:", "portal:"];
/// How what comes from elsewhere than the registry begins.
const ELSEWHERE: [&str; 9] =
    ["git+", "git:", "git@", "github:", "gitlab:", "bitbucket:", "gist:", "http:", "https:"];

pub(super) fn manifest(text: &str, dir: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    for section in SECTIONS {
        let entries = root.get(section).and_then(Value::as_object);
        for (name, wanted) in entries.into_iter().flatten() {
            let wanted = wanted.as_str().unwrap_or_default();
            if let Some(name) = named(name, wanted, dir) {
                names.insert(name, wanted.to_owned());
            }
        }
    }
    for place in REPLACEMENTS {
        replaced(root.pointer(place), dir, &mut names);
    }
    Some(names)
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
    if let Some(real) = wanted.strip_prefix("npm:") {
        return Some(before_version(real).to_owned());
    }
    // `owner/repository` is GitHub's.
    let short = wanted.contains('/') && !wanted.starts_with('@');
    if short || ELSEWHERE.iter().any(|prefix| wanted.starts_with(prefix)) {
        return Some(place::from(name, wanted));
    }
    Some(name.to_owned())
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

/// Names of `catalog:` and `catalogs:`, and what `overrides:` puts in their place. Read by lines, as far as such files are written.
pub(super) fn pnpm_workspace(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut section = "";
    for line in text.lines() {
        let code = line.split(" #").next().unwrap_or(line).trim_end();
        if !code.starts_with([' ', '#']) && !code.is_empty() {
            section = code.trim_end_matches(':');
            continue;
        }
        let Some((name, wanted)) = code.trim().split_once(": ") else { continue };
        let (name, wanted) = (unquoted(name), unquoted(wanted));
        match section {
            "catalog" | "catalogs" => {
                names.extend(named(name, wanted, dir).map(|name| (name, wanted.to_owned())));
            }
            "overrides" => replacement(name, wanted, dir, &mut names),
            _ => {}
        }
    }
    Some(names)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}

pub(super) fn npm_lock(text: &str, _dir: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    if let Some(packages) = root.get("packages").and_then(Value::as_object) {
        for (place, package) in packages {
            let linked = package.get("link").and_then(Value::as_bool) == Some(true);
            if let Some((_, name)) = place.rsplit_once("node_modules/")
                && !linked
            {
                let source = package.get("resolved").and_then(Value::as_str).unwrap_or_default();
                let git = source.starts_with("git");
                let name = if git { place::from(name, source) } else { name.to_owned() };
                names.insert(name, String::new());
            }
        }
    } else if let Some(dependencies) = root.get("dependencies").and_then(Value::as_object) {
        nested(dependencies, &mut names);
    }
    Some(names)
}

/// The first form of npm's lockfile; nesting is bounded by the JSON reader.
fn nested(dependencies: &Map<String, Value>, names: &mut Names) {
    for (name, entry) in dependencies {
        names.insert(name.clone(), String::new());
        if let Some(inner) = entry.get("dependencies").and_then(Value::as_object) {
            nested(inner, names);
        }
    }
}

/// The keys below `packages:` — `name@1.0.0`, `/name@1.0.0` or `/name/1.0.0`. Read by lines: such files
/// are large, and written by one program in one form.
pub(super) fn pnpm_lock(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            inside = line.trim_end() == "packages:";
            continue;
        }
        let key = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let Some(key) = key.and_then(|key| key.trim_end().split(": ").next()) else { continue };
        if inside && !key.is_empty() {
            let key = key.trim_end_matches(':').trim_matches(['\'', '"']).trim_start_matches('/');
            let key = key.split('(').next().unwrap_or(key);
            names.insert(before_version(key).to_owned(), String::new());
        }
    }
    Some(names)
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

/// Lines such as `"@scope/name@^1.0.0", name@npm:^2:` at the left margin.
pub(super) fn yarn_lock(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for line in text.lines() {
        if line.starts_with([' ', '#']) || !line.trim_end().ends_with(':') {
            continue;
        }
        let first = line.split(',').next().unwrap_or(line);
        let key = first.trim_end().trim_end_matches(':').trim_matches('"');
        if key.contains('@') && !key.contains("@workspace:") {
            names.insert(before_version(key).to_owned(), String::new());
        }
    }
    Some(names)
}
