//! The header that tells a developer to go on where a crashed run stopped.

use crate::contract::{Mode, SURE};
use crate::document::{Data, Entry, Fault, Node, Place};
use crate::one_line;
use crate::problem::Problems;
use crate::shape::{self, Field, Shape, may, must};
use serde_json::Value;
use std::fmt::Write;

pub const HEADER: &str = "RESUMING FROM CRASH";
const ORIGINAL: &str = "Original task:";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `T1 (commit abc), T2 (commit def)`: what the supervisor writes.
    #[default]
    Each,
    /// `T1, T2 (commits: abc, def)`: what the developer is told to look for.
    Together,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The task; a name without commas and brackets.
    pub task: String,
    pub commit: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    pub previous_run: String,
    pub completed: Vec<Completed>,
    pub failed_at: String,
    pub error: String,
    pub original: Option<String>,
}

pub fn render(resumption: &Resumption, form: Form) -> String {
    let failed = one_line(&resumption.failed_at);
    let mut out = format!(
        "{HEADER}\nPrevious run: {}\nCompleted tasks: {}\nFailed at: {failed} — error: {}\n\
         Resume: start from {failed}, skip completed tasks above.\n",
        one_line(&resumption.previous_run),
        completed(&resumption.completed, form),
        one_line(&resumption.error),
    );
    if let Some(original) = &resumption.original {
        let _ = write!(out, "\n{ORIGINAL}\n{original}");
    }
    out
}

fn completed(tasks: &[Completed], form: Form) -> String {
    if tasks.is_empty() {
        return "none".to_owned();
    }
    let whole = tasks.iter().all(|task| task.commit.is_some());
    if form == Form::Together && whole {
        let names: Vec<&str> = tasks.iter().map(|task| task.task.as_str()).collect();
        let commits: Vec<&str> = tasks.iter().filter_map(|task| task.commit.as_deref()).collect();
        return format!("{} (commits: {})", names.join(", "), commits.join(", "));
    }
    let each = |task: &Completed| match &task.commit {
        Some(commit) => format!("{} (commit {commit})", task.task),
        None => task.task.clone(),
    };
    let all = tasks.iter().map(each).collect::<Vec<_>>().join(", ");
    // A comma shows that it is a list of one, and not the word for none.
    if is_none(&all) { format!("{all},") } else { all }
}

fn is_none(text: &str) -> bool {
    text.eq_ignore_ascii_case("none")
}

type Said = Option<(String, Place)>;

#[derive(Default)]
struct Section {
    run: Said,
    completed: Said,
    failed: Said,
    original: Said,
}

/// Looks for the header. The first line of each name counts; after the header nothing does but the original task.
fn look(prompt: &str) -> Option<Section> {
    let mut found: Option<Section> = None;
    let mut at = 0;
    for (number, line) in prompt.split_inclusive('\n').enumerate() {
        at += line.len();
        let text = line.trim();
        let Some(known) = &mut found else {
            found = (text == HEADER).then(Section::default);
            continue;
        };
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let over = known.run.is_some() && known.failed.is_some();
        let place = |name: &str| {
            let before = line.len() - line.trim_start().len() + name.len();
            Place { line: number, column: u32::try_from(before + 1).unwrap_or(u32::MAX) }
        };
        if let Some(rest) = text.strip_prefix(ORIGINAL) {
            // What stands on the line itself belongs to it; what is below stays as it is.
            let below = prompt.get(at..).unwrap_or_default();
            let whole = match rest.trim() {
                "" => below.to_owned(),
                rest if below.is_empty() => rest.to_owned(),
                rest => format!("{rest}\n{below}"),
            };
            known.original = Some((whole, place(ORIGINAL)));
            break;
        }
        let names = [
            ("Previous run:", &mut known.run),
            ("Completed tasks:", &mut known.completed),
            ("Failed at:", &mut known.failed),
        ];
        let mut ours = text.is_empty() || text.starts_with("Resume:");
        for (name, into) in names {
            if let Some(rest) = text.strip_prefix(name) {
                ours = true;
                into.get_or_insert_with(|| (rest.trim().to_owned(), place(name)));
            }
        }
        if over && !ours {
            break;
        }
    }
    found
}

const DASHES: [&str; 4] = ["— error:", "– error:", "-- error:", "- error:"];

fn read_failure(text: &str) -> (String, String) {
    let parts = DASHES.iter().find_map(|by| text.split_once(by));
    let (task, error) = parts.unwrap_or((text, ""));
    (task.trim().to_owned(), error.trim().to_owned())
}

fn read_completed(text: &str) -> Vec<Completed> {
    if text.is_empty() || is_none(text) {
        return Vec::new();
    }
    let names = |text: &str| -> Vec<String> {
        text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    if let Some((tasks, commits)) = text.split_once("(commits:") {
        let commits = names(commits.trim_end().trim_end_matches(')'));
        let mut commits = commits.into_iter();
        return names(tasks)
            .into_iter()
            .map(|task| Completed { task, commit: commits.next() })
            .collect();
    }
    let each = |name: String| match name.split_once('(') {
        Some((task, rest)) => {
            let commit = rest.trim_end_matches(')').trim();
            let commit = commit.strip_prefix("commit").unwrap_or(commit).trim();
            let commit = (!commit.is_empty()).then(|| commit.to_owned());
            Completed { task: task.trim().to_owned(), commit }
        }
        None => Completed { task: name, commit: None },
    };
    names(text).into_iter().map(each).collect()
}

const DONE: &[Field] = &[
    must("task", Shape::Text, "what is finished"),
    may("commit", Shape::Text, "the commit that has it"),
];
const FIELDS: &[Field] = &[
    must("previous_run", Shape::Text, "a line `Previous run: ID`"),
    must("failed_at", Shape::Text, "a line `Failed at: TASK — error: WHAT`"),
    may("error", Shape::AnyText, "with what it failed"),
    may("completed", Shape::List(&Shape::Object(DONE)), "what is finished and to be skipped"),
    may("original", Shape::AnyText, "the prompt of the run that crashed"),
];

pub fn read(text: &str) -> Result<Node, Fault> {
    let Some(found) = look(text) else {
        let message = format!("there is no line {HEADER}");
        return Err(Fault { message, at: Place::START });
    };
    let mut entries = Vec::new();
    let mut put = |key: &str, data: Data, at: Place| entries.push(entry(key, data, at));
    if let Some((run, at)) = found.run {
        put("previous_run", Data::Text(run), at);
    }
    if let Some((text, at)) = found.completed {
        let done = read_completed(&text).into_iter().map(|done| finished(done, at));
        put("completed", Data::List(done.collect()), at);
    }
    if let Some((text, at)) = found.failed {
        let (task, error) = read_failure(&text);
        put("failed_at", Data::Text(task), at);
        put("error", Data::Text(error), at);
    }
    if let Some((text, at)) = found.original {
        put("original", Data::Text(text), at);
    }
    Ok(Node { data: Data::Map(entries), at: Place::START, plain: true })
}

fn entry(key: &str, data: Data, at: Place) -> Entry {
    Entry { key: key.to_owned(), key_at: at, value: Node { data, at, plain: true } }
}

fn finished(done: Completed, at: Place) -> Node {
    let commit = done.commit.map(|commit| ("commit".to_owned(), Value::String(commit)));
    let task = ("task".to_owned(), Value::String(done.task));
    Node::of_value(&Value::Object(std::iter::once(task).chain(commit).collect()), at)
}

/// A prompt that begins with the header is nothing else, whatever it quotes further down.
pub fn marks(text: &str, _: Option<&Node>) -> u32 {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| line.trim() == HEADER) { SURE } else { 0 }
}

pub fn validate(root: &Node, _: Mode) -> Problems {
    shape::check(root, FIELDS)
}

pub fn schema() -> Value {
    shape::schema("resume", "neo: where to go on after a crash", FIELDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds the header in a prompt; none when there is none, or when it lacks the run or the task.
    pub fn parse(prompt: &str) -> Option<Resumption> {
        let found = look(prompt)?;
        let (failed_at, error) = read_failure(&found.failed?.0);
        let previous_run = found.run?.0;
        let whole = Resumption {
            previous_run,
            completed: found.completed.map(|(text, _)| read_completed(&text)).unwrap_or_default(),
            failed_at,
            error,
            original: found.original.map(|(text, _)| text),
        };
        (!whole.previous_run.is_empty() && !whole.failed_at.is_empty()).then_some(whole)
    }

    fn example() -> Resumption {
        let done = |task: &str, commit: &str| Completed {
            task: task.to_owned(),
            commit: Some(commit.to_owned()),
        };
        Resumption {
            previous_run: "3f2a".to_owned(),
            completed: vec![done("T1", "abc1234"), done("T2", "def5678")],
            failed_at: "T3".to_owned(),
            error: "error_max_turns".to_owned(),
            original: Some(
                "Execute the implementation plan at .neo/specs/a.md.\nThen stop.".to_owned(),
            ),
        }
    }

    #[test]
    fn both_forms_are_written_exactly_and_read_back() {
        let each = render(&example(), Form::Each);
        assert_eq!(
            each,
            "RESUMING FROM CRASH\nPrevious run: 3f2a\n\
             Completed tasks: T1 (commit abc1234), T2 (commit def5678)\n\
             Failed at: T3 — error: error_max_turns\n\
             Resume: start from T3, skip completed tasks above.\n\n\
             Original task:\nExecute the implementation plan at .neo/specs/a.md.\nThen stop."
        );
        let together = render(&example(), Form::Together);
        assert!(together.contains("Completed tasks: T1, T2 (commits: abc1234, def5678)\n"));
        assert_eq!(parse(&each), Some(example()));
        assert_eq!(parse(&together), Some(example()));
    }

    #[test]
    fn the_header_is_found_inside_a_prompt_and_nothing_else_is() {
        let prompt = format!("Be careful.\n\n{}", render(&example(), Form::Each));
        assert_eq!(parse(&prompt), Some(example()));
        let none = Resumption { completed: Vec::new(), original: None, ..example() };
        assert_eq!(parse(&render(&none, Form::Together)), Some(none));
        for other in ["", "RESUMING", "RESUMING FROM CRASH", "RESUMING FROM CRASH\nPrevious run: x"]
        {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_task_may_be_called_none_and_an_original_task_stays_as_it_was() {
        let done = vec![Completed { task: "none".to_owned(), commit: None }];
        for original in ["a\n", "\na", "a\r\nb", "", "Failed at: nothing", "\n\n"] {
            let whole = Resumption {
                completed: done.clone(),
                original: Some(original.to_owned()),
                ..example()
            };
            for form in [Form::Each, Form::Together] {
                assert_eq!(parse(&render(&whole, form)), Some(whole.clone()), "{original:?}");
            }
        }
        let inline =
            parse("RESUMING FROM CRASH\nPrevious run: r\nFailed at: T1\n\nOriginal task: a\nb");
        assert_eq!(inline.unwrap().original.as_deref(), Some("a\nb"));
    }

    #[test]
    fn the_first_line_of_a_name_counts_and_every_dash_is_understood() {
        let text = "RESUMING FROM CRASH\nPrevious run: r\nFailed at: T3 – error: it broke\n\n\
                    Now go on.\nFailed at: nothing\nPrevious run: other";
        let read = parse(text).unwrap();
        assert_eq!((read.failed_at.as_str(), read.error.as_str()), ("T3", "it broke"));
        for dash in ["—", "–", "--", "-"] {
            let text =
                format!("RESUMING FROM CRASH\nFailed at: T3 {dash} error: e\nPrevious run: r");
            let read = parse(&text).unwrap();
            assert_eq!((read.failed_at.as_str(), read.error.as_str()), ("T3", "e"), "{dash}");
        }
    }

    proptest! {
        #[test]
        fn what_is_rendered_reads_back(
            run in "[a-z0-9-]{1,12}", names in prop::collection::vec("[A-Za-z][A-Za-z0-9._-]{0,6}", 0..4),
            with in any::<bool>(), error in "[a-z]{0,3}( [a-z:]{1,5}){0,3}", original in prop::option::of("\\PC{0,9}(\r?\n\\PC{0,9}){0,3}"),
        ) {
            let commit = |name: &String| with.then(|| format!("c{name}"));
            let completed: Vec<Completed> =
                names.iter().map(|name| Completed { task: name.clone(), commit: commit(name) }).collect();
            let error = error.trim().to_owned();
            let whole = Resumption { previous_run: run, completed, failed_at: "T9".to_owned(), error, original };
            for form in [Form::Each, Form::Together] {
                prop_assert_eq!(parse(&render(&whole, form)), Some(whole.clone()));
            }
        }
    }
}
