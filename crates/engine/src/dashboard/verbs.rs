//! What a caller could do with a task now: each verb is decided by the rules, and nothing is carried out.

use crate::batch::settle;
use crate::read::Reader;
use comity_api::{ById, VerbView};
use comity_core::command::{Command, Submission, TaskVerb};
use comity_core::decide::decide;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;

/// A verb as a page offers it: its word, its label, the status that it leads to, and the fields that a person fills in.
type Offer = (&'static str, &'static str, Option<Status>, &'static [&'static str]);

/// Every verb of a task, in the order in which pages offer them.
const OFFERS: [Offer; 14] = [
    ("claim", "Claim", Some(Status::Claimed), &[]),
    ("start", "Start", Some(Status::InProgress), &[]),
    ("submit", "Submit", Some(Status::Review), &[]),
    ("review", "Take the review", None, &[]),
    ("approve", "Approve", Some(Status::Approved), &[]),
    ("request-changes", "Request changes", Some(Status::ChangesRequested), &["reason"]),
    ("merge", "Start the merge", Some(Status::Merging), &[]),
    ("done", "Done", Some(Status::Done), &[]),
    ("unblock", "Unblock", Some(Status::Queued), &[]),
    ("requeue", "Queue again", Some(Status::Queued), &[]),
    ("release", "Release", Some(Status::Queued), &["reason"]),
    ("block", "Block", Some(Status::Blocked), &["needs"]),
    ("abandon", "Abandon", Some(Status::Abandoned), &["reason"]),
    ("reopen", "Reopen", Some(Status::Queued), &["reason"]),
];

/// What stands in a field that the caller fills in later.
const PLACEHOLDER: &str = "…";

impl Reader<'_> {
    pub(crate) fn verbs(&mut self, input: &ById) -> Result<Vec<VerbView>, Refusal> {
        let task = self.find(&input.id)?;
        self.verbs_of(&task)
    }

    pub(crate) fn verbs_of(&mut self, task: &Task) -> Result<Vec<VerbView>, Refusal> {
        OFFERS.iter().map(|offer| self.offer(task, *offer)).collect()
    }

    fn offer(&mut self, task: &Task, (verb, label, to, wants): Offer) -> Result<VerbView, Refusal> {
        let request = self.caller.request(command(verb, task.id.as_str()));
        let policy = self.policy;
        let decided = settle(self.tx, &mut self.facts, |facts| decide(facts, &request, policy));
        let refusal = match decided {
            // Whether git agrees is seen when it is done.
            Ok(_) => None,
            Err(refusal) if refusal.code == Code::Unobserved => None,
            Err(refusal) if refusal.code == Code::Internal => return Err(refusal),
            Err(refusal) => Some(refusal),
        };
        Ok(VerbView {
            verb: verb.to_owned(),
            allowed: refusal.is_none(),
            code: refusal.as_ref().map(|refusal| refusal.code.to_string()),
            why: refusal.map(|refusal| refusal.message),
            wants: wants.iter().map(|field| (*field).to_owned()).collect(),
            operation: format!("task.{verb}"),
            label: label.to_owned(),
            to: to.map(|status| super::column(status).to_owned()),
        })
    }
}

fn command(verb: &str, id: &str) -> Command {
    let (id, reason) = (id.to_owned(), Some(PLACEHOLDER.to_owned()));
    let moved = |verb| Command::Move { verb, id: id.clone(), reason: reason.clone() };
    match verb {
        "claim" => Command::Claim(comity_core::command::ClaimWish {
            id: Some(id),
            ..comity_core::command::ClaimWish::default()
        }),
        "start" => Command::Start { id, ttl: None, reason: None },
        "submit" => Command::Submit(Submission { id, ..Submission::default() }),
        "done" => Command::Done { id, merged: None, unmerged: false, reason: None },
        "block" => Command::Block {
            id,
            needs: reason,
            questions: Vec::new(),
            retry_after: None,
            reason: None,
        },
        "review" => moved(TaskVerb::Review),
        "approve" => moved(TaskVerb::Approve),
        "request-changes" => moved(TaskVerb::RequestChanges),
        "merge" => moved(TaskVerb::Merge),
        "unblock" => moved(TaskVerb::Unblock),
        "requeue" => moved(TaskVerb::Requeue),
        "release" => moved(TaskVerb::Release),
        "reopen" => moved(TaskVerb::Reopen),
        _ => moved(TaskVerb::Abandon),
    }
}
