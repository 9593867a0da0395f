//! `[github]`: which repository on GitHub the project is kept in step with, and how.

use crate::config::{Config, duration};
use crate::problem::Problem;
use crate::root::Root;
use crate::trust::Power;
use comity_core::ids::AgentId;
use comity_core::time::Millis;
use comity_protocol::labels::Dialect;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Where GitHub itself answers.
pub const API_URL: &str = "https://api.github.com";
/// The variables that a token comes from where nothing is set.
pub const TOKEN_VARIABLES: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];
const HOLD: &str = "comity:hold";
const POLL: Millis = Millis::from_secs(60);
const POLL_MIN: Millis = Millis::from_secs(1);
/// Between two writes, as GitHub asks for.
const PACE: Millis = Millis::from_secs(1);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GithubTable {
    repository: Option<String>,
    repositories: Vec<String>,
    api_url: Option<String>,
    token_env: Option<String>,
    token_command: Vec<String>,
    app: Option<AppTable>,
    account: Account,
    reviewer: Option<String>,
    assignee: Option<String>,
    project: Option<ProjectBoard>,
    claims: Claims,
    hold: Option<String>,
    publish: Publish,
    poll: Option<String>,
    pace: Option<String>,
    webhook_secret_env: Vec<String>,
    people: BTreeMap<String, String>,
    agents: BTreeMap<String, String>,
    checks: BTreeMap<String, String>,
    dialects: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppTable {
    pub id: u64,
    pub installation: u64,
    pub key_file: String,
}

/// Whose account the token belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Account {
    /// Nobody but comity writes with it.
    #[default]
    Bot,
    /// A person writes with it, too.
    Person,
}

/// What keeps two engines from working on one issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claims {
    /// They share a store.
    #[default]
    Store,
    /// A ref on GitHub.
    Refs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Publish {
    #[default]
    Linked,
}

/// A board whose field shows the states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectBoard {
    pub owner: String,
    pub number: u64,
    #[serde(default = "status_field")]
    pub field: String,
}

fn status_field() -> String {
    "Status".to_owned()
}

/// How a project is kept in step with GitHub.
#[derive(Clone, Debug)]
pub struct GithubSettings {
    /// `OWNER/NAME`; none is that of the remote.
    pub repository: Option<String>,
    pub repositories: Vec<String>,
    /// Without a slash at its end.
    pub api_url: String,
    pub token_env: Option<String>,
    pub token_command: Vec<String>,
    pub app: Option<AppTable>,
    pub account: Account,
    pub reviewer: Option<String>,
    pub assignee: Option<String>,
    pub board: Option<ProjectBoard>,
    pub claims: Claims,
    pub hold: String,
    pub poll: Millis,
    pub pace: Millis,
    pub webhook_secret_env: Vec<String>,
    /// Logins of people, and who they are here.
    pub people: BTreeMap<String, AgentId>,
    /// Logins of agents, and who they are here.
    pub agents: BTreeMap<String, AgentId>,
    /// Names of checks, and the gates that they are evidence for.
    pub checks: BTreeMap<String, String>,
    dialects: BTreeMap<String, Dialect>,
    dialect: Dialect,
}

impl GithubSettings {
    /// Returns the words of a repository.
    pub fn dialect(&self, repository: &str) -> &Dialect {
        let own = self.dialects.iter().find(|(name, _)| name.eq_ignore_ascii_case(repository));
        own.map_or(&self.dialect, |(_, dialect)| dialect)
    }

    /// Tells whether GitHub is on this machine, as it is in tests.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.api_url)
    }
}

/// Tells whether a URL leads to this machine.
pub fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = host
        .strip_prefix("[::1]")
        .map_or_else(|| host.split(':').next().unwrap_or_default(), |_| "[::1]");
    ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

/// Reads `OWNER/NAME`.
pub fn is_repository(text: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && part.len() <= 100
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && ![".", ".."].contains(&part)
    };
    text.split_once('/').is_some_and(|(owner, name)| plain(owner) && plain(name))
}

impl Config {
    /// Tells whether the project says which protocol it speaks.
    pub(crate) fn speaks_a_dialect(&self) -> bool {
        self.labels.dialect.is_some()
    }

    /// Returns the words that states and roles have as labels.
    pub fn labels(&self) -> Result<Dialect, Problem> {
        let labels = &self.labels;
        Dialect::configured(labels.dialect.as_deref(), &labels.states, &labels.roles)
            .map_err(|bad| Problem::new(&format!("labels.{}", bad.key), bad.message))
    }

    /// Returns how the protocol that the project speaks names the branches of issues, unless the project names them.
    pub(crate) fn linked_branches(&self) -> Result<Option<String>, Problem> {
        if self.names_branches() || !self.speaks_a_dialect() {
            return Ok(None);
        }
        Ok(match self.labels()?.name() {
            "neo" => Some("feat/issue-{issue}".to_owned()),
            "ace" | "ace-project" => Some("agent/{issue}-{slug}".to_owned()),
            _ => None,
        })
    }

    /// Returns how the project is kept in step with GitHub.
    pub fn github(&self) -> Result<GithubSettings, Problem> {
        let table = &self.github;
        let Publish::Linked = table.publish;
        for name in table.repository.iter().chain(&table.repositories) {
            if !is_repository(name) {
                let message = format!("{name:?} is not OWNER/NAME");
                return Err(Problem::new("github.repository", message));
            }
        }
        let api_url = table.api_url.as_deref().unwrap_or(API_URL).trim_end_matches('/').to_owned();
        let secure = api_url.starts_with("https://")
            || (api_url.starts_with("http://") && is_loopback(&api_url));
        if !secure || api_url.contains(['@', '?', '#']) {
            let message = "must begin with https:// and hold no credentials";
            return Err(Problem::new("github.api_url", message));
        }
        let poll = duration("github.poll", &table.poll)?.unwrap_or(POLL);
        if poll < POLL_MIN {
            return Err(Problem::new("github.poll", format!("must be at least {POLL_MIN}")));
        }
        let pace = duration("github.pace", &table.pace)?;
        if pace.is_some() && !is_loopback(&api_url) {
            let message = "can only be set for a server on this machine";
            return Err(Problem::new("github.pace", message));
        }
        let mut dialects = BTreeMap::new();
        for (name, word) in &table.dialects {
            let known = Dialect::named(word).ok_or_else(|| {
                Problem::new("github.dialects", format!("comity knows no dialect {word:?}"))
            })?;
            dialects.insert(name.clone(), known);
        }
        Ok(GithubSettings {
            repository: table.repository.clone(),
            repositories: table.repositories.clone(),
            api_url,
            token_env: table.token_env.clone(),
            token_command: table.token_command.clone(),
            app: table.app.clone(),
            account: table.account,
            reviewer: table.reviewer.clone(),
            assignee: table.assignee.clone(),
            board: table.project.clone(),
            claims: table.claims,
            hold: table.hold.clone().unwrap_or_else(|| HOLD.to_owned()),
            poll,
            pace: pace.unwrap_or(PACE),
            webhook_secret_env: table.webhook_secret_env.clone(),
            people: identities("github.people", &table.people)?,
            agents: identities("github.agents", &table.agents)?,
            checks: table.checks.clone(),
            dialects,
            dialect: self.labels()?,
        })
    }

    /// Returns the values of `[github]` that say where a token comes from and where it goes.
    pub(crate) fn github_powers(&self, root: &Root) -> Vec<Power> {
        let table = &self.github;
        let api = table.api_url.as_deref().map(|url| url.trim_end_matches('/'));
        let variable = table.token_env.as_deref();
        let command = (!table.token_command.is_empty()).then(|| table.token_command.join(" "));
        let powers = [
            ("github.api_url", api.filter(|url| *url != API_URL).map(str::to_owned)),
            (
                "github.token_env",
                variable.filter(|name| !TOKEN_VARIABLES.contains(name)).map(str::to_owned),
            ),
            ("github.token_command", command),
            ("github.app.key_file", table.app.as_ref().map(|app| app.key_file.clone())),
        ];
        let power = |(kind, value): (&str, Option<String>)| {
            Some(Power { root: root.dir.clone(), kind: kind.to_owned(), value: value? })
        };
        powers.into_iter().filter_map(power).collect()
    }
}

fn identities(
    key: &str,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, AgentId>, Problem> {
    let read = |(login, id): (&String, &String)| {
        let id = AgentId::parse(id).map_err(|refusal| Problem::new(key, refusal.message))?;
        id.not_reserved().map_err(|refusal| Problem::new(key, refusal.message))?;
        if key.ends_with("people") != id.is_person() {
            return Err(Problem::new(key, format!("{id} does not belong there")));
        }
        Ok((login.to_ascii_lowercase(), id))
    };
    given.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn settings(text: &str) -> Result<GithubSettings, String> {
        let config = Config::parse(text, Path::new("c.toml")).map_err(|refusal| refusal.message)?;
        config.github().map_err(|problem| problem.message)
    }

    #[test]
    fn without_settings_github_itself_is_asked() {
        let settings = settings("").unwrap();
        assert_eq!(settings.api_url, API_URL);
        assert_eq!((settings.poll, settings.pace), (POLL, PACE));
        assert!(!settings.is_loopback());
    }

    #[test]
    fn rule_1_7_a_token_goes_only_over_https_and_to_no_other_host_unseen() {
        for bad in ["http://github.example", "ftp://127.0.0.1", "https://u:p@h", "https://h?x"] {
            assert!(settings(&format!("[github]\napi_url = {bad:?}\n")).is_err(), "{bad}");
        }
        assert!(settings("[github]\napi_url = 'http://127.0.0.1:4020/'\npace = '0s'\n").is_ok());
        assert!(settings("[github]\npace = '0s'\n").is_err(), "the pace is a constant elsewhere");
    }

    #[test]
    fn hosts_of_this_machine_are_told_from_others() {
        for url in ["http://127.0.0.1:1", "http://localhost/x", "http://[::1]:80"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["https://api.github.com", "http://localhost.example", "http://127.0.0.1.x"] {
            assert!(!is_loopback(url), "{url}");
        }
        assert!(is_repository("acme/app.js") && !is_repository("acme") && !is_repository("a/../b"));
    }
}
