//! neo's directories and the files in them: `~/.neo`, with one directory for each supervisor, or one of those.

use comity_core::refusal::{Code, Refusal};
use comity_protocol::neotx::lines::Lines;
use comity_protocol::neotx::records::{DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE};
use comity_protocol::plan::{FILE_BYTES_MAX, LeftOut};
use comity_store::neo::Tables;
use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The directory that has the supervisors'.
const SUPERVISORS: &str = "supervisors";
/// The supervisor that neo starts when none is named.
const DEFAULT: &str = "supervisor";
/// Who may read and write a new file, before the mask of the user.
const NEW_MODE: u32 = 0o666;

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::input(format!("cannot {what} {}: {error}", path.display()))
}

/// A file of lines.
pub(super) struct File {
    path: PathBuf,
    /// What is in it; none when it is not there.
    before: Option<Vec<u8>>,
    pub(super) lines: Lines,
}

/// What one supervisor keeps.
pub(super) struct Files {
    pub(super) dir: PathBuf,
    pub(super) decisions: File,
    pub(super) directives: File,
    pub(super) tables: Tables,
    /// Whether there is a database.
    pub(super) has_tables: bool,
    /// What goes before the name of a file where there are several supervisors.
    pub(super) prefix: String,
}

/// Reads what the supervisors at a place keep, all of it before anything is done with it.
pub(super) fn read(dir: &Path) -> Result<Vec<Files>, Refusal> {
    let all = supervisors(dir)?;
    let several = all.len() > 1;
    all.into_iter().map(|dir| Files::read(dir, several)).collect()
}

/// The supervisors' directories at a place that a person named.
fn supervisors(dir: &Path) -> Result<Vec<PathBuf>, Refusal> {
    if !dir.is_dir() {
        return Err(Refusal::input(format!("{} is no directory", dir.display()))
            .hint("give ~/.neo, or a supervisor's directory below ~/.neo/supervisors"));
    }
    let several = dir.join(SUPERVISORS);
    if !several.is_dir() {
        let known = [DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE];
        if !known.iter().any(|file| dir.join(file).exists()) {
            return Err(Refusal::input(format!("{} has none of neo's files", dir.display()))
                .hint(format!("one of {} should be there", known.join(", "))));
        }
        return Ok(vec![dir.to_owned()]);
    }
    inside(&several)
}

fn inside(several: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let entries = std::fs::read_dir(several).map_err(|error| failed("read", several, &error))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|it| it.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// Where an export goes.
pub(super) struct Targets {
    /// The directory that gets what no supervisor has yet.
    pub(super) first: PathBuf,
    /// Others that get what is theirs.
    pub(super) others: Vec<PathBuf>,
    /// Supervisors beside those, whose things are left to them.
    pub(super) beside: Vec<PathBuf>,
}

/// Finds where an export goes.
pub(super) fn targets(dir: &Path) -> Result<Targets, Refusal> {
    let several = dir.join(SUPERVISORS);
    if several.is_dir() {
        let first = several.join(DEFAULT);
        let others = inside(&several)?.into_iter().filter(|it| *it != first).collect();
        return Ok(Targets { first, others, beside: Vec::new() });
    }
    let first = dir.to_owned();
    let place = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let beside = match place.parent() {
        Some(parent) if parent.ends_with(SUPERVISORS) && parent.is_dir() => inside(parent)?,
        _ => Vec::new(),
    };
    let beside = beside.into_iter().filter(|it| it.file_name() != place.file_name()).collect();
    Ok(Targets { first, others: Vec::new(), beside })
}

impl Files {
    /// Reads what a supervisor keeps; what is not there is empty.
    pub(super) fn read(dir: PathBuf, several: bool) -> Result<Files, Refusal> {
        let file = dir.join(MEMORY_FILE);
        let has_tables = file.exists();
        let tables = if has_tables {
            comity_store::neo::read(&file).map_err(|error| {
                Refusal::input(error.to_string())
                    .hint("is it a SQLite file that neo wrote? nothing was done")
            })?
        } else {
            Tables::default()
        };
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let prefix = name.filter(|_| several).map(|name| name + "/").unwrap_or_default();
        Ok(Files {
            decisions: File::read(dir.join(DECISIONS_FILE))?,
            directives: File::read(dir.join(DIRECTIVES_FILE))?,
            dir,
            tables,
            has_tables,
            prefix,
        })
    }

    /// What of the files cannot be used, and why.
    pub(super) fn unusable(&self) -> Vec<LeftOut> {
        let mut left = Vec::new();
        for file in [&self.decisions, &self.directives] {
            let name = format!("{}{}", self.prefix, file.name());
            for problem in file.lines.problems.iter().chain(&file.lines.odd) {
                let line = problem.line.unwrap_or(0);
                left.push(LeftOut::new(&name, format!("line {line}"), &problem.message));
            }
        }
        for (table, id) in &self.tables.unreadable {
            let what = format!("a row of {table}");
            left.push(LeftOut::new(id, what, "it has bytes that are no text; it stays as it is"));
        }
        left
    }
}

impl File {
    fn read(path: PathBuf) -> Result<File, Refusal> {
        let before = bytes(&path)?;
        let lines = Lines::read(before.as_deref().unwrap_or_default());
        Ok(File { path, before, lines })
    }

    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Tells whether the file is there.
    pub(super) fn is_there(&self) -> bool {
        self.before.is_some()
    }

    /// Refuses a file with a line that is no JSON: it may be half written just now.
    pub(super) fn is_whole(&self) -> Result<(), Refusal> {
        let Some(first) = self.lines.problems.first() else { return Ok(()) };
        let line = first.line.unwrap_or(0);
        let message = format!("{}, line {line}: {}", self.path.display(), first.message);
        Err(Refusal::new(Code::ContractInvalid, message)
            .hint("mend or remove that line first; nothing was written"))
    }

    /// Writes what is to take the place of the file beside it; none when nothing changes.
    pub(super) fn prepare(&self) -> Result<Option<Prepared<'_>>, Refusal> {
        let bytes = self.lines.bytes();
        if self.before.as_deref() == Some(bytes.as_slice()) {
            return Ok(None);
        }
        // A link stays a link: what it leads to is replaced.
        let path = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let written = || -> std::io::Result<NamedTempFile> {
            let dir = path.parent().unwrap_or_else(|| Path::new("."));
            let mode = match std::fs::metadata(&path) {
                Ok(data) => data.permissions(),
                Err(_) => Permissions::from_mode(NEW_MODE),
            };
            let mut new = tempfile::Builder::new().permissions(mode.clone()).tempfile_in(dir)?;
            if path.exists() {
                new.as_file().set_permissions(mode)?;
            }
            new.write_all(&bytes)?;
            new.as_file().sync_all()?;
            Ok(new)
        };
        let new = written().map_err(|error| failed("write", &self.path, &error))?;
        Ok(Some(Prepared { file: self, path: path.clone(), new }))
    }
}

/// A file that is written and not yet in its place.
pub(super) struct Prepared<'f> {
    file: &'f File,
    path: PathBuf,
    new: NamedTempFile,
}

impl Prepared<'_> {
    /// Refuses when somebody wrote the file since it was read.
    pub(super) fn is_current(&self) -> Result<(), Refusal> {
        if bytes(&self.file.path)? == self.file.before {
            return Ok(());
        }
        let message = format!("{} was written meanwhile", self.file.path.display());
        Err(Refusal::new(Code::EtagMismatch, message).hint("nothing was written; export again"))
    }

    /// Puts it into its place at once, so that nobody reads half of it.
    pub(super) fn keep(self) -> Result<(), Refusal> {
        let placed = self.new.persist(&self.path);
        placed.map(drop).map_err(|error| failed("write", &self.path, &error.error))
    }
}

/// Reads a file; none when it is not there.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    match std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path, &error)),
    }
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Refusal::input(message));
    }
    Ok(Some(bytes))
}
