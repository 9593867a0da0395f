//! RULES 2.9, 3.4 and 3.6: what a door saw, and what follows from it.

use crate::verbs::{task, texts};
use crate::world::{ANN, CRITIC, Expect, IMPL, INTEGRATOR, OTHER, World};
use comity_core::command::{
    ClaimWish, Command, FileAction, NewTask, ReportStatus, ReportedFile, Submission, TaskVerb,
};
use comity_core::decide::{Answer, HandedIn};
use comity_core::event::{Event, TestsRun, Verdict};
use comity_core::observed::{
    CommitSeen, FileChange, NewDependency, Observed, RulesSeen, RunReport, RunSeen, SharedWith,
    TreeSeen, WorkSeen,
};
use comity_core::policy::{Policy, Undeclared};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::{Constraints, Deliverable, Tier};

fn file(path: &str, action: FileAction) -> FileChange {
    FileChange { path: path.to_owned(), action, moved_from: None }
}

fn created(paths: &[&str]) -> Vec<FileChange> {
    paths.iter().map(|path| file(path, FileAction::Created)).collect()
}

/// A task in progress with these constraints.
fn held_to(constraints: Constraints) -> World {
    let mut w = World::new();
    w.have_this(NewTask { constraints, ..task("work") }, Status::InProgress);
    w
}

fn violations(refusal: &Refusal) -> Vec<String> {
    let list = refusal.details["violations"].as_array().unwrap();
    list.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rule_3_6_more_files_than_allowed_are_refused() {
    let mut w = held_to(Constraints { max_files: Some(1), ..Constraints::default() });
    let refusal = w
        .by(IMPL)
        .submits_seeing(|work| work.files = created(&["a", "b"]))
        .refused(Code::LimitExceeded);
    assert_eq!(violations(&refusal), ["2 files are changed, but the limit is 1"]);
    assert!(refusal.message.ends_with("but the limit is 1: a, b"), "{}", refusal.message);
    let many: Vec<String> = (1..=12).map(|number| format!("f{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refusal =
        w.by(IMPL).submits_seeing(|work| work.files = created(&many)).refused(Code::LimitExceeded);
    assert!(refusal.message.ends_with("f7, f8 and 4 more"), "{}", refusal.message);
    w.by(IMPL).submits_seeing(|work| work.files = created(&["a"])).accepted();
}

#[test]
fn rule_3_6_deletions_are_only_allowed_where_the_task_says_so() {
    let gone = |path: &'static str| {
        move |work: &mut WorkSeen| work.files = vec![file(path, FileAction::Deleted)]
    };
    let mut w =
        held_to(Constraints { allow_delete: texts(&["docs/**"]), ..Constraints::default() });
    let refusal = w.by(IMPL).submits_seeing(gone("src/a")).refused(Code::LimitExceeded);
    assert_eq!(violations(&refusal), ["src/a is deleted, but allow_delete does not cover it"]);
    w.by(IMPL).submits_seeing(gone("docs/a")).accepted();
    let mut w = held_to(Constraints::default());
    w.by(IMPL).submits_seeing(gone("docs/a")).refused(Code::LimitExceeded);
}

#[test]
fn rule_3_6_a_task_that_must_not_commit_is_refused_its_commits() {
    let mut w = held_to(Constraints { no_git_commit: true, ..Constraints::default() });
    let commit = CommitSeen { id: "0123456789abcdef".into(), subject: "Not allowed".into() };
    let refusal = w
        .by(IMPL)
        .submits_seeing(|work| work.commits = vec![commit.clone()])
        .refused(Code::LimitExceeded);
    let expected = ["T1 forbids commits, but there is 0123456789: Not allowed"];
    assert_eq!(violations(&refusal), expected);
    let hint = refusal.next_step().to_string();
    assert!(hint.starts_with("reset the branch softly to b45e,"), "{hint}");
    let mut w = held_to(Constraints::default());
    w.by(IMPL).submits_seeing(|work| work.commits = vec![commit]).accepted();
}

#[test]
fn rule_3_6_new_dependencies_are_refused_until_a_critic_waives_the_gate_deps() {
    let mut w = held_to(Constraints { no_new_deps: true, ..Constraints::default() });
    let new = NewDependency { path: "Cargo.toml".into(), message: "it adds rand".into() };
    let with = |work: &mut WorkSeen| work.new_dependencies = vec![new.clone()];
    let refusal = w.by(IMPL).submits_seeing(with).refused(Code::LimitExceeded);
    assert_eq!(violations(&refusal), ["it adds rand"]);
    w.by(IMPL).waives("T1", "deps", "mine").refused(Code::RoleForbidden);
    w.by(CRITIC).waives("T1", "deps", "small and known").accepted();
    w.by(IMPL).submits_seeing(with).accepted();
    let mut w = held_to(Constraints::default());
    w.by(CRITIC).waives("T1", "deps", "x").refused(Code::NotFound);
    w.by(IMPL).submits_seeing(with).accepted();
}

#[test]
fn rule_3_6_a_project_that_names_branches_wants_the_work_there() {
    let mut w = held_to(Constraints::default());
    w.policy.names_branches = true;
    let wanted = w.task("T1").branch.clone();
    for (branch, there) in [(None, true), (Some("other".to_owned()), true), (wanted.clone(), false)]
    {
        let seen = |work: &mut WorkSeen| {
            (work.branch, work.is_on_branch) = (branch, there);
        };
        w.by(IMPL).submits_seeing(seen).refused(Code::LimitExceeded);
    }
    w.by(IMPL).submits_seeing(|work| (work.branch, work.is_on_branch) = (wanted, true)).accepted();
}

/// Hands in what a result lists, beside what was seen.
fn lists(w: &mut World, said: &[(&str, FileAction)], seen: Vec<FileChange>) -> Vec<String> {
    let said = said.iter().map(|(path, action)| ReportedFile::new(*path, *action));
    let mut report = crate::results::report(ReportStatus::Completed);
    (report.files_modified, report.lists_files) = (said.collect(), true);
    let report = Some(Box::new(report));
    let command = Command::Submit(Submission { id: "T1".into(), report, ..Submission::default() });
    let verdict = w.by(IMPL).does_seeing(command, |eyes| {
        let work = eyes.work.as_mut().unwrap();
        (work.files, work.written_by_comity) = (seen, texts(&[".comity/config.toml"]));
    });
    verdict.err().map(|refusal| violations(&refusal)).unwrap_or_default()
}

#[test]
fn rule_3_6_what_a_result_lists_is_held_against_the_diff_both_ways() {
    use FileAction::{Changed, Created, Deleted, Modified};
    let mut w = held_to(Constraints::default());
    let seen = || vec![file("a", Created), file("b", Modified)];
    let found = lists(&mut w, &[("a", Modified), ("c", Created)], seen());
    let expected = [
        "the result says that a is modified, but it is created",
        "the result says that c is created, but it is unchanged",
        "b is modified, but the result does not list it",
    ];
    assert_eq!(found, expected);
    let moved = FileChange { moved_from: Some("old".into()), ..file("new", Modified) };
    let all = [&seen()[..], &[moved, file("b\\xff", Created)]].concat();
    let found = lists(&mut w, &[("a", Created), ("b", Changed), ("new", Created)], all.clone());
    assert_eq!(found, ["b\\xff is created, but the result does not list it"], "odd names, too");
    let said = [
        ("b\\xff", Created),
        ("a", Created),
        ("b", Changed),
        ("new", Created),
        ("old", Deleted),
        (".comity/config.toml", Created),
    ];
    assert_eq!(lists(&mut w, &said, all), [""; 0]);
    w.by(CRITIC).requests_changes("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    let found = lists(&mut w, &[("a", Modified), ("b", Modified)], seen());
    assert_eq!(found, [""; 0], "what was made in an earlier round may be called modified");
}

#[test]
fn rule_2_9_work_without_any_change_is_refused_unless_the_caller_says_so() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).submits_seeing(|work| work.files.clear()).refused(Code::NothingChanged);
    let submit = |empty: bool, reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        Command::Submit(Submission { id: "T1".into(), empty, reason, ..Submission::default() })
    };
    let nothing = |seen: &mut Observed| {
        seen.work.as_mut().unwrap().files.clear();
    };
    w.by(IMPL).does_seeing(submit(true, None), nothing).refused(Code::InvalidInput);
    w.by(IMPL).does_seeing(submit(true, Some("it was there already")), nothing).accepted();
    let mut w = World::new();
    let document = NewTask { deliverable: Deliverable::Document, ..task("work") };
    w.have_this(document, Status::InProgress);
    w.by(IMPL).submits_seeing(|work| work.files.clear()).accepted();
}

#[test]
fn rule_2_9_the_recorded_commit_is_the_one_that_was_seen() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let command =
        Submission { commit: Some("HEAD".into()), id: "T1".into(), ..Submission::default() };
    w.by(IMPL)
        .does_seeing(Command::Submit(command), |seen| {
            seen.work.as_mut().unwrap().commit = "feedc0de".into();
        })
        .accepted();
    assert_eq!(w.task("T1").commit.as_deref(), Some("feedc0de"));
}

#[test]
fn rule_2_9_files_that_were_neither_declared_nor_leased_are_named() {
    let declares = |files: &[&str], undeclared| {
        let mut w = World::new();
        w.policy.undeclared = undeclared;
        w.have_this(NewTask { files: texts(files), ..task("work") }, Status::InProgress);
        w
    };
    let moved = FileChange { moved_from: Some("src/old".into()), ..created(&["docs/a"]).remove(0) };
    let seen = |work: &mut WorkSeen| {
        work.files = [&created(&["src/a", "docs/b"])[..], std::slice::from_ref(&moved)].concat();
    };
    let mut w = declares(&["docs/"], Undeclared::Warn);
    let done = w.by(IMPL).submits_seeing(seen).accepted();
    let expected = texts(&["src/a", "src/old"]);
    let Answer::HandedIn(_, HandedIn { undeclared, .. }) = &done.answer else { panic!() };
    assert_eq!(*undeclared, expected);
    let logged = done.events.iter().find_map(|placed| match &placed.draft.event {
        Event::ReviewRequested(body) => Some(body.undeclared.clone()),
        _ => None,
    });
    assert_eq!(logged, Some(expected));
    let mut w = declares(&["docs/"], Undeclared::Refuse);
    w.by(IMPL).submits_seeing(seen).refused(Code::UndeclaredFiles);
    w.by(IMPL).leases(&["src/**"]).accepted();
    w.by(IMPL).submits_seeing(seen).accepted();
    for (files, policy) in [(&["docs/"][..], Undeclared::Allow), (&[], Undeclared::Refuse)] {
        let done = declares(files, policy).by(IMPL).submits_seeing(seen).accepted();
        assert_eq!(done.answer, Answer::HandedIn(w.task("T1").id.clone(), HandedIn::default()));
    }
}

#[test]
fn a_check_that_is_shared_says_with_whom() {
    let with = || vec![SharedWith { task: "T2".into(), agent: OTHER.into() }];
    let mut w = held_to(Constraints { max_files: Some(1), ..Constraints::default() });
    let refusal = w
        .by(IMPL)
        .submits_seeing(|work| (work.files, work.shared_with) = (created(&["a", "b"]), with()))
        .refused(Code::LimitExceeded);
    assert!(refusal.message.contains("shared with T2 (agent.impl.2)"), "{}", refusal.message);
    assert_eq!(refusal.details["shared_with"][0]["task"], "T2");
    let done = w.by(IMPL).submits_seeing(|work| work.shared_with = with()).accepted();
    let Answer::HandedIn(_, said) = &done.answer else { panic!() };
    assert_eq!(said.shared_with, with());
}

#[test]
fn rule_3_6_what_needs_an_observation_is_refused_without_one() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.blind = true;
    w.by(IMPL).submits("T1").refused(Code::Unobserved);
    let status = Status::Review;
    let review = Command::Transition { id: "T1".into(), status, reason: None, needs: None };
    w.by(IMPL).does(review).refused(Code::Unobserved);
    w.by(OTHER).submits("T1").refused(Code::NotHolder);
    let mut w = World::new();
    w.have_one(Status::Merging);
    w.blind = true;
    w.by(INTEGRATOR).finishes("T1").refused(Code::Unobserved);
    w.by(OTHER).finishes("T1").refused(Code::RoleForbidden);
}

#[test]
fn rule_3_6_nobody_judges_work_by_settings_that_were_not_looked_at() {
    let mut w = World::new();
    w.have_one(Status::Review);
    w.blind = true;
    w.by(CRITIC).approves("T1").refused(Code::Unobserved);
    w.by(OTHER).approves("T1").refused(Code::RoleForbidden);
    w.by(CRITIC).records("T1", "tests", true).refused(Code::Unobserved);
    let steps = vec![TaskVerb::Approve.on("T1".to_owned(), None)];
    let several = Command::Several { ids: vec!["T1".to_owned()], steps };
    w.by(CRITIC).does(several.clone()).refused(Code::Unobserved);
    // The first claim saw a repository: whoever sees none now is not in it.
    w.policy.has_git = false;
    w.by(CRITIC).approves("T1").refused(Code::Unobserved);
    w.blind = false;
    w.by(CRITIC).does(several).accepted();
}

#[test]
fn rule_3_6_each_of_several_tasks_is_judged_by_the_settings_that_were_seen_for_it() {
    let mut w = World::new();
    w.have_one(Status::Review);
    w.have_one(Status::Review);
    let approve = |id: &str| TaskVerb::Approve.on(id.to_owned(), None);
    let (ids, steps) = (vec!["T1".to_owned(), "T2".to_owned()], vec![approve("T1"), approve("T2")]);
    let strict = Policy { required_gates: vec!["tests".to_owned()], ..w.policy.clone() };
    let seen = |rules| Observed { rules: Some(rules), ..Observed::default() };
    let both = |second| {
        let steps = vec![seen(RulesSeen::NoneThere), seen(second)];
        move |all: &mut Observed| *all = Observed { steps, ..Observed::default() }
    };
    let command = Command::Several { ids, steps };
    let second = RulesSeen::Set(strict.base_rules());
    w.by(CRITIC).does_seeing(command.clone(), both(second)).refused(Code::GateUnmet);
    w.by(CRITIC).does_seeing(command, both(RulesSeen::NoneThere)).accepted();
}

#[test]
fn rule_2_9_the_first_claim_says_for_good_where_the_base_branch_was() {
    let mut w = World::new();
    w.have(task("work"));
    let claim = || Command::Claim(ClaimWish { id: Some("T1".to_owned()), ..ClaimWish::default() });
    let at = |base: &'static str| {
        move |seen: &mut Observed| seen.claim.as_mut().unwrap().base = base.to_owned()
    };
    w.by(IMPL).does_seeing(claim(), at("aaaa")).accepted();
    w.by(IMPL).releases("T1").accepted();
    w.by(OTHER).does_seeing(claim(), at("bbbb")).accepted();
    let task = w.task("T1");
    assert_eq!(task.began_at().collect::<Vec<_>>(), ["aaaa", "bbbb"]);
    assert_eq!(task.claim.as_ref().unwrap().base.as_deref(), Some("bbbb"));
}

#[test]
fn rule_2_9_a_claim_without_a_base_is_handed_in_only_where_there_is_no_git() {
    let blind = |has_git| {
        let mut w = World::new();
        w.policy.has_git = has_git;
        w.blind = true;
        w.have(task("work"));
        w.by(IMPL).starts("T1").accepted();
        w
    };
    let mut w = blind(true);
    w.blind = false;
    w.by(IMPL).submits("T1").refused(Code::Unobserved);
    w.by(IMPL).releases("T1").accepted();
    w.by(IMPL).starts("T1").accepted();
    w.by(IMPL).submits("T1").accepted();
    let mut w = blind(false);
    w.by(IMPL).submits_commit("T1", "abc").accepted();
    w.by(CRITIC).approves("T1").accepted();
    w.by(INTEGRATOR).merges("T1").accepted();
    w.by(INTEGRATOR).finishes("T1").accepted();
}

#[test]
fn rule_3_6_what_was_seen_counts_for_the_version_that_was_looked_at() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(IMPL).submits_seeing(|work| work.task_version += 1).refused(Code::VersionMismatch);
    let note = |text: &str| {
        let changes = comity_core::event::TaskUpdated {
            description: Some(text.into()),
            ..comity_core::event::TaskUpdated::default()
        };
        let (changes, constraints) = (Box::new(changes), Default::default());
        Command::UpdateTask { id: "T1".into(), changes, constraints, if_match: None }
    };
    let submit = Command::Submit(Submission { id: "T1".into(), ..Submission::default() });
    let steps = vec![note("one"), note("two"), submit];
    let several = || Command::Several { ids: vec!["T1".into()], steps: steps.clone() };
    w.by(ANN)
        .does_seeing(several(), |seen| seen.work.as_mut().unwrap().task_version -= 1)
        .refused(Code::VersionMismatch);
    w.by(ANN).does_seeing(several(), |_| {}).accepted();
    let mut w = World::new();
    w.have_one(Status::Merging);
    let done = Command::Done { id: "T1".into(), merged: None, unmerged: false, reason: None };
    w.by(INTEGRATOR)
        .does_seeing(done, |seen| seen.merge.as_mut().unwrap().task_version += 1)
        .refused(Code::VersionMismatch);
}

#[test]
fn rule_3_4_a_commit_that_is_named_as_merged_has_to_be_seen_whatever_was_handed_in() {
    let mut w = World::new();
    let document = NewTask { deliverable: Deliverable::Document, ..task("work") };
    w.have_this(document, Status::Approved);
    w.blind = true;
    let done = |merged: Option<&str>| {
        let merged = merged.map(str::to_owned);
        Command::Done { id: "T1".into(), merged, unmerged: false, reason: None }
    };
    w.by(INTEGRATOR).does(done(Some("deadbeef"))).refused(Code::Unobserved);
    w.by(INTEGRATOR).does(done(None)).refused(Code::Unobserved);
    w.blind = false;
    w.by(INTEGRATOR).does_seeing(done(None), |seen| seen.merge = None).accepted();
    assert_eq!(w.task("T1").merged_sha, None);
}

#[test]
fn rule_3_4_a_person_may_finish_without_a_merge_with_a_reason_that_stays() {
    let mut w = World::new();
    w.have_one(Status::Merging);
    w.blind = true;
    let done = |reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        Command::Done { id: "T1".into(), merged: None, unmerged: true, reason }
    };
    w.by(ANN).does(done(None)).refused(Code::InvalidInput);
    w.by(INTEGRATOR).does(done(Some("moot"))).refused(Code::HumanOnly);
    w.by(ANN).does(done(Some("moot"))).accepted();
    assert_eq!(w.task("T1").unmerged.as_deref(), Some("moot"));
    w.by(ANN).reopens("T1", "not so").accepted();
    assert_eq!(w.task("T1").unmerged, None);
}

#[test]
fn rule_3_2_only_a_door_can_have_seen_a_gate_pass() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let record = || Command::GateRecord {
        id: "T1".into(),
        gate: "tests".into(),
        pass: true,
        report: None,
        commit: None,
        new: true,
    };
    w.by(IMPL).does(record()).accepted();
    let tier = |w: &World| w.task("T1").gate("tests").unwrap().evidence.as_ref().unwrap().tier;
    assert_eq!(tier(&w), Tier::Claimed);
    let run = |is_other_command, tree| Some(RunSeen { is_other_command, tree, report: None });
    w.by(IMPL).does_seeing(record(), |seen| seen.run = run(false, TreeSeen::Clean)).accepted();
    assert_eq!(tier(&w), Tier::Observed);
    w.by(IMPL).does_seeing(record(), |seen| seen.run = run(false, TreeSeen::Fresh)).accepted();
    assert_eq!(tier(&w), Tier::Verified, "the clone was made of the commit for this run");
    for doubtful in [
        run(true, TreeSeen::Clean),
        run(true, TreeSeen::Fresh),
        run(false, TreeSeen::Changed("src/a.rs".into())),
        run(false, TreeSeen::Moved),
        run(false, TreeSeen::Unknown),
    ] {
        assert!(doubtful.as_ref().unwrap().doubt().is_some());
        w.by(IMPL).does_seeing(record(), |seen| seen.run = doubtful).accepted();
        assert_eq!(tier(&w), Tier::Claimed);
    }
}

#[test]
fn the_log_keeps_how_a_run_went_and_reads_events_that_have_none_of_it() {
    let report = RunReport {
        exit_code: 1,
        duration_ms: 20,
        command: "make test".to_owned(),
        config_hash: "ab".to_owned(),
        output_tail: "oh".to_owned(),
    };
    let body = TestsRun {
        gate: "tests".to_owned(),
        result: Verdict::Fail,
        tier: Tier::Verified,
        commit: None,
        round: 1,
        report: None,
        run: None,
    };
    let old = Event::TestsRun(body.clone());
    let text = String::from_utf8(old.encode().unwrap()).unwrap();
    assert!(!text.contains("exit_code"), "{text}");
    assert_eq!(Event::decode("tests_run", text.as_bytes()).unwrap(), old);
    let new = Event::TestsRun(TestsRun { run: Some(report), ..body });
    let text = String::from_utf8(new.encode().unwrap()).unwrap();
    assert!(text.contains(r#","exit_code":1,"duration_ms":20,"command":"make test","#), "{text}");
    assert_eq!(Event::decode("tests_run", text.as_bytes()).unwrap(), new);
}
