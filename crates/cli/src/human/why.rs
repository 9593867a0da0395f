//! How something came to be, in words.

use super::Screen;
use super::words::{BOLD, DIM, paint, wrap};
use crate::local_time::date_and_time;
use comity_api::HistoryAnswer;
use std::fmt::Write;

pub fn why(answer: &HistoryAnswer, screen: &Screen) -> String {
    let mut out = format!("{}\n", paint(BOLD, &answer.summary));
    for line in &answer.lines {
        let (seq, when) = (line.seq, date_and_time(line.ts));
        let task = line.task.as_deref().filter(|task| *task != answer.of);
        let task = task.map(|task| format!(" ({task})")).unwrap_or_default();
        let reason = line.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let says = format!("{} {}{task}{reason}", line.who, line.what);
        let _ = match screen.terminal {
            true => {
                let front = format!("{seq:>6}  {when}");
                let says = wrap(&says, &" ".repeat(front.len() + 2), screen.columns);
                writeln!(out, "{}  {}", paint(DIM, &front), says.trim())
            }
            false => writeln!(out, "{seq}\t{when}\t{}\t{}{task}{reason}", line.who, line.what),
        };
    }
    if answer.more {
        out.push_str("older events: comity log\n");
    }
    for commit in &answer.commits {
        let id = commit.commit.get(..10).unwrap_or(&commit.commit);
        let task = commit.task.as_ref().map(|task| format!(" [{task}]")).unwrap_or_default();
        let _ = writeln!(out, "{id}  {}  {}{task}", date_and_time(commit.ts), commit.subject);
    }
    out
}
