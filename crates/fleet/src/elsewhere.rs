//! Runs on other hosts: what they need is pushed before they begin, what they do is pushed while they work and fetched by whoever
//! goes on with it. All of it is carried by refs of the run on the remote that the hosts share.

use crate::keeper::{Keeper, LOOK};
use crate::workspace::{Workspace, forward};
use comity_api::{RunFilter, op};
use comity_core::command::{Command, RunChange};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::view::RunView;
use comity_engine::{Caller, KeptChanges, Service};
use comity_guard::git::{Git, Way, carry};
use comity_project::Context;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The row of a prompt in its space.
const WORDS: &str = "words";

/// How long the last push of a run may take, and how often its keeper says meanwhile that it lives.
const PUSH_WITHIN: Duration = Duration::from_secs(120);
const BEAT: Duration = Duration::from_secs(1);

fn dir(context: &Context) -> PathBuf {
    let common = context.root.git.as_ref().map(|git| git.common_dir.clone());
    common.unwrap_or_else(|| context.root.dir.clone())
}

fn failed(what: &str, remote: &str, why: &str) -> Refusal {
    let message = format!("git could not {what} {remote}: {}", why.lines().next().unwrap_or(why));
    Refusal::new(Code::CouldNotRun, message)
        .hint("runs with labels need a remote that all hosts share; set [fleet] remote to its name")
}

fn all_of(run: &str) -> String {
    format!("+refs/comity/run/{run}/*:refs/comity/run/{run}/*")
}

/// Pushes the commits that a run begins with, for the host that takes it.
pub(crate) fn publish(context: &Context, run: &RunView) -> Result<(), Refusal> {
    let (id, dir) = (run.id.clone().unwrap_or_default(), dir(context));
    let remote = context.config.elsewhere()?.remote;
    let git = Git::at(&dir);
    let base = run.base.as_deref().and_then(|base| git.commit(base));
    let base = base.ok_or_else(|| failed("find the first commit of a run for", &remote, &id))?;
    let branch = run.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let start = branch.and_then(|branch| git.commit(&branch));
    let refs: Vec<String> = [("base", Some(base)), ("start", start)]
        .into_iter()
        .filter_map(|(name, commit)| Some(format!("+{}:refs/comity/run/{id}/{name}", commit?)))
        .collect();
    carry(&dir, &remote, Way::There, &refs).map_err(|why| failed("push to", &remote, &why))
}

/// Fetches what a run begins with; tells whether it is there. A run that goes on where a lost one ended has the base of that one.
pub(crate) fn obtain(context: &Context, run: &RunView) -> Result<bool, Refusal> {
    let dir = dir(context);
    let remote = context.config.elsewhere()?.remote;
    let refs: Vec<String> = run.id.iter().chain(&run.resumed_from).map(|id| all_of(id)).collect();
    carry(&dir, &remote, Way::Here, &refs).map_err(|why| failed("fetch from", &remote, &why))?;
    let git = Git::at(&dir);
    // The branch is where whoever asks for the run has it, or where the run before it left it.
    let own = run.id.iter().map(|id| format!("refs/comity/run/{id}/start"));
    let before = run.resumed_from.iter().map(|id| format!("refs/comity/run/{id}/head"));
    for tip in own.chain(before).filter_map(|name| git.commit(&name)) {
        run.branch.iter().for_each(|branch| drop(forward(&git, branch, &tip)));
    }
    Ok(run.base.as_deref().is_some_and(|base| git.commit(base).is_some()))
}

/// Fetches what runs of a task did on other hosts, and moves its branch forward. Says why something could not be fetched.
pub fn catch_up(
    context: &Context,
    service: &Service,
    caller: &Caller,
    task: Option<&str>,
) -> Result<Option<String>, Refusal> {
    let (dir, mut after, mut runs) = (dir(context), None, Vec::new());
    loop {
        let (task, limit) = (task.map(str::to_owned), Some(PAGE_MAX));
        let page = service
            .call::<op::Runs>(caller, RunFilter { task, limit, after, ..RunFilter::default() })?;
        runs.extend(page.runs);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let git = Git::at(&dir);
    let is_missing = |run: &&RunView| {
        let head = run.head.as_deref();
        !run.labels.is_empty()
            && !run.state.is_live()
            && run.started_at.is_some()
            && head.is_none_or(|head| git.commit(head).is_none())
    };
    let missing: Vec<&RunView> = runs.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let remote = context.config.elsewhere()?.remote;
    let refs: Vec<String> =
        missing.iter().filter_map(|run| run.id.as_deref()).map(all_of).collect();
    if let Err(why) = carry(&dir, &remote, Way::Here, &refs) {
        return Ok(Some(failed("fetch from", &remote, &why).message));
    }
    for run in missing {
        let head = format!("refs/comity/run/{}/head", run.id.as_deref().unwrap_or_default());
        if let (Some(branch), Some(head)) = (&run.branch, git.commit(&head)) {
            forward(&git, branch, &head);
        }
    }
    Ok(None)
}

fn space(context: &Context, hash: &str) -> String {
    format!("prompt:{}:{hash}", context.repo)
}

/// Keeps the words of a prompt beside the log, for the host that takes the run.
pub(crate) fn keep_words(
    context: &Context,
    service: &Service,
    hash: &str,
    words: Option<&str>,
) -> Result<(), Refusal> {
    let words = words.map(|words| words.as_bytes().to_vec());
    let change = move |_: &comity_engine::KeptRows| -> (KeptChanges, ()) {
        (vec![(WORDS.to_owned(), words)], ())
    };
    service.change_kept(&space(context, hash), change)
}

/// Returns the words of a prompt that another host kept.
pub(crate) fn words(
    context: &Context,
    service: &Service,
    hash: &str,
) -> Result<Option<String>, Refusal> {
    let rows = service.kept(&space(context, hash))?;
    Ok(rows.get(WORDS).map(|words| String::from_utf8_lossy(words).into_owned()))
}

/// Pushes what a run on a worker did, beside the run: at each commit, at the end, and every so often what is not finished.
pub(crate) struct Pusher {
    dir: PathBuf,
    remote: String,
    run: String,
    branch: Option<String>,
    every: Duration,
    last: Instant,
    at_work: Option<JoinHandle<Result<(), String>>>,
}

impl Pusher {
    pub(crate) fn new(context: &Context, run: &RunView) -> Result<Pusher, Refusal> {
        let set = context.config.elsewhere()?;
        let every = Duration::from_millis(u64::try_from(set.push_every.ms()).unwrap_or_default());
        let (run, branch) = (run.id.clone().unwrap_or_default(), run.branch.clone());
        let (dir, last) = (dir(context), Instant::now());
        Ok(Pusher { dir, remote: set.remote, run, branch, every, last, at_work: None })
    }

    /// Tells whether it is time; one push at a time.
    pub(crate) fn is_due(&self, has_commits: bool) -> bool {
        self.at_work.is_none() && (has_commits || self.last.elapsed() >= self.every)
    }

    /// Begins to push what is under the refs of the run at home.
    pub(crate) fn begin(&mut self, with_branch: bool) {
        self.last = Instant::now();
        let refs = self.refs(with_branch);
        let (dir, remote) = (self.dir.clone(), self.remote.clone());
        self.at_work = Some(std::thread::spawn(move || push(&dir, &remote, &refs)));
    }

    fn refs(&self, with_branch: bool) -> Vec<String> {
        let git = Git::at(&self.dir);
        let own = |what: &str| format!("refs/comity/run/{}/{what}", self.run);
        let kept = ["head", "wip"].map(own).into_iter().filter(|name| git.commit(name).is_some());
        let mut refs: Vec<String> = kept.map(|name| format!("+{name}:{name}")).collect();
        if let (Some(branch), true) = (&self.branch, with_branch) {
            refs.push(format!("{}:refs/heads/{branch}", own("head")));
        }
        refs
    }

    /// Says how the last push went, once it is through.
    pub(crate) fn ended(&mut self) -> Option<Result<(), String>> {
        let is_through = self.at_work.as_ref().is_some_and(JoinHandle::is_finished);
        let through = if is_through { self.at_work.take() } else { None };
        through.map(|thread| thread.join().unwrap_or_else(|_| Err("it broke".to_owned())))
    }

    pub(crate) fn is_at_work(&self) -> bool {
        self.at_work.is_some()
    }
}

impl Keeper<'_> {
    /// Takes the run. Whoever comes second leaves it alone.
    pub(crate) fn take(&mut self, take: &RunChange) -> Result<(), Refusal> {
        self.change(take).map_err(|refusal| match refusal.code {
            Code::InvalidTransition => {
                Refusal::new(Code::StaleFence, format!("{} is taken already", self.job.run))
            }
            _ => refusal,
        })
    }

    /// Carries what the agent did so far to where other hosts find it.
    pub(crate) fn push(&mut self, space: &Workspace, has_commits: bool) -> Result<(), Refusal> {
        let Some(pusher) = &mut self.pusher else { return Ok(()) };
        let failed = pusher.ended().and_then(Result::err);
        if let Some(why) = failed {
            self.note("event", &format!("the work could not be pushed: {why}"));
        }
        if self.pusher.as_ref().is_some_and(|pusher| pusher.is_due(has_commits)) {
            space.keep_at_home()?;
            self.begin_push();
        }
        Ok(())
    }

    fn begin_push(&mut self) {
        // A run that was lost has no say over the branch any more; its own refs are its own.
        let is_live = self.state().is_ok_and(RunState::is_live);
        let with_branch = is_live && self.job.agent.writable && !self.run.milestones.is_empty();
        if let Some(pusher) = &mut self.pusher {
            pusher.begin(with_branch);
        }
    }

    /// Pushes what there is at the end, and waits for it as long as the network may need.
    pub(crate) fn push_last(&mut self) {
        let (mut beat, until) = (Instant::now(), Instant::now() + PUSH_WITHIN);
        for last in [false, true] {
            if last {
                self.begin_push();
            }
            while self.pusher.as_ref().is_some_and(Pusher::is_at_work) && Instant::now() < until {
                let ended = self.pusher.as_mut().and_then(Pusher::ended);
                if let Some(Err(why)) = ended {
                    self.note("event", &format!("the work could not be pushed: {why}"));
                }
                std::thread::sleep(LOOK / 10);
                if beat.elapsed() >= BEAT {
                    beat = Instant::now();
                    let _ = self.service.run(&self.caller, Command::Heartbeat);
                }
            }
        }
    }
}

fn push(dir: &Path, remote: &str, refs: &[String]) -> Result<(), String> {
    if refs.is_empty() { Ok(()) } else { carry(dir, remote, Way::There, refs) }
}
