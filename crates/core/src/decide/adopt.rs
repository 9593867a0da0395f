//! Taking a question, a memory or a directive over from another system.

use super::{Answer, Rule};
use crate::command::{Adoption, Command};
use crate::event::{Event, TakenOver};
use crate::facts::Ruling;

impl Rule<'_> {
    /// Makes the thing by the command that makes one here, so the same rules hold, and notes what it is there.
    pub(super) fn take_over(&mut self, adoption: &Adoption) -> Ruling<Answer> {
        let mut ahead = self.ahead();
        let made = self.in_turn(&mut ahead, adoption.made.command())?;
        let origin = Box::new(adoption.origin.clone());
        let mut noted = TakenOver { decision: None, memory: None, directive: None, origin };
        let mut follows = None;
        if let Answer::Decision(id) = made {
            noted.decision = Some(id);
            let answer = adoption.answer.clone();
            follows = answer.map(|answer| Command::DecisionAnswer { id: id.to_string(), answer });
        }
        if let Answer::Memory(id) = made {
            noted.memory = Some(id);
        }
        if let Answer::Directive(id) = made {
            noted.directive = Some(id);
            let off = Command::DirectiveToggle { id: id.to_string(), enabled: Some(false) };
            follows = adoption.disabled.then_some(off);
        }
        self.push(None, Event::TakenOver(noted));
        if let Some(command) = follows {
            self.in_turn(&mut ahead, command)?;
        }
        Ok(made)
    }
}
