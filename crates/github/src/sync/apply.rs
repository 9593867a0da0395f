//! What people did on GitHub, carried out here as far as the rules allow it.

use super::Pass;
use crate::bus::{ISSUE, IssueKey, PROVIDER, Who};
use crate::client::{Trouble, now};
use crate::desired::{Standing, generation, is_ace, shown};
use crate::inbound::{Asked, BOARD_EVENTS, Look, commands, queues};
use crate::intake;
use crate::model::{self, Comment, Issue, IssueEvent};
use crate::rows::IssueRow;
use crate::text;
use comity_api::GithubInbound;
use comity_core::command::{Command, ConstraintChanges, NewTask};
use comity_core::event::{TaskLinked, TaskUpdated};
use comity_core::observed::Observed;
use comity_core::outside::{Level, OutsideNote};
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Verb;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Task};
use comity_core::time::Millis;
use comity_engine::{AnswerForm, Caller};
use comity_project::github::Account;
use comity_protocol::ace::{Comment as AceComment, Generation};
use comity_protocol::labels::{Carrier, Wish};

/// So many wishes of one issue are put back in an hour.
const PUT_BACK_MAX: usize = 6;
const HOUR: Millis = Millis::from_secs(3600);
const HELD: &str = "held on GitHub";
const CLOSED: &str = "closed on GitHub";

impl Pass<'_> {
    /// Takes an issue in, or notes what it looks like.
    pub(super) fn take_in(&mut self, key: &IssueKey, issue: &Issue) -> Result<(), Trouble> {
        if issue.is_pull() {
            return Ok(());
        }
        let row = self.bus.rows.issue(&key.to_string());
        if row.task.is_some() {
            self.note_seen(key, issue);
            return Ok(());
        }
        if issue.state == "closed" {
            return Ok(());
        }
        let dialect = self.bus.dialect(&key.repository);
        let labels = self.labels_of(key, issue);
        let Some(settled) = dialect.settle(&labels, None) else { return Ok(()) };
        let queue = dialect.mark(Status::Queued).word.unwrap_or_default();
        if !settled.word.eq_ignore_ascii_case(queue) {
            let why = format!("it shows {} and has no task", settled.word);
            self.bus.finding(
                "unknown-state",
                Some(key),
                why,
                "import the issue, or set the word for queued",
            );
            return Ok(());
        }
        self.queue(key, issue, queue)
    }

    /// Makes a task of an issue with the word for queued, if who set it may, and if the text may be worked on.
    fn queue(&mut self, key: &IssueKey, issue: &Issue, word: &str) -> Result<(), Trouble> {
        let author = &issue.user.login;
        let hash = text::hash(&issue.title, &issue.body);
        let mut source = format!("queued:{}", issue.id);
        let own = self.bus.is_own(author);
        let author_level =
            if own { Level::None } else { self.bus.level(&key.repository, author)? };
        let mut by = author.clone();
        let mut is_accepted = author_level >= Level::Triage;
        let mut reviewer = None;
        if !is_accepted {
            let events = self.events_of(key)?;
            let queued = events.iter().filter(|event| queues(event, word));
            if let Some(event) = queued.max_by_key(|event| event.id) {
                reviewer = Some(event.actor.login.clone());
                by.clone_from(&event.actor.login);
                source = format!("event:{}", event.id);
                is_accepted = issue.updated_at <= event.created_at;
            }
        }
        let agrees_with_own = self.bus.settings.account == Account::Person;
        let who = match self.bus.is_own(&by) && !agrees_with_own {
            true => None,
            false => self.bus.who(&key.repository, &by)?,
        };
        let Some(who) = who else {
            self.said(key, None, &by, "queued", "ignored", None, &source);
            return Ok(());
        };
        let row = self.bus.rows.issue(&key.to_string());
        is_accepted |= row.accepted.as_deref() == Some(text::short(&hash));
        let new = match self.text_of(key, issue)? {
            Ok(new) => new,
            Err(comment) => {
                self.complain(key, &hash, &comment);
                self.said(key, None, &by, "queued", "refused", Some(contract_invalid()), &source);
                return Ok(());
            }
        };
        // An agent that queues is nobody to ask.
        let reviewer = reviewer.filter(|login| self.bus.is_person(login));
        self.create(key, issue, &who, new, is_accepted, reviewer, &source);
        Ok(())
    }

    /// Reads an issue as a task; in the other case a comment says what is wrong with its text.
    pub(super) fn text_of(
        &mut self,
        key: &IssueKey,
        issue: &Issue,
    ) -> Result<Result<NewTask, String>, Trouble> {
        let mut read = intake::new_task(issue, &self.bus.dialect(&key.repository));
        if let Ok(new) = &mut read {
            self.bus.bounds(new, &key.repository, &issue.user.login)?;
        }
        Ok(read)
    }

    /// Says what is wrong with the text of an issue, once for each text.
    pub(super) fn complain(&mut self, key: &IssueKey, hash: &str, comment: &str) {
        let id = format!("{}/{}.{}/contract", self.bus.engine, key.number, &hash[..6]);
        self.say_once(key, &id, "contract", comment);
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of an issue that is taken in")]
    fn create(
        &mut self,
        key: &IssueKey,
        issue: &Issue,
        who: &Who,
        new: NewTask,
        is_accepted: bool,
        reviewer: Option<String>,
        source: &str,
    ) {
        let hash = text::hash(&issue.title, &issue.body);
        let value = key.link(&self.bus.home);
        let link = TaskLinked { provider: PROVIDER.to_owned(), key: ISSUE.to_owned(), value };
        let new = if is_accepted {
            new
        } else {
            let title = format!("Issue {key}, whose text nobody accepted yet");
            NewTask { title, ..NewTask::default() }
        };
        let new = NewTask { links: vec![link], ..new };
        let made =
            self.bus.act(who, key, source, Command::CreateTask(Box::new(new)), Observed::default());
        let id = match made.and_then(|reply| reply.take::<comity_api::TaskAnswer>()) {
            Ok(answer) => answer.task.id,
            Err(refusal) => {
                self.said(key, None, &who.login, "queued", "refused", Some(refusal), source);
                return;
            }
        };
        self.said(key, Some(&id), &who.login, "queued", "applied", None, source);
        self.note_seen(key, issue);
        let mut row = self.bus.rows.issue(&key.to_string());
        row.task = Some(id.clone());
        row.reviewer = reviewer;
        if is_accepted {
            row.accepted = Some(text::short(&hash).to_owned());
        }
        self.bus.rows.set_issue(&key.to_string(), &row);
        if !is_accepted {
            self.wait_for_text(key, &id, &hash);
        }
    }

    pub(super) fn events_of(&mut self, key: &IssueKey) -> Result<Vec<IssueEvent>, Trouble> {
        // What happens on a board is told in the timeline alone.
        let on_board = self.bus.dialect(&key.repository).carrier() == Carrier::Field;
        let list = if on_board { "timeline" } else { "events" };
        let answer = self.bus.client.list(&format!("{}/{list}?per_page=100", key.path()), None)?;
        let mut events: Vec<IssueEvent> = model::list(&answer.body);
        events.retain(|event| on_board || !BOARD_EVENTS.contains(&event.event.as_str()));
        Ok(events)
    }

    /// Looks at the label that holds an issue: while it is there, nothing is written and nobody claims the task.
    pub(super) fn hold(&mut self, key: &IssueKey) {
        let mut row = self.bus.rows.issue(&key.to_string());
        let hold = &self.bus.settings.hold;
        let held = row.seen.labels.iter().any(|label| label.eq_ignore_ascii_case(hold));
        let Some(id) = row.task.clone().filter(|_| held != row.held) else { return };
        row.held = held;
        let stamp = row.seen.updated_at.clone();
        self.bus.rows.set_issue(&key.to_string(), &row);
        self.set_blocker(key, &id, HELD, held, &stamp);
    }

    /// Sets or removes an outside reason not to start.
    pub(super) fn set_blocker(
        &mut self,
        key: &IssueKey,
        id: &str,
        what: &str,
        on: bool,
        stamp: &str,
    ) {
        let Some(task) = self.bus.task(id) else { return };
        let mut blockers = task.blockers.clone();
        blockers.retain(|blocker| !blocker.starts_with(what));
        if on {
            blockers.push(what.to_owned());
        }
        if blockers == task.blockers {
            return;
        }
        let changes = TaskUpdated { blockers: Some(blockers), ..TaskUpdated::default() };
        let command = Command::UpdateTask {
            id: id.to_owned(),
            changes: Box::new(changes),
            constraints: ConstraintChanges::default(),
            if_match: None,
        };
        let _ = self.bus.record(key, &format!("{what}:{on}:{stamp}"), command, Observed::default());
    }

    /// Looks at what differs between an issue and its task.
    pub(super) fn differences(&mut self, key: &IssueKey) -> Result<(), Trouble> {
        let row = self.bus.rows.issue(&key.to_string());
        let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else {
            return Ok(());
        };
        if !row.seen.closed && !row.left_closed {
            self.set_blocker(key, task.id.as_str(), CLOSED, false, &row.seen.updated_at);
        }
        let dialect = self.bus.dialect(&key.repository);
        let around = self.around(&dialect, &row);
        let status = shown(Standing::of(&task), &row, &around);
        let look = Look {
            dialect: &dialect,
            shown: status,
            known: task.status,
            code: task.deliverable == Deliverable::Code,
            row: &row,
        };
        // A task that moved here asks for nothing there: only what moved there is a wish.
        let differs = look.differs();
        if !differs || !row.moved {
            if row.moved {
                self.bus.rows.set_issue(&key.to_string(), &IssueRow { moved: false, ..row });
            }
            return Ok(());
        }
        let events = self.events_of(key)?;
        let person = self.bus.settings.account == Account::Person;
        let own = |event: &IssueEvent| {
            self.bus.is_own(&event.actor.login) && (!person || row.wrote.contains(&wrote(event)))
        };
        let asked = look.asked(&events, &own);
        let newest = events.iter().map(|event| event.id).max().unwrap_or(0);
        let mut row = row.clone();
        row.event = row.event.max(newest);
        row.moved = false;
        row.wrote.clear();
        self.bus.rows.set_issue(&key.to_string(), &row);
        match asked {
            Asked::Nothing | Asked::Stale => Ok(()),
            Asked::Wish { by, word, source, wish } => {
                self.wish(key, &task, &by, &word, source, &wish)
            }
            Asked::Refused { by, word, source, why } => {
                let Some(who) = self.asker(key, &by)? else {
                    self.nobody(key, &task, &by, &word, &event(source));
                    return Ok(());
                };
                let refusal = Refusal::new(Code::InvalidTransition, why);
                self.refused(key, &task, &who, &word, &refusal, &event(source));
                Ok(())
            }
        }
    }

    pub(super) fn asker(&mut self, key: &IssueKey, by: &str) -> Result<Option<Who>, Trouble> {
        self.bus.who(&key.repository, by)
    }

    fn wish(
        &mut self,
        key: &IssueKey,
        task: &Task,
        by: &str,
        word: &str,
        source: u64,
        wish: &Wish,
    ) -> Result<(), Trouble> {
        let source = event(source);
        let id = task.id.to_string();
        let Some(who) = self.asker(key, by)? else {
            self.nobody(key, task, by, word, &source);
            return Ok(());
        };
        let steps = commands(&id, wish, by);
        let verb = wish.verbs().last().copied();
        let command = Command::Several { ids: vec![id.clone()], steps };
        match self.bus.act(&who, key, &source, command, Observed::default()) {
            Ok(_) => {
                self.inbound(key, Some(&id), &who, word, verb, "applied", None, &source);
            }
            Err(refusal) => self.refused(key, task, &who, word, &refusal, &source),
        }
        Ok(())
    }

    /// Who has no rights asks for nothing. Only the author may close an issue all the same: that stays, and is answered.
    fn nobody(&mut self, key: &IssueKey, task: &Task, by: &str, word: &str, source: &str) {
        let row = self.bus.rows.issue(&key.to_string());
        let closes = row.seen.closed && row.seen.author.eq_ignore_ascii_case(by);
        if !closes || task.status.is_finished() {
            self.said(key, Some(task.id.as_str()), by, word, "ignored", None, source);
            return;
        }
        let why = "the author of an issue may close it, but not finish or give up its task; \
                   somebody with write rights can";
        let refusal = Refusal::new(Code::RoleForbidden, why);
        self.said(key, Some(task.id.as_str()), by, word, "refused", Some(refusal.clone()), source);
        self.put_back(key, task, by, word, &refusal, source);
    }

    /// Puts back what cannot be, and says so once; the second time, or too often, nothing more is written there.
    fn refused(
        &mut self,
        key: &IssueKey,
        task: &Task,
        who: &Who,
        word: &str,
        refusal: &Refusal,
        source: &str,
    ) {
        let id = task.id.to_string();
        self.inbound(key, Some(&id), who, word, None, "refused", Some(refusal), source);
        self.put_back(key, task, &who.login, word, refusal, source);
    }

    fn put_back(
        &mut self,
        key: &IssueKey,
        task: &Task,
        by: &str,
        word: &str,
        refusal: &Refusal,
        source: &str,
    ) {
        let id = task.id.to_string();
        let mut row = self.bus.rows.issue(&key.to_string());
        let closed = row.seen.closed && !task.status.is_finished();
        let again = row.put_back.iter().any(|(_, wish, whose)| wish == word && whose == by);
        let since = now().ms() - HOUR.ms();
        let recent = row.put_back.iter().filter(|(at, ..)| *at > since).count() + 1;
        row.put_back.push((now().ms(), word.to_owned(), by.to_owned()));
        self.bus.rows.set_issue(&key.to_string(), &row);
        if !again {
            let note = OutsideNote::Refused {
                issue: key.to_string(),
                wish: word.to_owned(),
                by: by.to_owned(),
                code: refusal.code.as_str().to_owned(),
                why: refusal.message.clone(),
            };
            let command = Command::Outside { task: Some(id.clone()), note };
            let _ =
                self.bus.record(key, &format!("refused:{source}"), command, Observed::default());
        }
        if closed {
            self.leave_closed(key, &id, by, &refusal.message);
        } else if again || recent >= PUT_BACK_MAX {
            let cause = format!("{by} asked for {word} again; comity put it back before");
            let note = OutsideNote::Paused { issue: key.to_string(), cause };
            let command = Command::Outside { task: Some(id), note };
            let _ = self.bus.record(key, &format!("paused:{source}"), command, Observed::default());
        }
    }

    /// A close is not undone: the task waits, and a comment says what is missing.
    fn leave_closed(&mut self, key: &IssueKey, id: &str, by: &str, why: &str) {
        let mut row = self.bus.rows.issue(&key.to_string());
        row.left_closed = true;
        let stamp = row.seen.updated_at.clone();
        self.bus.rows.set_issue(&key.to_string(), &row);
        let what = format!("{CLOSED} by {by}: {why}");
        self.set_blocker(key, id, &what, true, &stamp);
    }

    /// Looks at a comment: an answer, or the acceptance of a text.
    pub(super) fn comment(&mut self, key: &IssueKey, comment: &Comment) -> Result<(), Trouble> {
        let mut row = self.bus.rows.issue(&key.to_string());
        let Some(id) = row.task.clone() else { return Ok(()) };
        let is_mine = self.bus.is_own(&comment.user.login);
        if is_mine && !text::marks(&comment.body).is_empty() {
            return Ok(());
        }
        if let Some(known) = row.comments.get(&comment.id) {
            if *known != comment.updated_at {
                let why = format!("comment {} was edited after it was read", comment.id);
                self.bus.finding("edited", Some(key), why, "answer in a new comment");
            }
            return Ok(());
        }
        let dialect = self.bus.dialect(&key.repository);
        let generation = if is_ace(&dialect) { generation(&dialect) } else { Generation::Labels };
        let Some(answer) = AceComment::answer_in(&comment.body, generation) else { return Ok(()) };
        let source = format!("comment:{}", comment.id);
        if is_mine && self.bus.settings.account == Account::Bot {
            let why = format!("comment {} answers with the account of comity itself", comment.id);
            self.bus.finding("own-account", Some(key), why, "answer with an account of your own");
            return Ok(());
        }
        row.comments.insert(comment.id, comment.updated_at.clone());
        let Some(who) = self.asker(key, &comment.user.login)? else {
            self.said(key, Some(&id), &comment.user.login, "ANSWER", "ignored", None, &source);
            return Ok(());
        };
        self.bus.rows.set_issue(&key.to_string(), &row);
        let whole =
            answer.parts.iter().map(|part| part.text.as_str()).chain([answer.beside.as_str()]);
        if let Some(hash) = whole.filter_map(text::accepts).next() {
            self.accept(key, &id, &who, &hash, &source);
            return Ok(());
        }
        let caller = Caller::new(who.actor.clone(), self.bus.context.repo.clone());
        let form = AnswerForm::Comment(generation);
        let given = self.bus.service.read_answer(&caller, &id, &comment.body, form);
        let done = given.and_then(|given| {
            self.bus.act(&who, key, &source, Command::AnswerTask(given), Observed::default())
        });
        let verb = Some(Verb::AnswerForPlanner);
        match done {
            Ok(_) => self.inbound(key, Some(&id), &who, "ANSWER", verb, "applied", None, &source),
            Err(refusal) => {
                self.inbound(
                    key,
                    Some(&id),
                    &who,
                    "ANSWER",
                    verb,
                    "refused",
                    Some(&refusal),
                    &source,
                );
                self.bus.finding(
                    "answer",
                    Some(key),
                    refusal.message.clone(),
                    "answer again in a new comment",
                );
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one for each column of the report")]
    pub(super) fn inbound(
        &mut self,
        key: &IssueKey,
        task: Option<&str>,
        who: &Who,
        wish: &str,
        verb: Option<Verb>,
        verdict: &str,
        refusal: Option<&Refusal>,
        source: &str,
    ) {
        self.said(key, task, &who.login, wish, verdict, refusal.cloned(), source);
        if let Some(last) = self.bus.report.inbound.last_mut() {
            last.actor = Some(who.actor.to_string());
            last.verb = verb.map(|verb| verb.as_str().to_owned());
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one for each column of the report")]
    #[expect(clippy::needless_pass_by_value, reason = "most refusals are made for this")]
    pub(super) fn said(
        &mut self,
        key: &IssueKey,
        task: Option<&str>,
        by: &str,
        wish: &str,
        verdict: &str,
        refusal: Option<Refusal>,
        source: &str,
    ) {
        self.bus.report.inbound.push(GithubInbound {
            issue: key.to_string(),
            task: task.map(str::to_owned),
            by: by.to_owned(),
            actor: None,
            wish: wish.to_owned(),
            verb: None,
            verdict: verdict.to_owned(),
            code: refusal.as_ref().map(|refusal| refusal.code.as_str().to_owned()),
            why: refusal.as_ref().map(|refusal| refusal.message.clone()),
            source: source.to_owned(),
        });
    }
}

fn event(id: u64) -> String {
    format!("event:{id}")
}

/// Names a step of the account as it is remembered when comity does it.
pub(super) fn wrote(event: &IssueEvent) -> String {
    format!("{}:{}", event.event, event.label.name.to_lowercase())
}

fn contract_invalid() -> Refusal {
    Refusal::new(Code::ContractInvalid, "the issue has no valid contract")
}
