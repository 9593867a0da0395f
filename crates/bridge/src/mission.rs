//! The files that a mission names, written where the agent works.

use comity_core::brief::Brief;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_project::{Context, SETTINGS_DIR};
use comity_protocol::mission::{MISSIONS_DIR, Mission, add_brief, files};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Keeps the directory out of commits and snapshots, itself included.
const GITIGNORE: &str = "*\n";

/// Writes the files that a mission names; returns their paths relative to the root.
///
/// The mission names them relative to the root, and an agent in a linked work tree looks below its own.
pub fn write(
    context: &Context,
    task: &TaskView,
    mission: &mut Mission,
    brief: Option<&Brief>,
) -> Result<Vec<String>, Refusal> {
    let id = &task.id;
    let mut made = files(task, mission);
    made.extend(brief.and_then(|brief| add_brief(task, mission, brief)));
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let trees = trees(context);
    if trees.is_empty() {
        return Ok(Vec::new());
    }
    for tree in trees {
        let missions = tree.join(MISSIONS_DIR);
        let dir = missions.join(id);
        below(&tree, &dir)?;
        let ignore = missions.join(".gitignore");
        if !ignore.exists() {
            put(&missions, ".gitignore", GITIGNORE)?;
        }
        for file in &made {
            put(&dir, file.name, &file.text)?;
        }
    }
    Ok(made.iter().map(|file| format!("{MISSIONS_DIR}/{id}/{}", file.name)).collect())
}

fn trees(context: &Context) -> Vec<PathBuf> {
    let root = &context.root;
    // A directory that only the store's name made a place to work in stays as it is.
    if root.git.is_none() && !root.dir.join(SETTINGS_DIR).is_dir() {
        return Vec::new();
    }
    let bare = root.git.as_ref().is_some_and(|git| git.common_dir == root.dir);
    let mut trees: Vec<PathBuf> = root.work_tree.iter().cloned().collect();
    if !bare && !trees.contains(&root.dir) {
        trees.push(root.dir.clone());
    }
    trees
}

/// Makes a directory below the root. A link on the way could lead anywhere, so none is followed.
fn below(tree: &Path, dir: &Path) -> Result<(), Refusal> {
    let mut place = tree.to_owned();
    for part in dir.strip_prefix(tree).unwrap_or(dir) {
        place.push(part);
        match std::fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let message = format!("{} is not a directory", place.display());
                return Err(Refusal::new(Code::StoreReadOnly, message)
                    .hint("comity writes the files of missions there; move it away"));
            }
            Err(_) => std::fs::create_dir(&place).or_else(|error| {
                // Another claim may have made it in the meantime.
                if place.is_dir() { Ok(()) } else { Err(failed(&place, &error)) }
            })?,
        }
    }
    Ok(())
}

/// Writes a file in one step, so that nobody reads half of it and no link is written through.
fn put(dir: &Path, name: &str, text: &str) -> Result<(), Refusal> {
    let path = dir.join(name);
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        readable(file.as_file())?;
        file.persist(&path).map_err(|error| error.error)
    });
    written.map(|_| ()).map_err(|error| failed(&path, &error))
}

/// Temporary files are private; what a mission names is for whoever may read the tree.
fn readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
}
