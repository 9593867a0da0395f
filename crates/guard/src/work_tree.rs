//! Whether a work tree has exactly what its commit has.

use crate::git::{Git, NewFiles, WorkTree};
use crate::observer::GitObserver;
use comity_core::command::FileAction;
use comity_core::observed::{FileChange, TreeSeen};
use comity_project::SETTINGS_DIR;
use std::path::Path;

/// A work tree before a command runs in it.
pub struct Before {
    /// The commit that is checked out.
    pub commit: Option<String>,
    tree: TreeSeen,
}

impl GitObserver {
    /// Looks at the work tree before a command runs in it.
    pub fn before_run(&self) -> Before {
        let head = self.tree.as_ref().and_then(|tree| Git::at(tree).commit("HEAD"));
        let tree = if head.is_some() { self.differs(NewFiles::Count) } else { TreeSeen::Unknown };
        Before { commit: head, tree }
    }

    /// Looks again afterwards, and says what the command ran on. New files are no reason for doubt then: many commands
    /// leave some behind.
    pub fn after_run(&self, before: &Before) -> TreeSeen {
        let Some(tree) = self.tree.as_ref().filter(|_| before.tree == TreeSeen::Clean) else {
            return before.tree.clone();
        };
        match Git::at(tree).commit("HEAD") == before.commit {
            true => self.differs(NewFiles::Ignore),
            false => TreeSeen::Moved,
        }
    }

    fn differs(&self, new_files: NewFiles) -> TreeSeen {
        let Some(tree) = &self.tree else { return TreeSeen::Unknown };
        let Some(changes) = WorkTree::of(tree).and_then(|files| files.changes(new_files)) else {
            return TreeSeen::Unknown;
        };
        // Settings that are not committed yet are no part of what the command runs on.
        let is_settings = |file: &FileChange| {
            file.action == FileAction::Created
                && Path::new(&file.path).ends_with(Path::new(SETTINGS_DIR).join("config.toml"))
        };
        let counts = |file: &FileChange| !is_settings(file) && !(self.is_comitys)(file, &|| None);
        let mut changed = changes.into_iter().filter(counts);
        changed.next().map_or(TreeSeen::Clean, |file| TreeSeen::Changed(file.path))
    }
}
