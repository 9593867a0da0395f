//! The report of an agent, found at the end of what it said, as commands of the rules.

use comity_core::command::{Command, Submission, TaskVerb};
use comity_core::refusal::Refusal;
use comity_core::run::Stage;
use comity_core::time::Millis;
use comity_protocol::contract::{self, Mode};
use comity_protocol::document::Node;
use comity_protocol::neotx::effect;
use serde_json::{Map, Value};

/// How much of the end of what an agent said is looked at, in bytes.
pub(crate) const TAIL_BYTES: usize = 256 * 1024;

/// A report, and what it asks for.
pub(crate) struct Report {
    pub(crate) kind: String,
    pub(crate) steps: Vec<Command>,
    /// What it says that rules go by.
    pub(crate) said: Map<String, Value>,
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
        let said = said_by(tree);
        let steps = match contract::report(kind, tree) {
            Some(_) if wants_no_review(&said) => kept(&said, task),
            Some(report) => {
                let (id, report) = (task.to_owned(), Some(Box::new(report)));
                vec![Command::Submit(Submission { id, report, ..Submission::default() })]
            }
            None => effect::commands(kind.name, tree, Some(task))?,
        };
        return Ok(Some(Report {
            kind: kind.name.to_owned(),
            steps: with_end(steps, stage, task),
            said,
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

/// Fields of reports that rules go by, as they stand.
const PLAIN: [&str; 8] = [
    "status",
    "notes",
    "summary",
    "plan_path",
    "verdict",
    "spec_compliance",
    "health_score",
    "pr_url",
];
/// Longest text of a report that is kept for rules, in characters.
const SAID_CHARS_MAX: usize = 2_000;
/// Most entries of a list of a report that are kept for rules.
const SAID_ITEMS_MAX: usize = 50;

fn said_by(tree: &Node) -> Map<String, Value> {
    let cut = |text: &str| text.trim().chars().take(SAID_CHARS_MAX).collect::<String>();
    let mut said = Map::new();
    let mut keep = |key: &str, text: String| {
        if !text.trim().is_empty() {
            said.insert(key.to_owned(), Value::String(cut(&text)));
        }
    };
    for key in PLAIN {
        keep(key, tree.get(key).and_then(Node::written).unwrap_or_default());
    }
    if let Some(branch) = tree.get("branch_completion") {
        keep("recommendation", branch.text_of("recommendation"));
        keep("reason", branch.text_of("reason"));
        keep("branch_tests", branch.get("tests").and_then(Node::written).unwrap_or_default());
    }
    let list = |texts: Vec<String>| {
        let texts = texts.into_iter().filter(|text| !text.trim().is_empty());
        texts.take(SAID_ITEMS_MAX).map(|text| Value::String(cut(&text))).collect::<Vec<_>>()
    };
    let concerns = list(tree.items_of("concerns").iter().filter_map(Node::written).collect());
    let issues = list(tree.items_of("issues").iter().map(issue).collect());
    for (key, all) in [("concerns", concerns), ("issues", issues)] {
        if !all.is_empty() {
            said.insert(key.to_owned(), Value::Array(all));
        }
    }
    said
}

/// What kind of issue was found where: its category and the directory of its file.
fn issue(node: &Node) -> String {
    let (category, file) = (node.text_of("category"), node.text_of("file"));
    let place = file.rsplit_once('/').map(|(dir, _)| format!(" in {dir}/")).unwrap_or_default();
    if category.is_empty() { String::new() } else { format!("{category}{place}") }
}

/// Work that is not to be handed in: its agent says so, or its tests fail.
fn wants_no_review(said: &Map<String, Value>) -> bool {
    let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default();
    let done = matches!(text("status"), "DONE" | "DONE_WITH_CONCERNS");
    let failing = comity_protocol::test_claims::claim(text("branch_tests")) == Some(false);
    let advice = text("recommendation");
    done && !advice.is_empty() && (matches!(advice, "keep" | "discard") || failing)
}

/// How long work rests that its agent wants kept as it is.
const KEPT_FOR: Millis = Millis::from_secs(2 * 3_600);

/// Lets work rest. A person is asked before it is discarded: the end of the run does that.
fn kept(said: &Map<String, Value>, task: &str) -> Vec<Command> {
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    if text("recommendation") == Some("discard") {
        return Vec::new();
    }
    let why = text("reason").unwrap_or("its branch is not ready");
    vec![Command::Block {
        id: task.to_owned(),
        needs: Some(format!("time: the work is kept as it is ({why})")),
        questions: Vec::new(),
        retry_after: Some(KEPT_FOR),
        reason: None,
    }]
}

/// A plan or an exploration ends with its report: the task goes back into the queue for whoever is next. The end of a
/// scout's own task is for the rules.
fn with_end(mut steps: Vec<Command>, stage: Stage, task: &str) -> Vec<Command> {
    if stage == Stage::Plan {
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
