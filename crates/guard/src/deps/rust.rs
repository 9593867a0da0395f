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

fn entries(table: Option<&Table>, dir: &str, names: &mut Names) {
    for (key, value) in table.into_iter().flatten() {
        let field = |name: &str| value.as_table().and_then(|entry| entry.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str);
        // What the workspace names is counted there; what has only a path is the repository's own.
        let inherited = field("workspace").and_then(Value::as_bool) == Some(true);
        let own = text("path").is_some_and(|path| place::is_own(dir, path));
        if inherited || (own && field("version").is_none()) {
            continue;
        }
        let name = text("package").unwrap_or(key).replace('_', "-");
        let source = text("git").or_else(|| text("registry"));
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
        Some((git.map_or_else(|| name.clone(), |git| place::from(&name, git)), String::new()))
    };
    Some(packages.into_iter().flatten().filter_map(named).collect())
}
