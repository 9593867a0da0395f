//! `comity github …`: issues on GitHub and tasks kept in step.

#![deny(clippy::wildcard_enum_match_arm)]

use super::call;
use crate::args::GithubCommand;
use crate::env;
use crate::human::github as words;
use crate::output::{self, Reply};
use comity_api::{
    ById, Claim, ImportIssues, Nothing, OfIssue, PublishTasks, SetupGithub, SyncGithub, TaskFilter,
    op,
};
use comity_core::refusal::{Code, Refusal};
use comity_github::{Github, claims};
use comity_project::Context;
use comity_project::github::Claims;
use comity_project::store::Access;
use std::net::SocketAddr;

pub(super) fn github(context: &Context, access: Access) -> Result<Github, Refusal> {
    Ok(Github { service: context.service(access)?, context: context.clone() })
}

pub(super) fn import(context: &Context, input: ImportIssues) -> Result<Reply, Refusal> {
    let github = github(context, Access::Write)?;
    call::<op::ImportGithub>(&github, &context.caller(), input, words::imported)
}

pub(super) fn run(context: &Context, command: GithubCommand, json: bool) -> Result<Reply, Refusal> {
    let caller = context.caller();
    let github = github(context, Access::Write)?;
    match command {
        GithubCommand::Setup { hook, dry_run } => {
            let input = SetupGithub { hook, dry_run };
            call::<op::GithubSetup>(&github, &caller, input, words::setup)
        }
        GithubCommand::Doctor => {
            call::<op::GithubDoctor>(&github, &caller, Nothing {}, words::checks)
        }
        GithubCommand::Status => {
            call::<op::GithubStatus>(&github, &caller, Nothing {}, words::status)
        }
        GithubCommand::Quota => call::<op::GithubQuota>(&github, &caller, Nothing {}, words::quota),
        GithubCommand::Sync { watch: true, full, tasks, max_writes, .. } => {
            let input = SyncGithub { full, dry_run: false, tasks, max_writes };
            watching(&github, &input, None, json)
        }
        GithubCommand::Sync { watch: false, full, dry_run, tasks, max_writes } => {
            let input = SyncGithub { full, dry_run, tasks, max_writes };
            call::<op::GithubSync>(&github, &caller, input, words::sync)
        }
        GithubCommand::Serve { listen } => {
            watching(&github, &SyncGithub::default(), Some(listen), json)
        }
        GithubCommand::Publish { ids, epic, to } => {
            let input = PublishTasks { ids, epic, to };
            call::<op::GithubPublish>(&github, &caller, input, words::published)
        }
        GithubCommand::Pr { id } => {
            call::<op::GithubPr>(&github, &caller, ById { id }, words::pull)
        }
        GithubCommand::Pause { issue, reason } => {
            call::<op::GithubPause>(&github, &caller, OfIssue { issue, reason }, words::issue)
        }
        GithubCommand::Resume { issue } => {
            let input = OfIssue { issue, reason: None };
            call::<op::GithubResume>(&github, &caller, input, words::issue)
        }
        GithubCommand::Forget => {
            call::<op::GithubForget>(&github, &caller, Nothing {}, words::forgotten)
        }
    }
}

/// Takes the ref of a task's issue, where engines share no store but GitHub; without a task, of the first ready one
/// that no other engine has. Returns the task whose ref was taken.
pub(super) fn take_ref(context: &Context, wish: &mut Claim) -> Result<Option<String>, Refusal> {
    if context.config.github()?.claims != Claims::Refs {
        return Ok(None);
    }
    let (github, caller) = (github(context, Access::Write)?, context.caller());
    if let Some(id) = &wish.id {
        return Ok(claims::take(&github, &caller, id)?.then(|| id.clone()));
    }
    let ready = TaskFilter { ready: true, ..TaskFilter::default() };
    let tasks = github.service.call::<op::TaskList>(&caller, ready)?.tasks;
    let mut refused = None;
    for task in tasks {
        match claims::take(&github, &caller, &task.id) {
            Ok(taken) => {
                wish.id = Some(task.id.clone());
                return Ok(taken.then_some(task.id));
            }
            Err(refusal) if refusal.code == Code::ClaimedElsewhere => refused = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    refused.map_or(Ok(None), Err)
}

pub(super) fn give_back_ref(context: &Context, id: &str) -> Result<(), Refusal> {
    claims::give_back(&github(context, Access::Write)?, &context.caller(), id)
}

/// Keeps GitHub and the store in step until a signal ends it.
fn watching(
    github: &Github,
    input: &SyncGithub,
    listen: Option<SocketAddr>,
    json: bool,
) -> Result<Reply, Refusal> {
    let stop = env::stop_flag()?;
    let ready = |address: Option<SocketAddr>| match address {
        Some(address) => {
            output::remark(&format!("listening on http://{address}/webhook; end with Ctrl-C"));
        }
        None => output::remark("watching; end with Ctrl-C"),
    };
    let tell = |told: Result<&comity_api::GithubSync, &Refusal>| match told {
        Ok(report) if json => {
            let _ =
                words::is_news(report).then(|| output::line(&serde_json::json!({"sync": report})));
        }
        Ok(report) => words::lines(report).iter().for_each(|line| output::remark(line)),
        Err(refusal) => output::remark(&format!("{}; trying again", refusal.message)),
    };
    comity_github::watch(github, input, listen, &stop, &ready, &tell)?;
    Ok(Reply::printed())
}
