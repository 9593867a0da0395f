//! pip, poetry, uv, pdm and pipenv.

use super::Names;
use toml::{Table, Value};

/// `Zope.Interface` and `zope-interface` are one name.
fn normal(name: &str) -> String {
    let mut out = String::new();
    for c in name.trim().chars() {
        let c = if "-_.".contains(c) { '-' } else { c.to_ascii_lowercase() };
        if !(c == '-' && out.ends_with('-')) {
            out.push(c);
        }
    }
    out
}

/// The name at the beginning of `name[extra] >= 1.0; python_version < "3"`.
fn requirement(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let name = text.get(..end.unwrap_or(text.len()))?;
    (!name.is_empty() && name.starts_with(|c: char| c.is_ascii_alphanumeric()))
        .then(|| normal(name))
}

fn table<'v>(root: &'v Table, path: &[&str]) -> Option<&'v Table> {
    path.iter().try_fold(root, |table, key| table.get(*key)?.as_table())
}

fn listed(value: Option<&Value>, names: &mut Names) {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    names.extend(items.filter_map(Value::as_str).filter_map(requirement));
}

/// Keys of a table; what has only a path is the repository's own.
fn keyed(entries: Option<&Table>, names: &mut Names) {
    for (name, value) in entries.into_iter().flatten() {
        let own = value.as_table().is_some_and(|entry| entry.contains_key("path"));
        if name != "python" && !own {
            names.insert(normal(name));
        }
    }
}

pub(super) fn pyproject(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    listed(table(&root, &["project"]).and_then(|t| t.get("dependencies")), &mut names);
    listed(table(&root, &["build-system"]).and_then(|t| t.get("requires")), &mut names);
    for groups in [
        table(&root, &["project", "optional-dependencies"]),
        table(&root, &["dependency-groups"]),
        table(&root, &["tool", "pdm", "dev-dependencies"]),
    ] {
        groups.into_iter().flatten().for_each(|(_, list)| listed(Some(list), &mut names));
    }
    listed(table(&root, &["tool", "uv"]).and_then(|t| t.get("dev-dependencies")), &mut names);
    for section in ["dependencies", "dev-dependencies"] {
        keyed(table(&root, &["tool", "poetry", section]), &mut names);
    }
    for (_, group) in table(&root, &["tool", "poetry", "group"]).into_iter().flatten() {
        keyed(group.get("dependencies").and_then(Value::as_table), &mut names);
    }
    Some(names)
}

pub(super) fn pipfile(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    for section in ["packages", "dev-packages"] {
        keyed(root.get(section).and_then(Value::as_table), &mut names);
    }
    Some(names)
}

pub(super) fn lock(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let packages = root.get("package").and_then(Value::as_array);
    let named = |package: &Value| {
        let source = package.get("source").and_then(Value::as_table);
        // uv lists the project itself, as a source that is its own directory.
        let own = ["virtual", "editable", "directory"];
        if source.is_some_and(|source| own.iter().any(|key| source.contains_key(*key))) {
            return None;
        }
        package.get("name")?.as_str().map(normal)
    };
    Some(packages.into_iter().flatten().filter_map(named).collect())
}

pub(super) fn pipfile_lock(text: &str) -> Option<Names> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    for section in ["default", "develop"] {
        let entries = root.get(section).and_then(serde_json::Value::as_object);
        names.extend(entries.into_iter().flatten().map(|(name, _)| normal(name)));
    }
    Some(names)
}

pub(super) fn requirements(text: &str) -> Option<Names> {
    let joined = text.replace("\\\n", " ");
    let mut names = Names::new();
    for line in joined.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let editable = line.strip_prefix("-e ").or_else(|| line.strip_prefix("--editable "));
        let wanted = editable.unwrap_or(line).trim();
        if let Some((_, egg)) = wanted.split_once("#egg=") {
            names.extend(requirement(egg));
        } else if wanted.contains("://") && !wanted.contains(" @ ") {
            names.insert(wanted.to_owned());
        } else if !wanted.starts_with(['-', '.', '/']) {
            names.extend(requirement(wanted));
        }
    }
    Some(names)
}

/// The lists of `install_requires`, `tests_require` and `[options.extras_require]`.
pub(super) fn setup_cfg(text: &str) -> Option<Names> {
    let mut names = Names::new();
    let (mut extras, mut inside) = (false, false);
    for line in text.lines() {
        if let Some(section) = line.trim_end().strip_prefix('[') {
            extras = section.starts_with("options.extras_require");
            inside = false;
        } else if line.starts_with([' ', '\t']) {
            if inside {
                names.extend(requirement(line));
            }
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            inside =
                extras || ["install_requires", "setup_requires", "tests_require"].contains(&key);
            if inside {
                names.extend(value.split(';').filter_map(requirement));
            }
        }
    }
    Some(names)
}
