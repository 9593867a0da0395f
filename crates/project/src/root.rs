//! Where the project is: its root, the repository around it, and the caller's own work tree.

use crate::git::Place;
use crate::machine::Machine;
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use std::path::{Path, PathBuf};

/// The directory with a project's settings.
pub const SETTINGS_DIR: &str = ".comity";

/// A project found from a directory.
#[derive(Clone, Debug)]
pub struct Root {
    /// The settings are in `.comity/config.toml` below this directory.
    pub dir: PathBuf,
    /// The repository that the root belongs to.
    pub git: Option<Place>,
    /// The work tree that the caller is in, when it is one of the project's.
    pub work_tree: Option<PathBuf>,
}

impl Root {
    /// Finds the project: given, by git, or by the nearest parent with settings.
    pub fn find(given: Option<&str>, machine: &Machine) -> Result<Option<Root>, Refusal> {
        let here = machine.searched_dirs().find_map(Place::at);
        if let Some(text) = given {
            return Root::given(text, &machine.cwd, here).map(Some);
        }
        if let Some(place) = here {
            return Root::of_git(place).map(Some);
        }
        let with_settings = |dir: &&Path| dir.join(SETTINGS_DIR).is_dir();
        Ok(machine.searched_dirs().find(with_settings).map(Root::plain))
    }

    /// A project without git.
    pub fn plain(dir: &Path) -> Root {
        Root { dir: dir.to_owned(), git: None, work_tree: Some(dir.to_owned()) }
    }

    fn given(text: &str, cwd: &Path, here: Option<Place>) -> Result<Root, Refusal> {
        let dir = std::fs::canonicalize(cwd.join(text))
            .ok()
            .filter(|dir| dir.is_dir())
            .ok_or_else(|| {
                Refusal::input(format!("the root {text:?} is not a directory")).hint(
                    say("give an existing directory with ")
                        .ask("root", "DIR")
                        .say(" or COMITY_ROOT"),
                )
            })?;
        let git = Place::at(&dir);
        let same =
            |place: &Place| git.as_ref().is_some_and(|git| git.common_dir == place.common_dir);
        let work_tree = here.filter(same).and_then(|place| place.work_tree);
        Ok(Root { work_tree: work_tree.or_else(|| Some(dir.clone())), git, dir })
    }

    fn of_git(place: Place) -> Result<Root, Refusal> {
        let config = place.config();
        let work_tree = place.work_tree.clone();
        if let Some(elsewhere) = config.get("comity", "root") {
            let base = work_tree.as_deref().unwrap_or(&place.common_dir);
            let dir = std::fs::canonicalize(base.join(elsewhere)).map_err(|_| {
                Refusal::new(
                    Code::StoreUnavailable,
                    format!(
                        "comity.root in git's configuration names {elsewhere:?}; there is no such directory"
                    ),
                )
                .hint("set the directory with `git config comity.root DIR`, or remove the setting with `git config --unset comity.root`")
            })?;
            return Ok(Root { git: Place::at(&dir), dir, work_tree });
        }
        Ok(Root { dir: place.main_tree(&config), git: Some(place), work_tree })
    }

    /// Returns the file that the store is in when nothing else is said.
    pub fn default_store(&self) -> PathBuf {
        match &self.git {
            Some(place) => place.common_dir.join("comity").join("comity.db"),
            None => self.dir.join(SETTINGS_DIR).join("comity.db"),
        }
    }

    /// Returns the tops of all directories whose files are the project's.
    pub fn trees(&self) -> Vec<PathBuf> {
        let mut trees = vec![self.dir.clone()];
        trees.extend(self.work_tree.clone());
        if let Some(place) = &self.git {
            trees.extend(place.linked_trees());
        }
        trees
    }
}
