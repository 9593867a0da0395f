//! What git's pre-commit hook asks: whether the next commit leaves alone what others have leased, and is within what the task
//! and the project allow.

use crate::check::Guard;
use crate::git::{Git, write_staged};
use crate::observer::HandedIn;
use crate::secrets;
use comity_api::{ById, CheckPaths, LeaseFilter, StagedAnswer, op};
use comity_core::decide::examine;
use comity_core::hint::{op as operation, say};
use comity_core::lease::LeaseMode;
use comity_core::limits::{PAGE_MAX, PATTERNS_MAX};
use comity_core::pattern::Pattern;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_core::view::LeaseView;
use comity_engine::{Answered, Caller, Service};
use serde_json::{Value, json};
use std::path::Path;

/// Problems that a message names; all of them are in the details.
const SAID_MAX: usize = 5;
/// Work of this type may be large.
pub(crate) const MECHANICAL: &str = "mechanical";

impl Guard {
    /// Refuses a commit of an agent that touches what another owner has leased, breaks a constraint of its task, or has a secret
    /// in it; a person is told. A renamed file counts under both names.
    pub(crate) fn staged(&self, caller: &Caller) -> Result<Answered<StagedAnswer>, Refusal> {
        let Some(tree) = &self.observer.tree else {
            return Err(Refusal::input("there is no git repository to check")
                .hint("run the command inside the work tree"));
        };
        self.checking(tree)?.staged_in(caller, tree)
    }

    fn staged_in(&self, caller: &Caller, tree: &Path) -> Result<Answered<StagedAnswer>, Refusal> {
        let git = self.staged_git(tree);
        let files = staged_names(&git).ok_or_else(unseen)?;
        let service = self.service()?;
        let is_person = caller.actor.is_person() || caller.actor.is_script();
        if !is_person {
            self.fence_is_live(caller, &service)?;
        }
        let mut found = leased(caller, &service, &files)?;
        let task = self.worked_on(caller, &service, &git)?;
        let (mut sizes, refuses_size) = (Vec::new(), self.context.config.commits().refuses_size);
        if let Some(task) = &task {
            found.extend(self.broken(task, &service, &git)?);
        }
        if task.as_ref().and_then(|task| task.kind.as_deref()) != Some(MECHANICAL) {
            sizes = self.too_large(task.as_ref(), &git, &files)?;
        }
        found.extend(secrets::added(&git, &["--cached"]).ok_or_else(unseen)?.iter().map(secret));
        let mut remarks = Vec::new();
        if refuses_size {
            found.append(&mut sizes);
        }
        remarks.extend(sizes.iter().map(|one| format!("warning: {}", message_of(one))));
        if found.is_empty() {
            let violations = sizes;
            return Ok(Answered { output: StagedAnswer { ok: true, files, violations }, remarks });
        }
        if is_person {
            remarks.extend(found.iter().map(|one| format!("warning: {}", message_of(one))));
            let output = StagedAnswer { ok: false, files, violations: found };
            return Ok(Answered { output, remarks });
        }
        Err(refused(&found))
    }

    /// Git with the index of the commit that is being made: a commit of some files has one of its own.
    fn staged_git(&self, tree: &Path) -> Git {
        match &self.index {
            Some(index) => Git::at(tree).with("GIT_INDEX_FILE", self.context.cwd.join(index)),
            None => Git::at(tree),
        }
    }

    /// A fence that is given must be that of something the caller holds.
    fn fence_is_live(&self, caller: &Caller, service: &Service) -> Result<(), Refusal> {
        let Some(fence) = caller.fence else { return Ok(()) };
        let id = caller.actor.to_string();
        let held =
            service.call::<op::AgentShow>(caller, ById { id }).map(|shown| shown.agent.holds);
        let Ok(held) = held else { return Err(stale(fence.get())) };
        for id in held.tasks {
            let task = service.call::<op::TaskShow>(caller, ById { id })?.task;
            if task.fence == Some(fence.get()) {
                return Ok(());
            }
        }
        let filter =
            LeaseFilter { owner: Some(caller.actor.clone()), limit: Some(PAGE_MAX), after: None };
        let leases = service.call::<op::LeaseList>(caller, filter)?.leases;
        let is_live = leases.iter().any(|lease| lease.fence == fence.get());
        if is_live { Ok(()) } else { Err(stale(fence.get())) }
    }

    /// Returns the task that a commit here is for: the one that the caller holds; of several, the one of this branch.
    pub(crate) fn worked_on(
        &self,
        caller: &Caller,
        service: &Service,
        git: &Git,
    ) -> Result<Option<Task>, Refusal> {
        let mut tasks = Vec::new();
        for id in self.all_held(caller)? {
            tasks.push(service.task(caller, &id)?);
        }
        tasks.retain(|task| task.deliverable == Deliverable::Code && task.claim.is_some());
        if tasks.len() > 1 {
            let here = git.branch();
            tasks.retain(|task| task.branch == here);
        }
        Ok(tasks.pop())
    }

    /// Lists the constraints of a task that the next commit would break.
    fn broken(&self, task: &Task, service: &Service, git: &Git) -> Result<Vec<Value>, Refusal> {
        let commit = write_staged(git).ok_or_else(unseen)?;
        let work = HandedIn { commit, branch: git.branch(), is_snapshot: true, base: None };
        let work = self.observer.seen(task, &work)?;
        let mut found: Vec<Value> = Vec::new();
        if task.constraints.no_git_commit {
            let message = format!("{} forbids commits", task.id);
            found.push(json!({"constraint": "no_git_commit", "path": null, "message": message}));
        }
        let broken = examine(task, &work, None, &service.settings().policy);
        let others = broken.iter().filter(|one| one.constraint != "no_git_commit");
        found.extend(others.map(|one| json!(one)));
        Ok(found)
    }

    /// Lists the bounds of the project that the next commit, or the whole work with it, would pass.
    fn too_large(
        &self,
        task: Option<&Task>,
        git: &Git,
        files: &[String],
    ) -> Result<Vec<Value>, Refusal> {
        let bounds = self.context.config.commits();
        let mut found = Vec::new();
        let mut check = |constraint: &str, what: &str, most: Option<u64>, number: u64| {
            if let Some(most) = most.filter(|most| number > *most) {
                let message = format!("{what} {number}, but the limit is {most}");
                found.push(json!({"constraint": constraint, "path": null, "message": message}));
            }
        };
        let count = u64::try_from(files.len()).unwrap_or(u64::MAX);
        check("max_commit_files", "the files of the commit are", bounds.max_commit_files, count);
        if bounds.max_commit_lines.is_some() {
            let lines = changed_lines(git, &["diff", "--cached"]).ok_or_else(unseen)?;
            check(
                "max_commit_lines",
                "the changed lines of the commit are",
                bounds.max_commit_lines,
                lines,
            );
        }
        let base = task.and_then(|task| task.claim.as_ref()?.base.clone());
        if let (Some(_), Some(base)) = (bounds.max_pr_lines, base) {
            let lines = changed_lines(git, &["diff", "--cached", &base]).ok_or_else(unseen)?;
            check(
                "max_pr_lines",
                "the changed lines of the whole work are",
                bounds.max_pr_lines,
                lines,
            );
        }
        Ok(found)
    }
}

fn unseen() -> Refusal {
    Refusal::new(Code::Unobserved, "git could not tell what is staged")
}

fn stale(fence: u64) -> Refusal {
    Refusal::new(Code::StaleFence, format!("fence {fence} proves no live claim or lease any more"))
        .hint("claim the task again, and use its new fence")
        .detail("fence", fence)
}

fn staged_names(git: &Git) -> Option<Vec<String>> {
    let args = ["diff", "--cached", "--name-only", "-z", "--no-renames"];
    let output = git.output(&args).filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Counts added and removed lines; a binary file has none.
pub(crate) fn changed_lines(git: &Git, compared: &[&str]) -> Option<u64> {
    let (verb, rest) = compared.split_first()?;
    let args: Vec<&str> =
        [*verb, "--numstat", "--no-renames"].into_iter().chain(rest.iter().copied()).collect();
    let output = git.output(&args).filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().flat_map(|line| line.split('\t').take(2));
    Some(numbers.filter_map(|number| number.parse::<u64>().ok()).sum())
}

/// Lists the files that others have leased for themselves alone, with the leases.
pub(crate) fn held_by_others(
    caller: &Caller,
    service: &Service,
    files: &[String],
) -> Result<Vec<(String, LeaseView)>, Refusal> {
    // A name that no pattern can spell is covered by leases on directories only; the land rule judges it.
    let names: Vec<&String> =
        files.iter().filter(|file| Pattern::parse(&comity_project::escape(file)).is_ok()).collect();
    let mut found = Vec::new();
    for some in names.chunks(PATTERNS_MAX) {
        let paths = some.iter().map(|file| comity_project::escape(file)).collect();
        let seen = service.call::<op::LeaseCheck>(caller, CheckPaths { paths })?.paths;
        for (file, seen) in some.iter().zip(seen) {
            let mut held = seen.conflicts.into_iter().map(|conflict| conflict.held);
            found.extend(held.find(is_exclusive).map(|held| ((*file).clone(), held)));
        }
    }
    Ok(found)
}

/// A shared lease keeps nobody from landing.
pub(crate) fn is_exclusive(held: &LeaseView) -> bool {
    held.mode == LeaseMode::Exclusive.as_str()
}

/// Lists the files that others have leased now, as problems of a commit.
fn leased(caller: &Caller, service: &Service, files: &[String]) -> Result<Vec<Value>, Refusal> {
    let found = held_by_others(caller, service, files)?;
    let problem = |(file, held): (String, LeaseView)| {
        let (owner, until) = (&held.owner, &held.expires_at);
        let message = format!("{file} is leased to {owner} until {until}");
        json!({"constraint": "lease", "path": file, "holder": owner, "lock_id": held.lock_id,
            "from": held.acquired_at, "until": until, "message": message})
    };
    Ok(found.into_iter().map(problem).collect())
}

fn secret(one: &secrets::Secret) -> Value {
    let secrets::Secret { path, line, rule } = one;
    let message = format!("{path}:{line} looks like a secret ({rule})");
    json!({"constraint": "secrets", "path": path, "line": line, "rule": rule, "message": message})
}

fn message_of(one: &Value) -> &str {
    one.get("message").and_then(Value::as_str).unwrap_or_default()
}

fn refused(found: &[Value]) -> Refusal {
    let said: Vec<&str> = found.iter().take(SAID_MAX).map(message_of).collect();
    let more = match found.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!("this commit is not allowed: {}{more}", said.join("; "));
    if found.iter().any(|one| one.get("constraint") == Some(&json!("lease"))) {
        let how = operation("lease.list");
        return Refusal::new(Code::LeaseHeld, message)
            .hint(say("take those files out of the commit, or wait for their leases: ").quote(how))
            .detail("violations", found);
    }
    Refusal::new(Code::LimitExceeded, message)
        .hint("take it out of the commit, or ask a planner or a person to allow more")
        .detail("violations", found)
}
