//! One pass: read what changed, carry out what people asked for, put what happened into the outbox, send.

mod apply;
mod deliver;
mod feed;
mod held;
mod pulls;
mod read;
mod send;
mod strangers;
mod turn;

#[cfg(test)]
pub(crate) use read::shows_alike;
pub use turn::Turn;

use crate::bus::{Bus, Github, IssueKey};
use crate::client::{Trouble, now};
use crate::model::{self, Issue};
use crate::text;
use comity_api::{GithubSync, GithubSyncAnswer, SyncGithub};
use comity_core::refusal::Refusal;
use comity_engine::Service;
use comity_project::github::Claims;
use std::collections::{BTreeMap, BTreeSet};

/// How far a pass looks.
pub(crate) enum Reach {
    All,
    /// Only at these issues.
    These(Vec<IssueKey>),
    /// Only at what is to be sent.
    Outward,
}

pub(crate) struct Pass<'b> {
    bus: &'b mut Bus,
    /// The store itself; a dry run changes a copy.
    stored: Service,
    full: bool,
    only: BTreeSet<String>,
    max_writes: Option<u64>,
    by_task: BTreeMap<String, IssueKey>,
    /// What another engine has, where claims are refs.
    elsewhere: BTreeSet<IssueKey>,
    /// The end of the log when it was heard last.
    heard: u64,
    left: u64,
    /// Writes that a dry run would do.
    planned: u64,
}

/// Runs one pass, unless another process is at it.
pub fn sync(github: &Github, input: &SyncGithub) -> Result<GithubSyncAnswer, Refusal> {
    let turn = if input.dry_run { None } else { Some(Turn::take(github)?) };
    let mut bus = Bus::open(github, input.dry_run)?;
    bus.hold(turn);
    let sync = pass(&mut bus, &github.service, input, Reach::All)?;
    Ok(GithubSyncAnswer { sync })
}

pub(crate) fn pass(
    bus: &mut Bus,
    stored: &Service,
    input: &SyncGithub,
    reach: Reach,
) -> Result<GithubSync, Refusal> {
    bus.report =
        GithubSync { repo: bus.home.clone(), dry_run: bus.dry_run, ..GithubSync::default() };
    bus.client.counts = crate::client::Counts::default();
    let mut pass = Pass {
        stored: stored.clone(),
        full: input.full,
        only: input.tasks.iter().cloned().collect(),
        max_writes: input.max_writes,
        by_task: BTreeMap::new(),
        elsewhere: BTreeSet::new(),
        heard: 0,
        left: 0,
        planned: 0,
        bus,
    };
    pass.run(reach)
}

impl Pass<'_> {
    fn run(&mut self, reach: Reach) -> Result<GithubSync, Refusal> {
        // Links that were made here come first: what they name is read.
        self.feed()?;
        let looked = match reach {
            Reach::All => self.inward(),
            Reach::These(keys) => self.look_at(&keys),
            Reach::Outward => Ok(()),
        };
        let looked = looked.and_then(|()| self.look_at_claims());
        if let Err(trouble) = looked {
            self.bus.discard()?;
            return Err(self.bus.gives_up(&trouble));
        }
        self.feed()?;
        self.send_all()?;
        let counts = self.bus.client.counts;
        self.bus.report.reads = counts.reads;
        self.bus.report.not_modified = counts.not_modified;
        self.bus.report.writes = counts.writes;
        self.bus.report.quota = self.bus.quota();
        let mut progress = self.bus.progress();
        progress.account = Some(self.bus.account.clone());
        progress.last_ok = Some(now());
        progress.last_error = None;
        self.bus.set_progress(&progress);
        self.bus.save()?;
        Ok(std::mem::take(&mut self.bus.report))
    }

    fn inward(&mut self) -> Result<(), Trouble> {
        for repository in self.bus.repositories() {
            let fresh = self.read(&repository)?;
            let key = |number| IssueKey { repository: repository.clone(), number };
            for issue in &fresh.issues {
                self.take_in(&key(issue.number), issue)?;
            }
            for issue in fresh.issues.iter().filter(|issue| !issue.is_pull()) {
                self.hold(&key(issue.number));
                self.edited(&key(issue.number), issue)?;
            }
            let mut touched: BTreeSet<IssueKey> =
                fresh.issues.iter().map(|issue| key(issue.number)).collect();
            for comment in &fresh.comments {
                let Some(number) = comment.issue_number() else { continue };
                self.note_engine(&key(number), &comment.user.login, &comment.body);
                self.comment(&key(number), comment)?;
                touched.insert(key(number));
            }
            for key in touched {
                self.differences(&key)?;
            }
        }
        self.pulls()
    }

    /// Looks at single issues, whole.
    fn look_at(&mut self, keys: &[IssueKey]) -> Result<(), Trouble> {
        for key in keys.iter().filter(|key| key.number > 0) {
            let issue: Issue = match self.bus.client.get(&key.path(), None) {
                Ok(answer) => model::one(&answer.body),
                Err(trouble) if trouble.is_gone() => continue,
                Err(trouble) => return Err(trouble),
            };
            if issue.is_pull() || self.moved_to(key, &issue).is_some() {
                continue;
            }
            self.take_in(key, &issue)?;
            self.hold(key);
            self.edited(key, &issue)?;
            for comment in self.comments_of(key)? {
                self.note_engine(key, &comment.user.login, &comment.body);
                self.comment(key, &comment)?;
            }
            self.differences(key)?;
        }
        self.pulls()
    }

    /// Another engine that writes with the same account would undo what this one does: until somebody resumes the issue,
    /// nothing is written there. Where claims are refs, they say whose turn it is.
    fn note_engine(&mut self, key: &IssueKey, login: &str, body: &str) {
        if self.bus.settings.claims == Claims::Refs {
            return;
        }
        let marks = text::marks(body);
        let engine = marks.first().and_then(|mark| text::engine_of(mark));
        let Some(engine) = engine.filter(|engine| *engine != self.bus.engine) else { return };
        let mut row = self.bus.rows.issue(&key.to_string());
        if self.bus.is_own(login) && row.task.is_some() {
            row.other_engine = Some(engine.to_owned());
            self.bus.rows.set_issue(&key.to_string(), &row);
        }
    }
}
