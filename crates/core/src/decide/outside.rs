//! What the log keeps of an issue of another system.

use super::input::{Check, line, said, word};
use super::{Answer, Rule};
use crate::event::{DecisionAsked, Event, IssuePaused, IssueResumed, OutsideRefused, TextAccepted};
use crate::facts::Ruling;
use crate::ids::{AgentId, DecisionId};
use crate::outside::OutsideNote;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;

pub(super) fn check(note: &OutsideNote) -> Check {
    match note {
        OutsideNote::Refused { issue, wish, by, code, why } => {
            [issue, wish, by, code].into_iter().try_for_each(|text| line("issue", text))?;
            said("why", why)
        }
        OutsideNote::Paused { issue, cause } => {
            line("issue", issue)?;
            said("cause", cause)
        }
        OutsideNote::Resumed { issue } => line("issue", issue),
        OutsideNote::Accepted { issue, text } => {
            line("issue", issue)?;
            word("text", text)
        }
    }
}

impl Rule<'_> {
    pub(super) fn note_outside(
        &mut self,
        task: Option<&String>,
        note: &OutsideNote,
    ) -> Ruling<Answer> {
        let task = task.map(|text| self.task(text)).transpose()?;
        self.require(Verb::Update)?;
        let event = match note.clone() {
            OutsideNote::Refused { issue, wish, by, code, why } => {
                Event::OutsideRefused(OutsideRefused { issue, wish, by, code, why })
            }
            OutsideNote::Paused { issue, cause } => {
                Event::IssuePaused(IssuePaused { issue, cause })
            }
            OutsideNote::Resumed { issue } => Event::IssueResumed(IssueResumed { issue }),
            OutsideNote::Accepted { issue, text } => {
                Event::TextAccepted(TextAccepted { issue, text })
            }
        };
        let place = self.events.len();
        self.push(task.map(|task| &task.id), event);
        // Where nobody stopped it by hand, somebody has to say how it goes on.
        if let OutsideNote::Paused { issue, cause } = note
            && self.request.actor == AgentId::github()
        {
            let question = format!(
                "comity writes no more to {issue}: {cause}. What now? Resume the issue when that is settled."
            );
            let id = DecisionId(self.facts.counters(&self.request.repo)?.decisions + 1);
            let asked = DecisionAsked::free(id, &question, None);
            self.push(task.map(|task| &task.id), Event::DecisionAsked(Box::new(asked)));
        }
        Ok(Answer::Event(place))
    }

    /// Who acts in another system gets no further here than the rights there reach.
    pub(super) fn outside_allows(&self, verb: Verb) -> Result<(), Refusal> {
        let Some(seen) = &self.request.observed.outside else { return Ok(()) };
        if seen.level.allows(verb) {
            return Ok(());
        }
        let message =
            format!("{} has {} rights on GitHub and may not {verb}", seen.login, seen.level);
        Err(Refusal::new(Code::RoleForbidden, message)
            .hint("let somebody with more rights in the repository do it, or do it in comity")
            .detail("login", seen.login.as_str())
            .detail("level", seen.level.as_str())
            .detail("verb", verb.as_str()))
    }
}
