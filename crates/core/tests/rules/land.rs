//! The land rule: work that changes what another owner had leased for itself alone does not land.

use crate::properties::cases;
use crate::verbs::{task, task_on, texts};
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, Verdict, World};
use comity_core::command::{Command, FileAction, LeaseChange, TaskVerb};
use comity_core::event::Event;
use comity_core::observed::{FileChange, WorkSeen};
use comity_core::pattern::{Pattern, RepoPath};
use comity_core::policy::Land;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// T1 in progress.
fn at_work() -> World {
    let mut w = World::new();
    w.have_this(task("work"), Status::InProgress);
    w
}

fn changed(path: &str) -> FileChange {
    FileChange { path: path.to_owned(), action: FileAction::Modified, moved_from: None }
}

/// Hands T1 in with these paths changed.
fn hands_in(w: &mut World, paths: &[&str]) -> Verdict {
    w.by(IMPL).submits_seeing(|work| work.files = paths.iter().map(|path| changed(path)).collect())
}

fn refused_paths(refusal: &Refusal) -> Vec<String> {
    let list = refusal.details["violations"].as_array().unwrap();
    assert!(list.iter().all(|one| one["constraint"] == "lease"));
    list.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

/// Leases a path for T1 after some paths were changed.
fn leases_after(w: &mut World, pattern: &str, before: &[&str]) -> Verdict {
    let acquire = LeaseChange::Acquire {
        patterns: texts(&[pattern]),
        task: Some("T1".to_owned()),
        purpose: None,
        ttl: None,
        shared: false,
    };
    w.by(IMPL).does_seeing(Command::Lease(acquire), |seen| {
        seen.lease.as_mut().unwrap().changed = texts(before);
    })
}

#[test]
fn work_on_what_another_holds_is_refused_and_says_whose_it_is() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/"]).accepted();
    let refusal = hands_in(&mut w, &["docs/a.md", "src/b.rs"]).refused(Code::LeaseHeld);
    let one = &refusal.details["violations"][0];
    assert_eq!(refused_paths(&refusal), ["src/b.rs"]);
    assert_eq!((one["holder"].as_str(), one["lock_id"].as_str()), (Some(OTHER), Some("L1")));
    assert!(one["from"].is_string() && one["until"].is_string());
    assert_eq!(w.status("T1"), Status::InProgress);
    hands_in(&mut w, &["docs/a.md"]).accepted();
}

#[test]
fn both_ends_of_a_move_count_and_so_does_what_lies_below_a_changed_path() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/a.rs", "vendor/lib/x.c", "vendor/other/"]).accepted();
    let moved = |work: &mut WorkSeen| {
        work.files =
            vec![FileChange { moved_from: Some("src/a.rs".to_owned()), ..changed("src/new.rs") }];
    };
    let refusal = w.by(IMPL).submits_seeing(moved).refused(Code::LeaseHeld);
    assert_eq!(refused_paths(&refusal), ["src/a.rs"]);
    // A submodule is one path in git.
    hands_in(&mut w, &["vendor/lib"]).refused(Code::LeaseHeld);
    hands_in(&mut w, &["vendor/other"]).refused(Code::LeaseHeld);
    hands_in(&mut w, &["vendor/library"]).accepted();
}

#[test]
fn a_lease_that_was_given_back_or_ran_out_counts_as_long_as_the_round_saw_it() {
    let mut w = World::new();
    w.by(OTHER).leases_for(&["before"], 60).accepted();
    w.by(OTHER).leases(&["given"]).accepted();
    w.by(OTHER).gives_back(&["L2"]).accepted();
    w.pass(100);
    w.have_this(task("work"), Status::InProgress);
    w.by(OTHER).leases(&["released"]).accepted();
    w.by(OTHER).gives_back(&["L3"]).accepted();
    w.by(OTHER).leases_for(&["expired"], 60).accepted();
    w.pass(100);
    let refusal =
        hands_in(&mut w, &["before", "expired", "given", "released"]).refused(Code::LeaseHeld);
    assert_eq!(refused_paths(&refusal), ["expired", "released"]);
}

#[test]
fn shared_leases_and_own_ones_never_keep_work_from_landing() {
    let mut w = at_work();
    w.by(OTHER).shares(&["src/"]).accepted();
    w.by(IMPL).leases(&["docs/"]).accepted();
    hands_in(&mut w, &["docs/a.md", "src/a.rs"]).accepted();
}

#[test]
fn a_lease_of_the_round_excuses_what_was_changed_after_it() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    w.by(OTHER).gives_back_all().accepted();
    leases_after(&mut w, "src/a.rs", &["src/b.rs"]).accepted();
    // What came later does not matter either.
    w.by(IMPL).gives_back(&["L2"]).accepted();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    hands_in(&mut w, &["src/a.rs"]).accepted();
}

#[test]
fn a_lease_that_comes_after_the_change_excuses_nothing() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    w.by(OTHER).gives_back_all().accepted();
    let done = leases_after(&mut w, "src/", &["src/a.rs"]).accepted();
    let late = done.events.iter().any(|placed| match &placed.draft.event {
        Event::FileLocked(body) => body.late,
        _ => false,
    });
    assert!(late);
    hands_in(&mut w, &["src/a.rs"]).refused(Code::LeaseHeld);
}

#[test]
fn a_lease_for_another_task_or_one_that_nobody_saw_excuses_nothing() {
    let mut w = at_work();
    w.have_this(task("more work"), Status::InProgress);
    w.by(OTHER).leases(&["src/a.rs", "src/b.rs"]).accepted();
    w.by(OTHER).gives_back_all().accepted();
    w.by(IMPL).leases_for_task("T2", &["src/a.rs"]).accepted();
    w.blind = true;
    w.by(IMPL).leases_for_task("T1", &["src/b.rs"]).accepted();
    w.blind = false;
    let refusal = hands_in(&mut w, &["src/a.rs", "src/b.rs"]).refused(Code::LeaseHeld);
    assert_eq!(refused_paths(&refusal), ["src/a.rs", "src/b.rs"]);
}

#[test]
fn a_lease_that_becomes_shared_is_another_lease() {
    let mut w = World::new();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    let done = w.by(OTHER).shares(&["src/a.rs"]).accepted();
    assert_eq!(done.names(), ["lease_released", "file_locked"]);
    w.have_this(task("work"), Status::InProgress);
    hands_in(&mut w, &["src/a.rs"]).accepted();
}

#[test]
fn only_what_changed_since_the_last_submission_is_judged() {
    let mut w = at_work();
    hands_in(&mut w, &["src/a.rs"]).accepted();
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(OTHER).leases(&["src/"]).accepted();
    w.by(IMPL).starts("T1").accepted();
    let again = |same: &[&str]| {
        let same: BTreeSet<String> = texts(same).into_iter().collect();
        move |work: &mut WorkSeen| {
            work.files = vec![changed("src/a.rs"), changed("docs/b.md")];
            work.as_submitted = same;
        }
    };
    w.by(IMPL).submits_seeing(again(&[])).refused(Code::LeaseHeld);
    w.by(IMPL).submits_seeing(again(&["src/a.rs"])).accepted();
}

#[test]
fn after_the_submission_only_what_the_merge_adds_is_judged() {
    let mut w = at_work();
    hands_in(&mut w, &["src/a.rs"]).accepted();
    w.by(OTHER).leases(&["src/"]).accepted();
    w.by(CRITIC).approves("T1").accepted();
    w.by(INTEGRATOR).merges("T1").accepted();
    let done = Command::Done { id: "T1".into(), merged: None, unmerged: false, reason: None };
    let refusal = w
        .by(INTEGRATOR)
        .does_seeing(done.clone(), |seen| seen.merge.as_mut().unwrap().added = texts(&["src/x"]))
        .refused(Code::LeaseHeld);
    assert_eq!(refused_paths(&refusal), ["src/x"]);
    w.by(INTEGRATOR)
        .does_seeing(done, |seen| seen.merge.as_mut().unwrap().added = texts(&["docs/x"]))
        .accepted();
}

#[test]
fn what_passed_with_a_warning_does_not_land_once_it_is_refused() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/"]).accepted();
    w.policy.land = Land::Warn;
    let done = hands_in(&mut w, &["src/a.rs"]).accepted();
    let said = format!("{:?}", done.answer);
    assert!(said.contains("src/a.rs"), "{said}");
    w.by(CRITIC).approves("T1").accepted();
    w.policy.land = Land::Refuse;
    let merge = || Command::Move { verb: TaskVerb::Merge, id: "T1".into(), reason: None };
    w.by(INTEGRATOR).does(merge()).refused(Code::LeaseHeld);
    w.policy.land = Land::Off;
    w.by(INTEGRATOR).does(merge()).accepted();
    let mut w = at_work();
    w.policy.land = Land::Off;
    w.by(OTHER).leases(&["src/"]).accepted();
    hands_in(&mut w, &["src/a.rs"]).accepted();
}

#[test]
fn a_person_alone_waives_the_guard_and_the_log_says_so() {
    let mut w = at_work();
    w.by(OTHER).leases(&["src/"]).accepted();
    for who in [IMPL, CRITIC] {
        let code = if who == CRITIC { Code::HumanOnly } else { Code::RoleForbidden };
        w.by(who).waives("T1", "guard", "it is fine").refused(code);
    }
    let done = w.by(ANN).waives("T1", "guard", "agreed with its holder").accepted();
    assert_eq!(done.names(), ["gate_waived"]);
    hands_in(&mut w, &["src/a.rs"]).accepted();
    w.by(CRITIC).approves("T1").accepted();
    w.by(INTEGRATOR).merges("T1").accepted();
    w.by(INTEGRATOR).finishes("T1").accepted();
}

#[test]
fn where_case_is_folded_two_spellings_are_one_file() {
    let mut w = World::new();
    w.policy.fold_case = true;
    w.have_this(task("work"), Status::InProgress);
    w.by(OTHER).leases(&["Src/Main.rs"]).accepted();
    hands_in(&mut w, &["src/MAIN.rs"]).refused(Code::LeaseHeld);
}

#[test]
fn the_leases_of_a_claim_excuse_its_files_in_every_round() {
    let mut w = World::new();
    w.have_this(task_on("work", &["src/"]), Status::InProgress);
    w.by(IMPL).gives_back(&["L1"]).accepted();
    w.by(OTHER).leases(&["src/a.rs"]).accepted();
    hands_in(&mut w, &["src/a.rs"]).accepted();
}

const PATHS: [&str; 4] = ["src/a.rs", "src/b.rs", "docs/a.md", "x"];
const PATTERNS: [&str; 6] = ["src/a.rs", "src/", "src/*.rs", "**/*.md", "x", "docs"];

#[derive(Clone, Debug)]
enum Deed {
    Lease { own: bool, pattern: &'static str, shared: bool, secs: i64 },
    GiveBack { own: bool },
    Write(&'static str),
    Pass(i64),
}

fn deed() -> impl Strategy<Value = Deed> {
    let pattern = || proptest::sample::select(&PATTERNS[..]);
    prop_oneof![
        4 => (any::<bool>(), pattern(), proptest::bool::weighted(0.3), 30..300i64)
            .prop_map(|(own, pattern, shared, secs)| Deed::Lease { own, pattern, shared, secs }),
        2 => any::<bool>().prop_map(|own| Deed::GiveBack { own }),
        3 => proptest::sample::select(&PATHS[..]).prop_map(Deed::Write),
        2 => (1..200i64).prop_map(Deed::Pass),
    ]
}

/// What the rule says, found by looking at every lease after every deed.
#[derive(Default)]
struct Oracle {
    written: BTreeSet<&'static str>,
    /// Leases that came after a change, by id.
    late: BTreeMap<String, bool>,
    touched: BTreeSet<&'static str>,
    excused: BTreeSet<&'static str>,
}

fn covers(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern).unwrap().covers(&RepoPath::parse(path).unwrap())
}

impl Oracle {
    fn look(&mut self, w: &World) {
        for lease in w.state.leases.values() {
            if !w.read(|facts| facts.is_live(lease)) {
                continue;
            }
            for path in PATHS.into_iter().filter(|path| covers(&lease.path, path)) {
                let exclusive = lease.mode == comity_core::lease::LeaseMode::Exclusive;
                if lease.owner.as_str() == OTHER && exclusive {
                    self.touched.insert(path);
                }
                let late = self.late.get(&lease.id.to_string()).copied().unwrap_or(false);
                if lease.owner.as_str() == IMPL && !late {
                    self.excused.insert(path);
                }
            }
        }
    }
}

fn act(w: &mut World, oracle: &mut Oracle, deed: &Deed) {
    let who = |own: bool| if own { IMPL } else { OTHER };
    match deed {
        Deed::Lease { own, pattern, shared, secs } => {
            let acquire = LeaseChange::Acquire {
                patterns: texts(&[pattern]),
                task: None,
                purpose: None,
                ttl: Some(Millis::from_secs(*secs)),
                shared: *shared,
            };
            let written: Vec<String> =
                oracle.written.iter().map(|path| (*path).to_owned()).collect();
            let before: BTreeSet<String> =
                w.state.leases.values().map(|lease| lease.id.to_string()).collect();
            let late = oracle.written.iter().any(|path| covers(pattern, path));
            let done = w.by(who(*own)).does_seeing(Command::Lease(acquire), |seen| {
                seen.lease.as_mut().unwrap().changed = if *own { written } else { Vec::new() };
            });
            for id in done.iter().flat_map(|done| done.lease_ids()) {
                if !before.contains(&id) {
                    oracle.late.insert(id, late && *own);
                }
            }
        }
        Deed::GiveBack { own } => drop(w.by(who(*own)).gives_back_all()),
        Deed::Write(path) => drop(oracle.written.insert(path)),
        Deed::Pass(secs) => w.pass(*secs),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn exactly_what_another_held_meanwhile_and_no_early_lease_covered_is_refused(
        before in proptest::collection::vec(deed(), 0..6),
        during in proptest::collection::vec(deed(), 0..14),
    ) {
        let mut w = World::new();
        let mut oracle = Oracle::default();
        // What is written before the claim lies in the commit that the round begins with.
        for deed in before.iter().filter(|deed| !matches!(deed, Deed::Write(_))) {
            act(&mut w, &mut oracle, deed);
        }
        w.have_this(task("work"), Status::InProgress);
        oracle.look(&w);
        for deed in &during {
            act(&mut w, &mut oracle, deed);
            oracle.look(&w);
        }
        if w.status("T1") != Status::InProgress {
            return Ok(());
        }
        let written: Vec<&str> = oracle.written.iter().copied().collect();
        let expected: Vec<&str> = written
            .iter()
            .copied()
            .filter(|path| oracle.touched.contains(path) && !oracle.excused.contains(path))
            .collect();
        match hands_in(&mut w, &written) {
            Ok(_) => prop_assert!(expected.is_empty(), "{expected:?} landed"),
            Err(refusal) if refusal.code == Code::LeaseHeld => {
                prop_assert_eq!(refused_paths(&refusal), expected);
            }
            // Nothing was written, or the claim ran out.
            Err(_) => {}
        }
    }
}
