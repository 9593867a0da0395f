//! Lists as GitHub gives them: issues with pulls among them, comments of a repository or an issue, events; in pages.

use crate::http::{Response, decoded};
use crate::world::{Call, World};
use serde_json::{Value, json};

impl World {
    /// Everything that a list of the emulator has.
    pub fn all(&self, login: &str, target: &str) -> Vec<Value> {
        let joint = if target.contains('?') { '&' } else { '?' };
        let mut found = Vec::new();
        for page in 1.. {
            let part = self
                .ask(login, "GET", &format!("{target}{joint}per_page=100&page={page}"), None)
                .value();
            let part = part.as_array().cloned().unwrap_or_default();
            let is_last = part.len() < 100;
            found.extend(part);
            if is_last {
                break;
            }
        }
        found
    }

    /// One page of a list, with links to the others.
    pub fn page(&self, call: &Call<'_>, list: &[Value]) -> Response {
        let number = |name: &str, otherwise: usize| {
            call.request.query(name).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        let (size, page) = (number("per_page", 30).clamp(1, 100), number("page", 1).max(1));
        let last = list.len().div_ceil(size).max(1);
        let items: Vec<&Value> = list.iter().skip((page - 1) * size).take(size).collect();
        let mut response = Response::json(200, &json!(items));
        let query = call.request.target.split_once('?').map(|(_, query)| query).unwrap_or_default();
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.starts_with("page="))
            .collect();
        let link = |to: usize, rel: &str| {
            let query = kept
                .iter()
                .map(|pair| (*pair).to_owned())
                .chain([format!("page={to}")])
                .collect::<Vec<_>>()
                .join("&");
            format!("<{}{}?{query}>; rel=\"{rel}\"", self.url, call.request.path())
        };
        if page < last {
            response.set("link", format!("{}, {}", link(page + 1, "next"), link(last, "last")));
        }
        response
    }

    /// A change makes what was remembered of its repository old.
    pub fn changed(&mut self, call: &Call<'_>, response: &Response) {
        self.issues.remove(&call.repo);
        let words: Vec<&str> = call.rest.iter().map(String::as_str).collect();
        let made = response.value();
        let Some(comments) = self.comments.get_mut(&call.repo) else {
            if let ("PATCH", ["issues", "comments", id]) =
                (call.request.method.as_str(), words.as_slice())
            {
                self.edited.extend(id.parse::<u64>());
            }
            return;
        };
        match (call.request.method.as_str(), words.as_slice()) {
            ("POST", ["issues", _, "comments"]) => comments.push(made),
            ("PATCH" | "DELETE", ["issues", "comments", id]) => {
                comments.retain(|known| known["id"].as_u64() != id.parse().ok());
                if call.request.method == "PATCH" {
                    comments.push(made);
                    self.edited.extend(id.parse::<u64>());
                }
            }
            _ => {}
        }
    }

    fn known_issues(&mut self, repo: &str) -> Vec<Value> {
        if !self.issues.contains_key(repo) {
            let (owner, _) = repo.split_once('/').unwrap_or_default();
            let mut list = self.all(owner, &format!("/repos/{repo}/issues?state=all"));
            list.extend(
                self.all(owner, &format!("/repos/{repo}/pulls?state=all")).iter().map(as_issue),
            );
            for issue in &mut list {
                self.with_reason(repo, issue);
            }
            list.retain(|issue| !self.is_away(&format!("{repo}#{}", issue["number"])));
            self.issues.insert(repo.to_owned(), list);
        }
        self.issues[repo].clone()
    }

    fn is_away(&self, name: &str) -> bool {
        self.gone.contains(name) || self.moved.contains_key(name)
    }

    fn with_reason(&self, repo: &str, issue: &mut Value) {
        if let Some(reason) = self.reasons.get(&format!("{repo}#{}", issue["number"])) {
            issue["state_reason"] = reason.as_str().into();
        }
    }

    pub fn list_issues(&mut self, call: &Call<'_>) -> Response {
        let mut list = self.known_issues(&call.repo);
        let asked = |name: &str| {
            call.request.query(name).map(|text| decoded(&text)).filter(|text| !text.is_empty())
        };
        let state = asked("state").unwrap_or_else(|| "open".to_owned());
        list.retain(|issue| state == "all" || issue["state"] == state.as_str());
        for wanted in asked("labels").iter().flat_map(|names| names.split(',')) {
            let wanted = wanted.trim().to_lowercase();
            let has = |label: &Value| {
                label["name"].as_str().is_some_and(|name| name.to_lowercase() == wanted)
            };
            list.retain(|issue| {
                issue["labels"].as_array().is_some_and(|labels| labels.iter().any(has))
            });
        }
        if let Some(login) = asked("creator") {
            list.retain(|issue| issue["user"]["login"] == login.as_str());
        }
        if let Some(login) = asked("assignee") {
            let is_meant = |issue: &Value| {
                let assignees =
                    issue["assignees"].as_array().map(Vec::as_slice).unwrap_or_default();
                match login.as_str() {
                    "none" => assignees.is_empty(),
                    "*" => !assignees.is_empty(),
                    login => assignees.iter().any(|one| one["login"] == login),
                }
            };
            list.retain(is_meant);
        }
        since(call, &mut list);
        sorted(call, &mut list, "created", "desc");
        self.page(call, &list)
    }

    pub fn issue(&mut self, call: &Call<'_>, number: &str) -> Response {
        let mut said =
            self.as_caller(call, "GET", &format!("/repos/{}/issues/{number}", call.repo), None);
        if said.status == 404 {
            let pull =
                self.as_caller(call, "GET", &format!("/repos/{}/pulls/{number}", call.repo), None);
            return if pull.is_fine() {
                Response::json(200, &as_issue(&pull.value()))
            } else {
                said
            };
        }
        let mut issue = said.value();
        self.with_reason(&call.repo, &mut issue);
        said.body = issue.to_string().into_bytes();
        said
    }

    /// An issue's events, without those that only the emulator has.
    pub fn events(&mut self, call: &Call<'_>) -> Response {
        let said =
            self.as_caller(call, "GET", &format!("{}?per_page=100", call.request.path()), None);
        if !said.is_fine() {
            return said;
        }
        let (owner, _) = call.repo.split_once('/').unwrap_or_default();
        let mut list = self.all(owner, call.request.path());
        list.retain(|event| event["event"] != "opened" && event["event"] != "edited");
        for event in list.iter_mut().filter_map(Value::as_object_mut) {
            event.remove("issue");
        }
        list.sort_by_key(|event| event["id"].as_u64());
        self.page(call, &list)
    }

    /// An issue's events, with those of boards among them.
    pub fn timeline(&mut self, call: &Call<'_>, number: &str) -> Response {
        let (owner, _) = call.repo.split_once('/').unwrap_or_default();
        let name = format!("{}#{number}", call.repo);
        let mut list = self.all(owner, &format!("/repos/{}/issues/{number}/events", call.repo));
        list.retain(|event| event["event"] != "opened" && event["event"] != "edited");
        for event in &mut list {
            // Those of boards have to fit between the emulator's own numbers.
            event["id"] = (event["id"].as_u64().unwrap_or_default() * 1_000).into();
        }
        list.extend(self.board_events.get(&name).cloned().unwrap_or_default());
        list.sort_by_key(|event| event["id"].as_u64());
        self.page(call, &list)
    }

    /// Notes that somebody did something with an issue on a board.
    pub fn on_board(&mut self, login: &str, name: &str, what: &str) {
        let Some((repo, number)) = name.split_once('#') else { return };
        let (owner, _) = repo.split_once('/').unwrap_or_default();
        let known = self.all(owner, &format!("/repos/{repo}/issues/{number}/events"));
        let newest = known.iter().filter_map(|event| event["id"].as_u64()).max().unwrap_or(1);
        let events = self.board_events.entry(name.to_owned()).or_default();
        let id = newest * 1_000 + 1 + events.len() as u64;
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        events.push(
            json!({ "id": id, "event": what, "actor": { "login": login }, "created_at": at }),
        );
    }

    /// Without an edit, a comment was last changed when it was made.
    fn as_made(&self, list: &mut [Value]) {
        for comment in list {
            if comment["id"].as_u64().is_none_or(|id| !self.edited.contains(&id)) {
                comment["updated_at"] = comment["created_at"].clone();
            }
        }
    }

    pub fn comments_of(&mut self, call: &Call<'_>, number: &str) -> Response {
        let said = self.as_caller(call, "GET", call.request.path(), None);
        if !said.is_fine() {
            return said;
        }
        let (owner, _) = call.repo.split_once('/').unwrap_or_default();
        let mut list = self.all(owner, &format!("/repos/{}/issues/{number}/comments", call.repo));
        self.as_made(&mut list);
        since(call, &mut list);
        list.sort_by_key(|comment| comment["id"].as_u64());
        self.page(call, &list)
    }

    pub fn list_comments(&mut self, call: &Call<'_>) -> Response {
        if !self.comments.contains_key(&call.repo) {
            let (owner, _) = call.repo.split_once('/').unwrap_or_default();
            let mut list = Vec::new();
            for issue in self.known_issues(&call.repo) {
                if issue["comments"].as_u64() != Some(0) {
                    list.extend(self.all(
                        owner,
                        &format!("/repos/{}/issues/{}/comments", call.repo, issue["number"]),
                    ));
                }
            }
            self.comments.insert(call.repo.clone(), list);
        }
        let mut list = self.comments[&call.repo].clone();
        self.as_made(&mut list);
        let away = |comment: &Value| {
            let number = comment["issue_url"]
                .as_str()
                .and_then(|url| url.rsplit('/').next())
                .unwrap_or_default();
            self.is_away(&format!("{}#{number}", call.repo))
        };
        list.retain(|comment| !away(comment));
        since(call, &mut list);
        sorted(call, &mut list, "created", "asc");
        self.page(call, &list)
    }
}

/// GitHub's `since` counts that second in.
fn since(call: &Call<'_>, list: &mut Vec<Value>) {
    if let Some(since) = call.request.query("since") {
        list.retain(|item| item["updated_at"].as_str().is_some_and(|at| at >= since.as_str()));
    }
}

fn sorted(call: &Call<'_>, list: &mut [Value], by: &str, direction: &str) {
    let by = call.request.query("sort").unwrap_or_else(|| by.to_owned());
    let direction = call.request.query("direction").unwrap_or_else(|| direction.to_owned());
    let key = |item: &Value| {
        (item[format!("{by}_at")].as_str().unwrap_or_default().to_owned(), item["id"].as_u64())
    };
    list.sort_by_key(key);
    if direction == "desc" {
        list.reverse();
    }
}

/// A pull request as it stands among the issues.
fn as_issue(pull: &Value) -> Value {
    let mut issue = json!({ "pull_request": { "url": pull["url"], "html_url": pull["html_url"], "merged_at": pull["merged_at"] } });
    for name in [
        "id",
        "node_id",
        "number",
        "title",
        "body",
        "user",
        "state",
        "labels",
        "assignee",
        "assignees",
        "comments",
        "created_at",
        "updated_at",
        "closed_at",
        "html_url",
        "locked",
        "author_association",
    ] {
        issue[name] = pull[name].clone();
    }
    issue
}
