//! Leases, agents and gates in words.

use super::Screen;
use super::table::{Table, plain};
use super::task::mark;
use super::words::{
    BAD, BOLD, BUSY, DIM, GOOD, PLAIN, ago, left, list, more, paint, short_sha, text, texts, time,
};
use comity_core::view::{AgentView, GateView, LeaseView};
use serde_json::Value;

fn read<T: serde::de::DeserializeOwned>(answer: &Value, key: &str) -> Vec<T> {
    let item = |value: &Value| serde_json::from_value(value.clone()).ok();
    list(answer, key).iter().filter_map(item).collect()
}

pub(super) fn leases(answer: &Value, screen: &Screen) -> String {
    let leases: Vec<LeaseView> = read(answer, "leases");
    if leases.is_empty() && screen.terminal {
        return "No live leases.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "PATH", "MODE", "OWNER", "FENCE", "ENDS"], "PATH");
    for lease in leases {
        table.row(vec![
            (lease.lock_id, BOLD),
            plain(lease.path),
            plain(lease.mode),
            plain(lease.owner),
            plain(lease.fence.to_string()),
            plain(ends(lease.expires_at, screen)),
        ]);
    }
    table.render(screen) + &if screen.terminal { more(answer) } else { String::new() }
}

/// Relative for people, exact for programs.
fn ends(at: comity_core::time::Timestamp, screen: &Screen) -> String {
    if screen.terminal { left(at, screen) } else { at.to_string() }
}

pub(super) fn released(answer: &Value) -> String {
    match texts(answer, "released").as_slice() {
        [] => "Nothing to release.\n".to_owned(),
        ids => format!("Released {}\n", ids.join(", ")),
    }
}

pub(super) fn paths(answer: &Value, screen: &Screen) -> String {
    let mut out = String::new();
    for path in list(answer, "paths") {
        let is = |key: &str| path.get(key).and_then(Value::as_bool) == Some(true);
        let (word, style) = match (is("free"), is("mine")) {
            (_, true) => ("yours", BUSY),
            (true, false) => ("free", GOOD),
            (false, false) => ("held", BAD),
        };
        out.push_str(&format!("{}  {}\n", paint(style, &format!("{word:<5}")), text(path, "path")));
        for conflict in list(path, "conflicts") {
            let held = conflict.get("held").unwrap_or(&Value::Null);
            let ends = time(held, "expires_at").map(|at| left(at, screen)).unwrap_or_default();
            let note = format!(
                "       {} holds {} ({}), ends {ends}; both cover {}",
                text(held, "owner"),
                text(held, "path"),
                text(held, "lock_id"),
                text(conflict, "witness"),
            );
            out.push_str(&format!("{}\n", paint(DIM, &note)));
        }
    }
    out
}

pub(super) fn agents(answer: &Value, screen: &Screen) -> String {
    let agents: Vec<AgentView> = read(answer, "agents");
    if agents.is_empty() && screen.terminal {
        return "No agents yet. They are registered when they first act.\n".to_owned();
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
            plain(seen(&agent, screen)),
        ]);
    }
    table.render(screen) + &if screen.terminal { more(answer) } else { String::new() }
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

pub(super) fn agent(answer: &Value, screen: &Screen) -> String {
    let value = answer.get("agent").cloned().unwrap_or_default();
    let Ok(agent) = serde_json::from_value::<AgentView>(value) else { return String::new() };
    let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
    let mut out = format!("{}  {}\n", paint(BOLD, &agent.id), agent.status);
    for (name, value) in [
        ("roles", roles.join(", ")),
        ("skills", agent.skills.join(", ")),
        ("tasks", agent.holds.tasks.join(", ")),
        ("leases", agent.holds.leases.join(", ")),
        ("seen", seen(&agent, screen)),
    ] {
        if !value.is_empty() {
            out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<6}"))));
        }
    }
    out
}

pub(super) fn suggestions(answer: &Value, screen: &Screen) -> String {
    let found = list(answer, "suggestions");
    if found.is_empty() && screen.terminal {
        return "Nobody with that role is registered.\n".to_owned();
    }
    let mut table = Table::new(&["AGENT", "SCORE", "WHY"], "WHY");
    for one in found {
        let score = one.get("score").map(ToString::to_string).unwrap_or_default();
        table.row(vec![
            (text(one, "agent").to_owned(), BOLD),
            plain(score),
            plain(text(one, "reason")),
        ]);
    }
    table.render(screen)
}

pub(super) fn gates(answer: &Value, screen: &Screen) -> String {
    let gates: Vec<GateView> = read(answer, "gates");
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
        let note = gate.reason.or(gate.report).unwrap_or_default();
        table.row(vec![
            (gate.name, BOLD),
            (state, style),
            plain(or_dash(gate.tier.as_deref().unwrap_or_default())),
            plain(or_dash(short_sha(gate.commit.as_deref().unwrap_or_default()))),
            plain(or_dash(gate.by.as_deref().unwrap_or_default())),
            plain(format!("{optional}{note}").trim_end()),
        ]);
    }
    table.render(screen)
}
