//! The land rule where work is handed in, merged and finished.

use super::Rule;
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::land::{GUARD_GATE, LandRecord, LeaseViolation, Window, violations};
use crate::limits::VIOLATIONS_MAX;
use crate::observed::WorkSeen;
use crate::policy::{Land, Policy};
use crate::refusal::{Code, Refusal};
use crate::task::Task;
use serde_json::json;

impl Rule<'_> {
    /// Judges what is handed in, and returns what the submission says of its round.
    pub(super) fn land_record(&self, task: &Task, work: &WorkSeen) -> Ruling<Option<LandRecord>> {
        let (Some(claim), Some(window)) = (&task.claim, Window::of_claim(task)) else {
            return Ok(None);
        };
        let found = self.found_in(&window, work.changed_in_round())?;
        let found = let_through(task, found, self.policy)?;
        let before = task.handed_in.as_ref().and_then(|round| round.commit.clone());
        Ok(Some(LandRecord {
            agent: claim.agent.clone(),
            fence: claim.fence,
            claimed_at: claim.claimed_at,
            base: before.or_else(|| claim.base.clone()),
            violations: found,
        }))
    }

    /// Refuses work to land that was handed in while the settings only warned.
    pub(super) fn lands(&self, task: &Task) -> Ruling<()> {
        let found = task.handed_in.as_ref().map(|round| round.land.violations.clone());
        let_through(task, found.unwrap_or_default(), self.policy)?;
        Ok(())
    }

    /// Judges what a merge adds to the work that was handed in; returns what was let through.
    pub(super) fn merge_lands(&self, task: &Task, added: &[String]) -> Ruling<Vec<LeaseViolation>> {
        self.lands(task)?;
        let Some(window) = Window::since_submission(task) else { return Ok(Vec::new()) };
        let found = self.found_in(&window, added.iter().map(String::as_str))?;
        Ok(let_through(task, found, self.policy)?)
    }

    fn found_in<'p>(
        &self,
        window: &Window<'_>,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Ruling<Vec<LeaseViolation>> {
        if self.policy.land == Land::Off {
            return Ok(Vec::new());
        }
        violations(self.facts, &self.request.repo, window, paths)
    }
}

/// Refuses the work, unless the settings only warn or a person waived the gate. What is let through is kept.
fn let_through(
    task: &Task,
    mut found: Vec<LeaseViolation>,
    policy: &Policy,
) -> Result<Vec<LeaseViolation>, Refusal> {
    if let Some(refusal) = refuse_landing(task, &found, policy) {
        return Err(refusal);
    }
    found.truncate(VIOLATIONS_MAX);
    Ok(found)
}

/// Makes the refusal of work that changes what others had leased; none when it may land.
pub fn refuse_landing(task: &Task, found: &[LeaseViolation], policy: &Policy) -> Option<Refusal> {
    let waived = task.gate(GUARD_GATE).is_some_and(|gate| gate.waiver.is_some());
    let first = found.first().filter(|_| policy.land == Land::Refuse && !waived)?;
    let waive = op("gate.waive").id(&task.id).arg("gate", GUARD_GATE).ask("reason", "TEXT");
    let message = format!("the work on {} may not land: {}", task.id, land_words(first, found));
    Some(
        Refusal::new(Code::LeaseHeld, message)
            .hint(
                say("take these changes back and hand the work in again; only a person may let it pass: ")
                    .call(waive),
            )
            .detail("task", task.id.as_str())
            .detail("violations", json!(found)),
    )
}

/// Says in words what was found.
pub fn land_words(first: &LeaseViolation, all: &[LeaseViolation]) -> String {
    let LeaseViolation { path, holder, lock_id, from, until } = first;
    let more = match all.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and 1 more file is like that".to_owned(),
        n => format!(", and {n} more files are like that"),
    };
    format!("{path} was leased to {holder} ({lock_id}, {from} to {until}){more}")
}
