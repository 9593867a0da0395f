//! Checks around the store: git, who acts, the project and its settings.

use super::Check;
use comity_guard::git;
use comity_project::identity::Client;
use comity_project::{Config, Context, Machine};

/// The oldest git that is known to do what is asked of it.
const GIT_MIN: (u32, u32) = (2, 38);

pub(super) fn git() -> Check {
    match git::version() {
        Some(found) if found >= GIT_MIN => Check::ok("git", format!("{}.{}", found.0, found.1)),
        Some(found) => Check::warn(
            "git",
            format!("{}.{} is older than {}.{}", found.0, found.1, GIT_MIN.0, GIT_MIN.1),
            "update git",
        ),
        None => Check::warn(
            "git",
            "the git command was not found",
            "install git; comity needs it to look at commits",
        ),
    }
}

pub(super) fn identity(machine: &Machine) -> Check {
    match Client::find(&machine.environment) {
        Some(client) => {
            let (variable, agent) = (client.variable, client.agent(machine));
            Check::ok("identity", format!("{variable} is set, so you are the agent {agent}"))
        }
        None => {
            Check::ok("identity", format!("no agent client found; your login is {}", machine.login))
        }
    }
}

pub(super) fn project(context: &Context) -> Check {
    let dir = context.root.dir.display();
    Check::ok("project", format!("{dir} ({}), as {}", context.repo, context.actor))
}

pub(super) fn settings(context: &Context) -> Check {
    let file = Config::path(&context.root.dir);
    if file.exists() {
        Check::ok("settings", file.display().to_string())
    } else {
        Check::ok("settings", "defaults (no .comity/config.toml)")
    }
}
