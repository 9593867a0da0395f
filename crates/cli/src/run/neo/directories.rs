//! neo's directories: its own, `~/.neo`, with one for each supervisor, or one of those.

use comity_core::refusal::Refusal;
use comity_protocol::neotx::records::{
    DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE, Record, read_lines, settled,
};
use comity_protocol::plan::{FILE_BYTES_MAX, LeftOut};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The directory that has the supervisors'.
const SUPERVISORS: &str = "supervisors";
/// The supervisor that neo starts when none is named.
pub(super) const DEFAULT: &str = "supervisor";

fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::input(format!("cannot read {}: {error}", path.display()))
}

/// The supervisors' directories at a place that a person named.
pub(super) fn supervisors(dir: &Path) -> Result<Vec<PathBuf>, Refusal> {
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
    let entries = std::fs::read_dir(&several).map_err(|error| failed(&several, &error))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|it| it.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The one directory that an export goes to.
pub(super) fn target(dir: &Path) -> PathBuf {
    let several = dir.join(SUPERVISORS);
    if several.is_dir() { several.join(DEFAULT) } else { dir.to_owned() }
}

/// Reads a file of lines, the last line of each id; one that is not there is empty. Lines that cannot be read are
/// said.
pub(super) fn lines(path: &Path) -> Result<(Vec<Record>, Vec<LeftOut>), Refusal> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    match std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(failed(path, &error)),
    }
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Refusal::input(message));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (records, problems) = read_lines(&String::from_utf8_lossy(&bytes));
    let left = problems.into_iter().map(|problem| {
        let line = problem.line.unwrap_or(0);
        LeftOut::new(&name, format!("line {line}"), problem.message)
    });
    Ok((settled(records), left.collect()))
}
