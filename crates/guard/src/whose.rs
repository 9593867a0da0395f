//! Whose work a commit is, where it may be this task's or another's.

use crate::git::{Git, rebased, squashed};
use crate::merges::plain_merges;
use crate::names;
use crate::notes::Begin;
use crate::story::{self, Other, Story};
use crate::told::{Beside, Told};
use std::collections::{BTreeMap, BTreeSet};

/// Commits, by how far they belong to a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// This work's. They count, and what they touch must be listed.
    pub(crate) own: BTreeSet<String>,
    /// This work's or another's; nothing tells. They count, and may be listed.
    pub(crate) shared: BTreeSet<String>,
    /// Another's, as far as can be told. They do not count, and may be listed.
    pub(crate) left: BTreeSet<String>,
}

/// Where the commits were made.
pub(crate) struct Scene<'a> {
    pub(crate) git: &'a Git,
    pub(crate) task: &'a str,
    pub(crate) told: Told<'a>,
    pub(crate) story: &'a Story,
    /// The commit that has the work.
    pub(crate) tip: &'a str,
    /// Whether it is on the default branch, which everybody commits to.
    pub(crate) on_default: bool,
    /// Whether the task must not commit, so that no commit is its own while nobody has it.
    pub(crate) must_not_commit: bool,
    /// Commits that were made on the task's branch before it was claimed.
    pub(crate) earlier: &'a BTreeSet<String>,
    /// Commits that were made since the claim on another branch, in a work tree that the task was claimed in.
    pub(crate) elsewhere: &'a BTreeSet<String>,
    /// When commits were made on the branch.
    pub(crate) made: &'a BTreeMap<String, i64>,
}

/// Claims whose commits are looked for in another form. Where work is squashed when it is merged, every claim of the past
/// is one; what is rebased into unfinished work is of lately.
const GONE_MAX: usize = 64;

/// What is known of others' claims.
struct Evidence {
    /// Handed in with another claim.
    handed_in: BTreeSet<String>,
    /// Made while a task was under way, each under the task's name as refs spell it.
    under_way: Vec<(String, BTreeSet<String>)>,
    /// Made while a task was under way in another work tree that this one was claimed in.
    behind: BTreeSet<String>,
    /// Made while nobody had the task.
    in_gaps: BTreeSet<String>,
    /// Made after the claim had expired, which its holder did not notice.
    unnoticed: BTreeSet<String>,
    /// Made for this task before its work began anew.
    done_before: BTreeSet<String>,
    /// The task that a commit names.
    named: BTreeMap<String, String>,
}

/// What others handed in and is not there as it was.
struct Gone {
    commits: BTreeSet<String>,
    /// The last commit of each claim.
    ends: Vec<String>,
}

enum Share {
    Own,
    Shared,
    Left,
    None,
}

/// Sorts commits that may be a piece of work's own.
pub(crate) fn sort(scene: &Scene<'_>, commits: BTreeSet<String>) -> Sorted {
    let evidence = scene.evidence(&commits);
    let mut sorted = Sorted::default();
    for commit in commits {
        match scene.share(&commit, &evidence) {
            Share::Own => sorted.own.insert(commit),
            Share::Shared => sorted.shared.insert(commit),
            Share::Left => sorted.left.insert(commit),
            Share::None => false,
        };
    }
    sorted
}

impl Scene<'_> {
    fn share(&self, commit: &String, evidence: &Evidence) -> Share {
        let named = evidence.named.get(commit).map(String::as_str);
        let mut beside = evidence.under_way.iter().filter(|(_, made)| made.contains(commit));
        let handed_in = evidence.handed_in.contains(commit);
        let in_gap = evidence.in_gaps.contains(commit);
        if self.earlier.contains(commit) {
            let at = self.made.get(commit).copied();
            let is_done = handed_in || evidence.done_before.contains(commit);
            return if is_done || beside.next().is_some() {
                Share::None
            } else if at.is_some() && at >= self.told.not_before {
                Share::Shared
            } else {
                Share::Left
            };
        }
        if in_gap && self.must_not_commit {
            return Share::Left;
        }
        if named == Some(self.task) {
            return Share::Own;
        }
        if handed_in || (in_gap && self.on_default) {
            return Share::Left;
        }
        if in_gap {
            return Share::Shared;
        }
        if self.elsewhere.contains(commit)
            && (evidence.behind.contains(commit) || beside.clone().next().is_some())
        {
            return Share::Left;
        }
        // A branch of its own has what was made there for this work; on the default branch everybody's commits meet.
        let beside: Vec<&str> =
            beside.filter(|_| self.on_default).map(|(task, _)| task.as_str()).collect();
        let theirs = |named: &str| {
            beside.contains(&&*names::escaped(named)) && (self.told.is_anothers)(named)
        };
        match named {
            Some(named) if theirs(named) => Share::Left,
            _ if beside.is_empty() && !evidence.unnoticed.contains(commit) => Share::Own,
            _ => Share::Shared,
        }
    }

    fn evidence(&self, commits: &BTreeSet<String>) -> Evidence {
        let mut others = story::others(self.git, self.task, self.story.first);
        others.retain(|other| other.begin.is_some());
        let this = names::escaped(self.task);
        let (before, others): (Vec<Other>, Vec<Other>) =
            others.into_iter().partition(|other| other.task == this);
        let range = |other: &Other, to: &str| {
            self.range(other, to).filter(|commit| commits.contains(commit)).collect::<BTreeSet<_>>()
        };
        // Of claims of long ago neither end is among the commits.
        let is_here = |commit: &&String| commits.contains(*commit);
        let ended = |other: &Other| other.end.as_ref().filter(is_here).map(|end| range(other, end));
        let done_before = before.iter().filter_map(ended).flatten().collect();
        let live =
            |other: &Other| is_among(self.told.beside, other).then(|| range(other, self.tip));
        let there = others.iter().filter(|other| is_among(self.told.behind, other));
        let behind = there.flat_map(|other| range(other, self.tip)).collect();
        let meanwhile =
            |other: &Other| Some((other.task.clone(), ended(other).or_else(|| live(other))?));
        let mut under_way: Vec<_> = others.iter().filter_map(meanwhile).collect();
        under_way.retain(|(_, made)| !made.is_empty());
        let handed = |other: &Other| Some(range(other, other.handed_in.as_ref().filter(is_here)?));
        let mut handed_in: BTreeSet<String> = others.iter().filter_map(handed).flatten().collect();
        let gone = self.handed_in_and_gone(&others);
        handed_in.extend(rebased(self.git, commits, &gone.commits));
        handed_in.extend(self.integrated(commits, &others, &handed_in, &gone.ends));
        let gaps = |unnoticed: bool| -> BTreeSet<String> {
            let gaps = self.story.gaps.iter().filter(|gap| gap.unnoticed == unnoticed);
            gaps.flat_map(|gap| self.between(&gap.end, &gap.resume)).collect()
        };
        let (mut in_gaps, unnoticed) = (gaps(false), gaps(true));
        let gone = in_gaps.difference(commits).cloned().collect();
        in_gaps.extend(rebased(self.git, commits, &gone));
        let doubtful = under_way.iter().flat_map(|(_, made)| made);
        let doubtful: BTreeSet<&String> = doubtful.chain(&handed_in).chain(&in_gaps).collect();
        let named = named(self.git, &doubtful);
        Evidence { handed_in, under_way, behind, in_gaps, unnoticed, done_before, named }
    }

    /// Lists the commits that only put on the default branch what others handed in: merges, and what was squashed.
    fn integrated(
        &self,
        commits: &BTreeSet<String>,
        others: &[Other],
        handed_in: &BTreeSet<String>,
        gone: &[String],
    ) -> BTreeSet<String> {
        if !self.on_default {
            return BTreeSet::new();
        }
        let ends = others.iter().filter_map(|other| other.handed_in.clone());
        let theirs = ends.chain(handed_in.iter().cloned()).collect();
        let listed: Vec<String> = commits.iter().cloned().collect();
        let mut found = plain_merges(self.git, &listed, &theirs);
        found.extend(squashed(self.git, commits, self.tip, gone));
        found
    }

    /// Lists the commits of a claim up to one of them.
    fn range(&self, other: &Other, to: &str) -> impl Iterator<Item = String> {
        let mut args = vec!["rev-list", to, "--not"];
        args.extend(other.begin.as_ref().and_then(Begin::commit));
        self.git.lines(&args).into_iter()
    }

    /// Lists the commits that others handed in and that are not there as they were: a rebase may have made others of them.
    fn handed_in_and_gone(&self, others: &[Other]) -> Gone {
        let ends: Vec<&str> =
            others.iter().filter_map(|other| other.handed_in.as_deref()).collect();
        let known = [Some(self.tip), self.story.begin.commit()];
        let known = known.into_iter().flatten().map(|commit| format!("^{commit}\n"));
        let ends: String = ends.into_iter().map(|end| format!("{end}\n")).chain(known).collect();
        let output = self.git.fed(&["rev-list", "--stdin"], &ends);
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let gone: BTreeSet<String> = text.unwrap_or_default().lines().map(str::to_owned).collect();
        let is_gone =
            |other: &&Other| other.handed_in.as_ref().is_some_and(|end| gone.contains(end));
        let mut recent: Vec<&Other> = others.iter().filter(is_gone).collect();
        recent.sort_by_key(|other| std::cmp::Reverse(other.fence));
        recent.truncate(GONE_MAX);
        let ranges = recent
            .iter()
            .flat_map(|other| self.range(other, other.handed_in.as_deref().unwrap_or_default()));
        let commits = ranges.filter(|commit| gone.contains(commit)).collect();
        Gone { commits, ends: recent.iter().filter_map(|other| other.handed_in.clone()).collect() }
    }

    /// Lists the commits between the end of a claim and the next one that are not the work's own, rebased.
    fn between(&self, end: &str, resume: &str) -> Vec<String> {
        if end == resume {
            return Vec::new();
        }
        let cherry = self.git.lines(&["cherry", end, resume]);
        let new = cherry.iter().filter_map(|line| line.strip_prefix("+ ").map(str::to_owned));
        let merges = self.git.lines(&["rev-list", "--merges", resume, "--not", end]);
        new.chain(merges).collect()
    }
}

fn is_among(live: &[Beside], other: &Other) -> bool {
    let same =
        |live: &Beside| live.fence == other.fence && names::escaped(&live.task) == other.task;
    live.iter().any(same)
}

/// Finds the tasks that commits name: `type(task-id): summary`.
fn named(git: &Git, commits: &BTreeSet<&String>) -> BTreeMap<String, String> {
    if commits.is_empty() {
        return BTreeMap::new();
    }
    let listed: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let args = ["log", "--no-walk", "--no-show-signature", "--format=%H %s", "--stdin"];
    let output = git.fed(&args, &listed).filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let read = |line: &str| {
        let (commit, subject) = line.split_once(' ')?;
        task_named(subject).map(|task| (commit.to_owned(), task.to_owned()))
    };
    text.unwrap_or_default().lines().filter_map(read).collect()
}

fn task_named(subject: &str) -> Option<&str> {
    let (head, summary) = subject.split_once(": ")?;
    let (kind, rest) = head.split_once('(')?;
    let is_kind = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase());
    let task = rest.strip_suffix(')')?;
    (is_kind && !task.is_empty() && !summary.trim().is_empty()).then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_task_by_its_form_only() {
        assert_eq!(task_named("feat(T2): parse dates"), Some("T2"));
        assert_eq!(task_named("fix(task-007.1): x: y"), Some("task-007.1"));
        for other in ["feat: T2", "T2: x", "see (T2): x", "feat(T2) x", "feat(): x", "feat(T2): "] {
            assert_eq!(task_named(other), None, "{other}");
        }
    }
}
