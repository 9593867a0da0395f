//! Issues that other engines have, where claims are refs on GitHub.

use super::Pass;
use crate::bus::IssueKey;
use crate::claims;
use crate::client::Trouble;
use crate::rows::IssueRow;
use comity_core::refusal::Refusal;
use comity_project::github::Claims;

/// How a blocker of a task begins whose issue another engine has.
const HELD_BY: &str = "held by ";

impl Pass<'_> {
    /// Looks at all claims. A task whose issue another engine has cannot be started here, and nothing is written there.
    pub(super) fn look_at_claims(&mut self) -> Result<(), Trouble> {
        if self.bus.settings.claims != Claims::Refs {
            return Ok(());
        }
        for key in self.bus.rows.issues() {
            let row = self.bus.rows.issue(&key);
            self.bus.rows.set_issue(&key, &IssueRow { other_engine: None, ..row });
        }
        for repository in self.bus.repositories() {
            let others = claims::others(self.bus, &repository)?;
            for key in self.linked_to(&repository) {
                let row = self.bus.rows.issue(&key.to_string());
                let Some(task) = row.task.as_deref().and_then(|id| self.bus.task(id)) else {
                    continue;
                };
                let id = task.id.as_str();
                let had = task.blockers.iter().find(|blocker| blocker.starts_with(HELD_BY));
                match others.get(&key) {
                    Some(there) if !task.status.is_finished() => {
                        let what = format!("{HELD_BY}{} of engine {}", there.agent, there.engine);
                        if had != Some(&what) {
                            self.set_blocker(&key, id, HELD_BY, false, &what);
                            self.set_blocker(&key, id, &what, true, &self.bus.stamp());
                        }
                        let why = format!("{} of engine {} has it", there.agent, there.engine);
                        let hint = "nothing to do: the other engine says what happens";
                        self.bus.finding("held-elsewhere", Some(&key), why, hint);
                    }
                    _ if had.is_some() => {
                        self.set_blocker(&key, id, HELD_BY, false, &self.bus.stamp());
                    }
                    _ => {}
                }
            }
            self.elsewhere.extend(others.into_keys());
        }
        Ok(())
    }

    /// Keeps the claim of an issue, or gives it back; whether this engine may write there.
    pub(super) fn keeps_claim(&mut self, key: &IssueKey, row: &IssueRow) -> Result<bool, Refusal> {
        if self.bus.settings.claims != Claims::Refs {
            return Ok(true);
        }
        if self.elsewhere.contains(key) {
            return Ok(false);
        }
        let task = row.task.as_deref().and_then(|id| self.bus.task(id));
        if let Some(task) = task.filter(|_| !self.bus.dry_run) {
            claims::keep(self.bus, key, task.status)?;
        }
        Ok(true)
    }
}
