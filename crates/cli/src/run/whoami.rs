//! `comity whoami`

use crate::human::whoami::{self, Identity};
use crate::output::Reply;
use comity_api::{AgentAnswer, ById, op};
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::json;

pub(super) fn run(context: &Context) -> Result<Reply, Refusal> {
    let context = context.as_known()?;
    let id = context.actor.to_string();
    // Whoever asks need not be known to the store.
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    let (roles, holds) = match service.call::<op::AgentShow>(&caller, ById { id }) {
        Ok(AgentAnswer { agent }) => (agent.roles, agent.holds),
        Err(refusal) if refusal.code == Code::NotFound => Default::default(),
        Err(refusal) => return Err(refusal),
    };
    let identity = Identity {
        me: context.actor.to_string(),
        why: context.actor_because.clone(),
        via: json!(context.via),
        roles,
        holds,
    };
    Ok(Reply::new(identity, whoami::words)
        .noted(service.another_acts(&caller).into_iter().collect()))
}
