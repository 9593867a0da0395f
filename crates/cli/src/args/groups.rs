//! The commands in groups, as the first page of help shows them.

use clap::Command;
use std::fmt::Write;

/// Every command that help shows, in the order in which people meet them.
pub const GROUPS: [(&str, &[&str]); 8] = [
    ("Work", &["task", "note", "lease", "gate", "with", "snapshot", "decision"]),
    ("People and agents", &["agent", "whoami", "memory", "directive"]),
    ("Tell each other", &["brief", "tell", "pad", "interface"]),
    (
        "Agents at work",
        &[
            "run",
            "runs",
            "supervise",
            "worker",
            "workers",
            "objective",
            "merge",
            "release",
            "workspace",
            "cost",
            "budget",
        ],
    ),
    ("Look", &["status", "board", "why", "log", "event", "report", "guard"]),
    (
        "Set up",
        &[
            "init",
            "trust",
            "config",
            "doctor",
            "store",
            "watchdog",
            "completions",
            "man",
            "demo",
            "help",
        ],
    ),
    ("Serve people and agents", &["up", "serve", "link", "token", "mcp", "prime"]),
    ("Other tools", &["github", "import", "export", "sync", "contract", "collab", "neo", "rpc"]),
];

/// The line after the groups.
const SHORT_FORMS: &str = "Short forms: ls, ready, new, show, claim, submit, close";

/// Lets the first page of help show commands in groups. Only a call that asks for help pays for it.
pub fn grouped(root: Command) -> Command {
    let width = |name: &&str| name.len();
    let widest = GROUPS.iter().flat_map(|(_, names)| names.iter()).map(width).max().unwrap_or(0);
    let mut page = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        let _ = write!(page, "\n\u{1b}[1m{heading}:\u{1b}[0m\n");
        for name in names {
            let about = match root.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Show this page, or the help of a command".to_owned(),
            };
            let _ = writeln!(page, "  {name:<widest$}  {about}");
        }
    }
    let _ =
        write!(page, "\n{SHORT_FORMS}\n\n\u{1b}[1mOptions:\u{1b}[0m\n{{options}}{{after-help}}");
    root.help_template(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut root = Cli::command();
        root.build();
        let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
