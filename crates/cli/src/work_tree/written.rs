//! The files that comity writes by itself into a work tree: they are nobody's work.

use crate::collab::{Tree, is_written_tree};
use crate::context::Context;
use crate::root::SETTINGS_DIR;
use comity_core::command::FileAction;
use comity_guard::diff::Change;
use std::path::Path;

/// Tells whether comity wrote a file by itself.
pub(super) fn is_comitys(context: &Context, tree: &Path, file: &Change) -> bool {
    let inside = context.root.dir.strip_prefix(tree).unwrap_or(Path::new(""));
    let path = Path::new(&file.path);
    if let Ok(rest) = path.strip_prefix(inside.join(SETTINGS_DIR)) {
        return is_of_settings(rest, file.action);
    }
    let Some(dir) = Tree::around(path) else { return false };
    let places = [tree.join(dir), context.root.dir.join(dir)];
    places.iter().any(|place| is_written_tree(context, place))
}

/// What `comity init`, a mission and a store of its own put into the directory of settings. The settings themselves are
/// work as soon as they are changed.
fn is_of_settings(path: &Path, action: FileAction) -> bool {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    match (parts.next().as_deref(), parts.next()) {
        (Some("missions"), Some(_)) | (Some(".gitignore"), None) => true,
        (Some("config.toml"), None) => action == FileAction::Created,
        (Some(name), None) => name.starts_with("comity.db"),
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
        assert!(own("comity.db-wal", FileAction::Created));
        assert!(!own("agents/ada.yaml", FileAction::Created));
        assert!(!own("missions", FileAction::Created));
    }
}
