//! Taking tasks over from another system, in the state that they have there.
//!
//! What happened there is not known here: the task goes through the states of the table, each with the source as its
//! reason. Only tasks that are new here come in this way: it finishes nothing that comity keeps.

use super::{Answer, Rule};
use crate::command::ImportedTask;
use crate::event::{Draft, Event, StatusChanged, TaskClaimed, TaskUpdated};
use crate::facts::Ruling;
use crate::ids::{AgentId, Fence, TaskId};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::status::Status;

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
            return Err(Refusal::input(format!("a task that is {status} has an assignee"))
                .hint("import it as queued, or say who works on it")
                .into());
        }
        if status == Status::Blocked && imported.needs.as_ref().is_none_or(|n| n.trim().is_empty())
        {
            return Err(
                Refusal::new(Code::NeedsMissing, "a blocked task says what it needs").into()
            );
        }
        let id = self.make_task(&imported.task, Verb::Create)?;
        let is_step = |draft: &Draft| matches!(draft.event, Event::StatusChanged(_));
        // A dependency that is abandoned has blocked it already.
        let blocked = self.events.last().is_some_and(is_step);
        if let Some(agent) = assignee {
            self.meet(agent)?;
        }
        if let Some(branch) = &imported.branch {
            let changes = TaskUpdated { branch: Some(branch.clone()), ..TaskUpdated::default() };
            self.push(Some(&id), Event::TaskUpdated(Box::new(changes)));
        }
        if !blocked {
            self.walk(&id, status, assignee, imported)?;
        }
        Ok(Answer::Task(id))
    }

    fn walk(
        &mut self,
        id: &TaskId,
        to: Status,
        holder: Option<&AgentId>,
        imported: &ImportedTask,
    ) -> Ruling<()> {
        let mut from = Status::Queued;
        for step in way(to) {
            // Where nobody is named it is not known who did the work: no claim is made up.
            if let Some(holder) = holder.filter(|_| *step == Status::Claimed) {
                self.claim_there(id, holder, imported)?;
            }
            let reason = format!("imported from {} as {to}", imported.source);
            let mut change = StatusChanged::new(from, *step, Some(reason));
            change.needs = imported.needs.clone().filter(|_| *step == Status::Blocked);
            self.push(Some(id), Event::StatusChanged(change));
            from = *step;
        }
        Ok(())
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
        };
        self.push(Some(id), Event::TaskClaimed(claim));
        Ok(())
    }

    /// Registers an agent that a command names and nobody has seen yet, as its first own command would.
    pub(super) fn meet(&mut self, agent: &AgentId) -> Ruling<()> {
        let registered_now = |draft: &Draft| match &draft.event {
            Event::AgentRegistered(body) => body.id == *agent,
            _ => false,
        };
        if self.facts.agent(agent)?.is_some() || self.events.iter().any(registered_now) {
            return Ok(());
        }
        if self.policy.registration_required && !agent.is_person() {
            return Err(Refusal::new(Code::RoleForbidden, format!("{agent} is not registered"))
                .hint(format!(
                    "a person registers it: comity agent register {agent} --role implementer"
                ))
                .into());
        }
        let roles = if agent.is_person() { Vec::new() } else { vec![Role::Implementer] };
        self.push(None, super::registration(agent, roles));
        Ok(())
    }
}
