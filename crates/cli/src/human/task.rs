//! Tasks in words.

use super::Screen;
use super::post::from_others;
use super::table::{Table, plain};
use super::words::{
    BAD, BOLD, BUSY, DIM, GOOD, PLAIN, ago, count, cut, left, more, paint, short_sha, status_style,
    wrap,
};
use crate::terminal::Ink;
use crate::wording::CommandLine;
use comity_api::{
    BriefedTask, ClaimAnswer, LandAnswer, SnapshotsAnswer, SubmitAnswer, TaskAnswer, TasksAnswer,
    WhyAnswer,
};
use comity_core::decide::REVIEW_GATE;
use comity_core::status::Status;
use comity_core::task::CheckState;
use comity_core::view::TaskView;
use comity_core::why::Why;
use serde::{Deserialize, Serialize};

pub fn list(answer: &TasksAnswer, screen: &Screen) -> String {
    let tasks = &answer.tasks;
    if tasks.is_empty() && screen.terminal {
        return "No tasks. Create one with: comity task create TITLE\n".to_owned();
    }
    let mut table = Table::new(&["ID", "STATUS", "PRI", "ASSIGNEE", "TITLE"], "TITLE");
    let mut any_ready = false;
    for task in tasks {
        let title = match (&task.needs, screen.terminal) {
            (Some(needs), true) => format!("{} (needs {needs})", task.title),
            _ => task.title.clone(),
        };
        let ready = task.ready;
        any_ready |= ready;
        let (status, ink) = match ready && screen.terminal {
            true => ("● ready".to_owned(), GOOD),
            false => (task.status.to_string(), status_style(task.status)),
        };
        table.row(vec![
            (task.id.clone(), BOLD),
            (status, ink),
            plain(task.priority.clone()),
            plain(task.assignee.clone().unwrap_or_else(|| "-".to_owned())),
            plain(title),
        ]);
    }
    let mut out = table.render(screen) + &more(answer.next.as_ref(), screen);
    if any_ready && screen.terminal {
        let claim = paint(BUSY, "comity task claim");
        out.push_str(&format!("\nTake the best ready one with: {claim}\n"));
    }
    out
}

pub fn lines(answer: &TasksAnswer, screen: &Screen) -> String {
    answer.tasks.iter().map(|task| one_line(task, screen)).collect()
}

pub fn line(answer: &TaskAnswer, screen: &Screen) -> String {
    one_line(&answer.task, screen)
}

pub fn briefed(answer: &BriefedTask, screen: &Screen) -> String {
    one_line(&answer.task, screen) + &from_others(answer.brief.as_ref(), screen)
}

pub fn submitted(answer: &SubmitAnswer, screen: &Screen) -> String {
    one_line(&answer.task, screen)
}

pub(super) fn one_line(task: &TaskView, screen: &Screen) -> String {
    let status = task.status.to_string();
    let who = task.assignee.as_ref().map(|who| format!("  {who}")).unwrap_or_default();
    let used = task.id.len() + status.len() + who.len() + 4;
    let title = if screen.terminal {
        cut(&task.title, screen.columns.saturating_sub(used).max(12))
    } else {
        task.title.clone()
    };
    let id = paint(BOLD, &task.id);
    let status = paint(status_style(task.status), &status);
    format!("{id}  {status}  {title}{}\n", paint(DIM, &who))
}

/// A labelled line; nothing when there is nothing to say.
fn field(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<10}"))));
    }
}

fn optional(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

pub(super) fn full(task: &TaskView, screen: &Screen) -> String {
    let mut out = format!(
        "{}  {}  {}\n",
        paint(BOLD, &task.id),
        paint(status_style(task.status), task.status.as_str()),
        task.priority,
    );
    for line in wrap(&task.title, "  ", screen.columns).lines() {
        out.push_str(&format!("{}\n", paint(BOLD, line)));
    }
    out.push('\n');
    if !task.description.is_empty() {
        out.push_str(&wrap(&task.description, "  ", screen.columns));
        out.push('\n');
    }
    people(&mut out, task, screen);
    plan(&mut out, task);
    work(&mut out, task);
    let settled = |state: CheckState| state.is_settled();
    let gates = task.gates.iter().map(|gate| {
        let note = gate.by.clone().or_else(|| gate.reason.clone()).unwrap_or_default();
        (gate.state, gate.name.clone(), note)
    });
    let met = task.gates.iter().filter(|gate| settled(gate.state)).count();
    checklist(&mut out, "Gates", gates.collect(), met, screen);
    let dod = task.dod.iter().map(|item| {
        let by = item.by.as_ref().map(ToString::to_string);
        (item.state, item.text.clone(), by.unwrap_or_default())
    });
    let met = task.dod.iter().filter(|item| settled(item.state)).count();
    checklist(&mut out, "Checklist", dod.collect(), met, screen);
    let steps = task.subtasks.iter().map(|step| {
        let state = if step.complete { CheckState::Met } else { CheckState::Open };
        (state, format!("{} {}", step.id, step.text), String::new())
    });
    let complete = task.subtasks.iter().filter(|step| step.complete).count();
    checklist(&mut out, "Steps", steps.collect(), complete, screen);
    out
}

fn people(out: &mut String, task: &TaskView, screen: &Screen) {
    field(out, "assignee", optional(task.assignee.as_ref()));
    field(out, "reviewer", optional(task.reviewer.as_ref()));
    if let Some(claim) = &task.claim {
        let host = claim.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        let text = format!(
            "{}{host}, fence {}, ends {}",
            claim.agent,
            claim.fence,
            left(claim.expires_at, screen)
        );
        field(out, "claim", &text);
        if let Some(deadline) = claim.deadline {
            field(out, "deadline", &left(deadline, screen));
        }
    }
    field(out, "needs", optional(task.needs.as_ref()));
    if let Some(at) = task.retry_at {
        field(out, "retry", &left(at, screen));
    }
    field(out, "decisions", &task.decisions.join(", "));
    let created = format!("{} by {}", ago(task.created_at, screen), task.created_by);
    field(out, "created", &created);
    let version = format!("{}, version {}", ago(task.updated_at, screen), task.version);
    field(out, "updated", &version);
}

fn plan(out: &mut String, task: &TaskView) {
    field(out, "type", optional(task.r#type.as_ref()));
    if task.deliverable != "code" {
        field(out, "delivers", &task.deliverable);
    }
    field(out, "role", &task.role.map(|role| role.to_string()).unwrap_or_default());
    field(out, "labels", &task.labels.join(", "));
    field(out, "depends on", &task.dependencies.join(", "));
    field(out, "blockers", &task.blockers.join("; "));
    field(out, "files", &task.files.join("  "));
    field(out, "parent", optional(task.parent.as_ref()));
    field(out, "epic", optional(task.epic.as_ref()));
    field(out, "prd", optional(task.prd.as_ref()));
    field(out, "initiative", optional(task.initiative.as_ref()));
    for requirement in &task.requirements {
        field(out, "requires", requirement);
    }
    let mut rules = Vec::new();
    if let Some(most) = task.constraints.max_files {
        rules.push(format!("at most {}", count(most as usize, "file", "files")));
    }
    if task.constraints.no_git_commit {
        rules.push("no commits".to_owned());
    }
    if task.constraints.no_new_deps {
        rules.push("no new dependencies".to_owned());
    }
    if !task.constraints.allow_delete.is_empty() {
        rules.push(format!("may delete {}", task.constraints.allow_delete.join(" ")));
    }
    field(out, "limits", &rules.join(", "));
    for (key, value) in &task.context {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        field(out, "context", &format!("{key} = {value}"));
    }
    for (provider, keys) in &task.external_ids {
        field(out, "link", &format!("{provider} {keys}"));
    }
}

fn work(out: &mut String, task: &TaskView) {
    field(out, "branch", optional(task.branch.as_ref()));
    field(out, "commit", short_sha(optional(task.commit.as_ref())));
    field(out, "pr", optional(task.pr.as_ref()));
    field(out, "merged", short_sha(optional(task.merged_sha.as_ref())));
    field(out, "unmerged", optional(task.unmerged.as_ref()));
    if task.round > 0 {
        field(out, "round", &task.round.to_string());
    }
    if task.attempts > 0 {
        field(out, "attempts", &format!("{} of {}", task.attempts, task.max_attempts));
    }
}

fn checklist(
    out: &mut String,
    name: &str,
    items: Vec<(CheckState, String, String)>,
    met: usize,
    screen: &Screen,
) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!("\n  {} {met} of {}\n", paint(BOLD, name), items.len()));
    let mut table = Table::new(&["", "", ""], "");
    for (state, text, note) in items {
        let (mark, style) = mark(state);
        table.row(vec![(mark.to_owned(), style), plain(text), (note, DIM)]);
    }
    out.push_str(&table.lines(screen, 1, "    "));
}

/// The sign of a gate, an item or a step.
pub(super) fn mark(state: CheckState) -> (&'static str, Ink) {
    match state {
        CheckState::Open => ("·", PLAIN),
        CheckState::Met => ("✓", GOOD),
        CheckState::Failed => ("✗", BAD),
        CheckState::Waived => ("~", DIM),
    }
}

pub fn claim(answer: &ClaimAnswer, screen: &Screen) -> String {
    let task = &answer.task;
    let fence = answer.fence.map(|fence| fence.to_string()).unwrap_or_default();
    let branch = optional(answer.branch.as_ref());
    let title = cut(&task.title, screen.columns.saturating_sub(task.id.len() + 10));
    let mut out = format!("Claimed {}  {}\n", paint(BOLD, &task.id), paint(BOLD, &title));
    field(&mut out, "fence", &fence);
    if let Some(claim) = &task.claim {
        let text = format!("{} unless you show a sign of life", left(claim.expires_at, screen));
        field(&mut out, "ends", &text);
    }
    field(&mut out, "branch", branch);
    if let Some(feedback) = &task.feedback {
        field(&mut out, "feedback", &format!("{}: {}", feedback.by, feedback.words()));
    }
    for lease in &answer.leases {
        field(&mut out, "lease", &format!("{}  {}", lease.lock_id, lease.path));
    }
    let open: Vec<&str> =
        task.gates.iter().filter(|g| g.required).map(|g| g.name.as_str()).collect();
    field(&mut out, "gates", &open.join(", "));
    if !task.description.is_empty() {
        out.push('\n');
        out.push_str(&wrap(&task.description, "  ", screen.columns));
    }
    out.push_str(&from_others(answer.brief.as_ref(), screen));
    out.push_str("\nNext:\n");
    let mut steps = vec![format!("export COMITY_FENCE={fence}")];
    steps.extend(answer.checkout.clone());
    if task.status == Status::Claimed {
        steps.push(format!("comity task start {}", task.id));
    }
    // Evidence goes with the work: without it nobody can approve the task.
    let gates = open.iter().filter(|gate| **gate != REVIEW_GATE);
    let gates: String = gates.map(|gate| format!(" --gate {gate}=pass|fail")).collect();
    steps.push(format!("comity task submit {}{gates}", task.id));
    for step in steps {
        out.push_str(&format!("  {}\n", paint(BUSY, &step)));
    }
    out
}

/// An explanation with its next step in the words of the command line.
#[derive(Serialize, Deserialize)]
pub struct Explained {
    why: Explanation,
}

#[derive(Serialize, Deserialize)]
struct Explanation {
    id: String,
    status: Status,
    ready: bool,
    summary: String,
    reasons: Vec<String>,
    next: String,
}

impl From<WhyAnswer> for Explained {
    fn from(answer: WhyAnswer) -> Explained {
        let Why { id, status, ready, summary, reasons, next } = answer.why;
        let next = next.worded(&CommandLine);
        Explained { why: Explanation { id, status, ready, summary, reasons, next } }
    }
}

/// Explanations of several tasks, in the order they were asked for.
#[derive(Serialize, Deserialize)]
pub struct SeveralExplained {
    tasks: Vec<Explanation>,
}

impl From<Vec<Explained>> for SeveralExplained {
    fn from(each: Vec<Explained>) -> SeveralExplained {
        SeveralExplained { tasks: each.into_iter().map(|one| one.why).collect() }
    }
}

pub fn why_each(answer: &SeveralExplained, screen: &Screen) -> String {
    let told: Vec<String> = answer.tasks.iter().map(|why| explanation(why, screen)).collect();
    told.join("\n")
}

pub fn why(answer: &Explained, screen: &Screen) -> String {
    explanation(&answer.why, screen)
}

fn explanation(why: &Explanation, screen: &Screen) -> String {
    let mut out = format!("{}\n", paint(BOLD, &why.summary));
    for reason in &why.reasons {
        let wrapped = wrap(reason, "    ", screen.columns);
        out.push_str(&format!("  - {}", wrapped.trim_start()));
    }
    if !why.next.is_empty() {
        out.push_str(&format!("Next: {}\n", paint(BUSY, &why.next)));
    }
    out
}

pub fn landed(answer: &LandAnswer, screen: &Screen) -> String {
    let (merged, branch) = (short_sha(&answer.merged), &answer.branch);
    let pushed = if answer.pushed { ", pushed" } else { "" };
    let gates: Vec<&str> = answer.gates.iter().map(|gate| gate.name.as_str()).collect();
    let gates = match gates.is_empty() {
        true => String::new(),
        false => format!("; passed there: {}", gates.join(", ")),
    };
    let line = one_line(&answer.task, screen);
    line + &paint(DIM, &format!("landed on {branch} as {merged}{pushed}{gates}")) + "\n"
}

pub fn snapshots(answer: &SnapshotsAnswer, _: &Screen) -> String {
    let all = answer.snapshot.iter().chain(&answer.snapshots);
    all.map(|one| format!("{}  {}  {}\n", short_sha(&one.commit), one.at, one.name)).collect()
}
