//! pip, poetry, uv, pdm and pipenv.

use super::{Names, place};
use toml::{Table, Value};

/// Where packages come from that come from nowhere else.
const REGISTRIES: [&str; 2] = ["https://pypi.org", "https://files.pythonhosted.org"];
/// Options of pip that name other places.
const INDEXES: [&str; 5] = ["-i", "--index-url", "--extra-index-url", "-f", "--find-links"];

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

/// The name at the beginning of `name[extra] >= 1.0; python_version < "3"`, or of `name @ URL`, with all of it. Each extra is a name, too:
/// it brings dependencies of its own.
pub(super) fn requirement(text: &str) -> Names {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let Some((name, rest)) = text.split_at_checked(end.unwrap_or(text.len())) else {
        return Names::new();
    };
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Names::new();
    }
    let name = normal(name);
    let in_brackets = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (extras, rest) = in_brackets.unwrap_or(("", rest));
    let url = rest.trim_start().strip_prefix('@').and_then(|url| url.split(';').next());
    let whole = url.map_or_else(|| name.clone(), |url| place::from(&name, url.trim()));
    let mut names = Names::from([(whole, text.to_owned())]);
    names.extend(with_extras(&name, extras.split(',')));
    names
}

/// A name with each of its extras.
fn with_extras<'e>(
    name: &str,
    extras: impl Iterator<Item = &'e str>,
) -> impl Iterator<Item = (String, String)> {
    let extras = extras.map(normal).filter(|extra| !extra.is_empty());
    extras.map(move |extra| (format!("{name}[{extra}]"), String::new()))
}

fn table<'v>(root: &'v Table, path: &[&str]) -> Option<&'v Table> {
    path.iter().try_fold(root, |table, key| table.get(*key)?.as_table())
}

fn listed(value: Option<&Value>, names: &mut Names) {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    names.extend(items.filter_map(Value::as_str).flat_map(requirement));
}

/// The forms of an entry: a table or text, or a list of them for different surroundings.
fn forms(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |list| list.iter().collect())
}

/// Keys of a table; what has only a path inside of the repository is its own.
fn keyed(entries: Option<&Table>, dir: &str, names: &mut Names) {
    for (name, value) in entries.into_iter().flatten() {
        for form in forms(value) {
            let text = |key: &str| form.as_table().and_then(|entry| entry.get(key)?.as_str());
            let own = text("path").is_some_and(|path| place::is_own(dir, path));
            let source = ["git", "url", "file", "path"].iter().find_map(|key| text(key));
            if name != "python" && !own {
                let name = normal(name);
                let extras = form.get("extras").and_then(Value::as_array).into_iter().flatten();
                names.extend(with_extras(&name, extras.filter_map(Value::as_str)));
                let name = source.map_or_else(|| name.clone(), |source| place::from(&name, source));
                names.insert(name, value.to_string());
            }
        }
    }
}

/// Where uv takes something from instead of the registry; `workspace` and an index are not named.
fn sources(entries: Option<&Table>, dir: &str, names: &mut Names) {
    for (name, value) in entries.into_iter().flatten() {
        let elsewhere =
            |form: &&Value| ["git", "url", "path"].iter().any(|key| form.get(key).is_some());
        for form in forms(value).into_iter().filter(elsewhere) {
            let one = Table::from_iter([(name.clone(), form.clone())]);
            keyed(Some(&one), dir, names);
        }
    }
}

/// Names that a pyproject.toml takes from the repository itself, for everything below it.
pub(super) fn own_sources(text: &str, dir: &str) -> Vec<String> {
    let root: Table = text.parse().unwrap_or_default();
    let is_own = |form: &&Value| {
        let path = form.get("path").and_then(Value::as_str);
        form.get("workspace").and_then(Value::as_bool) == Some(true)
            || path.is_some_and(|path| place::is_own(dir, path))
    };
    let entries = table(&root, &["tool", "uv", "sources"]).into_iter().flatten();
    let own = entries.filter(|(_, value)| {
        let forms = forms(value);
        !forms.is_empty() && forms.iter().all(is_own)
    });
    own.map(|(name, _)| normal(name)).collect()
}

/// Other places that packages are taken from.
fn indexes(root: &Table, names: &mut Names) {
    let places: [&[&str]; 4] = [
        &["tool", "uv", "index"],
        &["tool", "poetry", "source"],
        &["tool", "pdm", "source"],
        &["source"],
    ];
    for path in places {
        let Some((last, above)) = path.split_last() else { continue };
        let list = table(root, above).and_then(|table| table.get(*last)?.as_array());
        for entry in list.into_iter().flatten() {
            names.extend(entry.get("url").and_then(Value::as_str).and_then(index));
        }
    }
    let uv = table(root, &["tool", "uv"]);
    for key in ["index-url", "extra-index-url", "find-links"] {
        let value = uv.and_then(|uv| uv.get(key)).into_iter().flat_map(forms);
        names.extend(value.filter_map(Value::as_str).filter_map(index));
    }
}

fn index(url: &str) -> Option<(String, String)> {
    let host = place::other_host(url, &REGISTRIES)?;
    Some((format!("index {host}"), String::new()))
}

/// The lists that setuptools takes dependencies from.
pub(super) fn dynamic_lists(text: &str) -> Vec<String> {
    let root: Table = text.parse().unwrap_or_default();
    let Some(dynamic) = table(&root, &["tool", "setuptools", "dynamic"]) else { return Vec::new() };
    let optional = dynamic.get("optional-dependencies").and_then(Value::as_table);
    let entries = optional.into_iter().flatten().map(|(_, entry)| entry);
    let entries = entries.chain(dynamic.get("dependencies"));
    let files = entries.filter_map(|entry| entry.get("file")).flat_map(forms);
    files.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Tools whose tables are read one by one.
const READ_TOOLS: [&str; 4] = ["poetry", "uv", "pdm", "setuptools"];
/// Keys by which other tools, such as Hatch, name dependencies of environments and builds.
const DEPENDENCY_KEYS: [&str; 6] = [
    "dependencies",
    "extra-dependencies",
    "dev-dependencies",
    "build-dependencies",
    "requires",
    "deps",
];

/// Everything in a table, however deep, that a tool calls dependencies.
fn anywhere(table: &Table, dir: &str, names: &mut Names) {
    for (key, value) in table {
        if DEPENDENCY_KEYS.contains(&key.as_str()) {
            listed(Some(value), names);
            keyed(value.as_table(), dir, names);
        } else {
            forms(value)
                .into_iter()
                .filter_map(Value::as_table)
                .for_each(|table| anywhere(table, dir, names));
        }
    }
}

pub(super) fn hatch(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    anywhere(&root, dir, &mut names);
    Some(names)
}

/// What a script says in its head that it needs (PEP 723): a comment between `# /// script` and `# ///`, in TOML. Another kind
/// of head is none of it.
pub(super) fn script(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.trim_end() == "# /// script") {
        let inside = lines.by_ref().take_while(|line| line.trim_end() != "# ///");
        let inside: String = inside
            .map_while(|line| line.strip_prefix('#'))
            .map(|line| format!("{line}\n"))
            .collect();
        names.extend(pyproject(&format!("[project]\n{inside}"), dir)?);
    }
    Some(names)
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
    let mut replaced = Names::new();
    listed(
        table(&root, &["tool", "uv"]).and_then(|t| t.get("override-dependencies")),
        &mut replaced,
    );
    // What only asks for another version of something adds nothing.
    names.extend(replaced.into_iter().filter(|(name, _)| name.ends_with(')')));
    sources(table(&root, &["tool", "uv", "sources"]), dir, &mut names);
    indexes(&root, &mut names);
    names.extend(dynamic_lists(text).iter().filter_map(|list| included(list, dir)));
    for section in ["dependencies", "dev-dependencies"] {
        keyed(table(&root, &["tool", "poetry", section]), dir, &mut names);
    }
    for (_, group) in table(&root, &["tool", "poetry", "group"]).into_iter().flatten() {
        keyed(group.get("dependencies").and_then(Value::as_table), dir, &mut names);
    }
    for (tool, settings) in table(&root, &["tool"]).into_iter().flatten() {
        if let Some(settings) = settings.as_table().filter(|_| !READ_TOOLS.contains(&&**tool)) {
            anywhere(settings, dir, &mut names);
        }
    }
    // A project may ask for its own extras, and for what it takes from the repository.
    let own = own_sources(text, dir);
    let project = |table: Option<&Table>| normal(table?.get("name")?.as_str()?).into();
    let itself: [Option<String>; 2] =
        [project(table(&root, &["project"])), project(table(&root, &["tool", "poetry"]))];
    names.retain(|name, _| {
        let name = name.split('[').next().unwrap_or(name);
        !own.iter().chain(itself.iter().flatten()).any(|known| known == name)
    });
    Some(names)
}

/// Every table but those that say how to install; there may be groups of any name.
pub(super) fn pipfile(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let mut names = Names::new();
    let others = ["requires", "scripts", "pipenv", "pipfile"];
    for (_, section) in root.iter().filter(|(name, _)| !others.contains(&name.as_str())) {
        keyed(section.as_table(), dir, &mut names);
    }
    indexes(&root, &mut names);
    Some(names)
}

/// A package of a lockfile, with where it comes from when that is not the registry; none when it is the repository's own.
fn locked(package: &Value, dir: &str) -> Option<(String, String)> {
    let name = normal(package.get("name")?.as_str()?);
    let source = package.get("source").filter(|source| source.is_table()).unwrap_or(package);
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let inner = |key: &str, field: &str| source.get(key)?.get(field)?.as_str();
    // uv lists the project itself, as a source that is its own directory; pylock.toml has tables.
    let directory = ["virtual", "editable", "directory", "path"].iter().find_map(|key| text(key));
    let is_directory = text("type") == Some("directory");
    let directory = directory.or_else(|| text("url").filter(|_| is_directory));
    let directory = directory.or_else(|| inner("directory", "path"));
    if directory.is_some_and(|path| place::is_own(dir, path)) {
        return None;
    }
    // poetry says what kind of address it is.
    let is_index = text("type") == Some("legacy");
    let address = text("url").filter(|_| !is_index);
    let elsewhere = text("git").or(address).or_else(|| inner("vcs", "url")).or(directory);
    let elsewhere = elsewhere.or_else(|| inner("archive", "url"));
    let index = text("registry").or_else(|| text("index")).or_else(|| text("url"));
    let host = index.and_then(|url| place::other_host(url, &REGISTRIES));
    let other = elsewhere.or(host);
    Some((other.map_or_else(|| name.clone(), |other| place::from(&name, other)), String::new()))
}

pub(super) fn lock(text: &str, dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let lists = ["package", "packages"].iter().filter_map(|key| root.get(*key)?.as_array());
    Some(lists.flatten().filter_map(|package| locked(package, dir)).collect())
}

pub(super) fn pipfile_lock(text: &str, _dir: &str) -> Option<Names> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut names = Names::new();
    let sections = root.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta");
    for (name, entry) in sections.filter_map(|(_, section)| section.as_object()).flatten() {
        let source = ["git", "url", "file"].iter().find_map(|key| entry.get(key)?.as_str());
        let name = normal(name);
        let name = source.map_or_else(|| name.clone(), |source| place::from(&name, source));
        names.insert(name, String::new());
    }
    Some(names)
}

/// The lines of a list of requirements, without comments, the continued ones as one.
fn wanted(text: &str) -> Vec<String> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let line = |line: &str| line.split(" #").next().unwrap_or(line).trim().to_owned();
    joined.lines().map(line).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What follows one of the options, after a space or `=`; a short one may have it at once.
fn option<'t>(line: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| {
        let rest = line.strip_prefix(name)?;
        let fits =
            rest.starts_with([' ', '=', '\t']) || (!name.starts_with("--") && !rest.is_empty());
        fits.then(|| rest.trim_start_matches(['=', ' ', '\t']).trim())
    })
}

/// Tells prose from a list: pip takes no file with a line like this one.
fn is_prose(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix('-') {
        return !rest.starts_with(|c: char| c == '-' || c.is_ascii_alphabetic());
    }
    if is_url(line) || line.starts_with(['.', '/', '$']) {
        return false;
    }
    let name_end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let (name, rest) = line.split_at_checked(name_end.unwrap_or(line.len())).unwrap_or((line, ""));
    let rest = rest.trim_start();
    let goes_on = rest.is_empty()
        || rest.starts_with(['[', '@', ';', '=', '<', '>', '!', '~', '(', '#', '$', '/', '\\'])
        || rest.starts_with("--");
    !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !goes_on
}

/// A list that another one includes; one under a usual name is read for itself.
fn included(list: &str, dir: &str) -> Option<(String, String)> {
    let there = place::inside(dir, list);
    let is_read =
        there.is_some_and(|path| super::is_requirements(&path) && !super::is_test_data(&path));
    (!is_read).then(|| (format!("-r {list}"), String::new()))
}

/// The other lists that a list includes.
pub(super) fn includes(text: &str) -> Vec<String> {
    let names = ["-r", "--requirement"];
    wanted(text).iter().filter_map(|line| option(line, &names).map(str::to_owned)).collect()
}

pub(super) fn requirements(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let lines = wanted(text);
    if lines.iter().any(|line| is_prose(line)) {
        return Some(names);
    }
    for line in lines {
        if let Some(other) = option(&line, &["-r", "--requirement"]) {
            names.extend(included(other, dir));
            continue;
        }
        if let Some(url) = option(&line, &INDEXES) {
            names.extend(index(url));
            continue;
        }
        let wanted = option(&line, &["-e", "--editable"]).unwrap_or(&line);
        if let Some((url, egg)) = wanted.split_once("#egg=") {
            let named = requirement(egg).into_keys();
            names.extend(named.map(|name| (place::from(&name, url), line.clone())));
        } else if is_url(wanted) {
            names.insert(place::without_version(wanted).to_owned(), line.clone());
        } else if wanted.starts_with(['.', '/', '$']) {
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
