//! Claims of engines that share no store: one ref on GitHub for each issue. Whoever makes it has the issue; whoever
//! moves it on by a child of its commit keeps it.

use crate::bus::{Bus, Github, ISSUE, IssueKey, PROVIDER};
use crate::client::{Method, Trouble, now};
use crate::model;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_engine::Caller;
use comity_project::github::Claims;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long a claim counts without being renewed.
const TTL: Millis = Millis::from_secs(4 * 3600);
/// A claim is taken over so long after its end, since clocks and answers lag.
const GRACE: Millis = Millis::from_secs(24 * 60);
const PLACE: &str = "heads/comity/claims/issue-";

/// What the commit of a claim says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Claimed {
    v: u32,
    pub(crate) engine: String,
    agent: String,
    generation: u64,
    ttl: i64,
    state: String,
}

/// What is there for an issue.
pub(crate) struct There {
    sha: String,
    tree: String,
    at: Timestamp,
    pub(crate) claimed: Claimed,
}

impl There {
    fn has_ended(&self, date: Timestamp) -> bool {
        date > self.at.plus(Millis::from_secs(self.claimed.ttl)).plus(GRACE)
    }
}

fn message(claimed: &Claimed) -> String {
    format!("{}\n\n[skip ci]", json!(claimed))
}

fn read(text: &str) -> Claimed {
    serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default()
}

fn elsewhere(key: &IssueKey, there: &Claimed) -> Refusal {
    let text = format!("{key} is held by {} of engine {}", there.agent, there.engine);
    Refusal::new(Code::ClaimedElsewhere, text).detail("engine", there.engine.as_str())
}

/// Takes the issue of a task for this engine, where claims are refs. Returns whether there is one to give back.
pub fn take(github: &Github, caller: &Caller, id: &str) -> Result<bool, Refusal> {
    let settings = github.context.config.github()?;
    if settings.claims != Claims::Refs {
        return Ok(false);
    }
    let task = github.service.task(caller, id)?;
    let mut bus = github.bus(false)?;
    let Some(key) = issue(&task, &bus.home) else { return Ok(false) };
    let own = Claimed {
        v: 1,
        engine: bus.engine.clone(),
        agent: caller.actor.to_string(),
        generation: 1,
        ttl: TTL.ms() / 1_000,
        state: "in_progress".to_owned(),
    };
    let (tip, tree) = tip(&mut bus, &key.repository)?;
    let commit = commit(&mut bus, &key.repository, &own, &tree, &tip)?;
    let body = json!({"ref": format!("refs/{PLACE}{}", key.number), "sha": commit});
    let refs = format!("/repos/{}/git/refs", key.repository);
    match bus.client.send(Method::Post, &refs, Some(&body), false) {
        Ok(_) => {}
        Err(Trouble::Status { status: 409 | 422, .. } | Trouble::Unknown(_)) => {
            taken(&mut bus, &key, &own, &commit)?;
        }
        Err(trouble) => return Err(trouble.into()),
    }
    let mut row = bus.rows.issue(&key.to_string());
    row.claim_ref = Some(now().ms());
    bus.rows.set_issue(&key.to_string(), &row);
    bus.save()?;
    Ok(true)
}

/// Looks at the claim that is there: it may be ours, or have ended.
fn taken(bus: &mut Bus, key: &IssueKey, own: &Claimed, commit_made: &str) -> Result<(), Refusal> {
    let (there, date) = there(bus, key)?;
    let Some(there) = there else {
        return Err(Refusal::new(Code::GithubUnreachable, "GitHub did not say who has the issue"));
    };
    if there.sha == commit_made {
        return Ok(());
    }
    if there.claimed.engine != own.engine && !there.has_ended(date) {
        return Err(elsewhere(key, &there.claimed));
    }
    let next = Claimed { generation: there.claimed.generation + 1, ..own.clone() };
    let child = commit(bus, &key.repository, &next, &there.tree, &there.sha)?;
    match bus.client.send(
        Method::Patch,
        &path(key),
        Some(&json!({"sha": child, "force": false})),
        false,
    ) {
        Ok(_) => Ok(()),
        Err(Trouble::Status { .. }) => Err(elsewhere(key, &there.claimed)),
        Err(trouble) => Err(trouble.into()),
    }
}

/// Gives the issue of a task back.
pub fn give_back(github: &Github, caller: &Caller, id: &str) -> Result<(), Refusal> {
    let task = github.service.task(caller, id)?;
    let mut bus = github.bus(false)?;
    if let Some(key) = issue(&task, &bus.home) {
        release(&mut bus, &key)?;
        bus.save()?;
    }
    Ok(())
}

/// Removes the ref of an issue that this engine has.
pub(crate) fn release(bus: &mut Bus, key: &IssueKey) -> Result<(), Trouble> {
    let (there, _) = there(bus, key)?;
    if there.is_some_and(|there| there.claimed.engine == bus.engine) {
        match bus.client.send(Method::Delete, &path(key), None, false) {
            Ok(_) | Err(Trouble::Status { status: 404 | 422, .. }) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let mut row = bus.rows.issue(&key.to_string());
    row.claim_ref = None;
    bus.rows.set_issue(&key.to_string(), &row);
    Ok(())
}

/// Moves a claim on that is half over.
pub(crate) fn renew(bus: &mut Bus, key: &IssueKey) -> Result<(), Trouble> {
    let mut row = bus.rows.issue(&key.to_string());
    if row.claim_ref.is_none_or(|at| now().ms() - at < TTL.ms() / 2) {
        return Ok(());
    }
    let (there, _) = there(bus, key)?;
    if let Some(there) = there.filter(|there| there.claimed.engine == bus.engine) {
        let next = Claimed { generation: there.claimed.generation + 1, ..there.claimed };
        let child = commit(bus, &key.repository, &next, &there.tree, &there.sha)?;
        bus.client.send(
            Method::Patch,
            &path(key),
            Some(&json!({"sha": child, "force": false})),
            false,
        )?;
        row.claim_ref = Some(now().ms());
        bus.rows.set_issue(&key.to_string(), &row);
    }
    Ok(())
}

/// Tells which engine has an issue, if it is another one.
pub(crate) fn other(bus: &mut Bus, key: &IssueKey) -> Result<Option<String>, Trouble> {
    let (there, date) = there(bus, key)?;
    let own = bus.engine.clone();
    let there = there.filter(|there| there.claimed.engine != own && !there.has_ended(date));
    Ok(there.map(|there| there.claimed.engine))
}

fn path(key: &IssueKey) -> String {
    format!("/repos/{}/git/refs/{PLACE}{}", key.repository, key.number)
}

fn issue(task: &Task, home: &str) -> Option<IssueKey> {
    IssueKey::parse(task.external_ids.get(PROVIDER)?.get(ISSUE)?.as_str()?, home)
}

fn there(bus: &mut Bus, key: &IssueKey) -> Result<(Option<There>, Timestamp), Trouble> {
    let repository = &key.repository;
    let at = format!("/repos/{repository}/git/ref/{PLACE}{}", key.number);
    let answer = match bus.client.get(&at, None) {
        Ok(answer) => answer,
        Err(trouble) if trouble.is_gone() => return Ok((None, now())),
        Err(trouble) => return Err(trouble),
    };
    let date = answer.date.unwrap_or_else(now);
    let sha = answer.body["object"]["sha"].as_str().unwrap_or_default().to_owned();
    let commit = bus.client.get(&format!("/repos/{repository}/git/commits/{sha}"), None)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let at = model::time(&text(&commit.body["committer"]["date"])).unwrap_or(date);
    let claimed = read(&text(&commit.body["message"]));
    let tree = text(&commit.body["tree"]["sha"]);
    Ok((Some(There { sha, tree, at, claimed }), date))
}

fn tip(bus: &mut Bus, repository: &str) -> Result<(String, String), Trouble> {
    let about = bus.client.get(&format!("/repos/{repository}"), None)?;
    let branch = about.body["default_branch"].as_str().unwrap_or("main").to_owned();
    let found = bus.client.get(&format!("/repos/{repository}/git/ref/heads/{branch}"), None)?;
    let sha = found.body["object"]["sha"].as_str().unwrap_or_default().to_owned();
    let commit = bus.client.get(&format!("/repos/{repository}/git/commits/{sha}"), None)?;
    let tree = commit.body["tree"]["sha"].as_str().unwrap_or_default().to_owned();
    Ok((sha, tree))
}

/// Makes the commit of a claim. GitHub's own clock dates it. Two engines never make the same one.
fn commit(
    bus: &mut Bus,
    repository: &str,
    claimed: &Claimed,
    tree: &str,
    parent: &str,
) -> Result<String, Trouble> {
    let body = json!({"message": message(claimed), "tree": tree, "parents": [parent]});
    let path = format!("/repos/{repository}/git/commits");
    let answer = bus.client.send(Method::Post, &path, Some(&body), false)?;
    Ok(answer.body["sha"].as_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_claim_says_is_read_back_and_starts_no_build() {
        let claimed =
            Claimed { v: 1, engine: "0a1b2c3d".to_owned(), ttl: 60, ..Claimed::default() };
        let text = message(&claimed);
        assert!(text.ends_with("[skip ci]"));
        assert_eq!(read(&text), claimed);
        assert_eq!(read("anything else"), Claimed::default());
    }

    #[test]
    fn a_claim_ends_by_githubs_clock_and_after_a_grace() {
        let claimed = Claimed { ttl: 60, ..Claimed::default() };
        let at = Timestamp::from_ms(0);
        let there = There { sha: String::new(), tree: String::new(), at, claimed };
        assert!(!there.has_ended(at.plus(Millis::from_secs(60 + 24 * 60))));
        assert!(there.has_ended(at.plus(Millis::from_secs(61 + 24 * 60))));
    }
}
