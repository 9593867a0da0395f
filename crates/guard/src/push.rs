//! What git's pre-push hook asks before anything is sent.

use crate::base_branch::Standing;
use crate::check::Guard;
use crate::git::Git;
use crate::span::has_work;
use crate::staged::{MECHANICAL, changed_lines};
use comity_api::{CheckPush, EmitEvent, PushAnswer, op};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_engine::{Answered, Caller};
use comity_project::Config;
use comity_project::store::Access;
use comity_protocol::neomjs::safety::{Push, protected_pushes, read_pushes};
use serde_json::{Map, json};

/// Commits of one push that the log names.
const PUSHED_MAX: usize = 50;

impl Guard {
    /// Refuses a push of an agent to a protected branch; a person may. Whoever is no known agent may be a person behind an
    /// editor, and is warned.
    pub(crate) fn push(
        &self,
        caller: &Caller,
        input: CheckPush,
    ) -> Result<Answered<PushAnswer>, Refusal> {
        let pushes = read_pushes(&input.text).map_err(|line| {
            let shown: String = line.chars().take(100).collect();
            Refusal::input(format!("{shown:?} is not a line that git gives a pre-push hook"))
                .hint("a line has a local ref, a local commit, a remote ref and a remote commit")
        })?;
        let checking = self.observer.tree.as_deref().map(|tree| self.checking(tree)).transpose()?;
        let config = &checking.as_ref().unwrap_or(self).context.config;
        let actor = &caller.actor;
        let hit = protected_pushes(&pushes, &config.protected_branches());
        let (mut remarks, is_agent) = (Vec::new(), !actor.is_person() && !actor.is_script());
        let message = format!("{actor} may not push to {} directly", hit.join(", "));
        if !hit.is_empty() && actor.is_script() {
            remarks.push(format!("warning: {message}, if it is an agent"));
        }
        if !hit.is_empty() && is_agent {
            return Err(Refusal::new(Code::HumanOnly, message)
                .hint("push another branch and open a pull request")
                .detail("branches", hit));
        }
        if config.names_branches() && is_agent {
            self.under_its_name(caller, &pushes)?;
        }
        let sizes = self.too_large_to_review(caller, &pushes, config)?;
        if let Some(first) = sizes.first().filter(|_| is_agent && config.commits().refuses_size) {
            return Err(Refusal::new(Code::LimitExceeded, first.clone())
                .hint("divide the work, or ask a planner or a person to allow more"));
        }
        remarks.extend(sizes.iter().map(|text| format!("warning: {text}")));
        self.tell_pushed(caller, &pushes, input.remote.as_deref());
        let refs = pushes.into_iter().map(|push| push.remote).collect();
        Ok(Answered { output: PushAnswer { ok: true, remote: input.remote, refs }, remarks })
    }

    /// Says which branches have more changed lines than the project wants to review at once. Work of the type `mechanical` may
    /// be large.
    fn too_large_to_review(
        &self,
        caller: &Caller,
        pushes: &[Push],
        config: &Config,
    ) -> Result<Vec<String>, Refusal> {
        let (Some(most), Some(tree)) = (config.commits().max_pr_lines, &self.observer.tree) else {
            return Ok(Vec::new());
        };
        let git = Git::at(tree);
        let Some(base) = Standing::of(&git, config.base_branch())?.base else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for push in pushes.iter().filter(|push| push.commit.bytes().any(|byte| byte != b'0')) {
            let Some(branch) = push.branch() else { continue };
            let task = self.task_of(caller, branch);
            let task = task.map(|id| self.service()?.task(caller, &id)).transpose()?;
            let fork = git.line(&["merge-base", "--end-of-options", &base, &push.commit]);
            let is_large_by_nature = task.and_then(|task| task.kind).as_deref() == Some(MECHANICAL);
            let (Some(fork), false) = (fork, is_large_by_nature) else { continue };
            let lines = changed_lines(&git, &["diff", &fork, &push.commit]).unwrap_or_default();
            if lines > most {
                found.push(format!(
                    "the changed lines of {branch} are {lines}, but the limit is {most}"
                ));
            }
        }
        Ok(found)
    }

    /// Writes into the log which commits are pushed, as far as the remote is not known to have them. A push does not fail for it.
    fn tell_pushed(&self, caller: &Caller, pushes: &[Push], remote: Option<&str>) {
        let Some(tree) = &self.observer.tree else { return };
        let Ok(service) = self.context.service(Access::Write) else { return };
        let git = Git::at(tree);
        let known = format!("--remotes={}", remote.unwrap_or("*"));
        let mut left = PUSHED_MAX;
        for push in pushes.iter().filter(|push| push.commit.bytes().any(|byte| byte != b'0')) {
            let most = format!("--max-count={left}");
            let args = ["log", "--format=%H %s", &most, &push.commit, "--not", &known];
            for line in git.lines(&args) {
                let (sha, summary) = line.split_once(' ').unwrap_or((&line, ""));
                let branch = push.branch().unwrap_or(&push.remote);
                let mut event = Map::new();
                event.insert("event".to_owned(), json!("commit_pushed"));
                event.insert("task".to_owned(), json!(self.task_of(caller, branch)));
                event.insert("sha".to_owned(), json!(sha));
                event.insert("summary".to_owned(), json!(summary));
                event.insert("branch".to_owned(), json!(branch));
                event.insert("remote".to_owned(), json!(remote));
                event.retain(|_, value| !value.is_null());
                let _ = service.call::<op::EventEmit>(caller, EmitEvent { event });
                left = left.saturating_sub(1);
            }
        }
    }

    /// Returns the task of the caller whose branch this is.
    fn task_of(&self, caller: &Caller, branch: &str) -> Option<String> {
        let service = self.service().ok()?;
        let held = self.all_held(caller).ok()?;
        let is_of = |id: &String| {
            let task = service.task(caller, id).ok();
            task.is_some_and(|task| task.branch.as_deref() == Some(branch))
        };
        held.into_iter().find(is_of)
    }

    /// Refuses a push of work under another name than the task's, where the project names the branches. What the caller
    /// has beside its tasks is its own affair.
    fn under_its_name(&self, caller: &Caller, pushes: &[Push]) -> Result<(), Refusal> {
        let Some(tree) = &self.observer.tree else { return Ok(()) };
        let standing = Standing::of(&Git::at(tree), self.observer.base.as_deref())?;
        let service = self.service()?;
        let mut tasks: Vec<Task> = Vec::new();
        for id in self.all_held(caller)? {
            tasks.push(service.task(caller, &id)?);
        }
        tasks.retain(|task| task.deliverable == Deliverable::Code);
        let is_wanted =
            |branch: &str| tasks.iter().any(|task| task.branch.as_deref() == Some(branch));
        let work_of = |task: &&Task, push: &Push| {
            task.claim.as_ref().is_some_and(|claim| has_work(tree, &standing, &push.commit, claim))
        };
        for push in pushes {
            let Some(branch) = push.branch().filter(|branch| !is_wanted(branch)) else { continue };
            let Some(task) = tasks.iter().find(|task| work_of(task, push)) else { continue };
            let wanted = task.branch.as_deref().unwrap_or_default();
            let message = format!(
                "the work on {} belongs on {wanted} and may not be pushed as {branch}",
                task.id
            );
            let how = format!("push it under that name: git push origin HEAD:refs/heads/{wanted}");
            return Err(Refusal::new(Code::LimitExceeded, message)
                .hint(how)
                .detail("task", task.id.as_str())
                .detail("branch", wanted.to_owned()));
        }
        Ok(())
    }
}
