//! From a path that a user typed to a path relative to the project's root.

use comity_core::ids::shorten;
use comity_core::pattern::{PATH_BYTES_MAX, Pattern, PatternError, RepoPath, alternatives};
use comity_core::refusal::Refusal;
use std::path::{Component, Path, PathBuf};

/// Turns what was typed in a directory into patterns of the project.
pub struct Mapper {
    cwd: PathBuf,
    trees: Vec<PathBuf>,
}

impl Mapper {
    /// Reads paths as typed in `cwd`; `trees` are the tops of the project's work trees.
    pub fn new(cwd: &Path, trees: Vec<PathBuf>) -> Mapper {
        let real = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
        let mut trees: Vec<PathBuf> = trees.into_iter().map(real).collect();
        // A worktree inside the root must be looked at before the root.
        trees.sort_by_key(|tree| std::cmp::Reverse(tree.components().count()));
        trees.dedup();
        Mapper { cwd: real(cwd.to_owned()), trees }
    }

    pub fn pattern(&self, text: &str) -> Result<String, Refusal> {
        // What can never be a path is refused before the file system is asked about it.
        if text.is_empty() || text.len() > PATH_BYTES_MAX {
            return Err(invalid(text, RepoPath::parse(text).err().unwrap_or(PatternError::Empty)));
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            return Err(invalid(text, PatternError::ControlCharacter(c)));
        }
        let mapped = self.map(text)?;
        let (literal, glob) = self.split(text);
        if !glob.contains('{') {
            return Ok(mapped);
        }
        // Each alternative may lead through a link of its own.
        let mut each = Vec::new();
        for one in alternatives(glob).map_err(|error| invalid(text, error))? {
            each.push(self.map(&format!("{literal}{one}"))?);
        }
        if alternatives(&mapped).is_ok_and(|all| all == each) {
            return Ok(mapped);
        }
        let mapped = format!(
            "{{{}}}",
            each.iter().map(|one| one_of_many(one)).collect::<Vec<_>>().join(",")
        );
        Pattern::parse(&mapped).map_err(|error| invalid(text, error))?;
        Ok(mapped)
    }

    /// Resolves the literal segments in front of the first glob.
    fn map(&self, text: &str) -> Result<String, Refusal> {
        let (literal, glob) = self.split(text);
        let real = self.resolve(Path::new(literal));
        let inside = self.relative(&real).ok_or_else(|| {
            let all: Vec<String> = self.trees.iter().map(|t| t.display().to_string()).collect();
            Refusal::input(format!("path {text:?} is outside the project"))
                .hint(format!("give a path inside {}", all.join(", ")))
        })?;
        let inside = inside.ok_or_else(|| {
            Refusal::input(format!("path {:?}: it is not UTF-8", shorten(text))).hint(EXAMPLES)
        })?;
        let mapped = match (inside.is_empty(), glob.is_empty()) {
            (true, true) => ".".to_owned(),
            (true, false) => glob.to_owned(),
            (false, true) if literal.ends_with('/') => format!("{inside}/"),
            (false, true) => inside,
            (false, false) => format!("{inside}/{glob}"),
        };
        Pattern::parse(&mapped).map_err(|error| invalid(text, error))?;
        Ok(mapped)
    }

    /// Returns the pattern of exactly this file, whatever characters its name has; nothing for a file outside the project.
    pub fn literal(&self, file: &Path) -> Result<Option<String>, Refusal> {
        let inside = match self.relative(&self.resolve(file)) {
            None => return Ok(None),
            Some(inside) => inside.ok_or_else(|| {
                Refusal::input(format!("path {:?} is not UTF-8", file.display().to_string()))
            })?,
        };
        Pattern::parse(&inside)
            .map_err(|error| Refusal::input(format!("path {inside:?}: {error}")))
            .map(|_| Some(inside))
    }

    pub fn patterns(&self, texts: &[String]) -> Result<Vec<String>, Refusal> {
        texts.iter().map(|text| self.pattern(text)).collect()
    }

    /// Splits off the literal segments in front of the first glob. A segment with brackets that is there
    /// under that very name, such as `[id]`, is meant literally: read as a glob, it would leave the
    /// file itself out.
    fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let mut start = 0;
        for segment in text.split_inclusive('/') {
            let end = start + segment.len();
            let upto = text.get(..end).unwrap_or(text);
            let wild = segment.contains(['*', '?']);
            let braced = segment.contains(['[', ']', '{', '}']);
            if wild || (braced && !self.resolve(Path::new(upto)).exists()) {
                return text.split_at(start);
            }
            start = end;
        }
        (text, "")
    }

    /// Resolves links of whatever exists; what does not exist yet is taken as written.
    fn resolve(&self, path: &Path) -> PathBuf {
        let mut real = if path.is_absolute() { PathBuf::from("/") } else { self.cwd.clone() };
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    real.pop();
                }
                Component::Normal(name) => {
                    real.push(name);
                    if real.is_symlink()
                        && let Ok(target) = std::fs::canonicalize(&real)
                    {
                        real = target;
                    }
                }
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        real
    }

    /// Returns the path below the innermost tree; the inner nothing means that it is not UTF-8.
    fn relative(&self, real: &Path) -> Option<Option<String>> {
        let below = self.trees.iter().find_map(|tree| real.strip_prefix(tree).ok())?;
        Some(below.to_str().map(|text| escape(&text.replace(std::path::MAIN_SEPARATOR, "/"))))
    }
}

const EXAMPLES: &str =
    "give a path or a glob inside the project, such as src/parser or 'src/**/*.rs'";

fn invalid(text: &str, error: PatternError) -> Refusal {
    Refusal::new(error.code(), format!("path {:?}: {error}", shorten(text))).hint(EXAMPLES)
}

/// Writes a pattern as one of several alternatives: a comma of its own would part it. In a class it parts nothing.
fn one_of_many(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut in_class = false;
    for c in pattern.chars() {
        match c {
            ',' if !in_class => out.push_str("[,]"),
            plain => out.push(plain),
        }
        // A bracket right behind the opening one is a member of the class.
        in_class =
            (in_class || c == '[') && (c != ']' || out.ends_with("[]") || out.ends_with("[!]"));
    }
    out
}

/// Returns a file name as a pattern: characters that a pattern would read as a glob stand for themselves.
pub fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '*' | '?' | '[' | '{' | '}' => out.extend(['[', c, ']']),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, Mapper) {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap().join("p");
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(root.join("wt/src")).unwrap();
        std::os::unix::fs::symlink("src", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        let mapper = Mapper::new(&root.join("src"), vec![root.clone(), root.join("wt")]);
        (dir, mapper)
    }

    #[test]
    fn rule_4_paths_are_relative_to_the_working_directory() {
        let (_dir, mapper) = project();
        for (typed, mapped) in [
            ("a.rs", "src/a.rs"),
            ("./a.rs", "src/a.rs"),
            ("../a.rs", "a.rs"),
            ("*.rs", "src/*.rs"),
            ("deep/**", "src/deep/**"),
            ("deep/", "src/deep/"),
            ("..", "."),
            ("../link/x.rs", "src/x.rs"),
            ("../wt/src/x.rs", "src/x.rs"),
            ("../new/./y/../z", "new/z"),
            ("{a,b}.rs", "src/{a,b}.rs"),
            ("../link/*.rs", "src/*.rs"),
            ("../link/deep/**/*.{a,b}", "src/deep/**/*.{a,b}"),
            ("../{link,new}/x.rs", "{src/x.rs,new/x.rs}"),
            ("../{link/[,]a,b,c}*", "{src/[,]a*,b*,c*}"),
            ("../wt/{src,b}/*", "{src,b}/*"),
        ] {
            assert_eq!(mapper.pattern(typed).unwrap(), mapped, "{typed}");
        }
    }

    #[test]
    fn rule_4_what_is_there_under_a_name_with_brackets_is_meant_literally() {
        let (_dir, mapper) = project();
        let root = mapper.trees.last().unwrap().clone();
        std::fs::create_dir_all(root.join("src/[id]")).unwrap();
        std::fs::write(root.join("src/[id]/{p}.ts"), "").unwrap();
        for (typed, mapped) in [
            ("[id]", "src/[[]id]"),
            ("[id]/{p}.ts", "src/[[]id]/[{]p[}].ts"),
            ("[id]/*.ts", "src/[[]id]/*.ts"),
            ("[id]/new.ts", "src/[[]id]/new.ts"),
            ("[ab]/p.ts", "src/[ab]/p.ts"),
            ("[id]/{q}.ts", "src/[[]id]/{q}.ts"),
        ] {
            assert_eq!(mapper.pattern(typed).unwrap(), mapped, "{typed}");
        }
        let inside = Mapper::new(&root.join("src/[id]"), vec![root]);
        assert_eq!(inside.pattern("{p}.ts").unwrap(), mapper.pattern("[id]/{p}.ts").unwrap());
    }

    #[test]
    fn rule_4_an_absolute_path_inside_the_root_or_a_worktree_is_fine() {
        let (_dir, mapper) = project();
        let root = mapper.trees.last().unwrap().clone();
        let typed = |tail: &str| format!("{}/{tail}", root.display());
        assert_eq!(mapper.pattern(&typed("src/a.rs")).unwrap(), "src/a.rs");
        assert_eq!(mapper.pattern(&typed("wt/src/*.rs")).unwrap(), "src/*.rs");
    }

    #[test]
    fn rule_4_what_is_outside_or_malformed_is_refused() {
        let (_dir, mapper) = project();
        let long = "x".repeat(5000);
        for typed in [
            "../..",
            "/etc/passwd",
            "../out/passwd",
            "../out/*",
            "../{out,x}/*",
            "../{.,src}/x",
            "",
            "a\u{7}b",
            "a\\b",
            "[",
            long.as_str(),
        ] {
            let refusal = mapper.pattern(typed).unwrap_err();
            assert_eq!(refusal.code.exit_status(), 2, "{typed}");
        }
    }
}
