//! comity's entries in the files of agent clients: the MCP server, hooks, skills and a page of instructions.
//!
//! The files belong to the project and to their clients. comity changes only its own entries: writing them twice is
//! writing them once, and taking them out gives every byte back.

mod change;
mod git_hooks;
mod json;
mod record;
mod registered;
mod table;
#[cfg(test)]
mod tests;
mod wanted;

pub use change::Outcome;
pub use git_hooks::{HookOutcome, install_hooks, remove_hooks};
pub use registered::{Registered, registered, through, untrusted_by_codex};
pub use wanted::{AgentClient, Through};

use crate::machine::Environment;
use comity_core::refusal::Refusal;
use std::path::Path;

/// Reads a list such as `claude,codex`. `none` is nobody, `all` is everybody.
pub fn parse(list: &str) -> Result<Vec<AgentClient>, Refusal> {
    match list.trim() {
        "none" => return Ok(Vec::new()),
        "all" => return Ok(AgentClient::ALL.to_vec()),
        _ => {}
    }
    let mut clients = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let found = AgentClient::ALL.into_iter().find(|one| one.name() == word);
        let client = found.ok_or_else(|| {
            let known: Vec<&str> = AgentClient::ALL.iter().map(|one| one.name()).collect();
            Refusal::input(format!("{word:?} is not a client that comity knows"))
                .hint(format!("name some of {}, or none", known.join(", ")))
        })?;
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    Ok(clients)
}

/// Finds the clients that are installed on this machine or leave traces in the project.
pub fn find(root: &Path, environment: &Environment) -> Vec<AgentClient> {
    let path = environment.own("PATH").unwrap_or_default();
    let is_installed = |program: &&str| {
        path.split(':')
            .filter(|dir| !dir.is_empty())
            .any(|dir| Path::new(dir).join(program).is_file())
    };
    let uses = |client: &AgentClient| {
        client.programs().iter().any(is_installed)
            || client.traces().iter().any(|trace| root.join(trace).exists())
    };
    AgentClient::ALL.into_iter().filter(uses).collect()
}

/// Writes comity's entries for these clients. With `dry_run` nothing is written; the outcome is the same.
pub fn register(
    root: &Path,
    beside_store: &Path,
    clients: &[AgentClient],
    through: &Through,
    approve: bool,
    dry_run: bool,
) -> Result<Outcome, Refusal> {
    // Who asked a server gets rid of the agent's name first: by itself it cannot be told from somebody else's.
    for client in clients.iter().filter(|_| *through == Through::Stdio && !dry_run) {
        let former = registered::through(root, *client);
        if former != Through::Stdio {
            let of_server = wanted::of_client(*client, &former, approve);
            change::take_out(root, beside_store, &of_server, dry_run)?;
        }
    }
    change::put_in(root, beside_store, &wanted::wanted(clients, through, approve), dry_run)
}

/// Takes comity's entries out of the files of every client.
pub fn unregister(root: &Path, beside_store: &Path, dry_run: bool) -> Result<Outcome, Refusal> {
    let all = wanted::wanted(&AgentClient::ALL, &Through::Stdio, true);
    change::take_out(root, beside_store, &all, dry_run)
}
