//! Changing the files, each as a whole, and never through a link that leaves the project.

use super::record::Record;
use super::wanted::{Wanted, What};
use super::{json, table};
use comity_core::refusal::{Code, Refusal};
use std::path::{Path, PathBuf};

/// Files of clients are short; a longer one is left alone.
const MAX_BYTES: u64 = 1024 * 1024;
const BEGIN: &str = "<!-- comity:begin -->";
const END: &str = "<!-- comity:end -->";
/// What some editors put before the first character.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What became of the files. Paths start at the root.
#[derive(Debug, Default)]
pub struct Outcome {
    pub created: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// Files that comity did not touch, each with the reason.
    pub left_alone: Vec<(String, String)>,
}

impl Outcome {
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    fn note(&mut self, path: &str, before: Option<&str>, after: Option<&str>) {
        let list = match (before, after) {
            (None, _) => &mut self.created,
            (Some(_), Some(_)) => &mut self.changed,
            (Some(_), None) => &mut self.removed,
        };
        list.push(path.to_owned());
    }
}

pub(super) fn put_in(
    root: &Path,
    beside_store: &Path,
    files: &[Wanted],
    dry_run: bool,
) -> Result<Outcome, Refusal> {
    let (mut outcome, mut record) = (Outcome::default(), Record::read(beside_store));
    for file in files {
        let made = File::open(root, file.path).and_then(|found| {
            let after = with(found.text.as_deref(), &file.what)?;
            Ok((found, after))
        });
        let (found, after) = match made {
            Ok(made) => made,
            Err(reason) => {
                outcome.left_alone.push((file.path.to_owned(), reason));
                continue;
            }
        };
        let before = found.text.as_deref();
        if before == Some(after.as_str()) {
            continue;
        }
        outcome.note(file.path, before, Some(&after));
        if dry_run {
            continue;
        }
        // A file that has comity's part already, in another form, goes back to what it is without it.
        let bare = before.map_or(Ok(None), |text| without(text, &file.what)).unwrap_or_default();
        let comes_back = without(&after, &file.what).is_ok_and(|left| left == bare);
        if !comes_back || record.knows(file.path) {
            record.keep(file.path, before, bare, &after);
            record.write(beside_store)?;
        }
        found.replace(Some(&after))?;
    }
    Ok(outcome)
}

pub(super) fn take_out(
    root: &Path,
    beside_store: &Path,
    files: &[Wanted],
    dry_run: bool,
) -> Result<Outcome, Refusal> {
    let (mut outcome, mut record) = (Outcome::default(), Record::read(beside_store));
    for file in files {
        let found = match File::open(root, file.path) {
            Ok(found) => found,
            Err(reason) => {
                outcome.left_alone.push((file.path.to_owned(), reason));
                continue;
            }
        };
        let Some(now) = found.text.as_deref() else { continue };
        let after = match record.former(file.path, now) {
            Some(former) => Ok(former),
            None => without(now, &file.what),
        };
        match after {
            Ok(after) if after.as_deref() == Some(now) => {}
            Ok(after) => {
                outcome.note(file.path, Some(now), after.as_deref());
                if !dry_run {
                    found.replace(after.as_deref())?;
                    if after.is_none() {
                        remove_empty_parents(root, file.path);
                    }
                }
            }
            Err(reason) => outcome.left_alone.push((file.path.to_owned(), reason)),
        }
    }
    if !dry_run {
        record.write(beside_store)?;
    }
    Ok(outcome)
}

/// Returns the text of a file with comity's part in it.
fn with(before: Option<&str>, what: &What) -> Result<String, String> {
    let text = before.unwrap_or_default();
    let (mark, body) = split_mark(text);
    let made = match what {
        What::Json(entries) => {
            let made = json::put_in(body, entries)?;
            if before.is_none() { format!("{}\n", made.trim_end()) } else { made }
        }
        What::Codex(table) => table::put_in(body, table)?,
        What::Block(lines) => block_in(body, lines)?,
        What::Own(own) => (*own).to_owned(),
        What::IfAbsent(own) => before.map_or_else(|| (*own).to_owned(), str::to_owned),
    };
    Ok(format!("{mark}{}", made.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&made)))
}

/// Returns the text of a file without comity's part; nothing when nothing is left.
fn without(text: &str, what: &What) -> Result<Option<String>, String> {
    let (mark, body) = split_mark(text);
    let left = match what {
        What::Json(entries) => json::take_out(body, entries)?,
        What::Codex(table) => table::take_out(body, table)?,
        What::Block(_) => block_out(body)?,
        What::Own(own) => (body != *own).then(|| body.to_owned()),
        // Only the record tells whether comity wrote it.
        What::IfAbsent(_) => Some(body.to_owned()),
    };
    Ok(left.map(|left| format!("{mark}{left}")))
}

fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => text.split_at(text.len() - body.len()),
        None => ("", text),
    }
}

/// Finds comity's block, with its two marks and the line break after it.
fn block(text: &str) -> Result<Option<(usize, usize)>, String> {
    let Some(begin) = text.find(BEGIN) else { return Ok(None) };
    let after = text.get(begin..).and_then(|rest| rest.find(END));
    let end = after.ok_or_else(|| format!("it has {BEGIN} without {END}"))? + begin + END.len();
    let breaks = text.get(end..).map_or(0, |rest| match rest {
        rest if rest.starts_with("\r\n") => 2,
        rest if rest.starts_with('\n') => 1,
        _ => 0,
    });
    Ok(Some((begin, end + breaks)))
}

fn block_in(text: &str, lines: &str) -> Result<String, String> {
    let ends_lines_with = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let own = format!("{BEGIN}\n{lines}{END}\n").replace('\n', ends_lines_with);
    if let Some((begin, end)) = block(text)? {
        let (before, after) = (text.get(..begin), text.get(end..));
        return Ok(format!("{}{own}{}", before.unwrap_or_default(), after.unwrap_or_default()));
    }
    if text.is_empty() {
        return Ok(own);
    }
    let line_break = if text.ends_with('\n') { "" } else { ends_lines_with };
    Ok(format!("{text}{line_break}{ends_lines_with}{own}"))
}

fn block_out(text: &str) -> Result<Option<String>, String> {
    let Some((begin, end)) = block(text)? else { return Ok(Some(text.to_owned())) };
    let (before, after) =
        (text.get(..begin).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let blank = |line_break: &str| {
        let before = before.strip_suffix(line_break)?;
        before.ends_with('\n').then_some(before)
    };
    // The blank line before the block came with it.
    let before = blank("\r\n").or_else(|| blank("\n")).unwrap_or(before);
    let left = format!("{before}{after}");
    Ok((!left.is_empty()).then_some(left))
}

/// A file of a client, as it is.
struct File {
    /// Where it really is.
    place: PathBuf,
    text: Option<String>,
}

impl File {
    fn open(root: &Path, path: &str) -> Result<File, String> {
        let named = root.join(path);
        let place = inside(root, &named)?;
        let found = match std::fs::metadata(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(File { place, text: None });
            }
            found => found.map_err(|error| error.to_string())?,
        };
        if !found.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if found.len() > MAX_BYTES {
            return Err("it is longer than 1 MiB".to_owned());
        }
        let bytes = std::fs::read(&place).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        Ok(File { place, text: Some(text) })
    }

    /// Replaces the whole file, with its permissions; no text takes it away.
    fn replace(&self, text: Option<&str>) -> Result<(), Refusal> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot write {}: {error}", self.place.display());
            Refusal::new(Code::StoreReadOnly, message)
        };
        let Some(text) = text else { return std::fs::remove_file(&self.place).map_err(failed) };
        let dir = self.place.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir).map_err(failed)?;
        let name = self.place.file_name().unwrap_or_default().to_string_lossy();
        let new = dir.join(format!(".{name}.comity-new"));
        std::fs::write(&new, text).map_err(failed)?;
        if let Ok(found) = std::fs::metadata(&self.place) {
            std::fs::set_permissions(&new, found.permissions()).map_err(failed)?;
        }
        std::fs::rename(&new, &self.place).map_err(failed)
    }
}

/// Follows links, and refuses those that lead out of the project.
fn inside(root: &Path, named: &Path) -> Result<PathBuf, String> {
    let root = std::fs::canonicalize(root).map_err(|error| error.to_string())?;
    let leaves = || "it is a link that leads out of the project".to_owned();
    if let Ok(real) = std::fs::canonicalize(named) {
        return if real.starts_with(&root) { Ok(real) } else { Err(leaves()) };
    }
    if named.is_symlink() {
        return Err("it is a link to nothing".to_owned());
    }
    let there = named.ancestors().skip(1).find(|dir| dir.exists());
    let real = there.and_then(|dir| std::fs::canonicalize(dir).ok()).ok_or_else(leaves)?;
    if real.starts_with(&root) { Ok(named.to_owned()) } else { Err(leaves()) }
}

/// Removes directories that comity's files leave empty.
fn remove_empty_parents(root: &Path, path: &str) {
    for dir in Path::new(path).ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()) {
        // A directory that holds something else stays.
        if std::fs::remove_dir(root.join(dir)).is_err() {
            return;
        }
    }
}
