//! Where the project is: its root, the repository around it, and the caller's own work tree.

use crate::git::Place;
use crate::machine::Machine;
use crate::owner;
use crate::trust::{self, Power, Trust};
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use std::path::{Path, PathBuf};

/// The directory with a project's settings.
pub const SETTINGS_DIR: &str = ".comity";

/// Decides about a value with power.
pub(crate) type Judge<'j> = &'j mut dyn FnMut(Power) -> Result<(), Refusal>;

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
        let trust = Trust::of(&machine.environment);
        Root::find_asking(given, machine, &mut |power| trust.require(&power))
    }

    /// Finds the project and hands what the repository's files say about the root to `judge`, who may refuse it.
    pub(crate) fn find_asking(
        given: Option<&str>,
        machine: &Machine,
        judge: Judge<'_>,
    ) -> Result<Option<Root>, Refusal> {
        let here = Place::around(machine.searched_dirs());
        let with_settings = |dir: &&Path| dir.join(SETTINGS_DIR).is_dir();
        let root = match (given, here) {
            (Some(text), here) => Some(Root::given(text, &machine.cwd, here)?),
            (None, Some(place)) => Some(Root::of_git(place, judge)?),
            (None, None) => machine.searched_dirs().find(with_settings).map(Root::plain),
        };
        if let Some(root) = &root {
            root.check_owner(machine)?;
        }
        Ok(root)
    }

    /// Refuses a root that another user owns.
    pub(crate) fn check_owner(&self, machine: &Machine) -> Result<(), Refusal> {
        let settings = self.dir.join(SETTINGS_DIR);
        let mut paths = vec![self.dir.as_path(), settings.as_path()];
        let mut places = vec![self.dir.as_path()];
        if let Some(git) = &self.git {
            paths.push(&git.common_dir);
        }
        if let Some(tree) = self.work_tree.as_deref().filter(|tree| *tree != self.dir) {
            paths.push(tree);
            places.push(tree);
        }
        owner::check(&paths, &places, &machine.environment)
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

    fn of_git(place: Place, judge: Judge<'_>) -> Result<Root, Refusal> {
        let config = place.config();
        let work_tree = place.work_tree.clone();
        let Some(elsewhere) = config.get("comity", "root") else {
            let dir = place.main_tree(&config);
            if let Some(tree) = config.get("core", "worktree") {
                ask_for_root(&place, &dir, tree, judge)?;
            }
            return Ok(Root { dir, git: Some(place), work_tree });
        };
        let base = work_tree.as_deref().unwrap_or(&place.common_dir);
        let dir = base.join(elsewhere);
        ask_for_root(&place, &dir, elsewhere, judge)?;
        let dir = std::fs::canonicalize(dir).map_err(|_| {
            Refusal::new(
                Code::StoreUnavailable,
                format!(
                    "comity.root in git's configuration names {elsewhere:?}; there is no such directory"
                ),
            )
            .hint("set the directory with `git config comity.root DIR`, or remove the setting with `git config --unset comity.root`")
        })?;
        Ok(Root { git: Place::at(&dir), dir, work_tree })
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

/// The configuration in `.git` is the user's own. That of a directory which only looks like a repository may be a file of
/// somebody else's repository; it counts if the root points back, which only a `.git` of the user can do.
fn ask_for_root(place: &Place, dir: &Path, value: &str, judge: Judge<'_>) -> Result<(), Refusal> {
    let points_back = || {
        let back = Place::at(dir).filter(|back| !back.by_looks);
        back.is_some_and(|back| back.common_dir == place.common_dir)
    };
    if !place.by_looks || points_back() {
        return Ok(());
    }
    let root = place.common_dir.clone();
    judge(Power { root, kind: trust::ROOT.to_owned(), value: value.to_owned() })
}
