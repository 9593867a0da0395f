//! Commands go through here to the engine, whichever door they come by: git is looked at before the rules decide.

mod written;

use crate::git::InWorkTree;
use comity_api::SubmitAnswer;
use comity_core::command::Request;
use comity_core::decide::shared_words;
use comity_core::refusal::Refusal;
use comity_engine::{Answer, Reply, Service};
use comity_guard::GitObserver;
use comity_project::Context;

/// Runs a command; returns its answer and what should be said beside it.
pub fn perform(
    context: &Context,
    service: &Service,
    request: &Request,
) -> Result<(Reply, Vec<String>), Refusal> {
    let (reply, mut notes) = service.execute_seen(request, &observer(context))?;
    if let Reply::New(Answer::Submitted(answer)) = &reply {
        notes.extend(said_beside(answer));
    }
    Ok((reply, notes))
}

/// Returns what looks at the caller's work tree.
pub fn observer(context: &Context) -> GitObserver {
    GitObserver {
        tree: context.git().map(|(_, tree)| tree.clone()),
        base: context.config.base_branch().map(str::to_owned),
        is_comitys: Box::new(written::by_comity(context)),
    }
}

/// What a reader of words should know of work that was handed in.
fn said_beside(answer: &SubmitAnswer) -> Vec<String> {
    let mut notes = Vec::new();
    if !answer.undeclared.is_empty() {
        notes.push(format!("note: the task did not declare {}", answer.undeclared.join(", ")));
    }
    notes.extend(shared_words(&answer.shared_with).map(|words| format!("note: {words}")));
    notes
}
