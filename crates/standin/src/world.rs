//! What GitHub does and the emulator does not: rights, limits of size, names of labels in any case, pulls among issues,
//! comments of a whole repository, conditional reads, and what `extras` adds.

use crate::http::{self, Request, Response, decoded, encoded};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// GitHub's limits, in characters.
const BODY: usize = 65_536;
const TITLE: usize = 256;
const LABEL: usize = 50;

/// The state beside the emulator's own.
pub(crate) struct World {
    pub emulator: String,
    pub url: String,
    pub issues: HashMap<String, Vec<Value>>,
    pub comments: HashMap<String, Vec<Value>>,
    pub edited: HashSet<u64>,
    pub statuses: HashMap<String, Vec<Value>>,
    pub children: HashMap<String, Vec<u64>>,
    pub boards: HashMap<String, Vec<Value>>,
    /// What happened to issues on boards.
    pub board_events: HashMap<String, Vec<Value>>,
    /// Seconds that GitHub's clock is ahead.
    pub ahead: i64,
    pub reasons: HashMap<String, String>,
    pub git: HashMap<String, PathBuf>,
    /// The newest commit of each pull request (`o/n#1`), and the commit that merged it.
    pub heads: HashMap<String, String>,
    pub merges: HashMap<String, String>,
    pub moved: HashMap<String, String>,
    pub gone: HashSet<String>,
    pub hook_address: String,
    pub hook_targets: Vec<String>,
}

/// A call with the parts of its path, and who makes it.
pub(crate) struct Call<'a> {
    pub request: &'a Request,
    pub login: &'a str,
    pub repo: String,
    pub rest: Vec<String>,
}

impl Call<'_> {
    pub fn refuse(status: u16, message: &str) -> Response {
        Response::refusal(status, message)
    }

    fn number(&self) -> Option<u64> {
        self.rest.get(1)?.parse().ok()
    }
}

/// Splits `/repos/o/n/…`; the rest of other paths stays whole.
pub(crate) fn parts<'a>(request: &'a Request, login: &'a str) -> Call<'a> {
    let words: Vec<String> = request.path().split('/').skip(1).map(decoded).collect();
    match words.as_slice() {
        [first, owner, name, rest @ ..] if first == "repos" => {
            Call { request, login, repo: format!("{owner}/{name}"), rest: rest.to_vec() }
        }
        other => Call { request, login, repo: String::new(), rest: other.to_vec() },
    }
}

impl World {
    /// Asks the emulator in the name of somebody.
    pub fn ask(&self, login: &str, method: &str, target: &str, body: Option<&Value>) -> Response {
        let mut request = Request::new(method, target, body);
        request.headers.push(("authorization".to_owned(), format!("Bearer gho_{login}")));
        self.send(&request)
    }

    /// Passes a call on as it came, with times as GitHub writes them.
    pub fn send(&self, request: &Request) -> Response {
        let mut request = request.clone();
        request.headers.retain(|(name, _)| name != "if-none-match");
        let mut response = http::call(&self.emulator, &request).unwrap();
        let mut value = response.value();
        if !value.is_null() {
            in_seconds(&mut value);
            response.body = value.to_string().into_bytes();
        }
        response
    }

    /// Carries a call out.
    pub fn answer(&mut self, request: &Request, login: &str) -> Response {
        let call = parts(request, login);
        if call.repo.is_empty() {
            return self.elsewhere(&call).unwrap_or_else(|| self.send(request));
        }
        if let Some(refused) = self.left(&call).or_else(|| oversized(request)) {
            return refused;
        }
        let response = self.known(&call).unwrap_or_else(|| self.send(request));
        if request.is_write() && response.is_fine() {
            self.changed(&call, &response);
        }
        response
    }

    fn known(&mut self, call: &Call<'_>) -> Option<Response> {
        let words: Vec<&str> = call.rest.iter().map(String::as_str).collect();
        match (call.request.method.as_str(), words.as_slice()) {
            ("GET", ["issues"]) => Some(self.list_issues(call)),
            ("GET", ["issues", "comments"]) => Some(self.list_comments(call)),
            ("GET", ["issues", number]) => Some(self.issue(call, number)),
            ("GET", ["issues", _, "events"]) => Some(self.events(call)),
            ("GET", ["issues", number, "timeline"]) => Some(self.timeline(call, number)),
            ("POST", ["git", "commits"]) if self.ahead > 0 => Some(self.make_commit(call)),
            ("GET", ["issues", number, "comments"]) => Some(self.comments_of(call, number)),
            ("POST", ["issues"]) => Some(self.create_issue(call)),
            ("PATCH", ["issues", number]) => self.edit_issue(call, number),
            ("POST" | "PUT", ["issues", _, "labels"]) => Some(self.add_labels(call)),
            ("DELETE", ["issues", number, "labels", name]) => {
                Some(self.remove_label(call, number, name))
            }
            ("POST" | "DELETE", ["issues", number, "assignees"]) => Some(self.assign(call, number)),
            ("PATCH" | "DELETE", ["issues", "comments", id]) => self.own_comment(call, id),
            ("GET", ["collaborators", login, "permission"]) => Some(self.permission(call, login)),
            ("POST" | "PATCH" | "DELETE", ["labels", ..]) => self.needs(call, "write"),
            (_, ["pulls", rest @ ..]) => self.pulls(call, rest),
            ("POST", ["hooks"]) => Some(self.make_hook(call)),
            ("GET", ["hooks", ..]) => Some(self.show_hooks(call)),
            _ => self.extra(call, &words),
        }
    }

    /// The level of somebody in a repository. Everybody may read a public one.
    pub fn level(&self, repo: &str, login: &str) -> String {
        let (owner, _) = repo.split_once('/').unwrap_or_default();
        if login.ends_with("[bot]") {
            return "write".to_owned();
        }
        let said = self.ask(
            owner,
            "GET",
            &format!("/repos/{repo}/collaborators/{login}/permission"),
            None,
        );
        if said.status == 404 {
            let is_somebody =
                self.ask(owner, "GET", &format!("/users/{login}"), None).status == 200;
            return if is_somebody { "read" } else { "none" }.to_owned();
        }
        said.value()["role_name"].as_str().unwrap_or("none").to_owned()
    }

    pub fn may(&self, call: &Call<'_>, level: &str) -> bool {
        let rank = |name: &str| {
            ["none", "read", "triage", "write", "maintain", "admin"]
                .iter()
                .position(|known| *known == name)
        };
        call.login.is_empty() || rank(&self.level(&call.repo, call.login)) >= rank(level)
    }

    pub fn needs(&self, call: &Call<'_>, level: &str) -> Option<Response> {
        let mut refusal = Call::refuse(403, "Must have admin rights to Repository.");
        refusal.set("x-accepted-github-permissions", "issues=write");
        (!self.may(call, level)).then_some(refusal)
    }

    fn permission(&self, call: &Call<'_>, login: &str) -> Response {
        if let Some(refused) = self.needs(call, "write") {
            return Response {
                body: br#"{"message":"Must have push access to view collaborator permission."}"#
                    .to_vec(),
                ..refused
            };
        }
        let role = self.level(&call.repo, login);
        if role == "none" {
            return Call::refuse(404, "Not Found");
        }
        // The old word hides triage and maintain.
        let permission = match role.as_str() {
            "triage" => "read",
            "maintain" => "write",
            other => other,
        };
        Response::json(
            200,
            &json!({ "permission": permission, "role_name": role, "user": { "login": login, "type": "User" } }),
        )
    }

    /// The repository's own spelling of a label, which GitHub finds in any case.
    fn spelling(&self, repo: &str, name: &str) -> String {
        let (owner, _) = repo.split_once('/').unwrap_or_default();
        let labels = self.all(owner, &format!("/repos/{repo}/labels"));
        let known = labels
            .iter()
            .filter_map(|label| label["name"].as_str())
            .find(|known| known.to_lowercase() == name.to_lowercase());
        known.unwrap_or(name).to_owned()
    }

    fn spelled(&self, repo: &str, labels: &Value) -> Result<Vec<String>, Response> {
        let name = |label: &Value| label["name"].as_str().or(label.as_str()).map(str::to_owned);
        let names: Vec<String> = labels.as_array().into_iter().flatten().filter_map(name).collect();
        if names.iter().any(|name| name.chars().count() > LABEL) {
            return Err(Call::refuse(
                422,
                "Validation Failed: name is too long (maximum is 50 characters)",
            ));
        }
        Ok(names.iter().map(|name| self.spelling(repo, name)).collect())
    }

    fn create_issue(&mut self, call: &Call<'_>) -> Response {
        let mut body = call.request.json();
        let names = match self.spelled(&call.repo, &body["labels"]) {
            Ok(names) => names,
            Err(refused) => return refused,
        };
        let may_label = self.may(call, "triage");
        if let Some(fields) = body.as_object_mut() {
            fields.remove("labels");
            let assignees = fields.remove("assignees");
            if let Some(assignees) = assignees.filter(|_| may_label) {
                fields.insert("assignees".to_owned(), self.assignable(&call.repo, &assignees));
            }
        }
        let made = self.pass(call, &body);
        if !made.is_fine() || names.is_empty() || !may_label {
            return made;
        }
        // The labels come by a call of their own, so that each has an event.
        let target = format!("/repos/{}/issues/{}", call.repo, made.value()["number"]);
        self.as_caller(
            call,
            "POST",
            &format!("{target}/labels"),
            Some(&json!({ "labels": names })),
        );
        Response { status: 201, ..self.as_caller(call, "GET", &target, None) }
    }

    fn edit_issue(&mut self, call: &Call<'_>, number: &str) -> Option<Response> {
        let body = call.request.json();
        let author = self
            .as_caller(call, "GET", &format!("/repos/{}/issues/{number}", call.repo), None)
            .value();
        let is_author = author["user"]["login"] == call.login;
        if !is_author && !self.may(call, "triage") {
            return Some(Call::refuse(403, "Must have admin rights to Repository."));
        }
        match self.spelled(&call.repo, &body["labels"]) {
            Err(refused) => return Some(refused),
            Ok(_) if body["state_reason"] == "duplicate" => {
                self.reasons.insert(format!("{}#{number}", call.repo), "duplicate".to_owned());
            }
            Ok(_) if body.get("state").is_some() => {
                drop(self.reasons.remove(&format!("{}#{number}", call.repo)));
            }
            Ok(_) => {}
        }
        None
    }

    fn add_labels(&mut self, call: &Call<'_>) -> Response {
        if let Some(refused) = self.needs(call, "triage") {
            return refused;
        }
        let body = call.request.json();
        match self.spelled(&call.repo, body.get("labels").unwrap_or(&body)) {
            Ok(names) => self.pass(call, &json!({ "labels": names })),
            Err(refused) => refused,
        }
    }

    fn remove_label(&mut self, call: &Call<'_>, number: &str, name: &str) -> Response {
        if let Some(refused) = self.needs(call, "triage") {
            return refused;
        }
        let name = encoded(&self.spelling(&call.repo, name));
        let gone = self.as_caller(
            call,
            "DELETE",
            &format!("/repos/{}/issues/{number}/labels/{name}", call.repo),
            None,
        );
        if gone.status == 404 { Call::refuse(404, "Label does not exist") } else { gone }
    }

    fn assignable(&self, repo: &str, logins: &Value) -> Value {
        let may = |login: &&Value| {
            let level = self.level(repo, login.as_str().unwrap_or_default());
            !matches!(level.as_str(), "none" | "read")
        };
        logins.as_array().into_iter().flatten().filter(may).cloned().collect()
    }

    /// Who may not be assigned is left out without a word, and so is everything of a caller without rights.
    fn assign(&mut self, call: &Call<'_>, number: &str) -> Response {
        if !self.may(call, "triage") {
            return self.as_caller(
                call,
                "GET",
                &format!("/repos/{}/issues/{number}", call.repo),
                None,
            );
        }
        let logins = self.assignable(&call.repo, &call.request.json()["assignees"]);
        let mut done = self.pass(call, &json!({ "assignees": logins }));
        if done.status == 200 && call.request.method == "POST" {
            done.status = 201;
        }
        done
    }

    /// A commit without a date has GitHub's own.
    fn make_commit(&mut self, call: &Call<'_>) -> Response {
        self.mirror(&call.repo);
        let mut body = call.request.json();
        let date = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(self.ahead);
        if body["committer"].is_null() {
            let date = date.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let email = format!("{}@example.org", call.login);
            body["committer"] = json!({ "name": call.login, "email": email, "date": date });
            body["author"] = body["committer"].clone();
        }
        self.pass(call, &body)
    }

    fn own_comment(&mut self, call: &Call<'_>, id: &str) -> Option<Response> {
        let known = self
            .as_caller(call, "GET", &format!("/repos/{}/issues/comments/{id}", call.repo), None)
            .value();
        if known["user"]["login"] != call.login {
            return self.needs(call, "write");
        }
        None
    }

    /// The same call with another body.
    pub fn pass(&self, call: &Call<'_>, body: &Value) -> Response {
        let mut request = call.request.clone();
        request.headers.retain(|(name, _)| name != "content-type");
        request.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        request.body = body.to_string().into_bytes();
        self.send(&request)
    }

    /// Another call with the caller's own token.
    pub fn as_caller(
        &self,
        call: &Call<'_>,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> Response {
        let mut request = Request::new(method, target, body);
        request.headers.extend(
            call.request.headers.iter().filter(|(name, _)| name == "authorization").cloned(),
        );
        self.send(&request)
    }

    /// Issues that were moved or deleted.
    fn left(&self, call: &Call<'_>) -> Option<Response> {
        let number = call.number().filter(|_| call.rest[0] == "issues")?;
        let name = format!("{}#{number}", call.repo);
        if self.gone.contains(&name) {
            return Some(Call::refuse(410, "This issue was deleted"));
        }
        let (repo, number) = self.moved.get(&name)?.split_once('#')?;
        let mut moved = Call::refuse(301, "Moved Permanently");
        moved.set("location", format!("{}/repos/{repo}/issues/{number}", self.url));
        Some(moved)
    }
}

fn oversized(request: &Request) -> Option<Response> {
    let body = request.is_write().then(|| request.json())?;
    let length = |name: &str| body[name].as_str().map_or(0, |text| text.chars().count());
    if length("body") > BODY {
        return Some(Call::refuse(
            422,
            "Validation Failed: body is too long (maximum is 65536 characters)",
        ));
    }
    (length("title") > TITLE).then(|| {
        Call::refuse(422, "Validation Failed: title is too long (maximum is 256 characters)")
    })
}

/// Cuts the thousandths off the times, which GitHub does not have.
fn in_seconds(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(in_seconds),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name.ends_with("_at") && text.len() == 24 => {
                        *text = format!("{}Z", &text[..19]);
                    }
                    other => in_seconds(other),
                }
            }
        }
        _ => {}
    }
}
