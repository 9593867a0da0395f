//! Whether everything that GitHub is needed for works: the token, its rights, labels, hooks, clocks.

use crate::bus::{Bus, Github};
use crate::client::now;
use crate::model::{self, Delivery, Hook, Label};
use crate::setup::wanted;
use comity_api::{GithubCheck, GithubChecks};
use comity_core::outside::Level;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_protocol::labels::Carrier;

/// Clocks that differ more than this confuse what came first.
const CLOCKS_MAX: Millis = Millis::from_secs(30);

fn check(name: &str, state: &str, message: String, hint: Option<&str>) -> GithubCheck {
    let hint = hint.map(str::to_owned);
    GithubCheck { name: name.to_owned(), state: state.to_owned(), message, hint }
}

pub(crate) fn doctor(github: &Github) -> Result<GithubChecks, Refusal> {
    let mut bus = match github.bus(true) {
        Ok(bus) => bus,
        Err(refusal) => {
            let hint = next_step(refusal.code);
            let checks = vec![check("token", "failed", refusal.message, hint)];
            return Ok(GithubChecks { checks });
        }
    };
    let mut checks =
        vec![check("token", "ok", format!("the token belongs to {}", bus.account), None)];
    checks.extend(repository(&mut bus));
    for repository in bus.repositories() {
        checks.extend(labels(&mut bus, &repository));
        checks.extend(hooks(&mut bus, &repository));
    }
    Ok(GithubChecks { checks })
}

fn next_step(code: Code) -> Option<&'static str> {
    if code == Code::GithubUnauthorized {
        Some("set GH_TOKEN to a token that GitHub knows, or log in with GitHub's own command line")
    } else if code == Code::GithubUnreachable {
        Some("check the network, and github.api_url in the settings")
    } else if code == Code::Untrusted {
        Some("look at the value in the settings, and trust it if you know it")
    } else {
        Some("name the repository in the settings, key github.repository, as OWNER/NAME")
    }
}

fn repository(bus: &mut Bus) -> Vec<GithubCheck> {
    let (home, account) = (bus.home.clone(), bus.account.clone());
    let answer = match bus.client.get(&format!("/repos/{home}"), None) {
        Ok(answer) => answer,
        Err(trouble) => {
            let text = trouble.refusal().message;
            return vec![check(
                "repository",
                "failed",
                text,
                Some("check github.repository and the token"),
            )];
        }
    };
    let mut checks = vec![check("repository", "ok", format!("{home} answers"), None)];
    checks.extend(scopes(answer.scopes.as_deref()));
    if let Some(date) = answer.date {
        let apart = Millis::from_ms((now().ms() - date.ms()).abs());
        let (state, hint) = match apart > CLOCKS_MAX {
            true => ("warning", Some("set the clock of this machine")),
            false => ("ok", None),
        };
        checks.push(check(
            "clock",
            state,
            format!("GitHub's clock and this one are {apart} apart"),
            hint,
        ));
    }
    if !bus.is_app() {
        let (state, text) = match bus.level(&home, &account) {
            Ok(level) if level >= Level::Write => ("ok", format!("{account} has {level} rights")),
            Ok(level) => ("failed", format!("{account} has {level} rights; comity needs write")),
            Err(trouble) => ("failed", trouble.refusal().message),
        };
        let hint = (state != "ok").then_some("give the account write rights in the repository");
        checks.push(check("rights", state, text, hint));
    }
    checks
}

/// A classic token names its scopes; others have permissions, which GitHub names when one is missing.
fn scopes(told: Option<&str>) -> Option<GithubCheck> {
    let told = told?.trim();
    if told.is_empty() {
        return None;
    }
    let fits = told.split(',').any(|scope| ["repo", "public_repo"].contains(&scope.trim()));
    Some(if fits {
        check("scopes", "ok", format!("the token has the scopes {told}"), None)
    } else {
        let text = format!("the token has only the scopes {told}");
        check("scopes", "failed", text, Some("make a token with the scope repo"))
    })
}

/// Says which repository is meant, where it is not the one of the project.
fn at(bus: &Bus, repository: &str) -> String {
    if repository == bus.home { String::new() } else { format!(" in {repository}") }
}

fn labels(bus: &mut Bus, repository: &str) -> Option<GithubCheck> {
    let (dialect, at) = (bus.dialect(repository), at(bus, repository));
    if dialect.carrier() == Carrier::Field {
        return None;
    }
    let hold = bus.settings.hold.clone();
    let answer = match bus.client.list(&format!("/repos/{repository}/labels?per_page=100"), None) {
        Ok(answer) => answer,
        Err(trouble) => return Some(check("labels", "failed", trouble.refusal().message, None)),
    };
    let there: Vec<Label> = model::list(&answer.body);
    let missing: Vec<String> = wanted(&dialect, &hold)
        .into_iter()
        .map(|(name, ..)| name)
        .filter(|name| !there.iter().any(|label| label.name.eq_ignore_ascii_case(name)))
        .collect();
    Some(if missing.is_empty() {
        let text = format!("all labels of {}{at} are there", dialect.name());
        check("labels", "ok", text, None)
    } else {
        let text = format!("missing{at}: {}", missing.join(", "));
        check("labels", "warning", text, Some("let the setup make them"))
    })
}

/// Hooks are only hints, so that a broken one is no failure.
fn hooks(bus: &mut Bus, repository: &str) -> Option<GithubCheck> {
    if bus.settings.webhook_secret_env.is_empty() {
        return None;
    }
    let answer = match bus.client.list(&format!("/repos/{repository}/hooks?per_page=100"), None) {
        Ok(answer) => answer,
        Err(trouble) => {
            let text =
                format!("cannot look at the hooks of {repository}: {}", trouble.refusal().message);
            let hint =
                "only who administers the repository sees them; look at the deliveries on GitHub";
            return Some(check("hooks", "warning", text, Some(hint)));
        }
    };
    let (there, at): (Vec<Hook>, String) = (model::list(&answer.body), at(bus, repository));
    let mut broken = Vec::new();
    for hook in &there {
        let url = &hook.config.url;
        if !hook.active {
            broken.push(format!("{url} is switched off"));
        }
        let path = format!("/repos/{repository}/hooks/{}/deliveries?per_page=50", hook.id);
        let told = bus.client.get(&path, None).map(|answer| answer.body).unwrap_or_default();
        let told: Vec<Delivery> = model::list(&told);
        let bad = told.iter().filter(|one| one.status_code >= 400 || one.status_code == 0).count();
        if bad > 0 {
            broken.push(format!("{url}: {bad} of the last {} deliveries failed", told.len()));
        }
    }
    Some(match (there.is_empty(), broken.is_empty()) {
        (true, _) => {
            let text = format!("there is no hook{at}");
            check("hooks", "warning", text, Some("let the setup make one"))
        }
        (_, true) => {
            let text = format!("all hooks{at} deliver ({})", there.len());
            check("hooks", "ok", text, None)
        }
        (_, false) => check(
            "hooks",
            "warning",
            broken.join("; "),
            Some("see the deliveries of the hook on GitHub"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_token_needs_the_scope_for_repositories() {
        let state = |told: Option<&str>| scopes(told).map(|check| check.state);
        assert_eq!(state(Some("gist, repo")).as_deref(), Some("ok"));
        assert_eq!(state(Some("gist")).as_deref(), Some("failed"));
        assert_eq!((state(Some("")), state(None)), (None, None), "others name no scopes");
    }
}
