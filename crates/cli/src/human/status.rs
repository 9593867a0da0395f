//! What is going on, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, BUSY, DIM, WARN, count, list, paint, status_style, text};
use comity_core::status::Status;
use comity_core::view::AgentView;
use serde_json::Value;

pub(super) fn status(answer: &Value, screen: &Screen) -> String {
    let mut out = format!(
        "{}  {}\n",
        paint(BOLD, text(answer, "repo")),
        paint(DIM, &format!("you are {}", text(answer, "me"))),
    );
    let counts = counts(answer);
    if counts.is_empty() && list(answer, "attention").is_empty() {
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

fn counts(answer: &Value) -> Vec<(Status, usize)> {
    let number = |status: Status| {
        let n = answer.get("counts")?.get(status.as_str())?.as_u64()?;
        usize::try_from(n).ok().filter(|n| *n > 0).map(|n| (status, n))
    };
    Status::ALL.into_iter().filter_map(number).collect()
}

fn holders(out: &mut String, answer: &Value, screen: &Screen) {
    let read = |value: &Value| serde_json::from_value::<AgentView>(value.clone()).ok();
    let agents: Vec<AgentView> = list(answer, "agents").iter().filter_map(read).collect();
    let busy = agents.iter().filter(|a| !a.holds.tasks.is_empty() || !a.holds.leases.is_empty());
    let mut table = Table::new(&["", "", ""], "");
    for agent in busy {
        let holds = [agent.holds.tasks.as_slice(), agent.holds.leases.as_slice()].concat();
        let seen = agent.last_seen.map(|at| super::words::ago(at, screen)).unwrap_or_default();
        table.row(vec![
            (agent.id.clone(), BOLD),
            plain(holds.join(" ")),
            (format!("seen {seen}"), DIM),
        ]);
    }
    let rows = table.lines(screen, 1, "  ");
    if !rows.is_empty() {
        let leases = answer.get("leases").and_then(Value::as_u64).unwrap_or(0);
        let leases = count(usize::try_from(leases).unwrap_or(0), "live lease", "live leases");
        out.push_str(&format!("\nAt work ({leases})\n{rows}"));
    }
}

fn attention(out: &mut String, answer: &Value, screen: &Screen) {
    let wanted = list(answer, "attention");
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
            (text(one, "id").to_owned(), BOLD),
            (text(one, "kind").to_owned(), WARN),
            plain(super::task::since(one, screen)),
            plain(text(one, "reason")),
        ]);
    }
    out.push_str(&table.lines(screen, 3, "  "));
}
