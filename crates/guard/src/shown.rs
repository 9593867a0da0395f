//! The rows that show what git knows beside what the log knows: files of the tree, the diff of a task, how a path or a commit
//! came to be.

use crate::diff::{Change, changes, files_at};
use crate::git::Git;
use comity_api::{
    ById, CommitView, DiffAnswer, DiffFile, EventFilter, HistoryAnswer, HistoryOf, TreeAnswer,
    TreeFile, TreePlace, op,
};
use comity_core::command::FileAction;
use comity_core::decide::not_found;
use comity_core::limits::PAGE_MAX;
use comity_core::pattern::{Pattern, overlap};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_engine::{Caller, Service};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// Bytes of patches in one answer.
const DIFF_BYTES_MAX: usize = 400 * 1024;
/// Files of a diff that are listed, and files of one directory.
const FILES_MAX: usize = 2_000;
/// Commits of a path that are shown.
const COMMITS_MAX: &str = "--max-count=10";
/// The shortest beginning of a commit's id that is taken for one.
const COMMIT_CHARS_MIN: usize = 7;

/// A project and its repository, for those who look.
#[derive(Clone)]
pub struct Shown {
    pub service: Service,
    /// The work tree of the project; none where there is no git.
    pub tree: Option<PathBuf>,
}

impl comity_engine::Whereabouts for Shown {
    fn far(&self) -> Option<&std::sync::Arc<dyn comity_engine::Far>> {
        self.service.far()
    }
}

comity_engine::handlers_of! { Shown, register {
    Tree(shown, caller, input) => shown.tree(caller, &input);
    TaskDiff(shown, caller, input) => shown.diff(caller, &input);
    Why(shown, caller, input) => shown.why(caller, &input);
} }

impl Shown {
    fn git(&self) -> Option<Git> {
        self.tree.as_deref().map(Git::at)
    }

    fn tree(&self, caller: &Caller, place: &TreePlace) -> Result<TreeAnswer, Refusal> {
        let mut answer = self.service.tree(caller)?;
        if let Some(files) = self.git().map(|git| files_at(&git, "HEAD")) {
            match &place.under {
                Some(under) => answer.files = listed(&files, under),
                None => {
                    let held = answer.entries.iter().map(|entry| entry.path.as_str());
                    answer.free = free(&files, &held.collect::<Vec<_>>());
                }
            }
        }
        answer.under.clone_from(&place.under);
        Ok(answer)
    }

    fn diff(&self, caller: &Caller, input: &ById) -> Result<DiffAnswer, Refusal> {
        let task = self.service.task(caller, &input.id)?;
        let missing = |what: &str| Refusal::new(Code::NotFound, format!("{}: {what}", task.id));
        let commit = task.commit.as_deref().ok_or_else(|| missing("nothing was submitted"))?;
        let git = self.git().ok_or_else(|| missing("this project has no git"))?;
        let commit = git.commit(commit).ok_or_else(|| missing("git does not have the commit"))?;
        let claimed = self.first_base(caller, task.id.as_str())?;
        let parent = || git.line(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")]);
        let base = claimed
            .and_then(|base| git.line(&["merge-base", &base, &commit]))
            .filter(|base| *base != commit)
            .or_else(parent)
            .ok_or_else(|| missing("git does not know where the work began"))?;
        let all = changes(&git, &base, &commit).ok_or_else(|| missing("git cannot compare"))?;
        let mut answer = DiffAnswer {
            base,
            commit,
            added: 0,
            removed: 0,
            bytes: 0,
            cut: all.len() > FILES_MAX,
            files: Vec::new(),
        };
        for change in all.iter().take(FILES_MAX) {
            let file = file_diff(&git, &answer.base, &answer.commit, change);
            answer.added += file.added;
            answer.removed += file.removed;
            let fits = answer.bytes + file.patch.len() <= DIFF_BYTES_MAX;
            answer.cut |= !fits;
            let patch = if fits { file.patch } else { String::new() };
            answer.bytes += patch.len();
            answer.files.push(DiffFile { patch, ..file });
        }
        Ok(answer)
    }

    /// Returns the tip of the base branch when the task was first claimed.
    fn first_base(&self, caller: &Caller, task: &str) -> Result<Option<String>, Refusal> {
        let filter = EventFilter {
            task: Some(task.to_owned()),
            event: Some("task_claimed".to_owned()),
            limit: Some(1),
            ..EventFilter::default()
        };
        let events = self.service.call::<op::EventList>(caller, filter)?.events;
        Ok(events.first().and_then(|event| event.text("base")).map(str::to_owned))
    }

    fn why(&self, caller: &Caller, input: &HistoryOf) -> Result<HistoryAnswer, Refusal> {
        let of = input.of.trim();
        if of.is_empty() {
            return Err(Refusal::input("say what it is about"));
        }
        if let Some(found) = self.service.history(caller, of)? {
            return Ok(found);
        }
        let is_hex = of.len() >= COMMIT_CHARS_MIN && of.bytes().all(|b| b.is_ascii_hexdigit());
        let git = self.git();
        if let (true, Some(git)) = (is_hex, &git)
            && let Some(commit) = git.commit(of)
        {
            let mut answer = self.service.history_of_commit(caller, &commit)?;
            let names = self.tasks_of_commits(caller)?;
            answer.commits = commits(git, &["--no-walk", &commit], &names);
            return Ok(answer);
        }
        let mut answer = self.service.history_of_path(caller, of)?;
        if let Some(git) = &git {
            let names = self.tasks_of_commits(caller)?;
            let path = format!(":(top,literal){}", answer.of);
            answer.commits = commits(git, &[COMMITS_MAX, "--", &path], &names);
        }
        let nothing = answer.lines.is_empty() && answer.commits.is_empty();
        if nothing && answer.summary.starts_with("Nobody") && !self.exists(&answer.of) {
            return Err(not_found("task, path, commit, agent, lease or decision", of));
        }
        Ok(answer)
    }

    fn exists(&self, path: &str) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.join(path).exists())
    }

    /// Returns the tasks that submitted or landed a commit.
    fn tasks_of_commits(&self, caller: &Caller) -> Result<HashMap<String, String>, Refusal> {
        let mut known = HashMap::new();
        for (event, key) in [("review_requested", "commit"), ("merged", "sha")] {
            let mut filter = EventFilter {
                event: Some(event.to_owned()),
                limit: Some(PAGE_MAX),
                ..EventFilter::default()
            };
            loop {
                let page = self.service.call::<op::EventList>(caller, filter.clone())?;
                for event in &page.events {
                    let named = event.text(key).zip(event.task.as_ref());
                    known.extend(named.map(|(commit, task)| (commit.to_owned(), task.clone())));
                }
                let Some(next) = page.next else { break };
                filter.after = Some(next);
            }
        }
        Ok(known)
    }
}

/// Returns the directories around a path, the outermost first; the first has no name.
fn around(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, slash)| at + slash.len());
    std::iter::once(0).chain(ends).filter_map(|end| path.get(..end))
}

/// Counts the files that nobody holds, below each directory on the way to a held path.
fn free(files: &[String], held: &[&str]) -> BTreeMap<String, usize> {
    let plain = |path: &str| !path.contains(['*', '?', '[', '{']);
    let whole: HashSet<&str> = held.iter().map(|path| path.trim_end_matches("**")).collect();
    let patterns: Vec<Pattern> = held
        .iter()
        .filter(|path| !plain(path.trim_end_matches("**")))
        .filter_map(|path| Pattern::parse(path).ok())
        .collect();
    let is_held = |file: &String| {
        let inside = around(file).skip(1).any(|dir| whole.contains(dir));
        let fits = || {
            let file = Pattern::parse(file);
            file.is_ok_and(|file| patterns.iter().any(|held| overlap(held, &file).is_some()))
        };
        inside || whole.contains(file.as_str()) || (!patterns.is_empty() && fits())
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in held {
        for dir in around(path).filter(|dir| plain(dir) && !whole.contains(dir)) {
            counts.entry(dir.to_owned()).or_default();
        }
    }
    for file in files.iter().filter(|file| !is_held(file)) {
        for dir in around(file) {
            if let Some(count) = counts.get_mut(dir) {
                *count += 1;
            }
        }
    }
    counts
}

/// Lists what is directly below a directory.
fn listed(files: &[String], under: &str) -> Vec<TreeFile> {
    let under = under.trim_matches('/');
    let prefix = if under.is_empty() { String::new() } else { format!("{under}/") };
    let mut found: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for rest in files.iter().filter_map(|file| file.strip_prefix(&prefix)) {
        let (name, is_file) = match rest.split_once('/') {
            Some((name, _)) => (name, false),
            None => (rest, true),
        };
        *found.entry((is_file, name)).or_default() += 1;
    }
    let entry = |((is_file, name), files): ((bool, &str), usize)| TreeFile {
        name: name.to_owned(),
        path: format!("{prefix}{name}"),
        kind: if is_file { "file" } else { "dir" }.to_owned(),
        files,
    };
    found.into_iter().take(FILES_MAX).map(entry).collect()
}

fn file_diff(git: &Git, base: &str, commit: &str, change: &Change) -> DiffFile {
    let old_path = change.file.moved_from.clone();
    let literal = |path: &str| format!(":(top,literal){path}");
    let mut args: Vec<String> =
        ["diff", "--no-color", "--find-renames=80%", "-U3", base, commit, "--"]
            .map(str::to_owned)
            .into();
    args.push(literal(&change.git_path));
    args.extend(old_path.as_deref().map(literal));
    let output = git.output(&args).map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let patch = text.find("\n@@").and_then(|at| text.get(at + 1..)).unwrap_or_default();
    let count = |mark: char| patch.lines().filter(|line| line.starts_with(mark)).count();
    let status = match (change.file.action, &old_path) {
        (_, Some(_)) => "renamed",
        (FileAction::Created, None) => "added",
        (FileAction::Deleted, None) => "deleted",
        (FileAction::Modified | FileAction::Changed, None) => "modified",
    };
    DiffFile {
        path: change.file.path.clone(),
        old_path,
        status: status.to_owned(),
        added: count('+'),
        removed: count('-'),
        binary: text.contains("\nBinary files "),
        patch: patch.to_owned(),
    }
}

/// Lists commits with the tasks that they belong to.
fn commits(git: &Git, which: &[&str], known: &HashMap<String, String>) -> Vec<CommitView> {
    let args = [&["log", "--format=%H%x09%ct%x09%s"], which].concat();
    let view = |line: &String| {
        let mut fields = line.splitn(3, '\t');
        let (commit, seconds) = (fields.next()?.to_owned(), fields.next()?.parse::<i64>().ok()?);
        let subject = fields.next().unwrap_or_default().to_owned();
        // Commits that follow the template name their task: `feat(T12): …`.
        let named = subject.split_once("): ").and_then(|(head, _)| head.split_once('('));
        let task = known.get(&commit).cloned().or_else(|| named.map(|(_, id)| id.to_owned()));
        Some(CommitView { commit, subject, task, ts: Timestamp::from_ms(seconds * 1_000) })
    };
    git.lines(&args).iter().filter_map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nobody_holds_are_counted_below_each_directory_on_the_way_to_a_held_path() {
        let files =
            ["Cargo.toml", "src/a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.rs", "docs/x.md"];
        let files: Vec<String> = files.map(str::to_owned).into();
        let counts = |held: &[&str]| {
            let counted = free(&files, held).into_iter();
            counted.map(|(dir, count)| format!("{dir}={count}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(counts(&["src/a.rs"]), "=5 src/=3");
        assert_eq!(counts(&["src/deep/"]), "=4 src/=2");
        assert_eq!(counts(&["src/deep/**", "Cargo.toml"]), "=3 src/=2");
        assert_eq!(counts(&["src/*.rs"]), "=4 src/=2");
        assert_eq!(counts(&[]), "");
    }

    #[test]
    fn a_directory_lists_its_files_and_counts_those_below() {
        let files = ["a/b/c", "a/b/d", "a/x", "y"].map(str::to_owned);
        let shown = |under: &str| {
            let all = listed(&files, under).into_iter();
            all.map(|file| format!("{} {} {}", file.kind, file.path, file.files))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(""), ["dir a 3", "file y 1"]);
        assert_eq!(shown("a/"), ["dir a/b 2", "file a/x 1"]);
        assert_eq!(shown("a/b"), ["file a/b/c 1", "file a/b/d 1"]);
        assert!(shown("../etc").is_empty());
    }
}
