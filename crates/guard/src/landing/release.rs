//! Releases: a tag, and the tasks that are in it and in no release before.

use super::branch::Branch;
use crate::gates::Runner;
use crate::git::Git;
use comity_api::{EventAnswer, EventFilter, ReleaseAnswer, ReleaseTag, TaskFilter, op};
use comity_core::command::{Command, NewRelease};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_engine::{Answered, Caller, Service};
use comity_project::store::Access;
use std::collections::BTreeSet;

/// The event of a release.
const RELEASED: &str = "released";

impl Runner {
    pub(crate) fn release(
        &self,
        caller: &Caller,
        input: &ReleaseTag,
    ) -> Result<Answered<ReleaseAnswer>, Refusal> {
        let git = Git::at(self.tree()?);
        let service = self.context.service(Access::Write)?;
        let reference = format!("refs/tags/{}", input.tag);
        if !git.does(&["check-ref-format", &reference]) {
            let shown = comity_core::ids::shorten(&input.tag);
            return Err(Refusal::input(format!("{shown:?} is no name of a tag")));
        }
        let known = git.commit(&reference);
        let sha = match (&input.commit, &known) {
            (Some(named), _) => git.named_commit(named)?,
            (None, Some(tagged)) => tagged.clone(),
            (None, None) => Branch::find(&git, None, self.context.config.base_branch())?.tip,
        };
        if let Some(tagged) = known.as_ref().filter(|tagged| **tagged != sha) {
            let message = format!("the tag {} is at {tagged} already", input.tag);
            return Err(Refusal::input(message).hint("choose another tag, or name that commit"));
        }
        let contained: BTreeSet<String> = git.lines(&["rev-list", &sha]).into_iter().collect();
        if contained.is_empty() {
            return Err(Refusal::new(Code::Unobserved, format!("git knows no commit {sha} here")));
        }
        let before = released(&service, caller)?;
        let mut tasks = done(&service, caller)?;
        tasks.retain(|(id, merged)| contained.contains(merged) && !before.contains(id));
        let tasks: Vec<String> = tasks.into_iter().map(|(id, _)| id).collect();
        let (tag, reason) = (input.tag.clone(), input.reason.clone());
        let new = NewRelease { tag, sha: sha.clone(), tasks: tasks.clone(), reason };
        let command = Command::Release(new);
        // Who may not release makes no tag either.
        service.would_run(caller, command.clone())?;
        let none = "0".repeat(sha.len());
        let made = known.is_none();
        if made && !git.does(&["update-ref", &reference, &sha, &none]) {
            let message = format!("git could not make the tag {}", input.tag);
            return Err(Refusal::new(Code::Internal, message));
        }
        service.run_command::<EventAnswer>(caller, command)?;
        let output = ReleaseAnswer { tag: input.tag.clone(), sha, tasks, made };
        Ok(Answered::from(output))
    }
}

/// Lists the tasks of all releases so far.
fn released(service: &Service, caller: &Caller) -> Result<BTreeSet<String>, Refusal> {
    let mut found = BTreeSet::new();
    let mut after = None;
    loop {
        let event = Some(RELEASED.to_owned());
        let filter = EventFilter { event, limit: Some(PAGE_MAX), after, ..EventFilter::default() };
        let page = service.call::<op::EventList>(caller, filter)?;
        for event in &page.events {
            let tasks = event.fields.get("tasks").and_then(|tasks| tasks.as_array());
            let ids = tasks.into_iter().flatten().filter_map(|id| id.as_str());
            found.extend(ids.map(str::to_owned));
        }
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// Lists the tasks that are done, with the commit that has each merged.
fn done(service: &Service, caller: &Caller) -> Result<Vec<(String, String)>, Refusal> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let statuses = vec![Status::Done];
        let filter = TaskFilter { statuses, limit: Some(PAGE_MAX), after, ..TaskFilter::default() };
        let page = service.call::<op::TaskList>(caller, filter)?;
        let merged = page.tasks.into_iter().filter_map(|task| Some((task.id, task.merged_sha?)));
        found.extend(merged);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}
