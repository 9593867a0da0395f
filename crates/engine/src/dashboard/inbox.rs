//! The inbox: what needs somebody, with what can be done about it, and what is going on beside it.

use super::{DAY, mark};
use crate::read::Reader;
use comity_api::{
    Action, Aside, At, AtWork, CrewAnswer, DoneCounts, InboxAnswer, InboxItem, LogState, Mark,
    Merging, TaskFilter, TreeEntry, Wanted,
};
use comity_core::attention::{Item, Kind};
use comity_core::decide::find_decision;
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_core::view::{self, DecisionView};
use serde_json::{Value, json};
use std::sync::PoisonError;

/// Items that are shown.
pub(super) const ITEMS_MAX: usize = 100;
/// Agents at work that are named.
pub(super) const AT_WORK_MAX: usize = 20;
/// Paths wanted by several that are named.
pub(super) const WANTED_MAX: usize = 5;

impl Reader<'_> {
    pub(crate) fn inbox(&mut self) -> Result<InboxAnswer, Refusal> {
        let all = self.attention()?;
        let count = all.len();
        let mut items = Vec::new();
        for item in all.into_iter().take(ITEMS_MAX) {
            items.push(self.inbox_item(item)?);
        }
        Ok(InboxAnswer {
            seq: self.seq(),
            at: self.at(),
            now: self.now(),
            me: self.caller.actor.to_string(),
            count,
            more: count - items.len(),
            items,
            aside: self.aside()?,
        })
    }

    fn inbox_item(&mut self, item: Item) -> Result<InboxItem, Refusal> {
        let task = item.task.as_ref().map(|id| self.find(id.as_str())).transpose()?;
        let decision = match item.kind {
            Kind::Decision | Kind::Exhausted | Kind::Stuck | Kind::Budget => {
                Some(self.question(&item.id)?)
            }
            _ => None,
        };
        let now = self.now();
        let from = decision.as_ref().map_or(item.since, |decision| decision.created_at);
        let left = item.deadline.map(|at| share_left(from, at, now));
        let has_gates = item.kind == Kind::Review;
        let gates: Vec<Mark> = match &task {
            Some(task) if has_gates => view::gates(task, self.policy).iter().map(mark).collect(),
            _ => Vec::new(),
        };
        let actions = match self.at() {
            // The past cannot be changed.
            Some(_) => Vec::new(),
            None => actions(&item, decision.as_ref()),
        };
        let is_about_task = item.kind == Kind::Exhausted;
        let title = match (&decision, &item.title, item.kind) {
            (Some(_), Some(title), Kind::Exhausted) => title.clone(),
            (Some(decision), ..) => decision.question.clone(),
            (None, _, Kind::WriteSeen) => {
                format!("{} was written by somebody else", item.path.as_deref().unwrap_or("a file"))
            }
            (None, _, Kind::Silent | Kind::StrayLease | Kind::Clock) => item.reason.clone(),
            (None, Some(title), _) => title.clone(),
            (None, None, _) => item.reason.clone(),
        };
        let mut reason = reason(&item, task.as_ref(), decision.as_ref(), &self.caller.actor);
        if reason == title {
            reason.clear();
        }
        Ok(InboxItem {
            key: format!("{}:{}", item.kind, item.id),
            kind: item.kind.to_string(),
            word: item.kind.words().to_owned(),
            id: item.id,
            task: item.task.map(|id| id.to_string()),
            title,
            about: item.title.filter(|_| decision.is_some() && !is_about_task),
            reason,
            since: item.since,
            deadline: item.deadline,
            left,
            urgent: item.urgent,
            agent: item.agent.map(|agent| agent.to_string()),
            decision,
            gates,
            path: item.path,
            event: item.event.map(|seq| seq.0),
            actions,
            next: item.next,
            repo: None,
        })
    }

    fn question(&mut self, id: &str) -> Result<DecisionView, Refusal> {
        let repo = &self.caller.repo;
        let found = crate::batch::settle(self.tx, &mut self.facts, |facts| {
            find_decision(facts, repo, id).cloned()
        })?;
        Ok(view::decision(&found))
    }

    fn aside(&mut self) -> Result<Aside, Refusal> {
        let CrewAnswer { counts, agents, .. } = self.crew()?;
        let at_work = agents.iter().filter(|member| member.group == "at_work");
        let at_work = at_work.filter_map(|member| {
            Some(AtWork {
                agent: member.id.clone(),
                task: member.task.clone()?,
                title: member.title.clone().unwrap_or_default(),
                doing: member.doing.clone(),
                note: member.now_doing.clone(),
                repo: None,
            })
        });
        let at_work = at_work.take(AT_WORK_MAX).collect();
        let wanted = self.tree()?.entries.into_iter().filter_map(contended);
        let wanted = wanted.take(WANTED_MAX).collect();
        let head = self.tx.head()?;
        let verified = *self.memo.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let log = LogState {
            events: head.seq.0,
            head: head.hash.to_string(),
            verified_at: verified.map(|(at, _)| at),
            ok: verified.map(|(_, ok)| ok),
        };
        Ok(Aside {
            agents: counts,
            at_work,
            wanted,
            merging: self.merging()?,
            done_24h: self.done_lately()?,
            log,
            last_event: (head.seq.0 > 0).then_some(At { seq: head.seq.0, ts: head.ts }),
        })
    }

    fn merging(&mut self) -> Result<Vec<Merging>, Refusal> {
        let filter = TaskFilter { statuses: vec![Status::Merging], ..TaskFilter::default() };
        let (tasks, _) = self.task_rows(&filter, 0, AT_WORK_MAX)?;
        let repo = self.caller.repo.to_string();
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let one = |task: Task| {
            let last = past.number(task.id.as_str()).and_then(|id| past.steps_of(id).next_back());
            Merging {
                agent: last.map(|step| past.name(step.by).to_owned()),
                since: last.map_or(task.updated_at, |step| step.ts),
                task: task.id.to_string(),
                repo: None,
            }
        };
        Ok(tasks.into_iter().map(one).collect())
    }

    /// Says how far what was done in the last day can be trusted.
    fn done_lately(&mut self) -> Result<DoneCounts, Refusal> {
        let (repo, now) = (self.caller.repo.to_string(), self.now());
        let ids: std::collections::BTreeSet<String> = {
            let fold = self.fold()?;
            let past = fold.of(&repo);
            let recent = past.steps.iter().rev().take_while(|step| now.since(step.ts) < DAY);
            let done = recent.filter(|step| step.status == Status::Done);
            done.map(|step| past.name(step.task).to_owned()).collect()
        };
        let mut counts = DoneCounts::default();
        for id in ids {
            let task = self.find(&id)?;
            if task.status != Status::Done {
                continue;
            }
            let gates = view::gates(&task, self.policy);
            let marks: Vec<Mark> =
                gates.iter().filter(|gate| gate.name != "review").map(mark).collect();
            counts.tasks += 1;
            if marks.iter().any(|mark| mark.mark == "waived") || task.unmerged.is_some() {
                counts.waived += 1;
            } else if !marks.is_empty() && marks.iter().all(|mark| mark.mark == "verified") {
                counts.verified += 1;
            } else {
                counts.partly += 1;
            }
        }
        Ok(counts)
    }
}

fn share_left(from: Timestamp, until: Timestamp, now: Timestamp) -> f64 {
    let (left, whole) = (until.since(now).ms(), until.since(from).ms());
    #[expect(clippy::cast_precision_loss, reason = "a share of a ring on a page")]
    let share = left as f64 / whole.max(1) as f64;
    (share.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

fn contended(entry: TreeEntry) -> Option<Wanted> {
    let first = entry.held.first()?;
    let is_wanted = !entry.wanted_by.is_empty() || entry.refused_24h > 0;
    is_wanted.then(|| Wanted {
        held_by: first.agent.clone(),
        task: first.task.clone(),
        path: entry.path,
        wanted_by: entry.wanted_by,
        refused_24h: entry.refused_24h,
        repo: None,
    })
}

fn reason(
    item: &Item,
    task: Option<&Task>,
    decision: Option<&DecisionView>,
    me: &AgentId,
) -> String {
    let (title, agent) = (item.title.as_deref().unwrap_or_default(), item.agent.as_ref());
    let without_title = || {
        let rest = item.reason.strip_prefix(title).unwrap_or(&item.reason);
        rest.trim_start_matches([':', ' ']).to_owned()
    };
    match (item.kind, decision, task) {
        (Kind::Exhausted, Some(_), Some(task)) => {
            let last = task.last_error.as_deref().unwrap_or("no reason given");
            format!("{} attempts failed, the last with: {last}", task.attempts)
        }
        (_, Some(decision), _) => format!("asked by {}, who waits", decision.asked_by),
        (Kind::RedGate, _, Some(task)) => {
            let by = task.reviewer.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("{} after approval{by}", without_title())
        }
        (Kind::Blocked, _, Some(_)) => {
            let by = agent.map_or_else(String::new, |by| format!(" · stopped by {by}"));
            format!("{}{by}", without_title().replacen("needs: ", "needs ", 1))
        }
        (Kind::Review, _, Some(task)) => {
            let by = agent.map_or_else(String::new, ToString::to_string);
            let who = match &task.reviewer {
                Some(reviewer) if reviewer == me => "asks for you".to_owned(),
                Some(reviewer) => format!("asks {reviewer}"),
                None => "· nobody has taken it".to_owned(),
            };
            let round =
                if task.round > 1 { format!(" · round {}", task.round) } else { String::new() };
            format!("{by} {who}{round}")
        }
        (Kind::Merge, _, Some(task)) => {
            let by = task.reviewer.as_ref().map(ToString::to_string);
            let by = by.as_deref().unwrap_or("a person");
            // Approval is the queue (ADR 54).
            let queued = if task.merge.is_some() { " · in the merge queue" } else { "" };
            format!("approved by {by}{queued}")
        }
        (Kind::Silent, _, Some(task)) => task.title.clone(),
        _ => without_title(),
    }
}

fn action(label: &str, operation: &str, path: &str, body: &Value, wants: &[&str]) -> Action {
    Action {
        label: label.to_owned(),
        operation: operation.to_owned(),
        method: "POST".to_owned(),
        path: format!("/api/v1/{path}"),
        body: body.as_object().cloned().unwrap_or_default(),
        wants: wants.iter().map(|field| (*field).to_owned()).collect(),
        note: None,
    }
}

/// Returns what a person may do about an item.
fn actions(item: &Item, decision: Option<&DecisionView>) -> Vec<Action> {
    if let Some(decision) = decision {
        return answers(decision, item.kind == Kind::Exhausted);
    }
    let id = &item.id;
    let verb = |label: &str, verb: &str, wants: &[&str]| {
        action(label, &format!("task.{verb}"), &format!("tasks/{id}/{verb}"), &json!({}), wants)
    };
    // What only shows something: the page goes there.
    let look = |label: &str, operation: &str, path: &str, body: &Value| Action {
        method: "GET".to_owned(),
        ..action(label, operation, path, body, &[])
    };
    let task = item.task.as_ref().map(ToString::to_string).unwrap_or_default();
    let see = |label: &str| look(label, "task.panel", &format!("tasks/{task}/panel"), &json!({}));
    match item.kind {
        Kind::Review => vec![
            verb("Approve", "approve", &[]),
            verb("Request changes", "request-changes", &["reason"]),
        ],
        Kind::RedGate => {
            vec![see("See output"), verb("Send back", "request-changes", &["reason"])]
        }
        Kind::RunPaused => {
            let run = |label: &str, verb: &str| {
                action(label, &format!("run.{verb}"), &format!("runs/{id}/{verb}"), &json!({}), &[])
            };
            vec![run("Resume", "resume"), run("Stop", "stop")]
        }
        Kind::RunWaiting => vec![see("See task")],
        Kind::MergeEjected => vec![see("See output")],
        Kind::WorkerLost => vec![look("See agents", "crew", "crew", &json!({}))],
        Kind::Blocked => {
            vec![verb("Unblock", "unblock", &[]), verb("Abandon", "abandon", &["reason"])]
        }
        Kind::Failed => {
            vec![verb("Queue again", "requeue", &[]), verb("Abandon", "abandon", &["reason"])]
        }
        Kind::Merge => vec![verb("Start the merge", "merge", &[])],
        Kind::SentBack => vec![verb("Continue", "start", &[])],
        Kind::Silent => vec![action(
            "Release now",
            "task.release",
            &format!("tasks/{id}/release"),
            &json!({"reason": "no sign of life"}),
            &[],
        )],
        Kind::StrayLease => {
            let owner = item.agent.as_ref().map(ToString::to_string);
            let body = json!({"ids": [id], "owner": owner});
            vec![action("Release now", "lease.release", "leases/release", &body, &[])]
        }
        Kind::WriteSeen => {
            vec![look("Why", "why", "why", &json!({"of": item.path}))]
        }
        Kind::Decision
        | Kind::Exhausted
        | Kind::Stuck
        | Kind::Budget
        | Kind::Clock
        | Kind::TargetDirty => Vec::new(),
    }
}

/// What approvals are answered with.
const APPROVALS: [(&str, &str, &[&str]); 3] = [
    ("approved", "Approve", &[]),
    ("approved_with_changes", "With changes", &["answer"]),
    ("rejected", "Reject", &[]),
];

/// The answers that a question offers. Where the row is about the task, the key is the word and the rest is its meaning.
fn answers(decision: &DecisionView, by_key: bool) -> Vec<Action> {
    let path = format!("decisions/{}/answer", decision.id);
    let one = |key: &str, label: &str, means: Option<&str>, wants: &[&str]| {
        let answer = action(label, "decision.answer", &path, &json!({"answer": key}), wants);
        let is_default = decision.default.as_deref() == Some(key);
        let at = decision.expires_at.filter(|_| is_default);
        let by_default = at.map(|at| format!("Default, applies at {at}"));
        Action { note: by_default.or(means.map(str::to_owned)), ..answer }
    };
    if decision.options.is_empty() && decision.r#type == "approval" {
        return APPROVALS.iter().map(|(key, label, wants)| one(key, label, None, wants)).collect();
    }
    let options = decision.options.iter();
    options
        .map(|option| match (&option.label, by_key) {
            (Some(label), false) => one(&option.key, label, option.description.as_deref(), &[]),
            (None, false) => one(&option.key, &option.key, option.description.as_deref(), &[]),
            (means, true) => one(&option.key, &capital(&option.key), means.as_deref(), &[]),
        })
        .collect()
}

fn capital(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::hint::Hint;
    use comity_core::ids::TaskId;

    fn item(kind: Kind, id: &str) -> Item {
        Item {
            kind,
            id: id.to_owned(),
            task: TaskId::parse("T1").ok(),
            title: None,
            reason: String::new(),
            since: Timestamp::from_ms(0),
            deadline: None,
            urgent: false,
            agent: None,
            path: None,
            event: None,
            next: Hint::default(),
        }
    }

    #[test]
    fn whatever_needs_somebody_says_what_can_be_done_unless_it_is_done_on_the_host() {
        // The first four are questions, which have their answers; the clock and a work tree are put right on their host.
        let asked = [Kind::Decision, Kind::Exhausted, Kind::Stuck, Kind::Budget];
        let on_host = [Kind::Clock, Kind::TargetDirty];
        for kind in Kind::ALL {
            let has_none = actions(&item(kind, "R1"), None).is_empty();
            assert_eq!(has_none, asked.contains(&kind) || on_host.contains(&kind), "{kind}");
        }
        let paused = actions(&item(Kind::RunPaused, "R1"), None);
        let paths: Vec<&str> = paused.iter().map(|action| action.path.as_str()).collect();
        assert_eq!(paths, ["/api/v1/runs/R1/resume", "/api/v1/runs/R1/stop"]);
        let red = actions(&item(Kind::RedGate, "T1"), None);
        assert_eq!((red[0].label.as_str(), red[0].method.as_str()), ("See output", "GET"));
    }
}
