//! Taking tasks over from another system, in the state that they have there.
//!
//! What happened there is not known here: the task goes through the states of the table, each with the source as its
//! reason. Only tasks that are new here come in this way: it finishes nothing that comity keeps, except what an import
//! itself has kept back, by a person's word.

use super::{Answer, Rule, not_found};
use crate::command::{ImportedTask, NewTask};
use crate::event::{Draft, Event, GateWaived, Note, StatusChanged, TaskClaimed, TaskUpdated};
use crate::facts::Ruling;
use crate::ids::{AgentId, Fence, TaskId};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::status::Status;
use crate::task::Deliverable;

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
        let assignee = imported.task.assignee.as_ref();
        if status.is_held() && assignee.is_none() {
            return Err(Refusal::input(format!("a task that is {status} needs an assignee"))
                .hint("import it as queued, or say who works on it")
                .into());
        }
        if status == Status::Blocked && imported.needs.as_ref().is_none_or(|n| n.trim().is_empty())
        {
            return Err(
                Refusal::new(Code::NeedsMissing, "a blocked task must say what it needs").into()
            );
        }
        if let Some(blocker) = &imported.kept_back {
            return self.settle_import(imported, blocker, status);
        }
        self.names_exactly(&imported.task)?;
        let (id, abandoned) = self.make_task(&imported.task, Verb::Create, status.is_finished())?;
        for agent in assignee.into_iter().chain(&imported.worker) {
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

    /// Brings a task that was imported earlier, and kept back because nobody could accept it, to the state that it has
    /// there. A person's word is needed; the table, the parts and the dependencies still count.
    fn settle_import(
        &mut self,
        imported: &ImportedTask,
        blocker: &str,
        status: Status,
    ) -> Ruling<Answer> {
        let task = self.task(imported.task.id.as_deref().unwrap_or_default())?;
        if !matches!(status, Status::Review | Status::Done) {
            return Err(Refusal::input(format!(
                "an import can complete a task as review or done, not as {status}"
            ))
            .into());
        }
        let kept = task.blockers.iter().any(|text| text == blocker);
        if task.status != Status::Queued || !kept {
            let message =
                format!("{} is {} here and no longer waits for the import", task.id, task.status);
            return Err(Refusal::new(Code::InvalidTransition, message)
                .detail("status", task.status.as_str())
                .into());
        }
        self.require_person("accept work that was done elsewhere")?;
        let repo = &self.request.repo;
        for id in &task.dependencies {
            let dependency = self.facts.task(repo, id)?;
            if dependency.is_none_or(|dependency| dependency.status != Status::Done) {
                let message = format!("{} depends on {id}, which is not done", task.id);
                return Err(Refusal::new(Code::NotReady, message).into());
            }
        }
        if status == Status::Done {
            self.children_finished(task)?;
            // Loaded here so that what this unblocks is visible to the next command of the same batch.
            self.facts.dependants(repo, &task.id)?;
        }
        if let Some(agent) = &imported.worker {
            self.meet_imported(agent)?;
        }
        let left = task.blockers.iter().filter(|text| *text != blocker).cloned().collect();
        let changes = TaskUpdated { blockers: Some(left), ..TaskUpdated::default() };
        self.push(Some(&task.id), Event::TaskUpdated(Box::new(changes)));
        for link in &imported.task.links {
            self.push(Some(&task.id), Event::TaskLinked(link.clone()));
        }
        let gates = super::gates::required_gates(task, self.policy);
        self.walk(&task.id, task.deliverable, gates, imported)?;
        Ok(Answer::Task(task.id.clone()))
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
            // Where nobody is named, nobody is said to have done it: least of all who imports it.
            if *step == Status::Claimed
                && let Some(holder) = holder
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

    fn is_met(&self, agent: &AgentId) -> Ruling<bool> {
        let registered_now = |draft: &Draft| matches!(&draft.event, Event::AgentRegistered(body) if body.id == *agent);
        Ok(self.facts.agent(agent)?.is_some() || self.events.iter().any(registered_now))
    }

    /// Who holds it there holds it here, until no sign of life comes.
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
