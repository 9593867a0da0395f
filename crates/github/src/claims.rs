//! Claims of engines that share no store: one ref on GitHub for each issue. Whoever makes it has the issue; whoever
//! moves it on by a child of its commit keeps it.

use crate::bus::{Bus, Github, ISSUE, IssueKey, PROVIDER};
use crate::client::{Answer, Method, Trouble, now};
use crate::model;
use crate::rows::IssueRow;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_project::github::Claims;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How long a claim counts without being renewed.
const TTL: Millis = Millis::from_secs(4 * 3600);
/// Where claims are if the repository has this ref; its setup makes it where GitHub lets it.
const OWN_PLACE: &str = "comity/claims/";
const PLACES: [&str; 2] = [OWN_PLACE, "heads/comity/claims/"];
const FLAG: &str = "place";
const SKIP: &str = "[skip ci]";

/// What the commit of a claim says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Claimed {
    v: u32,
    pub(crate) engine: String,
    pub(crate) agent: String,
    #[serde(rename = "gen")]
    generation: u64,
    ttl: i64,
    state: String,
}

/// What is there for an issue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct There {
    sha: String,
    tree: String,
    at: i64,
    pub(crate) claimed: Claimed,
}

impl There {
    /// A claim that nobody renewed may be taken over a while after its end, since clocks and answers lag. Work that was
    /// handed in keeps its issue.
    fn has_ended(&self, date: Timestamp) -> bool {
        let ttl = Millis::from_secs(self.claimed.ttl);
        let grace = Millis::from_ms(ttl.ms() / 10);
        let at_work = [Status::Claimed, Status::InProgress].map(Status::as_str);
        let is_over = date > Timestamp::from_ms(self.at).plus(ttl).plus(grace);
        is_over && at_work.contains(&self.claimed.state.as_str())
    }
}

fn message(claimed: &Claimed) -> String {
    format!("{}\n\n{SKIP}", json!(claimed))
}

fn read(text: &str) -> Claimed {
    serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default()
}

fn elsewhere(key: &IssueKey, there: &Claimed) -> Refusal {
    let text = format!("{key} is held by {} of engine {}", there.agent, there.engine);
    Refusal::new(Code::ClaimedElsewhere, text).detail("engine", there.engine.as_str())
}

fn stale(key: &IssueKey, why: String) -> Refusal {
    Refusal::new(Code::StaleFence, why)
        .hint("another engine has the issue: release the task here, and leave the work to it")
        .detail("issue", key.to_string())
}

/// Returns the issue of a task, where claims are refs.
fn issue(github: &Github, task: &Task) -> Result<Option<(Bus, IssueKey)>, Refusal> {
    let settings = github.context.config.github()?;
    let link = task.external_ids.get(PROVIDER).and_then(|keys| keys.get(ISSUE)?.as_str());
    let Some(link) = link.filter(|_| settings.claims == Claims::Refs) else { return Ok(None) };
    let bus = github.bus(false)?;
    let key = IssueKey::parse(link, &bus.home);
    Ok(key.map(|key| (bus, key)))
}

/// Takes the issue of a task for this engine, where claims are refs.
pub fn take(github: &Github, actor: &AgentId, task: &Task) -> Result<(), Refusal> {
    let Some((mut bus, key)) = issue(github, task)? else { return Ok(()) };
    let own = Claimed {
        v: 1,
        engine: bus.engine.clone(),
        agent: actor.to_string(),
        generation: 1,
        ttl: TTL.ms() / 1_000,
        state: Status::InProgress.as_str().to_owned(),
    };
    let place = place(&mut bus, &key.repository)?;
    let (found, date) = there(&mut bus, &key, place)?;
    let (sha, state) = match found {
        Some(there) if there.claimed.engine == own.engine && !there.has_ended(date) => {
            (there.sha, there.claimed.state)
        }
        Some(there) => (take_over(&mut bus, &key, place, &own, &there, date)?, own.state.clone()),
        None => (make(&mut bus, &key, place, &own)?, own.state.clone()),
    };
    let mut row = bus.rows.issue(&key.to_string());
    row.claim_ref = Some(now().ms());
    row.claim_sha = sha;
    row.claim_state = state;
    bus.rows.set_issue(&key.to_string(), &row);
    bus.save()
}

fn make(bus: &mut Bus, key: &IssueKey, place: &str, own: &Claimed) -> Result<String, Refusal> {
    let (tip, tree) = tip(bus, &key.repository)?;
    let sha = commit(bus, &key.repository, own, &tree, &tip)?;
    let body = json!({"ref": format!("refs/{place}issue-{}", key.number), "sha": sha});
    let refs = format!("/repos/{}/git/refs", key.repository);
    match bus.client.send(Method::Post, &refs, Some(&body), false) {
        Ok(_) => Ok(sha),
        // Somebody was faster, or the answer was lost: what is there says whose it is.
        Err(Trouble::Status { status: 409 | 422, .. } | Trouble::Unknown(_)) => {
            let (found, date) = there(bus, key, place)?;
            let found = found.ok_or_else(|| {
                Refusal::new(Code::GithubUnreachable, "GitHub did not say who has the issue")
            })?;
            if found.sha == sha {
                return Ok(sha);
            }
            take_over(bus, key, place, own, &found, date)
        }
        Err(trouble) => Err(trouble.into()),
    }
}

/// Moves a claim on that has ended, or that is this engine's own.
fn take_over(
    bus: &mut Bus,
    key: &IssueKey,
    place: &str,
    own: &Claimed,
    there: &There,
    date: Timestamp,
) -> Result<String, Refusal> {
    if there.claimed.engine != own.engine && !there.has_ended(date) {
        return Err(elsewhere(key, &there.claimed));
    }
    let next = Claimed { generation: there.claimed.generation + 1, ..own.clone() };
    move_on(bus, key, place, &next, there)?.ok_or_else(|| elsewhere(key, &there.claimed))
}

/// Makes the next commit of a claim; none where somebody else was faster.
fn move_on(
    bus: &mut Bus,
    key: &IssueKey,
    place: &str,
    next: &Claimed,
    there: &There,
) -> Result<Option<String>, Trouble> {
    let child = commit(bus, &key.repository, next, &there.tree, &there.sha)?;
    let body = json!({"sha": child, "force": false});
    match bus.client.send(Method::Patch, &path(key, place), Some(&body), false) {
        Ok(_) => Ok(Some(child)),
        Err(Trouble::Status { .. }) => Ok(None),
        Err(Trouble::Unknown(why)) => match self::there(bus, key, place)? {
            (Some(now), _) if now.sha == child => Ok(Some(child)),
            (Some(now), _) if now.sha != there.sha => Ok(None),
            _ => Err(Trouble::Unknown(why)),
        },
        Err(trouble) => Err(trouble),
    }
}

/// Refuses what an engine wants to do with an issue that it has lost.
pub fn fence(github: &Github, task: &Task) -> Result<(), Refusal> {
    let Some((mut bus, key)) = issue(github, task)? else { return Ok(()) };
    let row = bus.rows.issue(&key.to_string());
    let place = place(&mut bus, &key.repository)?;
    let (found, _) = there(&mut bus, &key, place)?;
    match found {
        Some(there) if there.claimed.engine != bus.engine => {
            let (agent, engine) = (&there.claimed.agent, &there.claimed.engine);
            Err(stale(&key, format!("{key} was taken over by {agent} of engine {engine}")))
        }
        None if row.claim_ref.is_some() => {
            Err(stale(&key, format!("the claim of {key} is gone from GitHub")))
        }
        _ => Ok(()),
    }
}

/// Gives back the issue of a task that is not held here.
pub fn give_back(github: &Github, task: &Task) -> Result<(), Refusal> {
    match issue(github, task)? {
        Some((mut bus, key)) => {
            let place = place(&mut bus, &key.repository)?;
            release(&mut bus, &key, place)?;
            bus.save()
        }
        None => Ok(()),
    }
}

/// Removes the ref of an issue that this engine has.
fn release(bus: &mut Bus, key: &IssueKey, place: &str) -> Result<(), Trouble> {
    let (found, _) = there(bus, key, place)?;
    if found.is_some_and(|there| there.claimed.engine == bus.engine) {
        match bus.client.send(Method::Delete, &path(key, place), None, false) {
            Ok(_) | Err(Trouble::Status { status: 404 | 422, .. }) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let row = bus.rows.issue(&key.to_string());
    let row = IssueRow { claim_ref: None, claim_sha: String::new(), ..row };
    bus.rows.set_issue(&key.to_string(), &row);
    Ok(())
}

/// Brings the ref of an issue to what its task is: given back, renewed when half its time is over, or moved on to
/// another state.
pub(crate) fn keep(bus: &mut Bus, key: &IssueKey, status: Status) -> Result<(), Trouble> {
    let mut row = bus.rows.issue(&key.to_string());
    let Some(at) = row.claim_ref else { return Ok(()) };
    let over = matches!(status, Status::Queued | Status::Done | Status::Abandoned);
    let state = status.as_str();
    if !over && row.claim_state == state && now().ms() - at < TTL.ms() / 2 {
        return Ok(());
    }
    let place = place(bus, &key.repository)?;
    if over {
        return release(bus, key, place);
    }
    let (found, _) = there(bus, key, place)?;
    if let Some(there) = found.filter(|there| there.claimed.engine == bus.engine) {
        let next = Claimed {
            generation: there.claimed.generation + 1,
            state: state.to_owned(),
            ..there.claimed.clone()
        };
        if let Some(sha) = move_on(bus, key, place, &next, &there)? {
            row.claim_ref = Some(now().ms());
            row.claim_sha = sha;
            state.clone_into(&mut row.claim_state);
            bus.rows.set_issue(&key.to_string(), &row);
        }
    }
    Ok(())
}

/// Lists the issues of a repository that other engines have, and notes which ones this engine has.
pub(crate) fn others(
    bus: &mut Bus,
    repository: &str,
) -> Result<BTreeMap<IssueKey, Claimed>, Trouble> {
    let (refs, date) = listed(bus, repository)?;
    let mut others = BTreeMap::new();
    for (number, sha) in refs {
        let key = IssueKey { repository: repository.to_owned(), number };
        let mut row = bus.rows.issue(&key.to_string());
        if row.claim_sha == sha {
            continue;
        }
        // What a commit says stays, so it is asked for once.
        let known = format!("claim/{sha}");
        let there = match bus.rows.has(&known) {
            true => bus.rows.get::<There>(&known),
            false => {
                let there = read_commit(bus, repository, &sha, date)?;
                bus.rows.put(&known, &there);
                there
            }
        };
        if there.claimed.engine == bus.engine {
            row.claim_ref = Some(there.at);
            row.claim_sha = sha;
            row.claim_state.clone_from(&there.claimed.state);
            bus.rows.set_issue(&key.to_string(), &row);
        } else if !there.has_ended(date) {
            others.insert(key, there.claimed);
        }
    }
    Ok(others)
}

/// Lists numbers and commits of all claims, with GitHub's time.
fn listed(bus: &mut Bus, repository: &str) -> Result<(Vec<(u64, String)>, Timestamp), Trouble> {
    for place in PLACES {
        let answer = matching(bus, repository, place)?;
        let date = answer.date.unwrap_or_else(now);
        let all = answer.body.as_array().cloned().unwrap_or_default();
        let named = |one: &Value| {
            let name = one["ref"].as_str()?.strip_prefix("refs/")?.strip_prefix(place)?.to_owned();
            Some((name, one["object"]["sha"].as_str()?.to_owned()))
        };
        let refs: Vec<(String, String)> = all.iter().filter_map(named).collect();
        if place == OWN_PLACE && !refs.iter().any(|(name, _)| name == FLAG) {
            continue;
        }
        let number = |name: &str| name.strip_prefix("issue-")?.parse::<u64>().ok();
        let refs = refs.into_iter().filter_map(|(name, sha)| Some((number(&name)?, sha)));
        return Ok((refs.collect(), date));
    }
    Ok((Vec::new(), now()))
}

/// Asks for the refs of a place; where GitHub says that they are the same, those that were seen last.
fn matching(bus: &mut Bus, repository: &str, place: &str) -> Result<Answer, Trouble> {
    let path = format!("/repos/{repository}/git/matching-refs/{place}");
    let key = format!("refs/{repository}/{place}");
    let (etag, body): (String, Value) = bus.rows.get(&key);
    let known = Some(etag).filter(|etag| !etag.is_empty());
    let mut answer = bus.client.list(&path, known.as_deref())?;
    if answer.is_unchanged() {
        answer.body = body;
    } else {
        let etag = answer.etag.clone().unwrap_or_default();
        bus.rows.put(&key, &(etag, answer.body.clone()));
    }
    Ok(answer)
}

/// Makes the place for claims that starts no builds, where GitHub lets it; whether it is there.
pub(crate) fn make_place(bus: &mut Bus, repository: &str) -> Result<bool, Trouble> {
    if place(bus, repository)? == OWN_PLACE {
        return Ok(true);
    }
    let (tip, _) = tip(bus, repository)?;
    let body = json!({"ref": format!("refs/{OWN_PLACE}{FLAG}"), "sha": tip});
    match bus.client.send(
        Method::Post,
        &format!("/repos/{repository}/git/refs"),
        Some(&body),
        false,
    ) {
        Ok(_) => Ok(true),
        Err(Trouble::Status { status: 403 | 404 | 422, .. }) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

/// Returns where the claims of a repository are.
fn place(bus: &mut Bus, repository: &str) -> Result<&'static str, Trouble> {
    let flag = format!("/repos/{repository}/git/ref/{OWN_PLACE}{FLAG}");
    match bus.client.get(&flag, None) {
        Ok(_) => Ok(OWN_PLACE),
        Err(trouble) if trouble.is_gone() => Ok(PLACES[1]),
        Err(trouble) => Err(trouble),
    }
}

fn path(key: &IssueKey, place: &str) -> String {
    format!("/repos/{}/git/refs/{place}issue-{}", key.repository, key.number)
}

fn there(
    bus: &mut Bus,
    key: &IssueKey,
    place: &str,
) -> Result<(Option<There>, Timestamp), Trouble> {
    let at = format!("/repos/{}/git/ref/{place}issue-{}", key.repository, key.number);
    let answer = match bus.client.get(&at, None) {
        Ok(answer) => answer,
        Err(trouble) if trouble.is_gone() => return Ok((None, now())),
        Err(trouble) => return Err(trouble),
    };
    let date = answer.date.unwrap_or_else(now);
    let sha = answer.body["object"]["sha"].as_str().unwrap_or_default();
    Ok((Some(read_commit(bus, &key.repository, sha, date)?), date))
}

fn read_commit(
    bus: &mut Bus,
    repository: &str,
    sha: &str,
    date: Timestamp,
) -> Result<There, Trouble> {
    let commit = bus.client.get(&format!("/repos/{repository}/git/commits/{sha}"), None)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let at = model::time(&text(&commit.body["committer"]["date"])).unwrap_or(date);
    let claimed = read(&text(&commit.body["message"]));
    let tree = text(&commit.body["tree"]["sha"]);
    Ok(There { sha: sha.to_owned(), tree, at: at.ms(), claimed })
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
        assert!(text.ends_with("[skip ci]") && text.contains("\"gen\":0"), "{text}");
        assert_eq!(read(&text), claimed);
        assert_eq!(read("anything else"), Claimed::default());
    }

    #[test]
    fn a_claim_ends_by_githubs_clock_and_after_a_grace() {
        let claimed = Claimed { ttl: 600, state: "in_progress".to_owned(), ..Claimed::default() };
        let mut there = There { claimed, ..There::default() };
        let at = Timestamp::from_ms(0);
        assert!(!there.has_ended(at.plus(Millis::from_secs(660))));
        assert!(there.has_ended(at.plus(Millis::from_secs(661))));
        there.claimed.state = "review".to_owned();
        assert!(!there.has_ended(at.plus(Millis::from_secs(10_000))), "handed in work stays");
    }
}
