//! What the file of another tracker becomes here: tasks with their links and states, and a list of what
//! has no place. Pure: whoever carries a plan out does it by ordinary commands.

mod arrange;
mod fields;

#[cfg(test)]
mod garbage;

pub use arrange::arrange;
pub use fields::{Fields, Problem};

use comity_core::chain::Hash;
use comity_core::command::NewTask;
use comity_core::ids::{TASK_ID_BYTES_MAX, TaskId, shorten};
use comity_core::limits::{TEXT_BYTES_MAX, TITLE_CHARS_MAX};
use serde::Serialize;

/// Most bytes of a file that is read as one plan.
pub const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most items of one plan.
pub const ITEMS_MAX: usize = 50_000;

/// What a file becomes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The tasks; parents come before their parts once the plan is arranged.
    pub tasks: Vec<Planned>,
    /// What has no place here.
    pub left_out: Vec<LeftOut>,
}

/// One item of the other tracker as a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Its id over there.
    pub item: String,
    /// The task, without dependencies and parent.
    pub new: NewTask,
    /// Items that must be done first.
    pub depends_on: Vec<String>,
    /// The item it is a part of.
    pub parent: Option<String>,
    /// References to keep beside the id: key and value.
    pub links: Vec<(String, String)>,
    /// What was said about it.
    pub notes: Vec<String>,
    /// The state it has over there, in our words.
    pub target: Target,
}

/// Where a task is to be brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Into the queue, where it starts.
    Queued,
    /// Before a critic.
    Review {
        /// What to say.
        why: String,
    },
    /// To the end.
    Done {
        /// What to say.
        why: String,
    },
    /// To a stop.
    Blocked {
        /// What is needed.
        needs: String,
    },
    /// Given up.
    Abandoned {
        /// What to say.
        why: String,
    },
}

impl Target {
    /// Tells whether nothing more is to be done.
    pub fn is_finished(&self) -> bool {
        matches!(self, Target::Done { .. } | Target::Abandoned { .. })
    }

    /// Returns the word of the status.
    pub fn as_str(&self) -> &'static str {
        match self {
            Target::Queued => "queued",
            Target::Review { .. } => "review",
            Target::Done { .. } => "done",
            Target::Blocked { .. } => "blocked",
            Target::Abandoned { .. } => "abandoned",
        }
    }
}

/// Something that was not carried over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The item, or `*` for all of them.
    pub item: String,
    /// The field, link or state.
    pub what: String,
    /// Why it has no place, and what to do about it.
    pub why: String,
}

impl LeftOut {
    /// Makes an entry.
    pub fn new(
        item: impl Into<String>,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> LeftOut {
        LeftOut { item: item.into(), what: what.into(), why: why.into() }
    }
}

/// Makes a valid task id of an item's id, the same one every time. An id that does not fit gets the prefix
/// and, because two may look alike afterwards, a part of its hash.
pub fn task_id(prefix: &str, item: &str) -> String {
    if TaskId::parse(item).is_ok() {
        return item.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let prefixed = format!("{prefix}-{}", item.chars().map(plain).collect::<String>());
    let lossless = prefixed.len() == prefix.len() + 1 + item.len()
        && prefixed.ends_with(item)
        && prefixed.len() <= TASK_ID_BYTES_MAX;
    if lossless {
        return prefixed;
    }
    let hash = Hash::of(item.as_bytes()).to_string();
    let kept: String = prefixed.chars().take(40).collect();
    format!("{kept}-{}", hash.chars().take(12).collect::<String>())
}

/// Writes a title on one line and within its bound; says so when something had to go.
pub fn title(item: &str, text: &str, left_out: &mut Vec<LeftOut>) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line;
    }
    let why = format!("a title has at most {TITLE_CHARS_MAX} characters");
    left_out.push(LeftOut::new(item, "the end of the title", why));
    line.chars().take(TITLE_CHARS_MAX).collect()
}

/// Keeps a text within its bound; says so when something had to go.
pub fn bounded(item: &str, what: &str, mut text: String, left_out: &mut Vec<LeftOut>) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let mut end = TEXT_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let why = format!("a text has at most {TEXT_BYTES_MAX} bytes");
    left_out.push(LeftOut::new(item, format!("the end of {what}"), why));
    text
}

/// Adds a headed part to a description.
pub fn add_part(to: &mut String, heading: &str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    if !to.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(&format!("## {heading}\n\n{}", text.trim_end()));
}

/// Divides a list that was written as text; prose stays in one piece.
pub fn listed(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let entries: Option<Vec<String>> = lines.iter().map(|line| bullet(line)).collect();
    match entries {
        Some(entries) if entries.len() <= comity_core::limits::LIST_ENTRIES_MAX => entries,
        _ if text.trim().is_empty() => Vec::new(),
        _ => vec![text.trim().to_owned()],
    }
}

fn bullet(line: &str) -> Option<String> {
    let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| {
        let (number, rest) = line.split_once(['.', ')'])?;
        let counted = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        counted.then_some(rest).filter(|rest| rest.starts_with(' '))
    })?;
    let rest = rest.trim();
    let rest = rest.strip_prefix("[ ] ").or_else(|| rest.strip_prefix("[x] ")).unwrap_or(rest);
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Cuts an item's id for a message.
pub(crate) fn short(item: &str) -> String {
    shorten(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_as_they_are_where_they_fit_and_never_collide() {
        assert_eq!(task_id("bd", "bd-a1b2.3"), "bd-a1b2.3");
        assert_eq!(task_id("tm", "4.2"), "tm-4.2");
        let (one, two) = (task_id("bd", "a b"), task_id("bd", "a/b"));
        assert_ne!(one, two);
        for id in [one, two, task_id("bd", &"x".repeat(500)), task_id("bd", "日本語")] {
            assert!(TaskId::parse(&id).is_ok(), "{id}");
        }
    }

    #[test]
    fn a_written_list_is_divided_and_prose_is_not() {
        assert_eq!(listed("- one\n- [ ] two\n\n3. three"), ["one", "two", "three"]);
        assert_eq!(listed("It works.\nAlways."), ["It works.\nAlways."]);
        assert!(listed(" \n").is_empty());
    }

    #[test]
    fn what_is_cut_is_said() {
        let mut left = Vec::new();
        assert_eq!(title("a", "one\n two", &mut left), "one two");
        assert!(left.is_empty());
        assert_eq!(title("a", &"é".repeat(501), &mut left).chars().count(), 500);
        let cut = bounded("a", "the notes", "é".repeat(TEXT_BYTES_MAX), &mut left);
        assert_eq!(cut.len(), TEXT_BYTES_MAX);
        assert_eq!(left.len(), 2);
    }
}
