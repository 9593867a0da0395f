//! The part of git's configuration format that is needed to look up a few values.

/// A configuration file, read by hand because starting git costs more than the whole command.
pub struct Ini {
    entries: Vec<(String, String, String)>,
    has_include: bool,
}

impl Ini {
    /// Reads the text; lines that are not understood are skipped.
    pub fn parse(text: &str) -> Ini {
        let mut entries = Vec::new();
        let mut section = String::new();
        let mut has_include = false;
        for line in text.lines() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[') {
                section = section_name(header);
                has_include |= section.starts_with("include");
            } else if let Some((key, value)) = line.split_once('=') {
                let key = key.trim().to_ascii_lowercase();
                entries.push((section.clone(), key, value_text(value)));
            }
        }
        Ini { entries, has_include }
    }

    /// Returns the last value of a key; sections are written `core` or `remote.origin`.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        let wanted = |(s, k, _): &&(String, String, String)| s == section && k == key;
        self.entries.iter().rev().find(wanted).map(|(_, _, value)| value.as_str())
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

    /// Tells whether the file includes others, so that a missing value may be there.
    pub fn has_include(&self) -> bool {
        self.has_include
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
        assert!(!ini.has_include());
    }

    #[test]
    fn odd_text_is_skipped() {
        let ini = Ini::parse("[\n[]\n=\nx\n[a \"b]\ny=\\");
        assert_eq!(ini.get("a.b", "y"), Some(""));
    }
}
