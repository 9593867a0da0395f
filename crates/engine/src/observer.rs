//! Commands that need eyes: a door hands an observer in, which looks at git before the rules decide.

use crate::answer::{Answer, CommandOutput, Reply};
use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::{AgentFilter, TaskFilter};
use comity_core::command::{Command, Request};
use comity_core::decide::{branch_name, land_words, shared_words, unknown_name};
use comity_core::ids::AgentId;
use comity_core::limits::PAGE_MAX;
use comity_core::nearest::nearest;
use comity_core::observed::{Observed, RulesSeen, SharedWith, Wanted};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Deliverable, Task};
use comity_core::view::TaskView;
use serde_json::Value;
use std::sync::Arc;

/// How often a command is looked at anew when its task changed meanwhile.
const LOOKS_MAX: usize = 2;
/// How far around a task others are looked at to find whose branch its work is on.
const NEIGHBOURS_MAX: u64 = 1_000;
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
    /// The work that a lease may be for: the task that is named, else every code task that the caller holds.
    pub rounds: &'a [Task],
    service: &'a Service,
}

impl Look<'_> {
    /// Tells whether a task still has the claim with this fence.
    pub fn is_claimed(&self, task: &str, fence: u64) -> bool {
        let found = self.service.read(&Caller::of(self.request), |reader| reader.find(task));
        found.is_ok_and(|task| task.claim.is_some_and(|claim| claim.fence.get() == fence))
    }
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
        let another = command.is_of_holder().then(|| self.another_just_acted(caller)).flatten();
        let request = caller.request(command);
        let done = match &caller.observer {
            Some(observer) => self.execute_seen(&request, observer.as_ref()),
            None => self.execute(request).map(Answered::from),
        };
        match done {
            Ok(mut answered) => {
                answered.remarks.extend(another);
                Ok(answered)
            }
            Err(refusal) if refusal.code == Code::UnknownName => {
                Err(self.with_nearest_agent(caller, refusal))
            }
            Err(mut refusal) => {
                // Two under one id meet in refusals that neither of them can explain.
                if let Some(words) = another {
                    refusal.message = format!("{}; {words}", refusal.message);
                }
                Err(refusal)
            }
        }
    }

    /// Names the agent that a mistyped one is nearest to.
    fn with_nearest_agent(&self, caller: &Caller, refusal: Refusal) -> Refusal {
        let Some(Value::String(name)) = refusal.details.get("agent") else { return refusal };
        let page = AgentFilter { limit: Some(PAGE_MAX), after: None };
        let Ok(known) = self.read(caller, |reader| reader.agents(&page)) else { return refusal };
        let known: Vec<String> = known.agents.into_iter().map(|agent| agent.id).collect();
        match nearest(name, known.iter().map(String::as_str)) {
            Some(meant) => unknown_name("agent", name, Some(meant)),
            None => refusal,
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
        let commands = request.command.looked_at();
        let wanted: Vec<Wanted<'_>> = commands.iter().map(Command::wants_seen).collect();
        if wanted.iter().all(Wanted::is_nothing) {
            return Ok(self.execute(request.clone())?.into());
        }
        let mut stands = Vec::new();
        for (command, wanted) in commands.iter().zip(&wanted) {
            stands.push(self.what_stands(request, command, wanted)?);
        }
        let mut looks = Vec::new();
        for (wanted, stands) in wanted.into_iter().zip(&stands) {
            let Stands { task, beside, rounds } = stands;
            let (task, service) = (task.as_ref(), self);
            looks.push(Look { request, wanted, task, beside, rounds, service });
        }
        let mut all: Vec<Observed> = Vec::new();
        let mut remarks = Vec::new();
        for look in &looks {
            match observer.observe(look) {
                Ok(seen) => {
                    remarks.extend(seen.remarks);
                    let branch =
                        seen.observed.work.as_ref().and_then(|work| work.branch.as_deref());
                    if let (Some(task), Some(branch)) = (look.task, branch) {
                        remarks.extend(self.another_tasks_branch(request, task, branch)?);
                    }
                    all.push(seen.observed);
                }
                Err(refusal) => {
                    looks.iter().zip(&all).for_each(|(look, seen)| observer.refused(look, seen));
                    return Err(refusal);
                }
            }
        }
        let observed = match all.as_slice() {
            [one] => one.clone(),
            _ => Observed { steps: all.clone(), ..Observed::default() },
        };
        let observed = with_runs(request, observed);
        match self.execute(Request { observed, ..request.clone() }) {
            Ok(output) => {
                for (look, seen) in looks.iter().zip(&all) {
                    let id = look.task.map(|task| task.id.as_str());
                    remarks.extend(observer.accepted(look, seen, output.task(id)));
                }
                remarks.extend(remarks_on(&output));
                Ok(Answered { output, remarks })
            }
            Err(refusal) => {
                looks.iter().zip(&all).for_each(|(look, seen)| observer.refused(look, seen));
                Err(refusal)
            }
        }
    }

    /// Looks at the files that a request wants to lease, right before it is tried: they may have changed while it waited.
    pub(crate) fn with_lease_seen(
        &self,
        request: Request,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Request, Refusal> {
        let Some(observer) = observer else { return Ok(request) };
        let wanted = request.command.wants_seen();
        if wanted.lease.is_none() {
            return Ok(request);
        }
        let Stands { task, beside, rounds } =
            self.what_stands(&request, &request.command, &wanted)?;
        let (task, beside, rounds) = (task.as_ref(), &*beside, &*rounds);
        let observed = observer.observe(&Look {
            request: &request,
            wanted,
            task,
            beside,
            rounds,
            service: self,
        })?;
        Ok(Request { observed: observed.observed, ..request })
    }

    /// Asks what the rules would say to a command of a caller now, after its observer has looked. Nothing is changed.
    pub fn would_run(&self, caller: &Caller, command: Command) -> Result<(), Refusal> {
        let request = caller.request(command);
        let Some(observer) = &caller.observer else { return self.would(request) };
        let wanted = request.command.wants_seen();
        let Stands { task, beside, rounds } =
            self.what_stands(&request, &request.command, &wanted)?;
        let (task, beside, rounds) = (task.as_ref(), &*beside, &*rounds);
        let look = Look { request: &request, wanted, task, beside, rounds, service: self };
        let observed = observer.observe(&look)?.observed;
        observer.refused(&look, &observed);
        let observed = with_runs(&request, observed);
        self.would(Request { observed, ..request.clone() })
    }

    /// Looks at nothing but the settings that judge what a request is about, for a door to which another system says the rest.
    pub fn rules_seen(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Option<RulesSeen>, Refusal> {
        let wanted = Wanted { rules: request.command.wants_seen().rules, ..Wanted::default() };
        if wanted.is_nothing() {
            return Ok(None);
        }
        let Stands { task, beside, rounds } =
            self.what_stands(request, &request.command, &wanted)?;
        let (task, beside, rounds) = (task.as_ref(), &*beside, &*rounds);
        let seen =
            observer.observe(&Look { request, wanted, task, beside, rounds, service: self })?;
        Ok(seen.observed.rules)
    }

    /// Says when work is handed in from the branch that comity named for another task.
    fn another_tasks_branch(
        &self,
        request: &Request,
        task: &Task,
        branch: &str,
    ) -> Result<Option<String>, Refusal> {
        let policy = &self.settings().policy;
        let name = |task: &Task| branch_name(policy.branches_of(task).0, task);
        let own = name(task);
        if branch == own || task.branch.as_deref() == Some(branch) {
            return Ok(None);
        }
        let after = task.number.saturating_sub(NEIGHBOURS_MAX);
        let count = usize::try_from(NEIGHBOURS_MAX * 2).unwrap_or(usize::MAX);
        let around = self.read(&Caller::of(request), |reader| {
            Ok(reader.task_rows(&TaskFilter::default(), after, count)?.0)
        })?;
        let other = around.iter().find(|other| name(other) == branch);
        Ok(other.map(|other| {
            let (id, other) = (&task.id, &other.id);
            let own = task.branch.as_ref().unwrap_or(&own);
            format!("note: {branch} is the branch of {other}; the branch of {id} is {own}")
        }))
    }

    /// Reads the task, and who else is at work where the caller is. What does not stand is left to the rules to refuse.
    fn what_stands(
        &self,
        request: &Request,
        command: &Command,
        wanted: &Wanted<'_>,
    ) -> Result<Stands, Refusal> {
        let of_work = wanted.work.is_some() || wanted.merge.is_some() || wanted.rules;
        let is_needed = of_work || wanted.keep || wanted.plan || wanted.lease.is_some();
        if !is_needed {
            return Ok(Stands::default());
        }
        self.read(&Caller::of(request), |reader| {
            let task = command.task_ref().map(|id| reader.find(id)).transpose();
            let Ok(task) = task else { return Ok(Stands::default()) };
            if wanted.lease.is_some() {
                let rounds = match task {
                    Some(task) => vec![task],
                    None => reader.held_code(&request.actor)?,
                };
                return Ok(Stands { rounds, ..Stands::default() });
            }
            let beside = match (&task, &wanted.work) {
                (Some(task), Some(_)) => reader.claims_beside(request, task)?,
                _ => Vec::new(),
            };
            Ok(Stands { task, beside, rounds: Vec::new() })
        })
    }
}

/// Adds what the door itself did: that is no part of what an observer looks at.
fn with_runs(request: &Request, observed: Observed) -> Observed {
    let Observed { run, gates, landing, .. } = request.observed.clone();
    Observed { run, gates, landing, ..observed }
}

/// What an observer is shown of the store.
#[derive(Default)]
struct Stands {
    task: Option<Task>,
    beside: Vec<SharedWith>,
    rounds: Vec<Task>,
}

/// What somebody who reads words should know of work that was handed in.
fn remarks_on(reply: &Reply) -> Vec<String> {
    let Reply::New(Answer::Submitted(answer)) = reply else { return Vec::new() };
    let mut remarks = Vec::new();
    if !answer.undeclared.is_empty() {
        remarks.push(format!("note: the task did not declare {}", answer.undeclared.join(", ")));
    }
    remarks.extend(shared_words(&answer.shared_with).map(|words| format!("note: {words}")));
    let found = &answer.violations;
    remarks.extend(found.first().map(|first| format!("warning: {}", land_words(first, found))));
    remarks
}

impl Reader<'_> {
    /// Lists the code tasks that an agent holds in the repository of the call.
    fn held_code(&mut self, agent: &AgentId) -> Result<Vec<Task>, Refusal> {
        let statuses = vec![Status::Claimed, Status::InProgress];
        let assignee = Some(agent.clone());
        let filter = TaskFilter { statuses, assignee, ..TaskFilter::default() };
        let mut held = self.task_rows(&filter, 0, CLAIMS_MAX)?.0;
        held.retain(|task| task.deliverable == Deliverable::Code && task.claim.is_some());
        Ok(held)
    }

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
