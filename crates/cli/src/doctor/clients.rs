//! Agent clients: what is registered with them is tried as they would use it.

use super::trial::{self, Tried};
use super::{Check, State};
use crate::env;
use comity_guard::git::Git;
use comity_project::clients::{self, AgentClient, Registered, Through};
use comity_project::{Context, Machine, Server};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What clients start.
const PROGRAM: &str = "comity";
/// The most names in one line.
const NAMED_MAX: usize = 5;
/// The exit status that stops a tool.
const DENY: i32 = 2;

pub(super) fn checks(context: &Context, machine: &Machine) -> Vec<Check> {
    let all = match clients::registered(&context.root.dir, &context.beside_store()) {
        Ok(all) => all,
        Err(refusal) => return vec![Check::fail("clients", &refusal)],
    };
    if all.is_empty() {
        return vec![Check::ok("clients", "comity is registered with no agent client")];
    }
    let path = machine.environment.own("PATH").unwrap_or_default();
    let mut checks = Vec::new();
    match on_path(&path) {
        // A server and a hook would only say so; and a trial makes no store.
        _ if !context.is_far() && !context.store.exists() => {
            checks.push(Check::ok("clients", "not tried, because there is no store yet"));
        }
        Some(program) => {
            // A token goes to no address that only the repository's files name.
            let named = context.server_in_place().map(Server::url);
            let trial = |one: &Registered| match &one.through {
                Through::Http { url, .. } if named != Some(url) => untried(one, url),
                _ => tried(context, &program, one),
            };
            checks.extend(all.iter().map(trial));
        }
        None => checks.push(Check::warn(
            "clients",
            "clients start `comity`, and no directory of PATH has it",
            "install comity where the clients find it; nothing was tried",
        )),
    }
    checks.extend(all.iter().filter_map(outdated));
    if all.iter().any(|one| one.client == AgentClient::Codex) {
        checks.push(codex_trust(context, machine));
    }
    checks.extend(work_trees(context, &all));
    checks.extend(git_hooks(context));
    checks
}

fn on_path(path: &str) -> Option<PathBuf> {
    let dirs = path.split(':').filter(|dir| !dir.is_empty());
    dirs.map(|dir| Path::new(dir).join(PROGRAM)).find(|file| file.is_file())
}

fn outdated(one: &Registered) -> Option<Check> {
    let name = one.client.name();
    let said = format!("{name}: {} not as comity writes them", listed(&one.outdated));
    let url = match &one.through {
        Through::Stdio => String::new(),
        Through::Http { url, .. } => format!("--url {url} "),
    };
    let hint = format!("run `comity {url}init --clients {name}`");
    (!one.outdated.is_empty()).then(|| Check::warn("clients", said, &hint))
}

fn untried(one: &Registered, url: &str) -> Check {
    let name = one.client.name();
    let said = format!("{name}: asks the server at {url}; `comity --url {url} doctor` tries it");
    Check::ok("clients", said)
}

/// Starts the server that a client would start, and lists its tools; feeds the client's hooks a sample each.
fn tried(context: &Context, program: &Path, one: &Registered) -> Check {
    let name = one.client.name();
    let root = &context.root.dir;
    let url = match &one.through {
        Through::Stdio => None,
        Through::Http { url, .. } => Some(url.as_str()),
    };
    let tools = match tools(&trial::server(program, one.client.identity(), url, root)) {
        Ok(tools) => tools,
        Err(reason) => return broken(name, &format!("the server of {} {reason}", one.file)),
    };
    if let Err(reason) = hooks(program, one, root) {
        return broken(name, &reason);
    }
    let hooks = if one.client.has_hooks() { "; its hooks answer" } else { "; it has no hooks" };
    Check::ok("clients", format!("{name}: {tools} tools from {}{hooks}", one.file))
}

fn broken(name: &str, what: &str) -> Check {
    let hint =
        "run the command by hand; `comity mcp --help` and `comity guard hook --help` say how";
    let said = format!("{name}: {what}");
    Check { hint: Some(hint.to_owned()), ..Check::new("clients", State::Fail, said) }
}

/// Counts the tools that a server listed.
fn tools(tried: &Result<Tried, String>) -> Result<usize, String> {
    let tried = tried.as_ref().map_err(|error| format!("cannot be started: {error}"))?;
    let answers = tried.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let listed =
        answers.filter_map(|answer| Some(answer["result"]["tools"].as_array()?.len())).next_back();
    listed.filter(|count| *count > 0).ok_or_else(|| format!("lists no tools: {}", tried.said()))
}

/// Feeds each hook what its client would. Nothing is written: the sample is about a file outside the project.
fn hooks(program: &Path, one: &Registered, root: &Path) -> Result<(), String> {
    let client = one.client;
    if !client.has_hooks() {
        return Ok(());
    }
    let name = client.name();
    let guard = ["guard", "hook", "--client", name];
    let sample = |event: &str| {
        json!({"hook_event_name": event, "session_id": "doctor", "cwd": root, "tool_name": "Edit",
            "tool_input": {"file_path": "/nowhere/comity-doctor"}})
        .to_string()
    };
    let fed = |what: &str, args: &[&str], input: &str, wanted: i32| {
        let args = [args, &one.through.words()].concat();
        let tried = trial::hook(program, &args, root, input)
            .map_err(|error| format!("{what} cannot be started: {error}"))?;
        match tried.status {
            Some(status) if status == wanted => Ok(tried),
            status => {
                let status = status.map_or_else(|| "no status".to_owned(), |it| it.to_string());
                Err(format!("{what} ended with {status} instead of {wanted}: {}", tried.said()))
            }
        }
    };
    fed("the hook before a tool", &guard, &sample("PreToolUse"), 0)?;
    fed("the hook before a tool, fed with nonsense,", &guard, "{", DENY)?;
    fed("the hook after a tool", &guard, &sample("PostToolUse"), 0)?;
    let start = json!({"hook_event_name": "SessionStart", "cwd": root}).to_string();
    let begun = fed(
        "the hook at the start",
        &["prime", "--hook", "--client", client.identity()],
        &start,
        0,
    )?;
    match begun.stdout.contains("additionalContext") {
        true => Ok(()),
        false => Err("the hook at the start of a session says nothing".to_owned()),
    }
}

fn codex_trust(context: &Context, machine: &Machine) -> Check {
    let untrusted = clients::untrusted_by_codex(&context.root.dir, &machine.environment);
    if untrusted.is_empty() {
        return Check::ok("codex", "Codex has been told to trust comity's hooks");
    }
    let said = format!("Codex skips {} of comity's hooks: nobody approved them", untrusted.len());
    Check::warn("codex", said, "start codex in this project and approve the hooks (/hooks)")
}

/// A linked work tree has only what is committed.
fn work_trees(context: &Context, all: &[Registered]) -> Option<Check> {
    let place = context.root.git.as_ref()?;
    let lacks = |tree: &PathBuf| all.iter().any(|one| !tree.join(one.file).exists());
    let bare: Vec<String> = place
        .linked_trees()
        .into_iter()
        .filter(|tree| tree.is_dir() && lacks(tree))
        .map(|tree| tree.display().to_string())
        .collect();
    let said = format!("work trees without the clients' files: {}", listed(&bare));
    let hint = "commit the files that `comity init` made, and merge that commit there";
    (!bare.is_empty()).then(|| Check::warn("worktrees", said, hint))
}

fn git_hooks(context: &Context) -> Option<Check> {
    let place = context.root.git.as_ref()?;
    let elsewhere = Git::at(&context.root.dir).users_setting("core.hooksPath");
    let program = env::program().ok()?;
    let look = clients::install_hooks(&place.common_dir, elsewhere.as_deref(), &program, true);
    Some(match look {
        Err(refusal) => Check::fail("git hooks", &refusal),
        Ok(look) if !look.by_hand.is_empty() => Check::warn(
            "git hooks",
            "git looks for hooks elsewhere (core.hooksPath), so comity made none",
            &format!("add to {}", look.by_hand.join("; to ")),
        ),
        Ok(look) if !look.installed.is_empty() => Check::warn(
            "git hooks",
            format!("missing, or of another comity: {}", listed(&look.installed)),
            "run `comity init`",
        ),
        Ok(_) => Check::ok("git hooks", "commits and pushes are checked"),
    })
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
    format!("{}{rest}", first.join(", "))
}
