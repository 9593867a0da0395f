//! The eyes of the command line: git is looked at before the rules decide.

mod written;

use crate::git::InWorkTree;
use comity_guard::GitObserver;
use comity_project::Context;

/// Returns what looks at the caller's work tree.
pub fn observer(context: &Context) -> GitObserver {
    GitObserver {
        tree: context.git().map(|(_, tree)| tree.clone()),
        base: context.config.base_branch().map(str::to_owned),
        is_comitys: Box::new(written::by_comity(context)),
    }
}
