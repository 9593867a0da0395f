//! The log as the outbox: each event becomes what is to be said, once.

use super::Pass;
use crate::bus::{ISSUE, IssueKey, PROVIDER};
use crate::effects::{Beside, said};
use crate::rows::OpRow;
use crate::text;
use comity_core::chain::Stored;
use comity_core::event::{Event, Verdict};
use comity_core::ids::{Seq, TaskId};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::via::Via;
use comity_protocol::neomjs::ResultContract;
use std::collections::BTreeMap;

/// The gate whose evidence a result tells.
const TESTS: &str = "tests";

type Change = Box<dyn FnOnce(&mut crate::rows::IssueRow)>;

/// What the events of a page say about each other.
#[derive(Default)]
struct Page {
    questions: BTreeMap<comity_core::ids::DecisionId, String>,
    errors: BTreeMap<String, comity_core::event::ErrorReport>,
    /// Where work was handed in without a pull request, and one was opened for it: the pull request, and that event.
    opened: BTreeMap<Seq, (String, Seq, String)>,
}

impl Pass<'_> {
    /// Looks at the log from where the last look ended. Of what was before the first look, links, pauses and what was
    /// caused on GitHub are noted, and nothing is said.
    pub(super) fn feed(&mut self) -> Result<(), Refusal> {
        let mut progress = self.bus.progress();
        if progress.fed_hash.is_empty() {
            let head = self.stored.log_head()?;
            (progress.fed, progress.fed_hash) = (head.seq, head.hash);
        }
        let mut at = Seq(progress.fed.min(progress.absorbed));
        loop {
            let page = self.log_after(at)?;
            let Some(last) = page.last() else { break };
            at = last.seq;
            let hash = last.hash.to_string();
            let read: Vec<(Stored, Event)> = page.into_iter().filter_map(decoded).collect();
            let beside = beside(&read);
            for (stored, event) in &read {
                let is_new = stored.seq.0 > progress.absorbed;
                if is_new {
                    self.absorb(stored, event);
                }
                if stored.seq.0 > progress.fed {
                    self.outbox(stored, event, &beside)?;
                }
                if is_new {
                    self.after(stored, event);
                }
            }
            progress.absorbed = progress.absorbed.max(at.0);
            if at.0 > progress.fed {
                (progress.fed, progress.fed_hash) = (at.0, hash);
            }
        }
        self.bus.set_progress(&progress);
        // What is to be said and how far the log was read are one thing.
        self.bus.save()
    }

    /// A dry run has done its part in a copy without the log: what was before is read from the store itself.
    fn log_after(&mut self, at: Seq) -> Result<Vec<Stored>, Refusal> {
        let repo = self.bus.context.repo.clone();
        let page = self.stored.log_after(&repo, at)?;
        if page.is_empty() && self.bus.dry_run {
            return self.bus.service.log_after(&repo, at);
        }
        Ok(page)
    }

    /// Notes what an event says about an issue.
    fn absorb(&mut self, stored: &Stored, event: &Event) {
        let via = stored.body.as_deref().map(Via::of_body).unwrap_or_default();
        if let Some(source) = via.source.as_deref().and_then(|source| source.strip_prefix("gh:")) {
            self.note_source(source);
        }
        let home = self.bus.home.clone();
        let of = |text: &str| IssueKey::parse(text, &home);
        #[expect(clippy::wildcard_enum_match_arm, reason = "most events are about no issue")]
        let (key, change): (_, Change) = match event {
            Event::TaskLinked(link) if link.provider == PROVIDER && link.key == ISSUE => {
                let (seq, task) = (stored.seq.0, stored.task.clone());
                let set = move |row: &mut crate::rows::IssueRow| {
                    if row.task != task || row.linked == 0 {
                        row.linked = seq;
                    }
                    row.task = task;
                };
                (of(&link.value), Box::new(set))
            }
            Event::IssuePaused(paused) => {
                let cause = paused.cause.clone();
                (of(&paused.issue), Box::new(move |row| row.paused = Some(cause)))
            }
            Event::IssueResumed(resumed) => (
                of(&resumed.issue),
                Box::new(|row| {
                    row.paused = None;
                    row.put_back.clear();
                    row.without_effect.clear();
                    row.other_engine = None;
                }),
            ),
            Event::TextAccepted(accepted) => {
                let text = accepted.text.clone();
                (of(&accepted.issue), Box::new(move |row| row.accepted = Some(text)))
            }
            Event::OutsideRefused(refused) => {
                let entry = (stored.ts.ms(), refused.wish.clone(), refused.by.clone());
                let add = move |row: &mut crate::rows::IssueRow| {
                    if !row.put_back.iter().any(|(_, wish, by)| *wish == entry.1 && *by == entry.2)
                    {
                        row.put_back.push(entry);
                    }
                };
                (of(&refused.issue), Box::new(add))
            }
            _ => return,
        };
        let Some(key) = key else { return };
        let mut row = self.bus.rows.issue(&key.to_string());
        change(&mut row);
        self.bus.rows.set_issue(&key.to_string(), &row);
        if matches!(event, Event::IssueResumed(_)) {
            self.revive(&key);
        }
    }

    /// What caused an event on GitHub is never carried out again.
    fn note_source(&mut self, source: &str) {
        let Some((issue, rest)) = source.split_once(':') else { return };
        let Some(key) = IssueKey::parse(issue, &self.bus.home) else { return };
        let mut parts = rest.split(':');
        let (kind, id) = (parts.next(), parts.next().and_then(|id| id.parse::<u64>().ok()));
        let mut row = self.bus.rows.issue(&key.to_string());
        match (kind, id) {
            (Some("comment"), Some(id)) => {
                row.comments.entry(id).or_default();
            }
            (Some("event"), Some(id)) => row.event = row.event.max(id),
            _ => return,
        }
        self.bus.rows.set_issue(&key.to_string(), &row);
    }

    /// Tries again what could not be sent.
    fn revive(&mut self, key: &IssueKey) {
        for (row_key, mut op) in self.bus.rows.ops() {
            if op.issue == key.to_string() && op.dead.take().is_some() {
                op.tries = 0;
                op.not_before = 0;
                self.bus.rows.put(&row_key, &op);
            }
        }
    }

    fn issue_of(&self, task: &str) -> Option<IssueKey> {
        self.by_task.get(task).cloned().or_else(|| {
            let known = self.bus.task(task)?;
            let value = known.external_ids.get(PROVIDER)?.get(ISSUE)?.as_str()?;
            IssueKey::parse(value, &self.bus.home)
        })
    }

    /// Puts what an event says into the outbox.
    fn outbox(&mut self, stored: &Stored, event: &Event, page: &Page) -> Result<(), Refusal> {
        let Some(task) = stored.task.clone() else { return Ok(()) };
        let Some(key) = self.issue_of(&task) else { return Ok(()) };
        let row = self.bus.rows.issue(&key.to_string());
        if row.task.as_deref() != Some(task.as_str()) || stored.seq.0 <= row.linked {
            return Ok(());
        }
        let opened = page.opened.get(&stored.seq);
        if page.opened.values().any(|(_, seq, _)| *seq == stored.seq) {
            // It is said where the work was handed in.
            return Ok(());
        }
        let mut around = Beside {
            questions: page.questions.clone(),
            error: page.errors.get(&task).cloned(),
            resuming: row.resuming,
            opened: opened.map(|(pr, ..)| pr.clone()),
            home: self.bus.context.environment().own("HOME"),
            ..Beside::default()
        };
        if tells_pr(event) || matches!(event, Event::ReviewRequested(_) | Event::StatusChanged(_)) {
            self.look_back(stored, event, &task, &mut around)?;
        }
        let dialect = self.bus.dialect(&key.repository);
        for (place, one) in said(stored, event, &dialect, &around).into_iter().enumerate() {
            let hash = stored.hash.to_string();
            let mut op = format!("{}/{}.{}/{}", self.bus.engine, stored.seq, &hash[..6], one.kind);
            if let Some((_, seq, hash)) = opened {
                op.push_str(&format!(",{}/{seq}.{}/{}", self.bus.engine, &hash[..6], one.kind));
            }
            let row_key = format!("op/{:012}/{place}-{}", stored.seq.0, one.kind);
            if self.bus.rows.has(&row_key) {
                continue;
            }
            let edits = (one.kind == "progress").then_some(row.claim);
            self.bus.rows.put(
                &row_key,
                &OpRow {
                    op,
                    kind: one.kind.to_owned(),
                    issue: key.to_string(),
                    task: Some(task.clone()),
                    text: text::outgoing(&one.text),
                    edits,
                    ..OpRow::default()
                },
            );
        }
        Ok(())
    }

    /// Finds what an event refers to in the log before it.
    fn look_back(
        &self,
        stored: &Stored,
        event: &Event,
        task: &str,
        around: &mut Beside,
    ) -> Result<(), Refusal> {
        let Ok(id) = TaskId::parse(task) else { return Ok(()) };
        let repo = &self.bus.context.repo;
        let from = if self.bus.dry_run { &self.stored } else { &self.bus.service };
        let before = from.log_of_task_before(repo, &id, stored.seq)?;
        let mut handed_in = match event {
            Event::ReviewRequested(asked) => Some(asked.clone()),
            _ => None,
        };
        for (_, earlier) in before.into_iter().filter_map(decoded) {
            #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about it")]
            match earlier {
                Event::TestsRun(run) if run.gate == TESTS && around.tests.is_none() => {
                    around.tests = Some((run.result == Verdict::Pass, run.tier, run.report));
                }
                Event::ResultReported(told) if around.result.is_none() => {
                    around.result = Some(ResultContract::of_report(&told, None));
                }
                Event::StatusChanged(change) if change.uses_attempt => around.attempts += 1,
                // The work that a pull request was opened for.
                Event::ReviewRequested(asked) if tells_pr(event) && handed_in.is_none() => {
                    handed_in = Some(asked);
                }
                // An earlier round is another matter.
                Event::ReviewRequested(_) => break,
                _ => {}
            }
        }
        if let Event::StatusChanged(change) = event {
            around.attempts += u32::from(change.uses_attempt);
        }
        if let Some(asked) = handed_in
            && let (Some(commit), Some(land)) = (&asked.commit, &asked.land)
            && let (Some(base), Some(tree)) = (&land.base, self.bus.context.git_tree())
        {
            let git = comity_guard::git::Git::at(tree);
            let changes = comity_guard::diff::changes(&git, base, commit).unwrap_or_default();
            around.files = changes.into_iter().map(|change| change.file.path).collect();
        }
        Ok(())
    }

    /// Notes what follows from an event for what is shown and said next.
    fn after(&mut self, stored: &Stored, event: &Event) {
        let Some(key) = stored.task.as_deref().and_then(|task| self.issue_of(task)) else { return };
        let mut row = self.bus.rows.issue(&key.to_string());
        #[expect(clippy::wildcard_enum_match_arm, reason = "most events change nothing there")]
        match event {
            Event::StatusChanged(change)
                if change.old_status == Status::Blocked
                    && change.new_status == Status::Queued
                    && change.prefers.is_some() =>
            {
                row.resuming = true;
                row.answered_at = stored.ts.ms();
            }
            Event::TaskClaimed(_) => {
                row.resuming = false;
                row.answered_at = 0;
                row.claim = stored.seq.0;
                row.progress = None;
            }
            _ => return,
        }
        self.bus.rows.set_issue(&key.to_string(), &row);
    }
}

/// Tells whether an event names the pull request of a task.
fn tells_pr(event: &Event) -> bool {
    matches!(event, Event::TaskUpdated(changes) if changes.pr.is_some())
}

fn decoded(stored: Stored) -> Option<(Stored, Event)> {
    let event = Event::decode(&stored.event, stored.body.as_deref()?).ok()?;
    Some((stored, event))
}

fn beside(read: &[(Stored, Event)]) -> Page {
    let mut page = Page::default();
    let mut bare: BTreeMap<String, Seq> = BTreeMap::new();
    for (stored, event) in read {
        let task = stored.task.clone().unwrap_or_default();
        #[expect(clippy::wildcard_enum_match_arm, reason = "only these are referred to")]
        match event {
            Event::ReviewRequested(asked) if asked.pr.is_none() => {
                bare.insert(task, stored.seq);
            }
            Event::TaskUpdated(changes) => {
                if let (Some(pr), Some(review)) = (changes.pr.clone(), bare.remove(&task)) {
                    page.opened.insert(review, (pr, stored.seq, stored.hash.to_string()));
                }
            }
            Event::DecisionAsked(asked) => {
                page.questions.insert(asked.decision, asked.question.clone());
            }
            Event::Error(report) => {
                page.errors.extend(stored.task.clone().map(|task| (task, report.clone())));
            }
            _ => {}
        }
    }
    page
}
