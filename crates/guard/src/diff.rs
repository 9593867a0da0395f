//! What differs between two commits, by git itself.

use crate::git::Git;
use comity_core::command::FileAction;
use comity_core::observed::FileChange;
use comity_core::pattern::spell_path;

/// How much of a moved file must be as it was. Below that it is one file deleted and another one made: a deletion must not pass
/// because the two have something in common.
const SAME: &str = "--find-renames=80%";
/// Pairs that git compares when it looks for renames.
const RENAMES_MAX: &str = "-l2000";
/// The mode of a submodule.
const SUBMODULE: &str = "160000";

/// One changed file, with what git alone knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub file: FileChange,
    /// The path as git spells it; bytes that are no text are replaced.
    pub git_path: String,
    pub is_submodule: bool,
}

/// Lists what differs; none when git cannot tell, for example because a partial clone lacks an object. Configuration of the user
/// has no say in it, and no file's content is run or shown.
pub fn changes(git: &Git, base: &str, commit: &str) -> Option<Vec<Change>> {
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-commit-id",
        SAME,
        RENAMES_MAX,
        // All empty files are alike: one that is deleted is not moved to where another one is made.
        "--no-rename-empty",
        "--end-of-options",
        base,
        commit,
    ];
    let output = git.output(&args).filter(|output| output.status.success())?;
    Some(parse(&output.stdout))
}

/// Reads `:mode mode sha sha STATUS\0path\0[path\0]`, again and again.
fn parse(raw: &[u8]) -> Vec<Change> {
    let mut fields = raw.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(head) = fields.next() {
        let head = String::from_utf8_lossy(head);
        let Some(head) = head.strip_prefix(':').map(str::to_owned) else { continue };
        let words: Vec<&str> = head.split(' ').collect();
        let status = words.get(4).and_then(|word| word.chars().next()).unwrap_or('M');
        let Some(first) = fields.next() else { break };
        let second = if matches!(status, 'R' | 'C') { fields.next() } else { None };
        let is_submodule = words.iter().take(2).any(|mode| *mode == SUBMODULE);
        let (path, moved_from) = match second {
            Some(to) if status == 'R' => (to, Some(spell_path(first))),
            Some(to) => (to, None),
            None => (first, None),
        };
        let action = match status {
            'A' | 'C' => FileAction::Created,
            'D' => FileAction::Deleted,
            _ => FileAction::Modified,
        };
        let git_path = String::from_utf8_lossy(path).into_owned();
        let path = spell_path(path);
        let file = FileChange { path, action, moved_from };
        found.push(Change { file, git_path, is_submodule });
    }
    found
}

/// Largest file whose content is looked at.
const BLOB_MAX: u64 = 32 << 20;

/// Returns a file's text in a commit; none when there is none, or when it is too large.
pub(crate) fn text_at(git: &Git, commit: &str, path: &str) -> Option<String> {
    let name = format!("{commit}:{path}");
    let size: u64 = git.line(&["cat-file", "-s", &name])?.parse().ok()?;
    if size > BLOB_MAX {
        return None;
    }
    let output = git.output(&["cat-file", "blob", &name]).filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lists every file of a commit.
pub(crate) fn files_at(git: &Git, commit: &str) -> Vec<String> {
    let output = git.output(&["ls-tree", "-r", "-z", "--name-only", commit]);
    let Some(output) = output.filter(|output| output.status.success()) else { return Vec::new() };
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_deletions_renames_submodules_and_odd_names_are_read() {
        let raw = b":000000 100644 0 1 A\0new file\0:100644 000000 1 0 D\0gone\0\
            :100644 100644 1 2 R087\0old\xffname\0new/\xc3\xa4\n.rs\0:160000 160000 1 2 M\0sub\0\
            :100644 120000 1 2 T\0link\0";
        let found = parse(raw);
        let short: Vec<(&str, FileAction)> =
            found.iter().map(|change| (change.file.path.as_str(), change.file.action)).collect();
        assert_eq!(
            short,
            [
                ("new file", FileAction::Created),
                ("gone", FileAction::Deleted),
                ("new/ä\\x0a.rs", FileAction::Modified),
                ("sub", FileAction::Modified),
                ("link", FileAction::Modified),
            ]
        );
        assert_eq!(found[2].file.moved_from.as_deref(), Some("old\\xffname"));
        assert!(found[3].is_submodule && !found[4].is_submodule);
        assert!(parse(b"").is_empty());
    }

    #[test]
    fn names_that_differ_in_bytes_that_are_no_text_are_two_names() {
        let raw = b":000000 100644 0 1 A\0bad\xff.txt\0:000000 100644 0 1 A\0bad\xfe.txt\0";
        let found: Vec<String> = parse(raw).into_iter().map(|change| change.file.path).collect();
        assert_eq!(found, ["bad\\xff.txt", "bad\\xfe.txt"]);
    }
}
