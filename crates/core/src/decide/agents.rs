//! Agents: registration and signs of life.

use super::{Answer, Rule};
use crate::event::{AgentDescribed, AgentRegistered, Draft, Event};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::AgentId;
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use serde_json::{Map, Value};

impl Rule<'_> {
    pub(super) fn register(
        &mut self,
        id: &AgentId,
        roles: &[Role],
        skills: &[String],
    ) -> Ruling<Answer> {
        let own = *id == self.request.actor;
        if !own && !self.may(Verb::Register) {
            return Err(self.forbidden(Verb::Register).into());
        }
        let known = self.facts.agent(id)?;
        let have: &[Role] = match known {
            Some(agent) => &agent.roles,
            None if id.is_person() => &[],
            None => &[Role::Implementer],
        };
        let wanted: Vec<Role> = if roles.is_empty() { have.to_vec() } else { distinct(roles) };
        let gains = wanted.iter().any(|role| !have.contains(role));
        if gains && !self.may(Verb::Register) {
            let message = format!("{} may not give itself another role", self.request.actor);
            return Err(Refusal::new(Code::RoleForbidden, message)
                .hint(
                    say("a person or a planner gives the role: ")
                        .call(op("agent.register").id(id).ask("role", "…")),
                )
                .detail("wanted", wanted.iter().map(|role| role.as_str()).collect::<Vec<_>>())
                .into());
        }
        let skills = match known {
            Some(agent) if skills.is_empty() => agent.skills.clone(),
            _ => skills.to_vec(),
        };
        // The registration of a first-time actor was for this very agent: replace it.
        if own {
            self.events.retain(|draft| !matches!(draft.event, Event::AgentRegistered(_)));
        }
        let body = AgentRegistered { id: id.clone(), roles: wanted, skills };
        let event = match known {
            Some(_) => Event::AgentUpdated(body),
            None => Event::AgentRegistered(body),
        };
        self.push(None, event);
        Ok(Answer::Agent(id.clone()))
    }

    /// Says what is known of an agent. Roles are given as registration gives them; skills and the rest only
    /// help to choose, so any agent may tell them of any other.
    pub(super) fn describe(
        &mut self,
        id: &AgentId,
        roles: &[Role],
        skills: Option<&Vec<String>>,
        about: &Map<String, Value>,
    ) -> Ruling<Answer> {
        self.require(Verb::Heartbeat)?;
        let known = self.facts.agent(id)?;
        let have: Vec<Role> = match known {
            Some(agent) => agent.roles.clone(),
            None if id.is_person() => Vec::new(),
            None => vec![Role::Implementer],
        };
        let wanted = if roles.is_empty() { have.clone() } else { distinct(roles) };
        let same = wanted.len() == have.len() && wanted.iter().all(|role| have.contains(role));
        if !same {
            self.require(Verb::Register)?;
        }
        let had = known.map(|agent| agent.skills.clone()).unwrap_or_default();
        let skills = skills.cloned().unwrap_or_else(|| had.clone());
        if known.is_none() || !same || skills != had {
            let body = AgentRegistered { id: id.clone(), roles: wanted, skills };
            self.events.retain(|draft| !registers(draft, id));
            self.push(
                None,
                if known.is_some() {
                    Event::AgentUpdated(body)
                } else {
                    Event::AgentRegistered(body)
                },
            );
        }
        if !about.is_empty() {
            let body = AgentDescribed { id: id.clone(), about: about.clone() };
            self.push(None, Event::AgentDescribed(body));
        }
        Ok(Answer::Agent(id.clone()))
    }

    pub(super) fn heartbeat(&mut self) -> Ruling<Answer> {
        self.require(Verb::Heartbeat)?;
        Ok(Answer::Agent(self.request.actor.clone()))
    }
}

fn registers(draft: &Draft, id: &AgentId) -> bool {
    matches!(&draft.event, Event::AgentRegistered(body) if body.id == *id)
}

fn distinct(roles: &[Role]) -> Vec<Role> {
    let mut out = Vec::new();
    for role in roles {
        if !out.contains(role) {
            out.push(*role);
        }
    }
    out
}
