//! Gradle.

use super::{Names, place};
use toml::{Table, Value};

/// Blocks whose statements name dependencies.
const BLOCKS: [&str; 5] =
    ["dependencies", "constraints", "dependencyManagement", "imports", "resolutionStrategy"];
/// Statements that only say or leave out something.
const SAYINGS: [&str; 10] = [
    "print",
    "println",
    "logger",
    "log",
    "include",
    "includeFlat",
    "exclude",
    "url",
    "uri",
    "throw",
];

/// A part of a coordinate; it may have a variable in it.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-${}".contains(c))
}

/// A statement of a script.
#[derive(Default)]
struct Statement {
    text: String,
    /// Whether it stands in a block whose statements name dependencies.
    is_inside: bool,
}

impl Statement {
    /// The first word, without quotes.
    fn word(&self) -> &str {
        let text = self.text.trim_start().trim_start_matches(['"', '\'']);
        let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
        text.get(..end).unwrap_or_default()
    }

    /// Tells whether it may name a dependency in a short form, too.
    fn is_of_dependencies(&self) -> bool {
        let named = ["force", "useTarget", "substitute", "module", "platform", "enforcedPlatform"];
        let word = self.word();
        self.is_inside || named.contains(&word) || is_configuration(word)
    }
}

/// Skips the rest of a comment of several lines.
fn skip_comment(chars: &mut impl Iterator<Item = char>) {
    let mut last = ' ';
    for c in chars {
        if (last, c) == ('*', '/') {
            break;
        }
        last = c;
    }
}

/// Statements of a script without comments; what stands in parentheses, or goes on after a comma, is one.
fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut one = Statement::default();
    let mut blocks: Vec<bool> = Vec::new();
    let (mut quote, mut depth) = (None, 0_usize);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (quote, c) {
            (Some(open), c) if open == c || c == '\n' => quote = None,
            (Some(_), _) => {}
            (None, '/') if next == Some('/') => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (None, '/') if next == Some('*') => {
                skip_comment(&mut chars);
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let goes_on = c == '\n' && one.text.trim_end().ends_with(',');
        if quote.is_none() && depth == 0 && !goes_on && matches!(c, '\n' | ';' | '{' | '}') {
            let mut is_inside = blocks.last() == Some(&true);
            match c {
                '{' => {
                    let header = one.text.trim().rsplit(|c: char| !c.is_alphanumeric()).next();
                    is_inside |= header.is_some_and(|header| BLOCKS.contains(&header));
                    blocks.push(is_inside);
                }
                '}' => {
                    blocks.pop();
                    is_inside = blocks.last() == Some(&true);
                }
                _ => {}
            }
            found.push(std::mem::replace(&mut one, Statement { text: String::new(), is_inside }));
        } else {
            one.text.push(if c == '\n' { ' ' } else { c });
        }
    }
    found.push(one);
    found
}

/// Texts in quotes, each with what stands before it.
fn quoted(statement: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = statement.split(['"', '\'']).collect();
    let pairs = parts.chunks_exact(2);
    pairs.filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

/// Quoted `group:artifact[:version]`, the same in parts, files and plugins.
pub(super) fn manifest(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for statement in statements(text) {
        let quoted = quoted(&statement.text);
        if !SAYINGS.contains(&statement.word()) {
            let short = statement.is_of_dependencies();
            names.extend(quoted.iter().filter_map(|(_, text)| coordinates(text, short)));
        }
        names.extend(in_parts(&statement, &quoted));
        names.extend(plugin(&statement.text, &quoted));
        names.extend(files(&statement, &quoted));
        let kotlin = |(before, name): &(&str, &str)| {
            let inside = before.trim_end().strip_suffix('(')?.strip_suffix("kotlin")?;
            let name = format!("org.jetbrains.kotlin:kotlin-{name}");
            (!inside.trim().is_empty()).then_some((name, String::new()))
        };
        names.extend(quoted.iter().filter_map(kotlin));
    }
    Some(names)
}

/// `group:artifact[:version]`. Where nothing else tells that it is a dependency, as in a list of names, it has to look like one:
/// with a version, or with a dot in its group.
fn coordinates(text: &str, short: bool) -> Option<(String, String)> {
    let parts: Vec<&str> = text.split(':').collect();
    let [group, artifact, version @ ..] = parts.as_slice() else { return None };
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let versioned = version.first().is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit() || "$[(+".contains(c))
            || version.starts_with("latest")
    });
    let begins = |c: char| c.is_alphabetic() || c == '$';
    let looks =
        group.starts_with(begins) && (versioned || (parts.len() == 2 && group.contains('.')));
    let fits = is_part(group) && is_part(artifact) && !is_number(artifact) && parts.len() <= 5;
    (fits && (short || looks)).then(|| (format!("{group}:{artifact}"), version.join(":")))
}

/// Packages that lie somewhere as files: `files('libs/x.jar')` and `fileTree('libs')`.
fn files(statement: &Statement, quoted: &[(&str, &str)]) -> Vec<(String, String)> {
    if !statement.is_of_dependencies() {
        return Vec::new();
    }
    let text = &statement.text;
    if text.contains("fileTree") {
        let dir = quoted.first().map(|(_, dir)| *dir).unwrap_or_default();
        return vec![(format!("fileTree({dir})"), String::new())];
    }
    let archives = quoted.iter().filter(|(_, file)| place::is_archive(file));
    let archives = archives.filter(|_| text.contains("files"));
    archives.map(|(_, file)| (format!("files({file})"), String::new())).collect()
}

/// `implementation group: 'g', name: 'a'`, `implementation("g", "a", "1")` and `"implementation"("g", "a", "1")`.
fn in_parts(statement: &Statement, quoted: &[(&str, &str)]) -> Option<(String, String)> {
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
    let arguments = match quoted {
        [(before, _), rest @ ..] if before.trim().is_empty() => rest,
        all => all,
    };
    let between = |(place, (before, text)): (usize, &(&str, &str))| {
        let only = if place == 0 { before.trim_end().ends_with('(') } else { before.trim() == "," };
        only && is_part(text)
    };
    match arguments {
        [(_, group), (_, name), rest @ ..]
            if is_configuration(statement.word()) && arguments.iter().enumerate().all(between) =>
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
pub(super) fn lock(text: &str, _dir: &str) -> Option<Names> {
    let named = |line: &str| {
        let mut parts = line.split('=').next()?.split(':');
        Some((format!("{}:{}", parts.next()?, parts.next()?), String::new()))
    };
    Some(text.lines().filter(|line| !line.starts_with('#')).filter_map(named).collect())
}
