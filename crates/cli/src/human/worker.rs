//! Workers in words.

use super::Screen;
use comity_api::WorkersAnswer;
use std::fmt::Write;

pub fn list(answer: &WorkersAnswer, _: &Screen) -> String {
    if answer.workers.is_empty() {
        return "No worker is there. Start one with `comity worker` on a host.\n".to_owned();
    }
    let mut out = String::new();
    for worker in &answer.workers {
        let labels: Vec<String> =
            worker.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let labels = if labels.is_empty() { "no labels".to_owned() } else { labels.join(" ") };
        let live = if worker.live.is_empty() { "-".to_owned() } else { worker.live.join(" ") };
        let seen = worker.last_seen.map(|at| at.to_string()).unwrap_or_default();
        let drain = if worker.drain { "  takes no more" } else { "" };
        let _ = writeln!(
            out,
            "{}  {labels}  {} of {}: {live}  {}  {seen}{drain}",
            worker.id,
            worker.live.len(),
            worker.capacity,
            worker.sandbox,
        );
    }
    out
}
