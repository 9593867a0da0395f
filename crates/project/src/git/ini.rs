//! The part of git's configuration format that is needed to look up a few values.

use std::path::Path;

/// How many files one configuration may include, so that a circle ends.
const INCLUDES_MAX: usize = 20;

/// A configuration file, read by hand because starting git costs more than the whole command.
pub struct Ini {
    entries: Vec<(String, String, String)>,
}

impl Ini {
    pub fn read(file: &Path) -> Ini {
        Ini::parse(&super::read(file).unwrap_or_default())
    }

    /// Reads a file and those that its `include.path` names; `~/` is below `home`. Conditional includes are not followed.
    pub fn read_with_includes(file: &Path, home: Option<&Path>) -> Ini {
        Ini::read_within(file, home, &mut { INCLUDES_MAX })
    }

    fn read_within(file: &Path, home: Option<&Path>, left: &mut usize) -> Ini {
        let own = Ini::read(file);
        let Some(dir) = file.parent() else { return own };
        let mut entries = Vec::new();
        for entry in own.entries {
            let (section, key, path) = &entry;
            let included = section == "include" && key == "path" && *left > 0;
            let file = included.then(|| match (path.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => dir.join(path),
            });
            entries.push(entry);
            if let Some(file) = file {
                *left -= 1;
                entries.extend(Ini::read_within(&file, home, left).entries);
            }
        }
        Ini { entries }
    }

    /// Lines that are not understood are skipped.
    fn parse(text: &str) -> Ini {
        let mut entries = Vec::new();
        let mut section = String::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[') {
                section = section_name(header);
            } else if let Some((key, value)) = line.split_once('=') {
                let key = key.trim().to_ascii_lowercase();
                entries.push((section.clone(), key, value_text(value)));
            }
        }
        Ini { entries }
    }

    /// Returns the last value of a key; sections are written `core` or `remote.origin`.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        let wanted = |(s, k, _): &&(String, String, String)| s == section && k == key;
        self.entries.iter().rev().find(wanted).map(|(_, _, value)| value.as_str())
    }

    /// Returns all values of a key, in the order of the file.
    pub fn all<'i>(&'i self, section: &str, key: &str) -> impl Iterator<Item = &'i str> {
        let wanted = move |(s, k, _): &&(String, String, String)| s == section && k == key;
        self.entries.iter().filter(wanted).map(|(_, _, value)| value.as_str())
    }

    /// Returns the names below a section, such as those of the remotes.
    pub fn names(&self, section: &str) -> Vec<&str> {
        let name = |(s, _, _): &'_ (String, String, String)| {
            s.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')).map(str::len)
        };
        self.entries
            .iter()
            .filter_map(|entry| name(entry).and_then(|len| entry.0.get(entry.0.len() - len..)))
            .collect()
    }
}

fn section_name(header: &str) -> String {
    let inside = header.rsplit_once(']').map_or(header, |(inside, _)| inside);
    match inside.split_once('"') {
        Some((name, rest)) => {
            let sub = rest.trim_end().trim_end_matches('"').replace("\\\"", "\"");
            format!("{}.{}", name.trim().to_ascii_lowercase(), sub.replace("\\\\", "\\"))
        }
        None => inside.trim().to_ascii_lowercase(),
    }
}

/// Takes quotes, escapes and a trailing comment off.
fn value_text(raw: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = raw.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    if quoted { out } else { out.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_sections_and_subsections_are_found() {
        let ini = Ini::parse(
            "[core]\n\tbare = false\n\tworktree = \"../a b\" ; here\n[remote \"origin\"]\n\
             \turl = git@example.org:ann/tool.git\n[Comity]\n root=/srv/x\n",
        );
        assert_eq!(ini.get("core", "bare"), Some("false"));
        assert_eq!(ini.get("core", "worktree"), Some("../a b"));
        assert_eq!(ini.get("remote.origin", "url"), Some("git@example.org:ann/tool.git"));
        assert_eq!(ini.get("comity", "root"), Some("/srv/x"));
        assert_eq!(ini.names("remote"), ["origin"]);
    }

    #[test]
    fn included_files_are_read_where_they_are_named_and_a_circle_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        file("config", "[a]\nx = 1\ny = 1\n[include]\npath = more\n[a]\ny = 3\n");
        file("more", "[a]\nx = 2\ny = 2\n[include]\npath = absent\n");
        let ini = Ini::read_with_includes(&dir.path().join("config"), None);
        assert_eq!((ini.get("a", "x"), ini.get("a", "y")), (Some("2"), Some("3")));
        file("round", "[include]\npath = round\npath = round\n[a]\nx = 1\n");
        let round = Ini::read_with_includes(&dir.path().join("round"), None);
        assert_eq!(round.get("a", "x"), Some("1"));
    }

    #[test]
    fn odd_text_is_skipped() {
        let ini = Ini::parse("[\n[]\n=\nx\n[a \"b]\ny=\\");
        assert_eq!(ini.get("a.b", "y"), Some(""));
    }
}
