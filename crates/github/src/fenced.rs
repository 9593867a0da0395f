//! Commands of engines that share no store: whoever claims takes the issue on GitHub first, and whoever hands work in or
//! finishes it has to have it still.

use crate::bus::Github;
use crate::claims;
use comity_api::{Claim, TaskFilter, op};
use comity_core::command::{Command, TaskVerb};
use comity_core::observed::Observed;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::view::TaskView;
use comity_engine::{Caller, Look, Observer, Seen};
use comity_project::Context;
use comity_project::github::Claims;
use comity_project::store::Access;
use std::sync::Arc;

struct Fenced {
    inner: Arc<dyn Observer>,
    context: Context,
}

fn has_refs(context: &Context) -> bool {
    context.config.github().is_ok_and(|settings| settings.claims == Claims::Refs)
}

fn github(context: &Context) -> Result<Github, Refusal> {
    Ok(Github { service: context.service(Access::Write)?, context: context.clone() })
}

/// Lets an observer look at the claims on GitHub, too, where they count.
pub fn fenced(context: &Context, inner: Arc<dyn Observer>) -> Arc<dyn Observer> {
    if !has_refs(context) {
        return inner;
    }
    Arc::new(Fenced { inner, context: context.clone() })
}

/// Chooses what a claim without a task takes, where claims are refs: own work that was sent back, else the first ready
/// task that no other engine has.
pub fn choose(context: &Context, wish: &Claim) -> Result<Option<String>, Refusal> {
    if wish.id.is_some() || !has_refs(context) {
        return Ok(wish.id.clone());
    }
    let (github, caller) = (github(context)?, context.caller());
    let sent_back = TaskFilter {
        statuses: vec![Status::ChangesRequested],
        assignee: Some(caller.actor.clone()),
        ..TaskFilter::default()
    };
    let ready = TaskFilter { ready: true, role: wish.role, ..TaskFilter::default() };
    let mut refused = None;
    for filter in [sent_back, ready] {
        for task in github.service.call::<op::TaskList>(&caller, filter)?.tasks {
            let task = github.service.task(&caller, &task.id)?;
            match claims::take(&github, &caller.actor, &task) {
                Ok(()) => return Ok(Some(task.id.to_string())),
                Err(refusal) if refusal.code == Code::ClaimedElsewhere => refused = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Names the tasks that a command wants to claim.
fn claimed<'a>(look: &Look<'a>) -> Vec<&'a str> {
    let commands = look.request.command.looked_at().iter();
    let claims = commands.filter(|command| look.wanted.claim && command.wants_seen().claim);
    claims.filter_map(Command::task_ref).collect()
}

impl Fenced {
    fn task(&self, github: &Github, look: &Look<'_>, id: &str) -> Result<Task, Refusal> {
        let caller = Caller::new(look.request.actor.clone(), self.context.repo.clone());
        github.service.task(&caller, id)
    }

    /// Claims that were refused leave the issues to others, unless they are held here.
    fn let_go(&self, look: &Look<'_>) -> Result<(), Refusal> {
        for id in claimed(look) {
            let github = github(&self.context)?;
            let task = self.task(&github, look, id)?;
            if task.claim.is_none() && task.status == Status::Queued {
                claims::give_back(&github, &task)?;
            }
        }
        Ok(())
    }

    /// A claim without a task has chosen one: its issue is taken now, or the task is given back.
    fn take_chosen(&self, look: &Look<'_>, id: &str) -> Result<(), Refusal> {
        let github = github(&self.context)?;
        let task = self.task(&github, look, id)?;
        let Err(refusal) = claims::take(&github, &look.request.actor, &task) else { return Ok(()) };
        let caller = Caller::new(look.request.actor.clone(), self.context.repo.clone());
        let reason = Some(refusal.message.clone());
        let release = Command::Move { verb: TaskVerb::Release, id: id.to_owned(), reason };
        github.service.execute(caller.request(release))?;
        Err(refusal)
    }
}

impl Observer for Fenced {
    fn observe(&self, look: &Look<'_>) -> Result<Seen, Refusal> {
        for id in claimed(look) {
            let github = github(&self.context)?;
            let task = self.task(&github, look, id)?;
            // What is held here, or finished, is for the rules to refuse.
            if task.claim.is_none() && !task.status.is_finished() {
                claims::take(&github, &look.request.actor, &task)?;
            }
        }
        let is_last = look.wanted.work.is_some() || look.wanted.merge.is_some();
        if let Some(task) = look.task.filter(|_| is_last) {
            claims::fence(&github(&self.context)?, task)?;
        }
        let seen = self.inner.observe(look);
        if seen.is_err() {
            let _ = self.let_go(look);
        }
        seen
    }

    fn accepted(&self, look: &Look<'_>, seen: &Observed, task: Option<&TaskView>) -> Vec<String> {
        let mut remarks = self.inner.accepted(look, seen, task);
        let chosen = look.wanted.claim && claimed(look).is_empty();
        if let Some(task) = task.filter(|_| chosen)
            && let Err(refusal) = self.take_chosen(look, &task.id)
        {
            remarks.push(format!("{} was given back: {}; claim another", task.id, refusal.message));
        }
        remarks
    }

    fn refused(&self, look: &Look<'_>, seen: &Observed) {
        self.inner.refused(look, seen);
        let _ = self.let_go(look);
    }
}
