//! A comment on its way: sent once, and looked for where nobody knows whether it arrived.

use super::Pass;
use super::send::first_line;
use crate::bus::{IssueKey, LOOK_PACES};
use crate::client::{Method, Trouble, now};
use crate::model::{self, Comment};
use crate::quota::WAIT_MAX;
use crate::rows::OpRow;
use crate::text;
use comity_core::refusal::Refusal;
use comity_core::time::Millis;
use serde_json::{Value, json};

const TRIES_MAX: u32 = 5;

/// What became of a comment.
pub(super) enum Delivered {
    Done,
    Later,
    Wait,
}

impl Pass<'_> {
    /// Sends a comment; one that may have been sent already is looked for first.
    pub(super) fn deliver(
        &mut self,
        key: &IssueKey,
        row_key: &str,
        mut op: OpRow,
    ) -> Result<Delivered, Refusal> {
        let task = op.task.clone().unwrap_or_default();
        let what = first_line(&op.text);
        loop {
            let wait = Millis::from_ms((op.not_before - now().ms()).max(0));
            if wait > WAIT_MAX {
                return Ok(Delivered::Later);
            }
            std::thread::sleep(std::time::Duration::from_millis(wait.ms().unsigned_abs()));
            if op.unsure {
                match self.find_twice(key, &op) {
                    Ok(Some(id)) => {
                        self.delivered(key, row_key, &op, id)?;
                        self.out(key, &task, &op.kind, &what, "found", &op.op);
                        return Ok(Delivered::Done);
                    }
                    Ok(None) => {}
                    Err(trouble) => return self.in_vain(key, row_key, op, &trouble),
                }
            }
            if !self.may_write(key)? {
                return Ok(Delivered::Later);
            }
            // From here on nobody knows whether it is there, until GitHub says so.
            op.unsure = true;
            op.sent_at = now().ms();
            self.bus.rows.put(row_key, &op);
            self.bus.save()?;
            match self.post(key, &op) {
                Ok(id) => {
                    self.delivered(key, row_key, &op, id)?;
                    self.out(key, &task, &op.kind, &what, "sent", &op.op);
                    return Ok(Delivered::Done);
                }
                Err(Trouble::Unknown(_)) if op.tries + 1 < TRIES_MAX => {
                    let pace = self.bus.settings.pace.ms();
                    op.tries += 1;
                    op.not_before = now().ms() + ((LOOK_PACES * pace) << op.tries.min(6));
                    self.bus.rows.put(row_key, &op);
                    self.bus.save()?;
                }
                Err(trouble) => return self.in_vain(key, row_key, op, &trouble),
            }
        }
    }

    fn in_vain(
        &mut self,
        key: &IssueKey,
        row_key: &str,
        mut op: OpRow,
        trouble: &Trouble,
    ) -> Result<Delivered, Refusal> {
        let task = op.task.clone().unwrap_or_default();
        let what = first_line(&op.text);
        match trouble {
            Trouble::Wait(_) => {
                // Nothing was done.
                op.unsure &= op.tries > 0;
                self.bus.rows.put(row_key, &op);
                self.out(key, &task, &op.kind, &what, "pending", &op.op);
                return Ok(Delivered::Wait);
            }
            Trouble::Unauthorized(_) | Trouble::Here(_) => return Err(self.bus.gives_up(trouble)),
            trouble if trouble.is_away() => {
                // The text stays with an issue that moved; one that is gone hears nothing more.
                op.unsure &= op.tries > 0;
                self.bus.rows.put(row_key, &op);
                self.look_for(key);
                if self.bus.rows.issue(&key.to_string()).gone {
                    self.bus.rows.remove(row_key);
                }
                return Ok(Delivered::Later);
            }
            Trouble::Unknown(why) if op.tries < TRIES_MAX => {
                op.tries += 1;
                op.not_before =
                    now().ms() + ((LOOK_PACES * self.bus.settings.pace.ms()) << op.tries.min(6));
                self.out(key, &task, &op.kind, &what, "pending", &op.op);
                self.unknown(key, why);
            }
            Trouble::Unknown(_) | Trouble::Unsupported(_) | Trouble::Status { .. } => {
                op.dead = Some(trouble.refusal().message);
                self.out(key, &task, &op.kind, &what, "dead", &op.op);
                self.bus.finding(
                    "dead",
                    Some(key),
                    trouble.refusal().message,
                    "mend the cause, then resume the issue",
                );
            }
        }
        self.bus.rows.put(row_key, &op);
        Ok(Delivered::Later)
    }

    /// Looks for what may have been sent. GitHub's lists lag: one look after a lost answer may be too early.
    fn find_twice(&mut self, key: &IssueKey, op: &OpRow) -> Result<Option<u64>, Trouble> {
        let found = self.find_mark(key, op)?;
        if found.is_some() || op.sent_at == 0 {
            return Ok(found);
        }
        self.bus.wait_to_look();
        self.find_mark(key, op)
    }

    /// Finds the comment that has the marks of an op.
    fn find_mark(&mut self, key: &IssueKey, op: &OpRow) -> Result<Option<u64>, Trouble> {
        let mut wanted = op.op.split(',');
        let first = wanted.next().unwrap_or_default().to_owned();
        let comments = self.comments_of(key)?;
        let has = |comment: &&Comment| {
            self.bus.is_own(&comment.user.login) && text::marks(&comment.body).contains(&first)
        };
        Ok(comments.iter().find(has).map(|comment| comment.id))
    }

    fn post(&mut self, key: &IssueKey, op: &OpRow) -> Result<u64, Trouble> {
        let row = self.bus.rows.issue(&key.to_string());
        let ops: Vec<String> = op.op.split(',').map(str::to_owned).collect();
        if let (Some(claim), Some(id)) = (op.edits, row.progress)
            && claim == row.claim
        {
            let path = format!("/repos/{}/issues/comments/{id}", key.repository);
            let known: Comment = model::one(&self.bus.client.get(&path, None)?.body);
            let mut marks = text::marks(&known.body);
            if marks.contains(&op.op) {
                return Ok(id);
            }
            marks.extend(ops);
            let said =
                known.body.rsplit_once("\n\n<!--").map_or(known.body.as_str(), |(said, _)| said);
            let body = json!({"body": text::marked(&format!("{said}\n{}", op.text), &marks)});
            self.bus.client.send(Method::Patch, &path, Some(&body), false)?;
            return Ok(id);
        }
        let heading = if op.edits.is_some() { "**Agent Progress**\n\n" } else { "" };
        let body = json!({"body": text::marked(&format!("{heading}{}", op.text), &ops)});
        let path = format!("{}/comments", key.path());
        let answer = self.bus.client.send(Method::Post, &path, Some(&body), true)?;
        Ok(answer.body.get("id").and_then(Value::as_u64).unwrap_or(0))
    }

    fn delivered(
        &mut self,
        key: &IssueKey,
        row_key: &str,
        op: &OpRow,
        id: u64,
    ) -> Result<(), Refusal> {
        self.bus.rows.remove(row_key);
        let mut row = self.bus.rows.issue(&key.to_string());
        if op.edits == Some(row.claim) {
            row.progress = Some(id);
        }
        self.bus.rows.set_issue(&key.to_string(), &row);
        self.bus.save()
    }
}
