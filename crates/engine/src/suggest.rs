//! Who would be good for a piece of work, and why.

use comity_api::Suggestion;
use comity_core::role::Role;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::AgentView;

/// Points that who says that it is not there has less than anybody who does not.
const OFFLINE: i64 = 1_000_000;

/// Words of agents that take no work.
const AWAY_WORDS: [&str; 6] = ["offline", "inactive", "disabled", "unavailable", "away", "retired"];

/// Rates an agent by role, skills, load, what it says of itself, and presence; none when it lacks the role.
pub(crate) fn suggestion(
    agent: &AgentView,
    declared: Option<&str>,
    labels: &[String],
    role: Option<Role>,
    now: Timestamp,
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
    if let Some(word) = declared.map(str::to_lowercase) {
        if AWAY_WORDS.contains(&word.as_str()) {
            score -= OFFLINE;
        }
        reasons.push(format!("says that it is {word}"));
    }
    match (agent.status.as_str(), agent.last_seen) {
        // Only named so far: less sure than one that works here, surer than one that fell silent.
        ("away", None) => {
            score -= 5;
            reasons.push("was never active here".to_owned());
        }
        ("away", Some(seen)) => {
            score -= 20;
            reasons.push(format!("has been silent for {}", since(seen, now)));
        }
        (_, Some(seen)) if now.since(seen) < SECONDS => {
            reasons.push("was seen just now".to_owned());
        }
        (_, Some(seen)) => reasons.push(format!("was seen {} ago", since(seen, now))),
        (_, None) => {}
    }
    Some(Suggestion { agent: agent.id.clone(), score, reason: reasons.join("; ") })
}

/// Below this nobody asks how long ago it was.
const SECONDS: Millis = Millis::from_secs(60);

/// How long ago that was, to the second.
fn since(seen: Timestamp, now: Timestamp) -> Millis {
    Millis::from_secs(now.since(seen).ms() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::view::HoldsView;

    #[test]
    fn who_says_that_it_is_offline_comes_last_and_when_it_was_seen_is_said() {
        let now = Timestamp::parse("2025-09-03T12:00:00Z").unwrap();
        let agent = |status: &str, seen: Option<&str>| AgentView {
            id: "a".to_owned(),
            roles: vec![Role::Implementer],
            skills: vec!["rust".to_owned()],
            status: status.to_owned(),
            last_seen: seen.map(|text| Timestamp::parse(text).unwrap()),
            holds: HoldsView::default(),
        };
        let labels = ["rust".to_owned()];
        let rate = |agent: &AgentView, declared: Option<&str>| {
            let rated = suggestion(agent, declared, &labels, None, now).unwrap();
            (rated.score, rated.reason)
        };
        let here = agent("idle", Some("2025-09-03T11:55:00Z"));
        let (score, reason) = rate(&here, Some("idle"));
        assert!(reason.contains("says that it is idle; was seen 5m ago"), "{reason}");
        let away = agent("away", Some("2025-09-03T10:00:00Z"));
        let (worse, reason) = rate(&away, None);
        assert!(worse < score && reason.contains("silent for 2h"), "{reason}");
        let (worst, reason) = rate(&here, Some("Offline"));
        assert!(worst < worse && reason.contains("offline"), "{reason}");
    }
}
