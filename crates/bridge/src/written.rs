//! The files that comity writes by itself into a work tree: they are nobody's work.

use crate::collab::{Tree, is_written_tree};
use comity_core::command::FileAction;
use comity_core::observed::FileChange;
use comity_project::Context;
use comity_project::SETTINGS_DIR;
use comity_protocol::mission::MISSION_FILES;
use std::path::Path;

/// Returns what tells whether comity wrote a file by itself.
pub fn by_comity(context: &Context) -> impl Fn(&FileChange) -> bool + Send + Sync + 'static {
    let (root, beside) = (context.root.dir.clone(), context.beside_store());
    let tree = context.root.work_tree.clone().unwrap_or_else(|| root.clone());
    move |file| {
        let inside = root.strip_prefix(&tree).unwrap_or(Path::new(""));
        let path = Path::new(&file.path);
        if let Ok(rest) = path.strip_prefix(inside.join(SETTINGS_DIR)) {
            return is_of_settings(rest, file.action);
        }
        let Some(dir) = Tree::around(path) else { return false };
        [tree.join(dir), root.join(dir)].iter().any(|place| is_written_tree(&beside, place))
    }
}

/// What stands behind the name of the database in the names of the store's files.
const STORE_FILES: [&str; 7] = ["", "-wal", "-shm", "-journal", ".lock", ".turn", ".wake"];

/// What `comity init`, a mission and a store of its own put into the directory of settings, by its exact names: anything
/// else that lies there is somebody's work. The settings themselves are work as soon as they are changed.
fn is_of_settings(path: &Path, action: FileAction) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    match parts.as_slice() {
        [".gitignore"] | ["missions", ".gitignore"] => true,
        ["missions", _, name] => MISSION_FILES.contains(name),
        ["config.toml"] => action == FileAction::Created,
        [name] => name.strip_prefix("comity.db").is_some_and(|end| STORE_FILES.contains(&end)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comity_writes_into_its_directory_is_its_own() {
        let own = |path: &str, action| is_of_settings(Path::new(path), action);
        assert!(own("config.toml", FileAction::Created));
        assert!(!own("config.toml", FileAction::Modified));
        assert!(!own("config.toml", FileAction::Deleted));
        assert!(own(".gitignore", FileAction::Modified));
        assert!(own("missions/T1/task.md", FileAction::Deleted));
        assert!(own("missions/.gitignore", FileAction::Created));
        assert!(own("comity.db-wal", FileAction::Created));
        for other in ["missions/T1/evil.rs", "missions/T1/a/task.md", "missions/x", "comity.dbx"] {
            assert!(!own(other, FileAction::Created), "{other}");
            assert!(!own(other, FileAction::Deleted), "{other}");
        }
        assert!(!own("agents/ada.yaml", FileAction::Created));
        assert!(!own("missions", FileAction::Created));
    }
}
