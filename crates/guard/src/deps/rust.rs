//! Cargo.

use super::{Names, place};
use toml::{Table, Value};

const SECTIONS: [&str; 5] = [
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    // Old spellings that Cargo still takes.
    "dev_dependencies",
    "build_dependencies",
];

/// Where crates.io is.
const REGISTRY: [&str; 2] =
    ["https://github.com/rust-lang/crates.io-index", "https://index.crates.io"];

pub(super) fn manifest(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    let tables = |key: &str| root.get(key).and_then(Value::as_table);
    let parts = |key: &str| tables(key).into_iter().flatten().filter_map(|(_, v)| v.as_table());
    for table in [Some(&root), tables("workspace")].into_iter().flatten().chain(parts("target")) {
        for section in SECTIONS {
            entries(table.get(section).and_then(Value::as_table), dir, &mut names);
        }
    }
    // What takes the place of a dependency is one.
    for table in parts("patch").chain(tables("replace")) {
        entries(Some(table), dir, &mut names);
    }
    Some(names)
}

/// `.cargo/config.toml`: what is put in the place of dependencies, or of the registry they come from.
pub(super) fn config(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    // Its paths are relative to where `.cargo` is.
    let dir = dir.strip_suffix(".cargo").unwrap_or(dir).trim_end_matches('/');
    let tables = |key: &str| root.get(key).and_then(Value::as_table).into_iter().flatten();
    for (_, patch) in tables("patch") {
        entries(patch.as_table(), dir, &mut names);
    }
    let paths = root.get("paths").and_then(Value::as_array).into_iter().flatten();
    let outside = |path: &&str| !place::is_own(dir, path);
    for path in paths.filter_map(Value::as_str).filter(outside) {
        names.insert(format!("paths ({path})"), String::new());
    }
    for (name, source) in tables("source") {
        for key in ["replace-with", "registry", "local-registry", "directory", "git"] {
            if let Some(other) = source.get(key).and_then(Value::as_str) {
                names.insert(place::from(&format!("source {name}"), other), String::new());
            }
        }
    }
    Some(names)
}

fn entries(table: Option<&Table>, dir: &str, names: &mut Names) {
    for (key, value) in table.into_iter().flatten() {
        let field = |name: &str| value.as_table().and_then(|entry| entry.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str);
        // What the workspace names is counted there. A path in the repository is its own, whatever version is published with it.
        let inherited = field("workspace").and_then(Value::as_bool) == Some(true);
        let own = text("path").is_some_and(|path| place::is_own(dir, path));
        if inherited || own {
            continue;
        }
        let name = text("package").unwrap_or(key).replace('_', "-");
        let source = text("git").or_else(|| text("registry")).or_else(|| text("registry-index"));
        let source = source.or_else(|| text("path").filter(|_| !own));
        let name = source.map_or_else(|| name.clone(), |source| place::from(&name, source));
        names.insert(name, value.to_string());
    }
}

/// Packages that come from elsewhere; the repository's own have no source.
pub(super) fn lock(text: &str, _dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let packages = root.get("package").and_then(Value::as_array);
    let named = |package: &Value| {
        let source = package.get("source")?.as_str()?;
        let name = package.get("name")?.as_str()?.replace('_', "-");
        let git = source.strip_prefix("git+");
        let registry = ["registry+", "sparse+"].iter().find_map(|kind| source.strip_prefix(kind));
        let other = git.or_else(|| registry.and_then(|url| place::other_host(url, &REGISTRY)));
        Some((other.map_or_else(|| name.clone(), |url| place::from(&name, url)), String::new()))
    };
    Some(packages.into_iter().flatten().filter_map(named).collect())
}
