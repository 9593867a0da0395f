//! `comity github …`: issues on GitHub and tasks kept in step.

#![deny(clippy::wildcard_enum_match_arm)]

use super::call;
use crate::args::{AccountOf, GithubCommand};
use crate::env;
use crate::human::github as words;
use crate::output::{self, Reply};
use comity_api::{
    ById, GithubCheck, ImportIssues, Nothing, OfIssue, PublishTasks, SetupGithub, SyncGithub, op,
};
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_engine::Handler;
use comity_github::Github;
use comity_project::Context;
use comity_project::settings_file;
use comity_project::store::Access;
use std::net::SocketAddr;

/// The exit status when GitHub cannot be asked.
const GITHUB_AWAY: u8 = 5;

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
        GithubCommand::Setup { hook, account, me, dry_run } => {
            let input = SetupGithub { hook, dry_run };
            let answer = Handler::<op::GithubSetup>::handle(&github, &caller, input)?;
            let login = answer.output.account.clone().unwrap_or_default();
            let notes = match dry_run {
                true => Vec::new(),
                false => whose(context, &login, account, me, json)?,
            };
            let remarks = answer.remarks.into_iter().chain(notes).collect();
            Ok(Reply::new(answer.output, words::setup).noted(remarks))
        }
        GithubCommand::Doctor => {
            let answer = Handler::<op::GithubDoctor>::handle(&github, &caller, Nothing {})?.output;
            let failed = |name: &str| {
                let is_so = |one: &&GithubCheck| one.state == "failed" && one.name == name;
                answer.checks.iter().find(is_so).is_some()
            };
            // What cannot be asked differs from what is wrong.
            let exit = match failed("token") {
                true => GITHUB_AWAY,
                false => u8::from(answer.checks.iter().any(|one| one.state == "failed")),
            };
            Ok(Reply::new(answer, words::checks).exit(exit))
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

/// Writes down whose account the token belongs to, and who the caller is on GitHub; asks a person who did not say.
fn whose(
    context: &Context,
    login: &str,
    account: Option<AccountOf>,
    me: Option<String>,
    json: bool,
) -> Result<Vec<String>, Refusal> {
    let root = &context.root.dir;
    let is_set = settings_file::get(root, "github.account")?.value.is_some();
    let asks = !json && !is_set && account.is_none() && env::converses();
    let account = match asks {
        true => env::asked(&format!(
            "The token belongs to {login}. Do you use that account yourself, too? [y/N]"
        ))
        .map(|answer| if is_yes(&answer) { AccountOf::Person } else { AccountOf::Bot }),
        false => account,
    };
    let me = match (account, me) {
        (Some(AccountOf::Person), None) => Some(login.to_owned()),
        (_, None) if asks => env::asked("Your own login on GitHub? (nothing: none)"),
        (_, me) => me,
    };
    let mut notes = Vec::new();
    if let Some(account) = account {
        let word = if account == AccountOf::Person { "person" } else { "bot" };
        settings_file::set(&context.actor, root, "github.account", word)?;
        notes.push(format!("github.account = {word}"));
    }
    let me = me.map(|login| login.trim().trim_start_matches('@').to_owned());
    if let Some(me) = me.filter(|me| !me.is_empty() && context.actor.is_person()) {
        let mut people = context.config.github()?.people;
        people.insert(me, context.actor.clone());
        let entry = |(login, id): (&String, &AgentId)| format!("{login:?} = {:?}", id.as_str());
        let table = people.iter().map(entry).collect::<Vec<_>>().join(", ");
        let text = format!("{{ {table} }}");
        settings_file::set(&context.actor, root, "github.people", &text)?;
        notes.push(format!("github.people = {text}"));
    }
    Ok(notes)
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes")
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
