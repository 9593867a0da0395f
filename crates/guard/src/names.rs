//! Names of comity's own refs. A task's id may be what git takes for no ref, so it is written in another way then.

use std::borrow::Cow;

/// Where the work under a claim began, below which there is one ref for each claim.
pub(crate) fn begins(task: &str) -> String {
    format!("refs/comity/begin/{}/", escaped(task))
}

/// Where the work under one claim began.
pub(crate) fn begin(task: &str, fence: u64) -> String {
    format!("{}{fence}", begins(task))
}

/// Where the work under one claim ended.
pub(crate) fn end(task: &str, fence: u64) -> String {
    format!("refs/comity/end/{}/{fence}", escaped(task))
}

/// What was handed in, of all tasks.
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
