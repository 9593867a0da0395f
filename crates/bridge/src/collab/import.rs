//! Taking a tree over without writing to it, and the older `state.json`.

use super::edits::{in_a_circle, in_order, noted};
use super::history::Progress;
use super::methods::{Failure, worded};
use super::sync::Syncer;
use super::tree::Tree;
use crate::Bridge;
use comity_api::{OlderState, SyncReport};
use comity_core::command::{Command, LeaseChange};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_engine::{Caller, Service};
use comity_protocol::collab::{Patch, StateFile as Kind, V1, read_agent, read_v1};
use serde_json::json;
use std::collections::BTreeSet;

impl Syncer {
    /// Takes over everything that is in the tree and leaves the tree alone.
    pub fn import(&mut self) -> Result<SyncReport, Refusal> {
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
    OlderState { file, agents }: &OlderState,
) -> Result<SyncReport, Refusal> {
    let path = &bridge.context.cwd.join(file);
    if path.is_dir() {
        return Err(Refusal::input(format!("{} is a directory", path.display()))
            .hint("give the file state.json itself"));
    }
    let bytes = Tree::bytes(path)?
        .ok_or_else(|| Refusal::input(format!("{} is not there", path.display())))?;
    let v1 = read_v1(&bytes).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Refusal::input(format!("{}: {}", path.display(), said.join("; ")))
            .hint("a state.json has overall_goal, tasks and file_locks")
    })?;
    let given = agents.iter().map(|text| given_agent(text)).collect::<Result<Vec<_>, _>>()?;
    let mut import = Import { caller, service: &bridge.service, report: SyncReport::default() };
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
            patch.default_needs("not said where it was blocked");
            if patch.lacks_holder() {
                patch.status = None;
                self.report
                    .conflicts
                    .push(format!("{id}: nobody is named who works on it; it is queued"));
            }
            if let Some(goal) = goal {
                patch.extra("overall_goal", json!(goal));
            }
            let imported = patch.imported_task(id.clone(), "state.json");
            self.attempt(&format!("{id}: new task"), Command::ImportTask(Box::new(imported)))?;
        }
        Ok(())
    }
}
