//! What a server costs while nothing happens: fifty agents that hold tasks, and one open page.

use super::Running;
use super::http::Conversation;
use crate::cli::{Project, binary, fill_tasks};
use crate::process;
use crate::table::Table;
use crate::{Outcome, Scale};
use std::time::{Duration, Instant};

const AGENTS: usize = 50;
/// A page asks for what changes by time alone this often.
const ROUND: Duration = Duration::from_secs(30);

/// The time on all cores that a process has used, and the memory that it holds, in MB.
fn used(pid: u32) -> Outcome<(Duration, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after = stat.rsplit_once(')').ok_or("no stat")?.1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // The kernel counts in hundredths of a second.
    let time = Duration::from_millis((ticks(11) + ticks(12)) * 10);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok((time, kilobytes * 1024.0 / 1_000_000.0))
}

/// Asks for what a page asks for.
fn look(server: &Running, pages: &[&str]) -> Outcome<()> {
    let mut talk = Conversation::open(&server.address, &server.token)?;
    for page in pages {
        let (status, _) = talk.ask(&format!("GET /api/v1/{page}"), "")?;
        if status != 200 {
            return Err(format!("{page} was answered with {status}").into());
        }
    }
    Ok(())
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let project = Project::new(Some(binary()?))?;
    fill_tasks(&project.store(), 200, AGENTS)?;
    for agent in 0..AGENTS {
        let name = format!("agent-{agent:02}");
        process::run(project.comity(&name).args(["task", "claim", "--start", "--ttl", "2h"]))?;
    }
    let server = Running::comity(&project)?;
    let mut page = Conversation::open(&server.address, &server.token)?;
    page.send("GET /api/v1/events/stream", "", "")?;
    page.answer()?;
    look(&server, &["board", "inbox", "crew", "timeline", "flow", "tree", "tasks/T1/panel"])?;
    // The first check of the log is done by then.
    std::thread::sleep(Duration::from_secs(scale.of(10, 3)));
    let (before, _) = used(server.child.id())?;
    let begin = Instant::now();
    for _ in 0..scale.of(2, 1) {
        std::thread::sleep(if scale.quick { ROUND / 6 } else { ROUND });
        look(&server, &["inbox"])?;
    }
    let (after, memory) = used(server.child.id())?;
    let share = (after - before).as_secs_f64() / begin.elapsed().as_secs_f64() * 100.0;
    let mut table = Table::new(&["agents", "seconds", "% of a core", "memory MB"]);
    table.row(vec![
        AGENTS.to_string(),
        format!("{:.0}", begin.elapsed().as_secs_f64()),
        format!("{share:.2}"),
        format!("{memory:.1}"),
    ]);
    table.print("serve: idle");
    println!(
        "\n{AGENTS} agents hold a task each, one page is open: it has a stream and asks for the inbox every {} s, as the dashboard \
         does. All pages were looked at before. Targets: < 0.5 % of a core, < 40 MB.",
        ROUND.as_secs()
    );
    Ok(())
}
