//! Work that is handed in, as a door saw it, against what the task allows.

use super::Rule;
use crate::command::{Command, FileAction, ReportedFile, Submission};
use crate::facts::Ruling;
use crate::observed::{FileChange, Observed, SharedWith, WorkSeen};
use crate::pattern::{Pattern, RepoPath};
use crate::policy::{Policy, Undeclared};
use crate::refusal::{Code, Refusal};
use crate::task::{Deliverable, Task};
use serde::Serialize;
use serde_json::json;

/// The gate whose waiver lets new dependencies pass.
pub const DEPS_GATE: &str = "deps";

/// Violations, and files of one, that are repeated in the message itself; all of them are in the details.
const SAID_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// `max_files`, `no_git_commit`, `no_new_deps`, `allow_delete`, `files_modified` or `branch`.
    pub constraint: &'static str,
    pub message: String,
    pub path: Option<String>,
}

impl Violation {
    fn new(constraint: &'static str, path: Option<&str>, message: impl Into<String>) -> Violation {
        Violation { constraint, message: message.into(), path: path.map(str::to_owned) }
    }
}

impl Rule<'_> {
    /// Returns what was seen of the work, or refuses; none where there is nothing to see.
    pub(super) fn work_seen(&self, task: &Task) -> Ruling<Option<&WorkSeen>> {
        let base = task.claim.as_ref().and_then(|claim| claim.base.as_ref());
        let unseen = !self.policy.has_git && base.is_none();
        if task.deliverable != Deliverable::Code || unseen {
            return Ok(None);
        }
        if base.is_none() {
            let message = format!(
                "comity does not know where the work on {} began: its claim has no base commit",
                task.id
            );
            return Err(Refusal::new(Code::Unobserved, message)
                .hint("release the task and claim it again inside the repository")
                .detail("task", task.id.as_str())
                .into());
        }
        let Some(work) = &self.request.observed.work else {
            return Err(self.unobserved(task, "the work on").into());
        };
        self.is_of_this_version(task, work.task_version)?;
        Ok(Some(work))
    }

    /// Refuses a command that judges work where nobody looked at the settings that judge it.
    pub(super) fn rules_were_seen(&self) -> Ruling<()> {
        let all = &self.request.observed;
        let Command::Several { steps, .. } = &self.request.command else {
            return self.rules_seen_for(&self.request.command, all);
        };
        let mut each = steps.iter().enumerate();
        each.try_for_each(|(number, step)| {
            self.rules_seen_for(step, all.steps.get(number).unwrap_or(all))
        })
    }

    fn rules_seen_for(&self, command: &Command, seen: &Observed) -> Ruling<()> {
        let Some(text) = command.task_ref() else { return Ok(()) };
        if seen.rules.is_some() || !command.wants_seen().rules {
            return Ok(());
        }
        let task = self.task(text)?;
        match self.policy.has_git || task.began_at().next().is_some() {
            true => Err(self.unobserved(task, "the settings that judge").into()),
            false => Ok(()),
        }
    }

    pub(super) fn unobserved(&self, task: &Task, what: &str) -> Refusal {
        let why = self.request.observed.unseen.as_deref();
        let why = why.unwrap_or("the command came from outside the repository");
        let message = format!("comity could not ask git about {what} {}: {why}", task.id);
        Refusal::new(Code::Unobserved, message).detail("task", task.id.as_str())
    }

    /// What was seen counts for the task as it was looked at.
    pub(super) fn is_of_this_version(&self, task: &Task, seen: u64) -> Ruling<()> {
        if seen == task.version {
            return Ok(());
        }
        let message =
            format!("{} changed meanwhile: it has version {}, not {seen}", task.id, task.version);
        Err(Refusal::new(Code::VersionMismatch, message)
            .detail("task", task.id.as_str())
            .detail("version", task.version)
            .into())
    }

    /// Holds work against what the task allows; returns the files that the task did not declare.
    pub(super) fn judge_work(
        &self,
        task: &Task,
        work: &WorkSeen,
        given: &Submission,
    ) -> Ruling<Vec<String>> {
        let violations = examine(task, work, self.listed, self.policy);
        if let Some(refusal) = refuse_work(task, work, &violations) {
            return Err(refusal.into());
        }
        if work.files.is_empty() && !given.empty {
            let message = format!("nothing was changed for {}", task.id);
            return Err(Refusal::new(Code::NothingChanged, message)
                .detail("task", task.id.as_str())
                .detail("base", work.base.clone())
                .detail("commit", work.commit.clone())
                .into());
        }
        let undeclared = self.undeclared(task, work)?;
        if self.policy.undeclared == Undeclared::Refuse && !undeclared.is_empty() {
            let message =
                format!("{} does not declare {}", task.id, listed(undeclared.iter().map(|p| &**p)));
            return Err(Refusal::new(Code::UndeclaredFiles, message)
                .detail("task", task.id.as_str())
                .detail("undeclared", undeclared)
                .into());
        }
        Ok(undeclared)
    }

    /// Lists changed files that the task neither declared nor leased. A task that declares nothing has none.
    fn undeclared(&self, task: &Task, work: &WorkSeen) -> Ruling<Vec<String>> {
        if task.files.is_empty() || self.policy.undeclared == Undeclared::Allow {
            return Ok(Vec::new());
        }
        let mut texts: Vec<&str> = task.files.iter().map(String::as_str).collect();
        if let Some(claim) = &task.claim {
            let leases = self.facts.leases_of(&self.request.repo, &claim.agent)?;
            texts.extend(leases.into_iter().map(|lease| lease.path.as_str()));
        }
        let known: Vec<Pattern> =
            texts.into_iter().filter_map(|text| self.pattern(text).ok()).collect();
        let names = work.files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
        let mut unknown: Vec<String> =
            names.filter(|path| !covered(path, &known)).cloned().collect();
        unknown.sort();
        unknown.dedup();
        Ok(unknown)
    }
}

/// Holds work against the constraints of its task, and against the files that its result lists.
pub fn examine(
    task: &Task,
    work: &WorkSeen,
    reported: Option<&[ReportedFile]>,
    policy: &Policy,
) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(wanted) = task.branch.as_deref().filter(|_| policy.branches_of(task).1) {
        found.extend(off_branch(work, wanted));
    }
    if task.constraints.no_git_commit {
        found.extend(work.commits.iter().map(|commit| {
            let short: String = commit.id.chars().take(10).collect();
            let subject = &commit.subject;
            let message = format!("{} forbids commits, but there is {short}: {subject}", task.id);
            Violation::new("no_git_commit", None, message)
        }));
    }
    let most = task.constraints.max_files.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    if let Some(most) = most.filter(|most| work.files.len() > *most) {
        let message = format!("{} files are changed, but the limit is {most}", work.files.len());
        found.push(Violation::new("max_files", None, message));
    }
    let texts = task.constraints.allow_delete.iter();
    let allowed: Vec<Pattern> = texts.filter_map(|text| Pattern::parse(text).ok()).collect();
    for file in work.files.iter().filter(|file| file.action == FileAction::Deleted) {
        if !covered(&file.path, &allowed) {
            let message = format!("{} is deleted, but allow_delete does not cover it", file.path);
            found.push(Violation::new("allow_delete", Some(&file.path), message));
        }
    }
    let waived = task.gate(DEPS_GATE).is_some_and(|gate| gate.waiver.is_some());
    if task.constraints.no_new_deps && !waived {
        let new = work.new_dependencies.iter();
        found.extend(new.map(|one| Violation::new("no_new_deps", Some(&one.path), &*one.message)));
    }
    if let Some(reported) = reported {
        differences(work, reported, task.round > 1, &mut found);
    }
    found
}

/// A project that names its branches wants the work there, and not only said to be there.
fn off_branch(work: &WorkSeen, wanted: &str) -> Option<Violation> {
    let message = match work.branch.as_deref() {
        None => format!("the work is on no branch, but belongs on {wanted}"),
        Some(given) if given != wanted => {
            format!("the work is on {given}, but belongs on {wanted}")
        }
        Some(_) if work.is_on_branch => return None,
        Some(_) => format!("git does not find the work on {wanted}, the branch that was given"),
    };
    Some(Violation::new("branch", None, message))
}

pub(super) fn covered(path: &str, patterns: &[Pattern]) -> bool {
    RepoPath::parse(&spelled(path))
        .is_ok_and(|path| patterns.iter().any(|pattern| pattern.covers(&path)))
}

/// A name as patterns can match it: no pattern has a backslash.
fn spelled(path: &str) -> String {
    path.replace('\\', "\u{fffd}")
}

/// Compares what an agent says it changed with what git says, both ways.
fn differences(
    work: &WorkSeen,
    reported: &[ReportedFile],
    over_time: bool,
    found: &mut Vec<Violation>,
) {
    const NAME: &str = "files_modified";
    for said in reported {
        if let Some(message) = untrue(work, said, over_time) {
            found.push(Violation::new(NAME, Some(&said.path), message));
        }
    }
    for file in &work.files {
        if !reported.iter().any(|said| said.path == file.path) {
            let message = format!(
                "{} is {}, but the result does not list it",
                file.path,
                file.action.as_str()
            );
            found.push(Violation::new(NAME, Some(&file.path), message));
        }
    }
}

/// Says what is wrong with an entry.
fn untrue(work: &WorkSeen, said: &ReportedFile, over_time: bool) -> Option<String> {
    let ReportedFile { path, action, .. } = said;
    let word = action.as_str();
    let moved_away = || work.files.iter().any(|file| file.moved_from.as_ref() == Some(path));
    match work.files.iter().find(|file| file.path == *path) {
        Some(file) if fits(*action, file, over_time) => None,
        Some(file) => Some(format!(
            "the result says that {path} is {word}, but it is {}",
            file.action.as_str()
        )),
        None if work.written_by_comity.contains(path) => None,
        // Who moves a file may well say that it is gone from its old place.
        None if *action == FileAction::Deleted && moved_away() => None,
        None => Some(format!("the result says that {path} is {word}, but it is unchanged")),
    }
}

/// What was made in an earlier round may be called made or modified.
fn fits(said: FileAction, file: &FileChange, over_time: bool) -> bool {
    let kept = said != FileAction::Deleted && file.action != FileAction::Deleted;
    said == FileAction::Changed
        || said == file.action
        || (kept && (file.moved_from.is_some() || over_time))
}

/// Makes the refusal that lists everything that is not as it should be; none when all is well.
pub fn refuse_work(task: &Task, work: &WorkSeen, violations: &[Violation]) -> Option<Refusal> {
    if violations.is_empty() {
        return None;
    }
    let words = |violation: &Violation| match violation.constraint {
        "max_files" => {
            let files = listed(work.files.iter().map(|file| &*file.path));
            format!("{}: {files}", violation.message)
        }
        _ => violation.message.clone(),
    };
    let said: Vec<String> = violations.iter().take(SAID_MAX).map(words).collect();
    let more = match violations.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let shared = shared_words(&work.shared_with).map(|text| format!("; {text}"));
    let message = format!(
        "the work on {} breaks its constraints: {}{more}{}",
        task.id,
        said.join("; "),
        shared.unwrap_or_default()
    );
    let code = if only(violations, "files_modified") {
        Code::ContractInvalid
    } else {
        Code::LimitExceeded
    };
    let mut refusal = Refusal::new(code, message)
        .hint(way_out(task, work, violations))
        .detail("violations", json!(violations))
        .detail("base", work.base.clone())
        .detail("commit", work.commit.clone())
        .detail("files", json!(work.files));
    if !work.shared_with.is_empty() {
        refusal = refusal.detail("shared_with", json!(work.shared_with));
    }
    Some(refusal)
}

/// Says that other work may be among what was checked, and whose.
pub fn shared_words(with: &[SharedWith]) -> Option<String> {
    let named = with.iter().map(|other| format!("{} ({})", other.task, other.agent));
    let named = named.collect::<Vec<_>>().join(", ");
    (!named.is_empty())
        .then(|| format!("the check is shared with {named}: they have the same work tree"))
}

/// Names as many as fit into a message.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len().saturating_sub(SAID_MAX);
    let named = names.take(SAID_MAX).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

fn only(violations: &[Violation], name: &str) -> bool {
    violations.iter().all(|one| one.constraint == name)
}

/// What an agent says wrongly is mended in the contract; the rest is mended in the work.
fn way_out(task: &Task, work: &WorkSeen, violations: &[Violation]) -> String {
    let has = |name: &str| violations.iter().any(|one| one.constraint == name);
    if only(violations, "files_modified") {
        return "list exactly the files that the work changes, then submit it again".to_owned();
    }
    if only(violations, "branch") {
        return "check that branch out (create it if it does not exist), then submit the work again"
            .to_owned();
    }
    let mut hints = Vec::new();
    if has("no_git_commit") {
        let head = task.claim.as_ref().and_then(|claim| claim.head.as_ref()).unwrap_or(&work.base);
        let short: String = head.chars().take(10).collect();
        hints.push(format!(
            "reset the branch softly to {short}, which takes the commits back and keeps the files"
        ));
    }
    if has("no_new_deps") {
        hints.push(format!("a critic or a person may waive the gate {DEPS_GATE}, with a reason"));
    }
    if !work.shared_with.is_empty() {
        hints.push("use one branch for each task".to_owned());
    }
    if hints.is_empty() || !only(violations, "no_git_commit") {
        hints.push(
            "undo what the task does not allow, or ask a planner or a person to allow more"
                .to_owned(),
        );
    }
    hints.join("; ")
}
