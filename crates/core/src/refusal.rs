//! Refusals: what the rules say no to, as values with a stable code, a message and a next step.

use crate::hint::{Hint, Wording, op, say};
use serde_json::{Map, Value, json};
use std::fmt;

macro_rules! codes {
    ($(#[doc = $doc:literal] $variant:ident => $text:literal, $exit:literal, $http:literal, $hint:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $doc] $variant,)* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$variant),)* _ => None }
            }

            /// Returns the exit status of a process that ends with this code.
            pub fn exit_status(self) -> u8 {
                match self { $(Code::$variant => $exit,)* }
            }

            pub fn http_status(self) -> u16 {
                match self { $(Code::$variant => $http,)* }
            }

            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $doc.trim_ascii_start(),)* }
            }

            /// Returns the next step that is offered when the rule gave none of its own.
            pub fn default_hint(self) -> Hint {
                match self { $(Code::$variant => $hint.into(),)* }
            }
        }
    };
}

codes! {
    /// The input does not parse or breaks a limit.
    InvalidInput => "invalid-input", 2, 400, say("see the command's ").mention("help");
    /// Several ids begin with this prefix.
    AmbiguousId => "ambiguous-id", 2, 400, "give more of the id";
    /// The idempotency key was used for another command.
    IdempotencyMismatch => "idempotency-mismatch", 2, 400, "use a new key for a new command";
    /// Nothing has that id.
    NotFound => "not-found", 4, 404, say("see what exists with ").quote(op("task.list"));
    /// A path or pattern overlaps a live lease of another owner.
    LeaseHeld => "lease-held", 3, 409, say("take another task, wait with ").ask("wait", "DUR").say(", or ask the holder");
    /// The fence does not belong to a live grant.
    StaleFence => "stale-fence", 3, 409, say("that grant has ended: leave ").mention("fence").say(" out, or claim again and use the new fence");
    /// Somebody else holds the task, lease or review.
    NotHolder => "not-holder", 3, 409, "only the holder or a person may do this";
    /// The task cannot go from its status to this one.
    InvalidTransition => "invalid-transition", 3, 409, say("see ").quote(op("task.show").ask("id", "ID")).say(" for the current status");
    /// The task cannot be claimed now.
    NotReady => "not-ready", 3, 409, say("see ").quote(op("task.why").ask("id", "ID"));
    /// No task can be claimed now.
    NothingReady => "nothing-ready", 3, 409, say("see ").quote(op("task.list").arg("status", "queued")).say(" and ").quote(op("task.why").ask("id", "ID"));
    /// The dependency would close a cycle.
    DependencyCycle => "dependency-cycle", 3, 409, "remove one of the dependencies of the cycle";
    /// A task cannot be blocked without saying what it needs.
    NeedsMissing => "needs-missing", 3, 409, say("say what is needed with ").ask("needs", "TEXT");
    /// Gates or checklist items are not met.
    GateUnmet => "gate-unmet", 3, 409, say("record evidence with ").quote(op("gate.record")).say(", or let a critic or a person waive it");
    /// comity ran a gate, and the gate failed.
    GateFailed => "gate-failed", 3, 409, "read the end of the output, mend the work and run the gate again";
    /// comity could not run a gate to its end; this says nothing about the work.
    CouldNotRun => "could-not-run", 3, 409, say("mend the command of the gate in the settings, then run it again");
    /// The work and the branch that it goes into change the same lines.
    MergeConflict => "merge-conflict", 3, 409, "rebase the work onto the branch, settle the conflict and submit it again";
    /// A work tree has the branch checked out with uncommitted changes that the work would overwrite.
    TargetDirty => "target-dirty", 3, 409, "commit or stash the changes there, or check another branch out there";
    /// Nobody approves their own work.
    SelfReview => "self-review", 3, 403, "let another critic or a person review it";
    /// The role may not do this.
    RoleForbidden => "role-forbidden", 3, 403, say("a person or a planner gives roles with ").quote(op("agent.register").ask("id", "ID").ask("role", "R"));
    /// The decision already has an answer.
    AlreadyAnswered => "already-answered", 3, 409, say("see ").quote(op("decision.show").ask("id", "ID"));
    /// The answer is not one of the options.
    InvalidAnswer => "invalid-answer", 3, 409, "answer with KEY or 'KEY: text'";
    /// The id is taken.
    DuplicateId => "duplicate-id", 3, 409, "choose another id, or leave it out to get one";
    /// A file changed since it was read.
    EtagMismatch => "etag-mismatch", 3, 412, "read it again and repeat the change";
    /// A task changed since it was read.
    VersionMismatch => "version-mismatch", 3, 412, "read the task again and repeat the change with its version";
    /// A named limit is reached.
    LimitExceeded => "limit-exceeded", 3, 429, "finish or remove something first";
    /// A contract does not validate.
    ContractInvalid => "contract-invalid", 3, 409, "fix the listed problems and send it again";
    /// The task has used up its attempts.
    AttemptsExhausted => "attempts-exhausted", 3, 409, "answer the decision that asks what to do with the task";
    /// The merged commit does not contain the submitted one.
    NotMerged => "not-merged", 3, 409, say("merge the submitted commit, then give the merge commit with ").ask("merged", "SHA");
    /// A code task was submitted without any change.
    NothingChanged => "nothing-changed", 3, 409, say("commit the work first; if there is nothing to change, say so with ").mention("empty").say(" and ").ask("reason", "TEXT");
    /// The work changed files that the task neither declared nor leased.
    UndeclaredFiles => "undeclared-files", 3, 409, say("declare the files with ").quote(op("task.update").ask("id", "ID").ask("file", "GLOB")).say(", lease them, or undo the changes");
    /// An agent is at work on the task already.
    RunLive => "run-live", 3, 409, say("wait for it, or stop it with ").quote(op("run.stop").ask("id", "ID"));
    /// A run starts no more runs now.
    SpawnLimit => "spawn-limit", 3, 409, say("wait for the runs that were started; see ").quote(op("runs"));
    /// Nothing that comity knows shows that a criterion is met.
    EvidenceMissing => "evidence-missing", 3, 409, "name for each criterion a run, a pull request, a gate that passed or a merged commit";
    /// A run that was waited for did not succeed.
    RunFailed => "run-failed", 3, 409, say("see ").quote(op("runs"));
    /// The agent's client has no credentials for its vendor.
    NoCredentials => "no-credentials", 3, 409, "set the variable from which the client reads its key, or name another variable in the agent's env_pass";
    /// This host does not have the sandbox that the settings demand.
    SandboxUnavailable => "sandbox-unavailable", 3, 409, "install bubblewrap, or set a weaker sandbox";
    /// The prompt does not say enough for the agent to work.
    PromptIncomplete => "prompt-incomplete", 3, 409, "say what is missing in the task, or in the prompt";
    /// A budget in dollars applies, and nobody knows the price of the model.
    UnpricedModel => "unpriced-model", 3, 409, "set the price of the model in the settings, or allow models without one";
    /// A run does not fit into a budget.
    BudgetExceeded => "budget-exceeded", 3, 409, say("see ").quote(op("budget.list")).say("; a person raises a budget with ").quote(op("budget.set"));
    /// Another process has the seat.
    SeatHeld => "seat-held", 3, 409, "wait until the holder ends; a holder that gives no sign of life loses the seat by itself";
    /// The plan of the task is not in its branch yet.
    DesignOpen => "design-open", 3, 409, say("let the architect end the plan; a person starts without one with ").mention("skip-design").say(" and ").ask("reason", "TEXT");
    /// The design of the task was turned down too often.
    GateCycles => "gate-cycles", 3, 409, "end the run; a person decides how the task goes on";
    /// The task was tried too often, and a question about it is open.
    LoopGuard => "loop-guard", 3, 409, say("answer it with ").quote(op("decision.answer").ask("id", "ID"));
    /// comity could not look at the repository, and the rule needs that.
    Unobserved => "unobserved", 3, 409, "run the command inside a work tree of the repository that has the commits";
    /// The name is not known.
    UnknownName => "unknown-name", 2, 400, "check the spelling";
    /// The standby did not confirm the commit in time.
    Unconfirmed => "unconfirmed", 5, 503, "send it again with the same idempotency key";
    /// Only a person may do this.
    HumanOnly => "human-only", 3, 403, "ask a person to do this";
    /// A file of a repository asks for something with power, or another user owns it, and this user has not trusted it.
    Untrusted => "untrusted", 3, 409, say("look at the value; if you know it, run (a person, not an agent) ").quote(op("trust"));
    /// The caller has not said who it is, or cannot prove it.
    Unauthenticated => "unauthenticated", 3, 401, "send a token in the header Authorization, after the word Bearer, or open a new link";
    /// The token does not allow this.
    Scope => "scope", 3, 403, "use a token that is not narrowed, or ask a person for one";
    /// The store cannot be reached, or it was busy for too long.
    StoreUnavailable => "store-unavailable", 5, 503, say("see ").quote(op("doctor")).say("; another process may hold the store");
    /// The disk is full.
    StorageFull => "storage-full", 5, 503, "free space on the store's disk; nothing was changed";
    /// The store cannot be written.
    StoreReadOnly => "store-read-only", 5, 503, "make the store's directory writable for this user";
    /// Events that were acknowledged are gone from the store's log.
    StoreDamaged => "store-damaged", 5, 503, say("restore the store from a backup; a person can go on without the events with ").quote(op("doctor").flag("fix")).say(", or begin a new log with ").quote(op("init").flag("new-log"));
    /// The store was written by a newer comity.
    StoreTooNew => "store-too-new", 5, 503, "update comity on this machine";
    /// The store's file is on a network file system.
    NetworkFileSystem => "network-file-system", 5, 503, say("put the store on a local disk with ").ask("store", "sqlite:PATH").say(", or use PostgreSQL");
    /// Another process keeps this store and GitHub in step.
    SyncBusy => "sync-busy", 3, 409, "wait until it has finished, or end it";
    /// Another engine has the issue.
    ClaimedElsewhere => "claimed-elsewhere", 3, 409, "take another task, or wait until the other engine gives it back";
    /// GitHub does not answer, or asks to wait.
    GithubUnreachable => "github-unreachable", 5, 503, say("try again later; see ").quote(op("github.status"));
    /// GitHub does not accept the token, or the token may not do this.
    GithubUnauthorized => "github-unauthorized", 5, 503, say("check the token; see ").quote(op("github.doctor"));
    /// This GitHub cannot do it.
    GithubUnsupported => "github-unsupported", 2, 400, "leave out what this server does not have";
    /// The time is up.
    TimedOut => "timed-out", 6, 504, "call again to go on waiting, or do something else meanwhile";
    /// A bug or a damaged store.
    Internal => "internal", 1, 500, say("run ").quote(op("doctor")).say(" and report what it says");
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    /// The next step; empty means the code's default.
    hint: Hint,
    /// Facts for programs.
    pub details: Map<String, Value>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: Hint::default(), details: Map::new() }
    }

    pub fn input(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::InvalidInput, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Refusal {
        self.hint = hint.into();
        self
    }

    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Refusal {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    pub fn next_step(&self) -> Hint {
        if self.hint.is_empty() { self.code.default_hint() } else { self.hint.clone() }
    }

    /// Returns the object that programs get, with the next step in a door's words.
    pub fn to_json(&self, wording: &dyn Wording) -> Value {
        json!({"error": {
            "code": self.code.as_str(),
            "message": self.message,
            "hint": self.next_step().worded(wording),
            "details": self.details,
        }})
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_that_reads_back_an_exit_status_and_a_hint() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
            assert!((1..=6).contains(&code.exit_status()), "{code}");
            assert!((400..600).contains(&code.http_status()), "{code}");
            assert!(!code.default_hint().is_empty(), "{code}");
            assert!(code.as_str().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
        }
    }
}
