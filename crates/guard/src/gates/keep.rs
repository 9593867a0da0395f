//! Directories that one run leaves to the next, such as a build tool's. Only one run at a time has them.

use super::clone::{failed, private_dir};
use comity_core::refusal::Refusal;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The kept directories, in the hands of one run.
pub(super) struct KeptDirs {
    home: PathBuf,
    names: Vec<String>,
    _turn: File,
}

impl KeptDirs {
    /// Waits for its turn.
    pub fn take(cache: &Path, names: &[String]) -> Result<KeptDirs, Refusal> {
        let home = cache.join("kept");
        private_dir(&home)?;
        let lock = cache.join("kept.lock");
        let turn = File::create(&lock).map_err(|error| failed(&lock, &error))?;
        flock(&turn, FlockOperation::LockExclusive)
            .map_err(|error| failed(&lock, &error.into()))?;
        Ok(KeptDirs { home, names: names.to_vec(), _turn: turn })
    }

    /// Moves the directories into a clone. Whatever the commit itself has at such a place stays.
    pub fn lend(&self, tree: &Path) {
        for (name, kept) in self.places() {
            let to = tree.join(&name);
            if is_dir(&kept) && to.symlink_metadata().is_err() && has_real_parent(tree, &to) {
                // Without it the run takes longer, and nothing else.
                let _ = std::fs::rename(&kept, &to);
            }
        }
    }

    /// Takes the directories back from a clone.
    pub fn take_back(&self, tree: &Path) {
        for (name, kept) in self.places() {
            let from = tree.join(&name);
            if is_dir(&from) && has_real_parent(tree, &from) {
                let _ = std::fs::remove_dir_all(&kept);
                let _ = std::fs::rename(&from, &kept);
            }
        }
    }

    /// Each directory with the place where it waits. A slash is no part of the name there.
    fn places(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let place = |name: &String| self.home.join(name.replace('%', "%25").replace('/', "%2F"));
        self.names.iter().map(move |name| (name.clone(), place(name)))
    }
}

fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// Makes the directories above a place, and tells whether they are directories of the tree: a link could lead anywhere.
fn has_real_parent(tree: &Path, place: &Path) -> bool {
    let Some(parent) = place.parent() else { return false };
    let _ = std::fs::create_dir_all(parent);
    parent.ancestors().take_while(|dir| *dir != tree).all(is_dir)
}
