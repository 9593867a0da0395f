//! What changed on GitHub since the last look.

use super::Pass;
use crate::board;
use crate::bus::{ISSUE, IssueKey, PROVIDER};
use crate::client::{Answer, Trouble, now, part};
use crate::inbound::queues;
use crate::model::{self, Comment, Issue, IssueEvent};
use crate::rows::{Cursor, OpRow, Seen};
use crate::text;
use comity_core::command::Command;
use comity_core::observed::Observed;
use comity_core::outside::Level;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_protocol::labels::{Carrier, Dialect};
use std::collections::{BTreeMap, BTreeSet};

/// A list may lag behind: what is newer than this before the newest is asked for again.
const BACK: Millis = Millis::from_secs(5);
/// Everything is looked at again so often.
const FULL: Millis = Millis::from_secs(6 * 3600);
const COMMENTS_MAX: usize = 2_000;

/// What a repository says.
#[derive(Default)]
pub(super) struct Fresh {
    pub(super) issues: Vec<Issue>,
    pub(super) comments: Vec<Comment>,
}

/// Writes a time as GitHub takes it.
fn written(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('.').next().map_or(text.clone(), |whole| format!("{whole}Z"))
}

impl Pass<'_> {
    pub(super) fn read(&mut self, repository: &str) -> Result<Fresh, Trouble> {
        let key = format!("repo/{repository}");
        let mut cursor: Cursor = self.bus.rows.get(&key);
        let is_first = cursor.issues_since.is_none();
        let is_full = is_first || self.full || now().ms() - cursor.full_at > FULL.ms();
        let mut fresh = Fresh::default();
        if is_full {
            let since = self.read_all(repository, &mut fresh)?;
            if is_first {
                cursor.issues_since = Some(since.clone());
                cursor.comments_since = Some(since);
            }
            cursor.full_at = now().ms();
        }
        if !is_first {
            self.read_since(repository, &mut cursor, &mut fresh)?;
        }
        self.bus.rows.put(&key, &cursor);
        let dialect = self.bus.dialect(repository);
        if board::is_on_board(self.bus, &dialect) {
            board::open(self.bus, &dialect, is_full)?;
            fresh.issues.extend(board::read(self.bus, repository)?);
        } else if dialect.carrier() == Carrier::Field {
            let why = format!("the words of {} are on a board, and none is named", dialect.name());
            self.bus.finding("no-board", None, why, "name it in the settings, key github.project");
        }
        fresh.issues.sort_by(|a, b| a.updated_at.cmp(&b.updated_at));
        Ok(fresh)
    }

    /// One list for each word, and each issue with a task that is not finished. The whole repository is never listed.
    fn read_all(&mut self, repository: &str, fresh: &mut Fresh) -> Result<String, Trouble> {
        let dialect = self.bus.dialect(repository);
        let mut found: BTreeMap<u64, Issue> = BTreeMap::new();
        let mut date = None;
        let words = if dialect.carrier() == Carrier::Labels { dialect.words() } else { Vec::new() };
        for word in words {
            let path =
                format!("/repos/{repository}/issues?state=open&labels={}&per_page=100", part(word));
            let answer = self.bus.client.list(&path, None)?;
            date = date.or(answer.date);
            found.extend(
                model::list::<Issue>(&answer.body).into_iter().map(|one| (one.number, one)),
            );
        }
        for key in self.linked_to(repository) {
            let row = self.bus.rows.issue(&key.to_string());
            let task = row.task.as_deref().and_then(|id| self.bus.task(id));
            let is_open = task.is_some_and(|task| !task.status.is_finished());
            if !is_open || row.gone || found.contains_key(&key.number) {
                continue;
            }
            match self.bus.client.get(&key.path(), None) {
                Ok(answer) => {
                    let issue: Issue = model::one(&answer.body);
                    // One that moved to another repository is read there, at the next pass.
                    if self.moved_to(&key, &issue).is_none_or(|at| at.repository == repository) {
                        found.insert(issue.number, issue);
                    }
                }
                Err(trouble) if trouble.is_gone() => self.gone(&key),
                Err(trouble) => return Err(trouble),
            }
        }
        fresh.issues.extend(found.into_values());
        Ok(written(date.unwrap_or_else(now)))
    }

    fn read_since(
        &mut self,
        repository: &str,
        cursor: &mut Cursor,
        fresh: &mut Fresh,
    ) -> Result<(), Trouble> {
        let since = cursor.issues_since.clone().unwrap_or_default();
        let path = format!(
            "/repos/{repository}/issues?state=all&sort=updated&direction=asc&per_page=100&since={}",
            part(&since)
        );
        let answer = self.unless_unchanged("issues", &path, cursor)?;
        let issues: Vec<Issue> = model::list(&answer.body);
        cursor.issues_since = Some(moved_on(&since, issues.iter().map(|one| &one.updated_at)));
        fresh.issues.extend(issues);
        let since = cursor.comments_since.clone().unwrap_or_default();
        let path = format!(
            "/repos/{repository}/issues/comments?sort=updated&direction=asc&per_page=100&since={}",
            part(&since)
        );
        let answer = self.unless_unchanged("comments", &path, cursor)?;
        let comments: Vec<Comment> = model::list(&answer.body);
        cursor.comments_since = Some(moved_on(&since, comments.iter().map(|one| &one.updated_at)));
        fresh.comments.extend(comments);
        Ok(())
    }

    /// Asks for a list; where GitHub says that it is the same, it is empty.
    fn unless_unchanged(
        &mut self,
        name: &str,
        path: &str,
        cursor: &mut Cursor,
    ) -> Result<Answer, Trouble> {
        let known = cursor.etags.get(name).and_then(|known| known.split_once(' '));
        let etag = known.filter(|(url, _)| *url == path).map(|(_, etag)| etag.to_owned());
        let answer = self.bus.client.list(path, etag.as_deref())?;
        if let Some(etag) = answer.etag.as_ref().filter(|_| !answer.is_unchanged()) {
            cursor.etags.insert(name.to_owned(), format!("{path} {etag}"));
        }
        Ok(answer)
    }

    pub(super) fn linked_to(&self, repository: &str) -> Vec<IssueKey> {
        let keys = self.bus.rows.issues().into_iter();
        let keys = keys.filter_map(|key| IssueKey::parse(&key, &self.bus.home));
        keys.filter(|key| key.repository == repository).collect()
    }

    /// Lists all comments of an issue.
    pub(super) fn comments_of(&mut self, key: &IssueKey) -> Result<Vec<Comment>, Trouble> {
        let answer =
            self.bus.client.list(&format!("{}/comments?per_page=100", key.path()), None)?;
        let mut comments: Vec<Comment> = model::list(&answer.body);
        if comments.len() > COMMENTS_MAX {
            let first = comments.len() - COMMENTS_MAX;
            comments.drain(..first);
        }
        Ok(comments)
    }

    /// Finds whom to ask about an issue: who queued it, else its author, where that is somebody who may answer.
    pub(super) fn find_reviewer(&mut self, key: &IssueKey) -> Result<(), Trouble> {
        let dialect = self.bus.dialect(&key.repository);
        let word = dialect.mark(Status::Queued).word.unwrap_or_default().to_owned();
        let events = self.events_of(key)?;
        let by_somebody = |event: &&IssueEvent| {
            queues(event, &word)
                && self.bus.is_person(&event.actor.login)
                && !self.bus.is_own(&event.actor.login)
        };
        let newest = events.iter().filter(by_somebody).max_by_key(|event| event.id);
        let mut found = newest.map(|event| event.actor.login.clone()).unwrap_or_default();
        let author = self.bus.rows.issue(&key.to_string()).seen.author;
        if found.is_empty()
            && self.bus.is_person(&author)
            && self.bus.level(&key.repository, &author)? >= Level::Triage
        {
            found = author;
        }
        let mut row = self.bus.rows.issue(&key.to_string());
        row.reviewer = Some(found);
        self.bus.rows.set_issue(&key.to_string(), &row);
        Ok(())
    }

    /// The labels of an issue. Where states are words of a board, its word there stands for the label.
    pub(super) fn labels_of(&self, key: &IssueKey, issue: &Issue) -> Vec<String> {
        let dialect = self.bus.dialect(&key.repository);
        let mut labels = issue.label_names();
        if dialect.carrier() == Carrier::Field {
            labels.retain(|label| dialect.states_in(std::slice::from_ref(label)).is_empty());
            labels.extend(self.bus.rows.issue(&key.to_string()).board);
        }
        labels
    }

    /// Notes what an issue looks like.
    pub(super) fn note_seen(&mut self, key: &IssueKey, issue: &Issue) {
        let mut row = self.bus.rows.issue(&key.to_string());
        if row.seen.updated_at.as_str() > issue.updated_at.as_str() {
            return;
        }
        let before = row.seen.clone();
        row.seen.title.clone_from(&issue.title);
        row.seen.labels = self.labels_of(key, issue);
        row.seen.assignees = issue.assignees.iter().map(|user| user.login.clone()).collect();
        row.seen.closed = issue.state == "closed";
        row.seen.not_planned = ["not_planned", "duplicate"].contains(&issue.state_reason.as_str());
        row.seen.author.clone_from(&issue.user.login);
        row.seen.updated_at.clone_from(&issue.updated_at);
        row.seen.text = text::hash(&issue.title, &issue.body);
        let dialect = self.bus.dialect(&key.repository);
        row.moved |= !before.updated_at.is_empty() && !shows_alike(&dialect, &before, &row.seen);
        row.left_closed &= row.seen.closed;
        if before.updated_at.is_empty() {
            let task = row.task.as_deref().and_then(|id| self.bus.task(id));
            row.at_rest = row.seen.closed && task.is_some_and(|task| task.status.is_finished());
        }
        row.at_rest &= !row.moved;
        row.gone = false;
        self.bus.rows.set_issue(&key.to_string(), &row);
    }

    /// Takes the link of a task along to where its issue moved; returns that place.
    pub(super) fn moved_to(&mut self, key: &IssueKey, issue: &Issue) -> Option<IssueKey> {
        let at = IssueKey::of_url(&issue.url).filter(|at| at != key)?;
        let row = self.bus.rows.issue(&key.to_string());
        if let Some(task) = row.task.clone() {
            let link = Command::Link {
                id: task,
                provider: PROVIDER.to_owned(),
                key: ISSUE.to_owned(),
                value: at.link(&self.bus.home),
            };
            let source = format!("moved:{}", issue.id);
            if self.bus.record(key, &source, link, Observed::default()).is_err() {
                return None;
            }
        }
        self.bus.rows.remove(&format!("issue/{key}"));
        self.bus.rows.set_issue(&at.to_string(), &row);
        for (row_key, op) in self.bus.rows.ops() {
            if op.issue == key.to_string() {
                self.bus.rows.put(&row_key, &OpRow { issue: at.to_string(), ..op });
            }
        }
        self.bus.finding(
            "moved",
            Some(key),
            format!("the issue is {at} now"),
            "nothing to do: its task goes with it",
        );
        Some(at)
    }

    /// Looks where an issue is that does not answer at its place.
    pub(super) fn look_for(&mut self, key: &IssueKey) {
        match self.bus.client.get(&key.path(), None) {
            Ok(answer) => {
                let issue: Issue = model::one(&answer.body);
                self.moved_to(key, &issue);
            }
            Err(trouble) if trouble.is_gone() => self.gone(key),
            // It is asked for again at the next pass.
            Err(_) => {}
        }
    }

    pub(super) fn gone(&mut self, key: &IssueKey) {
        let mut row = self.bus.rows.issue(&key.to_string());
        row.gone = true;
        self.bus.rows.set_issue(&key.to_string(), &row);
        let why = "GitHub has no such issue any more".to_owned();
        self.bus.finding("gone", Some(key), why, "link the task to another issue, or abandon it");
    }
}

/// Tells whether an issue shows the same state: its words, and whether it is closed.
pub(crate) fn shows_alike(dialect: &Dialect, before: &Seen, after: &Seen) -> bool {
    let words = |seen: &Seen| {
        let is_word = |label: &&String| !dialect.states_in(std::slice::from_ref(*label)).is_empty();
        let words = seen.labels.iter().filter(is_word).map(|label| label.to_lowercase());
        words.collect::<BTreeSet<String>>()
    };
    let closed = |seen: &Seen| (seen.closed, seen.closed && seen.not_planned);
    words(before) == words(after) && closed(before) == closed(after)
}

/// Where nothing newer came the place stays, so that GitHub can say that nothing changed.
fn moved_on<'t>(since: &str, times: impl Iterator<Item = &'t String>) -> String {
    let newest = times.filter_map(|time| model::time(time)).max();
    let back = newest.map(|newest| written(Timestamp::from_ms(newest.ms() - BACK.ms())));
    back.filter(|back| back.as_str() > since).unwrap_or_else(|| since.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_moves_by_its_words_and_by_closing_only() {
        let seen = |labels: &[&str], closed: bool, not_planned: bool| Seen {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            closed,
            not_planned,
            ..Seen::default()
        };
        let (ace, before) = (Dialect::ace(), seen(&["agent:ready", "bug"], false, false));
        for same in [seen(&["Agent:Ready"], false, true), seen(&["x", "agent:ready"], false, false)]
        {
            assert!(shows_alike(&ace, &before, &same), "{same:?}");
        }
        for other in [
            seen(&["bug"], false, false),
            seen(&["agent:ready", "agent:failed"], false, false),
            seen(&["agent:ready"], true, false),
        ] {
            assert!(!shows_alike(&ace, &before, &other), "{other:?}");
        }
    }

    #[test]
    fn the_place_stays_while_nothing_newer_came() {
        let since = "2026-11-18T10:00:00Z";
        let times = ["2026-11-18T10:00:05Z".to_owned(), "2026-11-18T10:00:03Z".to_owned()];
        assert_eq!(moved_on(since, times.iter()), since);
        assert_eq!(moved_on(since, std::iter::empty()), since);
        let newer = ["2026-11-18T10:01:00Z".to_owned()];
        assert_eq!(moved_on(since, newer.iter()), "2026-11-18T10:00:55Z");
    }
}
