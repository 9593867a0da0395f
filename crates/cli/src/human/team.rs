//! Leases, agents and gates in words.

use super::Screen;
use super::post::from_others;
use super::table::{Table, plain};
use super::task::mark;
use super::words::{BAD, BOLD, BUSY, DIM, GOOD, PLAIN, ago, left, more, paint, short_sha};
use comity_api::{
    AgentAnswer, AgentsPage, GateAnswer, GatesAnswer, LeasesAnswer, LeasesPage, PathsAnswer,
    ReleasedAnswer, RunGatesAnswer, SuggestionsAnswer,
};
use comity_core::view::{AgentView, LeaseView};

pub fn leases(answer: &LeasesPage, screen: &Screen) -> String {
    lease_table(&answer.leases, screen) + &more(answer.next.as_ref(), screen)
}

pub fn taken(answer: &LeasesAnswer, screen: &Screen) -> String {
    lease_table(&answer.leases, screen) + &from_others(answer.brief.as_ref(), screen)
}

fn lease_table(leases: &[LeaseView], screen: &Screen) -> String {
    if leases.is_empty() && screen.terminal {
        return "No live leases.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "PATH", "MODE", "OWNER", "FENCE", "ENDS"], "PATH");
    for lease in leases {
        table.row(vec![
            (lease.lock_id.clone(), BOLD),
            plain(&lease.path),
            plain(&lease.mode),
            plain(&lease.owner),
            plain(lease.fence.to_string()),
            plain(ends(lease.expires_at, screen)),
        ]);
    }
    table.render(screen)
}

/// Relative for people, exact for programs.
fn ends(at: comity_core::time::Timestamp, screen: &Screen) -> String {
    if screen.terminal { left(at, screen) } else { at.to_string() }
}

pub fn released(answer: &ReleasedAnswer, _: &Screen) -> String {
    match answer.released.as_slice() {
        [] => "Nothing to release.\n".to_owned(),
        ids => format!("Released {}\n", ids.join(", ")),
    }
}

pub fn paths(answer: &PathsAnswer, screen: &Screen) -> String {
    let mut out = String::new();
    for path in &answer.paths {
        let (word, style) = match (path.free, path.mine) {
            (_, true) => ("yours", BUSY),
            (true, false) => ("free", GOOD),
            (false, false) => ("held", BAD),
        };
        out.push_str(&format!("{}  {}\n", paint(style, &format!("{word:<5}")), path.path));
        for conflict in &path.conflicts {
            let held = &conflict.held;
            let note = format!(
                "       {} holds {} ({}), ends {}; both cover {}",
                held.owner,
                held.path,
                held.lock_id,
                left(held.expires_at, screen),
                conflict.witness,
            );
            out.push_str(&format!("{}\n", paint(DIM, &note)));
        }
    }
    out
}

pub fn agents(answer: &AgentsPage, screen: &Screen) -> String {
    let agents = &answer.agents;
    if agents.is_empty() && screen.terminal {
        return "No agents yet. comity registers an agent when it first acts.\n".to_owned();
    }
    let mut table = Table::new(&["AGENT", "STATUS", "ROLES", "HOLDS", "SEEN"], "HOLDS");
    for agent in agents {
        let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
        let holds = [agent.holds.tasks.as_slice(), agent.holds.leases.as_slice()].concat();
        let style = if agent.status == "busy" { BUSY } else { PLAIN };
        table.row(vec![
            (agent.id.clone(), BOLD),
            (agent.status.clone(), style),
            plain(or_dash(&roles.join(","))),
            plain(or_dash(&holds.join(" "))),
            plain(seen(agent, screen)),
        ]);
    }
    table.render(screen) + &more(answer.next.as_ref(), screen)
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn seen(agent: &AgentView, screen: &Screen) -> String {
    match agent.last_seen {
        Some(at) if screen.terminal => ago(at, screen),
        Some(at) => at.to_string(),
        None => "never".to_owned(),
    }
}

pub fn agent(answer: &AgentAnswer, screen: &Screen) -> String {
    let agent = &answer.agent;
    let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
    let mut out = format!("{}  {}\n", paint(BOLD, &agent.id), agent.status);
    for (name, value) in [
        ("roles", roles.join(", ")),
        ("skills", agent.skills.join(", ")),
        ("tasks", agent.holds.tasks.join(", ")),
        ("leases", agent.holds.leases.join(", ")),
        ("seen", seen(agent, screen)),
    ] {
        if !value.is_empty() {
            out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<6}"))));
        }
    }
    out
}

pub fn suggestions(answer: &SuggestionsAnswer, screen: &Screen) -> String {
    let found = &answer.suggestions;
    if found.is_empty() && screen.terminal {
        return "Nobody with that role is registered.\n".to_owned();
    }
    let mut table = Table::new(&["AGENT", "SCORE", "WHY"], "WHY");
    for one in found {
        table.row(vec![
            (one.agent.clone(), BOLD),
            plain(one.score.to_string()),
            plain(&one.reason),
        ]);
    }
    table.render(screen)
}

/// Evidence that was recorded, and what still keeps it from counting.
pub fn gate(answer: &GateAnswer, _: &Screen) -> String {
    let gate = &answer.gate;
    let (sign, style) = mark(gate.state);
    let why = gate.reason.as_ref().map(|why| format!(": the gate {why}")).unwrap_or_default();
    let state = gate.state.as_str();
    format!("{} {}  {state}{why}\n", paint(style, sign), paint(BOLD, &gate.name))
}

pub fn gates(answer: &GatesAnswer, screen: &Screen) -> String {
    let gates = &answer.gates;
    if gates.is_empty() && screen.terminal {
        return "No gates.\n".to_owned();
    }
    let mut table = Table::new(&["GATE", "STATE", "TIER", "COMMIT", "BY", "NOTE"], "NOTE");
    for gate in gates {
        let (sign, style) = mark(gate.state);
        let state = if screen.terminal {
            format!("{sign} {}", gate.state.as_str())
        } else {
            gate.state.as_str().to_owned()
        };
        let optional = if gate.required { "" } else { "optional " };
        let note = gate.reason.as_ref().or(gate.report.as_ref());
        let note = note.map_or("", String::as_str);
        table.row(vec![
            (gate.name.clone(), BOLD),
            (state, style),
            plain(or_dash(gate.tier.as_deref().unwrap_or_default())),
            plain(or_dash(short_sha(gate.commit.as_deref().unwrap_or_default()))),
            plain(or_dash(gate.by.as_deref().unwrap_or_default())),
            plain(format!("{optional}{note}").trim_end()),
        ]);
    }
    table.render(screen)
}

/// Shows how gates went; of those that did not pass, the end of what they printed.
pub fn ran(answer: &RunGatesAnswer, _: &Screen) -> String {
    let mut out = String::new();
    for run in &answer.gates {
        let style = if run.result == "pass" { GOOD } else { BAD };
        let seconds = std::time::Duration::from_millis(run.duration_ms).as_secs_f32();
        let tier = run.gate.tier.as_deref().filter(|_| run.problem.is_none()).unwrap_or("-");
        let word = paint(style, &format!("{:<13}", run.result));
        out.push_str(&format!("{word}  {}  {tier}  {seconds:.1} s\n", run.gate.name));
        if run.result != "pass" {
            for line in run.problem.as_deref().into_iter().chain(run.output_tail.lines()) {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    let short = short_sha(&answer.commit);
    let from = match &answer.settings.commit {
        Some(base) => format!("the base branch at {}", short_sha(base)),
        None => "the root's checkout".to_owned(),
    };
    let about = format!("{} at {short}; settings from {from}", answer.task);
    out + &paint(DIM, &about) + "\n"
}
