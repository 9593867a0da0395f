//! Maven and Gradle.

use super::Names;
use toml::{Table, Value};

/// The text between the first pair of tags of a name.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let from = text.find(&open)? + open.len();
    let rest = text.get(from..)?;
    rest.get(..rest.find(&close)?).map(str::trim)
}

/// `group:artifact` of each `<dependency>`, comments left out.
pub(super) fn maven(text: &str) -> Option<Names> {
    let text = without_comments(text);
    let mut names = Names::new();
    for part in text.split("<dependency>").skip(1) {
        let part = part.split("</dependency>").next().unwrap_or(part);
        if let (Some(group), Some(artifact)) = (inside(part, "groupId"), inside(part, "artifactId"))
        {
            names.insert(format!("{group}:{artifact}"));
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

fn is_part(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-$".contains(c))
}

/// Quoted `group:artifact[:version]`, and `libs.name` of a catalogue.
pub(super) fn gradle(text: &str) -> Option<Names> {
    let mut names = Names::new();
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with("//") || line.starts_with('*') || line.starts_with("/*") {
            continue;
        }
        for quoted in line.split(['"', '\'']).skip(1).step_by(2) {
            let parts: Vec<&str> = quoted.split(':').collect();
            if let [group, artifact, ..] = parts.as_slice()
                && is_part(group)
                && is_part(artifact)
                && parts.len() <= 5
            {
                names.insert(format!("{group}:{artifact}"));
            }
        }
    }
    Some(names)
}

/// `[libraries]` of a version catalogue.
pub(super) fn catalogue(text: &str) -> Option<Names> {
    let root: Table = text.parse().ok()?;
    let libraries = root.get("libraries").and_then(Value::as_table);
    let named = |(_, value): (&String, &Value)| {
        let field = |key: &str| value.get(key).and_then(Value::as_str);
        let text = match value.as_str().or_else(|| field("module")) {
            Some(text) => text.to_owned(),
            None => format!("{}:{}", field("group")?, field("name")?),
        };
        let mut parts = text.split(':');
        Some(format!("{}:{}", parts.next()?, parts.next()?))
    };
    Some(libraries.into_iter().flatten().filter_map(named).collect())
}

/// Lines such as `group:artifact:1.0=compileClasspath`.
pub(super) fn gradle_lock(text: &str) -> Option<Names> {
    let named = |line: &str| {
        let mut parts = line.split('=').next()?.split(':');
        Some(format!("{}:{}", parts.next()?, parts.next()?))
    };
    Some(text.lines().filter(|line| !line.starts_with('#')).filter_map(named).collect())
}
