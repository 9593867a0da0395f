//! Every refusal code can be reached, or is made elsewhere and listed here.

use crate::runs::{change, dispatch, end, new_run, take};
use crate::supervised::seat;
use crate::verbs::{question, task, task_on, texts};
use crate::world::{
    ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, PLANNER, Verdict, WATCHER, World,
};
use comity_core::command::{Command, ConstraintChanges, NewRun, NewTask, RunChange};
use comity_core::event::TaskUpdated;
use comity_core::money::Usd;
use comity_core::policy::Undeclared;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::run::{RunFault, RunState, Stage};
use comity_core::status::Status;

/// Codes that the core names but only other parts give.
const ELSEWHERE: &[(Code, &str)] = &[
    (Code::NoCredentials, "fleet: an agent whose client would not be let in"),
    (Code::SandboxUnavailable, "fleet: a host that cannot shut an agent in"),
    (Code::PromptIncomplete, "fleet: an agent that would not know what to do"),
    (Code::UnpricedModel, "fleet: a model whose cost nobody knows"),
    (Code::IdempotencyMismatch, "engine: the same key with other input"),
    (Code::GateFailed, "guard: a gate that comity ran"),
    (Code::CouldNotRun, "guard: a gate that comity could not run"),
    (Code::MergeConflict, "guard: work that cannot be merged"),
    (Code::TargetDirty, "guard: uncommitted changes where the work would land"),
    (Code::EtagMismatch, "rpc and sync: a file changed since it was read"),
    (Code::ContractInvalid, "protocol: a contract does not validate"),
    (Code::StoreUnavailable, "store: cannot be reached, or busy for too long"),
    (Code::StorageFull, "store: the disk is full"),
    (Code::StoreReadOnly, "store: cannot be written"),
    (Code::StoreDamaged, "store: events are gone from the end of the log"),
    (Code::StoreTooNew, "store: written by a newer comity"),
    (Code::NetworkFileSystem, "store: the file is on a network file system"),
    (Code::RunFailed, "command line: a run that was waited for"),
    (Code::TimedOut, "engine: a wait in vain"),
    (Code::SyncBusy, "github: another process keeps the store in step"),
    (Code::ClaimedElsewhere, "github: another engine has the issue"),
    (Code::GithubUnreachable, "github: no answer, or one that asks to wait"),
    (Code::GithubUnauthorized, "github: a token that is missing or not good enough"),
    (Code::GithubUnsupported, "github: what this server does not have"),
    (Code::Unauthenticated, "server: no credential, or one that is not good"),
    (Code::Scope, "server: a token that does not reach so far"),
    (Code::UnknownName, "doors: a name that nobody knows"),
    (Code::Unconfirmed, "store: the standby did not confirm in time"),
    (Code::Untrusted, "project: a file of the repository names what this user has not trusted"),
    (Code::Internal, "a bug or a damaged store"),
];

/// Leads to a code, where the core gives it.
fn scenario(code: Code) -> Option<Verdict> {
    about_names_and_holds(code)
        .or_else(|| about_readiness(code))
        .or_else(|| about_verdicts(code))
        .or_else(|| about_runs(code))
}

fn about_names_and_holds(code: Code) -> Option<Verdict> {
    let mut w = World::new();
    let verdict = match code {
        Code::InvalidInput => w.by(ANN).creates(task("")),
        Code::AmbiguousId => {
            w.have(task("a"));
            w.have(task("b"));
            w.by(IMPL).claims("T")
        }
        Code::NotFound => w.by(IMPL).claims("T9"),
        Code::LeaseHeld => {
            w.by(OTHER).leases(&["a"]).unwrap();
            w.by(IMPL).leases(&["a"])
        }
        Code::StaleFence => {
            w.have_one(Status::InProgress);
            w.by(IMPL).with_fence(1).submits("T1")
        }
        Code::NotHolder => {
            w.have_one(Status::InProgress);
            w.by(OTHER).submits("T1")
        }
        _ => return None,
    };
    Some(verdict)
}

fn about_readiness(code: Code) -> Option<Verdict> {
    let mut w = World::new();
    let verdict = match code {
        Code::InvalidTransition => {
            w.have_one(Status::Queued);
            w.by(ANN).approves("T1")
        }
        Code::NotReady => {
            w.have_one(Status::Claimed);
            w.by(OTHER).claims("T1")
        }
        Code::NothingReady => w.by(IMPL).claims_best(),
        Code::DependencyCycle => {
            w.have(task("a"));
            w.by(ANN).makes_wait("T1", "T1")
        }
        Code::NeedsMissing => {
            w.have_one(Status::InProgress);
            w.by(IMPL).blocks("T1", "")
        }
        Code::DuplicateId => {
            w.have(task("a"));
            w.by(ANN).creates(NewTask { id: Some("T1".into()), ..task("b") })
        }
        Code::VersionMismatch => {
            w.have(task_on("a", &["x"]));
            let changes = TaskUpdated { title: Some("b".into()), ..TaskUpdated::default() };
            w.by(PLANNER).does(Command::UpdateTask {
                id: "T1".into(),
                changes: Box::new(changes),
                constraints: ConstraintChanges::default(),
                if_match: Some(7),
            })
        }
        Code::LimitExceeded => {
            w.have_one(Status::InProgress);
            for n in 0..200 {
                w.by(IMPL).records("T1", &format!("g{n}"), true).unwrap();
            }
            w.by(IMPL).records("T1", "one-more", true)
        }
        _ => return None,
    };
    Some(verdict)
}

fn about_verdicts(code: Code) -> Option<Verdict> {
    let mut w = World::new();
    let verdict = match code {
        Code::GateUnmet => {
            w.have_this(NewTask { gates: texts(&["tests"]), ..task("a") }, Status::Review);
            w.by(CRITIC).approves("T1")
        }
        Code::SelfReview => {
            w.give_roles(IMPL, &[Role::Implementer, Role::Critic]);
            w.have_one(Status::Review);
            w.by(IMPL).approves("T1")
        }
        Code::RoleForbidden => {
            w.have_one(Status::Review);
            w.by(OTHER).approves("T1")
        }
        Code::AlreadyAnswered => {
            w.by(IMPL).asks(question("what?")).unwrap();
            w.by(ANN).answers("D1", "this").unwrap();
            w.by(ANN).answers("D1", "that")
        }
        Code::InvalidAnswer => {
            w.by(IMPL).asks(question("what?")).unwrap();
            w.by(ANN).answers("D1", " ")
        }
        Code::AttemptsExhausted => {
            w.policy.max_attempts = 1;
            w.have_one(Status::InProgress);
            w.by(IMPL).fails("T1").unwrap();
            w.by(WATCHER).unblocks("T1")
        }
        Code::NotMerged => {
            w.have_one(Status::Merging);
            let done =
                Command::Done { id: "T1".into(), merged: None, unmerged: false, reason: None };
            w.by(INTEGRATOR).does_seeing(done, |seen| seen.merge.as_mut().unwrap().contains = false)
        }
        Code::NothingChanged => {
            w.have_one(Status::InProgress);
            w.by(IMPL).submits_seeing(|work| work.files.clear())
        }
        Code::UndeclaredFiles => {
            w.policy.undeclared = Undeclared::Refuse;
            w.have_this(NewTask { files: texts(&["docs/"]), ..task("a") }, Status::InProgress);
            w.by(IMPL).submits("T1")
        }
        Code::Unobserved => {
            w.have_one(Status::InProgress);
            w.blind = true;
            w.by(IMPL).submits("T1")
        }
        Code::HumanOnly => {
            w.have_one(Status::Done);
            w.by(PLANNER).reopens("T1", "again")
        }
        _ => return None,
    };
    Some(verdict)
}

fn about_runs(code: Code) -> Option<Verdict> {
    let mut w = World::new();
    let verdict = match code {
        Code::RunLive => {
            w.have(task("a"));
            let new = new_run("developer", Some("T1"), Stage::Develop);
            w.by(ANN).does(dispatch(new.clone())).accepted();
            w.by(ANN).does(dispatch(new))
        }
        Code::BudgetExceeded => {
            w.have(task("a"));
            let new = new_run("developer", Some("T1"), Stage::Develop);
            let max_cost = Usd::from_dollars(51.0);
            w.by(ANN).does(dispatch(NewRun { max_cost, ..new }))
        }
        Code::SpawnLimit => {
            w.have(task("a"));
            w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
            w.have(task("b"));
            w.by("developer:R1")
                .does(dispatch(new_run("developer", Some("T2"), Stage::Develop)))
                .accepted();
            w.have(task("c"));
            w.by("developer:R2").does(dispatch(new_run("developer", Some("T3"), Stage::Develop)))
        }
        Code::EvidenceMissing => {
            w.have(NewTask { dod: vec!["it works".to_owned()], ..task("a") });
            w.by(ANN).does(dispatch(new_run("focused", Some("T1"), Stage::Scout))).accepted();
            w.by("focused:R1")
                .does(change("R1", RunChange::Complete { evidence: Vec::new(), summary: None }))
        }
        Code::SeatHeld => {
            w.by(PLANNER).does(seat("supervisor")).accepted();
            w.by(PLANNER).does(seat("supervisor"))
        }
        Code::DesignOpen => {
            w.have(task("a"));
            w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
            w.by("architect:R1").does(change("R1", take())).accepted();
            w.by(ANN).does(change("R1", end(RunState::Stopped, None))).accepted();
            w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop)))
        }
        Code::GateCycles => {
            w.have(task("a"));
            w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
            w.by("architect:R1").does(change("R1", take())).accepted();
            w.by("architect:R1").asks(question("Design approval for T1")).accepted();
            w.by("architect:R1").asks(question("Design approval for T1, again")).accepted();
            w.by("architect:R1").asks(question("Design approval for T1, at last"))
        }
        Code::LoopGuard => {
            w.policy.max_attempts = 1;
            w.have(task("a"));
            w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
            w.by("developer:R1").does(change("R1", take())).accepted();
            let failed = end(RunState::Failed, Some(RunFault::Crash));
            w.by("developer:R1").does(change("R1", failed)).accepted();
            w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop)))
        }
        _ => return None,
    };
    Some(verdict)
}

#[test]
fn every_refusal_code_is_reachable_in_core_or_made_elsewhere_and_never_both() {
    for code in Code::ALL {
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == code);
        match scenario(*code) {
            Some(verdict) => {
                assert!(!elsewhere, "{code} is listed as made elsewhere");
                let refusal = verdict.expect_err("refused");
                assert_eq!(refusal.code, *code, "{refusal}");
                assert!(!refusal.next_step().is_empty(), "{code} offers a next step");
                assert!(!refusal.message.is_empty());
            }
            None => assert!(elsewhere, "{code} has no scenario and is not listed"),
        }
    }
}
