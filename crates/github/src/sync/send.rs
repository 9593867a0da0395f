//! What goes to GitHub: single steps until issues show their tasks, and comments, each once.

use super::Pass;
use super::deliver::Delivered;
use crate::board;
use crate::bus::IssueKey;
use crate::client::{Answer, Client, Method, Trouble, now, part};
use crate::desired::{Around, Standing, Steps, applied, steps};
use crate::model::{self, Issue as IssueModel, Label};
use crate::publish::issue_text;
use crate::rows::{IssueRow, OpRow};
use crate::text;
use comity_api::GithubOutbound;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_project::github::Account;
use comity_protocol::labels::{Carrier, Dialect, Issue};
use serde_json::json;

/// Of more unsent comments of an issue one digest is made.
const COMMENTS_MAX: usize = 5;
/// Events that one digest tells.
const DIGEST_MAX: usize = 500;
/// Comments that people act on stay by themselves.
const ALONE: [&str; 6] = ["blocked", "error", "done", "result", "failed", "accept"];

/// Whether a pass goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    /// The account has to wait, or has written enough.
    Over,
}

impl Pass<'_> {
    pub(super) fn around<'a>(&'a self, dialect: &'a Dialect, row: &'a IssueRow) -> Around<'a> {
        let policy = &self.bus.service.settings().policy;
        let settings = &self.bus.settings;
        // An App cannot be assigned.
        let own = (!self.bus.is_app()).then_some(self.bus.account.as_str());
        let found = row.reviewer.as_deref();
        Around {
            dialect,
            now: now(),
            ttl: policy.default_ttl,
            max_attempts: policy.max_attempts,
            assignee: settings.assignee.as_deref().or(own),
            reviewer: settings.reviewer.as_deref().or(found.filter(|login| !login.is_empty())),
        }
    }

    /// Brings every linked issue to what it should show, and says what there is to say.
    pub(super) fn send_all(&mut self) -> Result<(), Refusal> {
        let mut keys: Vec<IssueKey> = self
            .bus
            .rows
            .issues()
            .iter()
            .filter_map(|key| IssueKey::parse(key, &self.bus.home))
            .collect();
        for (_, op) in self.bus.rows.ops() {
            let key = IssueKey::parse(&op.issue, &self.bus.home);
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
        keys.sort();
        keys.dedup();
        let mut flow = Flow::On;
        for key in keys {
            if flow == Flow::On {
                flow = self.send_issue(&key)?;
            }
        }
        self.count_left();
        Ok(())
    }

    fn is_wanted(&self, row: &IssueRow) -> bool {
        self.only.is_empty() || row.task.as_ref().is_some_and(|task| self.only.contains(task))
    }

    fn send_issue(&mut self, key: &IssueKey) -> Result<Flow, Refusal> {
        let row = self.bus.rows.issue(&key.to_string());
        if let Some(engine) = &row.other_engine {
            let why = format!("engine {engine} writes to it, too");
            let hint = "let both share a store, or use claims by refs; then resume the issue";
            self.bus.finding("other-engine", Some(key), why, hint);
        }
        if row.gone
            || !self.is_wanted(&row)
            || row.is_held_back()
            || !self.keeps_claim(key, &row)?
        {
            return Ok(Flow::On);
        }
        if row.task.is_some() && self.step(key)? == Flow::Over {
            return Ok(Flow::Over);
        }
        self.say(key)
    }

    fn has_enough(&self) -> bool {
        let writes = self.bus.client.counts.writes + self.planned;
        self.max_writes.is_some_and(|most| writes >= most)
    }

    /// Somebody may have paused the issue since the pass began: what the log says is heard before each write.
    pub(super) fn may_write(&mut self, key: &IssueKey) -> Result<bool, Refusal> {
        let head = self.stored.log_head()?.seq;
        if head > self.heard {
            self.feed()?;
            self.heard = head;
        }
        Ok(!self.bus.rows.issue(&key.to_string()).is_held_back())
    }

    fn plan(&mut self, key: &IssueKey, task: &str, kind: &str, what: &str, op: &str) {
        self.planned += 1;
        self.out(key, task, kind, what, "planned", op);
    }

    /// Does the single steps of an issue, adding before removing.
    fn step(&mut self, key: &IssueKey) -> Result<Flow, Refusal> {
        let row = self.bus.rows.issue(&key.to_string());
        let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else {
            return Ok(Flow::On);
        };
        // What was never seen there is not known to differ.
        if row.seen.updated_at.is_empty() {
            return Ok(Flow::On);
        }
        let dialect = self.bus.dialect(&key.repository);
        let row = self.with_reviewer(key, &task, row)?;
        let on_board = board::is_on_board(self.bus, &dialect);
        let wanted = self.wanted(&task, &row, &dialect);
        if self.rewrite(key, &task, &dialect)? == Flow::Over {
            return Ok(Flow::Over);
        }
        for (what, one) in wanted {
            if self.has_enough() {
                return Ok(Flow::Over);
            }
            if self.bus.dry_run {
                self.plan(key, task.id.as_str(), "state", &what, &what);
                continue;
            }
            if !self.may_write(key)? {
                return Ok(Flow::On);
            }
            match self.do_step(key, &what, &one, on_board) {
                Ok(()) => self.out(key, &task.id.to_string(), "state", &what, "sent", &what),
                Err(Trouble::Wait(_)) => return Ok(Flow::Over),
                Err(trouble @ (Trouble::Unauthorized(_) | Trouble::Here(_))) => {
                    return Err(self.bus.gives_up(&trouble));
                }
                Err(Trouble::Unknown(why)) => {
                    self.out(key, &task.id.to_string(), "state", &what, "pending", &what);
                    self.unknown(key, &why);
                    return Ok(Flow::On);
                }
                Err(trouble) if trouble.is_away() => {
                    self.look_for(key);
                    return Ok(Flow::On);
                }
                Err(trouble) => {
                    self.out(key, &task.id.to_string(), "state", &what, "dead", &what);
                    let mut row = self.bus.rows.issue(&key.to_string());
                    row.without_effect.insert(what);
                    self.bus.rows.set_issue(&key.to_string(), &row);
                    self.bus.finding(
                        "refused-by-github",
                        Some(key),
                        trouble.refusal().message,
                        "give the token the permission, then resume the issue",
                    );
                }
            }
        }
        Ok(Flow::On)
    }

    /// Whoever must answer is looked for when somebody must.
    fn with_reviewer(
        &mut self,
        key: &IssueKey,
        task: &Task,
        row: IssueRow,
    ) -> Result<IssueRow, Refusal> {
        let named = self.bus.settings.reviewer.is_some() || row.reviewer.is_some();
        if task.status != Status::Blocked || named {
            return Ok(row);
        }
        match self.find_reviewer(key) {
            Ok(()) => Ok(self.bus.rows.issue(&key.to_string())),
            Err(trouble @ Trouble::Here(_)) => Err(self.bus.gives_up(&trouble)),
            // The next pass asks again.
            Err(_) => Ok(row),
        }
    }

    /// Brings the text of an issue that comity made up to date, unless somebody edited it since.
    fn rewrite(&mut self, key: &IssueKey, task: &Task, dialect: &Dialect) -> Result<Flow, Refusal> {
        let mut row = self.bus.rows.issue(&key.to_string());
        let (Some(own), Some(mark)) = (row.own_text.clone(), row.own_mark.clone()) else {
            return Ok(Flow::On);
        };
        let (title, body) = issue_text(task, dialect, &mark);
        let wanted = text::hash(&title, &body);
        if wanted == own || row.seen.text != own || task.status.is_finished() {
            return Ok(Flow::On);
        }
        let id = task.id.to_string();
        if self.has_enough() {
            return Ok(Flow::Over);
        }
        if self.bus.dry_run {
            self.plan(key, &id, "text", &title, "text");
            return Ok(Flow::On);
        }
        if !self.may_write(key)? {
            return Ok(Flow::On);
        }
        let given = json!({"title": title, "body": body});
        match self.bus.client.send(Method::Patch, &key.path(), Some(&given), false) {
            Ok(_) => {
                row.own_text = Some(wanted.clone());
                row.seen.text = wanted;
                self.bus.rows.set_issue(&key.to_string(), &row);
                self.out(key, &id, "text", &title, "sent", "text");
                Ok(Flow::On)
            }
            Err(Trouble::Wait(_)) => Ok(Flow::Over),
            Err(trouble @ Trouble::Here(_)) => Err(self.bus.gives_up(&trouble)),
            // It is set again at the next pass; setting it twice does no harm.
            Err(_) => Ok(Flow::On),
        }
    }

    pub(super) fn unknown(&mut self, key: &IssueKey, why: &str) {
        let why = format!("GitHub did not answer: {why}");
        self.bus.finding("no-answer", Some(key), why, "the next sync looks again");
        self.left += 1;
    }

    /// Does one step, and notes it as done when the answer shows it.
    fn do_step(
        &mut self,
        key: &IssueKey,
        what: &str,
        one: &Steps,
        on_board: bool,
    ) -> Result<(), Trouble> {
        if let Some(word) = one.add.first().filter(|_| on_board) {
            board::show(self.bus, key, word)?;
            let mut row = self.bus.rows.issue(&key.to_string());
            applied(&mut row, one);
            self.bus.rows.set_issue(&key.to_string(), &row);
            return Ok(());
        }
        let shows = call(&mut self.bus.client, &key.path(), one)?;
        let mut row = self.bus.rows.issue(&key.to_string());
        if !shows {
            row.without_effect.insert(what.to_owned());
            let why = format!("GitHub took the step {what:?} and did not do it");
            self.bus.finding(
                "no-effect",
                Some(key),
                why,
                "give the token the right to do this, then resume the issue",
            );
        } else {
            applied(&mut row, one);
            if self.bus.settings.account == Account::Person {
                row.wrote.extend(written(one));
            }
        }
        self.bus.rows.set_issue(&key.to_string(), &row);
        Ok(())
    }

    /// Says what is in the outbox of an issue, in order.
    fn say(&mut self, key: &IssueKey) -> Result<Flow, Refusal> {
        let ops = self.bus.rows.ops().into_iter();
        let mut ops: Vec<(String, OpRow)> =
            ops.filter(|(_, op)| op.issue == key.to_string() && op.dead.is_none()).collect();
        if ops.len() > COMMENTS_MAX {
            ops = self.digest(ops);
        }
        for (row_key, op) in ops {
            if self.has_enough() {
                return Ok(Flow::Over);
            }
            if self.bus.dry_run {
                let task = op.task.clone().unwrap_or_default();
                self.plan(key, &task, &op.kind, &first_line(&op.text), &op.op);
                continue;
            }
            match self.deliver(key, &row_key, op)? {
                Delivered::Done => {}
                Delivered::Later => return Ok(Flow::On),
                Delivered::Wait => return Ok(Flow::Over),
            }
        }
        Ok(Flow::On)
    }

    /// Makes one comment of many. The marks of all of them stand in it; what people act on stays by itself.
    fn digest(&mut self, ops: Vec<(String, OpRow)>) -> Vec<(String, OpRow)> {
        let newest = ops.iter().rposition(|(_, op)| ALONE.contains(&op.kind.as_str()));
        let (mut joined, mut rest) = (Vec::new(), Vec::new());
        for (place, one) in ops.into_iter().enumerate() {
            let is_alone = Some(place) == newest || one.1.unsure;
            if is_alone { rest.push(one) } else { joined.push(one) }
        }
        // The marks have to fit, too; what is left is for the next pass.
        joined.truncate(DIGEST_MAX);
        let Some(((first_key, first), others)) = joined.split_first() else { return rest };
        let count = joined.len();
        let lines = joined.iter().map(|(_, op)| format!("- {}", first_line(&op.text)));
        let text =
            format!("What happened in {count} steps:\n\n{}", lines.collect::<Vec<_>>().join("\n"));
        let names: Vec<&str> = joined.iter().map(|(_, op)| op.op.as_str()).collect();
        let digest = OpRow {
            op: names.join(","),
            text: text::outgoing(&text),
            kind: "digest".to_owned(),
            edits: None,
            ..first.clone()
        };
        for (key, _) in others {
            self.bus.rows.remove(key);
        }
        self.bus.rows.put(first_key, &digest);
        rest.insert(0, (first_key.clone(), digest));
        rest
    }

    /// Puts a comment into the outbox that no event of the log says.
    pub(super) fn say_once(&mut self, key: &IssueKey, op: &str, kind: &str, comment: &str) {
        let done = format!("said/{op}");
        if self.bus.rows.has(&done) {
            return;
        }
        self.bus.rows.put(&done, &now().ms());
        let row_key = format!("op/{:012}/{}", 0, op.replace('/', "-"));
        let op = OpRow {
            op: op.to_owned(),
            kind: kind.to_owned(),
            issue: key.to_string(),
            task: self.bus.rows.issue(&key.to_string()).task,
            text: text::outgoing(comment),
            // The rows may have been forgotten since it was said.
            unsure: true,
            ..OpRow::default()
        };
        self.bus.rows.put(&row_key, &op);
    }

    pub(super) fn out(
        &mut self,
        key: &IssueKey,
        task: &str,
        kind: &str,
        what: &str,
        state: &str,
        op: &str,
    ) {
        self.bus.report.out.push(GithubOutbound {
            op: op.to_owned(),
            issue: key.to_string(),
            task: Some(task.to_owned()).filter(|task| !task.is_empty()),
            kind: kind.to_owned(),
            what: what.to_owned(),
            state: state.to_owned(),
        });
    }

    /// Counts what is left to send, what cannot be sent, and what is held back.
    fn count_left(&mut self) {
        let (mut pending, mut dead, mut held) = (self.left, 0, 0);
        for (_, op) in self.bus.rows.ops() {
            let row = self.bus.rows.issue(&op.issue);
            match (&op.dead, row.is_held_back()) {
                (Some(_), _) => dead += 1,
                (None, true) => held += 1,
                (None, false) => pending += 1,
            }
        }
        if !self.bus.dry_run {
            pending += self.unshown();
        }
        let paused = self.bus.rows.issues().into_iter();
        let paused = paused.filter(|key| self.bus.rows.issue(key).is_held_back());
        let paused = paused.collect();
        let report = &mut self.bus.report;
        (report.pending, report.dead, report.held, report.paused) = (pending, dead, held, paused);
    }

    /// Counts the issues that do not show their task yet.
    fn unshown(&self) -> u64 {
        let mut count = 0;
        for key in self.bus.rows.issues() {
            let row = self.bus.rows.issue(&key);
            let Some(key) = IssueKey::parse(&key, &self.bus.home) else { continue };
            let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else { continue };
            if row.gone || row.is_held_back() || row.seen.updated_at.is_empty() {
                continue;
            }
            let dialect = self.bus.dialect(&key.repository);
            count += u64::from(!self.wanted(&task, &row, &dialect).is_empty());
        }
        count
    }

    /// Lists the single steps until an issue shows its task, without those that GitHub does not do.
    fn wanted(&self, task: &Task, row: &IssueRow, dialect: &Dialect) -> Vec<(String, Steps)> {
        let mut all = steps(Standing::of(task), row, &self.around(dialect, row));
        let on_board = board::is_on_board(self.bus, dialect);
        if dialect.carrier() == Carrier::Field && !on_board {
            all.add.clear();
            all.remove.clear();
        }
        let mut wanted = single(&all, on_board);
        wanted.retain(|(what, _)| !row.without_effect.contains(what));
        wanted
    }
}

/// Does one step; tells whether the answer shows it. A label that is not there is removed.
fn call(client: &mut Client, path: &str, one: &Steps) -> Result<bool, Trouble> {
    let is_assigned = |answer: &Answer, login: &str| {
        let there: IssueModel = model::one(&answer.body);
        there.assignees.iter().any(|user| user.login.eq_ignore_ascii_case(login))
    };
    let has_label = |answer: &Answer, label: &str| {
        let there: Vec<Label> = model::list(&answer.body);
        there.iter().any(|known| known.name.eq_ignore_ascii_case(label))
    };
    if let Some(label) = one.add.first() {
        let body = json!({"labels": [label]});
        let answer = client.send(Method::Post, &format!("{path}/labels"), Some(&body), false)?;
        return Ok(has_label(&answer, label));
    }
    if let Some(label) = one.remove.first() {
        let path = format!("{path}/labels/{}", part(label));
        return match client.send(Method::Delete, &path, None, false) {
            Ok(answer) => Ok(!has_label(&answer, label)),
            Err(Trouble::Status { status: 404 | 410, .. }) => Ok(true),
            Err(trouble) => Err(trouble),
        };
    }
    let path_of_users = format!("{path}/assignees");
    if let Some(login) = one.assign.first() {
        let body = json!({"assignees": [login]});
        let answer = client.send(Method::Post, &path_of_users, Some(&body), false)?;
        return Ok(is_assigned(&answer, login));
    }
    if let Some(login) = one.unassign.first() {
        let body = json!({"assignees": [login]});
        let answer = client.send(Method::Delete, &path_of_users, Some(&body), false)?;
        return Ok(!is_assigned(&answer, login));
    }
    let Some(state) = one.state else { return Ok(true) };
    let body = match state {
        Issue::Open => json!({"state": "open"}),
        Issue::Completed => json!({"state": "closed", "state_reason": "completed"}),
        Issue::NotPlanned => json!({"state": "closed", "state_reason": "not_planned"}),
    };
    let answer = client.send(Method::Patch, path, Some(&body), false)?;
    let there: IssueModel = model::one(&answer.body);
    Ok((there.state == "open") == (state == Issue::Open))
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("```"));
    line.unwrap_or_default().chars().take(120).collect()
}

/// Divides steps into calls of one thing each, what is added before what is removed. On a board a new word takes the
/// place of the old one.
fn single(all: &Steps, on_board: bool) -> Vec<(String, Steps)> {
    let mut out = Vec::new();
    if let Some(word) = all.add.first().filter(|_| on_board) {
        let (add, remove) = (all.add.clone(), all.remove.clone());
        out.push((format!("{word} on the board"), Steps { add, remove, ..Steps::default() }));
    }
    let labels = if on_board { &Steps::default() } else { all };
    for label in &labels.add {
        out.push((format!("+{label}"), Steps { add: vec![label.clone()], ..Steps::default() }));
    }
    for label in &labels.remove {
        out.push((format!("-{label}"), Steps { remove: vec![label.clone()], ..Steps::default() }));
    }
    for login in &all.assign {
        out.push((format!("+@{login}"), Steps { assign: vec![login.clone()], ..Steps::default() }));
    }
    for login in &all.unassign {
        out.push((
            format!("-@{login}"),
            Steps { unassign: vec![login.clone()], ..Steps::default() },
        ));
    }
    if let Some(state) = all.state {
        let what = match state {
            Issue::Open => "reopen",
            Issue::Completed => "close as completed",
            Issue::NotPlanned => "close as not planned",
        };
        out.push((what.to_owned(), Steps { state: Some(state), ..Steps::default() }));
    }
    out
}

/// The events of GitHub that a step causes. Where a person's account is ours, they are told from the person's own by this.
fn written(step: &Steps) -> Vec<String> {
    let added = step.add.iter().map(|label| format!("labeled:{}", label.to_lowercase()));
    let removed = step.remove.iter().map(|label| format!("unlabeled:{}", label.to_lowercase()));
    let moved = step.state.map(|state| match state {
        Issue::Open => "reopened:".to_owned(),
        Issue::Completed | Issue::NotPlanned => "closed:".to_owned(),
    });
    added.chain(removed).chain(moved).collect()
}
