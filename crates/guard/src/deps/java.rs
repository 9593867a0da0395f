//! Maven and Gradle.

use super::Names;
use toml::{Table, Value};

/// What a build of Maven takes from elsewhere.
const ELEMENTS: [&str; 4] = ["dependency", "plugin", "parent", "extension"];
/// The group of a plugin that names none.
const PLUGIN_GROUP: &str = "org.apache.maven.plugins";

/// Returns what follows the next opening tag of a name, which may have attributes or spaces.
fn after_tag<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let open = format!("<{tag}");
    let mut rest = text;
    loop {
        rest = rest.get(rest.find(&open)? + open.len()..)?;
        if rest.starts_with(|c: char| c == '>' || c.is_whitespace()) {
            return rest.get(rest.find('>')? + 1..);
        }
    }
}

/// The text between the first pair of tags of a name.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let rest = after_tag(text, tag)?;
    rest.get(..rest.find(&format!("</{tag}"))?).map(str::trim)
}

/// `group:artifact` of everything that a build takes from elsewhere, comments left out.
pub(super) fn maven(text: &str, _dir: &str) -> Option<Names> {
    let text = without_comments(text);
    let mut names = Names::new();
    for element in ELEMENTS {
        let mut rest = text.as_str();
        while let Some(after) = after_tag(rest, element) {
            rest = after;
            let part = after.split(&format!("</{element}")).next().unwrap_or(after);
            // What a plugin needs itself is an element of its own.
            let own = part.split("<dependencies").next().unwrap_or(part);
            let group = inside(own, "groupId").or((element == "plugin").then_some(PLUGIN_GROUP));
            if let (Some(group), Some(artifact)) = (group, inside(own, "artifactId")) {
                let version = inside(own, "version").unwrap_or_default();
                names.insert(format!("{group}:{artifact}"), version.to_owned());
            }
        }
    }
    Some(names)
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("<!--");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str(part.split_once("-->").map_or("", |(_, rest)| rest));
    }
    out
}

/// A part of a coordinate; it may have a variable in it.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-${}".contains(c))
}

/// Statements of a Gradle script without comments; what stands in parentheses is one.
fn statements(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let (mut quote, mut depth) = (None, 0_usize);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (quote, c) {
            (Some(open), c) if open == c || c == '\n' => quote = None,
            (Some(_), _) => {}
            (None, '/') if next == Some('/') => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, '/') if next == Some('*') => {
                let mut last = ' ';
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if quote.is_none() && depth == 0 && matches!(c, '\n' | ';' | '{' | '}') {
            found.push(String::new());
        } else if let Some(last) = found.last_mut()
            && !(c == '/' && quote.is_none())
        {
            last.push(if c == '\n' { ' ' } else { c });
        }
    }
    found
}

/// Texts in quotes, each with what stands before it.
fn quoted(statement: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = statement.split(['"', '\'']).collect();
    let pairs = parts.chunks_exact(2);
    pairs.filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

/// Quoted `group:artifact[:version]`, the same in parts, and plugins.
pub(super) fn gradle(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for statement in statements(text) {
        let quoted = quoted(&statement);
        for (_, text) in &quoted {
            let parts: Vec<&str> = text.split(':').collect();
            if let [group, artifact, version @ ..] = parts.as_slice()
                && is_part(group)
                && is_part(artifact)
                && parts.len() <= 5
            {
                names.insert(format!("{group}:{artifact}"), version.join(":"));
            }
        }
        names.extend(in_parts(&statement, &quoted));
        names.extend(plugin(&statement, &quoted));
    }
    Some(names)
}

/// `implementation group: 'g', name: 'a'` and `implementation("g", "a", "1")`.
fn in_parts(statement: &str, quoted: &[(&str, &str)]) -> Option<(String, String)> {
    let keyed = |key: &str| {
        let named = |before: &str| {
            let before = before.trim_end().strip_suffix([':', '=']).map(str::trim_end);
            before.is_some_and(|before| before.ends_with(key))
        };
        quoted.iter().find(|(before, _)| named(before)).map(|(_, text)| *text)
    };
    if let (Some(group), Some(name)) = (keyed("group"), keyed("name")) {
        let version = keyed("version").unwrap_or_default();
        return Some((format!("{group}:{name}"), version.to_owned()));
    }
    let word: String = statement.trim_start().chars().take_while(|c| c.is_alphanumeric()).collect();
    let between = |(place, (before, text)): (usize, &(&str, &str))| {
        let only = if place == 0 { before.trim_end().ends_with('(') } else { before.trim() == "," };
        only && is_part(text)
    };
    match quoted {
        [(_, group), (_, name), rest @ ..]
            if is_configuration(&word) && quoted.iter().enumerate().all(between) =>
        {
            let version = rest.first().map(|(_, version)| *version).unwrap_or_default();
            Some((format!("{group}:{name}"), version.to_owned()))
        }
        _ => None,
    }
}

/// Tells whether a word names a list of dependencies, such as `testImplementation`.
fn is_configuration(word: &str) -> bool {
    let ends = ["implementation", "api", "only", "classpath", "processor", "compile", "runtime"];
    let word = word.to_lowercase();
    ends.iter().any(|end| word.ends_with(end)) || ["kapt", "ksp"].contains(&word.as_str())
}

/// `id 'x' version '1'`, `kotlin("jvm")` and `apply plugin: 'x'`. A name without a dot is Gradle's own.
fn plugin(statement: &str, quoted: &[(&str, &str)]) -> Option<(String, String)> {
    let (before, id) = quoted.first()?;
    let before = before.trim().trim_end_matches('(').trim_end();
    let version = quoted.get(1).map(|(_, version)| (*version).to_owned()).unwrap_or_default();
    let applies = statement.trim_start().starts_with("apply") && before.ends_with("plugin:");
    match before {
        "kotlin" => Some((format!("plugin org.jetbrains.kotlin.{id}"), version)),
        "id" if id.contains('.') => Some((format!("plugin {id}"), version)),
        _ if applies && id.contains('.') => Some((format!("plugin {id}"), version)),
        _ => None,
    }
}

/// `[libraries]` and `[plugins]` of a version catalogue.
pub(super) fn catalogue(text: &str, _dir: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let entries = |key: &str| root.get(key).and_then(Value::as_table).into_iter().flatten();
    let field =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let library = |(_, value): (&String, &Value)| {
        let text = match value.as_str().map(str::to_owned).or_else(|| field(value, "module")) {
            Some(text) => text,
            None => format!("{}:{}", field(value, "group")?, field(value, "name")?),
        };
        let mut parts = text.split(':');
        Some((format!("{}:{}", parts.next()?, parts.next()?), value.to_string()))
    };
    let plugin = |(_, value): (&String, &Value)| {
        let text = value.as_str().map(str::to_owned).or_else(|| field(value, "id"))?;
        Some((format!("plugin {}", text.split(':').next()?), value.to_string()))
    };
    let libraries = entries("libraries").filter_map(library);
    Some(libraries.chain(entries("plugins").filter_map(plugin)).collect())
}

/// Lines such as `group:artifact:1.0=compileClasspath`.
pub(super) fn gradle_lock(text: &str, _dir: &str) -> Option<Names> {
    let named = |line: &str| {
        let mut parts = line.split('=').next()?.split(':');
        Some((format!("{}:{}", parts.next()?, parts.next()?), String::new()))
    };
    Some(text.lines().filter(|line| !line.starts_with('#')).filter_map(named).collect())
}
