//! What the emulator has not at all: sub-issues, commit statuses, boards, and the state of the quota.

use crate::http::{Request, Response};
use crate::world::{Call, World};
use serde_json::{Value, json};

/// The one field of every board, and its words.
const FIELD: u64 = 501;
const WORDS: [&str; 5] = ["Ready", "In progress", "Blocked", "Done", "Backlog"];
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

impl World {
    /// Calls below `/repos/o/n/` that the emulator has not.
    pub fn extra(&mut self, call: &Call<'_>, words: &[&str]) -> Option<Response> {
        match (call.request.method.as_str(), words) {
            (_, ["issues", number, "sub_issues" | "sub_issue" | "parent"]) => {
                Some(self.family(call, number))
            }
            ("POST", ["statuses", sha]) => Some(self.set_status(call, sha)),
            ("GET", ["commits", name, "status"]) => Some(self.status(call, name)),
            ("GET", ["commits" | "compare" | "git" | "branches", ..])
            | ("POST", ["check-runs"]) => {
                self.mirror(&call.repo);
                None
            }
            _ => None,
        }
    }

    /// Calls elsewhere that the emulator has not.
    pub fn elsewhere(&mut self, call: &Call<'_>) -> Option<Response> {
        let words: Vec<&str> = call.rest.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["users" | "orgs", owner, "projectsV2", number, rest @ ..] => {
                Some(self.board(call, &format!("{owner}/{number}"), rest))
            }
            _ => None,
        }
    }

    fn family(&mut self, call: &Call<'_>, number: &str) -> Response {
        let parent = format!("{}#{number}", call.repo);
        match call.request.method.as_str() {
            "GET" if call.rest.last().is_some_and(|word| word == "parent") => {
                let own = self
                    .as_caller(call, "GET", &format!("/repos/{}/issues/{number}", call.repo), None)
                    .value();
                let id = own["id"].as_u64().unwrap_or_default();
                let found = self
                    .children
                    .iter()
                    .find(|(_, children)| children.contains(&id))
                    .map(|(parent, _)| parent.clone());
                let Some((repo, number)) =
                    found.as_deref().and_then(|parent| parent.split_once('#'))
                else {
                    return Call::refuse(404, "Not Found");
                };
                self.as_caller(call, "GET", &format!("/repos/{repo}/issues/{number}"), None)
            }
            "GET" => {
                let children = self.children.get(&parent).cloned().unwrap_or_default();
                let list: Vec<Value> =
                    children.iter().filter_map(|id| self.by_id(call, *id)).collect();
                self.page(call, &list)
            }
            method => {
                let Some(id) = call.request.json()["sub_issue_id"].as_u64() else {
                    return Call::refuse(422, "Validation Failed: sub_issue_id is missing");
                };
                let Some(child) = self.by_id(call, id) else {
                    return Call::refuse(404, "The provided sub-issue does not exist");
                };
                let is_taken = self.children.values().any(|children| children.contains(&id));
                if method == "POST" && is_taken && call.request.json()["replace_parent"] != true {
                    return Call::refuse(
                        422,
                        "Validation Failed: Sub issue may only have one parent",
                    );
                }
                self.children
                    .values_mut()
                    .for_each(|children| children.retain(|known| *known != id));
                if method == "POST" {
                    self.children.entry(parent).or_default().push(id);
                }
                let status = if method == "POST" { 201 } else { 200 };
                Response::json(status, &child)
            }
        }
    }

    /// An issue of the owner's repositories by its id.
    fn by_id(&self, call: &Call<'_>, id: u64) -> Option<Value> {
        let (owner, _) = call.repo.split_once('/')?;
        let repositories = self.all(owner, &format!("/users/{owner}/repos"));
        let names = repositories.iter().filter_map(|one| one["full_name"].as_str());
        let mut issues =
            names.flat_map(|name| self.all(owner, &format!("/repos/{name}/issues?state=all")));
        issues.find(|issue| issue["id"] == id)
    }

    fn set_status(&mut self, call: &Call<'_>, sha: &str) -> Response {
        if !self.may(call, "write") {
            return Call::refuse(403, "Must have push access");
        }
        let said = call.request.json();
        let known = self.statuses.entry(format!("{}@{sha}", call.repo)).or_default();
        let status = json!({ "id": known.len() + 1, "state": said["state"], "context": said.get("context").cloned().unwrap_or(json!("default")),
            "description": said["description"], "target_url": said["target_url"], "creator": { "login": call.login },
            "created_at": LONG_AGO, "updated_at": LONG_AGO });
        known.push(status.clone());
        Response::json(201, &status)
    }

    fn status(&mut self, call: &Call<'_>, name: &str) -> Response {
        self.mirror(&call.repo);
        let (owner, _) = call.repo.split_once('/').unwrap_or_default();
        let commit =
            self.ask(owner, "GET", &format!("/repos/{}/commits/{name}", call.repo), None).value();
        let sha = commit["sha"].as_str().unwrap_or(name).to_owned();
        let mut latest: Vec<Value> = Vec::new();
        for status in self.statuses.get(&format!("{}@{sha}", call.repo)).into_iter().flatten() {
            latest.retain(|known| known["context"] != status["context"]);
            latest.push(status.clone());
        }
        let is = |state: &str| latest.iter().any(|status| status["state"] == state);
        let all = if is("failure") || is("error") {
            "failure"
        } else if latest.is_empty() || is("pending") {
            "pending"
        } else {
            "success"
        };
        Response::json(
            200,
            &json!({ "state": all, "statuses": latest, "sha": sha, "total_count": latest.len() }),
        )
    }

    fn board(&mut self, call: &Call<'_>, name: &str, rest: &[&str]) -> Response {
        if !self.boards.contains_key(name) {
            return Call::refuse(404, "Not Found");
        }
        let text = |word: &str| json!({ "raw": word, "html": word });
        let option = |(at, word): (usize, &&str)| json!({ "id": format!("{at:08x}"), "name": text(word), "description": text(""), "color": "GRAY" });
        let options: Vec<Value> = WORDS.iter().enumerate().map(option).collect();
        let field = json!({ "id": FIELD, "node_id": "PVTF_501", "name": "Status", "data_type": "single_select", "options": options,
            "project_url": format!("{}/{name}", self.url), "created_at": LONG_AGO, "updated_at": LONG_AGO });
        let mut items = self.boards[name].clone();
        for item in &mut items {
            let url = item["content"]["url"].as_str().unwrap_or_default().replace(&self.url, "");
            let now = self.as_caller(call, "GET", &url, None);
            item["content"] = if now.is_fine() { now.value() } else { item["content"].clone() };
        }
        match (call.request.method.as_str(), rest) {
            ("GET", []) => Response::json(200, &json!({ "id": 1, "number": 1, "title": "Work" })),
            ("GET", ["fields"]) => self.page(call, &[field]),
            ("GET", ["items"]) => self.page(call, &items),
            ("POST", ["items"]) => self.add_item(call, name, &items),
            ("GET" | "PATCH", ["items", id]) => {
                let Some(at) = items.iter().position(|item| item["id"].as_u64() == id.parse().ok())
                else {
                    return Call::refuse(404, "Not Found");
                };
                for change in call.request.json()["fields"].as_array().into_iter().flatten() {
                    let Some(option) = options
                        .iter()
                        .find(|option| option["id"] == change["value"] && change["id"] == FIELD)
                    else {
                        return Call::refuse(422, "Validation Failed: no such option");
                    };
                    let value = json!({ "id": FIELD, "name": "Status", "data_type": "single_select", "value": option });
                    self.boards.get_mut(name).unwrap()[at]["fields"] = json!([value]);
                    self.on_board(call.login, &place(&items[at]), "project_v2_item_status_changed");
                }
                Response::json(200, &self.boards[name][at])
            }
            _ => Call::refuse(404, "Not Found"),
        }
    }

    fn add_item(&mut self, call: &Call<'_>, name: &str, items: &[Value]) -> Response {
        let said = call.request.json();
        let owner = name.split('/').next().unwrap_or_default().to_owned();
        let looked = Call {
            repo: format!("{owner}/-"),
            request: call.request,
            login: call.login,
            rest: Vec::new(),
        };
        let issue = match said["id"].as_u64() {
            Some(id) => self.by_id(&looked, id),
            None => {
                let path = format!(
                    "/repos/{}/{}/issues/{}",
                    said["owner"].as_str().unwrap_or(&owner),
                    said["repo"].as_str().unwrap_or_default(),
                    said["number"]
                );
                Some(self.as_caller(call, "GET", &path, None))
                    .filter(Response::is_fine)
                    .map(|said| said.value())
            }
        };
        let Some(issue) = issue else { return Call::refuse(404, "Not Found") };
        if let Some(known) = items.iter().find(|item| item["content"]["id"] == issue["id"]) {
            return Response::json(201, known);
        }
        let item = json!({ "id": 9000 + items.len(), "node_id": "PVTI", "content_type": "Issue", "content": issue, "fields": [],
            "created_at": LONG_AGO, "updated_at": LONG_AGO, "archived_at": null });
        self.boards.get_mut(name).unwrap().push(item.clone());
        self.on_board(call.login, &place(&item), "added_to_project_v2");
        Response::json(201, &item)
    }

    /// A hook's deliveries come by way of the fault layer, which sends them on.
    pub fn make_hook(&mut self, call: &Call<'_>) -> Response {
        let mut body = call.request.json();
        let target = body["config"]["url"].as_str().unwrap_or_default().to_owned();
        body["config"]["url"] =
            format!("http://{}/{}", self.hook_address, self.hook_targets.len()).into();
        self.hook_targets.push(target);
        let made = self.pass(call, &body);
        self.with_targets(made)
    }

    pub fn show_hooks(&mut self, call: &Call<'_>) -> Response {
        let said = self.send(call.request);
        self.with_targets(said)
    }

    fn with_targets(&self, mut response: Response) -> Response {
        let mut text = String::from_utf8_lossy(&response.body).into_owned();
        for (at, target) in self.hook_targets.iter().enumerate() {
            text = text.replace(
                &format!("\"http://{}/{at}\"", self.hook_address),
                &json!(target).to_string(),
            );
        }
        response.body = text.into_bytes();
        response
    }
}

/// The issue of an item, as `o/n#1`.
fn place(item: &Value) -> String {
    let url = item["content"]["url"].as_str().unwrap_or_default();
    let mut parts = url.rsplit('/').filter(|part| *part != "issues");
    let (number, name, owner) = (parts.next(), parts.next(), parts.next());
    format!(
        "{}/{}#{}",
        owner.unwrap_or_default(),
        name.unwrap_or_default(),
        number.unwrap_or_default()
    )
}

/// What `GET /rate_limit` says, which costs nothing.
pub(crate) fn rate_limit(request: &Request, remaining: u64, reset: i64) -> Option<Response> {
    let core = json!({ "limit": 5000, "remaining": remaining, "reset": reset, "used": 5000 - remaining, "resource": "core" });
    (request.path() == "/rate_limit")
        .then(|| Response::json(200, &json!({ "resources": { "core": core }, "rate": core })))
}
