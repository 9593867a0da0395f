//! Pull requests that go with their branch: their newest commit, what they change, reviews of that commit, and merges.

use crate::http::Response;
use crate::world::{Call, World};
use serde_json::{Value, json};

/// The words that close an issue when a pull request is merged.
const CLOSES: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

impl World {
    /// Calls below `/repos/o/n/pulls`.
    pub fn pulls(&mut self, call: &Call<'_>, rest: &[&str]) -> Option<Response> {
        self.mirror(&call.repo);
        match (call.request.method.as_str(), rest) {
            ("POST", []) => Some(self.open_pull(call)),
            ("GET", [] | [_]) => {
                let mut said = self.send(call.request);
                let mut value = said.value();
                match &mut value {
                    Value::Array(pulls) => {
                        pulls.iter_mut().for_each(|pull| self.with_head(&call.repo, pull));
                    }
                    pull => self.with_head(&call.repo, pull),
                }
                said.body = value.to_string().into_bytes();
                Some(said)
            }
            ("GET", [number, "files"]) => Some(self.files(call, number)),
            ("POST", [number, "reviews"]) => Some(self.review(call, number)),
            ("PUT", [number, "merge"]) => Some(self.merge(call, number)),
            _ => None,
        }
    }

    fn with_head(&self, repo: &str, pull: &mut Value) {
        let name = format!("{repo}#{}", pull["number"]);
        if let Some(sha) = self.heads.get(&name) {
            pull["head"]["sha"] = sha.as_str().into();
        }
        if let Some(sha) = self.merges.get(&name) {
            pull["merge_commit_sha"] = sha.as_str().into();
        }
    }

    fn pull(&self, call: &Call<'_>, number: &str) -> Value {
        let mut pull = self.owned(&call.repo, "GET", &format!("pulls/{number}"), None).value();
        self.with_head(&call.repo, &mut pull);
        pull
    }

    fn open_pull(&mut self, call: &Call<'_>) -> Response {
        let body = call.request.json();
        let head = body["head"].as_str().unwrap_or_default();
        let (owner, _) = call.repo.split_once('/').unwrap_or_default();
        let branch = head.split_once(':').map_or(head, |(_, branch)| branch);
        if !self.owned(&call.repo, "GET", &format!("git/ref/heads/{branch}"), None).is_fine() {
            return Call::refuse(422, "Validation Failed: head is invalid");
        }
        let open = self.all(owner, &format!("/repos/{}/pulls?state=open", call.repo));
        if open
            .iter()
            .any(|pull| pull["head"]["ref"] == branch && pull["base"]["ref"] == body["base"])
        {
            return Call::refuse(
                422,
                &format!("Validation Failed: A pull request already exists for {owner}:{branch}."),
            );
        }
        self.pass(call, &body)
    }

    /// The emulator makes the names of the files up; a comparison knows them.
    fn files(&mut self, call: &Call<'_>, number: &str) -> Response {
        let pull = self.pull(call, number);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let compared =
            format!("compare/{}...{}", text(&pull["base"]["ref"]), text(&pull["head"]["sha"]));
        let files = self.owned(&call.repo, "GET", &compared, None).value()["files"].clone();
        self.page(call, files.as_array().map(Vec::as_slice).unwrap_or_default())
    }

    fn review(&mut self, call: &Call<'_>, number: &str) -> Response {
        let mut body = call.request.json();
        let pull = self.pull(call, number);
        let verdict = body["event"].as_str().unwrap_or_default();
        if pull["user"]["login"] == call.login && verdict != "COMMENT" {
            return Call::refuse(
                422,
                "Unprocessable Entity: Can not approve your own pull request",
            );
        }
        if body["commit_id"].is_null() {
            body["commit_id"] = pull["head"]["sha"].clone();
        }
        let mut done = self.pass(call, &body);
        done.status = if done.status == 201 { 200 } else { done.status };
        done
    }

    fn merge(&mut self, call: &Call<'_>, number: &str) -> Response {
        if let Some(refused) = self.needs(call, "write") {
            return refused;
        }
        let pull = self.pull(call, number);
        let mut body = call.request.json();
        if body["sha"].as_str().is_some_and(|sha| pull["head"]["sha"] != sha) {
            return Call::refuse(409, "Head branch was modified. Review and try the merge again.");
        }
        body = if body.is_object() { body } else { json!({}) };
        body.as_object_mut().unwrap().remove("sha");
        let base = format!("heads/{}", pull["base"]["ref"].as_str().unwrap_or_default());
        let before = self.owned(&call.repo, "GET", &format!("git/ref/{base}"), None).value()["object"]["sha"].clone();
        let mut done = self.pass(call, &body);
        if !done.is_fine() {
            return done;
        }
        // The emulator merges what the branches were when the pull request was opened.
        let head = &pull["head"]["sha"];
        let tree = self
            .owned(
                &call.repo,
                "GET",
                &format!("git/commits/{}", head.as_str().unwrap_or_default()),
                None,
            )
            .value()["tree"]["sha"]
            .clone();
        let parents =
            if body["merge_method"] == "squash" { json!([before]) } else { json!([before, head]) };
        let made = json!({ "message": format!("Merge pull request #{number}"), "tree": tree, "parents": parents });
        let made =
            self.owned(&call.repo, "POST", "git/commits", Some(&made)).value()["sha"].clone();
        self.owned(
            &call.repo,
            "PATCH",
            &format!("git/refs/{base}"),
            Some(&json!({ "sha": made, "force": true })),
        );
        self.merges.insert(
            format!("{}#{number}", call.repo),
            made.as_str().unwrap_or_default().to_owned(),
        );
        let mut said = done.value();
        said["sha"] = made;
        done.body = said.to_string().into_bytes();
        self.close_issues(call, pull["body"].as_str().unwrap_or_default());
        done
    }

    /// GitHub closes the issues that a merged pull request says it closes.
    fn close_issues(&self, call: &Call<'_>, text: &str) {
        let text = text.to_lowercase();
        for pair in text.split_whitespace().collect::<Vec<_>>().windows(2) {
            let number = pair[1]
                .trim_end_matches(['.', ',', ';'])
                .strip_prefix('#')
                .and_then(|text| text.parse::<u64>().ok());
            if let Some(number) = number.filter(|_| CLOSES.contains(&pair[0])) {
                let target = format!("/repos/{}/issues/{number}", call.repo);
                self.as_caller(
                    call,
                    "PATCH",
                    &target,
                    Some(&json!({ "state": "closed", "state_reason": "completed" })),
                );
            }
        }
    }
}
