//! Next steps in the words of the command line.

use comity_core::hint::{Argument, Call, Given, Wording};
use comity_core::refusal::Refusal;
use comity_guard::Checkout;

/// Arguments that are given by their place; all others are given by their name.
const BY_PLACE: [&str; 8] = ["id", "ids", "gate", "verdict", "answer", "text", "patterns", "dir"];

/// Arguments that are given by their place in these commands only.
const BY_PLACE_OF: [(&str, &str); 9] = [
    ("brief", "paths"),
    ("brief", "task"),
    ("decision.ask", "question"),
    ("interface.show", "name"),
    ("pad.show", "scope"),
    ("pad.write", "file"),
    ("pad.write", "scope"),
    ("task.create", "title"),
    ("why", "of"),
];

/// Options that a variable of the environment gives, too. Whoever leaves the option out has to leave the variable out as well.
const VARIABLES: [(&str, &str); 2] = [("as", "COMITY_AGENT"), ("fence", "COMITY_FENCE")];

fn is_by_place(operation: &str, argument: &str) -> bool {
    BY_PLACE.contains(&argument) || BY_PLACE_OF.contains(&(operation, argument))
}

/// As much of a commit's name as tells it from all others.
const SHORT_COMMIT: usize = 12;

pub struct CommandLine;

impl Wording for CommandLine {
    fn call(&self, call: &Call) -> String {
        let mut line = format!("comity {}", call.operation.replace('.', " "));
        for argument in &call.arguments {
            line.push(' ');
            match (&argument.given, is_by_place(&call.operation, &argument.name)) {
                (Given::Value(value), true) => line.push_str(&for_a_shell(value)),
                (Given::Placeholder(kind), true) => line.push_str(kind),
                (_, false) | (Given::Nothing, true) => line.push_str(&self.argument(argument)),
            }
        }
        line
    }

    fn argument(&self, argument: &Argument) -> String {
        let name = argument.name.replace('_', "-");
        match &argument.given {
            Given::Value(value) => format!("--{name} {}", for_a_shell(value)),
            Given::Placeholder(kind) => format!("--{name} {kind}"),
            Given::Nothing => match VARIABLES.iter().find(|(option, _)| *option == name) {
                Some((_, variable)) => format!("--{name} and {variable}"),
                None => format!("--{name}"),
            },
        }
    }
}

/// Returns the command that checks a branch out; none when it is checked out.
pub fn checkout(way: &Checkout, branch: &str) -> Option<String> {
    let branch = for_a_shell(branch);
    Some(match way {
        Checkout::Here => return None,
        Checkout::Switch => format!("git switch {branch}"),
        Checkout::Create { from: None } => format!("git switch -c {branch}"),
        Checkout::Create { from: Some(base) } => {
            format!("git switch -c {branch} {}", base.get(..SHORT_COMMIT).unwrap_or(base))
        }
        Checkout::TakeFrom(tree) => {
            let tree = for_a_shell(&tree.to_string_lossy());
            format!("git -C {tree} switch --detach && git switch {branch}")
        }
        Checkout::Forget => format!("git worktree prune && git switch {branch}"),
    })
}

/// Returns what to do about a refusal.
pub fn next_step(refusal: &Refusal) -> String {
    refusal.next_step().worded(&CommandLine)
}

fn for_a_shell(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite the page")]
mod tests {
    use super::*;
    use crate::args::{Cli, at_once};
    use clap::CommandFactory;
    use comity_api::TABLE;
    use comity_core::hint::{Hint, OF_THE_MACHINE, op, say};
    use comity_core::refusal::Code;
    use std::path::Path;

    #[test]
    fn a_call_is_a_command_line() {
        let hint = say("run ").quote(op("task.done").id("T1").ask("merged", "SHA"));
        assert_eq!(hint.worded(&CommandLine), "run `comity task done T1 --merged SHA`");
        let hint = Hint::from(op("memory.update").id("M1").arg("text", "it's so"));
        assert_eq!(hint.worded(&CommandLine), r"comity memory update M1 'it'\''s so'");
        let hint = say("give ").arg("expires", "2 h").say(" or ").mention("fence_writers");
        assert_eq!(hint.worded(&CommandLine), "give --expires '2 h' or --fence-writers");
        assert_eq!(Hint::from(op("no.such")).worded(&CommandLine), "comity no such");
    }

    fn exists(operation: &str) -> bool {
        OF_THE_MACHINE.contains(&operation) || TABLE.iter().any(|row| row.name == operation)
    }

    /// Tells whether a command takes an argument in the way that a hint gives it.
    fn takes(leaf: &clap::Command, operation: &str, name: &str) -> bool {
        let long = name.replace('_', "-");
        let root = Cli::command();
        let global = root.get_arguments().filter(|arg| arg.is_global_set());
        leaf.get_arguments().chain(global).any(|arg| match is_by_place(operation, name) {
            // A command that takes several ids takes one.
            true if BY_PLACE.contains(&name) => {
                arg.is_positional()
                    && (arg.get_id() == name || name == "id" && arg.get_id() == "ids")
            }
            true => arg.is_positional(),
            false => arg.get_long() == Some(&long),
        })
    }

    #[test]
    fn every_default_hint_is_a_command_line_that_clap_knows() {
        let root = at_once(Cli::command);
        for code in Code::ALL {
            for call in code.default_hint().calls() {
                assert!(exists(&call.operation), "{code}: {}", call.operation);
                let parts = call.operation.split('.');
                let leaf = parts.fold(&root, |at, part| at.find_subcommand(part).unwrap());
                for argument in &call.arguments {
                    assert!(takes(leaf, &call.operation, &argument.name), "{code}: {argument}");
                }
            }
        }
    }

    /// Returns the names of the arguments that a call in the sources is given right after its operation.
    fn given(mut rest: &str) -> Vec<String> {
        let mut names = Vec::new();
        while let Some((method, inside)) =
            rest.trim_start().strip_prefix('.').and_then(|rest| rest.split_once('('))
        {
            match method {
                "arg" | "ask" | "flag" => names.extend(inside.split('"').nth(1).map(str::to_owned)),
                "id" => names.push("id".to_owned()),
                _ => break,
            }
            let mut depth = 1;
            let end = inside.find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            });
            rest = &inside[end.unwrap() + 1..];
        }
        names
    }

    /// Collects the operations that the sources below a directory name, with their arguments.
    fn named(dir: &Path, found: &mut Vec<(String, Vec<String>)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                named(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let calls = text.split("op(\"").skip(1).filter_map(|rest| rest.split_once("\")"));
                found.extend(calls.map(|(name, rest)| (name.to_owned(), given(rest))));
            }
        }
    }

    #[test]
    fn every_hint_of_the_rules_names_an_operation_of_the_table() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = Vec::new();
        for name in ["api", "bridge", "core", "engine", "guard", "project", "protocol", "store"] {
            named(&crates.join(name).join("src"), &mut found);
        }
        assert!(found.len() > 50, "the hints are looked for in the wrong place");
        let root = at_once(Cli::command);
        // A text that every group of commands can show, and what only the shape of a hint is tried with, have no leaf.
        found.retain(|(name, arguments)| {
            let leaf = name.split('.').try_fold(&root, |at, part| at.find_subcommand(part));
            let fits = |leaf| arguments.iter().all(|argument| takes(leaf, name, argument));
            !exists(name) || leaf.is_some_and(|leaf| !fits(leaf))
        });
        assert_eq!(found, Vec::new());
    }

    fn refusal_table() -> String {
        let mut out =
            String::from("| code | exit | HTTP | meaning | hint |\n|---|---|---|---|---|\n");
        for code in Code::ALL {
            let (exit, http, hint) =
                (code.exit_status(), code.http_status(), code.default_hint().worded(&CommandLine));
            out.push_str(&format!(
                "| `{code}` | {exit} | {http} | {} | {hint} |\n",
                code.meaning()
            ));
        }
        out
    }

    #[test]
    fn the_page_of_refusals_has_the_table_of_the_code() {
        let page = "../../docs/reference/refusals.md";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("<!-- generated: begin -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- generated: end -->").unwrap();
        let table = refusal_table();
        let wanted =
            format!("{before}<!-- generated: begin -->\n{table}<!-- generated: end -->{after}");
        if std::env::var_os("COMITY_BLESS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(text == wanted, "{page} is out of date: run the tests with COMITY_BLESS=1");
    }
}
