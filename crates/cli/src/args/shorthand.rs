//! Words that people type out of habit: some stand for a command, others get told which command there is instead.

use comity_core::nearest::nearest;
use std::ffi::OsString;

/// What stands for another command, at the place of the command.
const COMMANDS: [(&str, &[&str]); 11] = [
    ("ls", &["task", "list"]),
    ("list", &["task", "list"]),
    ("ready", &["task", "list", "--ready"]),
    ("new", &["task", "create"]),
    ("add", &["task", "create"]),
    ("show", &["task", "show"]),
    ("claim", &["task", "claim"]),
    ("submit", &["task", "submit"]),
    ("close", &["task", "done"]),
    ("done", &["task", "done"]),
    ("st", &["status"]),
];

/// What stands for another word after the name of a group; `*` is any group that has such a list.
const WITHIN: [(&str, &str, &str); 10] = [
    ("task", "new", "create"),
    ("task", "add", "create"),
    ("task", "view", "show"),
    ("task", "edit", "update"),
    ("task", "close", "done"),
    ("task", "take", "claim"),
    ("lease", "take", "acquire"),
    ("decision", "new", "ask"),
    ("memory", "add", "write"),
    ("directive", "new", "create"),
];

/// The group that lists what it has when nothing more is said.
const BARE: &str = "config";

/// Groups that have a list.
const WITH_LIST: [&str; 8] =
    ["task", "lease", "agent", "gate", "decision", "memory", "directive", "event"];

/// What is no command, and what to do instead.
const INSTEAD: [(&str, &str); 43] = [
    ("version", "run `comity --version`"),
    ("undo", "take your last command back with `comity task undo`"),
    ("delete", "a task is never deleted; give it up with `comity task abandon ID --reason TEXT`"),
    ("rm", "a task is never deleted; give it up with `comity task abandon ID --reason TEXT`"),
    ("remove", "a task is never deleted; give it up with `comity task abandon ID --reason TEXT`"),
    ("cancel", "give a task up with `comity task abandon ID --reason TEXT`"),
    ("create", "create a task with `comity task create TITLE`"),
    ("start", "start the work with `comity task start ID`"),
    ("approve", "approve work with `comity task approve ID`"),
    ("reject", "send work back with `comity task request-changes ID --reason TEXT`"),
    ("abandon", "give a task up with `comity task abandon ID --reason TEXT`"),
    ("block", "block a task with `comity task block ID --needs TEXT`"),
    ("assign", "reserve a task with `comity task assign ID AGENT`"),
    ("search", "find tasks with `comity task list --search WORDS`"),
    ("find", "find tasks with `comity task list --search WORDS`"),
    ("lock", "reserve files with `comity lease acquire PATTERN`"),
    ("unlock", "give files back with `comity lease release LOCK_ID`"),
    ("ask", "ask with `comity decision ask QUESTION`"),
    ("answer", "answer a question with `comity decision answer ID ANSWER`"),
    ("approvals", "see open questions with `comity decision list`"),
    ("history", "see what happened with `comity log`"),
    ("events", "see what happened with `comity log`, or with `comity event list` in a program"),
    ("tail", "follow the log with `comity log --follow`"),
    ("verify", "check the log with `comity log verify`"),
    ("agents", "see who is there with `comity agent list`"),
    ("users", "see who is there with `comity agent list`"),
    ("tasks", "see the tasks with `comity task list`"),
    ("setup", "set the project up with `comity init`"),
    ("install", "set the project up with `comity init`"),
    ("heartbeat", "give a sign of life with `comity agent heartbeat`"),
    ("login", "nobody logs in; `comity whoami` says who you are, and --as ID changes it"),
    ("task cancel", "give a task up with `comity task abandon ID --reason TEXT`"),
    ("task unclaim", "give a claim back with `comity task release ID`"),
    ("task resume", "continue with `comity task start ID`"),
    ("task open", "reopen a finished task with `comity task reopen ID --reason TEXT`"),
    ("task reject", "send work back with `comity task request-changes ID --reason TEXT`"),
    ("task comment", "write a note with `comity note progress TEXT --task ID`"),
    ("task note", "write a note with `comity note progress TEXT --task ID`"),
    ("task log", "see what happened to a task with `comity log --task ID`"),
    ("task history", "see what happened to a task with `comity log --task ID`"),
    ("task set", "change a task with `comity task update ID`"),
    ("task move", "move a task with `comity task transition ID STATUS`"),
    ("task search", "find tasks with `comity task list --search WORDS`"),
];

/// Words for removing something, which nothing in the log ever is.
const REMOVAL: [&str; 4] = ["delete", "rm", "remove", "del"];

/// Writes short forms out.
pub fn expanded(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = command_at(&arguments, 1) else { return arguments };
    let word = arguments.get(first).and_then(|word| word.to_str()).unwrap_or_default();
    if let Some((_, whole)) = COMMANDS.iter().find(|(short, _)| *short == word) {
        arguments.splice(first..=first, whole.iter().map(OsString::from));
        return arguments;
    }
    let group = word.to_owned();
    let Some(second) = command_at(&arguments, first + 1) else {
        let asks = arguments.iter().any(|argument| argument == "-h" || argument == "--help");
        if group == BARE && !asks {
            arguments.insert(first + 1, "list".into());
        }
        return arguments;
    };
    let Some(word) = arguments.get_mut(second) else { return arguments };
    let text = word.to_str().unwrap_or_default();
    if text == "ls" && WITH_LIST.contains(&group.as_str()) {
        *word = "list".into();
    } else if let Some((.., whole)) =
        WITHIN.iter().find(|(of, short, _)| *of == group && *short == text)
    {
        *word = whole.into();
    }
    arguments
}

/// Returns the place of the next word that is no global option.
fn command_at(arguments: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(argument) = arguments.get(at) {
        match argument.to_str() {
            Some(name) if super::WITH_VALUE.contains(&name) => at += 2,
            Some(option) if option.starts_with("--") && option.len() > 2 => at += 1,
            Some(option) if option.starts_with('-') => return None,
            _ => return Some(at),
        }
    }
    None
}

/// Returns the command or the short form that a mistyped one is nearest to.
pub fn nearest_command(word: &str) -> Option<&'static str> {
    let commands = super::groups::GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
    let known: Vec<&str> = commands.chain(COMMANDS.iter().map(|(short, _)| *short)).collect();
    // Letters in another order are the slip of a finger.
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let swapped = known.iter().copied().find(|name| sorted(name) == sorted(word));
    swapped.or_else(|| nearest(word, known))
}

/// Returns what to do instead of a command that does not exist.
pub fn instead(group: Option<&str>, word: &str) -> Option<&'static str> {
    let path = group.map_or_else(|| word.to_owned(), |group| format!("{group} {word}"));
    let known = INSTEAD.iter().find(|(typed, _)| *typed == path);
    let removal = || {
        let group = group.filter(|_| REMOVAL.contains(&word))?;
        Some(match group {
            "task" => {
                "a task is never deleted; give it up with `comity task abandon ID --reason TEXT`"
            }
            "lease" => "give files back with `comity lease release LOCK_ID`",
            "memory" => "forget a memory with `comity memory forget ID`",
            "directive" => "delete a standing instruction with `comity directive delete ID`",
            _ => "nothing is deleted: the log keeps all that happened",
        })
    };
    known.map(|(_, text)| *text).or_else(removal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, at_once};
    use clap::CommandFactory;

    fn line(text: &str) -> String {
        let words = text.split(' ').map(OsString::from).collect();
        let words: Vec<String> =
            expanded(words).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn short_forms_are_written_out_at_the_place_of_the_command_only() {
        assert_eq!(line("comity ls --all"), "comity task list --all");
        assert_eq!(line("comity ready"), "comity task list --ready");
        assert_eq!(line("comity --as ls new x"), "comity --as ls task create x");
        assert_eq!(line("comity task --json ls"), "comity task --json list");
        assert_eq!(line("comity lease ls"), "comity lease list");
        assert_eq!(line("comity close T1"), "comity task done T1");
        assert_eq!(line("comity --json config"), "comity --json config list");
        assert_eq!(line("comity config get x"), "comity config get x");
        assert_eq!(line("comity config --help"), "comity config --help");
        for same in ["comity note new ls", "comity task create ls", "comity -h ls", "comity log ls"]
        {
            assert_eq!(line(same), same);
        }
    }

    /// Tells whether words lead to a command; what follows a command without further ones is its arguments.
    fn leads(root: &clap::Command, words: &str) -> bool {
        let mut at = root;
        for word in words.split(' ') {
            match at.find_subcommand(word) {
                Some(inner) => at = inner,
                None => return !at.has_subcommands(),
            }
        }
        true
    }

    #[test]
    fn short_forms_and_suggestions_hide_no_command_and_name_commands_that_exist() {
        let root = at_once(Cli::command);
        let exists = |words: &str| leads(&root, words);
        for (short, whole) in COMMANDS {
            let words: Vec<&str> =
                whole.iter().copied().filter(|word| !word.starts_with('-')).collect();
            assert!(!exists(short) && exists(&words.join(" ")), "{short}");
        }
        for (group, short, whole) in WITHIN {
            assert!(!exists(&format!("{group} {short}")) && exists(&format!("{group} {whole}")));
        }
        for group in WITH_LIST {
            assert!(exists(&format!("{group} list")), "{group}");
        }
        for (typed, text) in INSTEAD {
            assert!(!exists(typed), "{typed} exists");
            let named = text.split("`comity ").skip(1).filter_map(|rest| rest.split('`').next());
            for command in named {
                let lower = |word: &&str| word.starts_with(char::is_lowercase);
                let words: Vec<&str> = command.split(' ').take_while(lower).collect();
                let known = words.is_empty() || exists(&words.join(" "));
                assert!(known, "{typed}: {command}");
            }
        }
    }

    #[test]
    fn what_is_no_command_gets_told_what_there_is() {
        assert!(instead(None, "undo").unwrap().contains("task undo"));
        assert!(instead(Some("task"), "delete").unwrap().contains("abandon"));
        assert!(instead(Some("memory"), "rm").unwrap().contains("forget"));
        assert_eq!(instead(None, "nonsense"), None);
    }
}
