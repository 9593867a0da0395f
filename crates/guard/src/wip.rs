//! Work that is not committed, kept as commits of comity's own. Neither the files nor the index are touched.

use crate::git::{self, Git, NewFiles, WorkTree};
use comity_api::{SnapshotView, SnapshotsAnswer, TakeSnapshot, TaskFilter, op};
use comity_core::chain::Hash;
use comity_core::ids::Fence;
use comity_core::observed::{FileChange, Observed};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::TaskView;
use comity_engine::{Answered, Caller, Service, Whereabouts};
use comity_project::{Context, plain_file};
use comity_store::{Clock, SystemClock};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Snapshots that are kept of one work tree; the oldest are let go.
const KEPT_MAX: usize = 50;
const PLACE: &str = "refs/comity/wip";
/// The mark of a claim: a number and the id of a task.
const MARK_BYTES_MAX: usize = 128;
/// A claim is in danger when this part of its life is left without a sign of life: a fifth.
const DANGER: i64 = 5;
/// Nor do those who look miss a short one: they look every few seconds.
const DANGER_LEAST: Millis = Millis::from_secs(10);
/// Claims that are looked at for snapshots.
const CLAIMS_MAX: usize = 500;

/// The handlers of operations on snapshots.
#[derive(Clone)]
pub struct Snapshots {
    /// The work tree that the caller is in.
    pub tree: Option<PathBuf>,
}

/// A snapshot is of the caller's own work tree, wherever the store is.
impl Whereabouts for Snapshots {}

comity_engine::handlers_of! { Snapshots, register {
    Snapshot(it, caller, input) => it.handle_one(&input);
} }

impl Snapshots {
    fn handle_one(&self, input: &TakeSnapshot) -> Result<Answered<SnapshotsAnswer>, Refusal> {
        let tree = self
            .tree
            .as_deref()
            .ok_or_else(|| Refusal::new(Code::Unobserved, "there is no git repository here"))?;
        if input.list {
            let snapshots = list(&Git::at(tree), PLACE);
            return Ok(Answered::from(SnapshotsAnswer { snapshot: None, snapshots }));
        }
        let snapshot = take(tree, now())?;
        let nothing = "note: nothing is uncommitted; there is nothing to keep".to_owned();
        let remarks = if snapshot.is_none() { vec![nothing] } else { Vec::new() };
        Ok(Answered { output: SnapshotsAnswer { snapshot, snapshots: Vec::new() }, remarks })
    }
}

/// The place of the snapshots of one work tree: its name, and what tells it from others of that name.
fn place(tree: &Path) -> String {
    let name = tree.file_name().map(|name| name.to_string_lossy().into_owned());
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.unwrap_or_default().chars().take(64).map(keep).collect();
    let hash = Hash::of(tree.as_os_str().as_encoded_bytes()).to_string();
    format!("{PLACE}/{name}-{}", hash.get(..8).unwrap_or(&hash))
}

/// Keeps what is not committed in a work tree, and says so; also that it failed.
pub(crate) fn kept_of(what: &str, tree: &Path) -> Option<String> {
    match take(tree, now()) {
        Ok(kept) => kept.map(|kept| kept_words(what, &kept)),
        Err(refusal) => Some(format!("note: comity kept no snapshot: {}", refusal.message)),
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_ms(SystemClock.read().wall_ms)
}

/// The mark of a work tree whose last claim was not followed by a submission. It has the fence of that claim and its task.
fn mark(tree: &Path) -> Option<PathBuf> {
    let common = comity_project::git::Place::at(tree)?.common_dir;
    let name = place(tree).rsplit('/').next().map(str::to_owned)?;
    Some(common.join("comity").join("claimed").join(name))
}

/// Keeps what somebody left behind in a work tree before somebody claims a task there. A file tells whether there can be
/// anything, so that most claims ask no git. What belongs to a claim that goes on is not left behind, and what comity itself
/// wrote is nobody's work.
pub(crate) fn before_claim(
    tree: &Path,
    is_claimed: impl Fn(&str, u64) -> bool,
    is_comitys: impl Fn(&FileChange) -> bool,
) -> Option<String> {
    let last = plain_file::read_text(&mark(tree)?, MARK_BYTES_MAX).ok()?;
    let last = last.split_once(' ').and_then(|(fence, task)| Some((fence.parse().ok()?, task)));
    if last.is_some_and(|(fence, task)| is_claimed(task, fence)) {
        return None;
    }
    let changes = WorkTree::of(tree).and_then(|files| files.changes(NewFiles::Count));
    if changes.is_some_and(|changes| changes.iter().all(is_comitys)) {
        return None;
    }
    kept_of("an earlier task", tree)
}

/// Notes that a claim was made in a work tree, or that its work was handed in.
pub(crate) fn claim_changed(tree: &Path, seen: &Observed, task_now: Option<&TaskView>) {
    let Some(mark) = mark(tree) else { return };
    // Without the mark there is one snapshot less, and nothing else.
    if seen.work.is_some() {
        let _ = std::fs::remove_file(mark);
    } else if seen.claim.is_some() {
        let claim = task_now.and_then(|task| Some(format!("{} {}", task.fence?, task.id)));
        let _ = mark.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(mark, claim.unwrap_or_default());
    }
}

/// Keeps what is not committed; none where everything is. The same files are kept once.
pub(crate) fn take(tree: &Path, now: Timestamp) -> Result<Option<SnapshotView>, Refusal> {
    let dirty = WorkTree::of(tree).and_then(|files| files.is_dirty(NewFiles::Count));
    if dirty == Some(false) {
        return Ok(None);
    }
    let git = Git::at(tree);
    let place = place(tree);
    let name = tree.file_name().map(|name| name.to_string_lossy().into_owned());
    let commit = git::snapshot(tree, &name.unwrap_or_default())?;
    let mut kept = list(&git, &place);
    if let Some(same) = kept.iter().find(|one| one.commit == commit) {
        return Ok(Some(same.clone()));
    }
    // A colon cannot stand in the name of a ref.
    let reference = format!("{place}/{}", now.to_string().replace([':', '-'], ""));
    if !git.does(&["update-ref", &reference, &commit]) {
        return Err(Refusal::new(Code::Internal, format!("git could not write {reference}")));
    }
    kept.reverse();
    for old in kept.iter().skip(KEPT_MAX - 1) {
        let _ = git.does(&["update-ref", "-d", &old.name, &old.commit]);
    }
    Ok(Some(SnapshotView { name: reference, commit, at: now.to_string() }))
}

/// Lists snapshots, the oldest first.
fn list(git: &Git, place: &str) -> Vec<SnapshotView> {
    let args = ["for-each-ref", "--format=%(refname) %(objectname)", place];
    let read = |line: String| {
        let (name, commit) = line.split_once(' ')?;
        let at = name.rsplit('/').next().and_then(time)?;
        Some(SnapshotView { name: name.to_owned(), commit: commit.to_owned(), at: at.to_string() })
    };
    let mut all: Vec<SnapshotView> = git.lines(&args).into_iter().filter_map(read).collect();
    all.sort_by(|one, other| one.at.cmp(&other.at));
    all
}

/// Reads `20261118T101500.123Z`.
fn time(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.split_once('T')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let rest = clock.get(4..)?;
    let spelled = format!(
        "{}-{}-{}T{}:{}:{rest}",
        part(date, 0, 4)?,
        part(date, 4, 6)?,
        part(date, 6, 8)?,
        part(clock, 0, 2)?,
        part(clock, 2, 4)?,
    );
    Timestamp::parse(&spelled)
}

/// Returns a work tree of the same repository; none for any other place.
pub(crate) fn own_tree(of: &Path, place: &str) -> Option<PathBuf> {
    let tree = std::fs::canonicalize(place).ok()?;
    let common = |dir: &Path| {
        let line =
            Git::at(dir).line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        std::fs::canonicalize(line).ok()
    };
    (common(&tree)? == common(of)?).then_some(tree)
}

/// Claims whose work was kept already: the fence, and when they would have ended.
#[derive(Default)]
pub struct InDanger(BTreeSet<(Fence, Timestamp)>);

impl InDanger {
    /// Keeps the work of claims on this host that will soon end without a sign of life. Returns what to say.
    pub fn keep(
        &mut self,
        context: &Context,
        service: &Service,
        caller: &Caller,
    ) -> Result<Vec<String>, Refusal> {
        let Some(root) = context.git_tree() else { return Ok(Vec::new()) };
        let statuses = vec![Status::Claimed, Status::InProgress];
        let filter = TaskFilter { statuses, limit: Some(CLAIMS_MAX), ..TaskFilter::default() };
        let now = service.store_time()?;
        let mut said = Vec::new();
        for shown in service.call::<op::TaskList>(caller, filter)?.tasks {
            let Some(end) = shown.claim.as_ref().map(|claim| claim.expires_at) else { continue };
            let Some(claim) = service.task(caller, &shown.id)?.claim else { continue };
            let danger = Millis::from_ms(claim.ttl.ms() / DANGER).max(DANGER_LEAST);
            let is_here = claim.host.is_some() && claim.host == caller.via.host;
            if !is_here || now.plus(danger) < end || self.0.contains(&(claim.fence, end)) {
                continue;
            }
            let tree = claim.workspace.as_deref().and_then(|place| own_tree(root, place));
            if let Some(kept) = tree.map(|tree| take(&tree, now)).transpose()?.flatten() {
                self.0.insert((claim.fence, end));
                said.push(kept_words(&shown.id, &kept));
            }
        }
        Ok(said)
    }
}

pub(crate) fn kept_words(task: &str, kept: &SnapshotView) -> String {
    let short = kept.commit.get(..10).unwrap_or(&kept.commit);
    format!("note: the uncommitted work on {task} is kept as commit {short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_snapshot_tells_its_time() {
        let now = Timestamp::from_ms(1_794_995_155_258);
        let name = now.to_string().replace([':', '-'], "");
        assert_eq!(time(&name), Some(now));
        assert_eq!(time("pending"), None);
        assert_ne!(place(Path::new("/a/tool")), place(Path::new("/b/tool")));
    }
}
