//! Cargo.

use super::Names;
use toml::{Table, Value};

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn manifest(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    let table = |value: Option<&Value>| value.and_then(Value::as_table).cloned();
    sections(&root, &mut names);
    if let Some(workspace) = table(root.get("workspace")) {
        sections(&workspace, &mut names);
    }
    for (_, target) in table(root.get("target")).unwrap_or_default() {
        if let Some(target) = target.as_table() {
            sections(target, &mut names);
        }
    }
    Some(names)
}

fn sections(table: &Table, names: &mut Names) {
    for section in SECTIONS {
        let Some(entries) = table.get(section).and_then(Value::as_table) else { continue };
        for (key, value) in entries {
            let field = |name: &str| value.as_table().and_then(|entry| entry.get(name));
            // What the workspace names is counted there; what has only a path is the repository's own.
            let inherited = field("workspace").and_then(Value::as_bool) == Some(true);
            let own = field("path").is_some() && field("version").is_none();
            if !inherited && !own {
                let name = field("package").and_then(Value::as_str).unwrap_or(key);
                names.insert(name.replace('_', "-"));
            }
        }
    }
}

/// Packages that come from elsewhere; the repository's own have no source.
pub(super) fn lock(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let packages = root.get("package").and_then(Value::as_array);
    let named = |package: &Value| {
        package.get("source")?;
        Some(package.get("name")?.as_str()?.replace('_', "-"))
    };
    Some(packages.into_iter().flatten().filter_map(named).collect())
}
