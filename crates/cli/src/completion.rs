//! Completion of what only the store knows: ids of tasks, questions, leases and agents; and of words such as statuses.
//!
//! The script of a shell calls `comity __complete WORDS`, the last of which is being typed. It reads, is silent about
//! failures, and never makes a store.

use crate::args::{Cli, expanded, whole};
use crate::{env, output};
use clap::{Arg, Command, FromArgMatches};
use comity_api::{
    AgentFilter, ById, DecisionFilter, LeaseFilter, ListDirectives, ListInterfaces, ListMemories,
    Operation, RunFilter, TaskFilter, op,
};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::view::RunView;
use comity_engine::{Handler, Service};
use comity_project::{Context, settings_file};
use comity_protocol::contract::KINDS;
use std::ffi::OsString;
use std::process::ExitCode;

const COMMAND: &str = "__complete";

/// Returns the words to complete, if that is what comity is called for.
pub fn asked() -> Option<Vec<OsString>> {
    let mut arguments = std::env::args_os();
    (arguments.nth(1)? == COMMAND).then(|| arguments.collect())
}

/// Prints what the last word may become, one a line, with a remark after a tab.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let found = candidates(words).unwrap_or_default();
    let line = |(value, about): &(String, String)| match about.is_empty() {
        true => format!("{value}\n"),
        false => format!("{value}\t{}\n", about.replace(['\n', '\t'], " ")),
    };
    let lines: String = found.iter().map(line).collect();
    // A shell that does not read on needs nothing.
    let _ = output::text(&lines);
    ExitCode::SUCCESS
}

type Found = Vec<(String, String)>;

/// What may stand at a place of the command line.
struct Place<'c> {
    path: Vec<&'c str>,
    argument: &'c Arg,
    /// What is being typed.
    begun: String,
    /// What stands before it, at its own place: the task whose gates are meant.
    positionals: Vec<String>,
}

fn candidates(words: Vec<OsString>) -> Option<Found> {
    let line = expanded(std::iter::once(OsString::from("comity")).chain(words).collect());
    let line: Vec<String> =
        line.into_iter().skip(1).map(|word| word.into_string()).collect::<Result<_, _>>().ok()?;
    let root = whole();
    let place = place(&root, &line)?;
    let found = values(&place, &line).ok()?;
    let fits = |(value, _): &(String, String)| {
        value.to_lowercase().starts_with(&place.begun.to_lowercase())
    };
    Some(found.into_iter().filter(fits).collect())
}

/// Finds the argument whose value is being typed.
fn place<'c>(root: &'c Command, line: &[String]) -> Option<Place<'c>> {
    let (begun, before) = line.split_last()?;
    let (mut at, mut path, mut positionals) = (root, Vec::new(), Vec::new());
    let mut words = before.iter();
    while let Some(word) = words.next() {
        if let Some(argument) = option(at, root, word) {
            let is_apart = argument.get_action().takes_values() && !word.contains('=');
            if is_apart && words.next().is_none() {
                return Some(Place { path, argument, begun: begun.clone(), positionals });
            }
        } else if let Some(inner) = at.find_subcommand(word).filter(|_| positionals.is_empty()) {
            at = inner;
            path.push(inner.get_name());
        } else if !word.starts_with('-') {
            positionals.push(word.clone());
        }
    }
    if begun.starts_with('-') {
        return None;
    }
    let mut places = at.get_positionals();
    let last = at
        .get_positionals()
        .last()
        .filter(|argument| argument.get_num_args().is_some_and(|count| count.max_values() > 1));
    let argument = places.nth(positionals.len()).or(last)?;
    Some(Place { path, argument, begun: begun.clone(), positionals })
}

fn option<'c>(at: &'c Command, root: &'c Command, word: &str) -> Option<&'c Arg> {
    let named = |argument: &&Arg| match word.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long.split('=').next().unwrap_or(long)),
        None => {
            let short = word.strip_prefix('-').and_then(|rest| rest.chars().next());
            short.is_some() && argument.get_short() == short
        }
    };
    at.get_arguments().chain(root.get_arguments()).find(named)
}

/// The words of a value that has a fixed list of them.
fn words(group: &str, name: &str, kind: &str) -> Option<Found> {
    Some(match (group, name, kind) {
        (_, _, "STATUS") | (_, "status" | "statuses", _) => {
            plain(Status::ALL.iter().map(|status| status.as_str()))
        }
        (_, _, "ROLE") => plain(Role::ALL.iter().map(|role| role.as_str())),
        (_, "priority", "P") => {
            plain(["P0", "P1", "P2", "P3", "P4", "critical", "high", "medium", "low"].into_iter())
        }
        ("contract" | "task", "kind", _) => plain(KINDS.iter().map(|kind| kind.name)),
        ("config", "key", _) => plain(settings_file::keys().iter().map(String::as_str)),
        ("note", "kind", _) => plain(
            ["progress", "action", "decision", "blocker", "milestone", "discovery"].into_iter(),
        ),
        _ => return None,
    })
}

fn agents(line: &[String]) -> Result<Found, Refusal> {
    let page = ask::<op::AgentList>(line, AgentFilter { limit: MOST, after: None })?;
    Ok(page.agents.into_iter().map(|agent| (agent.id, agent.status)).collect())
}

fn values(place: &Place<'_>, line: &[String]) -> Result<Found, Refusal> {
    let name = place.argument.get_id().as_str();
    let kind = place.argument.get_value_names().and_then(|names| names.first());
    let kind = kind.map_or("", |kind| kind.as_str());
    // neo's groups have the names of ours.
    let mut groups = place.path.iter().copied().skip_while(|group| *group == "neo");
    let group = groups.next().unwrap_or_default();
    if let Some(known) = words(group, name, kind) {
        return Ok(known);
    }
    Ok(match (group, name) {
        (_, "agent" | "assignee" | "owner" | "reviewer" | "actor") | ("agent", "id") => {
            agents(line)?
        }
        ("gate", "gate") => match place.positionals.first() {
            Some(id) => {
                let gates = ask::<op::GateList>(line, ById { id: id.clone() })?.gates;
                gates.into_iter().map(|gate| (gate.name, String::new())).collect()
            }
            None => Vec::new(),
        },
        ("decision", "id") => {
            let all = DecisionFilter { limit: MOST, ..DecisionFilter::default() };
            let page = ask::<op::DecisionList>(line, all)?;
            page.decisions.into_iter().map(|one| (one.id, one.question)).collect()
        }
        ("lease", "ids") | ("collab", "lock_id") => {
            let page =
                ask::<op::LeaseList>(line, LeaseFilter { limit: MOST, ..LeaseFilter::default() })?;
            page.leases.into_iter().map(|lease| (lease.lock_id, lease.path)).collect()
        }
        ("memory", "id") => {
            let page = ask::<op::MemoryList>(
                line,
                ListMemories { limit: MOST, ..ListMemories::default() },
            )?;
            page.memories.into_iter().map(|one| (one.id, one.text)).collect()
        }
        ("directive", "id") => {
            let all = ListDirectives { limit: MOST, ..ListDirectives::default() };
            let page = ask::<op::DirectiveList>(line, all)?;
            page.directives.into_iter().map(|one| (one.id, one.text)).collect()
        }
        ("run" | "runs" | "logs", "id") => {
            let newest = RunFilter { limit: MOST, ..RunFilter::default() };
            let page = ask::<op::Runs>(line, newest)?;
            let about = |run: &RunView| {
                format!("{} {} {}", run.state, run.agent, run.task.as_deref().unwrap_or_default())
            };
            let named = |run: RunView| Some((run.id.clone()?, about(&run)));
            page.runs.into_iter().filter_map(named).collect()
        }
        ("interface", "name") => {
            let page = ask::<op::InterfaceList>(line, ListInterfaces::default())?;
            page.interfaces.into_iter().map(|one| (one.name, one.paths.join(" "))).collect()
        }
        ("tell", "to") => {
            let roles = Role::ALL.iter().map(|role| role.as_str());
            let all = plain(std::iter::once("all").chain(roles));
            agents(line)?.into_iter().chain(all).collect()
        }
        ("task" | "gate" | "contract" | "guard" | "github" | "collab", "id" | "ids")
        | ("why", "of")
        | ("brief", "about")
        | (_, "task" | "on" | "depends_on" | "parent") => {
            let statuses = likely(&place.path);
            let filter = TaskFilter { statuses, limit: MOST, ..TaskFilter::default() };
            let page = ask::<op::TaskList>(line, filter)?;
            page.tasks.into_iter().map(|task| (task.id, task.title)).collect()
        }
        _ => Vec::new(),
    })
}

const MOST: Option<usize> = Some(PAGE_MAX);

fn plain<'w>(words: impl Iterator<Item = &'w str>) -> Found {
    words.map(|word| (word.to_owned(), String::new())).collect()
}

/// The states in which a task can be meant; none means any that is open.
fn likely(path: &[&str]) -> Vec<Status> {
    match path.get(1).copied().unwrap_or_default() {
        "review" | "approve" | "request-changes" => vec![Status::Review],
        "merge" => vec![Status::Approved],
        "done" => vec![Status::Approved, Status::Merging],
        "submit" => vec![Status::InProgress],
        "unblock" | "answer" | "intervene" => vec![Status::Blocked],
        "reopen" => vec![Status::Done, Status::Abandoned],
        "release" | "fail" => vec![Status::Claimed, Status::InProgress],
        _ => Vec::new(),
    }
}

/// Asks the store of the project that the line is about; a store that is not there answers nothing.
fn ask<O: Operation>(line: &[String], input: O::Input) -> Result<O::Output, Refusal>
where
    Service: Handler<O>,
{
    let context: Context = env::project(&globals(line))?;
    context.ask::<O>(input)
}

/// Reads the global options of a line that is not finished.
fn globals(line: &[String]) -> crate::args::Global {
    let mut known = vec!["comity".to_owned()];
    let mut words = line.iter().take(line.len().saturating_sub(1));
    while let Some(word) = words.next() {
        if ["--root", "--store", "--as", "--repo"].contains(&word.as_str()) {
            known.push(word.clone());
            known.extend(words.next().cloned());
        } else if ["--root=", "--store=", "--as=", "--repo="]
            .iter()
            .any(|name| word.starts_with(name))
        {
            known.push(word.clone());
        }
    }
    known.push("status".to_owned());
    let root = <Cli as clap::CommandFactory>::command();
    let parsed = root.try_get_matches_from(known).ok();
    let cli = parsed.and_then(|matches| Cli::from_arg_matches(&matches).ok());
    cli.map(|cli| cli.global).unwrap_or_default()
}

/// Makes the script of commands and options ask comity first: for ids, statuses and other words.
pub fn script(shell: &str, options: &str) -> String {
    match shell {
        "bash" => format!("{options}{BASH}"),
        // An autoloaded file is one function, which has to be ours.
        "zsh" => {
            let end = options.rfind("\nif [ \"$funcstack[1]\"").unwrap_or(options.len());
            let options = options.get(..end).unwrap_or(options);
            options.replacen("\n_comity() {", "\n_comity_options() {", 1) + ZSH
        }
        _ => {
            let asking = |line: &str| match line.ends_with(" -r") {
                true => format!("{line} -a '(__comity_values)'\n"),
                false => format!("{line}\n"),
            };
            options.lines().map(asking).collect::<String>() + FISH
        }
    }
}

const BASH: &str = r#"
_comity_with_ids() {
    local found
    found=$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
    if [ -n "$found" ]; then
        mapfile -t COMPREPLY <<<"$found"
        return
    fi
    _comity "$@"
}
complete -F _comity_with_ids -o bashdefault -o default comity
"#;

const ZSH: &str = r#"
_comity() {
    local -a found
    found=("${(@f)$(comity __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [ -n "$found[1]" ]; then
        found=("${(@)found//:/\\:}")
        found=("${(@)found//$'\t'/:}")
        _describe 'value' found
        return
    fi
    _comity_options "$@"
}
if [ "$funcstack[1]" = "_comity" ]; then
    _comity "$@"
else
    compdef _comity comity
fi
"#;

const FISH: &str = "
function __comity_values
    comity __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
function __comity_knows
    set -g __comity_found (__comity_values)
    test (count $__comity_found) -gt 0
end
complete -c comity -n __comity_knows -f -a '$__comity_found'
";
