//! What is going on, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, BUSY, DIM, WARN, ago, count, left, paint, status_style, wrap};
use crate::wording::CommandLine;
use comity_api::{Attention, Counts, StatusAnswer, Working};
use comity_core::money::Usd;
use comity_core::status::Status;
use comity_core::time::Timestamp;
use comity_core::view::AgentView;
use comity_project::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is going on, with where and for whom it was asked.
#[derive(Serialize, Deserialize)]
pub struct StatusReport {
    pub root: String,
    pub store: String,
    pub repo: String,
    pub me: String,
    pub counts: Counts,
    pub agents: Vec<AgentView>,
    pub leases: usize,
    pub decisions_open: usize,
    pub working: Vec<Working>,
    pub attention: Vec<Wanted>,
    pub runs: BTreeMap<String, u64>,
    pub spent_today_usd: Usd,
}

/// Something that needs somebody, with its next step in the words of the command line.
#[derive(Serialize, Deserialize)]
pub struct Wanted {
    kind: String,
    id: String,
    title: Option<String>,
    reason: String,
    since: Timestamp,
    next: String,
}

impl StatusReport {
    pub fn of(context: &Context, status: StatusAnswer) -> StatusReport {
        let StatusAnswer {
            counts,
            agents,
            leases,
            decisions_open,
            working,
            attention,
            runs,
            spent_today_usd,
        } = status;
        let worded = |one: Attention| {
            let Attention { kind, id, title, reason, since, next } = one;
            Wanted { kind, id, title, reason, since, next: next.worded(&CommandLine) }
        };
        StatusReport {
            root: context.root.dir.display().to_string(),
            store: context.asked_url(),
            repo: context.repo.to_string(),
            me: context.actor.to_string(),
            counts,
            agents,
            leases,
            decisions_open,
            working,
            attention: attention.into_iter().map(worded).collect(),
            runs,
            spent_today_usd,
        }
    }
}

pub fn status(report: &StatusReport, screen: &Screen) -> String {
    let mut out = format!(
        "{}  {}\n",
        paint(BOLD, &report.repo),
        paint(DIM, &format!("you are {}", report.me)),
    );
    let counts = counts(report);
    if counts.is_empty() && report.attention.is_empty() {
        out.push_str("\nNothing planned yet. Start with:\n");
        let first = "comity task create 'What is to be done' --file 'src/**'";
        out.push_str(&format!("  {}\n", paint(BUSY, first)));
        return out;
    }
    let words: Vec<String> = counts
        .iter()
        .map(|(status, n)| paint(status_style(*status), &format!("{n} {status}")))
        .collect();
    let total: usize = counts.iter().map(|(_, n)| n).sum();
    let colon = if words.is_empty() { "" } else { ": " };
    let total = count(total, "task", "tasks");
    out.push_str(&format!("{total}{colon}{}\n", words.join(", ")));
    if !report.runs.is_empty() {
        let runs: Vec<String> =
            report.runs.iter().map(|(state, n)| format!("{n} {state}")).collect();
        out.push_str(&format!("runs: {}; {} today\n", runs.join(", "), report.spent_today_usd));
    }
    holders(&mut out, report, screen);
    attention(&mut out, report, screen);
    out
}

fn counts(report: &StatusReport) -> Vec<(Status, usize)> {
    let number = |status: Status| {
        let n = usize::try_from(report.counts.of(status)).ok().filter(|n| *n > 0);
        n.map(|n| (status, n))
    };
    Status::ALL.into_iter().filter_map(number).collect()
}

fn holders(out: &mut String, report: &StatusReport, screen: &Screen) {
    let mut table = Table::new(&["", "", "", "", ""], "");
    for one in &report.working {
        table.row(vec![
            (one.id.clone(), BOLD),
            plain(one.title.clone()),
            plain(one.agent.clone()),
            (one.status.to_string(), status_style(one.status)),
            (format!("ends {}", left(one.expires_at, screen)), DIM),
        ]);
    }
    // Who holds leases alone works without a task.
    for agent in report.agents.iter().filter(|agent| agent.holds.tasks.is_empty()) {
        if !agent.holds.leases.is_empty() {
            let seen = agent.last_seen.map(|at| format!("seen {}", ago(at, screen)));
            table.row(vec![
                ("-".to_owned(), DIM),
                plain(format!("files: {}", agent.holds.leases.join(" "))),
                plain(agent.id.clone()),
                plain(""),
                (seen.unwrap_or_default(), DIM),
            ]);
        }
    }
    let rows = table.lines(screen, 1, "  ");
    if !rows.is_empty() {
        let leases = count(report.leases, "live lease", "live leases");
        out.push_str(&format!("\n{} ({leases})\n{rows}", paint(BOLD, "At work")));
    }
}

fn attention(out: &mut String, report: &StatusReport, screen: &Screen) {
    if report.attention.is_empty() {
        out.push_str("\nNothing needs you.\n");
        let queued = counts(report).iter().any(|(status, _)| *status == Status::Queued);
        if queued {
            out.push_str(&format!(
                "Take the next task with: {}\n",
                paint(BUSY, "comity task claim")
            ));
        }
        return;
    }
    out.push_str(&format!("\n{}\n", paint(BOLD, "Needs attention")));
    let mut table = Table::new(&["", "", "", ""], "");
    for one in &report.attention {
        table.row(vec![
            (one.id.clone(), BOLD),
            (one.kind.clone(), WARN),
            plain(ago(one.since, screen)),
            plain(&one.reason),
        ]);
    }
    let rows = table.lines(screen, 3, "  ");
    for (row, one) in rows.lines().zip(&report.attention) {
        out.push_str(&format!("{row}\n"));
        for line in wrap(&one.next, "      ", screen.columns).lines() {
            out.push_str(&format!("{}\n", paint(BUSY, line)));
        }
    }
}
