//! The files that comity writes by itself into a work tree: they are nobody's work.

use crate::collab::{Tree, is_written_tree};
use comity_core::command::FileAction;
use comity_core::observed::FileChange;
use comity_project::Context;
use comity_project::SETTINGS_DIR;
use comity_project::setup::is_first_settings;
use comity_protocol::mission::MISSION_FILES;
use std::path::Path;

/// Returns what tells whether comity wrote a file by itself, given what reads the file's text.
pub fn by_comity(
    context: &Context,
) -> impl Fn(&FileChange, &dyn Fn() -> Option<String>) -> bool + Send + Sync + 'static {
    let (root, beside) = (context.root.dir.clone(), context.beside_store());
    let tree = context.root.work_tree.clone().unwrap_or_else(|| root.clone());
    move |file, text| {
        let inside = root.strip_prefix(&tree).unwrap_or(Path::new(""));
        let path = Path::new(&file.path);
        if let Ok(rest) = path.strip_prefix(inside.join(SETTINGS_DIR)) {
            return is_of_settings(rest, file.action, text);
        }
        let Some(dir) = Tree::around(path) else { return false };
        [tree.join(dir), root.join(dir)].iter().any(|place| is_written_tree(&beside, place))
    }
}

/// Returns what tells whether a file is the result that is handed in: a new file at this place with exactly this text.
/// It reports the work and is no part of it.
pub fn by_result(
    tree: &Path,
    file: &Path,
    text: String,
) -> impl Fn(&FileChange, &dyn Fn() -> Option<String>) -> bool + Send + Sync + 'static {
    let real = |path: &Path| path.canonicalize().ok();
    let place = real(file).zip(real(tree));
    let place = place.and_then(|(file, tree)| file.strip_prefix(tree).ok().map(Path::to_path_buf));
    move |change, there| {
        change.action == FileAction::Created
            && place.as_deref() == Some(Path::new(&change.path))
            // Git may have written the ends of its lines in another way.
            && there().is_some_and(|there| there.lines().eq(text.lines()))
    }
}

/// What stands behind the name of the database in the names of the store's files.
const STORE_FILES: [&str; 8] = ["", "-wal", "-shm", "-journal", ".head", ".lock", ".turn", ".wake"];

/// What `comity init`, a mission and a store of its own put into the directory of settings, by its exact names: anything
/// else that lies there is somebody's work. The settings themselves are work unless they are as `comity init` wrote them.
fn is_of_settings(path: &Path, action: FileAction, text: &dyn Fn() -> Option<String>) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    match parts.as_slice() {
        [".gitignore"] | ["missions", ".gitignore"] => true,
        ["missions", _, name] => MISSION_FILES.contains(name),
        ["config.toml"] => {
            action == FileAction::Created && text().is_some_and(|text| is_first_settings(&text))
        }
        [name] => name.strip_prefix("comity.db").is_some_and(|end| STORE_FILES.contains(&end)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_new_file_at_its_place_with_the_text_that_is_handed_in() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("result.yaml");
        std::fs::write(&file, "a: 1\n").unwrap();
        let is_result = by_result(dir.path(), &file, "a: 1\n".to_owned());
        let is = |path: &str, action, text: &str| {
            let change = FileChange { path: path.to_owned(), action, moved_from: None };
            is_result(&change, &|| Some(text.to_owned()))
        };
        assert!(is("result.yaml", FileAction::Created, "a: 1\r\n"));
        assert!(!is("result.yaml", FileAction::Modified, "a: 1\n"));
        assert!(!is("result.yaml", FileAction::Created, "a: 1\nb: 2\n"));
        assert!(!is("other.yaml", FileAction::Created, "a: 1\n"));
    }

    #[test]
    fn only_what_comity_writes_into_its_directory_is_its_own() {
        let own = |path: &str, action| is_of_settings(Path::new(path), action, &|| None);
        assert!(!own("config.toml", FileAction::Created));
        let dir = tempfile::tempdir().unwrap();
        comity_project::setup::write(dir.path(), None, dir.path()).unwrap();
        let text = std::fs::read_to_string(dir.path().join(".comity/config.toml")).unwrap();
        let with = |text: &str| {
            let text = text.to_owned();
            is_of_settings(Path::new("config.toml"), FileAction::Created, &|| Some(text.clone()))
        };
        assert!(with(&text));
        assert!(!with(&format!("{text}[guard]\nundeclared = \"allow\"\n")));
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
