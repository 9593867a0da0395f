//! What the caller's work tree has to say about a command, whichever door it comes through: where work begins is noted,
//! and work that is handed in is found and held against what the task allows.

use crate::context::Context;
use crate::git::{self, Git};
use comity_core::command::{Command, Found, ReportStatus, ReportedFile, Request, Submission};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Constraints, Deliverable};
use comity_core::view::TaskView;
use comity_engine::{Engine, Query};
use comity_guard::base::{Earlier, remember};
use comity_guard::check::{Findings, Work, check};
use serde_json::Value;
use std::path::Path;

/// Runs a command; returns its answer and what should be said beside it.
pub fn execute(
    context: &Context,
    engine: &mut Engine,
    request: Request,
) -> Result<(Value, Vec<String>), Refusal> {
    let mut look = Look { context, notes: Vec::new(), snapshot: None };
    let begins = Begins::with(&request);
    let command = look.at(engine, &request)?;
    let answer = engine.execute(Request { command, ..request })?;
    look.keep()?;
    let mut notes = look.notes;
    notes.extend(begins.and_then(|begins| begins.note(context, &answer)));
    Ok((answer, notes))
}

/// Reads the task of an answer.
pub fn task_of(answer: &Value) -> Result<TaskView, Refusal> {
    let task = answer.get("task").cloned().unwrap_or_default();
    serde_json::from_value(task).map_err(|error| {
        Refusal::new(Code::Internal, format!("BUG: the task does not read: {error}"))
    })
}

/// Work that begins with a command.
enum Begins {
    Claimed(Earlier),
    Started,
}

impl Begins {
    fn with(request: &Request) -> Option<Begins> {
        // A repeated command must not move where the work began.
        let earlier = if request.key.is_some() { Earlier::Stays } else { Earlier::Goes };
        let one = |command: &Command| match command {
            Command::Claim(_) | Command::Transition { status: Status::Claimed, .. } => {
                Some(Begins::Claimed(earlier))
            }
            Command::Start { .. } | Command::Transition { status: Status::InProgress, .. } => {
                Some(Begins::Started)
            }
            _ => None,
        };
        match &request.command {
            Command::Several { steps, .. } => steps.iter().find_map(one),
            command => one(command),
        }
    }

    /// Notes where the work begins; the command stands even when it cannot be noted.
    fn note(self, context: &Context, answer: &Value) -> Option<String> {
        let (git, tree) = context.git()?;
        let task = task_of(answer).ok()?;
        let fresh = task.claim.as_ref().is_some_and(|claim| claim.claimed_at == task.updated_at);
        let earlier = match self {
            Begins::Claimed(earlier) => earlier,
            Begins::Started if fresh => Earlier::Stays,
            Begins::Started => return None,
        };
        if task.deliverable != Deliverable::Code.as_str() {
            return None;
        }
        let failed = remember(&git, tree, &task.id, earlier).err()?;
        Some(format!("note: {}", failed.message))
    }
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
        self.handed_in(&git, tree, request, &task, submission).map(Command::Submit)
    }

    fn handed_in(
        &mut self,
        git: &Git,
        tree: &Path,
        request: &Request,
        task: &TaskView,
        given: Submission,
    ) -> Result<Submission, Refusal> {
        let found = Found { commit: given.commit.is_none(), branch: given.branch.is_none() };
        let commit = match &given.commit {
            // What git knows is kept in full, so that evidence can be matched with it.
            Some(name) => Some(git.named_commit(name)?),
            None if task.constraints.no_git_commit => {
                let made = git::snapshot(tree, &task.id)?;
                self.snapshot = Some((task.id.clone(), made.clone()));
                Some(made)
            }
            None => {
                let head = git.commit("HEAD");
                let dirty = git.line(&["status", "--porcelain", "--untracked-files=no"]);
                if head.is_some() && dirty.is_some() {
                    let note = "note: this work tree has changes that are in no commit";
                    self.notes.push(note.to_owned());
                }
                head
            }
        };
        if let Some(commit) = &commit {
            let reported = given.report.as_ref().and_then(|report| report.listed_files());
            self.hold(tree, request, task, commit, reported)?;
        }
        let branch = given.branch.clone().or_else(|| git.branch());
        Ok(Submission { commit, branch, found, ..given })
    }

    /// Holds work against what the task allows. One that is not under way is left to the rules to refuse, or was handed
    /// in before and gets its first answer again.
    fn hold(
        &mut self,
        tree: &Path,
        request: &Request,
        task: &TaskView,
        commit: &str,
        reported: Option<&[ReportedFile]>,
    ) -> Result<(), Refusal> {
        let actor = &request.actor;
        let holder = task.claim.as_ref().is_some_and(|claim| claim.agent == actor.as_str());
        let stale = request.fence.is_some_and(|fence| Some(fence.get()) != task.fence);
        let may = (holder || actor.is_person()) && !stale;
        if task.status != Status::InProgress || !may {
            return Ok(());
        }
        let findings = examine(tree, task, commit, self.snapshot.is_some(), reported)?;
        if let Some(refusal) = findings.refusal(&task.id) {
            return Err(refusal);
        }
        let wanted = task.constraints != Constraints::default() || reported.is_some();
        if findings.base.is_none() && wanted {
            let note =
                "note: git cannot tell where this work began, so what it changes was not checked";
            self.notes.push(note.to_owned());
        }
        Ok(())
    }

    /// Keeps what was made of the work tree, now that it is handed in.
    fn keep(&self) -> Result<(), Refusal> {
        match (&self.snapshot, self.context.git()) {
            (Some((task, commit)), Some((_, tree))) => git::keep(tree, task, commit),
            _ => Ok(()),
        }
    }
}

/// Compares a commit with where the work began.
pub fn examine(
    tree: &Path,
    task: &TaskView,
    commit: &str,
    is_snapshot: bool,
    reported: Option<&[ReportedFile]>,
) -> Result<Findings, Refusal> {
    check(&Work {
        tree,
        task: &task.id,
        commit,
        is_snapshot,
        constraints: &task.constraints,
        reported,
        round: task.round,
    })
}
