//! `ACE_TASK.md`: what a worker finds in its work tree.

use crate::neomjs::safety::PROTECTED;

/// Writes the instructions for a worker: the task, the rules of the protocol, and how to say that it is through.
pub fn instructions(id: &str, instruction: &str, branch: Option<&str>) -> String {
    // Work that was handed in from a protected branch does not make that branch the one to work on.
    let branch = branch.filter(|branch| !PROTECTED.contains(branch)).map_or_else(
        || "- Work on a branch of your own; never on main or master.".to_owned(),
        |branch| format!("- Work on the branch `{branch}`; never on main or master."),
    );
    format!(
        "# {id}\n\n{}\n\n## Rules\n\n{branch}\n\
         - Open a pull request when the work is done.\n\
         - Ask before you change more than 5 files, or more than 100 lines of one file.\n\
         - When you need input, post a comment that starts with `BLOCKED:` and lists your questions, and stop. \
         The reply starts with `ANSWER:`.\n\n\
         ## When you are through\n\n\
         Write `ACE_TASK_DONE.json` beside this file:\n\n\
         ```json\n{{\"task_id\": \"{id}\", \"summary\": \"\", \"files_changed\": [], \"commands_run\": []}}\n```\n\n\
         When you are stuck, add `\"blocked\": true` and `\"blocked_questions\": [\"…\"]`.\n",
        instruction.trim_end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_to_work_on_is_never_one_that_is_forbidden() {
        let named = instructions("T1", "Do it", Some("feat/T1-it"));
        assert!(named.contains("- Work on the branch `feat/T1-it`; never on main or master.\n"));
        for branch in [None, Some("main"), Some("master")] {
            let own = instructions("T1", "Do it", branch);
            assert!(own.contains("- Work on a branch of your own; never on main or master.\n"));
        }
    }
}
