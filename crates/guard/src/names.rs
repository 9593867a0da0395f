//! Names of comity's own refs. A task's id may be what git takes for no ref, so it is written in another way then.

use std::borrow::Cow;

/// Where the work under a claim began, below which there is one ref for each claim.
pub(crate) fn begins(task: &str) -> String {
    format!("{BEGIN}{}/", escaped(task))
}

/// Where the work under one claim began.
pub(crate) fn begin(task: &str, fence: u64) -> String {
    format!("{}{fence}", begins(task))
}

/// Where the work under a claim ended, one ref for each claim.
pub(crate) fn ends(task: &str) -> String {
    format!("{END}{}/", escaped(task))
}

/// Where the work under one claim ended.
pub(crate) fn end(task: &str, fence: u64) -> String {
    format!("{}{fence}", ends(task))
}

/// What was checked out when a claim went on with the work of an earlier one.
pub(crate) fn resumes(task: &str) -> String {
    format!("refs/comity/resume/{}/", escaped(task))
}

/// What was checked out when a claim expired without its holder noticing, one ref for each claim.
pub(crate) fn lapses(task: &str) -> String {
    format!("{LAPSE}{}/", escaped(task))
}

/// What was checked out when this claim expired.
pub(crate) fn lapse(task: &str, fence: u64) -> String {
    format!("{}{fence}", lapses(task))
}

/// What was checked out when this claim went on.
pub(crate) fn resume(task: &str, fence: u64) -> String {
    format!("{}{fence}", resumes(task))
}

/// Where claims of all tasks began and ended, and what was handed in with them.
pub(crate) const BEGIN: &str = "refs/comity/begin/";
pub(crate) const END: &str = "refs/comity/end/";
pub(crate) const LAPSE: &str = "refs/comity/lapse/";
pub(crate) const HANDED_IN: &str = "refs/comity/handed-in/";

/// What was handed in under one claim.
pub(crate) fn handed_in(task: &str, fence: u64) -> String {
    format!("{HANDED_IN}{}/{fence}", escaped(task))
}

/// The work tree as it was before a task that must not commit.
pub(crate) fn before(task: &str) -> String {
    format!("refs/comity/before/{}", escaped(task))
}

/// The snapshot that was handed in.
pub(crate) fn snapshot(task: &str) -> String {
    format!("refs/comity/snapshots/{}", escaped(task))
}

/// A snapshot that is about to be handed in.
pub(crate) fn pending(commit: &str) -> String {
    format!("refs/comity/pending/{commit}")
}

/// No id has a percent sign, so no two ids are written alike.
pub(crate) fn escaped(task: &str) -> Cow<'_, str> {
    let odd = task.contains("..") || task.ends_with('.') || task.ends_with(".lock");
    if odd { task.replace('.', "%2E").into() } else { task.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_git_takes_for_no_ref_is_written_in_another_way() {
        assert_eq!(begin("T-1.a", 7), "refs/comity/begin/T-1.a/7");
        assert_eq!(snapshot("x.lock"), "refs/comity/snapshots/x%2Elock");
        assert_eq!(before("a..b."), "refs/comity/before/a%2E%2Eb%2E");
    }
}
