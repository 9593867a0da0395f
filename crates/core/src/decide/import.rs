//! Taking tasks over from another system, in the state that they have there, as far as the caller's roles go.
//!
//! What happened there is not known here: the task goes through the states of the table, each with the source as its
//! reason. A state that the caller may not take over is kept back: the task arrives blocked, and waits until somebody
//! imports it who may. Only tasks that are new here come in this way, and those that were kept back.

use super::{Answer, Rule, not_found};
use crate::command::{ImportedTask, NewTask};
use crate::event::{Draft, Event, GateWaived, Note, StatusChanged, TaskClaimed, TaskUpdated};
use crate::facts::Ruling;
use crate::ids::{AgentId, Fence, TaskId};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::status::Status;
use crate::task::{Deliverable, Task};

/// The type of the notes that come with a task.
const NOTE_KIND: &str = "discovery";

/// The states on the way from the queue.
fn way(to: Status) -> &'static [Status] {
    use Status::*;
    match to {
        Queued => &[],
        Claimed => &[Claimed],
        InProgress => &[Claimed, InProgress],
        Review => &[Claimed, InProgress, Review],
        ChangesRequested => &[Claimed, InProgress, Review, ChangesRequested],
        Approved => &[Claimed, InProgress, Review, Approved],
        Merging => &[Claimed, InProgress, Review, Approved, Merging],
        Done => &[Claimed, InProgress, Review, Approved, Merging, Done],
        Blocked => &[Blocked],
        Failed => &[Claimed, Failed],
        Abandoned => &[Abandoned],
    }
}

impl Rule<'_> {
    pub(super) fn import_task(&mut self, imported: &ImportedTask) -> Ruling<Answer> {
        let status = imported.status.unwrap_or(Status::Queued);
        if status == Status::Blocked && imported.needs.as_ref().is_none_or(|n| n.trim().is_empty())
        {
            return Err(
                Refusal::new(Code::NeedsMissing, "a blocked task must say what it needs").into()
            );
        }
        if imported.settles {
            return self.settle_import(imported, status);
        }
        self.names_exactly(&imported.task)?;
        let taken = self.takes_over(imported, status);
        let finished = taken && status.is_finished();
        let (id, abandoned) = self.make_task(&imported.task, Verb::Create, finished)?;
        for agent in imported.task.assignee.iter().chain(&imported.worker) {
            self.meet_imported(agent)?;
        }
        for text in &imported.notes {
            let note = Note { kind: NOTE_KIND.to_owned(), text: text.clone() };
            self.push(Some(&id), Event::Note(note));
        }
        if let Some(branch) = &imported.branch {
            let changes = TaskUpdated { branch: Some(branch.clone()), ..TaskUpdated::default() };
            self.push(Some(&id), Event::TaskUpdated(Box::new(changes)));
        }
        if !taken {
            self.keep_back(&id, imported, status);
            return Ok(Answer::Task(id));
        }
        match abandoned.filter(|_| status == Status::Queued) {
            Some(dependency) => self.block_by_abandoned(&id, &dependency),
            None => {
                let new = &imported.task;
                let mut gates = new.gates.clone();
                gates.extend(self.policy.required_gates.iter().cloned());
                self.walk(&id, new.deliverable, gates, imported)?;
            }
        }
        if status == Status::Abandoned {
            self.block_dependants(&id)?;
        }
        Ok(Answer::Task(id))
    }

    /// Tells whether the caller may give an imported task the state that it has there. Nobody gets further than the
    /// caller's own roles, and nobody makes a claim in another's name.
    fn takes_over(&self, imported: &ImportedTask, status: Status) -> bool {
        let own = || imported.task.assignee.as_ref() == Some(&self.request.actor);
        match status {
            Status::Queued | Status::Blocked => true,
            Status::Claimed | Status::InProgress => self.takes_states(imported) && own(),
            Status::Review | Status::ChangesRequested | Status::Failed | Status::Abandoned => {
                self.takes_states(imported)
            }
            Status::Approved | Status::Merging | Status::Done => {
                self.takes_states(imported) && self.is_person()
            }
        }
    }

    fn takes_states(&self, imported: &ImportedTask) -> bool {
        imported.with_state && (self.is_person() || self.roles.contains(&Role::Planner))
    }

    /// Blocks a new task whose state the caller may not take over.
    fn keep_back(&mut self, id: &TaskId, imported: &ImportedTask, status: Status) {
        let source = &imported.source;
        let needs = match &imported.task.assignee {
            Some(agent) if status.is_held() && self.takes_states(imported) => {
                format!("{status} in {source}: {agent} starts it here, or {UNBLOCKED}")
            }
            None if status.is_held() && self.takes_states(imported) => {
                format!("{status} in {source} and nobody is named: {UNBLOCKED}")
            }
            _ => kept_back(status, source),
        };
        let said = format!("imported from {source}");
        let mut change = StatusChanged::new(Status::Queued, Status::Blocked, Some(said));
        (change.needs, change.kept) = (Some(needs), Some(status));
        self.push(Some(id), Event::StatusChanged(change));
    }

    /// What another system calls by its id is that very thing; a prefix would join what does not belong together.
    fn names_exactly(&self, new: &NewTask) -> Ruling<()> {
        let depends_on = new.depends_on.iter().filter(|_| !new.awaits_unknown);
        for text in depends_on.chain(&new.parent) {
            if self.facts.task(&self.request.repo, &TaskId::parse(text)?)?.is_none() {
                return Err(not_found("task", text).into());
            }
        }
        Ok(())
    }

    /// Brings a task that an earlier import kept back to the state that it has there. The table, the parts and the
    /// dependencies still count.
    fn settle_import(&mut self, imported: &ImportedTask, status: Status) -> Ruling<Answer> {
        let task = self.task(imported.task.id.as_deref().unwrap_or_default())?;
        if task.block.as_ref().is_none_or(|block| block.kept.is_none()) {
            let message =
                format!("{} is {} here and no longer waits for the import", task.id, task.status);
            return Err(Refusal::new(Code::InvalidTransition, message)
                .detail("status", task.status.as_str())
                .into());
        }
        if matches!(status, Status::Queued | Status::Blocked) || !self.takes_over(imported, status)
        {
            let message =
                format!("{} may not take over that {} is {status}", self.request.actor, task.id);
            return Err(Refusal::new(Code::RoleForbidden, message)
                .hint("let a person import it, states included")
                .into());
        }
        self.is_settled_below(task, status)?;
        if let Some(agent) = &imported.worker {
            self.meet_imported(agent)?;
        }
        for link in &imported.task.links {
            self.push(Some(&task.id), Event::TaskLinked(link.clone()));
        }
        let said = format!("imported from {} again", imported.source);
        let queued = StatusChanged::new(Status::Blocked, Status::Queued, Some(said));
        self.push(Some(&task.id), Event::StatusChanged(queued));
        let gates = super::gates::required_gates(task, self.policy);
        self.walk(&task.id, task.deliverable, gates, imported)?;
        if status == Status::Abandoned {
            self.block_dependants(&task.id)?;
        }
        Ok(Answer::Task(task.id.clone()))
    }

    /// What a task depends on is done before it, and its parts are finished before it is.
    fn is_settled_below(&self, task: &Task, status: Status) -> Ruling<()> {
        let repo = &self.request.repo;
        if !matches!(status, Status::Failed | Status::Abandoned) {
            for id in &task.dependencies {
                let dependency = self.facts.task(repo, id)?;
                if dependency.is_none_or(|dependency| dependency.status != Status::Done) {
                    let message = format!("{} depends on {id}, which is not done", task.id);
                    return Err(Refusal::new(Code::NotReady, message).into());
                }
            }
        }
        if status == Status::Done {
            self.children_finished(task)?;
            // Loaded here so that what this unblocks is visible to the next command of the same batch.
            self.facts.dependants(repo, &task.id)?;
        }
        Ok(())
    }

    /// Goes the way from the queue. Required gates are waived on it by whoever imports and may waive.
    fn walk(
        &mut self,
        id: &TaskId,
        deliverable: Deliverable,
        mut gates: Vec<String>,
        imported: &ImportedTask,
    ) -> Ruling<()> {
        let to = imported.status.unwrap_or(Status::Queued);
        let holder = imported.worker.as_ref().or(imported.task.assignee.as_ref());
        let said = format!("imported from {} as {to}", imported.source);
        let own = holder == Some(&self.request.actor) && !self.is_person();
        let mut from = Status::Queued;
        for step in way(to) {
            let merges = deliverable == Deliverable::Code || to == Status::Merging;
            if *step == Status::Merging && !merges {
                continue;
            }
            // A claim is made in the caller's own name only, or in that of nobody here.
            if *step == Status::Claimed
                && let Some(holder) = holder
                && (*holder == self.request.actor || holder.is_elsewhere())
            {
                self.claim_there(id, holder, imported)?;
            }
            if *step == Status::Approved && self.may(Verb::Waive) && !own {
                for gate in std::mem::take(&mut gates) {
                    let waived = GateWaived { gate, reason: said.clone() };
                    self.push(Some(id), Event::GateWaived(waived));
                }
            }
            let why = imported.reason.as_ref().filter(|_| *step == to);
            let reason = why.map_or_else(|| said.clone(), |why| format!("{said}: {why}"));
            let mut change = StatusChanged::new(from, *step, Some(reason));
            change.needs = imported.needs.clone().filter(|_| *step == Status::Blocked);
            self.push(Some(id), Event::StatusChanged(change));
            from = *step;
        }
        Ok(())
    }

    /// Who may register agents does so by naming them.
    fn meet_imported(&mut self, agent: &AgentId) -> Ruling<()> {
        let named = self.policy.registration_required && self.may(Verb::Register);
        if !named || agent.is_person() || self.is_met(agent)? {
            return self.meet(agent);
        }
        self.push(None, super::registration(agent, vec![Role::Implementer]));
        Ok(())
    }

    pub(super) fn is_met(&self, agent: &AgentId) -> Ruling<bool> {
        let registered_now = |draft: &Draft| matches!(&draft.event, Event::AgentRegistered(body) if body.id == *agent);
        Ok(self.facts.agent(agent)?.is_some() || self.events.iter().any(registered_now))
    }

    /// Who holds it there and imports it holds it here, until no sign of life comes.
    fn claim_there(&mut self, id: &TaskId, agent: &AgentId, imported: &ImportedTask) -> Ruling<()> {
        let fence = Fence::new(self.next_seq())
            .ok_or_else(|| Refusal::new(Code::Internal, "no seq is left"))?;
        let claim = TaskClaimed {
            assignee: agent.clone(),
            fence,
            branch: imported.branch.clone(),
            ttl: self.policy.default_ttl,
            host: None,
            workspace: None,
            base: None,
            head: None,
            first_base: None,
        };
        self.push(Some(id), Event::TaskClaimed(claim));
        Ok(())
    }

    /// Registers an agent that a command names and nobody has seen yet, as its first own command would.
    pub(super) fn meet(&mut self, agent: &AgentId) -> Ruling<()> {
        if self.is_met(agent)? {
            return Ok(());
        }
        if self.policy.registration_required && !agent.is_person() {
            return Err(Refusal::new(Code::RoleForbidden, format!("{agent} is not registered"))
                .hint(super::access::how_to_register(agent))
                .into());
        }
        let roles = if agent.is_person() { Vec::new() } else { vec![Role::Implementer] };
        self.push(None, super::registration(agent, roles));
        Ok(())
    }
}

/// What the needs of a task end with whose state an import has kept back.
const KEPT_BACK: &str = ": a person imports it with --with-state";
/// The same for the claim of somebody else, which nobody takes over.
const UNBLOCKED: &str = "a planner unblocks it";

/// Says what a task needs whose state an import has kept back.
pub fn kept_back(status: Status, source: &str) -> String {
    format!("{status} in {source}{KEPT_BACK}")
}

/// Reads from what a blocked task needs which state an import has kept back.
pub fn kept_state(needs: &str) -> Option<Status> {
    let kept = needs.strip_suffix(KEPT_BACK).or_else(|| needs.strip_suffix(UNBLOCKED))?;
    let (word, _) = kept.split_once(" in ")?;
    Status::ALL.into_iter().find(|status| status.as_str() == word)
}
