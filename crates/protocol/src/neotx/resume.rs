//! The header that tells a developer to go on where a crashed run stopped.

use std::fmt::Write;

/// The first line.
pub const HEADER: &str = "RESUMING FROM CRASH";

/// Both spellings that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `T1 (commit abc), T2 (commit def)`: what the supervisor writes.
    #[default]
    Each,
    /// `T1, T2 (commits: abc, def)`: what the developer is told to look for.
    Together,
}

/// A task that is finished and on the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The task.
    pub task: String,
    /// Its commit.
    pub commit: Option<String>,
}

/// Where to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    /// The run that crashed.
    pub previous_run: String,
    /// What is finished.
    pub completed: Vec<Completed>,
    /// The task that failed.
    pub failed_at: String,
    /// With what.
    pub error: String,
    /// The prompt of the crashed run.
    pub original: Option<String>,
}

/// Writes the header, with the original task below it.
pub fn render(resumption: &Resumption, form: Form) -> String {
    let one = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let failed = one(&resumption.failed_at);
    let mut out = format!(
        "{HEADER}\nPrevious run: {}\nCompleted tasks: {}\nFailed at: {failed} — error: {}\n\
         Resume: start from {failed}, skip completed tasks above.\n",
        one(&resumption.previous_run),
        completed(&resumption.completed, form),
        one(&resumption.error),
    );
    if let Some(original) = &resumption.original {
        let _ = write!(out, "\nOriginal task:\n{original}");
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
    tasks.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// Finds the header in a prompt; none when there is none, or when it lacks the run or the task.
pub fn parse(prompt: &str) -> Option<Resumption> {
    let mut lines = prompt.lines().skip_while(|line| line.trim() != HEADER);
    lines.next()?;
    let mut found = Resumption::default();
    let rest: Vec<&str> = lines.collect();
    let mut end = rest.len();
    for (number, line) in rest.iter().enumerate() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("Previous run:") {
            found.previous_run = text.trim().to_owned();
        } else if let Some(text) = line.strip_prefix("Completed tasks:") {
            found.completed = read_completed(text.trim());
        } else if let Some(text) = line.strip_prefix("Failed at:") {
            (found.failed_at, found.error) = read_failure(text.trim());
        } else if line.starts_with("Original task:") {
            end = number;
            break;
        }
    }
    if let Some(text) = rest.get(end).and_then(|line| line.trim().strip_prefix("Original task:")) {
        let mut original = text.trim().to_owned();
        for line in rest.iter().skip(end + 1) {
            if !original.is_empty() {
                original.push('\n');
            }
            original.push_str(line);
        }
        found.original = Some(original);
    }
    (!found.previous_run.is_empty() && !found.failed_at.is_empty()).then_some(found)
}

fn read_failure(text: &str) -> (String, String) {
    let parts = ["— error:", "- error:", "-- error:"].iter().find_map(|by| text.split_once(by));
    let (task, error) = parts.unwrap_or((text, ""));
    (task.trim().to_owned(), error.trim().to_owned())
}

fn read_completed(text: &str) -> Vec<Completed> {
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
