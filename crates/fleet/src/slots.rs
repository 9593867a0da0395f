//! Places for live runs on this host. A keeper has one from before it takes its run until it ends; while there is none, its run
//! waits in the queue. A place is a locked file, so that whoever is killed leaves it.

use crate::keeper::{Keeper, LOOK, is_away};
use crate::place::{failed, home, private_dir};
use comity_api::{RunFilter, op};
use comity_core::command::Command;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::view::RunView;
use comity_project::Context;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a keeper that waits says that it lives, in the life of its run.
const BEATS: i64 = 3;
/// Most places that are looked at.
const PLACES_MAX: usize = 10_000;

/// A place; it is free again when this is gone.
pub(crate) struct Place {
    _lock: File,
}

fn dir(context: &Context) -> Result<PathBuf, Refusal> {
    let all = home(context)?;
    let dir = all.parent().unwrap_or(&all).join("places");
    private_dir(&dir)?;
    Ok(dir)
}

/// Whoever counts places or takes one does so alone.
fn turn(dir: &Path) -> Result<File, Refusal> {
    let path = dir.join("turn");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(|error| failed(&path, &error))?;
    flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(&path, &error.into()))?;
    Ok(file)
}

/// What is known of the places of this host.
struct Places {
    /// For whom each taken place is.
    taken: Vec<String>,
    free: Option<(PathBuf, File)>,
}

/// Looks at the places, one after the other, up to the first that nobody ever had.
fn places(dir: &Path) -> Result<Places, Refusal> {
    let mut found = Places { taken: Vec::new(), free: None };
    for number in 0..PLACES_MAX {
        let path = dir.join(format!("{number}.lock"));
        let is_new = !path.exists();
        if is_new && found.free.is_some() {
            break;
        }
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            found.taken.push(std::fs::read_to_string(&path).unwrap_or_default());
        } else if found.free.is_none() {
            found.free = Some((path, file));
        }
        if is_new {
            break;
        }
    }
    Ok(found)
}

fn name(context: &Context) -> String {
    context.root.dir.to_string_lossy().into_owned()
}

/// Counts the live runs of this host that are of other roots.
pub(crate) fn taken_elsewhere(context: &Context) -> Result<usize, Refusal> {
    let dir = dir(context)?;
    let _turn = turn(&dir)?;
    let own = name(context);
    Ok(places(&dir)?.taken.iter().filter(|root| **root != own).count())
}

/// Takes a place, unless as many runs are live as the settings allow.
fn take(context: &Context) -> Result<Option<Place>, Refusal> {
    let settings = context.config.supervisor()?;
    let dir = dir(context)?;
    let _turn = turn(&dir)?;
    let Places { taken, free } = places(&dir)?;
    let own = name(context);
    let of_repo = taken.iter().filter(|root| **root == own).count();
    if taken.len() >= settings.max_runs || of_repo >= settings.max_per_repo {
        return Ok(None);
    }
    let Some((path, mut file)) = free else { return Ok(None) };
    let wrote = file.set_len(0).and_then(|()| file.write_all(own.as_bytes()));
    wrote.map_err(|error| failed(&path, &error))?;
    Ok(Some(Place { _lock: file }))
}

impl Keeper<'_> {
    /// Waits until this host has a place for the run; those that were asked for before come first. A run that a worker takes or
    /// that another run started needs none: it has that of the worker or of the other run.
    pub(crate) fn wait_for_place(&mut self) -> Result<Option<Place>, Refusal> {
        if self.job.worker.is_some() || self.run.parent.is_some() {
            return Ok(None);
        }
        let ttl = self.context.config.settings()?.policy.fleet.ttl.ms() / BEATS;
        let every = Duration::from_millis(u64::try_from(ttl).unwrap_or_default());
        let (mut beat, mut told) = (Instant::now(), false);
        loop {
            if self.insist(|keeper| keeper.state())? != RunState::Queued {
                let message = format!("{} waits no more", self.job.run);
                return Err(Refusal::new(Code::StaleFence, message));
            }
            if self.is_next()?
                && let Some(place) = take(self.context)?
            {
                return Ok(Some(place));
            }
            if !told {
                told = true;
                self.note("event", "waits until another run of this host ends");
            }
            std::thread::sleep(LOOK);
            if beat.elapsed() >= every {
                beat = Instant::now();
                match self.service.run(&self.caller, Command::Heartbeat) {
                    Err(refusal) if !is_away(&refusal) => return Err(refusal),
                    _ => {}
                }
            }
        }
    }

    /// Tells whether no other run of this repository waits here that was asked for before.
    fn is_next(&mut self) -> Result<bool, Refusal> {
        let filter = RunFilter {
            status: vec![RunState::Queued],
            limit: Some(PAGE_MAX),
            ..RunFilter::default()
        };
        let page =
            self.insist(|keeper| keeper.service.call::<op::Runs>(&keeper.caller, filter.clone()))?;
        let (own, host) = (self.run.id.clone(), self.run.host.clone());
        let waits_here =
            |run: &&RunView| run.labels.is_empty() && run.parent.is_none() && run.host == host;
        let order = |run: &RunView| (run.created_at, run.id.clone());
        let first = page.runs.iter().filter(waits_here).min_by_key(|run| order(run));
        Ok(first.is_none_or(|first| first.id == own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_places_makes_no_more_files_than_there_are_runs() {
        let dir = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        for _ in 0..3 {
            assert!(places(dir.path()).unwrap().taken.is_empty());
        }
        assert_eq!(files(), 1);
        let held = places(dir.path()).unwrap().free.unwrap();
        let found = places(dir.path()).unwrap();
        assert_eq!((found.taken.len(), found.free.is_some(), files()), (1, true, 2));
        drop((held, found));
        assert!(places(dir.path()).unwrap().taken.is_empty(), "whoever is gone leaves the place");
    }
}
