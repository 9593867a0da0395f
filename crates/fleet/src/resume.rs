//! Going on with a run that ended: the same task, branch and work tree, with what the run before it left.

use crate::elsewhere;
use crate::keeper::Job;
use crate::place::{RunPlace, failed, home};
use crate::session::Session;
use crate::start::{Asked, Started, start};
use comity_api::{ById, EventFilter, Since, op};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{RunFault, RunState};
use comity_core::view::RunView;
use comity_engine::{Caller, Service};
use comity_guard::git::Git;
use comity_project::Context;
use comity_project::fleet::DriverKind;
use comity_protocol::neotx::crash;
use comity_protocol::neotx::resume::{Completed, Form, Resumption, render};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Says in the facts of a run that it took the session of the run before it.
const SAME_SESSION: &str = "sameSession";
const RESUMED_FROM: &str = "resumedFrom";
/// Events that are looked through for milestones at once.
const EVENTS_MAX: usize = 200;
/// Runs that one run goes on from, one after the other.
const CHAIN_MAX: usize = 50;

/// What a run that goes on begins with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resumed {
    pub(crate) from: String,
    /// What the agent is told first.
    pub(crate) header: String,
    /// The session of the client that goes on.
    pub(crate) session: Option<String>,
    /// The directory of the client and its session.
    pub(crate) place: PathBuf,
}

impl Resumed {
    /// Returns the facts of a run that goes on.
    pub(crate) fn meta(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let mut meta = given.clone();
        meta.insert(RESUMED_FROM.to_owned(), Value::String(self.from.clone()));
        meta.insert(SAME_SESSION.to_owned(), Value::Bool(self.session.is_some()));
        meta
    }

    /// Takes over the files of the client, so that it finds its session.
    pub(crate) fn hand_over(&self, to: &RunPlace) -> Result<(), Refusal> {
        if self.session.is_none() {
            return Ok(());
        }
        let from = RunPlace { dir: self.place.clone() };
        let moved = std::fs::remove_dir(to.client())
            .and_then(|()| std::fs::rename(from.client(), to.client()));
        moved.map_err(|error| failed(&to.client(), &error))?;
        Session::read(&from.session()).write(&to.session());
        Ok(())
    }
}

/// Dispatches a run that goes on from one that ended, and starts its keeper.
pub fn resume(
    context: &Context,
    service: &Service,
    caller: &Caller,
    program: &Path,
    id: &str,
    fresh: bool,
) -> Result<Started, Refusal> {
    let old = service.call::<op::RunShow>(caller, ById { id: id.to_owned() })?.run;
    let id = old.id.clone().unwrap_or_default();
    let job = Job::read(&RunPlace::of(context, &id)?.job()).ok();
    let asked = Asked {
        agent: old.agent.clone(),
        prompt: match job.and_then(|job| job.asked) {
            Some(asked) => Some(asked),
            None => elsewhere::words(context, service, &old.prompt_sha256)?,
        },
        task: old.task.clone(),
        branch: old.branch.clone(),
        base: old.base.clone(),
        stage: Some(old.stage),
        meta: old.meta.clone(),
        driver: Some(old.driver.clone()),
        model: old.model,
        labels: old.labels,
        resumed_from: Some(id),
        fresh,
        ..Asked::default()
    };
    start(context, service, caller, program, &asked)
}

/// Sees what a run left that goes on. One that succeeded or lives does not, nor one whose commits are gone.
pub(crate) fn taken_up(
    context: &Context,
    service: &Service,
    caller: &Caller,
    id: &str,
    fresh: bool,
) -> Result<Resumed, Refusal> {
    let old = service.call::<op::RunShow>(caller, ById { id: id.to_owned() })?.run;
    let id = old.id.clone().unwrap_or_default();
    if old.state.is_live() || old.state == RunState::Succeeded {
        let message =
            format!("{id} is {}: only a run that failed, was stopped or lost goes on", old.state);
        return Err(Refusal::new(Code::InvalidTransition, message)
            .detail("run", id.as_str())
            .detail("state", old.state.as_str()));
    }
    // What a lost host had not pushed yet is done again.
    let was_elsewhere =
        old.state == RunState::Lost && !old.labels.is_empty() && !is_here(context, &id)?;
    if let Some(sha) = diverged(context, &old).filter(|_| !was_elsewhere) {
        let branch = old.branch.clone().unwrap_or_default();
        let message = format!("{id} made the commit {sha}, which is not on {branch} any more");
        return Err(Refusal::new(Code::InvalidTransition, message)
            .hint("bring the commit back to the branch, or start a new run without it")
            .detail("run", id.as_str())
            .detail("commit", sha)
            .detail("diverged", true));
    }
    let place = RunPlace::of(context, &id)?;
    let session = session(&old, &place, fresh);
    let header = header(context, service, &old)?;
    Ok(Resumed { from: id, header, session, place: place.dir })
}

/// The same session goes on once, after what was no fault of the agent; else a new one begins.
fn session(old: &RunView, place: &RunPlace, fresh: bool) -> Option<String> {
    let error = old.error.as_ref().map(|error| error.kind);
    let harmless = old.state == RunState::Lost
        || matches!(
            error,
            Some(RunFault::Stall | RunFault::NoResult | RunFault::Lost | RunFault::Api)
        );
    let again = old.meta.get(SAME_SESSION).and_then(Value::as_bool).unwrap_or_default();
    let is_there = place.client().is_dir();
    let wanted = !fresh && harmless && !again && is_there && knows_sessions(place);
    old.session.clone().filter(|_| wanted)
}

/// Tells whether the client of a run takes up a session that another process began. Its kind says so, whatever its driver is called.
fn knows_sessions(place: &RunPlace) -> bool {
    let job = Job::read(&place.job());
    job.is_ok_and(|job| matches!(job.kind, DriverKind::Claude | DriverKind::Codex))
}

/// Names a commit that a run made and that is not behind the tip of its branch.
pub fn diverged(context: &Context, run: &RunView) -> Option<String> {
    let tree = run.workspace.as_ref().map(PathBuf::from).filter(|tree| tree.join(".git").is_dir());
    let git = Git::at(tree.as_deref().unwrap_or(&context.root.dir));
    let branch = run.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let tip = branch.and_then(|branch| git.commit(&branch)).or_else(|| git.commit("HEAD"))?;
    let behind = |sha: &String| {
        let args = ["merge-base", "--is-ancestor", sha, &tip];
        git.output(&args).is_some_and(|output| output.status.success())
    };
    run.milestones.iter().map(|milestone| &milestone.sha).find(|sha| !behind(sha)).cloned()
}

/// Writes what is done already and where to go on.
fn header(context: &Context, service: &Service, old: &RunView) -> Result<String, Refusal> {
    let chain = chain(context, service, old)?;
    let first = chain.last().and_then(|run| run.created_at);
    let mut completed: Vec<Completed> = Vec::new();
    for text in milestones(context, service, &chain, first)? {
        if let Some(done) = crash::milestone(&text) {
            completed.retain(|known| known.task != done.task);
            completed.push(done);
        }
    }
    let git = Git::at(&context.root.dir);
    let is_there = |sha: &String| git.commit(sha).is_some();
    if !old.labels.is_empty() {
        completed.retain(|done| done.commit.as_ref().is_none_or(is_there));
    }
    let failed_at = crash::next_of_plan(&completed)
        .or_else(|| old.task.clone())
        .unwrap_or_else(|| "the beginning".to_owned());
    let why = old.error.as_ref().map(|error| format!("{}: {}", error.kind, error.message));
    let error = why.or_else(|| old.reason.clone()).unwrap_or_else(|| old.state.to_string());
    let named = |sha: &str| {
        let of =
            |done: &Completed| done.commit.as_deref().is_some_and(|short| sha.starts_with(short));
        completed.iter().any(of)
    };
    let commits = chain.iter().rev().flat_map(|run| &run.milestones);
    let unnamed: Vec<&str> = commits
        .filter(|made| is_there(&made.sha))
        .map(|made| made.sha.as_str())
        .filter(|sha| !named(sha))
        .collect();
    let previous_run = old.id.clone().unwrap_or_default();
    let mut text = render(
        &Resumption {
            previous_run,
            completed: completed.clone(),
            failed_at,
            error,
            original: None,
        },
        Form::Each,
    );
    if !unnamed.is_empty() {
        let _ = writeln!(text, "Commits without a milestone: {}", unnamed.join(", "));
    }
    Ok(text)
}

/// Returns a run and those that it goes on from, the newest first.
fn chain(context: &Context, service: &Service, run: &RunView) -> Result<Vec<RunView>, Refusal> {
    let mut all = vec![run.clone()];
    while let Some(id) = all.last().and_then(|run| run.resumed_from.clone())
        && all.len() < CHAIN_MAX
    {
        all.push(service.call::<op::RunShow>(&context.caller(), ById { id })?.run);
    }
    Ok(all)
}

/// Returns the milestones that the agents of these runs logged, the oldest first.
fn milestones(
    context: &Context,
    service: &Service,
    chain: &[RunView],
    first: Option<comity_core::time::Timestamp>,
) -> Result<Vec<String>, Refusal> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let filter = EventFilter {
            event: Some("note".to_owned()),
            since: first.map(Since::Time),
            limit: Some(EVENTS_MAX),
            after,
            ..EventFilter::default()
        };
        let page = service.call::<op::EventList>(&context.caller(), filter)?;
        for event in &page.events {
            let by = |run: &RunView| run.identity.as_deref() == Some(event.agent.as_str());
            let field = |name: &str| event.fields.get(name).and_then(Value::as_str);
            if chain.iter().any(by) && field("type") == Some("milestone") {
                found.extend(field("text").map(str::to_owned));
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// Tells whether the files of a run are on this host.
pub fn is_here(context: &Context, id: &str) -> Result<bool, Refusal> {
    Ok(home(context)?.join("runs").join(id).is_dir())
}
