//! Taking a tree over without writing to it, and the older `state.json`.

use super::edits::{NOT_SAID, in_a_circle, in_order, kept_line, noted};
use super::history::Progress;
use super::methods::{Failure, worded};
use super::sync::{Syncer, whole_task};
use super::tree::FILE_BYTES_MAX;
use crate::Bridge;
use comity_api::{OlderState, SyncReport};
use comity_core::command::{Command, LeaseChange};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_engine::{Caller, Service};
use comity_project::plain_file;
use comity_protocol::collab::{Patch, StateFile as Kind, V1, read_agent, read_v1};
use comity_protocol::plan::kept;
use serde_json::json;
use std::collections::BTreeSet;

impl Syncer {
    /// Takes over everything that is in the tree and leaves the tree alone; with `with_state`, also the states of tasks,
    /// as far as the caller's roles go.
    pub fn import(&mut self, with_state: bool) -> Result<SyncReport, Refusal> {
        self.imports = Some(with_state);
        if !self.tree.dir.join("state").is_dir() {
            return Err(Refusal::input(format!("{} has no state/", self.tree.dir.display()))
                .hint("give the directory collaboration/, or the one that it is in"));
        }
        let hold = self.history.hold()?;
        self.is_ours_to_read()?;
        for kind in [Kind::Agents, Kind::Tasks, Kind::Locks] {
            // Looked at all before anything is taken.
            self.look(kind)?;
        }
        if self.report.problems.is_empty() {
            for kind in [Kind::Agents, Kind::Tasks, Kind::Locks] {
                if let Some(Some(file)) = self.look(kind)? {
                    self.take_over(kind, &file, None)?;
                }
            }
            // The tree may be another store's, and nothing is remembered of it: every line is looked at.
            self.history.progress = Progress::default();
            self.consume_events()?;
        }
        drop(hold);
        Ok(std::mem::take(&mut self.report))
    }
}

pub fn import_v1(
    bridge: &Bridge,
    caller: &Caller,
    OlderState { file, agents, with_state }: &OlderState,
) -> Result<SyncReport, Refusal> {
    let path = &bridge.context.cwd.join(file);
    let bytes = plain_file::read(path, FILE_BYTES_MAX).map_err(|error| {
        Refusal::input(format!("cannot read {}: {error}", path.display()))
            .hint("give the file state.json itself")
    })?;
    let v1 = read_v1(&bytes).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Refusal::input(format!("{}: {}", path.display(), said.join("; ")))
            .hint("a state.json has overall_goal, tasks and file_locks")
    })?;
    let given = agents.iter().map(|text| given_agent(text)).collect::<Result<Vec<_>, _>>()?;
    let (report, with_state) = (SyncReport::default(), *with_state);
    let mut import = Import { caller, service: &bridge.service, file, with_state, report };
    import.run(v1, given)?;
    Ok(import.report)
}

/// Reads `ID=ROLE[:SKILL,…]`.
fn given_agent(text: &str) -> Result<(AgentId, Command), Refusal> {
    let (id, rest) = text.split_once('=').unwrap_or((text, "implementer"));
    let (role, skills) = rest.split_once(':').unwrap_or((rest, ""));
    let id = AgentId::parse(id)?;
    let skills: Vec<String> =
        skills.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect();
    let roles = vec![comity_core::role::Role::parse(role)?];
    let command = Command::AgentDescribe {
        id: id.clone(),
        roles,
        skills: Some(skills),
        about: Default::default(),
    };
    Ok((id, command))
}

struct Import<'c> {
    caller: &'c Caller,
    service: &'c Service,
    /// The file, as the caller wrote it.
    file: &'c str,
    with_state: bool,
    report: SyncReport,
}

impl Import<'_> {
    fn attempt(&mut self, what: &str, command: Command) -> Result<bool, Refusal> {
        let done = self.service.execute(self.caller.request(command)).map(drop);
        noted(&mut self.report, what, done)
    }

    fn run(&mut self, v1: V1, given: Vec<(AgentId, Command)>) -> Result<(), Refusal> {
        self.report.conflicts.extend(v1.notes);
        let named: BTreeSet<String> = given.iter().map(|(id, _)| id.to_string()).collect();
        for (id, command) in given {
            self.attempt(&format!("agent {id}"), command)?;
        }
        for agent in v1.agents.iter().filter(|agent| !named.contains(&agent.id)) {
            let what = format!("agent {}", agent.id);
            let command = AgentId::parse(&agent.id)
                .map_err(Failure::from)
                .and_then(|id| read_agent(id, &agent.record).map_err(|problems| worded(&problems)));
            match command {
                Ok(command) => {
                    self.attempt(&what, command)?;
                }
                Err(failure) => self.report.refused.push(format!("{what}: {}", failure.message)),
            }
        }
        if let Some(goal) = &v1.goal {
            let (kind, text) = ("milestone".to_owned(), goal.clone());
            self.attempt("overall goal", Command::Note { kind, text, task: None })?;
        }
        self.tasks(v1.tasks, v1.goal.as_ref())?;
        for lock in v1.locks {
            let what = format!("lock on {}", lock.path);
            let Ok(owner) = AgentId::parse(&lock.owner) else {
                self.report.refused.push(format!("{what}: {:?} is no agent's id", lock.owner));
                continue;
            };
            let (patterns, purpose) = (vec![lock.path], lock.purpose);
            let wish =
                LeaseChange::Acquire { patterns, task: None, purpose, ttl: None, shared: false };
            let wish = Command::LeaseFor { owner, since: None, command: wish };
            self.attempt(&what, wish)?;
        }
        Ok(())
    }

    fn tasks(&mut self, new: Vec<(String, Patch)>, goal: Option<&String>) -> Result<(), Refusal> {
        let new = new.into_iter().map(|(id, patch)| (id, patch, ())).collect();
        let ready = in_order(new, |id, on| self.report.refused.push(in_a_circle(id, on)));
        for (id, mut patch, ()) in ready {
            patch.default_needs(NOT_SAID);
            if let Some(goal) = goal {
                patch.extra("overall_goal", json!(goal));
            }
            self.task(&id, &patch)?;
        }
        Ok(())
    }

    /// Makes a task, or brings one to its state that an earlier import has kept back.
    fn task(&mut self, id: &str, patch: &Patch) -> Result<(), Refusal> {
        let mut imported = patch.imported_task(id.to_owned(), self.file);
        imported.with_state = self.with_state;
        let here = whole_task(self.service, self.caller, id)?;
        imported.settles =
            self.with_state && here.as_ref().is_some_and(|task| kept(task).is_some());
        let what = format!("{id}: new task");
        let command = Command::ImportTask(Box::new(imported));
        let done = self.service.execute(self.caller.request(command));
        self.report.kept_back.extend(kept_line(patch, &done));
        noted(&mut self.report, &what, done.map(drop))?;
        Ok(())
    }
}
