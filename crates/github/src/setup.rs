//! The labels of the protocol in a repository, with what they mean; a hook, where one is asked for.

use crate::bus::{Github, label_body};
use crate::claims;
use crate::client::{Method, Trouble, part};
use crate::model::{self, Hook, Label};
use comity_api::{GithubSetupAnswer, SetupGithub};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_project::github::Claims;
use comity_protocol::labels::{Carrier, Dialect};
use serde_json::json;

const HOOK_EVENTS: [&str; 6] =
    ["issues", "issue_comment", "pull_request", "pull_request_review", "check_run", "status"];

/// Returns what the words of a protocol mean, in the protocol's own sentences where it has them.
pub(crate) fn wanted(dialect: &Dialect, hold: &str) -> Vec<(String, &'static str, &'static str)> {
    let meaning = |status: Status| match (dialect.name(), status) {
        ("ace", Status::Queued) => "Issue is ready for an agent to pick up",
        ("ace", Status::InProgress) => "Agent has claimed the issue and is working on it",
        ("ace", Status::Review) => "Agent has completed the work and opened a PR",
        ("ace", Status::Blocked) => "Agent is blocked and waiting for human input",
        ("ace", _) => "Agent encountered an error and could not complete the work",
        (_, Status::Queued) => "The task is defined and queued. Waiting for a worker.",
        (_, Status::InProgress) => "A worker has claimed the task.",
        (_, Status::Review) => "Work is done (PR linked). Waiting for verification.",
        (_, Status::Blocked) => "Agent is stuck/derailed. Needs human intervention.",
        (_, Status::Done) => "Task is verified and closed.",
        (_, _) => "The attempt failed.",
    };
    let color = |status: Status| match status {
        Status::Queued => "0e8a16",
        Status::InProgress => "1d76db",
        Status::Review => "fbca04",
        Status::Blocked => "d93f0b",
        Status::Done => "5319e7",
        _ => "b60205",
    };
    let mut labels: Vec<(String, &'static str, &'static str)> = Vec::new();
    for status in [
        Status::Queued,
        Status::InProgress,
        Status::Review,
        Status::Blocked,
        Status::Failed,
        Status::Done,
    ] {
        if let Some(word) = dialect.mark(status).word
            && !labels.iter().any(|(known, ..)| known.eq_ignore_ascii_case(word))
        {
            labels.push((word.to_owned(), color(status), meaning(status)));
        }
    }
    if dialect.name() == "neo" {
        for (name, meaning) in [
            ("agent-role:pm", "Strategic/Tactical task (Breakdown, Planning)."),
            ("agent-role:dev", "Execution task (Coding, Testing)."),
            ("agent-role:qa", "Verification task."),
            ("ai-generated", "Created by an AI agent (for filtering)."),
        ] {
            labels.push((name.to_owned(), "c5def5", meaning));
        }
    }
    labels.push((
        hold.to_owned(),
        "cccccc",
        "comity writes nothing here, and nobody claims the task.",
    ));
    labels
}

pub(crate) fn setup(github: &Github, input: &SetupGithub) -> Result<GithubSetupAnswer, Refusal> {
    let mut bus = github.bus(input.dry_run)?;
    let home = bus.home.clone();
    let mut answer = GithubSetupAnswer {
        repo: home.clone(),
        account: Some(bus.account.clone()),
        dry_run: input.dry_run,
        ..GithubSetupAnswer::default()
    };
    let mut repositories = vec![home.clone()];
    repositories.extend(bus.settings.repositories.iter().cloned());
    for repository in repositories {
        let dialect = bus.dialect(&repository);
        let listed = bus.client.list(&format!("/repos/{repository}/labels?per_page=100"), None)?;
        let there: Vec<Label> = model::list(&listed.body);
        let hold = bus.settings.hold.clone();
        let mut labels = wanted(&dialect, &hold);
        if dialect.carrier() == Carrier::Field {
            labels.retain(|(name, ..)| *name == hold);
        }
        for (name, color, meaning) in labels {
            let shown =
                if repository == home { name.clone() } else { format!("{repository}: {name}") };
            let known = there.iter().find(|label| label.name.eq_ignore_ascii_case(&name));
            if known.is_some_and(|label| label.description == meaning) {
                answer.present.push(shown);
                continue;
            }
            if !input.dry_run {
                let body = label_body(&name, color, meaning);
                let sent = match known {
                    None => bus.client.send(
                        Method::Post,
                        &format!("/repos/{repository}/labels"),
                        Some(&body),
                        true,
                    ),
                    Some(label) => {
                        let path = format!("/repos/{repository}/labels/{}", part(&label.name));
                        let body = json!({"description": meaning});
                        bus.client.send(Method::Patch, &path, Some(&body), false)
                    }
                };
                match sent {
                    // Somebody was faster.
                    Ok(_) | Err(Trouble::Status { status: 422, .. }) => {}
                    Err(trouble) => return Err(trouble.into()),
                }
            }
            answer.labels.push(shown);
        }
    }
    if let Some(url) = &input.hook {
        hook(github, &mut bus, url, input.dry_run)?;
        answer.hook = Some(url.clone());
    }
    if !input.dry_run {
        if bus.settings.claims == Claims::Refs {
            claims::make_place(&mut bus, &home)?;
        }
        bus.save_ledger()?;
    }
    Ok(answer)
}

/// Makes a hook that sends events to an address, unless there is one.
fn hook(
    github: &Github,
    bus: &mut crate::bus::Bus,
    url: &str,
    dry_run: bool,
) -> Result<(), Refusal> {
    let name = bus.settings.webhook_secret_env.first().cloned();
    let secret = name.as_deref().and_then(|name| github.context.environment().own(name));
    let secret = secret.ok_or_else(|| {
        Refusal::input("a hook needs a secret").hint(
            "name a variable in the settings, key github.webhook_secret_env, and set it to a long random text",
        )
    })?;
    let path = format!("/repos/{}/hooks", bus.home);
    let there: Vec<Hook> =
        model::list(&bus.client.list(&format!("{path}?per_page=100"), None)?.body);
    if dry_run || there.iter().any(|hook| hook.config.url == url) {
        return Ok(());
    }
    let body = json!({"name": "web", "active": true, "events": HOOK_EVENTS,
        "config": {"url": url, "content_type": "json", "secret": secret, "insecure_ssl": "0"}});
    bus.client.send(Method::Post, &path, Some(&body), true)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_meanings_of_the_protocol_and_fit() {
        for dialect in [Dialect::neo(), Dialect::ace()] {
            let labels = wanted(&dialect, "comity:hold");
            for (name, color, meaning) in &labels {
                assert!(name.chars().count() <= 50 && meaning.chars().count() <= 100, "{name}");
                assert!(color.len() == 6 && !meaning.is_empty());
            }
            let words = dialect.words();
            assert!(words.iter().all(|word| labels.iter().any(|(name, ..)| name == word)));
        }
    }
}
