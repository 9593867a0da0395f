//! What a valid contract asks for, as commands of the rules.

use super::{reviewer, scout};
use crate::document::Node;
use crate::neomjs::title_of;
use comity_core::command::{Command, Question, TaskVerb};
use comity_core::decision::{DecisionOption, Proposal};
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Priority;

const ANSWERS: [(&str, &str); 3] =
    [("yes", "Make it a task"), ("later", "Keep it for later"), ("no", "Leave it")];

/// Returns the commands that a valid contract of a kind stands for. Kinds that end a piece of work are handed
/// in instead and have none.
pub fn commands(kind: &str, root: &Node, task: Option<&str>) -> Result<Vec<Command>, Refusal> {
    match (kind, task) {
        ("reviewer", Some(task)) => Ok(vec![review(root, task)]),
        ("reviewer", None) => {
            Err(Refusal::input("a review is about a task")
                .hint(say("name it with ").ask("task", "ID")))
        }
        ("scout", task) => Ok(found(root, task)),
        ("architect", task) => {
            let said =
                format!("Plan ready: {} — {}", root.text_of("plan_path"), root.text_of("summary"));
            Ok(vec![note("milestone", said, task)])
        }
        _ => Err(Refusal::new(
            Code::ContractInvalid,
            format!("a contract of the kind {kind} asks for nothing"),
        )
        .hint("developer, supervisor, reviewer, scout and architect reports can be applied")),
    }
}

fn note(kind: &str, text: String, task: Option<&str>) -> Command {
    Command::Note { kind: kind.to_owned(), text, task: task.map(str::to_owned) }
}

fn review(root: &Node, task: &str) -> Command {
    let reviewer::Outcome { approved, notes } = reviewer::outcome(root);
    let (id, reason) = (task.to_owned(), Some(notes));
    if approved {
        TaskVerb::Approve.on(id, reason)
    } else {
        TaskVerb::RequestChanges.on(id, reason)
    }
}

fn found(root: &Node, task: Option<&str>) -> Vec<Command> {
    let option = |(key, label): &(&str, &str)| DecisionOption {
        key: (*key).to_owned(),
        label: Some((*label).to_owned()),
        description: None,
    };
    let mut commands = Vec::new();
    for finding in scout::findings(root) {
        let heading = format!("{} {}: {}", finding.id, finding.severity, finding.title);
        match &finding.decision {
            None if ["CRITICAL", "HIGH"].contains(&finding.severity.as_str()) => {
                let is_critical = finding.severity == "CRITICAL";
                let proposal = Proposal {
                    title: title_of(&finding.title),
                    description: finding.details.clone(),
                    priority: Some(Priority::from_rank(u8::from(!is_critical))),
                    effort: finding.effort.clone(),
                };
                commands.push(Command::DecisionAsk(Box::new(Question {
                    question: heading,
                    task: task.map(str::to_owned),
                    options: ANSWERS.iter().map(option).collect(),
                    kind: None,
                    context: (!finding.details.is_empty()).then_some(finding.details),
                    default: None,
                    to: None,
                    expires: None,
                    proposes: Some(Box::new(proposal)),
                })));
            }
            asked => {
                let by = asked.as_ref().map(|id| format!(" (asked as {id})")).unwrap_or_default();
                let said = format!("{heading}{by}\n{}", finding.details);
                commands.push(note("discovery", said.trim_end().to_owned(), task));
            }
        }
    }
    let mut whole = root.text_of("summary");
    let score = root.text_of("health_score");
    if !score.is_empty() {
        whole.push_str(&format!("\nHealth: {score}/10"));
    }
    for strength in root.items_of("strengths") {
        whole.push_str(&format!("\n+ {}", strength.written().unwrap_or_default()));
    }
    commands.push(note("discovery", whole, task));
    commands
}
