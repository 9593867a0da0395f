//! The work trees that runs have left on this host: which there are, and which can go without losing anything.

use crate::place::home;
use comity_api::{ById, RunFilter, SpaceView, op};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_core::view::RunView;
use comity_engine::{Caller, Service};
use comity_guard::git::{Git, NewFiles, WorkTree, snapshot};
use comity_project::Context;
use std::path::{Path, PathBuf};

/// Lists the work trees, by name.
pub fn list(
    context: &Context,
    service: &Service,
    caller: &Caller,
) -> Result<Vec<SpaceView>, Refusal> {
    let runs = runs(service, caller)?;
    let mut found = Vec::new();
    for tree in trees(context)? {
        found.push(seen(&tree, &runs));
    }
    Ok(found)
}

fn trees(context: &Context) -> Result<Vec<PathBuf>, Refusal> {
    let Ok(entries) = std::fs::read_dir(home(context)?.join("ws")) else { return Ok(Vec::new()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut trees: Vec<PathBuf> = paths.filter(|path| path.join(".git").is_dir()).collect();
    trees.sort();
    Ok(trees)
}

fn runs(service: &Service, caller: &Caller) -> Result<Vec<RunView>, Refusal> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let filter = RunFilter { limit: Some(PAGE_MAX), after, ..RunFilter::default() };
        let page = service.call::<op::Runs>(caller, filter)?;
        found.extend(page.runs);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

fn seen(tree: &Path, runs: &[RunView]) -> SpaceView {
    let git = Git::at(tree);
    let path = tree.to_string_lossy().into_owned();
    let run = last_run(&path, runs);
    let id = run.and_then(|run| run.id.clone());
    let why = match run {
        Some(run) if run.state.is_live() => {
            Some(format!("{} is at work in it", id.as_deref().unwrap_or("a run")))
        }
        Some(_) => None,
        None => Some("no run of this store worked in it".to_owned()),
    };
    let wip = id.as_ref().and_then(|id| git.commit(&format!("refs/comity/run/{id}/wip")));
    let dirty = WorkTree::of(tree).and_then(|files| files.is_dirty(NewFiles::Count));
    SpaceView {
        host: run.and_then(|run| run.host.clone()),
        task: run.and_then(|run| run.task.clone()),
        branch: git.branch(),
        run: id,
        dirty: dirty.unwrap_or(true),
        wip,
        removable: why.is_none(),
        why,
        path,
    }
}

fn last_run<'r>(path: &str, runs: &'r [RunView]) -> Option<&'r RunView> {
    let mut here: Vec<&RunView> =
        runs.iter().filter(|run| run.workspace.as_deref() == Some(path)).collect();
    here.sort_by_key(|run| (run.state.is_live(), run.number));
    here.pop()
}

/// Removes a work tree that is named by its path, its run or its task. What is in it is kept under refs of the run first.
pub fn remove(
    context: &Context,
    service: &Service,
    caller: &Caller,
    name: &str,
) -> Result<SpaceView, Refusal> {
    let is_it = |space: &SpaceView| {
        let named = [Some(&space.path), space.run.as_ref(), space.task.as_ref()];
        named.into_iter().flatten().any(|known| known == name)
    };
    let space = list(context, service, caller)?.into_iter().find(is_it).ok_or_else(|| {
        Refusal::new(Code::NotFound, format!("there is no work tree {name:?} of a run here"))
            .hint("name a path, a run or a task of the list of work trees")
    })?;
    take_away(context, &space)?;
    Ok(space)
}

/// Removes the work trees of finished tasks whose last run ended this long ago.
pub fn collect(
    context: &Context,
    service: &Service,
    caller: &Caller,
    older: Millis,
    now: Timestamp,
) -> Result<Vec<SpaceView>, Refusal> {
    let runs = runs(service, caller)?;
    let mut gone = Vec::new();
    for space in list(context, service, caller)?.into_iter().filter(|space| space.removable) {
        let ended = last_run(&space.path, &runs).and_then(|run| run.ended_at);
        let is_old = ended.is_some_and(|ended| now.since(ended) >= older);
        let Some(id) = space.task.clone().filter(|_| is_old) else { continue };
        let task = service.call::<op::TaskShow>(caller, ById { id })?.task;
        if task.status.is_finished() {
            take_away(context, &space)?;
            gone.push(space);
        }
    }
    Ok(gone)
}

/// Keeps the last commit and everything that is not committed in the project's repository, then removes the files.
fn take_away(context: &Context, space: &SpaceView) -> Result<(), Refusal> {
    if let Some(why) = &space.why {
        let message = format!("{} stays: {why}", space.path);
        return Err(Refusal::new(Code::NotReady, message).hint("wait for the run, or stop it"));
    }
    let lost = |what: &str| {
        Refusal::new(Code::CouldNotRun, format!("git could not keep {what} of {}", space.path))
            .hint("look at the work tree; nothing was removed")
    };
    let common = context.root.git.as_ref().map(|git| git.common_dir.clone());
    let common = common.ok_or_else(|| lost("the commits"))?;
    let run = space.run.clone().ok_or_else(|| lost("the commits"))?;
    let tree = Path::new(&space.path);
    let git = Git::at(tree);
    let wip = format!("refs/comity/run/{run}/wip");
    if space.dirty {
        let kept = snapshot(tree, &run)?;
        if git.output(&["update-ref", &wip, &kept]).is_none_or(|output| !output.status.success()) {
            return Err(lost("uncommitted work"));
        }
    }
    let mut refs = vec![format!("+HEAD:refs/comity/run/{run}/head")];
    if git.commit(&wip).is_some() {
        refs.push(format!("+{wip}:{wip}"));
    }
    let root = Git::at(&common).with("GIT_ALLOW_PROTOCOL", "file");
    let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &space.path];
    args.extend(refs.iter().map(String::as_str));
    if root.output(&args).is_none_or(|output| !output.status.success()) {
        return Err(lost("the work"));
    }
    std::fs::remove_dir_all(tree).map_err(|error| crate::place::failed(tree, &error))
}
