//! A worker: it takes the runs of other hosts whose labels it offers, as many at once as it has room for.

use crate::agents;
use crate::elsewhere;
use crate::place::home;
use crate::process;
use crate::resume;
use crate::sandbox;
use crate::start::{About, Asked, MAX_TURNS, can_start, driver, keep, prepare};
use crate::supervise::seat::began;
use comity_api::{ById, Nothing, RunFilter, WorkerView, op};
use comity_core::command::{Command, RunChange, RunEnd};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::run::{RunError, RunFault, RunState};
use comity_core::view::RunView;
use comity_engine::{Caller, KeptRows, Service, WORKERS, WorkerRow, worker_rows};
use comity_project::Context;
use comity_project::fleet::DriverKind;
use comity_project::store::Access;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long it waits at most until it looks again.
const LOOK: Duration = Duration::from_millis(1_000);
/// How often it says that it lives.
const BEAT: Duration = Duration::from_secs(10);
/// How long the keeper of a run may take until it has the run.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// What a worker tells whoever listens.
pub enum Told<'t> {
    Began(&'t WorkerView),
    Took(&'t str),
    Ended(&'t RunView),
    /// A run whose labels fit cannot be started here.
    Unfit(&'t str, &'t Refusal),
    /// The store or the remote cannot be reached now.
    Waits(&'t Refusal),
    /// It takes no more runs.
    Drains,
}

pub struct Worker<'a> {
    context: &'a Context,
    service: Service,
    program: PathBuf,
    row: WorkerRow,
    caller: Caller,
    /// Runs whose keepers were started here, and when.
    mine: BTreeMap<String, Instant>,
    /// Runs that cannot be started here, and were told.
    unfit: BTreeSet<String>,
}

fn is_alive(row: &WorkerRow) -> bool {
    row.began.is_some() && began(row.pid) == row.began
}

impl<'a> Worker<'a> {
    /// Makes a worker of this host. The first time, a person does: that registers it.
    pub fn new(
        context: &'a Context,
        program: PathBuf,
        labels: BTreeMap<String, String>,
        capacity: usize,
    ) -> Result<Worker<'a>, Refusal> {
        let service = context.service(Access::Write)?;
        let starter = Caller { fence: None, key: None, ..context.caller() };
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let row = WorkerRow {
            repo: context.repo.to_string(),
            id: String::new(),
            host: starter.via.host.clone(),
            labels,
            capacity,
            drain: false,
            sandbox: sandbox::walls(context)?.kind.as_str().to_owned(),
            drivers: drivers(context)?,
            pid,
            began: began(pid),
            home: home(context)?.display().to_string(),
        };
        let row = sign_on(context, &service, row)?;
        let id = AgentId::parse(&row.id)?;
        if starter.actor.is_person() && !service.roles(&starter, &id)?.contains(&Role::Watchdog) {
            let roles = Role::of_helper(&id).unwrap_or_default().to_vec();
            let id = id.clone();
            let register = Command::AgentRegister { id, roles, skills: Vec::new() };
            service.run(&starter, register)?;
        }
        let caller = Caller { actor: id, ..starter };
        let (mine, unfit) = (BTreeMap::new(), BTreeSet::new());
        Ok(Worker { context, service, program, row, caller, mine, unfit })
    }

    /// Takes runs until it is told to stop or to drain; `once` ends when nothing is left that it could take.
    pub fn keep(
        &mut self,
        stop: &AtomicBool,
        once: bool,
        tell: &mut dyn FnMut(&Told<'_>),
    ) -> Result<(), Refusal> {
        self.end_leftovers()?;
        self.service.run(&self.caller, Command::Heartbeat)?;
        if let Some(view) = self.view()? {
            tell(&Told::Began(&view));
        }
        let (mut watch, mut beat, mut drains) = (self.service.watch()?, Instant::now(), false);
        while !stop.load(Ordering::Relaxed) {
            match self.round(drains, tell) {
                Ok(true) if drains || once => break,
                Ok(_) => {}
                Err(refusal) if refusal.code == Code::StoreUnavailable => {
                    tell(&Told::Waits(&refusal));
                }
                Err(refusal) => return Err(refusal),
            }
            let _ = watch.wait(LOOK);
            if beat.elapsed() >= BEAT {
                beat = Instant::now();
                // Whoever says that it lives also ends what ran out, wherever that was.
                let _ = self.service.run(&self.caller, Command::Heartbeat);
            }
            if !drains && self.is_told_to_drain() {
                drains = true;
                tell(&Told::Drains);
            }
        }
        self.sign_off()
    }

    /// Looks after its runs and takes what fits; tells whether it has nothing in hand and nothing fits.
    fn round(&mut self, drains: bool, tell: &mut dyn FnMut(&Told<'_>)) -> Result<bool, Refusal> {
        let page = self.runs()?;
        self.look_after(tell)?;
        let own = |run: &RunView| run.worker.as_deref() == Some(self.row.id.as_str());
        let mut live = page.iter().filter(|run| own(run) && run.state != RunState::Queued).count();
        live += self.mine.len().saturating_sub(
            page.iter().filter(|run| own(run) && self.mine.contains_key(name(run))).count(),
        );
        let mut left = false;
        if !drains {
            let fits = |run: &&RunView| run.state == RunState::Queued && self.fits(run);
            let fitting: Vec<RunView> = page.iter().filter(fits).cloned().collect();
            for run in fitting {
                if self.mine.contains_key(name(&run)) {
                    continue;
                }
                if live >= self.row.capacity {
                    left = true;
                    break;
                }
                match self.take(&run) {
                    Ok(true) => {
                        live += 1;
                        tell(&Told::Took(name(&run)));
                    }
                    Ok(false) => left = true,
                    Err(refusal) => {
                        if self.unfit.insert(name(&run).to_owned()) {
                            tell(&Told::Unfit(name(&run), &refusal));
                        }
                    }
                }
            }
        }
        Ok(live == 0 && !left)
    }

    /// Returns the live runs that wait for a worker or have one.
    fn runs(&self) -> Result<Vec<RunView>, Refusal> {
        let live: Vec<RunState> =
            RunState::ALL.iter().copied().filter(|state| state.is_live()).collect();
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let filter = RunFilter { status: live.clone(), after, ..RunFilter::default() };
            let page = self.service.call::<op::Runs>(&self.caller, filter)?;
            found.extend(page.runs.into_iter().filter(|run| !run.labels.is_empty()));
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    fn fits(&self, run: &RunView) -> bool {
        let offered = |label: &String| {
            let label = label.split_once('=');
            label.is_some_and(|(name, value)| {
                self.row.labels.get(name).is_some_and(|own| own == value)
            })
        };
        run.labels.iter().all(offered)
    }

    /// Tells how its runs ended, and forgets the words of those that need them no more.
    fn look_after(&mut self, tell: &mut dyn FnMut(&Told<'_>)) -> Result<(), Refusal> {
        for (id, since) in self.mine.clone() {
            let run = self.service.call::<op::RunShow>(&self.caller, ById { id: id.clone() })?.run;
            let is_anothers = run.worker.as_ref().is_some_and(|worker| *worker != self.row.id);
            if run.state == RunState::Queued && since.elapsed() < TAKEN_WITHIN {
                continue;
            }
            if run.state.is_live() && run.state != RunState::Queued && !is_anothers {
                continue;
            }
            self.mine.remove(&id);
            if !run.state.is_live() && !is_anothers {
                tell(&Told::Ended(&run));
            }
            if run.state == RunState::Succeeded {
                elsewhere::keep_words(self.context, &self.service, &run.prompt_sha256, None)?;
            }
        }
        Ok(())
    }

    /// Starts a keeper for a run; it takes the run under its fence, unless another worker was first. False while what the
    /// run begins with has not arrived.
    fn take(&mut self, run: &RunView) -> Result<bool, Refusal> {
        let (context, id) = (self.context, name(run).to_owned());
        let agent = agents::find(&context.root.dir, &run.agent)?;
        let settings = context.config.agent(&agent.name)?;
        let driver = driver(context, Some(&run.driver))?;
        can_start(context, &driver, &settings, run.model.as_deref())?;
        if !elsewhere::obtain(context, run)? {
            return Ok(false);
        }
        elsewhere::catch_up(context, &self.service, &self.caller, run.task.as_deref())?;
        let resumed = match &run.resumed_from {
            None => None,
            Some(from) => {
                match resume::taken_up(context, &self.service, &self.caller, from, false) {
                    Ok(resumed) => Some(resumed),
                    Err(refusal) if refusal.details.contains_key("diverged") => {
                        self.end(&id, RunFault::Diverged, &refusal.message)?;
                        return Ok(true);
                    }
                    Err(refusal) => return Err(refusal),
                }
            }
        };
        let turns = run.meta.get(MAX_TURNS).and_then(Value::as_u64);
        let asked = Asked {
            agent: agent.name.clone(),
            prompt: elsewhere::words(context, &self.service, &run.prompt_sha256)?,
            max_turns: turns.and_then(|turns| turns.try_into().ok()),
            ..Asked::default()
        };
        let about = About {
            agent: &agent,
            driver: &driver,
            asked: &asked,
            resumed: resumed.as_ref(),
            worker: Some(self.row.id.clone()),
        };
        let place = prepare(context, &self.service, &self.caller, run, &about)?;
        keep(context, &self.program, &place)?;
        self.mine.insert(id, Instant::now());
        Ok(true)
    }

    fn end(&self, id: &str, fault: RunFault, why: &str) -> Result<(), Refusal> {
        let end = RunEnd {
            state: RunState::Failed,
            reason: None,
            error: Some(RunError::new(fault, why)),
            exit: None,
            head: None,
            wip: None,
            report_kind: None,
            steps: Vec::new(),
            said: Map::new(),
        };
        let (id, change) = (id.to_owned(), RunChange::End(Box::new(end)));
        self.service.run(&self.caller, Command::RunChange { id, change }).map(drop)
    }

    /// Kills what is left of runs of this root that have ended: their keepers died with an earlier worker or host.
    fn end_leftovers(&self) -> Result<(), Refusal> {
        let root = self.context.root.dir.to_string_lossy().into_owned();
        let Ok(entries) = std::fs::read_dir("/proc") else { return Ok(()) };
        for entry in entries.flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(pid) = pid.filter(|pid| *pid != self.row.pid) else { continue };
            let Ok(bytes) = std::fs::read(entry.path().join("environ")) else { continue };
            let said = |name: &str| {
                let mut words = bytes.split(|byte| *byte == 0);
                let found = words.find_map(|word| word.strip_prefix(format!("{name}=").as_bytes()));
                found.map(|value| String::from_utf8_lossy(value).into_owned())
            };
            let (Some(run), Some(of)) = (said("COMITY_RUN"), said("COMITY_ROOT")) else { continue };
            if of != root {
                continue;
            }
            let state = self.service.call::<op::RunShow>(&self.caller, ById { id: run });
            let is_over = state.is_ok_and(|shown| !shown.run.state.is_live());
            if let (true, Some(pid)) = (is_over, Pid::from_raw(pid)) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        Ok(())
    }

    fn view(&self) -> Result<Option<WorkerView>, Refusal> {
        let all = self.service.call::<op::Workers>(&self.caller, Nothing {})?.workers;
        Ok(all.into_iter().find(|worker| worker.id == self.row.id))
    }

    fn is_told_to_drain(&self) -> bool {
        let key = WorkerRow::key(&self.context.repo, &self.row.id);
        let rows = self.service.kept(WORKERS).unwrap_or_default();
        let row = rows.get(&key).and_then(|row| serde_json::from_slice::<WorkerRow>(row).ok());
        row.is_some_and(|row| row.drain)
    }

    fn sign_off(&self) -> Result<(), Refusal> {
        let key = WorkerRow::key(&self.context.repo, &self.row.id);
        self.service.change_kept(WORKERS, move |_| (vec![(key, None)], ()))
    }
}

fn name(run: &RunView) -> &str {
    run.id.as_deref().unwrap_or_default()
}

/// Lists the drivers whose programs this host has.
fn drivers(context: &Context) -> Result<BTreeMap<String, Option<String>>, Refusal> {
    let environment = context.environment();
    let path = environment.own("PATH").unwrap_or_default();
    let mut found = BTreeMap::new();
    for driver in context.config.drivers()? {
        let Some(program) = driver.command.first() else { continue };
        if !crate::launch::program_exists(environment, &context.root.dir, program) {
            continue;
        }
        // A repository's own command is not started only to ask for its version.
        let is_client = matches!(driver.kind, DriverKind::Claude | DriverKind::Codex);
        let version = (is_client && !driver.is_set).then(|| process::version(program, &path));
        found.insert(driver.name, version.flatten());
    }
    Ok(found)
}

fn bytes(row: &WorkerRow) -> Vec<u8> {
    serde_json::to_vec(row).unwrap_or_default()
}

/// Gives a worker its name: that of its host, with a number where the host has another one at work.
fn sign_on(context: &Context, service: &Service, row: WorkerRow) -> Result<WorkerRow, Refusal> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let host: String = row.host.as_deref().unwrap_or("localhost").chars().map(plain).collect();
    let repo = context.repo.clone();
    service.change_kept(WORKERS, move |rows: &KeptRows| {
        let known = worker_rows(rows, &repo);
        let mut number = 1;
        let id = loop {
            let id = match number {
                1 => format!("worker:{host}"),
                _ => format!("worker:{host}.{number}"),
            };
            if !known.iter().any(|other| other.id == id && is_alive(other)) {
                break id;
            }
            number += 1;
        };
        let row = WorkerRow { id, ..row };
        (vec![(WorkerRow::key(&repo, &row.id), Some(bytes(&row)))], row)
    })
}

/// Tells the workers of this host and root to take no more runs; returns their names.
pub fn drain(context: &Context, service: &Service) -> Result<Vec<String>, Refusal> {
    let (repo, home) = (context.repo.clone(), home(context)?.display().to_string());
    service.change_kept(WORKERS, move |rows: &KeptRows| {
        let own = worker_rows(rows, &repo).into_iter();
        let own = own.filter(|row| row.home == home && is_alive(row));
        let told: Vec<WorkerRow> = own.map(|row| WorkerRow { drain: true, ..row }).collect();
        let changes = told.iter().map(|row| (WorkerRow::key(&repo, &row.id), Some(bytes(row))));
        (changes.collect(), told.iter().map(|row| row.id.clone()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_no_more_is_told_from_one_that_lives() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let row = WorkerRow {
            repo: "a/b".to_owned(),
            id: "worker:a".to_owned(),
            host: None,
            labels: BTreeMap::new(),
            capacity: 1,
            drain: false,
            sandbox: "none".to_owned(),
            drivers: BTreeMap::new(),
            pid,
            began: began(pid),
            home: "/h".to_owned(),
        };
        assert!(is_alive(&row));
        assert!(!is_alive(&WorkerRow { began: Some("1".to_owned()), ..row.clone() }));
        assert!(!is_alive(&WorkerRow { began: None, ..row }));
    }
}
