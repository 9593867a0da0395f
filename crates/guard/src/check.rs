//! What agents' hooks and git's hooks ask: whether a piece of work is within what its task allows.

use crate::gates::{About, CheckSettings, checked_by};
use crate::git::{Git, NewFiles, WorkTree, snapshot};
use crate::observer::{GitObserver, HandedIn};
use comity_api::{ById, CheckWork, GuardAnswer, op};
use comity_core::decide::{examine, land_words, refuse_landing, refuse_work};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_engine::{Answered, Caller, Service};
use comity_project::Context;
use comity_project::store::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The handlers of operations on a work tree. The store is opened only where a task has to be read: a hook goes on without it.
#[derive(Clone)]
pub struct Guard {
    pub context: Context,
    pub observer: Arc<GitObserver>,
    /// The index of the commit that is being made, where git names one to its hook.
    pub index: Option<PathBuf>,
}

impl comity_engine::Whereabouts for Guard {}

comity_engine::handlers_of! { Guard, register {
    GuardCheck(guard, caller, input) => guard.check(caller, &input);
    GuardPush(guard, caller, input) => guard.push(caller, input);
    GuardStaged(guard, caller, _input) => guard.staged(caller);
} }

impl Guard {
    /// Returns the same with the settings that work is checked by.
    pub(crate) fn checking(&self, tree: &Path) -> Result<Guard, Refusal> {
        let mut guard = self.clone();
        (guard.context.config, ..) = checked_by(&self.context, &Git::at(tree), About::default())?;
        Ok(guard)
    }

    pub(crate) fn service(&self) -> Result<Service, Refusal> {
        self.context.service(Access::Read)
    }

    /// Checks the work tree as it is, committed or not.
    fn check(&self, caller: &Caller, input: &CheckWork) -> Result<Answered<GuardAnswer>, Refusal> {
        let id = input.id.clone().map_or_else(|| self.held(caller), Ok)?;
        let Some(tree) = &self.observer.tree else {
            self.service()?.task(caller, &id)?;
            return Err(Refusal::input("there is no git repository to check")
                .hint("run the command inside the work tree"));
        };
        let service = self.service()?;
        let task = service.task(caller, &id)?;
        let mut answer = GuardAnswer {
            ok: true,
            task: task.id.to_string(),
            base: None,
            commit: None,
            files: Vec::new(),
            violations: Vec::new(),
        };
        if task.deliverable != Deliverable::Code {
            return Ok(answer.into());
        }
        let git = Git::at(tree);
        let (commit, is_snapshot) = match &input.head {
            Some(name) => (git.named_commit(name)?, false),
            None => what_is_there(&git, tree, &task)?,
        };
        let base = input.base.as_deref().map(|name| git.named_commit(name)).transpose()?;
        let about = About { task: Some(&task), work: Some(&commit) };
        let policy =
            &CheckSettings::of(&self.context, &git, about)?.policy(&service.settings().policy)?;
        let work = HandedIn { commit, branch: git.branch(), is_snapshot, base };
        let work = self.observer.seen(&task, &work)?;
        let violations = examine(&task, &work, None, policy);
        if let Some(refusal) = refuse_work(&task, &work, &violations) {
            return Err(refusal);
        }
        let paths: Vec<&str> = work.changed_in_round().collect();
        let found = service.land_violations(caller, &task, policy.land, &paths)?;
        if let Some(refusal) = refuse_landing(&task, &found, policy) {
            return Err(refusal);
        }
        let said = found.first().map(|first| format!("warning: {}", land_words(first, &found)));
        answer.violations = found;
        (answer.base, answer.commit, answer.files) =
            (Some(work.base), Some(work.commit), work.files);
        Ok(Answered { output: answer, remarks: said.into_iter().collect() })
    }

    /// Returns the one task that the caller holds.
    fn held(&self, caller: &Caller) -> Result<String, Refusal> {
        let mut held = self.all_held(caller)?;
        let many = match (held.pop(), held.is_empty()) {
            (Some(one), true) => return Ok(one),
            (Some(_), false) => "several tasks",
            (None, _) => "no task",
        };
        Err(Refusal::input(format!("{} holds {many}", caller.actor))
            .hint(say("name the task: ").call(operation("guard.check").ask("id", "ID"))))
    }

    /// Returns the tasks that the caller holds; none when nobody knows the caller.
    pub(crate) fn all_held(&self, caller: &Caller) -> Result<Vec<String>, Refusal> {
        match self.service()?.call::<op::AgentShow>(caller, ById { id: caller.actor.to_string() }) {
            Err(refusal) if refusal.code == Code::NotFound => Ok(Vec::new()),
            answer => Ok(answer?.agent.holds.tasks),
        }
    }
}

/// Returns the work tree with what is not committed yet; the commit itself when nothing is.
fn what_is_there(git: &Git, tree: &Path, task: &Task) -> Result<(String, bool), Refusal> {
    let dirty = WorkTree::of(tree).and_then(|files| files.is_dirty(NewFiles::Count));
    match git.commit("HEAD").filter(|_| dirty == Some(false)) {
        Some(head) => Ok((head, false)),
        None => Ok((snapshot(tree, task.id.as_str())?, true)),
    }
}
