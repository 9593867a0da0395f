//! What is going on, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, BUSY, DIM, WARN, ago, count, paint, status_style};
use comity_api::StatusAnswer;
use comity_core::status::Status;
use serde::{Deserialize, Serialize};

/// What is going on, with where and for whom it was asked.
#[derive(Serialize, Deserialize)]
pub struct StatusReport {
    pub root: String,
    pub store: String,
    pub repo: String,
    pub me: String,
    #[serde(flatten)]
    pub status: StatusAnswer,
}

pub fn status(report: &StatusReport, screen: &Screen) -> String {
    let mut out = format!(
        "{}  {}\n",
        paint(BOLD, &report.repo),
        paint(DIM, &format!("you are {}", report.me)),
    );
    let answer = &report.status;
    let counts = counts(answer);
    if counts.is_empty() && answer.attention.is_empty() {
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
    holders(&mut out, answer, screen);
    attention(&mut out, answer, screen);
    out
}

fn counts(answer: &StatusAnswer) -> Vec<(Status, usize)> {
    let number = |status: Status| {
        let n = usize::try_from(answer.counts.of(status)).ok().filter(|n| *n > 0);
        n.map(|n| (status, n))
    };
    Status::ALL.into_iter().filter_map(number).collect()
}

fn holders(out: &mut String, answer: &StatusAnswer, screen: &Screen) {
    let agents = &answer.agents;
    let busy = agents.iter().filter(|a| !a.holds.tasks.is_empty() || !a.holds.leases.is_empty());
    let mut table = Table::new(&["", "", ""], "");
    for agent in busy {
        let holds = [agent.holds.tasks.as_slice(), agent.holds.leases.as_slice()].concat();
        let seen = agent.last_seen.map(|at| ago(at, screen)).unwrap_or_default();
        table.row(vec![
            (agent.id.clone(), BOLD),
            plain(holds.join(" ")),
            (format!("seen {seen}"), DIM),
        ]);
    }
    let rows = table.lines(screen, 1, "  ");
    if !rows.is_empty() {
        let leases = count(answer.leases, "live lease", "live leases");
        out.push_str(&format!("\nAt work ({leases})\n{rows}"));
    }
}

fn attention(out: &mut String, answer: &StatusAnswer, screen: &Screen) {
    let wanted = &answer.attention;
    if wanted.is_empty() {
        out.push_str("\nNothing needs you.\n");
        let queued = counts(answer).iter().any(|(status, _)| *status == Status::Queued);
        if queued {
            out.push_str(&format!(
                "Take the next task with: {}\n",
                paint(BUSY, "comity task claim")
            ));
        }
        return;
    }
    out.push_str("\nNeeds attention\n");
    let mut table = Table::new(&["", "", "", ""], "");
    for one in wanted {
        table.row(vec![
            (one.id.clone(), BOLD),
            (one.kind.clone(), WARN),
            plain(ago(one.since, screen)),
            plain(&one.reason),
        ]);
    }
    out.push_str(&table.lines(screen, 3, "  "));
}
