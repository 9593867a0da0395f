//! `comity init`: make the project's settings and its store, and register comity with agent clients and git. Running it
//! again changes nothing.

use crate::args::{Global, InitArgs};
use crate::env;
use crate::output::{self, Reply};
use comity_core::command::Command;
use comity_core::refusal::{Code, Refusal};
use comity_guard::git::Git;
use comity_project::clients::{self, AgentClient, HookOutcome, Outcome, Through};
use comity_project::store::{self, Access, Place};
use comity_project::trust::{self, Trust};
use comity_project::{Asked, Context, Machine, setup};
use comity_store::sqlite;
use serde_json::json;
use std::path::Path;

pub fn run(global: &Global, args: &InitArgs) -> Result<Reply, Refusal> {
    let (machine, asked) = (env::machine()?, global.asked());
    let clients = match &args.clients {
        Some(list) => Some(clients::parse(list)?),
        None => None,
    };
    let context = Context::find_or_here(&machine, &asked)?;
    if args.remove {
        return remove(&context, args.dry_run);
    }
    let found = || clients::find(&context.root.dir, &machine.environment);
    let clients = clients.unwrap_or_else(found);
    let through = through(global, args, &context)?;
    let approve =
        args.approve_tools || (!args.dry_run && asks(global, args, &clients) && approves());
    // A server has the store; here there are only clients of it.
    let (context, made, mut notes) = match args.dry_run || through != Through::Stdio {
        true => (context, Vec::new(), Vec::new()),
        false => set_up(&machine, &asked, &context, args)?,
    };
    let (dir, beside) = (&context.root.dir, context.beside_store());
    let files = clients::register(dir, &beside, &clients, &through, approve, args.dry_run)?;
    let hooks = match args.no_hooks {
        true => HookOutcome::default(),
        false => hooks(&context, args.dry_run)?,
    };
    notes.extend(advice(&clients, &through, approve, &files, &hooks));
    let named: Vec<&str> = clients.iter().map(|client| client.name()).collect();
    let (server, agent) = match &through {
        Through::Stdio => (None, None),
        Through::Http { url, agent } => (Some(url), Some(agent)),
    };
    let answer = json!({
        "server": server,
        "agent": agent,
        "root": dir.display().to_string(),
        "store": context.store_url(),
        "repo": context.repo.as_str(),
        "me": context.actor.as_str(),
        "created": made,
        "clients": named,
        "files": {"created": files.created, "changed": files.changed, "removed": files.removed,
            "left_alone": left_alone(&files)},
        "hooks": {"installed": hooks.installed, "removed": hooks.removed, "by_hand": hooks.by_hand},
        "dry_run": args.dry_run,
    });
    let words = words(&context, &through, &made, &files, &hooks, args.dry_run);
    Ok(Reply::text(answer, words).noted(notes).exit(status(&files)))
}

/// Tells how the clients reach comity: with `--url` they ask that server, as the agent of the token that they will have.
fn through(global: &Global, args: &InitArgs, context: &Context) -> Result<Through, Refusal> {
    let (Some(url), Some(server)) = (&global.url, context.server_in_place()) else {
        return Ok(Through::Stdio);
    };
    if args.new_log || args.fold_case.is_some() || global.store.is_some() {
        return Err(Refusal::input("the server has the store: set it up where the server runs")
            .hint("with --url, leave out --store, --new-log and --fold-case"));
    }
    let agent = match &global.actor {
        Some(_) => context.actor.clone(),
        None => server.me()?,
    };
    if agent.is_person() || agent.is_script() {
        return Err(Refusal::input(format!(
            "{agent} is no agent: clients act as the agent of a token"
        ))
        .hint("name the token's agent with --as, or set COMITY_TOKEN"));
    }
    Through::http(url, &agent)
}

/// Writes the settings, and creates the store.
fn set_up(
    machine: &Machine,
    asked: &Asked,
    context: &Context,
    args: &InitArgs,
) -> Result<(Context, Vec<String>, Vec<String>), Refusal> {
    let written = setup::write(&context.root.dir, asked.store.as_deref(), &machine.cwd)?;
    let mut made: Vec<String> =
        written.made.iter().map(|file| file.display().to_string()).collect();
    let kept = written.kept.filter(|_| asked.store.is_some());
    let mut notes: Vec<String> = kept.iter().map(|file| keeps_settings(file)).collect();
    remember_root(context)?;
    // The settings that were just written count from the first moment on.
    let context = Context::find_or_here(machine, asked)?;
    if asked.store.is_some() {
        notes.extend(trust_store(&context, machine)?);
    }
    notes.extend(if args.new_log { set_aside(&context)? } else { None });
    let fresh = !context.store.exists();
    let service = context.service(Access::Write)?;
    // Case that counts is the default: then there is nothing to say.
    if args.fold_case.is_some() || setup::folds_case(&context.root.dir) {
        let (fold_case, keep) = (args.fold_case.unwrap_or(true), args.fold_case.is_none());
        service.execute(context.request(Command::SetRepository { fold_case, keep }))?;
    }
    if fresh {
        made.push(context.store_url());
    }
    Ok((context, made, notes))
}

/// Takes comity out of the clients' files and git's hooks. The store, the log and the settings stay.
fn remove(context: &Context, dry_run: bool) -> Result<Reply, Refusal> {
    let files = clients::unregister(&context.root.dir, &context.beside_store(), dry_run)?;
    let hooks = match &context.root.git {
        Some(place) => clients::remove_hooks(&place.common_dir, dry_run)?,
        None => HookOutcome::default(),
    };
    let answer = json!({
        "root": context.root.dir.display().to_string(),
        "files": {"created": files.created, "changed": files.changed, "removed": files.removed,
            "left_alone": left_alone(&files)},
        "hooks": {"installed": hooks.installed, "removed": hooks.removed, "by_hand": hooks.by_hand},
        "dry_run": dry_run,
    });
    let mut out = String::new();
    list(&mut out, &files, &hooks, dry_run);
    if out.is_empty() {
        out.push_str("comity is registered nowhere\n");
    }
    out.push_str("The store, the log and .comity/ stay.\n");
    Ok(Reply::text(answer, out).exit(status(&files)))
}

/// A client's file that comity could not read is no success.
fn status(files: &Outcome) -> u8 {
    if files.left_alone.is_empty() { 0 } else { Code::ContractInvalid.exit_status() }
}

fn left_alone(files: &Outcome) -> Vec<serde_json::Value> {
    let one = |(path, reason): &(String, String)| json!({"path": path, "reason": reason});
    files.left_alone.iter().map(one).collect()
}

fn hooks(context: &Context, dry_run: bool) -> Result<HookOutcome, Refusal> {
    let Some(place) = &context.root.git else { return Ok(HookOutcome::default()) };
    let elsewhere = Git::at(&context.root.dir).users_setting("core.hooksPath");
    clients::install_hooks(&place.common_dir, elsewhere.as_deref(), &env::program()?, dry_run)
}

/// Asks only a person at a terminal who did not say already, and only where the answer matters.
fn asks(global: &Global, args: &InitArgs, clients: &[AgentClient]) -> bool {
    let matters = [AgentClient::Claude, AgentClient::Codex, AgentClient::Gemini];
    !global.json
        && !args.yes
        && clients.iter().any(|client| matters.contains(client))
        && env::converses()
}

fn approves() -> bool {
    output::remark("May the clients call comity's own tools without asking each time? [y/N]");
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

/// What is left for a person to do.
fn advice(
    clients: &[AgentClient],
    through: &Through,
    approve: bool,
    files: &Outcome,
    hooks: &HookOutcome,
) -> Vec<String> {
    let mut notes = Vec::new();
    if !files.is_empty() {
        notes.push("note: commit these files, so that every work tree has them".to_owned());
    }
    if let Through::Http { agent, .. } = through {
        notes.push(format!(
            "note: start the clients with COMITY_TOKEN set to a token of {agent}; the files only name the variable"
        ));
    }
    for line in &hooks.by_hand {
        notes.push(format!("note: git looks for hooks elsewhere (core.hooksPath); add to {line}"));
    }
    if clients.contains(&AgentClient::Codex) {
        notes.push("note: approve the hooks in Codex once; until then Codex skips them".to_owned());
        if !approve {
            notes.push(
                "note: `codex exec` refuses comity's tools; `comity init --approve-tools` allows them"
                    .to_owned(),
            );
        }
    }
    notes
}

fn keeps_settings(file: &Path) -> String {
    let file = file.display();
    format!("note: {file} already exists and was not changed; set [store] url in it")
}

/// A user who names the store trusts it as the settings have it. An agent does not trust in the user's name.
fn trust_store(context: &Context, machine: &Machine) -> Result<Option<String>, Refusal> {
    let Some(power) = context.config.powers(&context.root)?.into_iter().find(|power| {
        let place = store::parse_url(&power.value, &context.root.dir);
        power.kind == trust::STORE && place.is_ok_and(|place| place == context.store)
    }) else {
        return Ok(None);
    };
    let trust = Trust::of(&machine.environment);
    if trust.require(&power).is_ok() {
        return Ok(None);
    }
    if !context.actor.is_person() && !context.actor.is_script() {
        return Ok(Some(format!(
            "note: the settings name this store, and {} is an agent: a person runs `comity trust` before it is used without --store",
            context.actor
        )));
    }
    trust.add(&[power])?;
    Ok(None)
}

/// Moves the store's files aside, so that a new log begins. Returns what is said about it.
fn set_aside(context: &Context) -> Result<Option<String>, Refusal> {
    if !context.actor.is_person() {
        let text = format!("only a person may begin a new log; you are {}", context.actor);
        return Err(Refusal::new(Code::HumanOnly, text));
    }
    let Place::File(path) = &context.store else {
        return Err(Refusal::input("the store is on a server")
            .hint("name an empty database or schema in the store URL"));
    };
    if !context.store.exists() && !sqlite::has_head(path) {
        return Ok(None);
    }
    let suffix = format!(".old-{}", crate::human::now().ms());
    let moved = sqlite::set_aside(path, &suffix).map_err(|error| {
        Refusal::new(Code::StoreUnavailable, format!("cannot set the store aside: {error}"))
    })?;
    Ok(Some(format!("note: the old log is in {}", moved.display())))
}

fn words(
    context: &Context,
    through: &Through,
    made: &[String],
    files: &Outcome,
    hooks: &HookOutcome,
    dry_run: bool,
) -> String {
    let is_new = !made.is_empty() || !files.is_empty() || !hooks.installed.is_empty();
    let dir = context.root.dir.display();
    let mut out = match (dry_run, is_new) {
        (true, _) => format!("{dir} would be set up; nothing was changed\n"),
        (false, true) => format!("Set up {dir}\n"),
        (false, false) => format!("{dir} is already set up\n"),
    };
    for one in made {
        out.push_str(&format!("  created {one}\n"));
    }
    list(&mut out, files, hooks, dry_run);
    if let Through::Http { url, agent } = through {
        out.push_str(&format!("  server  {url}\n  agent   {agent}\n"));
        return out;
    }
    out.push_str(&format!("  store   {}\n", context.store_url()));
    out.push_str(&format!("  repo    {}\n", context.repo));
    out.push_str(&format!("  you are {}\n", context.actor));
    out.push_str("\nNext:\n");
    for step in [
        "comity task create 'What is to be done' --file 'src/**' --gate tests",
        "comity task claim",
        "comity status",
    ] {
        out.push_str(&format!("  {step}\n"));
    }
    out
}

/// Names the files of clients and the hooks of git.
fn list(out: &mut String, files: &Outcome, hooks: &HookOutcome, dry_run: bool) {
    let hook = |names: &[String]| names.iter().map(|name| format!("git hook {name}")).collect();
    let (installed, removed): (Vec<String>, Vec<String>) =
        (hook(&hooks.installed), hook(&hooks.removed));
    let would = if dry_run { "would be " } else { "" };
    for (word, names) in [
        ("created", files.created.iter().chain(&installed)),
        ("changed", files.changed.iter().chain(&[])),
        ("removed", files.removed.iter().chain(&removed)),
    ] {
        for name in names {
            out.push_str(&format!("  {would}{word} {name}\n"));
        }
    }
    for (path, reason) in &files.left_alone {
        out.push_str(&format!("  left alone {path}: {reason}\n"));
    }
}

/// With a git directory kept elsewhere, linked worktrees cannot find the main one by themselves.
fn remember_root(context: &Context) -> Result<(), Refusal> {
    let Some(place) = &context.root.git else { return Ok(()) };
    let config = place.config();
    let own = place.common_dir.starts_with(&context.root.dir)
        || context.root.dir == place.common_dir
        || config.get("core", "worktree").is_some()
        || config.get("comity", "root").is_some();
    if own {
        return Ok(());
    }
    let root = context.root.dir.display().to_string();
    let git = Git::at(&place.common_dir);
    let set = git.output(&["config", "comity.root", &root]).is_some_and(|out| out.status.success());
    if set {
        return Ok(());
    }
    Err(Refusal::new(Code::Internal, "git could not record the root of the project")
        .hint(format!("run `git config comity.root {root}`")))
}
