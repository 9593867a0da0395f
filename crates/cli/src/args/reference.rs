//! Keeps `docs/reference/commands.md` equal to what `--help` prints.

#![expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite the page")]

use super::Cli;
use clap::CommandFactory;
use std::fmt::Write;
use std::path::Path;

const INTRODUCTION: &str = "# Commands\n\nThis page shows what `--help` prints for every command. Tests \
generate it: `COMITY_BLESS=1 cargo test -p comity-cli reference`.\n";

fn section(out: &mut String, command: &mut clap::Command, path: &str) {
    let help = command.render_long_help().to_string();
    // Lines that wrap differ between terminals; here they never do, and end without blanks.
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(out, "\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        if let Some(sub) = command.find_subcommand_mut(&name) {
            section(out, sub, &format!("{path} {name}"));
        }
    }
}

#[test]
fn the_reference_of_commands_is_what_help_prints() {
    let mut root = super::groups::grouped(Cli::command()).term_width(100);
    root.build();
    let mut out = INTRODUCTION.to_owned();
    section(&mut out, &mut root, "comity");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    if std::env::var_os("COMITY_BLESS").is_some() {
        std::fs::write(&file, &out).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == out, "run COMITY_BLESS=1 cargo test -p comity-cli reference");
}
