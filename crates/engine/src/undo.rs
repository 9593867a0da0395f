//! Taking the caller's last command on a task back.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::TaskAnswer;
use comity_core::chain::Stored;
use comity_core::command::Command;
use comity_core::event::Event;
use comity_core::hint::{op, say};
use comity_core::ids::{AgentId, Seq, TaskId};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::undo::{Act, undoing};
use comity_store::EventQuery;

/// How often the log is read again when the task changed meanwhile.
const READS_MAX: usize = 3;
/// The last events of the log that an undo looks at.
const EVENTS_MAX: usize = PAGE_MAX;

impl Service {
    pub(crate) fn undo(&self, caller: &Caller, id: Option<&str>) -> Result<TaskAnswer, Refusal> {
        let mut reads = 1;
        loop {
            let command = self.read(caller, |reader| reader.undo(id))?;
            match self.run_command(caller, command) {
                Err(refusal) if refusal.code == Code::VersionMismatch && reads < READS_MAX => {
                    reads += 1;
                }
                done => return done,
            }
        }
    }
}

impl Reader<'_> {
    fn undo(&mut self, id: Option<&str>) -> Result<Command, Refusal> {
        let events = self.last_events()?;
        let task = match id {
            Some(id) => self.find(id)?,
            None => self.last_changed(&events)?,
        };
        let of_task = events.iter().filter(|event| event.task.as_deref() == Some(task.id.as_str()));
        let acts: Vec<Act> = of_task.filter_map(act).collect();
        let verb = undoing(&task, &acts, &self.caller.actor)?;
        Ok(Command::Undo { id: task.id.to_string(), version: task.version, verb })
    }

    fn last_events(&mut self) -> Result<Vec<Stored>, Refusal> {
        let head = self.tx.head()?.seq.0;
        let after = Seq(head.saturating_sub(u64::try_from(EVENTS_MAX).unwrap_or(u64::MAX)));
        let repo = Some(self.caller.repo.clone());
        Ok(self.tx.events(&EventQuery {
            repo,
            after,
            limit: EVENTS_MAX,
            ..EventQuery::default()
        })?)
    }

    /// Finds the task whose status the caller changed last.
    fn last_changed(&mut self, events: &[Stored]) -> Result<Task, Refusal> {
        let me = self.caller.actor.as_str();
        let own = events.iter().rev().find(|event| {
            event.agent == me && event.event == "status_changed" && event.task.is_some()
        });
        let id = own.and_then(|event| event.task.as_deref());
        let id = id.and_then(|id| TaskId::parse(id).ok()).ok_or_else(|| {
            let message = format!("none of the last {EVENTS_MAX} events is a step of yours");
            Refusal::new(Code::NotFound, message)
                .hint(say("name the task: ").call(op("task.undo").ask("id", "ID")))
        })?;
        self.find(id.as_str())
    }
}

/// Reads an event of the log; none when its body was purged.
fn act(stored: &Stored) -> Option<Act> {
    let event = Event::decode(&stored.event, stored.body.as_deref()?).ok()?;
    Some(Act { by: AgentId::parse(&stored.agent).ok()?, event })
}
