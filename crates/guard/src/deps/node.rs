//! npm, pnpm and yarn.

use super::Names;
use serde_json::{Map, Value};

const SECTIONS: [&str; 4] =
    ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
/// What points into the repository itself.
const LOCAL: [&str; 4] = ["workspace:", "file:", "link:", "portal:"];

pub(super) fn manifest(text: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    for section in SECTIONS {
        let entries = root.get(section).and_then(Value::as_object);
        for (name, wanted) in entries.into_iter().flatten() {
            let wanted = wanted.as_str().unwrap_or_default();
            if !LOCAL.iter().any(|prefix| wanted.starts_with(prefix)) {
                names.insert(name.clone());
            }
        }
    }
    Some(names)
}

pub(super) fn npm_lock(text: &str) -> Option<Names> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    if let Some(packages) = root.get("packages").and_then(Value::as_object) {
        for (place, package) in packages {
            let linked = package.get("link").and_then(Value::as_bool) == Some(true);
            if let Some((_, name)) = place.rsplit_once("node_modules/")
                && !linked
            {
                names.insert(name.to_owned());
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
        names.insert(name.clone());
        if let Some(inner) = entry.get("dependencies").and_then(Value::as_object) {
            nested(inner, names);
        }
    }
}

/// The keys below `packages:` — `name@1.0.0`, `/name@1.0.0` or `/name/1.0.0`. Read by lines: such files
/// are large, and written by one program in one form.
pub(super) fn pnpm_lock(text: &str) -> Option<Names> {
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
            names.insert(before_version(key).to_owned());
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
pub(super) fn yarn_lock(text: &str) -> Option<Names> {
    let mut names = Names::new();
    for line in text.lines() {
        if line.starts_with([' ', '#']) || !line.trim_end().ends_with(':') {
            continue;
        }
        let first = line.split(',').next().unwrap_or(line);
        let key = first.trim_end().trim_end_matches(':').trim_matches('"');
        if key.contains('@') && !key.contains("@workspace:") {
            names.insert(before_version(key).to_owned());
        }
    }
    Some(names)
}
