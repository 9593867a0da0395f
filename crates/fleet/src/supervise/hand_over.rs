//! The branch of handed-in work leaves: it is pushed, and gets its pull request. It is tried once; what came of it is a note on
//! the task.

use super::look::{CHECK_ENV, CHECK_WITHIN, quoted};
use super::{Supervisor, Taken};
use crate::elsewhere::catch_up;
use crate::launch::program_exists;
use crate::workspace::base_commit;
use comity_api::{ById, op};
use comity_core::command::{Command, RunChange};
use comity_core::ids::RunId;
use comity_core::refusal::{Code, Refusal};
use comity_core::supervise::{HandOver, Step, hand_over};
use comity_core::task::Task;
use comity_engine::Caller;
use comity_guard::child::{self, End, Spec};
use comity_guard::git::{Git, Way, carry};
use comity_project::supervisor::PR_CREATE;
use serde_json::Value;
use std::cell::Cell;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How much of what a command printed is kept, in bytes.
const OUTPUT_BYTES: usize = 8 * 1024;
/// How often the supervisor says that it lives while a command runs.
const BEAT: Duration = Duration::from_secs(5);

/// What came of a branch: its pull request, and what was done in words.
struct Left {
    pr: Option<String>,
    text: String,
}

impl Supervisor<'_> {
    pub(super) fn hand_over(
        &self,
        step: &Step,
        run: RunId,
        taken: &mut Taken,
    ) -> Result<(), Refusal> {
        let caller = Caller { fence: None, key: None, ..self.caller.clone() };
        let id = step.task.as_ref().map(ToString::to_string).unwrap_or_default();
        let task = self.service.task(&caller, &id)?;
        let left = match self.carry(run, &task) {
            Ok(left) => left,
            Err(refusal) if refusal.code == Code::StoreUnavailable => return Err(refusal),
            Err(refusal) => {
                let text = format!("the branch of {run} stays here: {}", refusal.message);
                Left { pr: None, text }
            }
        };
        let change = RunChange::HandOver { pr: left.pr, text: left.text };
        self.write(step, vec![Command::RunChange { id: run.to_string(), change }], taken)
    }

    fn carry(&self, run: RunId, task: &Task) -> Result<Left, Refusal> {
        let (context, id) = (self.context, task.id.to_string());
        let caller = Caller { fence: None, key: None, ..self.caller.clone() };
        if let Some(why) = catch_up(context, &self.service, &caller, Some(&id))? {
            return Err(Refusal::new(Code::CouldNotRun, why));
        }
        let shown = self.service.call::<op::RunShow>(&caller, ById { id: run.to_string() })?.run;
        let could_not = |why: String| Refusal::new(Code::CouldNotRun, why);
        let git = Git::at(&context.root.dir);
        let head = shown.head.as_deref().and_then(|head| git.commit(head));
        let head = head.ok_or_else(|| could_not(format!("{run} left no commit on this host")))?;
        let branch = task.branch.clone().or(shown.branch).unwrap_or_else(|| format!("run/{run}"));
        if context.config.protected_branches().contains(&branch) {
            return Err(could_not(format!("{branch} is protected")));
        }
        let files = self.changed(&git, &head)?;
        let (view, _) = self.service.supervision(&caller, &self.settings)?;
        let way = view.runs.iter().find(|known| known.id == run);
        let way =
            way.map_or(HandOver::PullRequest, |run| hand_over(run, &files, &self.settings.push_ok));
        let remote = context.config.elsewhere()?.remote;
        if git.line(&["remote", "get-url", &remote]).is_none() {
            return Err(could_not(format!("there is no remote {remote}")));
        }
        let refs = [format!("{head}:refs/heads/{branch}")];
        carry(&context.root.dir, &remote, Way::There, &refs)
            .map_err(|why| could_not(format!("git could not push {branch} to {remote}: {why}")))?;
        let pushed = format!("pushed {branch} of {run} to {remote}");
        if let Some(pr) = &task.pr {
            return Ok(Left { pr: None, text: format!("{pushed}; its pull request is {pr}") });
        }
        if way == HandOver::Push {
            return Ok(Left { pr: None, text: pushed });
        }
        Ok(match self.open(task, &branch, &head) {
            Ok(Some(pr)) => {
                Left { text: format!("{pushed}, and opened the pull request {pr}"), pr: Some(pr) }
            }
            Ok(None) => {
                let text = format!("{pushed}; the pull request was opened without an address");
                Left { pr: None, text }
            }
            Err(refusal) => {
                let text = format!("{pushed}; there is no pull request: {}", refusal.message);
                Left { pr: None, text }
            }
        })
    }

    /// Lists what a commit changes against the base branch.
    fn changed(&self, git: &Git, head: &str) -> Result<Vec<String>, Refusal> {
        let base = base_commit(self.context, None)?;
        let from = git.line(&["merge-base", &base, head]).unwrap_or(base);
        let changes = comity_guard::diff::changes(git, &from, head).unwrap_or_default();
        Ok(changes.into_iter().map(|change| change.file.path).collect())
    }

    /// Opens a pull request by the command of the settings, else by comity itself, else by GitHub's own program. Returns its address.
    fn open(&self, task: &Task, branch: &str, commit: &str) -> Result<Option<String>, Refusal> {
        let (context, environment) = (self.context, self.context.environment());
        let target = context.config.merging()?.target;
        let base = target.or_else(|| context.config.base_branch().map(str::to_owned));
        let base = base.unwrap_or_else(|| "main".to_owned());
        let passed = |names: &[&str]| -> Vec<(OsString, OsString)> {
            let all = names.iter().flat_map(|name| environment.like(name));
            all.map(|(name, value)| (name.into(), value.into())).collect()
        };
        let words = |all: &[&str]| all.iter().map(OsString::from).collect::<Vec<_>>();
        let id = task.id.to_string();
        let (words, env) = if let Some(command) = context.config.pr_create() {
            context.require_trust(PR_CREATE, &command)?;
            let filled = [
                ("{task}", id.as_str()),
                ("{branch}", branch),
                ("{base}", &base),
                ("{commit}", commit),
                ("{title}", &task.title),
            ];
            let command = filled
                .iter()
                .fold(command, |command, (name, value)| command.replace(name, &quoted(value)));
            (words(&["sh", "-c", &command]), passed(&CHECK_ENV))
        } else if context.config.github()?.repository.is_some() {
            let (root, store) = (name_of(context), context.store_url());
            let program = self.program.to_string_lossy().into_owned();
            let place = ["--root", &root, "--store", &store, "--repo", context.repo.as_str()];
            let own = ["--as", self.caller.actor.as_str(), "--json", "github", "pr", &id];
            (words(&[&[program.as_str()], &place[..], &own[..]].concat()), passed(&["*"]))
        } else if program_exists(environment, &context.root.dir, "gh") {
            let body = format!("Task {id}");
            let args = ["gh", "pr", "create", "--head", branch, "--base", &base];
            let text = ["--title", task.title.as_str(), "--body", &body];
            (words(&[&args[..], &text[..]].concat()), passed(&CHECK_ENV))
        } else {
            let why = "nothing here opens one; set [pr] create in .comity/config.toml";
            return Err(Refusal::new(Code::CouldNotRun, why));
        };
        let (end, output) = self.runs(words, env)?;
        if end != End::Exited(0) {
            let last = output.lines().rev().find(|line| !line.trim().is_empty());
            let why = format!("the command ended with {end:?}: {}", last.unwrap_or_default());
            return Err(Refusal::new(Code::CouldNotRun, why));
        }
        Ok(address(&output))
    }

    /// Runs a command in the root; the seat is kept meanwhile.
    fn runs(
        &self,
        words: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    ) -> Result<(End, String), Refusal> {
        let spec = Spec {
            program: self.program.clone(),
            words,
            dir: self.context.root.dir.clone(),
            env,
            timeout: CHECK_WITHIN,
            output_max: OUTPUT_BYTES,
        };
        let beat = Cell::new(Instant::now());
        let ended = child::run(&spec, &AtomicBool::new(false), &mut |_, _| {
            if beat.get().elapsed() >= BEAT {
                beat.set(Instant::now());
                let _ = self.heard();
            }
        });
        let ended = ended
            .map_err(|error| Refusal::new(Code::CouldNotRun, format!("a command: {error}")))?;
        Ok((ended.end, ended.output.text().0))
    }
}

fn name_of(context: &comity_project::Context) -> String {
    context.root.dir.to_string_lossy().into_owned()
}

/// Finds the address of a pull request in what a command printed: the last word that is one.
fn address(output: &str) -> Option<String> {
    let last = output.lines().rev().find(|line| !line.trim().is_empty())?;
    let told = serde_json::from_str::<Value>(last).ok();
    let told = told.and_then(|answer| answer.get("url")?.as_str().map(str::to_owned));
    let is_address = |word: &&str| word.starts_with("https://") || word.starts_with("http://");
    told.or_else(|| output.split_whitespace().rev().find(is_address).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_pull_request_is_found_in_what_a_command_printed() {
        let found = |text: &str| address(text);
        let url = Some("https://x.example/pull/7".to_owned());
        assert_eq!(found("Creating pull request\nhttps://x.example/pull/7\n"), url);
        assert_eq!(found("{\"task\":\"T1\",\"url\":\"https://x.example/pull/7\"}\n"), url);
        assert_eq!(found("opened\n"), None);
    }
}
