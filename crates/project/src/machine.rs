//! What a process knows about itself and about where it runs.

use crate::plain_file;
use comity_core::refusal::Refusal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A door fills this in once, at its edge.
#[derive(Clone, Default)]
pub struct Machine {
    /// The working directory, with its links resolved.
    pub cwd: PathBuf,
    pub environment: Environment,
    /// Whether stdin, stdout or stderr is a terminal.
    pub at_terminal: bool,
    /// The user's name, in the characters of an identity.
    pub login: String,
    pub host: Option<String>,
    /// The terminal's name, such as `/dev/pts/3`.
    pub terminal: Option<String>,
    /// The process that started this one.
    pub parent: Option<u32>,
}

impl Machine {
    /// Returns the directories that a project is looked for in: the working directory and its parents, below the
    /// directories of `GIT_CEILING_DIRECTORIES` as git does it.
    pub fn searched_dirs(&self) -> impl Iterator<Item = &Path> {
        let listed = self.environment.own("GIT_CEILING_DIRECTORIES").unwrap_or_default();
        let ceilings: Vec<PathBuf> = listed
            .split(':')
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
            .map(|dir| std::fs::canonicalize(&dir).unwrap_or(dir))
            .collect();
        let parents = self.cwd.ancestors().skip(1);
        let below = parents.take_while(move |dir| !ceilings.iter().any(|ceiling| ceiling == dir));
        std::iter::once(self.cwd.as_path()).chain(below)
    }
}

/// How the names of the variables begin that count in a file.
const OF_FILES: &str = "COLLAB_";

/// Environment variables, and beside them those of files such as `.env`.
#[derive(Clone, Default)]
pub struct Environment {
    own: Arc<BTreeMap<OsString, OsString>>,
    from_files: Arc<BTreeMap<String, String>>,
}

impl Environment {
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let own = Arc::new(variables.into_iter().collect());
        Environment { own, from_files: Arc::default() }
    }

    /// Adds the variables of files that say how a `collaboration/` tree is kept. Who acts, and where root and store are, is
    /// not for a file to say. The environment itself overrides them, and an earlier file overrides a later one.
    #[must_use]
    pub fn with_files(self, files: &[PathBuf]) -> Environment {
        let mut known = BTreeMap::new();
        for file in files {
            for (name, value) in assignments(file) {
                known.entry(name).or_insert(value);
            }
        }
        known.retain(|name, value| name.starts_with(OF_FILES) && !value.is_empty());
        Environment { from_files: Arc::new(known), ..self }
    }

    /// Returns a variable. An empty one counts as unset; one that is not UTF-8 is refused.
    pub fn get(&self, name: &str) -> Result<Option<String>, Refusal> {
        match self.own.get(name.as_ref() as &std::ffi::OsStr) {
            None => Ok(self.from_files.get(name).cloned()),
            Some(value) if value.is_empty() => Ok(None),
            Some(value) => value.to_str().map(|text| Some(text.to_owned())).ok_or_else(|| {
                Refusal::input(format!("the environment variable {name} is not UTF-8"))
            }),
        }
    }

    /// Returns a variable of the process itself, as it is. Credentials are never taken from files of a repository.
    pub fn own(&self, name: &str) -> Option<String> {
        self.own.get(name.as_ref() as &std::ffi::OsStr)?.to_str().map(str::to_owned)
    }

    /// Returns the variables of the process with this name; a star at its end stands for any further characters.
    pub fn like(&self, name: &str) -> Vec<(String, String)> {
        let fits = |known: &str| match name.strip_suffix('*') {
            Some(beginning) => known.starts_with(beginning),
            None => known == name,
        };
        let text =
            self.own.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let found = text.filter(|(name, value)| fits(name) && !value.is_empty());
        found.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Tells whether the process has a variable that is not empty, whatever its bytes are.
    pub fn has(&self, name: &str) -> bool {
        self.own.get(name.as_ref() as &std::ffi::OsStr).is_some_and(|value| !value.is_empty())
    }
}

/// The largest `.env` that is read.
const ENV_FILE_BYTES_MAX: usize = 1024 * 1024;

fn assignments(file: &Path) -> Vec<(String, String)> {
    let text = plain_file::read_text(file, ENV_FILE_BYTES_MAX).unwrap_or_default();
    text.lines().filter_map(assignment).collect()
}

/// Reads `NAME=value`, with `export` before it or quotes around the value.
fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let value = value.trim();
    let quoted = |mark: char| {
        let inner = value.strip_prefix(mark)?;
        inner.find(mark).and_then(|end| inner.get(..end))
    };
    let plain = || value.split(" #").next().unwrap_or_default().trim_end();
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain);
    Some((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn lines_of_an_env_file_are_read_as_shells_write_them() {
        let read = |line: &str| assignment(line).map(|(name, value)| format!("{name}|{value}"));
        assert_eq!(read("COLLAB_TTL=60").as_deref(), Some("COLLAB_TTL|60"));
        assert_eq!(read("export A = 'x # y' # z").as_deref(), Some("A|x # y"));
        assert_eq!(read("B=\"q\" # z").as_deref(), Some("B|q"));
        assert_eq!(read("C=plain # z").as_deref(), Some("C|plain"));
        assert_eq!(read("# no=thing"), None);
        assert_eq!(read("nothing"), None);
    }

    #[test]
    fn the_environment_overrides_files_and_an_earlier_file_a_later_one() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("1"), dir.path().join("2"));
        let (a, b, c) = ("COLLAB_A", "COLLAB_B", "COLLAB_C");
        std::fs::write(&first, format!("{a}=first\n{b}=first\n")).unwrap();
        std::fs::write(&second, format!("{b}=second\n{c}=second\n")).unwrap();
        let own = environment(&[(a, "own"), (c, "")]);
        let all = own.with_files(&[first, second, dir.path().join("absent")]);
        let get = |name: &str| all.get(name).unwrap();
        assert_eq!(get(a).as_deref(), Some("own"));
        assert_eq!(get(b).as_deref(), Some("first"));
        assert_eq!(get(c), None, "an empty variable is unset, and no file sets it again");
        assert_eq!(all.own(b), None);
    }

    #[test]
    fn rule_1_7_a_file_says_nothing_about_store_root_or_who_acts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".env");
        let names = ["COMITY_STORE", "COMITY_ROOT", "COMITY_AGENT", "NEO_AGENT_NAME", "PGPASSWORD"];
        std::fs::write(&file, names.map(|name| format!("{name}=x\n")).concat()).unwrap();
        let all = environment(&[]).with_files(&[file]);
        for name in names {
            assert_eq!(all.get(name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_project_is_looked_for_below_the_ceilings_only() {
        let searched = |ceilings: &str| {
            let environment = environment(&[("GIT_CEILING_DIRECTORIES", ceilings)]);
            let machine = Machine { cwd: "/a/b/c".into(), environment, ..Machine::default() };
            machine.searched_dirs().map(|dir| dir.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(searched(""), ["/a/b/c", "/a/b", "/a", "/"]);
        assert_eq!(searched("relative:/x:/a"), ["/a/b/c", "/a/b"]);
        assert_eq!(searched("/a/b/c"), ["/a/b/c", "/a/b", "/a", "/"], "as git does");
    }

    #[test]
    fn a_variable_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let bad = Environment::new([("A".into(), OsString::from_vec(vec![0xff]))]);
        assert!(bad.get("A").is_err());
        assert!(bad.has("A"));
    }
}
