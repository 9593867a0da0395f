//! A bare git repository as the emulator sees it: every branch that was pushed there, with the same commits.

use crate::http::Response;
use crate::world::World;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

impl World {
    /// Takes over what was pushed since the last look.
    pub fn mirror(&mut self, repo: &str) {
        let Some(dir) = self.git.get(repo).cloned() else { return };
        for line in
            git(&dir, &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"]).lines()
        {
            let Some((sha, name)) = line.split_once(' ') else { continue };
            let short = name.trim_start_matches("refs/");
            let known = self.owned(repo, "GET", &format!("git/ref/{short}"), None);
            if known.value()["object"]["sha"] == sha {
                continue;
            }
            self.take(repo, &dir, sha);
            if known.is_fine() {
                // A merge on GitHub that nobody fetched is newer than the branch that was pushed.
                let theirs = known.value()["object"]["sha"].as_str().unwrap_or_default().to_owned();
                let is_pushed = self
                    .owned(repo, "GET", &format!("compare/{sha}...{theirs}"), None)
                    .value()["status"]
                    != "ahead";
                if is_pushed {
                    self.owned(
                        repo,
                        "PATCH",
                        &format!("git/refs/{short}"),
                        Some(&json!({ "sha": sha, "force": true })),
                    );
                }
            } else {
                self.owned(repo, "POST", "git/refs", Some(&json!({ "ref": name, "sha": sha })));
            }
            self.follow(repo, short.trim_start_matches("heads/"), sha);
        }
    }

    pub fn owned(&self, repo: &str, method: &str, rest: &str, body: Option<&Value>) -> Response {
        let (owner, _) = repo.split_once('/').unwrap_or_default();
        self.ask(owner, method, &format!("/repos/{repo}/{rest}"), body)
    }

    /// An open pull request goes with its branch.
    fn follow(&mut self, repo: &str, branch: &str, sha: &str) {
        let (owner, _) = repo.split_once('/').unwrap_or_default();
        for pull in self.all(owner, &format!("/repos/{repo}/pulls?state=open")) {
            if pull["head"]["ref"] == branch {
                self.heads.insert(format!("{repo}#{}", pull["number"]), sha.to_owned());
            }
        }
    }

    /// Makes the commits up to this one, with their trees and files, oldest first.
    fn take(&self, repo: &str, dir: &Path, tip: &str) {
        for sha in git(dir, &["rev-list", "--reverse", "--topo-order", tip]).lines() {
            if self.owned(repo, "GET", &format!("git/commits/{sha}"), None).is_fine() {
                continue;
            }
            let mut entries = Vec::new();
            for line in git(dir, &["ls-tree", "-r", sha]).lines() {
                let (meta, path) = line.split_once('\t').unwrap();
                let words: Vec<&str> = meta.split(' ').collect();
                let content = git(dir, &["cat-file", "blob", words[2]]);
                entries.push(
                    json!({ "path": path, "mode": words[0], "type": "blob", "content": content }),
                );
            }
            let tree =
                self.owned(repo, "POST", "git/trees", Some(&json!({ "tree": entries }))).value();
            let shown = git(dir, &["show", "-s", "--format=%P%n%an%n%ae%n%aI%n%cn%n%ce%n%cI", sha]);
            let shown: Vec<&str> = shown.split('\n').collect();
            let raw = git(dir, &["cat-file", "commit", sha]);
            let message = raw.split_once("\n\n").map(|(_, message)| message).unwrap_or_default();
            let parents: Vec<&str> = shown[0].split(' ').filter(|sha| !sha.is_empty()).collect();
            let made = json!({ "message": message, "tree": tree["sha"], "parents": parents,
                "author": { "name": shown[1], "email": shown[2], "date": shown[3] },
                "committer": { "name": shown[4], "email": shown[5], "date": shown[6] } });
            let made = self.owned(repo, "POST", "git/commits", Some(&made)).value();
            assert_eq!(made["sha"], sha, "the emulator makes another commit of the same: {made}");
        }
    }
}

/// Runs git in a bare repository, as it is.
fn git(dir: &Path, args: &[&str]) -> String {
    let output =
        Command::new("git").arg("-C").arg(dir).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
