//! Whether an agent may write a file now: what a client's hook asks before a tool runs.

use crate::limits::AUTOMATIC_LEASES_MAX;
use crate::pattern::{Pattern, overlap};
use crate::policy::Undeclared;
use serde::Deserialize;

/// What happens to a file that nobody has leased, in `[guard] leases`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FreeFiles {
    /// The writer gets a lease on it.
    #[default]
    Auto,
    /// The writer leases it first.
    Required,
    Off,
}

/// A file that an agent wants to write, as the door found it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedFile<'a> {
    /// A pattern of `[guard] protected` matches it.
    pub is_protected: bool,
    /// A task that the agent holds declares it.
    pub is_declared: bool,
    /// The tasks that the agent holds declare files, and none of them this one.
    pub is_undeclared: bool,
    /// A live lease of the agent covers it.
    pub is_mine: bool,
    /// Another owner's live lease covers it and conflicts with writing.
    pub holder: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRuling {
    Allowed,
    /// Allowed once the agent has a lease on the file.
    AfterLease,
    /// Nobody holds the file, and the agent got so many leases by itself already that it gets no more.
    AllowedUnleased,
    DeniedProtected,
    DeniedHeld,
    DeniedUnleased,
    /// The task does not declare the file. A lease that the agent asks for says that the file belongs to the work.
    DeniedUndeclared,
}

/// What the settings say about files that an agent wants to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteRules {
    pub free: FreeFiles,
    pub undeclared: Undeclared,
}

/// What the purpose of a lease begins with that the writer of a file got by itself.
const AUTOMATIC: &str = "written with ";

/// Returns the purpose of a lease that the user of a tool gets by itself.
pub fn automatic_purpose(tool: &str) -> String {
    format!("{AUTOMATIC}{tool}")
}

/// Tells whether a lease with this purpose was got by itself, and not asked for.
pub fn is_automatic(purpose: Option<&str>) -> bool {
    purpose.is_some_and(|purpose| purpose.starts_with(AUTOMATIC))
}

/// Decides about one file. A tool call that names several files runs only when every one of them is allowed. `automatic` is
/// how many leases the agent has that it got by itself.
pub fn may_write(file: WantedFile<'_>, rules: WriteRules, automatic: usize) -> WriteRuling {
    if file.is_protected && !file.is_declared {
        return WriteRuling::DeniedProtected;
    }
    if file.is_mine {
        return WriteRuling::Allowed;
    }
    if file.holder.is_some() {
        return WriteRuling::DeniedHeld;
    }
    if file.is_undeclared && rules.undeclared == Undeclared::Refuse {
        return WriteRuling::DeniedUndeclared;
    }
    match rules.free {
        FreeFiles::Off => WriteRuling::Allowed,
        FreeFiles::Required => WriteRuling::DeniedUnleased,
        FreeFiles::Auto if automatic >= AUTOMATIC_LEASES_MAX => WriteRuling::AllowedUnleased,
        FreeFiles::Auto => WriteRuling::AfterLease,
    }
}

/// Files that agents write only when their task declares them, unless `[guard] protected` says otherwise.
pub const PROTECTED: [&str; 5] =
    [".git/**", ".comity/**", ".claude/settings*.json", ".codex/**", ".mcp.json"];

/// Tells whether one of the patterns covers a path.
pub fn covers(patterns: &[Pattern], path: &Pattern) -> bool {
    patterns.iter().any(|pattern| overlap(pattern, path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_by_who_holds_it_and_a_free_one_is_leased_first() {
        let free = WantedFile::default();
        let mine = WantedFile { is_mine: true, ..free };
        let held = WantedFile { holder: Some("bob"), ..free };
        let protected = WantedFile { is_protected: true, ..mine };
        let declared = WantedFile { is_declared: true, ..protected };
        for (file, mode, own, ruling) in [
            (free, FreeFiles::Auto, 0, WriteRuling::AfterLease),
            (free, FreeFiles::Auto, AUTOMATIC_LEASES_MAX, WriteRuling::AllowedUnleased),
            (free, FreeFiles::Required, 0, WriteRuling::DeniedUnleased),
            (free, FreeFiles::Off, 0, WriteRuling::Allowed),
            (mine, FreeFiles::Required, AUTOMATIC_LEASES_MAX, WriteRuling::Allowed),
            (held, FreeFiles::Auto, 0, WriteRuling::DeniedHeld),
            (held, FreeFiles::Off, 0, WriteRuling::DeniedHeld),
            (protected, FreeFiles::Off, 0, WriteRuling::DeniedProtected),
            (declared, FreeFiles::Auto, 0, WriteRuling::Allowed),
        ] {
            let rules = WriteRules { free: mode, ..WriteRules::default() };
            assert_eq!(may_write(file, rules, own), ruling, "{file:?} {mode:?}");
        }
    }

    #[test]
    fn a_lease_that_was_asked_for_is_not_one_that_came_by_itself() {
        assert!(is_automatic(Some(&automatic_purpose("Edit"))));
        assert!(!is_automatic(Some("the parser")));
        assert!(!is_automatic(None));
    }

    #[test]
    fn where_undeclared_files_are_refused_they_are_leased_on_purpose_first() {
        let free = WantedFile { is_undeclared: true, ..WantedFile::default() };
        let mine = WantedFile { is_mine: true, ..free };
        for (file, undeclared, ruling) in [
            (free, Undeclared::Refuse, WriteRuling::DeniedUndeclared),
            (mine, Undeclared::Refuse, WriteRuling::Allowed),
            (free, Undeclared::Warn, WriteRuling::AfterLease),
            (WantedFile::default(), Undeclared::Refuse, WriteRuling::AfterLease),
        ] {
            let rules = WriteRules { undeclared, ..WriteRules::default() };
            assert_eq!(may_write(file, rules, 0), ruling, "{file:?} {undeclared:?}");
        }
    }
}
