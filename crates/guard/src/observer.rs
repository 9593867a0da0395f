//! The observer of commands that are about work in git.

use crate::base_branch::Standing;
use crate::diff::{Change, changes, text_at};
use crate::gates::{Began, base_config};
use crate::git::{self, Containment, Git, NewFiles, WorkTree};
use crate::{deps, land, span, wip};
use comity_core::command::{Command, Submission};
use comity_core::hint::say;
use comity_core::observed::{
    FileChange, LandingSeen, MergeSeen, Observed, RulesSeen, Wanted, WorkSeen,
};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Task};
use comity_core::view::TaskView;
use comity_engine::{Look, Observer, Seen};
use comity_project::plain_file;
use comity_protocol::neotx::named::Named;
use std::path::{Path, PathBuf};

/// The longest text of a file that is looked at to tell whether comity wrote it.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Looks at the caller's work tree.
pub struct GitObserver {
    /// The work tree; none where the caller is in none, or the project has no git.
    pub tree: Option<PathBuf>,
    /// The base branch that the project sets.
    pub base: Option<String>,
    /// Whether what is checked out in the tree is the caller's work. At a door that many use, only what the caller names
    /// counts, and the branch of its claim.
    pub head_counts: bool,
    /// Tells whether comity wrote a file by itself: that is nobody's work. It may read the file's text.
    pub is_comitys: Box<IsComitys>,
}

type IsComitys = dyn Fn(&FileChange, &dyn Fn() -> Option<String>) -> bool + Send + Sync;

/// A commit that is handed in, and where it is.
pub struct HandedIn {
    pub commit: String,
    pub branch: Option<String>,
    pub is_snapshot: bool,
    /// What it is compared with, where the caller says so; else where the work began.
    pub base: Option<String>,
}

/// Why something could not be seen.
enum Blind {
    /// The rules say what follows.
    Unseen(String),
    Refused(Refusal),
}

impl From<Refusal> for Blind {
    fn from(refusal: Refusal) -> Blind {
        Blind::Refused(refusal)
    }
}

impl Observer for GitObserver {
    fn observe(&self, look: &Look<'_>) -> Result<Seen, Refusal> {
        let mut seen = Seen::default();
        let Some(tree) = &self.tree else { return Ok(seen) };
        if look.wanted.keep {
            seen.remarks.extend(self.kept(look, tree));
        }
        if look.wanted.claim && self.head_counts {
            let is_comitys = |change: &FileChange| self.is_comitys_now(tree, change);
            let is_claimed = |task: &str, fence| look.is_claimed(task, fence);
            seen.remarks.extend(wip::before_claim(tree, is_claimed, is_comitys));
        }
        if (Wanted { keep: false, ..look.wanted.clone() }).is_nothing() {
            return Ok(seen);
        }
        let git = Git::at(tree);
        let began = Began::of(&git, self.base.as_deref(), look.task)?;
        let standing = Standing::of(&git, began.base.as_deref())?;
        let observed = &mut seen.observed;
        if look.wanted.claim {
            observed.claim = standing.claim(&git);
        }
        if let Some(patterns) = look.wanted.lease {
            let (host, owner) = (look.request.via.host.as_deref(), &look.request.actor);
            let base = self.base.as_deref();
            let seen = land::lease_seen(tree, base, look.rounds, host, patterns, owner);
            observed.lease = Some(seen);
        }
        let tip = standing.base.as_ref();
        let Some(task) = look.task else {
            if look.wanted.rules {
                observed.rules = Some(rules(&git, tip.cloned())?);
            }
            return Ok(seen);
        };
        if look.wanted.plan {
            observed.plan = plan_in_branch(&git, task);
        }
        let is_code = task.deliverable == Deliverable::Code;
        let in_steps = matches!(look.request.command, Command::Several { .. });
        if let Some(given) = &look.wanted.work
            && is_code
            && (in_steps || task.status == Status::InProgress)
        {
            let remarks = &mut seen.remarks;
            match self.work(look, tree, &standing, task, given, remarks) {
                Ok(work) => observed.work = Some(work),
                Err(blind) => observed.unseen = Some(blind.reason()?),
            }
        }
        let submitted = task.commit.as_deref().filter(|_| is_code);
        let landing = look.request.observed.landing.as_ref();
        if look.wanted.rules {
            let handed_in = observed.work.as_ref().map(|work| work.commit.as_str());
            let judge = match landing {
                Some(landing) => landing.judged_by.clone(),
                None => began.judge(&git, tip, handed_in.or(submitted)),
            };
            observed.rules = Some(rules(&git, judge)?);
        }
        if let Some(named) = look.wanted.merge
            && (named.is_some() || submitted.is_some())
        {
            match merge(tree, &standing, landing, submitted, named) {
                Ok(merged) => observed.merge = Some(merge_seen(&git, task, submitted, merged)),
                Err(blind) => observed.unseen = Some(blind.reason()?),
            }
        }
        Ok(seen)
    }

    /// Keeps a snapshot for good, now that it is handed in; not when the first answer was given again, to what was handed in
    /// then. The answer stands even when the ref cannot be written.
    fn accepted(
        &self,
        look: &Look<'_>,
        seen: &Observed,
        task_now: Option<&TaskView>,
    ) -> Vec<String> {
        if let Some(tree) = self.tree.as_deref().filter(|_| self.head_counts) {
            wip::claim_changed(tree, seen, task_now);
        }
        let Some((tree, task, commit)) = self.snapshot(look, seen) else { return Vec::new() };
        let taken = task_now.and_then(|task| task.commit.as_deref());
        if taken != Some(commit) {
            git::let_go(tree, commit);
            return Vec::new();
        }
        let failed = git::keep(tree, task, commit).err();
        failed.map(|failed| format!("note: {}", failed.message)).into_iter().collect()
    }

    fn refused(&self, look: &Look<'_>, seen: &Observed) {
        if let Some((tree, _, commit)) = self.snapshot(look, seen) {
            git::let_go(tree, commit);
        }
    }
}

/// Reads the rules that the settings of a commit have for submitted work.
fn rules(git: &Git, commit: Option<String>) -> Result<RulesSeen, Refusal> {
    let config = commit.map(|commit| base_config(git, &commit)).transpose()?.flatten();
    let settings = config.map(|config| config.settings()).transpose()?;
    let set = settings.map(|settings| RulesSeen::Set(settings.policy.base_rules()));
    Ok(set.unwrap_or(RulesSeen::NoneThere))
}

/// Says what git says of a merged commit.
fn merge_seen(
    git: &Git,
    task: &Task,
    submitted: Option<&str>,
    (merged, contains, added): (String, bool, Vec<String>),
) -> MergeSeen {
    let files = submitted.map(|commit| landed(git, commit, &merged)).unwrap_or_default();
    let subject = |commit| git.line(&["log", "-1", "--format=%s", "--end-of-options", commit]);
    let subject = submitted.and_then(subject);
    MergeSeen { task_version: task.version, merged, contains, added, files, subject }
}

/// Returns the plan of a task, if the tip of its branch has it.
fn plan_in_branch(git: &Git, task: &Task) -> Option<String> {
    let path = task.context.get("plan_path")?.as_str()?;
    let tip = git.branch_commit(task.branch.as_deref()?)?;
    let found = git.line(&["cat-file", "-t", &format!("{tip}:{path}")])?;
    (found == "blob").then(|| path.to_owned())
}

impl Blind {
    fn reason(self) -> Result<String, Refusal> {
        match self {
            Blind::Unseen(why) => Ok(why),
            Blind::Refused(refusal) => Err(refusal),
        }
    }
}

impl GitObserver {
    /// Tells whether comity wrote a file by itself that is not committed.
    fn is_comitys_now(&self, tree: &Path, change: &FileChange) -> bool {
        let text = || plain_file::read_text(&tree.join(&change.path), TEXT_BYTES_MAX).ok();
        (self.is_comitys)(change, &text)
    }

    /// Keeps what is not committed of a task whose claim is about to end. Nothing that goes wrong here keeps it from ending.
    fn kept(&self, look: &Look<'_>, tree: &Path) -> Option<String> {
        let task = look.task?;
        let claim = task.claim.as_ref()?;
        if claim.host.is_none() || claim.host != look.request.via.host {
            return None;
        }
        let place = wip::own_tree(tree, claim.workspace.as_deref()?)?;
        wip::kept_of(task.id.as_str(), &place)
    }

    fn snapshot<'s>(
        &'s self,
        look: &Look<'s>,
        seen: &'s Observed,
    ) -> Option<(&'s Path, &'s str, &'s str)> {
        let work = seen.work.as_ref().filter(|work| work.snapshot)?;
        Some((self.tree.as_deref()?, look.task?.id.as_str(), &work.commit))
    }

    fn work(
        &self,
        look: &Look<'_>,
        tree: &Path,
        standing: &Standing,
        task: &Task,
        given: &Submission,
        remarks: &mut Vec<String>,
    ) -> Result<WorkSeen, Blind> {
        let git = Git::at(tree);
        let of_claim = given.commit.is_none() && given.branch.is_none() && !self.head_counts;
        let handed_in = match of_claim && !task.constraints.no_git_commit {
            true => of_branch(&git, standing, task)?,
            false => handed_in(&git, tree, standing, task, given, remarks)?,
        };
        let here = git.branch();
        let is_here = handed_in.is_snapshot || handed_in.branch == here;
        let mut work = self.compare(tree, standing, task, &handed_in)?;
        if is_here {
            work.shared_with = look.beside.to_vec();
        }
        if work.snapshot {
            git::hold(tree, task.id.as_str(), &work.commit)?;
        }
        Ok(work)
    }

    /// Compares a commit with where the work on a task began.
    pub fn seen(&self, task: &Task, handed_in: &HandedIn) -> Result<WorkSeen, Refusal> {
        let Some(tree) = &self.tree else {
            return Err(unobserved("there is no git repository here"));
        };
        let git = Git::at(tree);
        let began = Began::of(&git, self.base.as_deref(), Some(task))?;
        let standing = Standing::of(&git, began.base.as_deref())?;
        self.compare(tree, &standing, task, handed_in).map_err(|blind| match blind {
            Blind::Unseen(why) => unobserved(&why),
            Blind::Refused(refusal) => refusal,
        })
    }

    fn compare(
        &self,
        tree: &Path,
        standing: &Standing,
        task: &Task,
        handed_in: &HandedIn,
    ) -> Result<WorkSeen, Blind> {
        let git = Git::at(tree);
        let HandedIn { commit, branch, is_snapshot, .. } = handed_in;
        let tip = if *is_snapshot { standing.head.as_deref() } else { Some(commit.as_str()) };
        let claim = task.claim.as_ref();
        let now = standing.claim(&git);
        let claimed_at = claim.and_then(|claim| claim.base.as_deref());
        let claimed_at = claimed_at.or(now.as_ref().map(|now| now.base.as_str()));
        let base = claimed_at.and_then(|at| span::begin(&git, tip, at, standing.base.as_deref()));
        let base = base.ok_or_else(|| {
            let at = claimed_at.unwrap_or("the base of the claim");
            Blind::Unseen(format!("git does not have {at}, the commit where the work began"))
        })?;
        let base = handed_in.base.clone().unwrap_or(base);
        let all = changes(&git, &base, commit).ok_or_else(|| {
            Blind::Unseen(format!("git cannot compare {base} with {commit}; fetch what is missing"))
        })?;
        let is_own = |change: &Change| {
            (self.is_comitys)(&change.file, &|| text_at(&git, commit, &change.git_path))
        };
        let (written, all): (Vec<_>, Vec<_>) = all.into_iter().partition(is_own);
        let new_dependencies = match task.constraints.no_new_deps {
            true => deps::added(&git, &base, commit, &all),
            false => Vec::new(),
        };
        let commits = match tip {
            Some(tip) if task.constraints.no_git_commit => {
                let head = claim.and_then(|claim| claim.head.as_deref());
                span::commits(&git, tip, &base, head)
            }
            _ => Vec::new(),
        };
        let files: Vec<FileChange> = all.into_iter().map(|change| change.file).collect();
        Ok(WorkSeen {
            task_version: task.version,
            as_submitted: land::as_submitted(&git, task, commit, &files),
            is_on_branch: is_on_branch(&git, standing, handed_in),
            commit: commit.clone(),
            branch: branch.clone(),
            base,
            files,
            written_by_comity: written.into_iter().map(|change| change.file.path).collect(),
            commits,
            new_dependencies,
            snapshot: *is_snapshot,
            shared_with: Vec::new(),
        })
    }
}

fn unobserved(why: &str) -> Refusal {
    Refusal::new(comity_core::refusal::Code::Unobserved, format!("comity could not ask git: {why}"))
}

/// What is checked out is on its branch, even when nothing was committed yet.
fn is_on_branch(git: &Git, standing: &Standing, handed_in: &HandedIn) -> bool {
    let Some(branch) = &handed_in.branch else { return false };
    let is_head = handed_in.is_snapshot || standing.head.as_ref() == Some(&handed_in.commit);
    if is_head && git.branch().as_ref() == Some(branch) {
        return true;
    }
    git.branch_commit(branch)
        .is_some_and(|tip| git.does(&["merge-base", "--is-ancestor", &handed_in.commit, &tip]))
}

/// Finds what is handed in by a caller that names nothing: the tip of the claim's branch, if it has a commit of its own.
fn of_branch(git: &Git, standing: &Standing, task: &Task) -> Result<HandedIn, Blind> {
    let branch = task.branch.clone().unwrap_or_default();
    let base = task.claim.as_ref().and_then(|claim| claim.base.clone());
    let tip = git
        .branch_commit(&branch)
        .filter(|tip| base.as_ref() != Some(tip) && standing.base.as_ref() != Some(tip));
    let commit = tip.ok_or_else(|| {
        let shown = comity_core::ids::shorten(&branch);
        Blind::Unseen(format!("the branch of the claim, {shown}, has no commit of its own"))
    })?;
    Ok(HandedIn { commit, branch: Some(branch), is_snapshot: false, base: None })
}

/// Finds what is handed in: what the caller names, else what is checked out.
fn handed_in(
    git: &Git,
    tree: &Path,
    standing: &Standing,
    task: &Task,
    given: &Submission,
    remarks: &mut Vec<String>,
) -> Result<HandedIn, Blind> {
    let here = git.branch();
    let said = given.report.as_deref().map(Named::by).unwrap_or_default();
    let is_said = (&given.commit, &given.branch) == (&said.commit, &said.branch);
    if task.constraints.no_git_commit {
        let branch = given.branch.clone().filter(|_| !is_said).or(here);
        if given.commit.is_some() && !is_said {
            remarks.push(format!(
                "note: {} forbids commits, so comity submits this work tree as it is",
                task.id
            ));
        }
        let commit = git::snapshot(tree, task.id.as_str())?;
        return Ok(HandedIn { commit, branch, is_snapshot: true, base: None });
    }
    let given = match is_said {
        true => known(git, said, remarks),
        false => Named { commit: given.commit.clone(), branch: given.branch.clone() },
    };
    let branch = given.branch.clone().or_else(|| here.clone());
    let commit = match (&given.commit, &given.branch) {
        (Some(name), _) => named(git, name)?,
        (None, Some(branch)) if here.as_ref() != Some(branch) => {
            git.branch_commit(branch).ok_or_else(|| no_branch(branch))?
        }
        (None, _) => {
            let head = standing.head.clone();
            let head = head.ok_or_else(|| Blind::Unseen("nothing is committed yet".to_owned()))?;
            let dirty = WorkTree::of(tree).and_then(|files| files.is_dirty(NewFiles::Ignore));
            if dirty != Some(false) {
                remarks.push(
                    "note: this work tree has uncommitted changes, which are not submitted"
                        .to_owned(),
                );
            }
            head
        }
    };
    Ok(HandedIn { commit, branch, is_snapshot: false, base: None })
}

/// What is seen counts more than what is said: names of a report that git does not know are remarked and not taken.
fn known(git: &Git, said: Named, remarks: &mut Vec<String>) -> Named {
    let mut taken = |what: &str, name: Option<String>, reference: &dyn Fn(&str) -> String| {
        let name = name?;
        let found = git.commit(&reference(&name));
        if found.is_none() {
            remarks
                .push(format!("note: git does not know the {what} {name}, which the report names"));
        }
        found.map(|commit| (name, commit))
    };
    let commit = taken("commit", said.commit, &|name| name.to_owned());
    let branch = taken("branch", said.branch, &|name| format!("refs/heads/{name}"));
    // A branch without a commit is handed in as it stands.
    let tip = branch.as_ref().map(|(_, tip)| tip.clone());
    let commit = commit.map(|(_, commit)| commit).or(tip);
    Named { commit, branch: branch.map(|(name, _)| name) }
}

/// Returns the commit that somebody named. A hash that is not here may be somewhere else; any other name that git does not know
/// is a mistake.
fn named(git: &Git, name: &str) -> Result<String, Blind> {
    if let Some(commit) = git.commit(name) {
        return Ok(commit);
    }
    let shown = comity_core::ids::shorten(name);
    if (4..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Blind::Unseen(format!("git knows no commit {shown} here; fetch it first")));
    }
    Err(Refusal::input(format!("git knows no commit {shown:?}"))
        .hint("give a commit's hash, or a branch or tag of this repository")
        .into())
}

fn no_branch(name: &str) -> Refusal {
    let shown = comity_core::ids::shorten(name);
    Refusal::input(format!("git knows no branch {shown:?}"))
        .hint(say("fetch it, or name the commit with ").ask("commit", "SHA"))
}

/// Lists the files of work that a merge commit brought in; none where the work was merged in another way.
fn landed(git: &Git, submitted: &str, merged: &str) -> Vec<String> {
    let second = git.commit(&format!("{merged}^2"));
    let Some(first) = second.and_then(|_| git.commit(&format!("{merged}^1"))) else {
        return Vec::new();
    };
    let Some(base) = git.line(&["merge-base", &first, submitted]) else { return Vec::new() };
    let seen = changes(git, &base, submitted).unwrap_or_default();
    seen.into_iter().map(|change| change.file.path).collect()
}

/// Finds the merged commit, whether it has the submitted one, if there is one, and what the merge adds to that.
fn merge(
    tree: &Path,
    standing: &Standing,
    landing: Option<&LandingSeen>,
    submitted: Option<&str>,
    name: Option<&str>,
) -> Result<(String, bool, Vec<String>), Blind> {
    let git = Git::at(tree);
    let merged = match name {
        Some(name) => named(&git, name)?,
        None => standing.base.clone().ok_or_else(|| {
            Blind::Unseen("there is no base branch; give the merged commit".to_owned())
        })?,
    };
    let Some(submitted) = submitted else { return Ok((merged, true, Vec::new())) };
    let added = || {
        land::added_by_merge(&git, submitted, &merged).ok_or_else(|| {
            Blind::Unseen(format!("git cannot tell what the merge of {submitted} changed"))
        })
    };
    // What comity itself made of the work has it, also where a squash or a rebase left no equal patch.
    let is_of = |landing: &&LandingSeen| git.commit(submitted).as_ref() == Some(&landing.work);
    if landing.filter(is_of).is_some_and(|landing| landing.merged == merged) {
        let added = added()?;
        return Ok((merged, true, added));
    }
    match git::containment(tree, submitted, &merged) {
        Containment::Contained => {
            let added = added()?;
            Ok((merged, true, added))
        }
        Containment::Missing => Ok((merged, false, Vec::new())),
        Containment::Unknown => {
            let shown = comity_core::ids::shorten(submitted);
            Err(Blind::Unseen(format!("git knows no commit {shown} here; fetch it first")))
        }
    }
}
