//! What is set for a whole repository.

use super::{Answer, Rule};
use crate::event::{Event, RepositorySet};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::pattern::CaseRule;
use crate::refusal::{Code, Refusal};

impl Rule<'_> {
    /// Sets how paths are compared. Whoever comes first may say it; afterwards only a person changes it, and only while
    /// no leases are held, because those were compared by the rule that was.
    pub(super) fn set_repository(&mut self, fold_case: bool, keep: bool) -> Ruling<Answer> {
        let done = Answer::Agent(self.request.actor.clone());
        let repo = &self.request.repo;
        let before = self.facts.counters(repo)?.fold_case;
        if before == Some(fold_case) || (keep && before.is_some()) {
            return Ok(done);
        }
        if before.is_some() && !self.request.actor.is_person() {
            let text = "only a person changes how this repository compares paths";
            return Err(Refusal::new(Code::HumanOnly, text).into());
        }
        let changes = self.facts.case_rule_of(repo)? != CaseRule::folding(fold_case);
        if changes && self.facts.leases_near(repo, "")?.next().is_some() {
            let text =
                "leases are held, and another way to compare paths could make two of them meet";
            return Err(Refusal::new(Code::LeaseHeld, text)
                .hint(say("wait until they have ended; see ").quote(op("lease.list")))
                .into());
        }
        self.push(None, Event::RepositorySet(RepositorySet { fold_case }));
        Ok(done)
    }
}
