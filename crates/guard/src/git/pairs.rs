//! Whether commits would merge: many pairs in one call of git, without a trace in any repository.

use super::Git;
use super::work_tree::OwnDir;
use std::ffi::OsString;
use std::path::PathBuf;

/// Two commits that might be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePair {
    pub a: String,
    pub b: String,
}

/// A path that both sides changed, and how.
pub type MergeConflict = (String, String);

/// Merges each pair in its own right; returns the conflicts of each, none where it merges. `objects` are further places where
/// objects of the commits are. What git writes on the way is thrown away.
pub fn merge_pairs(
    root: &Git,
    objects: &[PathBuf],
    pairs: &[MergePair],
) -> Option<Vec<Vec<MergeConflict>>> {
    if pairs.is_empty() {
        return Some(Vec::new());
    }
    let quarantine = tempfile::tempdir().ok()?;
    // Without settings there is no merge driver, whatever the attributes say.
    let own = OwnDir::of(root, &["--git-path", "objects"])?;
    let mut places = OsString::from(own.answers.first()?);
    for place in objects {
        places.push(":");
        places.push(place);
    }
    let git = own
        .git
        .with("GIT_OBJECT_DIRECTORY", quarantine.path().as_os_str())
        .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", places);
    let lines: String = pairs.iter().map(|pair| format!("{} {}\n", pair.a, pair.b)).collect();
    let output = git.fed(&["merge-tree", "--write-tree", "--stdin"], lines)?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut fields = text.split('\0');
    pairs.iter().map(|_| read_one(&mut fields)).collect()
}

/// Reads the answer about one pair. A clean one is a state, the tree and an empty field. One in conflict has the entries in
/// conflict after the tree, an empty field, and messages, each with how many paths it is about, the paths, its kind and its
/// text; an empty field ends it.
fn read_one<'t>(fields: &mut impl Iterator<Item = &'t str>) -> Option<Vec<MergeConflict>> {
    let is_clean = match fields.next()?.trim() {
        "1" => true,
        "0" => false,
        _ => return None,
    };
    fields.next()?;
    if is_clean {
        fields.next()?;
        return Some(Vec::new());
    }
    let mut found: Vec<MergeConflict> = Vec::new();
    // Mode, object and stage stand before the path.
    for entry in fields.by_ref().take_while(|entry| !entry.is_empty()) {
        let path = entry.split_once('\t')?.1;
        if !found.iter().any(|(known, _)| known == path) {
            found.push((path.to_owned(), "content".to_owned()));
        }
    }
    loop {
        let Ok(count) = fields.next()?.trim().parse::<usize>() else { return Some(found) };
        let paths: Vec<&str> = fields.by_ref().take(count).collect();
        let kind = fields.next()?;
        fields.next()?;
        let conflict = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')'));
        let Some(kind) = conflict.filter(|kind| *kind != "contents") else { continue };
        for (path, known) in &mut found {
            if paths.contains(&path.as_str()) {
                *known = kind.replace('/', "-");
            }
        }
    }
}
