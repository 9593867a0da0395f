//! Gates that need no command of the project: comity looks at the commits itself.

use crate::git::Git;
use crate::observer::{GitObserver, HandedIn};
use crate::secrets;
use comity_core::decide::{BuiltIn, examine, land_words};
use comity_core::observed::WorkSeen;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_engine::{Caller, Service};
use comity_protocol::collab::check_commit_message;
use std::path::Path;

/// Commits whose messages are looked at.
const MESSAGES_MAX: &str = "--max-count=500";

/// What the checks that are built in look at.
pub(crate) struct Checked<'a> {
    pub service: &'a Service,
    pub caller: &'a Caller,
    pub observer: &'a GitObserver,
    pub policy: &'a Policy,
    pub task: &'a Task,
    pub tree: &'a Path,
    /// The work that was handed in, which checks that are built in look at.
    pub work: &'a str,
    /// The commit that commands run on.
    pub commit: &'a str,
}

impl Checked<'_> {
    /// Runs a check; returns what is wrong, a line each.
    pub fn run(&self, gate: BuiltIn) -> Result<Vec<String>, Refusal> {
        if self.task.deliverable != Deliverable::Code {
            return Ok(Vec::new());
        }
        let is_snapshot = self.task.constraints.no_git_commit;
        let (commit, branch) = (self.work.to_owned(), self.task.branch.clone());
        let work = HandedIn { commit, branch, is_snapshot, base: None };
        let work = self.observer.seen(self.task, &work)?;
        match gate {
            BuiltIn::Secrets => self.secrets(&work),
            BuiltIn::Constraints => {
                let found = examine(self.task, &work, None, self.policy);
                Ok(found.into_iter().map(|violation| violation.message).collect())
            }
            BuiltIn::Guard => self.leases(&work),
            BuiltIn::CommitTemplate => self.messages(&work),
        }
    }

    fn secrets(&self, work: &WorkSeen) -> Result<Vec<String>, Refusal> {
        let found = secrets::added(&Git::at(self.tree), &[&work.base, &work.commit])
            .ok_or_else(|| unseen("git could not tell which lines were added"))?;
        let words = found.into_iter().map(|one| {
            format!("{}:{}: this line looks like a secret ({})", one.path, one.line, one.rule)
        });
        Ok(words.collect())
    }

    fn leases(&self, work: &WorkSeen) -> Result<Vec<String>, Refusal> {
        let paths: Vec<&str> = work.changed_in_round().collect();
        let found =
            self.service.land_violations(self.caller, self.task, self.policy.land, &paths)?;
        Ok(found.iter().map(|one| land_words(one, std::slice::from_ref(one))).collect())
    }

    fn messages(&self, work: &WorkSeen) -> Result<Vec<String>, Refusal> {
        let range = format!("{}..{}", work.base, work.commit);
        let args =
            ["log", "--no-merges", MESSAGES_MAX, "-z", "--format=%h%n%B", "--end-of-options"];
        let output = Git::at(self.tree)
            .output(&[&args[..], &[range.as_str()]].concat())
            .filter(|output| output.status.success())
            .ok_or_else(|| unseen("git could not list the commits"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut found = Vec::new();
        for entry in text.split('\0').filter(|entry| !entry.is_empty()) {
            let (commit, message) = entry.split_once('\n').unwrap_or((entry, ""));
            let problems = check_commit_message(message);
            found.extend(
                problems.into_iter().map(|(n, text)| format!("{commit}, line {n}: {text}")),
            );
        }
        Ok(found)
    }
}

fn unseen(why: &str) -> Refusal {
    Refusal::new(Code::Unobserved, why)
}
