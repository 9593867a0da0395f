//! What the supervisor sees beyond the store: checks of pull requests, branches, and files that everybody reads.

use crate::slots::taken_elsewhere;
use comity_core::ids::TaskId;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{Run, RunState, Stage};
use comity_core::status::Status;
use comity_core::supervise::{Ci, Table, View, waits_for_hand_over};
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_guard::child::{self, End, Spec};
use comity_guard::git::Git;
use comity_project::Context;
use comity_project::supervisor::{CI_CHECK, CiCheck};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long one look at the checks of a pull request may take.
pub(super) const CHECK_WITHIN: Duration = Duration::from_secs(120);
/// What a command that asks for checks gets of the environment.
pub(super) const CHECK_ENV: [&str; 9] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "XDG_CONFIG_HOME",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_HOST",
    "TMPDIR",
];
/// How often checks are asked for that were pending.
const ASK_AGAIN: Millis = Millis::from_secs(20);
/// The status of a check that is not decided yet.
const PENDING: i32 = 8;
/// How much of a file that everybody reads is looked at, in bytes.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// What was seen before, so that it is not asked for again.
#[derive(Default)]
pub(super) struct Eyes {
    checks: BTreeMap<(TaskId, Option<String>), (Ci, String, Timestamp)>,
}

impl Eyes {
    pub(super) fn look(
        &mut self,
        context: &Context,
        program: &Path,
        table: &Table,
        view: &mut View,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if let Some(check) = context.config.ci_check()? {
            // A branch is pushed before anybody asks for its checks.
            let waits = |task: &&Task| {
                task.status == Status::Review && !waits_for_hand_over(task, &view.runs)
            };
            let waiting: Vec<&Task> = view.tasks.iter().filter(waits).collect();
            let mut seen = BTreeMap::new();
            for task in waiting {
                seen.insert(task.id.clone(), self.check(context, program, &check, task, now)?);
            }
            view.seen.ci = seen;
        }
        view.seen.live_elsewhere = taken_elsewhere(context)?;
        let git = Git::at(&context.root.dir);
        let diverged = view.runs.iter().filter(|run| is_last(view, run) && has_diverged(&git, run));
        view.seen.diverged = diverged.map(|run| run.id).collect();
        view.seen.known_texts = known_texts(&context.root.dir, &table.never);
        Ok(())
    }

    fn check(
        &mut self,
        context: &Context,
        program: &Path,
        check: &CiCheck,
        task: &Task,
        now: Timestamp,
    ) -> Result<(Ci, String), Refusal> {
        let place = (task.id.clone(), task.commit.clone());
        if let Some((ci, tail, at)) = self.checks.get(&place)
            && (*ci != Ci::Pending || now.since(*at) < ASK_AGAIN)
        {
            return Ok((*ci, tail.clone()));
        }
        context.require_trust(CI_CHECK, &check.command)?;
        let (ci, tail) = ask(context, program, check, task)?;
        self.checks.insert(place, (ci, tail.clone(), now));
        Ok((ci, tail))
    }
}

fn ask(
    context: &Context,
    program: &Path,
    check: &CiCheck,
    task: &Task,
) -> Result<(Ci, String), Refusal> {
    let filled = [("{pr}", &task.pr), ("{branch}", &task.branch), ("{commit}", &task.commit)];
    let mut command = check.command.clone();
    for (name, value) in filled {
        command = command.replace(name, &quoted(value.as_deref().unwrap_or_default()));
    }
    let passed = CHECK_ENV.iter();
    let env =
        passed.filter_map(|name| Some(((*name).into(), context.environment().own(name)?.into())));
    let spec = Spec {
        program: program.to_owned(),
        words: ["sh", "-c", &command].map(OsString::from).to_vec(),
        dir: context.root.dir.clone(),
        env: env.collect(),
        timeout: CHECK_WITHIN,
        output_max: check.tail,
    };
    let ended = child::run(&spec, &AtomicBool::new(false), &mut |_, _| {}).map_err(|error| {
        Refusal::new(Code::CouldNotRun, format!("cannot ask for checks: {error}"))
    })?;
    let (tail, _) = ended.output.text();
    Ok(match ended.end {
        End::Exited(0) => (Ci::Pass, tail),
        End::Exited(PENDING) | End::TimedOut | End::Stopped => (Ci::Pending, tail),
        End::Exited(_) => (Ci::Fail, tail),
    })
}

/// A value of others stands in a command as one word.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:#".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn is_last(view: &View, run: &Run) -> bool {
    let failed = matches!(run.state, RunState::Failed | RunState::Lost);
    let later = |other: &Run| other.task == run.task && other.id > run.id;
    failed && run.stage == Stage::Develop && !view.runs.iter().any(later)
}

/// Tells whether a commit that a run made is not in its branch any more.
fn has_diverged(git: &Git, run: &Run) -> bool {
    let Some(branch) = &run.branch else { return false };
    let Some(tip) = git.branch_commit(branch) else { return false };
    let behind = |sha: &str| {
        let asked = git.output(&["merge-base", "--is-ancestor", sha, &tip]);
        asked.is_some_and(|output| output.status.success())
    };
    run.milestones.iter().filter(|one| one.verified).any(|one| !behind(&one.sha))
}

fn known_texts(root: &Path, names: &[String]) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let fits = |name: &str| {
        names.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        })
    };
    let files = entries.flatten().filter(|entry| fits(&entry.file_name().to_string_lossy()));
    let texts = files.filter_map(|entry| {
        comity_project::plain_file::read_text(&entry.path(), FILE_BYTES_MAX).ok()
    });
    texts.collect()
}
