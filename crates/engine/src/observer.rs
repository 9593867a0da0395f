//! Commands that need eyes: a door hands an observer in, which looks at git before the rules decide.

use crate::answer::{Answer, CommandOutput, Reply};
use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::TaskFilter;
use comity_core::command::{Command, Request};
use comity_core::decide::shared_words;
use comity_core::observed::{Observed, SharedWith, Wanted};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Deliverable, Task};
use comity_core::view::TaskView;

/// How often a command is looked at anew when its task changed meanwhile.
const LOOKS_MAX: usize = 2;
/// Claims in one work tree that are looked at.
const CLAIMS_MAX: usize = 500;

/// What an observer is shown.
pub struct Look<'a> {
    pub request: &'a Request,
    pub wanted: Wanted<'a>,
    /// The task as it stands; none where the command names none.
    pub task: Option<&'a Task>,
    /// Other live claims on code in the caller's work tree.
    pub beside: &'a [SharedWith],
}

/// What an observer saw, and what it wants to say beside it.
#[derive(Default)]
pub struct Seen {
    pub observed: Observed,
    pub remarks: Vec<String>,
}

/// Looks at what a rule needs to know and no caller may state.
pub trait Observer: Send + Sync {
    fn observe(&self, look: &Look<'_>) -> Result<Seen, Refusal>;

    /// The command was accepted, and left the task so. Returns remarks.
    fn accepted(&self, look: &Look<'_>, seen: &Observed, task: Option<&TaskView>) -> Vec<String>;

    /// The command was refused.
    fn refused(&self, look: &Look<'_>, seen: &Observed);
}

/// An answer, and what the caller should know beside it.
#[derive(Debug)]
pub struct Answered<T> {
    pub output: T,
    pub remarks: Vec<String>,
}

impl<T> From<T> for Answered<T> {
    fn from(output: T) -> Answered<T> {
        Answered { output, remarks: Vec::new() }
    }
}

impl Service {
    /// Runs a command for a caller, whose observer looks first.
    pub fn run(&self, caller: &Caller, command: Command) -> Result<Answered<Reply>, Refusal> {
        let request = caller.request(command);
        match &caller.observer {
            Some(observer) => self.execute_seen(&request, observer.as_ref()),
            None => Ok(self.execute(request)?.into()),
        }
    }

    /// Runs a command for a caller and takes the answer as the output that it must be.
    pub fn run_command<T: CommandOutput>(
        &self,
        caller: &Caller,
        command: impl Into<Command>,
    ) -> Result<T, Refusal> {
        self.run(caller, command.into())?.output.take()
    }

    /// Runs a command after an observer has looked at what it needs.
    pub fn execute_seen(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Answered<Reply>, Refusal> {
        let mut looks = 1;
        loop {
            match self.look_and_execute(request, observer) {
                Err(refusal) if refusal.code == Code::VersionMismatch && looks < LOOKS_MAX => {
                    looks += 1;
                }
                done => return done,
            }
        }
    }

    fn look_and_execute(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Answered<Reply>, Refusal> {
        let wanted = request.command.wants_seen();
        if wanted.is_nothing() {
            return Ok(self.execute(request.clone())?.into());
        }
        let (task, beside) = self.what_stands(request, &wanted)?;
        let look = Look { request, wanted, task: task.as_ref(), beside: &beside };
        let Seen { observed, mut remarks } = observer.observe(&look)?;
        match self.execute(Request { observed: observed.clone(), ..request.clone() }) {
            Ok(output) => {
                remarks.extend(observer.accepted(&look, &observed, output.task()));
                remarks.extend(remarks_on(&output));
                Ok(Answered { output, remarks })
            }
            Err(refusal) => {
                observer.refused(&look, &observed);
                Err(refusal)
            }
        }
    }

    /// Reads the task, and who else is at work where the caller is. What does not stand is left to the rules to refuse.
    fn what_stands(
        &self,
        request: &Request,
        wanted: &Wanted<'_>,
    ) -> Result<(Option<Task>, Vec<SharedWith>), Refusal> {
        if wanted.work.is_none() && wanted.merge.is_none() {
            return Ok((None, Vec::new()));
        }
        self.read(&Caller::of(request), |reader| {
            let Some(id) = request.command.task_ref() else { return Ok((None, Vec::new())) };
            let Ok(task) = reader.find(id) else { return Ok((None, Vec::new())) };
            let beside = match wanted.work {
                Some(_) => reader.claims_beside(request, &task)?,
                None => Vec::new(),
            };
            Ok((Some(task), beside))
        })
    }
}

/// What somebody who reads words should know of work that was handed in.
fn remarks_on(reply: &Reply) -> Vec<String> {
    let Reply::New(Answer::Submitted(answer)) = reply else { return Vec::new() };
    let mut remarks = Vec::new();
    if !answer.undeclared.is_empty() {
        remarks.push(format!("note: the task did not declare {}", answer.undeclared.join(", ")));
    }
    remarks.extend(shared_words(&answer.shared_with).map(|words| format!("note: {words}")));
    remarks
}

impl Reader<'_> {
    /// Lists other live claims on code that were made in the work tree of a request.
    fn claims_beside(
        &mut self,
        request: &Request,
        task: &Task,
    ) -> Result<Vec<SharedWith>, Refusal> {
        let statuses = vec![Status::Claimed, Status::InProgress];
        let filter = TaskFilter { statuses, ..TaskFilter::default() };
        let mut found = Vec::new();
        for other in self.task_rows(&filter, 0, CLAIMS_MAX)?.0 {
            let Some(claim) = &other.claim else { continue };
            let is_here = claim.workspace.is_some()
                && claim.workspace == request.workspace
                && claim.host == request.via.host;
            if is_here && other.id != task.id && other.deliverable == Deliverable::Code {
                let (task, agent) = (other.id.to_string(), claim.agent.to_string());
                found.push(SharedWith { task, agent });
            }
        }
        Ok(found)
    }
}
