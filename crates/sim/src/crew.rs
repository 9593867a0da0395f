//! The agents: what each believes, which may be wrong.

use crate::chance::Chance;
use comity_core::ids::{AgentId, Fence};
use comity_core::role::Role;

/// What an agent believes to hold.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    pub(crate) task: String,
    pub(crate) fence: Option<Fence>,
    pub(crate) started: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: AgentId,
    pub(crate) role: Role,
    pub(crate) belief: Option<Belief>,
    /// Until when it does nothing: crashed or paused.
    pub(crate) silent_until_ms: i64,
    /// Commands sent, for idempotency keys that never repeat.
    pub(crate) sent: u64,
}

/// Makes a crew: mostly implementers, with some of every other role and a person.
pub(crate) fn crew(size: usize, chance: &mut Chance) -> Vec<Member> {
    let role = |place: usize, chance: &mut Chance| match place {
        0 => Role::Planner,
        1 => Role::Critic,
        2 => Role::Integrator,
        3 => Role::Watchdog,
        _ => match chance.below(20) {
            0 => Role::Planner,
            1..=3 => Role::Critic,
            4 | 5 => Role::Integrator,
            6 => Role::Observer,
            _ => Role::Implementer,
        },
    };
    let named = |place: usize, role: Role| {
        let text = if place == 4 { "human:sim".to_owned() } else { format!("{role}.{place}") };
        AgentId::parse(&text).ok()
    };
    (0..size.max(8))
        .filter_map(|place| {
            let role = role(place, chance);
            let id = named(place, role)?;
            Some(Member { id, role, belief: None, silent_until_ms: 0, sent: 0 })
        })
        .collect()
}
