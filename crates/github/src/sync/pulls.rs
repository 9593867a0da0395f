//! Pull requests, reviews and checks as evidence, for the submitted commit only.

use super::Pass;
use crate::bus::{IssueKey, Who};
use crate::client::{Trouble, part};
use crate::model::{self, CheckRuns, Pull, PullFile, Review, Statuses};
use crate::rows::PullRow;
use crate::text;
use comity_core::command::{Command, Question, TaskVerb};
use comity_core::observed::{MergeSeen, Observed};
use comity_core::outside::CheckSeen;
use comity_core::refusal::Refusal;
use comity_core::role::Verb;
use comity_core::status::Status;
use comity_core::task::Task;
use std::collections::BTreeMap;

/// What became of a verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Done,
    LookAgain,
}

/// Whoever can change these can say what a check says.
const WORKFLOWS: &str = ".github/";

impl Pass<'_> {
    /// Looks at the pull requests of tasks that are handed in.
    pub(super) fn pulls(&mut self) -> Result<(), Trouble> {
        for key in self.bus.rows.issues() {
            let row = self.bus.rows.issue(&key);
            let Some(key) = IssueKey::parse(&key, &self.bus.home) else { continue };
            let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else { continue };
            let handed_in =
                matches!(task.status, Status::Review | Status::Approved | Status::Merging);
            let place = task.pr.as_deref().and_then(|pr| place(pr, &key.repository));
            if let Some((repository, number)) = place.filter(|_| handed_in && !row.gone) {
                self.pull(&key, &task, &repository, number)?;
            }
        }
        Ok(())
    }

    fn pull(
        &mut self,
        key: &IssueKey,
        task: &Task,
        repository: &str,
        number: u64,
    ) -> Result<(), Trouble> {
        let row_key = format!("pull/{repository}#{number}");
        let mut row: PullRow = self.bus.rows.get(&row_key);
        let path = format!("/repos/{repository}/pulls/{number}");
        let answer = match self.bus.client.get(&path, row.etags.get("pull").map(String::as_str)) {
            Ok(answer) => answer,
            Err(trouble) if trouble.is_gone() => return Ok(()),
            Err(trouble) => return Err(trouble),
        };
        if !answer.is_unchanged() {
            row.etags.extend(answer.etag.clone().map(|etag| ("pull".to_owned(), etag)));
            let pull: Pull = model::one(&answer.body);
            row.head.clone_from(&pull.head.sha);
            row.merged = pull.merged || !pull.merged_at.is_empty();
            row.merge_commit.clone_from(&pull.merge_commit_sha);
            row.merged_by.clone_from(&pull.merged_by.login);
            row.closed = pull.state == "closed";
            row.base.clone_from(&pull.base.name);
        }
        let commit = task.commit.clone().unwrap_or_default();
        let same = |sha: &str| {
            !commit.is_empty() && sha.starts_with(&commit)
                || commit.starts_with(sha) && sha.len() >= 7
        };
        if !row.merged && !row.head.is_empty() && !same(&row.head) {
            let why = format!(
                "the pull request is at {}, {} was submitted",
                short(&row.head),
                short(&commit)
            );
            self.bus.finding(
                "head-moved",
                Some(key),
                why,
                "submit the new commit, or reset the branch",
            );
        }
        self.checks(key, task, repository, number, &commit, &mut row)?;
        self.reviews(key, task, &path, &same, &mut row)?;
        self.bus.rows.put(&row_key, &row);
        if row.merged {
            self.merged(key, task, repository, &commit, &same, &mut row)?;
            self.bus.rows.put(&row_key, &row);
        }
        Ok(())
    }

    /// Completed checks of the submitted commit are evidence for gates.
    fn checks(
        &mut self,
        key: &IssueKey,
        task: &Task,
        repository: &str,
        number: u64,
        commit: &str,
        row: &mut PullRow,
    ) -> Result<(), Trouble> {
        if commit.is_empty() || task.status != Status::Review {
            return Ok(());
        }
        let found = self.completed(repository, commit, row)?;
        if found.is_empty() {
            return Ok(());
        }
        let touches = self.touches_workflows(repository, number)?;
        for (name, source, pass, is_check) in found {
            if row.sources.contains(&source) {
                continue;
            }
            let gate = self.bus.settings.checks.get(&name).cloned().unwrap_or_else(|| name.clone());
            let command = Command::GateRecord {
                id: task.id.to_string(),
                gate: gate.clone(),
                pass,
                report: Some(format!("{name} on GitHub")),
                commit: Some(commit.to_owned()),
                new: false,
            };
            let seen = Observed {
                check: Some(CheckSeen { trusted: is_check && !touches }),
                ..Observed::default()
            };
            let done = self.bus.record(key, &source, command, seen);
            row.sources.insert(source.clone());
            let wish = format!("{gate} {}", if pass { "passed" } else { "failed" });
            match done {
                Ok(_) => self.said(
                    key,
                    Some(task.id.as_str()),
                    "github",
                    &wish,
                    "applied",
                    None,
                    &source,
                ),
                // A check that no gate is named after says nothing here.
                Err(refusal) if refusal.code == comity_core::refusal::Code::UnknownName => {}
                Err(refusal) => {
                    self.said(
                        key,
                        Some(task.id.as_str()),
                        "github",
                        &wish,
                        "refused",
                        Some(refusal),
                        &source,
                    );
                }
            }
        }
        Ok(())
    }

    /// Lists what was completed since the last look: the name, the source, whether it passed, and whether it is a check.
    fn completed(
        &mut self,
        repository: &str,
        commit: &str,
        row: &mut PullRow,
    ) -> Result<Vec<(String, String, bool, bool)>, Trouble> {
        let path = format!("/repos/{repository}/commits/{commit}/check-runs?per_page=100");
        let runs = self.unless_same("checks", &path, row)?;
        let runs: CheckRuns = runs.map(|body| model::one(&body)).unwrap_or_default();
        let mut found: Vec<(String, String, bool, bool)> = Vec::new();
        for run in runs.check_runs.iter().filter(|run| run.status == "completed") {
            let verdict = match run.conclusion.as_str() {
                "success" => Some(true),
                "neutral" | "skipped" | "" => None,
                _ => Some(false),
            };
            found.extend(
                verdict.map(|pass| (run.name.clone(), format!("check:{}", run.id), pass, true)),
            );
        }
        let path = format!("/repos/{repository}/commits/{commit}/status");
        let statuses = self.unless_same("status", &path, row)?;
        let statuses: Statuses = statuses.map(|body| model::one(&body)).unwrap_or_default();
        for status in &statuses.statuses {
            let verdict = match status.state.as_str() {
                "success" => Some(true),
                "failure" | "error" => Some(false),
                _ => None,
            };
            let source = format!("status:{}", status.id);
            found.extend(verdict.map(|pass| (status.context.clone(), source, pass, false)));
        }
        Ok(found)
    }

    fn touches_workflows(&mut self, repository: &str, number: u64) -> Result<bool, Trouble> {
        let path = format!("/repos/{repository}/pulls/{number}/files?per_page=100");
        match self.bus.client.list(&path, None) {
            Ok(answer) => {
                let files: Vec<PullFile> = model::list(&answer.body);
                Ok(files.iter().any(touches))
            }
            // What cannot be seen is not trusted.
            Err(trouble) if trouble.is_gone() => Ok(true),
            Err(trouble) => Err(trouble),
        }
    }

    fn unless_same(
        &mut self,
        name: &str,
        path: &str,
        row: &mut PullRow,
    ) -> Result<Option<serde_json::Value>, Trouble> {
        let known = row.etags.get(name).and_then(|known| known.split_once(' '));
        let etag = known.filter(|(url, _)| *url == path).map(|(_, etag)| etag.to_owned());
        match self.bus.client.get(path, etag.as_deref()) {
            Ok(answer) if answer.is_unchanged() => Ok(None),
            Ok(answer) => {
                row.etags
                    .extend(answer.etag.map(|etag| (name.to_owned(), format!("{path} {etag}"))));
                Ok(Some(answer.body))
            }
            Err(trouble) if trouble.is_gone() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// The newest verdict of each reviewer about the submitted commit counts; a dismissed one does not.
    fn reviews(
        &mut self,
        key: &IssueKey,
        task: &Task,
        path: &str,
        same: &dyn Fn(&str) -> bool,
        row: &mut PullRow,
    ) -> Result<(), Trouble> {
        if !matches!(task.status, Status::Review | Status::Approved) {
            return Ok(());
        }
        let etag = row.etags.get("reviews").cloned();
        let answer =
            self.bus.client.list(&format!("{path}/reviews?per_page=100"), etag.as_deref())?;
        if answer.is_unchanged() {
            return Ok(());
        }
        row.etags.extend(answer.etag.clone().map(|etag| ("reviews".to_owned(), etag)));
        for (login, review) in newest(&answer.body) {
            let status = self.bus.task(task.id.as_str()).map_or(task.status, |task| task.status);
            if !matches!(status, Status::Review | Status::Approved) {
                // What is left counts if the same commit is handed in again.
                row.etags.remove("reviews");
                return Ok(());
            }
            let judged = self.verdict(key, task, status, (&login, &review), same, row)?;
            if judged == Judged::LookAgain {
                // Gates may be met later.
                row.etags.remove("reviews");
            }
        }
        Ok(())
    }

    /// Carries out what one reviewer says.
    fn verdict(
        &mut self,
        key: &IssueKey,
        task: &Task,
        status: Status,
        (login, review): (&str, &Review),
        same: &dyn Fn(&str) -> bool,
        row: &mut PullRow,
    ) -> Result<Judged, Trouble> {
        let changes = format!("changes:{}", review.id);
        let counted = row.sources.contains(&format!("review:{}", review.id))
            && !row.sources.contains(&changes);
        let Some((verb, source)) = asked_by(review, status, counted) else {
            return Ok(Judged::Done);
        };
        if !same(&review.commit_id) || row.sources.contains(&source) || self.bus.is_own(login) {
            return Ok(Judged::Done);
        }
        let id = Some(task.id.as_str());
        let Some(who) = self.bus.who(&key.repository, login)? else {
            row.sources.insert(source.clone());
            self.said(key, id, login, "review", "ignored", None, &source);
            return Ok(Judged::Done);
        };
        let said = text::without_hidden(&review.body);
        let reason = match review.state.as_str() {
            "DISMISSED" => Some(format!("the approval by {login} was dismissed on GitHub")),
            _ => Some(said).filter(|said| !said.trim().is_empty()),
        };
        let command = Command::Move { verb, id: task.id.to_string(), reason };
        let done = self.bus.act(&who, key, &source, command, Observed::default());
        let named = match verb {
            TaskVerb::Approve => Verb::Approve,
            _ => Verb::RequestChanges,
        };
        let wish = review.state.to_lowercase();
        if let Err(refusal) = done {
            let (verb, refusal) = (Some(named), Some(&refusal));
            self.inbound(key, id, &who, &wish, verb, "refused", refusal, &source);
            return Ok(Judged::LookAgain);
        }
        if review.state == "CHANGES_REQUESTED" {
            row.sources.insert(changes);
        }
        row.sources.insert(source.clone());
        self.inbound(key, id, &who, &wish, Some(named), "applied", None, &source);
        Ok(Judged::Done)
    }

    /// A merge finishes the task whose commit it has. The merge by a person who may approve is the approval, where the
    /// gates are met.
    fn merged(
        &mut self,
        key: &IssueKey,
        task: &Task,
        repository: &str,
        commit: &str,
        same: &dyn Fn(&str) -> bool,
        row: &mut PullRow,
    ) -> Result<(), Trouble> {
        let source = format!("merge:{}", row.merge_commit);
        // What was refused is looked at again when the task has changed.
        if row.sources.contains(&source) || row.judged == Some(task.version) {
            return Ok(());
        }
        let base = self.base(repository)?;
        let contains = same(&row.head) || self.contains(repository, commit, &row.merge_commit)?;
        let login = row.merged_by.clone();
        let who = if login.is_empty() || self.bus.is_own(&login) {
            None
        } else {
            self.bus.who(&key.repository, &login)?
        };
        let finished = if !row.base.is_empty() && row.base != base {
            Err(format!("it was merged into {}, not into {base}", row.base))
        } else if !contains {
            Err(format!("the merged pull request does not have {}", short(commit)))
        } else if who.is_none() && task.status == Status::Review {
            Err("GitHub does not say that somebody who may approve merged it".to_owned())
        } else {
            self.finish(key, task, who.as_ref(), &row.merge_commit, &source)
                .map_err(|refusal| refusal.message)
        };
        let id = task.id.to_string();
        match finished {
            Ok(()) => {
                row.sources.insert(source.clone());
                self.said(key, Some(&id), &login, "merged", "applied", None, &source);
            }
            Err(why) => self.ask_about_merge(key, &id, &login, &why, &source),
        }
        row.judged = self.bus.task(&id).map(|task| task.version);
        Ok(())
    }

    /// Whoever decides is asked once what becomes of a task whose merged pull request cannot finish it.
    fn ask_about_merge(&mut self, key: &IssueKey, id: &str, login: &str, why: &str, source: &str) {
        let refusal = Refusal::new(comity_core::refusal::Code::GateUnmet, why);
        self.said(key, Some(id), login, "merged", "refused", Some(refusal), source);
        let question = format!(
            "The pull request of {id} was merged on GitHub, and {id} is not finished: {why}. What now?"
        );
        self.ask(key, id, question, &format!("{source}:asked"));
    }

    /// Asks something about a task, once for each source.
    pub(super) fn ask(&self, key: &IssueKey, id: &str, question: String, source: &str) {
        let question = Question {
            question,
            task: Some(id.to_owned()),
            options: Vec::new(),
            kind: None,
            context: None,
            default: None,
            to: None,
            expires: None,
            proposes: None,
        };
        let ask = Command::DecisionAsk(Box::new(question));
        let _ = self.bus.record(key, source, ask, Observed::default());
    }

    /// Returns the branch that work is merged into.
    fn base(&mut self, repository: &str) -> Result<String, Trouble> {
        if let Some(base) =
            self.bus.context.config.base_branch().filter(|_| repository == self.bus.home)
        {
            return Ok(base.to_owned());
        }
        let about = self.bus.client.get(&format!("/repos/{repository}"), None)?;
        Ok(about.body["default_branch"].as_str().unwrap_or("main").to_owned())
    }

    fn finish(
        &self,
        key: &IssueKey,
        task: &Task,
        who: Option<&Who>,
        merged: &str,
        source: &str,
    ) -> Result<(), Refusal> {
        let id = task.id.to_string();
        let by = who.map_or("GitHub", |who| who.login.as_str());
        let reason = Some(format!("{by} merged it on GitHub"));
        // Approved work may be merged by anybody there: GitHub's own queue, or the account of comity.
        let act = |source: &str, command: Command, seen: Observed| match who {
            Some(who) => self.bus.act(who, key, source, command, seen),
            None => self.bus.record(key, source, command, seen),
        };
        let moved = |verb| Command::Move { verb, id: id.clone(), reason: reason.clone() };
        if task.status == Status::Review {
            let approve = moved(TaskVerb::Approve);
            act(&format!("{source}:approve"), approve, Observed::default())?;
        }
        let now = self.bus.task(&id);
        if now.as_ref().is_some_and(|task| task.status == Status::Approved) {
            act(&format!("{source}:merge"), moved(TaskVerb::Merge), Observed::default())?;
        }
        let version = self.bus.task(&id).map_or(task.version, |task| task.version);
        let seen = MergeSeen {
            task_version: version,
            merged: merged.to_owned(),
            contains: true,
            added: Vec::new(),
            files: Vec::new(),
            subject: None,
        };
        let done = Command::Done { id, merged: Some(merged.to_owned()), unmerged: false, reason };
        act(source, done, Observed { merge: Some(seen), ..Observed::default() }).map(drop)
    }

    fn contains(&mut self, repository: &str, commit: &str, merged: &str) -> Result<bool, Trouble> {
        if commit.is_empty() || merged.is_empty() {
            return Ok(false);
        }
        let path = format!("/repos/{repository}/compare/{}...{}", part(merged), part(commit));
        match self.bus.client.get(&path, None) {
            Ok(answer) => {
                let status = answer.body["status"].as_str().unwrap_or_default();
                Ok(["behind", "identical"].contains(&status))
            }
            Err(trouble) if trouble.is_gone() => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}

/// What a review asks for, and the source that it is noted as. `counted` says that it was an approval before.
fn asked_by(review: &Review, status: Status, counted: bool) -> Option<(TaskVerb, String)> {
    match (review.state.as_str(), status) {
        ("APPROVED", Status::Review) => Some((TaskVerb::Approve, format!("review:{}", review.id))),
        ("CHANGES_REQUESTED", _) => {
            Some((TaskVerb::RequestChanges, format!("review:{}", review.id)))
        }
        // What was taken back counts no more.
        ("DISMISSED", Status::Approved) if counted => {
            Some((TaskVerb::RequestChanges, format!("dismissed:{}", review.id)))
        }
        _ => None,
    }
}

/// Returns the newest verdict of each reviewer. Whoever wants changes comes first: others' approval is no answer to that.
fn newest(body: &serde_json::Value) -> Vec<(String, Review)> {
    let mut newest: BTreeMap<String, Review> = BTreeMap::new();
    for review in model::list::<Review>(body) {
        if ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].contains(&review.state.as_str()) {
            newest.insert(review.user.login.clone(), review);
        }
    }
    let mut newest: Vec<(String, Review)> = newest.into_iter().collect();
    newest.sort_by_key(|(_, review)| review.state != "CHANGES_REQUESTED");
    newest
}

/// A file that was moved away is changed, too.
fn touches(file: &PullFile) -> bool {
    [&file.filename, &file.previous_filename].iter().any(|name| name.starts_with(WORKFLOWS))
}

fn short(sha: &str) -> &str {
    sha.get(..10).unwrap_or(sha)
}

/// Reads where a pull request is: `#N`, `N`, or an address.
fn place(pr: &str, repository: &str) -> Option<(String, u64)> {
    if let Ok(number) = pr.trim().trim_start_matches('#').parse() {
        return Some((repository.to_owned(), number));
    }
    let mut parts = pr.trim().trim_end_matches('/').rsplit('/');
    let number = parts.next()?.parse().ok()?;
    let is_pull = ["pull", "pulls"].contains(&parts.next()?);
    let (name, owner) = (parts.next()?, parts.next()?);
    let repository = format!("{owner}/{name}");
    (is_pull && comity_project::github::is_repository(&repository)).then_some((repository, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_verdict_of_each_reviewer_counts_and_wanted_changes_come_first() {
        let review = |id: u64, who: &str, state: &str| json!({"id": id, "user": {"login": who}, "state": state});
        let all = json!([
            review(1, "bob", "APPROVED"),
            review(2, "ann", "CHANGES_REQUESTED"),
            review(3, "bob", "CHANGES_REQUESTED"),
            review(4, "ann", "APPROVED"),
            review(5, "bob", "COMMENTED"),
        ]);
        let ids: Vec<u64> = newest(&all).iter().map(|(_, review)| review.id).collect();
        assert_eq!(ids, [3, 4]);
    }

    #[test]
    fn a_workflow_that_is_moved_away_is_touched() {
        let file = |name: &str, before: &str| PullFile {
            filename: name.to_owned(),
            previous_filename: before.to_owned(),
        };
        assert!(touches(&file("docs/ci.yml", ".github/workflows/ci.yml")));
        assert!(touches(&file(".github/workflows/ci.yml", "")));
        assert!(!touches(&file("src/a.rs", "src/b.rs")));
    }

    #[test]
    fn a_pull_request_is_found_by_its_number_or_address() {
        let at = |pr| place(pr, "acme/app").map(|(name, number)| format!("{name}#{number}"));
        assert_eq!(at("#9").as_deref(), Some("acme/app#9"));
        assert_eq!(at("https://github.com/acme/web/pull/9").as_deref(), Some("acme/web#9"));
        assert_eq!(at("https://h/api/v3/repos/acme/web/pulls/9").as_deref(), Some("acme/web#9"));
        assert_eq!(at("https://example.org/9"), None);
    }
}
