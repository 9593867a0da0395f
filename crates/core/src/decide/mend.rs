//! Going on after the store was damaged: a person says so, and the log keeps it.

use super::{Answer, Rule};
use crate::command::Mend;
use crate::event::{ClockCorrected, Event};
use crate::facts::Ruling;
use crate::refusal::Refusal;

impl Rule<'_> {
    pub(super) fn mend(&mut self, mend: &Mend) -> Ruling<Answer> {
        let event = match mend {
            Mend::Loss(lost) => {
                self.require_person("go on without lost events")?;
                Event::EventsLost(lost.clone())
            }
            Mend::Clock => {
                self.require_person("set the time of the log back")?;
                let (clock, log_time) = (self.facts.moment.clock, self.facts.head.ts);
                if clock >= log_time {
                    return Err(Refusal::input("the log is not ahead of the clock").into());
                }
                Event::ClockCorrected(ClockCorrected { log_time })
            }
        };
        let place = self.events.len();
        self.push(None, event);
        Ok(Answer::Event(place))
    }
}
