//! The refusal that lists everything that is not as it should be.

use crate::check::{Findings, Violation};
use crate::told::Beside;
use comity_core::refusal::{Code, Refusal};
use serde_json::json;

/// Violations, and files of one, that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 8;

pub(crate) fn refusal(findings: &Findings, task: &str) -> Option<Refusal> {
    if findings.violations.is_empty() {
        return None;
    }
    let words = |violation: &Violation| match violation.constraint {
        "max_files" => format!("{}: {}", violation.message, files(findings, task)),
        _ => violation.message.clone(),
    };
    let said: Vec<String> = findings.violations.iter().take(SAID_MAX).map(words).collect();
    let more = match findings.violations.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more (`comity guard check {task} --json` lists all)"),
    };
    let code = if only(&findings.violations, "files_modified") {
        Code::ContractInvalid
    } else {
        Code::LimitExceeded
    };
    let message = format!("{task} is not as its constraints want it: {}{more}", said.join("; "));
    Some(
        Refusal::new(code, message)
            .hint(hint(findings, task))
            .detail("violations", json!(findings.violations))
            .detail("base", findings.base.clone())
            .detail("commit", findings.commit.clone())
            .detail("files", json!(findings.files)),
    )
}

/// Names what is changed, as far as it fits into a message.
fn files(findings: &Findings, task: &str) -> String {
    let named = findings.files.iter().take(SAID_MAX).map(|file| file.path.as_str());
    let named = named.collect::<Vec<_>>().join(", ");
    match findings.files.len().saturating_sub(SAID_MAX) {
        0 => named,
        more => format!("{named} and {more} more (`comity guard check {task} --json` lists all)"),
    }
}

fn only(violations: &[Violation], name: &str) -> bool {
    violations.iter().all(|one| one.constraint == name)
}

/// What an agent says wrongly is mended in the contract; the rest is mended in the work.
fn hint(findings: &Findings, task: &str) -> String {
    let violations = &findings.violations;
    let has = |name: &str| violations.iter().any(|one| one.constraint == name);
    if only(violations, "files_modified") {
        return "list exactly what the work changes, then hand it in again".to_owned();
    }
    if only(violations, "branch") {
        return "switch to that branch, with `git switch -c` when it is not there, then hand the work in again".to_owned();
    }
    if only(violations, "unchecked") {
        return "hand in a commit that git has here, on a branch that was made from the default branch; `git fetch` may help".to_owned();
    }
    let mut hints = Vec::new();
    if let Some(base) = findings.undone_at.as_ref().filter(|_| has("no_git_commit")) {
        let short: String = base.chars().take(10).collect();
        hints.push(format!(
            "`git reset --soft {short}` takes the commits back and keeps the files as they are"
        ));
    }
    if !findings.beside.is_empty() {
        hints.push(beside(&findings.beside, task));
    }
    if hints.is_empty() || !only(violations, "no_git_commit") {
        hints.push(
            "undo what the task does not allow, or let a planner or a person widen it".to_owned(),
        );
    }
    hints.join("; ")
}

/// Says whose work may be among the files, and how to tell it from this task's.
fn beside(others: &[Beside], task: &str) -> String {
    let names = |others: &[&Beside]| {
        others.iter().map(|other| other.task.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (theirs, own): (Vec<&Beside>, Vec<&Beside>) =
        others.iter().partition(|other| other.is_anothers);
    let all: Vec<&Beside> = others.iter().collect();
    let counted = format!(
        "commits made while {} is under way in the same work tree are counted, as nothing says whose they are",
        names(&all)
    );
    match (theirs.first(), own.is_empty()) {
        (Some(other), _) => format!(
            "{counted}: name the task in each commit as `type({}): …` or `type({task}): …`, declare each task's files (`--file`), \
             or work on a branch",
            other.task
        ),
        _ => format!("{counted}: work on a branch for each task"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Change;
    use comity_core::command::FileAction;

    fn findings(files: usize, constraint: &'static str) -> Findings {
        let file = |number| Change::named(&format!("f{number}"), FileAction::Created);
        Findings {
            base: Some("0123456789abcdef".to_owned()),
            commit: "c".to_owned(),
            files: (1..=files).map(file).collect(),
            violations: vec![Violation::new(constraint, None, "it is wrong")],
            beside: Vec::new(),
            undone_at: Some("0123456789abcdef".to_owned()),
        }
    }

    #[test]
    fn the_files_that_are_too_many_are_named() {
        let few = refusal(&findings(2, "max_files"), "T1").unwrap();
        assert!(few.message.ends_with("it is wrong: f1, f2"), "{}", few.message);
        let many = refusal(&findings(12, "max_files"), "T1").unwrap();
        let end = "f7, f8 and 4 more (`comity guard check T1 --json` lists all)";
        assert!(many.message.ends_with(end), "{}", many.message);
    }

    #[test]
    fn the_hint_says_how_to_take_commits_back() {
        let mut found = findings(1, "no_git_commit");
        let hint = refusal(&found, "T1").unwrap().hint_text().to_owned();
        assert!(hint.starts_with("`git reset --soft 0123456789` takes"), "{hint}");
        found.undone_at = None;
        let hint = refusal(&found, "T1").unwrap().hint_text().to_owned();
        assert!(hint.starts_with("undo "), "others' commits lie between: {hint}");
    }

    #[test]
    fn the_hint_says_how_to_tell_two_tasks_in_one_tree_apart() {
        let mut found = findings(3, "max_files");
        let (task, fence, files) = ("T2".to_owned(), 7, Vec::new());
        found.beside.push(Beside { task, fence, is_anothers: true, files });
        let hint = refusal(&found, "T1").unwrap().hint_text().to_owned();
        assert!(hint.contains("while T2 is under way"), "{hint}");
        assert!(hint.contains("`type(T2): …` or `type(T1): …`"), "{hint}");
        found.beside[0].is_anothers = false;
        let hint = refusal(&found, "T1").unwrap().hint_text().to_owned();
        assert!(!hint.contains("type(") && hint.contains("branch for each task"), "{hint}");
    }
}
