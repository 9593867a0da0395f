//! What a door saw with its own eyes. No caller can state any of it: nothing here is read from a text, and no `Command`
//! reaches it.

use crate::command::{
    Command, FileAction, LeaseChange, ReportStatus, RunChange, Submission, TaskVerb,
};
use crate::outside::{CheckSeen, OutsideSeen};
use crate::policy::BaseRules;
use crate::run::Stage;
use crate::status::Status;
use crate::task::Tier;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What was seen for one request; the default is that nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    pub claim: Option<ClaimSeen>,
    pub work: Option<WorkSeen>,
    pub merge: Option<MergeSeen>,
    pub lease: Option<LeaseSeen>,
    /// Why the work or the merge could not be seen, in a sentence without its full stop.
    pub unseen: Option<String>,
    /// The run of a command that evidence in the request comes from. Evidence without a run is claimed.
    pub run: Option<RunSeen>,
    /// The gates that the door ran on the commit that has the work, all of which passed.
    pub gates: Vec<GateSeen>,
    /// The settings that the work is judged by; none where nobody looked.
    pub rules: Option<RulesSeen>,
    /// What comity itself made of submitted work and is landing now: an observer believes it.
    pub landing: Option<LandingSeen>,
    /// Who did it in another system, as that system says.
    pub outside: Option<OutsideSeen>,
    /// The check in another system that evidence in the request comes from.
    pub check: Option<CheckSeen>,
    /// The plan that is in the tip of the branch of the task.
    pub plan: Option<String>,
    /// The grant of a process of this host that has ended, and left a seat behind.
    pub dead: Option<crate::ids::Fence>,
    /// For a command about several tasks: what was seen for each of its steps.
    pub steps: Vec<Observed>,
}

/// The settings that judge submitted work, as a door found them where the work cannot change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesSeen {
    Set(BaseRules),
    /// There are none; those of the root's checkout hold.
    NoneThere,
}

/// A landing that is under way: comity made one commit of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingSeen {
    /// The submitted commit.
    pub work: String,
    /// The commit that has it.
    pub merged: String,
    /// The commit whose settings judged the work when the landing began; none where those of the root's checkout did.
    pub judged_by: Option<String>,
}

/// A command that a door ran itself, for a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSeen {
    /// Whether the settings name another command for the gate.
    pub is_other_command: bool,
    pub tree: TreeSeen,
    /// What the log keeps of a run for a gate that comity made by itself.
    pub report: Option<RunReport>,
}

/// How a run for a gate went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunReport {
    /// The status that a shell reports.
    pub exit_code: i32,
    pub duration_ms: u64,
    /// The command, or the name of a check that is built in.
    pub command: String,
    /// The hash of all settings that the run depends on.
    pub config_hash: String,
    /// The end of the output, without secrets.
    pub output_tail: String,
}

/// A gate that a door ran on the commit that has the work. The event of the merge keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSeen {
    pub gate: String,
    pub tier: Tier,
    /// Where all of the output is, seen from the directory of the store.
    pub report: Option<String>,
    #[serde(flatten)]
    pub run: RunReport,
}

/// Tells whether a command that was run is the shell command that the settings name: handed to `sh -c` as it is, or, where
/// a shell would do no more than divide it, word by word.
pub fn is_same_command(set: &str, run: &[&str]) -> bool {
    if let ["sh" | "/bin/sh", "-c", given] = run {
        return given.trim() == set.trim();
    }
    let is_special = |c: char| "|&;<>()$`\\\"'*?[]#~=%{}!\n".contains(c);
    !set.contains(is_special) && set.split_whitespace().eq(run.iter().copied())
}

/// What a work tree was like while a command ran in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeSeen {
    /// It was made of the commit for this run alone.
    Fresh,
    /// It had exactly what its commit has.
    Clean,
    /// One of the files that differed from the commit.
    Changed(String),
    /// Another commit was checked out meanwhile.
    Moved,
    /// Git could not be asked.
    Unknown,
}

impl RunSeen {
    /// Says why the run shows less than it seems to, in a sentence without its full stop.
    pub fn doubt(&self) -> Option<String> {
        let doubt = match &self.tree {
            _ if self.is_other_command => "the settings name another command for the gate".into(),
            TreeSeen::Fresh | TreeSeen::Clean => return None,
            TreeSeen::Changed(path) => format!("the work tree has uncommitted changes ({path})"),
            TreeSeen::Moved => "another commit was checked out while the command ran".into(),
            TreeSeen::Unknown => "git could not tell what the command ran on".into(),
        };
        Some(doubt)
    }

    /// Returns how far the evidence of the run is to be trusted.
    pub fn tier(&self) -> Tier {
        match (self.doubt(), &self.tree) {
            (Some(_), _) => Tier::Claimed,
            (None, TreeSeen::Fresh) => Tier::Verified,
            (None, _) => Tier::Observed,
        }
    }
}

/// Where the repository stood when a claim was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSeen {
    /// The tip of the base branch; the empty tree in a repository without a commit.
    pub base: String,
    /// The commit that was checked out.
    pub head: Option<String>,
}

/// What git says of work that is handed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkSeen {
    /// The version of the task that this was made for.
    pub task_version: u64,
    pub commit: String,
    pub branch: Option<String>,
    /// What the files were compared with.
    pub base: String,
    pub files: Vec<FileChange>,
    /// Paths among them that are as they were in the last submission: this round did not change them.
    pub as_submitted: BTreeSet<String>,
    /// Changed files that comity itself writes. They count for nobody and may be listed.
    pub written_by_comity: Vec<String>,
    /// The first commits that were made since the claim, newest first.
    pub commits: Vec<CommitSeen>,
    pub new_dependencies: Vec<NewDependency>,
    /// Whether comity made the commit of a work tree that must not be committed to.
    pub snapshot: bool,
    /// Whether git finds the commit on the branch.
    pub is_on_branch: bool,
    /// Other live claims in the same work tree, when it has the same branch checked out.
    pub shared_with: Vec<SharedWith>,
}

impl WorkSeen {
    /// Lists the paths that this round changed: both names of a file that was moved.
    pub fn changed_in_round(&self) -> impl Iterator<Item = &str> {
        let names = self.files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
        names.filter(|path| !self.as_submitted.contains(*path)).map(String::as_str)
    }
}

/// What git says of files that are about to be leased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseSeen {
    /// Paths that differ from where the caller's round began.
    pub changed: Vec<String>,
    /// The caller holds several tasks and did not say which one the lease is for.
    pub is_ambiguous: bool,
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileChange {
    /// Control characters and bytes that are no text are written as `\xNN` for each byte, a backslash as `\\`.
    pub path: String,
    pub action: FileAction,
    /// Where it was before. A move is neither a deletion nor a second file.
    pub moved_from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSeen {
    pub id: String,
    pub subject: String,
}

/// A dependency that a changed file adds, or a file where that cannot be ruled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDependency {
    pub path: String,
    pub message: String,
}

/// Another task whose holder works in the same work tree on the same branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SharedWith {
    pub task: String,
    pub agent: String,
}

/// What git says of the merged commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSeen {
    /// The version of the task that this was made for.
    pub task_version: u64,
    pub merged: String,
    /// Whether it contains the submitted commit, or an equal patch.
    pub contains: bool,
    /// Paths that the merge commit changes beyond the work that was handed in.
    pub added: Vec<String>,
    /// The files that the work changed; empty where that could not be seen.
    pub files: Vec<String>,
    /// The first line of what the submitted commit says.
    pub subject: Option<String>,
}

/// What has to be looked at before a command can be decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted<'a> {
    /// A claim may be made.
    pub claim: bool,
    /// This is handed in.
    pub work: Option<Cow<'a, Submission>>,
    /// The task is finished; the commit that is said to have the work, if one is named.
    pub merge: Option<Option<&'a str>>,
    /// These patterns are leased.
    pub lease: Option<&'a [String]>,
    /// A claim ends without its work handed in: what is not committed has to be kept first.
    pub keep: bool,
    /// Work is judged: by the settings of its base branch, never by its own.
    pub rules: bool,
    /// A plan may have to be in the branch of the task.
    pub plan: bool,
}

impl Wanted<'_> {
    pub fn is_nothing(&self) -> bool {
        *self == Wanted::default()
    }
}

impl Command {
    /// Returns the commands that a door looks at one by one: the steps of a command about several tasks, any other as it is.
    pub fn looked_at(&self) -> &[Command] {
        if let Command::Several { ids, steps } = self
            && ids.len() > 1
        {
            return steps;
        }
        std::slice::from_ref(self)
    }

    /// Returns what a door has to look at for this command.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a rule that needs an observation and gets none refuses the command"
    )]
    pub fn wants_seen(&self) -> Wanted<'_> {
        let nothing = Wanted::default();
        let rules = Wanted { rules: true, ..Wanted::default() };
        match self {
            Command::Lease(LeaseChange::Acquire { patterns, .. }) => {
                Wanted { lease: Some(patterns), ..nothing }
            }
            Command::Claim(_) | Command::Start { .. } => Wanted { claim: true, ..nothing },
            Command::RunDispatch(new) => {
                Wanted { claim: true, plan: new.stage == Stage::Develop, ..nothing }
            }
            Command::Submit(given) => {
                let status = given.report.as_ref().map(|report| report.status);
                let hands_in = status.is_none_or(|status| status == ReportStatus::Completed);
                let work = hands_in.then_some(Cow::Borrowed(given));
                Wanted { work, keep: !hands_in, ..rules }
            }
            Command::Move { verb, .. } => match verb {
                TaskVerb::Release | TaskVerb::Fail | TaskVerb::Abandon => {
                    Wanted { keep: true, ..nothing }
                }
                TaskVerb::Review
                | TaskVerb::Approve
                | TaskVerb::RequestChanges
                | TaskVerb::Merge => rules,
                TaskVerb::Unblock | TaskVerb::Requeue | TaskVerb::Reopen => nothing,
            },
            Command::GateRecord { .. } | Command::GateWaive { .. } | Command::Check { .. } => rules,
            Command::Land { merged, .. } => Wanted { merge: Some(Some(merged)), ..rules },
            Command::Done { merged, unmerged: false, .. } => {
                Wanted { merge: Some(merged.as_deref()), ..rules }
            }
            // A person says so, and nothing is judged.
            Command::Done { .. } => nothing,
            Command::Transition { id, status, reason, .. } => match status {
                Status::Claimed | Status::InProgress => Wanted { claim: true, ..nothing },
                Status::Review => {
                    let (id, reason) = (id.clone(), reason.clone());
                    let given = Submission { id, reason, ..Submission::default() };
                    Wanted { work: Some(Cow::Owned(given)), ..rules }
                }
                Status::Done => Wanted { merge: Some(None), ..rules },
                Status::Queued | Status::Failed | Status::Abandoned => {
                    Wanted { keep: true, ..nothing }
                }
                Status::ChangesRequested | Status::Approved | Status::Merging => rules,
                Status::Blocked => nothing,
            },
            Command::Several { steps, .. } => wanted_by_all(steps),
            Command::RunChange { change: RunChange::End(end), .. } => wanted_by_all(&end.steps),
            Command::Supervise(step) => wanted_by_all(&step.steps),
            _ => nothing,
        }
    }
}

fn wanted_by_all(steps: &[Command]) -> Wanted<'_> {
    steps.iter().map(Command::wants_seen).fold(Wanted::default(), |all, one| Wanted {
        claim: all.claim || one.claim,
        work: all.work.or(one.work),
        merge: all.merge.or(one.merge),
        lease: None,
        keep: all.keep || one.keep,
        rules: all.rules || one.rules,
        plan: all.plan || one.plan,
    })
}

#[cfg(test)]
mod tests {
    use super::is_same_command;

    #[test]
    fn rule_3_7_the_command_of_a_gate_is_known_in_words_and_in_a_shell() {
        assert!(is_same_command("cargo test  --all", &["cargo", "test", "--all"]));
        assert!(is_same_command("make a && make b", &["sh", "-c", "make a && make b"]));
        for other in [&["cargo", "test"][..], &["cargo", "test", "--all", "-q"], &["true"]] {
            assert!(!is_same_command("cargo test --all", other), "{other:?}");
        }
        // A shell would do more with these than to divide them.
        assert!(!is_same_command("test $HOME", &["test", "$HOME"]));
        assert!(!is_same_command("true; false", &["true;", "false"]));
    }
}
