//! `ACE_TASK.md`: what a worker finds in its work tree.

/// Writes the instructions for a worker: the task, the rules of the protocol, and how to say that it is through.
pub fn instructions(id: &str, instruction: &str, branch: Option<&str>) -> String {
    let branch = branch.map_or_else(
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
