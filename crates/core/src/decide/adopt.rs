//! Taking a question, a memory or a directive over from another system.

use super::{Answer, Rule};
use crate::command::{Adoption, Command};
use crate::event::{Event, TakenOver};
use crate::facts::Ruling;
use crate::refusal::Refusal;

impl Rule<'_> {
    /// Makes the thing by the command that makes one here, so the same rules hold, and notes what it is there.
    pub(super) fn take_over(&mut self, adoption: &Adoption) -> Ruling<Answer> {
        let mut ahead = self.ahead();
        let made = self.in_turn(&mut ahead, adoption.made.as_ref().clone())?;
        let origin = Box::new(adoption.origin.clone());
        let mut noted = TakenOver { decision: None, memory: None, directive: None, origin };
        let follows = match &made {
            Answer::Decision(id) => {
                noted.decision = Some(*id);
                let answer = adoption.answer.clone();
                answer.map(|answer| Command::DecisionAnswer { id: id.to_string(), answer })
            }
            Answer::Memory(id) => {
                noted.memory = Some(*id);
                None
            }
            Answer::Directive(id) => {
                noted.directive = Some(*id);
                let off = Command::DirectiveToggle { id: id.to_string(), enabled: Some(false) };
                adoption.disabled.then_some(off)
            }
            _ => return Err(Refusal::input("that cannot be taken over").into()),
        };
        self.push(None, Event::TakenOver(noted));
        if let Some(command) = follows {
            self.in_turn(&mut ahead, command)?;
        }
        Ok(made)
    }
}
