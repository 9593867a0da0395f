//! The text of a pad: Markdown with sections, each below a heading `## NAME`.

use std::collections::BTreeMap;

/// The mark of a section's heading.
const HEADING: &str = "## ";

/// A part of a pad: what stands below one heading, or before the first.
#[derive(Debug, PartialEq)]
pub struct Section<'t> {
    /// Empty for what stands before the first heading.
    pub name: &'t str,
    /// The heading and everything up to the next one.
    pub text: &'t str,
}

/// Divides a pad at its headings; a heading inside a fenced block of code is none.
pub fn sections(text: &str) -> Vec<Section<'_>> {
    let mut starts: Vec<(usize, &str)> = vec![(0, "")];
    let (mut at, mut fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if let Some(name) = line.strip_prefix(HEADING)
            && !fenced
        {
            starts.push((at, name.trim()));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|((start, name), end)| Section {
            name,
            text: text.get(*start..end).unwrap_or_default(),
        })
        .filter(|section| !section.text.is_empty())
        .collect()
}

/// Adds a text at the end, on a line of its own.
pub fn appended(old: &str, text: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    format!("{old}{gap}{}\n", text.trim_end())
}

/// Replaces what stands below a heading; a heading that is not there comes at the end.
pub fn with_section(old: &str, name: &str, body: &str) -> String {
    let body = body.trim_end();
    // Whoever gives the heading with the section means the same.
    let body = match sections(body).as_slice() {
        [first] if first.name == name => first.text.split_once('\n').map_or("", |(_, rest)| rest),
        _ => body,
    };
    let written = format!("{HEADING}{name}\n{}\n", body.trim_matches('\n'));
    let parts = sections(old);
    if !parts.iter().any(|part| part.name == name) {
        return appended(old, &written);
    }
    let mut seen = false;
    let mut new = String::new();
    for part in parts {
        if part.name != name {
            new.push_str(part.text);
        } else if !std::mem::replace(&mut seen, true) {
            new.push_str(&written);
            if part.text.ends_with("\n\n") {
                new.push('\n');
            }
        }
    }
    new
}

/// Returns the version in which each section changed last, after a new version.
pub fn changed_sections(
    old: &str,
    new: &str,
    known: &BTreeMap<String, u64>,
    version: u64,
) -> BTreeMap<String, u64> {
    let before = joined(old);
    let after = joined(new);
    after
        .into_iter()
        .map(|(name, text)| {
            let same = before.get(name) == Some(&text);
            let last = known.get(name).copied().filter(|_| same).unwrap_or(version);
            (name.to_owned(), last)
        })
        .collect()
}

/// Returns the sections by name; those with one name count as one.
fn joined(text: &str) -> BTreeMap<&str, String> {
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    for section in sections(text) {
        all.entry(section.name).or_default().push_str(section.text.trim_end());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "Intro\n\n## Plan\none\n\n## Open\n```\n## no heading\n```\n";

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let page = with_section(PAGE, "Plan", "two");
        assert_eq!(page, "Intro\n\n## Plan\ntwo\n\n## Open\n```\n## no heading\n```\n");
        assert_eq!(with_section(PAGE, "Plan", "## Plan\ntwo\n"), page);
        let page = with_section(PAGE, "New", "three");
        assert_eq!(page, format!("{PAGE}## New\nthree\n"));
    }

    #[test]
    fn each_section_knows_the_version_of_its_last_change() {
        let first = changed_sections("", PAGE, &BTreeMap::new(), 1);
        assert_eq!(
            first.into_iter().collect::<Vec<_>>(),
            [(String::new(), 1), ("Open".to_owned(), 1), ("Plan".to_owned(), 1)]
        );
        let known = changed_sections("", PAGE, &BTreeMap::new(), 1);
        let page = with_section(PAGE, "Plan", "two");
        let second = changed_sections(PAGE, &page, &known, 2);
        assert_eq!((second["Plan"], second["Open"], second[""]), (2, 1, 1));
    }

    #[test]
    fn what_is_appended_stands_on_its_own_line() {
        assert_eq!(appended("", "a"), "a\n");
        assert_eq!(appended("a", "b\n\n"), "a\nb\n");
        assert_eq!(appended("a\n", "b"), "a\nb\n");
    }
}
