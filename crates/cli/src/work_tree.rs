//! What the caller's work tree has to say about a command, whichever door it comes through: where work begins is noted,
//! and work that is handed in is found and held against what the task allows.

mod claims;
mod surroundings;
mod written;

use self::claims::Ends;
use crate::context::Context;
use crate::git::{self, Git};
use comity_core::command::{Command, Found, ReportStatus, ReportedFile, Request, Submission};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::view::TaskView;
use comity_engine::{Engine, Query};
use comity_guard::check::{Findings, Work, check};
use comity_guard::diff::Change;
use serde_json::Value;
use std::path::Path;

/// Runs a command; returns its answer and what should be said beside it.
pub fn execute(
    context: &Context,
    engine: &mut Engine,
    request: Request,
) -> Result<(Value, Vec<String>), Refusal> {
    let mut look = Look { context, notes: Vec::new(), snapshot: None };
    let begins = claims::may_begin(&request);
    let ends = Ends::with(context, engine, &request);
    let command = look.at(engine, &request)?;
    look.hold_snapshot()?;
    let answer = match engine.execute(Request { command, ..request }) {
        Ok(answer) => answer,
        Err(refusal) => {
            look.let_go();
            return Err(refusal);
        }
    };
    look.keep(&answer);
    let mut notes = look.notes;
    notes.extend(ends.and_then(|ends| ends.note(context, &answer)));
    if begins {
        notes.extend(claims::note_begin(context, engine, &answer));
    }
    Ok((answer, notes))
}

/// Reads the task of an answer.
pub fn task_of(answer: &Value) -> Result<TaskView, Refusal> {
    let task = answer.get("task").cloned().unwrap_or_default();
    serde_json::from_value(task).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the task does not read: {error}"))
    })
}

/// A look at the work that a command hands in.
struct Look<'c> {
    context: &'c Context,
    notes: Vec<String>,
    /// The task and the commit that was made of what is in the work tree.
    snapshot: Option<(String, String)>,
}

impl Look<'_> {
    /// Completes the command with what the work tree has, or refuses it.
    fn at(&mut self, engine: &mut Engine, request: &Request) -> Result<Command, Refusal> {
        let Command::Several { id, steps } = &request.command else {
            return self.at_one(engine, request, &request.command);
        };
        let steps = steps.iter().map(|step| self.at_one(engine, request, step));
        Ok(Command::Several { id: id.clone(), steps: steps.collect::<Result<_, _>>()? })
    }

    fn at_one(
        &mut self,
        engine: &mut Engine,
        request: &Request,
        command: &Command,
    ) -> Result<Command, Refusal> {
        let submission = match command {
            Command::Submit(submission) => submission.clone(),
            Command::Transition { id, status: Status::Review, reason, needs: _ } => {
                Submission { id: id.clone(), reason: reason.clone(), ..Submission::default() }
            }
            other => return Ok(other.clone()),
        };
        let Some((git, tree)) = self.context.git() else {
            return Ok(Command::Submit(submission));
        };
        let report = submission.report.as_deref();
        let hands_in = report.is_none_or(|report| report.status == ReportStatus::Completed);
        let id = submission.id.clone();
        let task = task_of(&engine.query(&self.context.asker(), Query::Task { id })?)?;
        if !hands_in || task.deliverable != Deliverable::Code.as_str() {
            return Ok(Command::Submit(submission));
        }
        let given = self.handed_in(&git, tree, &task, submission)?;
        if let Some(commit) = given.commit.as_deref() {
            let reported = given.report.as_ref().and_then(|report| report.listed_files());
            let work = HandedIn { commit, branch: given.branch.as_deref(), reported };
            self.hold(engine, tree, request, &task, &work)?;
        }
        Ok(Command::Submit(given))
    }

    /// Finds what is handed in.
    fn handed_in(
        &mut self,
        git: &Git,
        tree: &Path,
        task: &TaskView,
        given: Submission,
    ) -> Result<Submission, Refusal> {
        let must_not_commit = task.constraints.no_git_commit;
        let commit = match (&given.commit, &given.branch) {
            (given, _) if must_not_commit => {
                if given.is_some() {
                    let note = format!(
                        "note: {} must not commit, so this work tree is handed in as it is",
                        task.id
                    );
                    self.notes.push(note);
                }
                let made = git::snapshot(tree, &task.id)?;
                self.snapshot = Some((task.id.clone(), made.clone()));
                Some(made)
            }
            // What git knows is kept in full, so that evidence can be matched with it.
            (Some(name), _) => Some(git.named_commit(name)?),
            (None, Some(branch)) if git.branch().as_ref() != Some(branch) => {
                Some(git.branch_commit(branch).ok_or_else(|| no_branch(branch))?)
            }
            (None, _) => self.head(git),
        };
        let commit_found = must_not_commit || given.commit.is_none();
        let found = Found { commit: commit_found, branch: given.branch.is_none() };
        let branch = given.branch.clone().or_else(|| git.branch());
        Ok(Submission { commit, branch, found, ..given })
    }

    /// Returns what is checked out; says what is left out with it.
    fn head(&mut self, git: &Git) -> Option<String> {
        let head = git.commit("HEAD");
        let dirty = git.line(&["status", "--porcelain", "--untracked-files=no"]);
        if head.is_some() && dirty.is_some() {
            self.notes.push("note: this work tree has changes that are in no commit".to_owned());
        }
        head
    }

    /// Holds work against what the task allows. One that is not under way is left to the rules to refuse, or was handed
    /// in before and gets its first answer again.
    fn hold(
        &mut self,
        engine: &mut Engine,
        tree: &Path,
        request: &Request,
        task: &TaskView,
        work: &HandedIn<'_>,
    ) -> Result<(), Refusal> {
        let actor = &request.actor;
        let holder = task.claim.as_ref().is_some_and(|claim| claim.agent == actor.as_str());
        let stale = request.fence.is_some_and(|fence| Some(fence.get()) != task.fence);
        let may = (holder || actor.is_person()) && !stale;
        if task.status != Status::InProgress || !may {
            return Ok(());
        }
        let findings = examine(self.context, engine, tree, task, self.snapshot.is_some(), work)?;
        match findings.refusal(&task.id) {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Keeps what was made of the work tree before it is handed in: what is accepted must not be lost.
    fn hold_snapshot(&self) -> Result<(), Refusal> {
        match (&self.snapshot, self.context.git()) {
            (Some((task, commit)), Some((_, tree))) => git::hold(tree, task, commit),
            _ => Ok(()),
        }
    }

    fn let_go(&self) {
        if let (Some((_, commit)), Some((_, tree))) = (&self.snapshot, self.context.git()) {
            git::let_go(tree, commit);
        }
    }

    /// Keeps it for good, now that it is handed in; not when the first answer was given again, to what was handed in then. That
    /// stands even when its ref cannot be written.
    fn keep(&mut self, answer: &Value) {
        let Some((task, commit)) = &self.snapshot else { return };
        let taken = answer.pointer("/task/commit").and_then(Value::as_str);
        if taken != Some(commit) {
            return self.let_go();
        }
        if let Some((_, tree)) = self.context.git()
            && let Err(failed) = git::keep(tree, task, commit)
        {
            self.notes.push(format!("note: {}", failed.message));
        }
    }
}

fn no_branch(name: &str) -> Refusal {
    let shown = comity_core::ids::shorten(name);
    Refusal::input(format!("git knows no branch {shown:?}"))
        .hint("fetch it, or say which commit has the work: --commit SHA")
}

/// Work that is handed in, or would be.
pub struct HandedIn<'a> {
    /// The commit that has it.
    pub commit: &'a str,
    /// The branch that it is on.
    pub branch: Option<&'a str>,
    /// What the agent says it changed, when it says so.
    pub reported: Option<&'a [ReportedFile]>,
}

/// Compares a commit with where the work began.
pub fn examine(
    context: &Context,
    engine: &mut Engine,
    tree: &Path,
    task: &TaskView,
    is_snapshot: bool,
    work: &HandedIn<'_>,
) -> Result<Findings, Refusal> {
    let wanted = task.branch.as_deref().filter(|_| context.config.names_branches());
    let is_comitys = |file: &Change| written::is_comitys(context, tree, file);
    surroundings::told(context, engine, tree, task, work.branch, |told| {
        check(&Work {
            tree,
            task: &task.id,
            fence: task.fence,
            commit: work.commit,
            is_snapshot,
            constraints: &task.constraints,
            reported: work.reported,
            round: task.round,
            branch: work.branch,
            wanted_branch: wanted,
            told,
            is_comitys: &is_comitys,
        })
    })
}
