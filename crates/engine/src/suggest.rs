//! Who would be good for a piece of work, and why.

use comity_core::role::Role;
use comity_core::view::AgentView;
use serde::Serialize;

/// One agent for the work.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Suggestion {
    pub(crate) agent: String,
    pub(crate) score: i64,
    pub(crate) reason: String,
}

/// Rates an agent by role, skills, load and presence; none when it lacks the role.
pub(crate) fn suggestion(
    agent: &AgentView,
    labels: &[String],
    role: Option<Role>,
) -> Option<Suggestion> {
    let wanted = role.unwrap_or(Role::Implementer);
    if !agent.roles.contains(&wanted) {
        return None;
    }
    let mut reasons = vec![format!("has the role {wanted}")];
    let skills: Vec<&str> = labels
        .iter()
        .filter(|label| agent.skills.iter().any(|skill| skill.eq_ignore_ascii_case(label)))
        .map(String::as_str)
        .collect();
    let mut score = 10 * i64::try_from(skills.len()).unwrap_or(0);
    if !skills.is_empty() {
        reasons.push(format!("knows {}", skills.join(", ")));
    }
    let load = agent.holds.tasks.len();
    score -= 5 * i64::try_from(load).unwrap_or(0);
    reasons.push(match load {
        0 => "holds nothing".to_owned(),
        1 => "holds 1 task".to_owned(),
        n => format!("holds {n} tasks"),
    });
    match (agent.status.as_str(), agent.last_seen) {
        // Only named so far: less sure than one that works here, surer than one that fell silent.
        ("away", None) => {
            score -= 5;
            reasons.push("was not heard of yet".to_owned());
        }
        ("away", Some(_)) => {
            score -= 20;
            reasons.push("was not heard of lately".to_owned());
        }
        _ => {}
    }
    Some(Suggestion { agent: agent.id.clone(), score, reason: reasons.join("; ") })
}
