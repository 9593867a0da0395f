//! Texts of issues: a stranger's waits until somebody accepts it, an edited one is taken over or waits again.

use super::Pass;
use crate::bus::{IssueKey, Who};
use crate::client::Trouble;
use crate::intake;
use crate::model::{self, Issue};
use crate::rows::IssueRow;
use crate::text;
use comity_core::command::Command;
use comity_core::observed::Observed;
use comity_core::outside::{Level, OutsideNote};
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Verb;
use comity_core::status::Status;

impl Pass<'_> {
    /// Stops a task until somebody who may accepts the text of a stranger.
    pub(super) fn wait_for_text(&mut self, key: &IssueKey, id: &str, hash: &str) {
        let short = text::short(hash);
        let needs = Some(format!("somebody accepts the text of {key} (hash {short}) on GitHub"));
        let block = Command::Block {
            id: id.to_owned(),
            needs,
            questions: Vec::new(),
            retry_after: None,
            reason: Some("the text is a stranger's".to_owned()),
        };
        let _ = self.bus.record(key, &format!("text:{short}"), block, Observed::default());
        let mut row = self.bus.rows.issue(&key.to_string());
        row.waiting = Some(short.to_owned());
        self.bus.rows.set_issue(&key.to_string(), &row);
        let comment = format!(
            "The author of this issue cannot queue work. If the text is fine as it is, somebody with \
             triage rights or more replies:\n\n```\nANSWER: accept {short}\n```\n\nOnly this text is worked on."
        );
        let op = format!("{}/{}.{}/accept", self.bus.engine, key.number, &hash[..6]);
        self.say_once(key, &op, "accept", &comment);
    }

    /// Lets the text of a stranger be worked on, exactly as it was when somebody accepted it.
    pub(super) fn accept(&mut self, key: &IssueKey, id: &str, who: &Who, hash: &str, source: &str) {
        let mut row = self.bus.rows.issue(&key.to_string());
        let current = text::short(&row.seen.text).to_owned();
        if row.waiting.as_deref() != Some(hash) || current != hash {
            let refusal = Refusal::new(
                Code::VersionMismatch,
                format!("the text is {current} by now, not {hash}"),
            );
            self.inbound(key, Some(id), who, "accept", None, "refused", Some(&refusal), source);
            return;
        }
        let issue = match self.bus.client.get(&key.path(), None) {
            Ok(answer) => model::one::<Issue>(&answer.body),
            Err(_) => return,
        };
        if text::short(&text::hash(&issue.title, &issue.body)) != hash {
            return;
        }
        let Ok(Ok(new)) = self.text_of(key, &issue) else { return };
        let dialect = self.bus.dialect(&key.repository);
        let (changes, constraints) = intake::changes(&new, &dialect);
        let note = OutsideNote::Accepted { issue: key.to_string(), text: hash.to_owned() };
        let steps = [
            ("accept", Command::Outside { task: Some(id.to_owned()), note }),
            (
                "text",
                Command::UpdateTask {
                    id: id.to_owned(),
                    changes: Box::new(changes),
                    constraints,
                    if_match: None,
                },
            ),
            (
                "queue",
                Command::Move {
                    verb: comity_core::command::TaskVerb::Unblock,
                    id: id.to_owned(),
                    reason: Some(format!("{} accepted the text on GitHub", who.login)),
                },
            ),
        ];
        for (what, command) in steps {
            if let Err(refusal) =
                self.bus.act(who, key, &format!("{source}:{what}"), command, Observed::default())
            {
                self.inbound(key, Some(id), who, "accept", None, "refused", Some(&refusal), source);
                return;
            }
        }
        row.accepted = Some(hash.to_owned());
        row.waiting = None;
        self.bus.rows.set_issue(&key.to_string(), &row);
        self.inbound(key, Some(id), who, "accept", None, "applied", None, source);
    }

    /// Looks at a text that was edited. One of a stranger waits to be accepted; that of others is taken over while
    /// nobody works on it.
    pub(super) fn edited(&mut self, key: &IssueKey, issue: &Issue) -> Result<(), Trouble> {
        let row: IssueRow = self.bus.rows.issue(&key.to_string());
        let hash = text::hash(&issue.title, &issue.body);
        let short = text::short(&hash).to_owned();
        let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else {
            return Ok(());
        };
        let is_known =
            [&row.accepted, &row.waiting].iter().any(|known| known.as_ref() == Some(&short));
        if is_known
            || row.own_text.is_some()
            || row.accepted.is_none()
            || self.bus.is_own(&issue.user.login)
        {
            return Ok(());
        }
        let id = task.id.to_string();
        let level = self.bus.level(&key.repository, &issue.user.login)?;
        if level < Level::Triage {
            if task.status == Status::Queued {
                self.wait_for_text(key, &id, &hash);
            } else {
                let why = format!("the text was edited after it was accepted; it is {short} now");
                self.bus.finding(
                    "edited-text",
                    Some(key),
                    why,
                    "the work goes on with the accepted text",
                );
            }
            return Ok(());
        }
        if task.claim.is_some() {
            let why = format!("the text was edited while {} is held", task.id);
            let question = format!(
                "{} edited {key} while {id} is held; the work goes on with the text from before. What now?",
                issue.user.login
            );
            self.ask(key, &id, question, &format!("text:{short}:held"));
            self.bus.finding(
                "edited-text",
                Some(key),
                why,
                "tell the agent, or release the task first",
            );
            return Ok(());
        }
        self.take_text_over(key, issue, row, &id, short)
    }

    fn take_text_over(
        &mut self,
        key: &IssueKey,
        issue: &Issue,
        mut row: IssueRow,
        id: &str,
        short: String,
    ) -> Result<(), Trouble> {
        let Some(who) = self.asker(key, &issue.user.login)? else { return Ok(()) };
        let new = match self.text_of(key, issue)? {
            Ok(new) => new,
            Err(comment) => {
                self.complain(key, &text::hash(&issue.title, &issue.body), &comment);
                let why = "the text was edited and has no valid contract any more".to_owned();
                let hint = "mend the contract; until then the task stays as it was";
                self.bus.finding("edited-text", Some(key), why, hint);
                return Ok(());
            }
        };
        let (changes, constraints) = intake::changes(&new, &self.bus.dialect(&key.repository));
        let changes = Box::new(changes);
        let command =
            Command::UpdateTask { id: id.to_owned(), changes, constraints, if_match: None };
        let source = format!("text:{short}");
        match self.bus.act(&who, key, &source, command, Observed::default()) {
            Ok(_) => {
                row.accepted = Some(short);
                self.bus.rows.set_issue(&key.to_string(), &row);
                self.inbound(
                    key,
                    Some(id),
                    &who,
                    "edit",
                    Some(Verb::Update),
                    "applied",
                    None,
                    &source,
                );
            }
            Err(refusal) => {
                self.inbound(
                    key,
                    Some(id),
                    &who,
                    "edit",
                    Some(Verb::Update),
                    "refused",
                    Some(&refusal),
                    &source,
                );
            }
        }
        Ok(())
    }
}
