//! Probes: whether the work of runs that are under way would merge, before anybody hands it in.
//!
//! The snapshots of all runs are seen through one quarantine of objects, so that nothing is written into any repository.

use comity_api::{ProbePath, ProbeView, RunFilter, Side, op};
use comity_core::command::{Command, MergeStep};
use comity_core::merging::Probe;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::view::RunView;
use comity_engine::{Caller, Service};
use comity_guard::git::{Git, MergePair, merge_pairs};
use comity_project::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Paths that a report of a conflict lists.
const PATHS_MAX: usize = 100;

/// A run whose files are on this host.
struct AtWork {
    run: String,
    task: String,
    identity: String,
    /// Its last snapshot, else its last commit.
    head: String,
    paths: BTreeSet<String>,
}

/// Compares runs again and again, and reports what is new.
#[derive(Debug, Default)]
pub struct Prober {
    /// What was found last of each pair.
    known: BTreeMap<(String, String), (Probe, Vec<String>)>,
}

impl Prober {
    /// Compares all runs at work on this host with each other and with the branch they go into.
    pub fn probe(
        &mut self,
        context: &Context,
        service: &Service,
        caller: &Caller,
    ) -> Result<Vec<ProbeView>, Refusal> {
        self.look(context, service, caller, None)
    }

    /// Compares one run with those that began before it. Its keeper calls this as long as it works.
    pub fn probe_run(
        &mut self,
        context: &Context,
        service: &Service,
        caller: &Caller,
        run: &str,
    ) -> Result<Vec<ProbeView>, Refusal> {
        self.look(context, service, caller, Some(run))
    }

    fn look(
        &mut self,
        context: &Context,
        service: &Service,
        caller: &Caller,
        only: Option<&str>,
    ) -> Result<Vec<ProbeView>, Refusal> {
        let Some(git) = &context.root.git else { return Ok(Vec::new()) };
        let root = Git::at(&git.common_dir);
        let Some((name, tip)) = target(context, &root) else { return Ok(Vec::new()) };
        let (runs, objects) = at_work(service, caller, &root, &tip)?;
        let pairs = pairs(&runs, only);
        let wanted: Vec<MergePair> = pairs
            .iter()
            .map(|(first, later)| MergePair {
                a: first.map_or_else(|| tip.clone(), |first| first.head.clone()),
                b: later.head.clone(),
            })
            .collect();
        let merged = merge_pairs(&root, &objects, &wanted).ok_or_else(|| {
            Refusal::new(Code::Unobserved, "git could not compare the work of the runs")
        })?;
        let mut shown = Vec::new();
        for ((first, later), found) in pairs.into_iter().zip(merged) {
            let state = if found.is_empty() { Probe::Clean } else { Probe::Conflict };
            let paths = found.iter().map(|(path, _)| path.clone()).take(PATHS_MAX).collect();
            self.report(service, caller, (first, later), (state, paths))?;
            if first.is_none() && state == Probe::Clean {
                continue;
            }
            shown.push(ProbeView {
                a: first.map_or_else(|| Side::Target { name: name.clone() }, side),
                b: side(later),
                state,
                paths: found.into_iter().map(|(path, kind)| ProbePath { path, kind }).collect(),
            });
        }
        Ok(shown)
    }

    /// Records what is different from the last time.
    fn report(
        &mut self,
        service: &Service,
        caller: &Caller,
        (first, later): (Option<&AtWork>, &AtWork),
        found: (Probe, Vec<String>),
    ) -> Result<(), Refusal> {
        let key = (first.map_or_else(String::new, |one| one.run.clone()), later.run.clone());
        let before = self.known.insert(key, found.clone());
        if before.unwrap_or((Probe::Clean, Vec::new())) == found {
            return Ok(());
        }
        let (state, paths) = found;
        let (a, b) = match first {
            Some(first) => (first.run.clone(), Some(later.run.clone())),
            None => (later.run.clone(), None),
        };
        // Whoever keeps a run speaks for it with its fence; for others that fence means nothing.
        let fence = caller.fence.filter(|_| caller.actor.as_str() == later.identity);
        let teller = Caller { fence, key: None, observer: None, ..caller.clone() };
        service.run(&teller, Command::MergeStep(MergeStep::Probed { a, b, state, paths }))?;
        Ok(())
    }
}

/// Pairs each run with those that began before it and changed the same paths, and with the branch.
fn pairs<'r>(runs: &'r [AtWork], only: Option<&str>) -> Vec<(Option<&'r AtWork>, &'r AtWork)> {
    let mut pairs = Vec::new();
    for (place, later) in runs.iter().enumerate() {
        if only.is_some_and(|only| later.run != only) {
            continue;
        }
        for first in runs.iter().take(place).filter(|first| first.task != later.task) {
            if !first.paths.is_disjoint(&later.paths) {
                pairs.push((Some(first), later));
            }
        }
        pairs.push((None, later));
    }
    pairs
}

fn side(run: &AtWork) -> Side {
    Side::Run { run: run.run.clone(), task: run.task.clone(), head: run.head.clone() }
}

/// Finds the branch that work goes into, and its tip.
fn target(context: &Context, root: &Git) -> Option<(String, String)> {
    let set = context.config.merging().ok().and_then(|merging| merging.target);
    let base = context.config.base_branch().map(str::to_owned);
    let known = ["main", "master"].map(str::to_owned);
    let mut tips = set.into_iter().chain(base).chain(known).filter_map(|name| {
        let tip = root.commit(&format!("refs/heads/{name}"))?;
        Some((name, tip))
    });
    tips.next()
}

/// Finds the runs whose files are on this host, the oldest first, and where their objects are.
fn at_work(
    service: &Service,
    caller: &Caller,
    root: &Git,
    tip: &str,
) -> Result<(Vec<AtWork>, Vec<PathBuf>), Refusal> {
    let live = [RunState::Starting, RunState::Running, RunState::Waiting, RunState::Paused];
    let filter = RunFilter { status: live.to_vec(), ..RunFilter::default() };
    let page = service.call::<op::Runs>(caller, filter)?;
    Ok(page.runs.iter().filter_map(|run| seen(run, root, tip)).unzip())
}

fn seen(run: &RunView, root: &Git, tip: &str) -> Option<(AtWork, PathBuf)> {
    let tree = PathBuf::from(run.workspace.as_deref()?);
    let git = Git::at(&tree);
    let id = run.id.clone()?;
    let head = git.commit(&format!("refs/comity/run/{id}/wip")).or_else(|| git.commit("HEAD"))?;
    // The run may have begun before the branch moved on: only what it did itself counts.
    let base = root.commit(&format!("refs/comity/run/{id}/base")).unwrap_or_else(|| tip.to_owned());
    let output = git.output(&["diff", "--name-only", "-z", &base, &head])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths: BTreeSet<String> =
        text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let (task, identity) = (run.task.clone()?, run.identity.clone()?);
    let has_changes = !paths.is_empty();
    let at_work = AtWork { run: id, task, identity, head, paths };
    has_changes.then(|| (at_work, tree.join(".git/objects")))
}
