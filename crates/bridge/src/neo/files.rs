//! neo's files. `~/.neo` has one directory for each supervisor; a user may name `~/.neo` or one of those directories.

use comity_core::chain::Hash;
use comity_core::refusal::{Code, Refusal};
use comity_project::plain_file;
use comity_protocol::neotx::changes::BOOKKEEPING;
use comity_protocol::neotx::lines::Lines;
use comity_protocol::neotx::records::{DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE};
use comity_protocol::plan::{FILE_BYTES_MAX, LeftOut};
use comity_store::neo::{Row, Tables};
use serde_json::json;
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// This directory holds one directory for each supervisor.
const SUPERVISORS: &str = "supervisors";
/// The supervisor that neo starts when none is named.
const DEFAULT: &str = "supervisor";
/// The mode of a new file, before the user's mask.
const NEW_MODE: u32 = 0o666;

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::input(format!("cannot {what} {}: {error}", path.display()))
}

pub(super) struct File {
    path: PathBuf,
    /// The bytes that were read; none when the file does not exist.
    before: Option<Vec<u8>>,
    pub(super) lines: Lines,
}

pub(super) struct Files {
    pub(super) dir: PathBuf,
    pub(super) decisions: File,
    pub(super) directives: File,
    pub(super) tables: Tables,
    pub(super) has_tables: bool,
    /// The supervisor's name and a slash, where there are several supervisors.
    pub(super) prefix: String,
}

/// Reads the files of all supervisors in a directory.
pub(super) fn read(dir: &Path) -> Result<Vec<Files>, Refusal> {
    let all = supervisors(dir)?;
    let several = all.len() > 1;
    all.into_iter().map(|dir| Files::read(dir, several)).collect()
}

/// Finds the supervisors' directories in a directory that the user named.
fn supervisors(dir: &Path) -> Result<Vec<PathBuf>, Refusal> {
    if !dir.is_dir() {
        return Err(Refusal::input(format!("{} is not a directory", dir.display()))
            .hint("give ~/.neo, or a supervisor's directory below ~/.neo/supervisors"));
    }
    let several = dir.join(SUPERVISORS);
    if !several.is_dir() {
        let known = [DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE];
        if !known.iter().any(|file| dir.join(file).exists()) {
            return Err(Refusal::input(format!("{} holds none of neo's files", dir.display()))
                .hint(format!("the directory should hold one of {}", known.join(", "))));
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

pub(super) struct Targets {
    /// This directory gets what no supervisor has yet.
    pub(super) first: PathBuf,
    /// Each of these directories gets what it has already.
    pub(super) others: Vec<PathBuf>,
    /// Supervisors that the export does not write. What they have goes nowhere else.
    pub(super) beside: Vec<PathBuf>,
}

pub(super) fn targets(dir: &Path) -> Result<Targets, Refusal> {
    let several = dir.join(SUPERVISORS);
    if several.is_dir() {
        let first = several.join(DEFAULT);
        let others = inside(&several)?.into_iter().filter(|it| *it != first).collect();
        return Ok(Targets { first, others, beside: Vec::new() });
    }
    let first = dir.to_owned();
    let beside = match dir.parent() {
        Some(parent) if parent.ends_with(SUPERVISORS) && parent.is_dir() => inside(parent)?,
        _ => Vec::new(),
    };
    let beside = beside.into_iter().filter(|it| it.file_name() != dir.file_name()).collect();
    Ok(Targets { first, others: Vec::new(), beside })
}

impl Files {
    /// Reads one supervisor's files. A missing file counts as empty.
    pub(super) fn read(dir: PathBuf, several: bool) -> Result<Files, Refusal> {
        let file = dir.join(MEMORY_FILE);
        let has_tables = file.exists();
        let tables = if has_tables {
            comity_store::neo::read(&file).map_err(|error| {
                Refusal::input(error.to_string())
                    .hint("nothing was done; check that neo wrote this SQLite file")
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

    /// The digest of each file that is there, by its name.
    pub(super) fn digests(&self) -> Vec<(String, String)> {
        let lines = [&self.decisions, &self.directives].into_iter();
        let lines = lines.filter_map(|file| Some((file.name(), digest(file.before.as_ref()?))));
        let tables = self.has_tables.then(|| (MEMORY_FILE.to_owned(), digest_of(&self.tables)));
        lines.chain(tables).collect()
    }

    /// Lists the lines and rows that comity cannot use.
    pub(super) fn unusable(&self) -> Vec<LeftOut> {
        let mut left = Vec::new();
        for file in [&self.decisions, &self.directives] {
            let name = format!("{}{}", self.prefix, file.name());
            for problem in &file.lines.problems {
                let line = problem.line.unwrap_or(0);
                left.push(LeftOut::new(&name, format!("line {line}"), &problem.message));
            }
        }
        for (table, id) in &self.tables.unreadable {
            let what = format!("a row of {table}");
            left.push(LeftOut::new(
                id,
                what,
                "the row has bytes that are no text; it stays as it is",
            ));
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

    pub(super) fn is_there(&self) -> bool {
        self.before.is_some()
    }

    /// Writes the new file beside the old one; none when nothing changes.
    pub(super) fn prepare(&self) -> Result<Option<Prepared<'_>>, Refusal> {
        let bytes = self.lines.bytes();
        if self.before.as_deref() == Some(bytes.as_slice()) {
            return Ok(None);
        }
        // A symbolic link stays; the file behind it is replaced.
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
    /// Refuses if another program wrote the file since it was read.
    pub(super) fn is_current(&self) -> Result<(), Refusal> {
        if bytes(&self.file.path)? == self.file.before {
            return Ok(());
        }
        Err(written_meanwhile(&self.file.path))
    }

    /// The name of the file and the digest of what it will be.
    pub(super) fn digest(&self) -> (String, String) {
        (self.file.name(), digest(&self.file.lines.bytes()))
    }

    /// Renames the new file into its place, so that nobody reads half of it.
    pub(super) fn keep(self) -> Result<(), Refusal> {
        let placed = self.new.persist(&self.path);
        placed.map(drop).map_err(|error| failed("write", &self.path, &error.error))
    }
}

pub(super) fn written_meanwhile(path: &Path) -> Refusal {
    let message = format!("another program wrote {} during the export", path.display());
    Refusal::new(Code::EtagMismatch, message)
        .hint("nothing was written; import neo's files, then export again")
        .detail("files", json!([path.display().to_string()]))
}

fn digest(bytes: &[u8]) -> String {
    Hash::of(bytes).to_string()
}

/// The digest of neo's tables without the columns that neo changes when an agent only reads.
pub(super) fn digest_of(tables: &Tables) -> String {
    let edited = |rows: &[Row]| -> Vec<Row> {
        let mut rows = rows.to_vec();
        for row in &mut rows {
            row.retain(|column, _| !BOOKKEEPING.contains(&column.as_str()));
        }
        rows
    };
    let all = (edited(&tables.memories), edited(&tables.tasks), &tables.unreadable);
    digest(json!(all).to_string().as_bytes())
}

/// Reads a file; none when it is not there.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
    match plain_file::read(path, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Refusal::input(format!("cannot read {}: {error}", path.display()))),
    }
}
