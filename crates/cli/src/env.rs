//! The one place that reads the environment, the working directory and the terminal of the process.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the room that reads the environment and the working directory"
)]

use crate::args::Global;
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Caller;
use comity_guard::GitObserver;
use comity_project::identity::Client;
use comity_project::{Context, Environment, Machine};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns a variable; an empty one counts as unset, one that is not UTF-8 is refused.
pub fn var(name: &str) -> Result<Option<String>, Refusal> {
    let own = std::env::var_os(name).map(|value| (name.into(), value));
    Environment::new(own).get(name)
}

/// Tells whether an agent runs this process, by its client's marker or by name.
pub fn is_agent() -> bool {
    let environment = Environment::new(std::env::vars_os());
    let named = environment.own("COMITY_AGENT").filter(|name| !name.is_empty());
    named.is_some_and(|name| !name.starts_with("human:")) || Client::find(&environment).is_some()
}

pub fn project(global: &Global) -> Result<Context, Refusal> {
    Ok(seeing(Context::find(&machine()?, &global.asked())?))
}

/// Gives a context eyes for the work tree that the process is in.
pub fn seeing(mut context: Context) -> Context {
    context.observer = Some(comity_github::fenced(&context, observer(&context)));
    context
}

/// Gives a context eyes for callers whose work trees the process does not see.
pub fn seeing_branches(mut context: Context) -> Context {
    let tree = context.git_tree().cloned();
    let base = context.config.base_branch().map(str::to_owned);
    let is_comitys = Box::new(comity_bridge::by_comity(&context));
    let eyes = Arc::new(GitObserver { tree, base, head_counts: false, is_comitys });
    context.observer = Some(comity_github::fenced(&context, eyes));
    context
}

/// Returns what looks at the work tree that the process is in.
pub fn observer(context: &Context) -> Arc<GitObserver> {
    Arc::new(GitObserver {
        tree: context.git_tree().cloned(),
        base: context.config.base_branch().map(str::to_owned),
        head_counts: true,
        is_comitys: Box::new(comity_bridge::by_comity(context)),
    })
}

/// Gives a context eyes that take a file of the work tree for the result that is handed in, and not for work.
pub fn seeing_result(context: &Context, file: &str, text: &str) -> Context {
    let Some(tree) = context.git_tree().cloned() else { return context.clone() };
    let by_comity = comity_bridge::by_comity(context);
    let by_result = comity_bridge::by_result(&tree, Path::new(file), text.to_owned());
    let observer = GitObserver {
        tree: Some(tree),
        base: context.config.base_branch().map(str::to_owned),
        head_counts: true,
        is_comitys: Box::new(move |file, text| by_comity(file, text) || by_result(file, text)),
    };
    let mut context = context.clone();
    context.observer = Some(comity_github::fenced(&context, Arc::new(observer)));
    context
}

/// Returns who calls what needs no project.
pub fn caller_alone() -> Result<Caller, Refusal> {
    Ok(Caller::new(AgentId::parse(&format!("script:{}", login()))?, RepoName::parse("none")?))
}

/// Returns a flag that a signal to end raises.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Refusal> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(no_signals)?;
    }
    Ok(stop)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn no_signals(error: std::io::Error) -> Refusal {
    Refusal::new(Code::Internal, format!("cannot listen for signals: {error}"))
}

/// Says what the process knows about itself.
pub fn machine() -> Result<Machine, Refusal> {
    let terminal = terminal();
    Ok(Machine {
        cwd: working_directory()?,
        environment: Environment::new(std::env::vars_os()),
        at_terminal: terminal.is_some(),
        login: login(),
        host: host(),
        terminal: terminal.flatten(),
        parent: rustix::process::getppid()
            .and_then(|pid| pid.as_raw_nonzero().get().try_into().ok()),
    })
}

pub fn working_directory() -> Result<PathBuf, Refusal> {
    let cwd = std::env::current_dir()
        .map_err(|error| Refusal::input(format!("the working directory is gone: {error}")))?;
    Ok(std::fs::canonicalize(&cwd).unwrap_or(cwd))
}

/// Looks for a terminal on stdin, stdout and stderr, so that a person is also seen inside a pipe. The inner value is its
/// name, where the system tells one.
fn terminal() -> Option<Option<String>> {
    fn name(stream: impl AsFd + IsTerminal) -> Option<Option<String>> {
        let named = |stream| rustix::termios::ttyname(stream, Vec::new()).ok()?.into_string().ok();
        stream.is_terminal().then(|| named(stream))
    }
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    name(stdin).or_else(|| name(stdout)).or_else(|| name(stderr))
}

/// Returns the name of the user, in the characters of an identity.
pub fn login() -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| var(name).ok().flatten());
    let uid = rustix::process::getuid().as_raw();
    let name = named.or_else(|| name_of(uid)).unwrap_or_else(|| format!("uid{uid}"));
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    name.chars().take(64).map(keep).collect()
}

/// Looks a user up where the environment names none, as under cron or in a container.
fn name_of(uid: u32) -> Option<String> {
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    };
    table.lines().find_map(entry)
}

/// Returns the words after the hidden command that keeps the processes of a command together.
pub fn child_words() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == comity_guard::child::WORD).then(|| words.collect())
}

/// Returns the job of the hidden command that keeps one run of an agent.
pub fn keeper_job() -> Option<PathBuf> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == comity_fleet::WORD).then(|| words.next().map(PathBuf::from))?
}

/// Returns where this program is.
pub fn program() -> Result<PathBuf, Refusal> {
    std::env::current_exe().map_err(|error| {
        Refusal::new(Code::Internal, format!("cannot find comity itself: {error}"))
    })
}

/// Tells whether somebody can be asked: stdin and stderr are a terminal, and no agent client runs us.
pub fn converses() -> bool {
    let environment = Environment::new(std::env::vars_os());
    std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal()
        && !environment.has("COMITY_AGENT")
        && Client::find(&environment).is_none()
}

/// Asks the person at the terminal.
pub fn asked(question: &str) -> Option<String> {
    crate::output::remark(question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// Tells whether somebody sits before it: what is typed comes from a terminal, and what is drawn goes to one.
pub fn has_screen() -> bool {
    std::io::stdin().is_terminal() && crate::output::seen()
}

pub fn host() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}
