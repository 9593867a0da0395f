//! pip, poetry, uv, pdm and pipenv.

use super::{Names, place};
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

/// The name at the beginning of `name[extra] >= 1.0; python_version < "3"`, or of `name @ URL`, with all of it.
fn requirement(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let (name, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let name = normal(name);
    let rest = rest
        .split_once(']')
        .filter(|_| rest.trim_start().starts_with('['))
        .map_or(rest, |(_, r)| r);
    let url = rest.trim_start().strip_prefix('@').and_then(|url| url.split(';').next());
    let name = url.map_or_else(|| name.clone(), |url| place::from(&name, url.trim()));
    Some((name, text.to_owned()))
}

fn table<'v>(root: &'v Table, path: &[&str]) -> Option<&'v Table> {
    path.iter().try_fold(root, |table, key| table.get(*key)?.as_table())
}

fn listed(value: Option<&Value>, names: &mut Names) {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    names.extend(items.filter_map(Value::as_str).filter_map(requirement));
}

/// Keys of a table; what has only a path inside of the repository is its own.
fn keyed(entries: Option<&Table>, dir: &str, names: &mut Names) {
    for (name, value) in entries.into_iter().flatten() {
        let text = |key: &str| value.as_table().and_then(|entry| entry.get(key)?.as_str());
        let own = text("path").is_some_and(|path| place::is_own(dir, path));
        let source = text("git").or_else(|| text("url")).or_else(|| text("path"));
        if name != "python" && !own {
            let name = normal(name);
            let name = source.map_or_else(|| name.clone(), |source| place::from(&name, source));
            names.insert(name, value.to_string());
        }
    }
}

/// Where uv takes something from instead of the registry; `workspace` and an index are not named.
fn sources(entries: Option<&Table>, dir: &str, names: &mut Names) {
    for (name, value) in entries.into_iter().flatten() {
        let elsewhere =
            |entry: &Table| ["git", "url", "path"].iter().any(|key| entry.contains_key(*key));
        if value.as_table().is_some_and(elsewhere) {
            let one = Table::from_iter([(name.clone(), value.clone())]);
            keyed(Some(&one), dir, names);
        }
    }
}

pub(super) fn pyproject(text: &str, dir: &str) -> Option<Names> {
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
    sources(table(&root, &["tool", "uv", "sources"]), dir, &mut names);
    for section in ["dependencies", "dev-dependencies"] {
        keyed(table(&root, &["tool", "poetry", section]), dir, &mut names);
    }
    for (_, group) in table(&root, &["tool", "poetry", "group"]).into_iter().flatten() {
        keyed(group.get("dependencies").and_then(Value::as_table), dir, &mut names);
    }
    Some(names)
}

pub(super) fn pipfile(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    for section in ["packages", "dev-packages"] {
        keyed(root.get(section).and_then(Value::as_table), dir, &mut names);
    }
    Some(names)
}

pub(super) fn lock(text: &str, _dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let packages = root.get("package").and_then(Value::as_array);
    let named = |package: &Value| {
        let source = package.get("source").and_then(Value::as_table);
        // uv lists the project itself, as a source that is its own directory.
        let own = ["virtual", "editable", "directory"];
        if source.is_some_and(|source| own.iter().any(|key| source.contains_key(*key))) {
            return None;
        }
        let name = normal(package.get("name")?.as_str()?);
        let git = source.and_then(|source| source.get("git")?.as_str());
        Some((git.map_or_else(|| name.clone(), |git| place::from(&name, git)), String::new()))
    };
    Some(packages.into_iter().flatten().filter_map(named).collect())
}

pub(super) fn pipfile_lock(text: &str, _dir: &str) -> Option<Names> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    for section in ["default", "develop"] {
        let entries = root.get(section).and_then(serde_json::Value::as_object);
        names.extend(entries.into_iter().flatten().map(|(name, _)| (normal(name), String::new())));
    }
    Some(names)
}

/// The lines of a list of requirements, without comments, the continued ones as one.
fn wanted(text: &str) -> Vec<String> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let line = |line: &str| line.split(" #").next().unwrap_or(line).trim().to_owned();
    joined.lines().map(line).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What follows one of the options, after a space or `=`.
fn option<'t>(line: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with([' ', '=', '\t']).then(|| rest.trim_start_matches(['=', ' ', '\t']).trim())
    })
}

/// The other lists that a list includes.
pub(super) fn includes(text: &str) -> Vec<String> {
    let names = ["-r", "--requirement"];
    wanted(text).iter().filter_map(|line| option(line, &names).map(str::to_owned)).collect()
}

pub(super) fn requirements(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for line in wanted(text) {
        // A list under a usual name is read for itself.
        if let Some(other) = option(&line, &["-r", "--requirement"]) {
            let there = place::inside(dir, other);
            if !there.is_some_and(|path| super::is_requirements(&path)) {
                names.insert(format!("-r {other}"), String::new());
            }
            continue;
        }
        let wanted = option(&line, &["-e", "--editable"]).unwrap_or(&line);
        if let Some((url, egg)) = wanted.split_once("#egg=") {
            let name = requirement(egg).map(|(name, _)| place::from(&name, url));
            names.extend(name.map(|name| (name, line.clone())));
        } else if is_url(wanted) {
            names.insert(place::without_version(wanted).to_owned(), line.clone());
        } else if wanted.starts_with(['.', '/']) {
            if !place::is_own(dir, wanted) {
                names.insert(wanted.to_owned(), String::new());
            }
        } else if !wanted.starts_with('-') {
            names.extend(requirement(wanted));
        }
    }
    Some(names)
}

/// Tells whether a requirement is nothing but an address.
fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+'))
}

/// Lists of `setup()` in a setup.py, as far as they are written out; one that is not is named as such.
pub(super) fn setup_py(text: &str, _dir: &str) -> Option<Names> {
    let code: String = text.lines().map(|line| without_comment(line) + "\n").collect();
    let mut names = Names::new();
    for key in ["install_requires", "setup_requires", "tests_require", "extras_require"] {
        for (place, _) in code.match_indices(key) {
            let rest = code.get(place + key.len()..).unwrap_or_default().trim_start();
            let rest = rest.trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = rest.strip_prefix(['=', ':']).map(str::trim_start) else { continue };
            match written_out(value) {
                Some(list) => names.extend(list.into_iter().filter_map(requirement)),
                None => {
                    names.insert(format!("{key} that is computed"), String::new());
                }
            }
        }
    }
    Some(names)
}

/// Takes a comment off a line of Python; a `#` inside of quotes is none.
fn without_comment(line: &str) -> String {
    let mut quote = None;
    let end = line.char_indices().find(|(_, c)| {
        match (quote, *c) {
            (None, '"' | '\'') => quote = Some(*c),
            (Some(open), close) if open == close => quote = None,
            (None, '#') => return true,
            _ => {}
        }
        false
    });
    end.map_or(line, |(place, _)| line.get(..place).unwrap_or(line)).to_owned()
}

/// The texts of a list or of the lists of a table; none when it is anything else.
fn written_out(value: &str) -> Option<Vec<&str>> {
    let mut depth = 0_usize;
    let mut texts = Vec::new();
    let mut open: Option<(char, usize)> = None;
    for (place, c) in value.char_indices() {
        match (open, c) {
            (Some((quote, from)), c) if quote == c => {
                let after = value.get(place + 1..).unwrap_or_default().trim_start();
                // Names of extras are followed by a colon.
                if !after.starts_with(':') {
                    texts.extend(value.get(from..place));
                }
                open = None;
            }
            (Some(_), _) => {}
            (None, '"' | '\'') => open = Some((c, place + 1)),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth = depth.saturating_sub(1),
            (None, c) if depth == 0 && !c.is_whitespace() => return None,
            (None, _) => {}
        }
        if depth == 0 && open.is_none() {
            return Some(texts);
        }
    }
    None
}

/// The lists of `install_requires`, `tests_require` and `[options.extras_require]`.
pub(super) fn setup_cfg(text: &str, _dir: &str) -> Option<Names> {
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
