//! The report of an agent, found at the end of what it said, as commands of the rules.

use comity_core::command::{Command, Submission, TaskVerb};
use comity_core::refusal::Refusal;
use comity_core::run::Stage;
use comity_protocol::contract::{self, Mode};
use comity_protocol::neotx::effect;

/// How much of the end of what an agent said is looked at, in bytes.
pub(crate) const TAIL_BYTES: usize = 256 * 1024;

/// A report, and what it asks for.
pub(crate) struct Report {
    pub(crate) kind: String,
    pub(crate) steps: Vec<Command>,
}

/// Finds the last contract in what an agent said.
pub(crate) fn find(said: &str, stage: Stage, task: &str) -> Result<Option<Report>, Refusal> {
    for from in starts(said) {
        let text = said.get(from..).unwrap_or_default();
        let checked = contract::check(text, None, Mode::Full);
        let (Some(kind), Some(tree), true) = (checked.kind, &checked.tree, checked.is_valid())
        else {
            continue;
        };
        let steps = match contract::report(kind, tree) {
            Some(report) => {
                let (id, report) = (task.to_owned(), Some(Box::new(report)));
                vec![Command::Submit(Submission { id, report, ..Submission::default() })]
            }
            None => effect::commands(kind.name, tree, Some(task))?,
        };
        return Ok(Some(Report {
            kind: kind.name.to_owned(),
            steps: with_end(steps, stage, task),
        }));
    }
    Ok(None)
}

/// Says what is wrong with the report in what an agent said; nothing if there is a good one.
pub(crate) fn wrong(said: &str, stage: Stage, task: &str) -> Option<String> {
    match find(said, stage, task) {
        Ok(Some(_)) => None,
        Ok(None) => {
            let checked = contract::check(said.trim(), None, Mode::Full);
            let errors = checked.kind.map(|_| checked.problems.errors().join("; "));
            let errors = errors.filter(|errors| !errors.is_empty());
            Some(errors.unwrap_or_else(|| "there is no report in your last message".to_owned()))
        }
        Err(refusal) => Some(refusal.message),
    }
}

/// What an agent is told whose report cannot be used.
pub(crate) fn mend(wrong: &str) -> String {
    format!(
        "Your report cannot be used: {wrong}. Do no further work. Print the report alone, as one JSON block, in the form that \
         you were told at the beginning."
    )
}

/// A plan or an exploration ends with its report: the task goes back into the queue for whoever is next.
fn with_end(mut steps: Vec<Command>, stage: Stage, task: &str) -> Vec<Command> {
    if matches!(stage, Stage::Plan | Stage::Scout) {
        steps.push(TaskVerb::Release.on(task.to_owned(), Some("the report is in".to_owned())));
    }
    steps
}

/// Places where a contract may begin, the last first: blocks, and lines that begin a mapping.
fn starts(said: &str) -> Vec<usize> {
    const LOOKED_AT: usize = 200;
    let mut places = vec![0];
    let mut at = 0;
    for line in said.split_inclusive('\n') {
        let begins = line.starts_with("```")
            || line.starts_with('{')
            || line.starts_with("---")
            || line.split_once(':').is_some_and(|(key, _)| {
                !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
            });
        if begins {
            places.push(at);
        }
        at += line.len();
    }
    places.into_iter().rev().take(LOOKED_AT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVELOPER: &str =
        "I worked.\n\n```json\n{\"status\": \"DONE\", \"summary\": \"dates are parsed\"}\n```\n";

    #[test]
    fn the_report_of_a_developer_hands_the_task_in() {
        let found = find(DEVELOPER, Stage::Develop, "T1").unwrap().unwrap();
        assert_eq!(found.kind, "developer");
        assert!(matches!(&found.steps[..], [Command::Submit(given)] if given.id == "T1"));
    }

    #[test]
    fn what_is_wrong_with_a_report_is_said() {
        assert_eq!(wrong(DEVELOPER, Stage::Develop, "T1"), None);
        let none = wrong("all done", Stage::Develop, "T1").unwrap();
        assert!(none.contains("no report"), "{none}");
        assert!(wrong("{\"status\": \"PERHAPS\"}", Stage::Develop, "T1").is_some());
    }

    #[test]
    fn words_without_a_contract_are_no_report() {
        assert!(find("all done\nexit: 0\n", Stage::Develop, "T1").unwrap().is_none());
        assert!(find("", Stage::Develop, "T1").unwrap().is_none());
    }
}
