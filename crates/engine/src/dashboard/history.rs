//! How something came to be: events as lines of who did what and why, the newest first.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use crate::telling;
use comity_api::{EventView, HistoryAnswer, StoryLine, TreeAnswer};
use comity_core::chain::Stored;
use comity_core::hint::{op, say};
use comity_core::ids::{AgentId, DecisionId, LeaseId, Seq};
use comity_core::refusal::{Code, Refusal};
use comity_store::EventQuery;
use serde_json::Value;

/// Lines of an answer.
const LINES_MAX: usize = 20;
/// Events that are looked at for them, from the end of the log.
const LOOKED_AT_MAX: usize = 100_000;
const PAGE: usize = 2_000;

/// Events that repeat what is known.
const REPEATS: [&str; 1] = ["lease_renewed"];

/// Tells whether an event says nothing that a reader of a story wants to know.
pub(super) fn says_nothing_new(event: &str) -> bool {
    REPEATS.contains(&event)
}

impl Service {
    /// Tells how a task, an agent, a lease or a decision came to be; none if nothing has that name.
    pub fn history(&self, caller: &Caller, of: &str) -> Result<Option<HistoryAnswer>, Refusal> {
        self.read(caller, |reader| reader.history_of(of))
    }

    /// Tells who held a path, who was refused, and who wrote it all the same. Commits are for who can ask git.
    pub fn history_of_path(&self, caller: &Caller, path: &str) -> Result<HistoryAnswer, Refusal> {
        self.read(caller, |reader| reader.history_of_path(path))
    }

    /// Tells which events name a commit.
    pub fn history_of_commit(
        &self,
        caller: &Caller,
        commit: &str,
    ) -> Result<HistoryAnswer, Refusal> {
        self.read(caller, |reader| {
            let is_it = |given: &str| given.len() >= 7 && commit.starts_with(given);
            let names = |event: &Stored| {
                let view = crate::view::event(event);
                ["commit", "sha", "merged"].iter().any(|key| view.text(key).is_some_and(is_it))
            };
            let (found, more) = reader.events_where(names)?;
            let task = found.iter().find_map(|event| event.task.clone());
            let short = commit.get(..10).unwrap_or(commit);
            let summary = match task {
                Some(task) => format!("{short} belongs to {task}."),
                None => format!("No task names {short}."),
            };
            Ok(answer(commit, "commit", summary, &found, more))
        })
    }

    /// Shows which paths are held.
    pub fn tree(&self, caller: &Caller) -> Result<TreeAnswer, Refusal> {
        self.read(caller, |reader| reader.tree())
    }
}

impl Reader<'_> {
    fn history_of(&mut self, of: &str) -> Result<Option<HistoryAnswer>, Refusal> {
        if let Some(id) = LeaseId::parse(of) {
            return self.of_lease(id).map(Some);
        }
        if let Some(id) = DecisionId::parse(of) {
            return self.of_decision(id).map(Some);
        }
        match self.find(of) {
            Ok(task) => {
                let why = self.why(task.id.as_str())?.why;
                let events = self.latest_of(task.id.as_str())?;
                let told: Vec<Stored> = events
                    .into_iter()
                    .rev()
                    .filter(|event| !says_nothing_new(&event.event))
                    .collect();
                let (told, more) = cut(told);
                return Ok(Some(answer(task.id.as_str(), "task", why.summary, &told, more)));
            }
            Err(refusal) if refusal.code == Code::AmbiguousId => return Err(refusal),
            Err(_) => {}
        }
        let Ok(id) = AgentId::parse(of) else { return Ok(None) };
        match self.agent(of) {
            Ok(found) => {
                let agent = found.agent;
                let (told, more) = self.events_where(|event| {
                    event.agent == id.as_str() && !says_nothing_new(&event.event)
                })?;
                let holds = match agent.holds.tasks.is_empty() {
                    true => "holds no task".to_owned(),
                    false => format!("holds {}", agent.holds.tasks.join(", ")),
                };
                let summary = format!("{of} is {} and {holds}.", agent.status);
                Ok(Some(answer(of, "agent", summary, &told, more)))
            }
            Err(refusal) if refusal.code == Code::NotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    fn of_lease(&mut self, id: LeaseId) -> Result<HistoryAnswer, Refusal> {
        let of = id.to_string();
        let quoted = format!("\"{of}\"");
        let (told, more) = self.events_where(|event| {
            let body = event.body.as_deref().unwrap_or_default();
            matches!(
                event.event.as_str(),
                "file_locked" | "lease_renewed" | "lease_released" | "locks_reclaimed"
            ) && std::str::from_utf8(body).is_ok_and(|body| body.contains(&quoted))
        })?;
        if told.is_empty() {
            return Err(comity_core::decide::not_found("lease", &of));
        }
        let live = self.live_leases(None, None, usize::MAX)?;
        let summary = match live.iter().find(|lease| lease.id == id) {
            Some(lease) => format!("{} holds {}.", lease.owner, lease.path),
            None => format!("{of} has ended."),
        };
        Ok(answer(&of, "lease", summary, &told, more))
    }

    fn of_decision(&mut self, id: DecisionId) -> Result<HistoryAnswer, Refusal> {
        let of = id.to_string();
        let decision = self.decision(&of)?.decision;
        let (told, more) = self.events_where(|event| {
            event.event.starts_with("decision_")
                && crate::view::event(event).text("decision") == Some(of.as_str())
        })?;
        let summary = match (&decision.answer, &decision.answered_by) {
            (Some(answer), Some(by)) => format!("{by} answered: {answer}"),
            (Some(answer), None) => format!("The default applies: {answer}"),
            (None, _) => format!("{of} is {}: {}", decision.state, decision.question),
        };
        Ok(answer(&of, "decision", summary, &told, more))
    }

    fn history_of_path(&mut self, path: &str) -> Result<HistoryAnswer, Refusal> {
        let pattern = comity_core::pattern::Pattern::parse(path).map_err(|error| {
            Refusal::input(format!("path {path:?}: {error}")).hint(
                say("give a task, a path, a commit, an agent, a lease or a decision; see ")
                    .quote(op("task.list")),
            )
        })?;
        let path = pattern.as_str().to_owned();
        let live = self.live_leases(None, None, usize::MAX)?;
        let held: Vec<String> = live
            .iter()
            .filter(|lease| super::scene::covers(lease, &path))
            .map(|lease| {
                let alone = if lease.mode.as_str() == "shared" { "shared" } else { "alone" };
                let task = lease.claim_of.as_ref().map(|task| format!(" for {task}"));
                let task = task.unwrap_or_default();
                format!("Held {alone} by {}{task} since {}.", lease.owner, lease.acquired_at)
            })
            .collect();
        let (told, more) = self.events_where(|event| {
            let is_about_files = matches!(
                event.event.as_str(),
                "file_locked"
                    | "lease_released"
                    | "locks_reclaimed"
                    | "write_refused"
                    | "write_seen"
            );
            is_about_files && names_path(event, &path)
        })?;
        let summary = match held.is_empty() {
            true => format!("Nobody holds {path}."),
            false => held.join(" "),
        };
        Ok(answer(&path, "path", summary, &told, more))
    }

    /// Returns the newest events of the repository that fit.
    fn events_where(
        &mut self,
        fits: impl Fn(&Stored) -> bool,
    ) -> Result<(Vec<Stored>, bool), Refusal> {
        let mut before = Seq(u64::MAX);
        let (mut found, mut looked_at) = (Vec::new(), 0);
        while found.len() <= LINES_MAX && looked_at < LOOKED_AT_MAX {
            let query = EventQuery {
                repo: Some(self.caller.repo.clone()),
                before: Some(before),
                limit: PAGE,
                ..EventQuery::default()
            };
            let page = self.tx.events(&query)?;
            let Some(last) = page.last() else { break };
            before = last.seq;
            looked_at += page.len();
            found.extend(page.into_iter().filter(|event| fits(event)));
        }
        Ok(cut(found))
    }
}

fn cut(mut events: Vec<Stored>) -> (Vec<Stored>, bool) {
    let more = events.len() > LINES_MAX;
    events.truncate(LINES_MAX);
    (events, more)
}

/// Tells whether an event about files is about one that a path covers.
fn names_path(event: &Stored, path: &str) -> bool {
    let view = crate::view::event(event);
    let locks = view.fields.get("locks").and_then(Value::as_array);
    let listed = locks.into_iter().flatten().filter_map(|lock| lock.get("path")?.as_str());
    let mut named = view.text("path").into_iter().chain(listed);
    named.any(|named| super::tree::meet(named, path))
}

fn answer(of: &str, kind: &str, summary: String, events: &[Stored], more: bool) -> HistoryAnswer {
    HistoryAnswer {
        of: of.to_owned(),
        kind: kind.to_owned(),
        summary,
        lines: events.iter().map(line).collect(),
        commits: Vec::new(),
        more,
    }
}

/// Says in words what an event was.
pub(super) fn line(stored: &Stored) -> StoryLine {
    let event = crate::view::event(stored);
    StoryLine {
        seq: event.seq,
        ts: event.ts,
        who: event.agent.clone(),
        what: telling::what(&event),
        reason: telling::why(&event),
        task: event.task.clone(),
        mark: mark(&event).to_owned(),
        event: event.event,
    }
}

/// Returns the mark of an event.
fn mark(event: &EventView) -> &'static str {
    match event.event.as_str() {
        "task_created" => "queued",
        "task_claimed" => "claimed",
        "status_changed" => mark_of(event.text("new_status").unwrap_or_default()),
        "file_locked" | "lease_released" | "locks_reclaimed" => "lease",
        "review_feedback" if event.text("status") == Some("changes_requested") => "changes",
        "review_requested" | "review_taken" | "review_feedback" => "review",
        "approved" => "approved",
        "merged" => "done",
        "released" if event.text("tag").is_none() => "queued",
        "tests_run" | "gate_waived" | "item_checked" => "gate",
        "decision_asked" | "decision_answered" | "decision_expired" => "decision",
        "write_refused" => "refused",
        "write_seen" => "write_seen",
        "error" => "failed",
        _ => "note",
    }
}

/// Returns the mark of a status.
fn mark_of(status: &str) -> &'static str {
    match status {
        "queued" => "queued",
        "claimed" => "claimed",
        "in_progress" => "working",
        "review" => "review",
        "changes_requested" => "changes",
        "approved" => "approved",
        "merging" => "merging",
        "done" => "done",
        "blocked" => "blocked",
        _ => "failed",
    }
}
