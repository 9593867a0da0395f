//! What people do in another system, such as GitHub: how far their rights there reach here.

use crate::verbs::{task, texts};
use crate::world::{ANN, Done, World};
use comity_core::command::{Command, NewTask, TaskVerb};
use comity_core::observed::Observed;
use comity_core::outside::{CheckSeen, Level, OutsideNote, OutsideSeen};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Tier;

fn from_outside(w: &mut World, who: &str, level: Level, command: Command) -> Result<Done, Refusal> {
    let mut request = w.request(who, None, command);
    let login = who.trim_start_matches("human:").to_owned();
    request.observed =
        Observed { outside: Some(OutsideSeen { login, level }), ..Observed::default() };
    w.run(&request)
}

fn moved(verb: TaskVerb) -> Command {
    Command::Move { verb, id: "T1".to_owned(), reason: Some("said so there".to_owned()) }
}

#[test]
fn rule_github_a_person_gets_no_further_than_the_rights_there() {
    let mut w = World::new();
    w.have_one(Status::Review);
    let refusal = from_outside(&mut w, ANN, Level::Triage, moved(TaskVerb::Approve)).unwrap_err();
    assert_eq!(refusal.code, Code::RoleForbidden);
    assert!(refusal.message.contains("triage rights on GitHub"), "{}", refusal.message);
    assert_eq!(w.status("T1"), Status::Review);
    from_outside(&mut w, ANN, Level::Write, moved(TaskVerb::Approve)).unwrap();
    assert_eq!(w.status("T1"), Status::Approved);
}

#[test]
fn rule_github_who_may_only_read_makes_no_task() {
    let mut w = World::new();
    let create = Command::CreateTask(Box::new(task("work")));
    for level in [Level::None, Level::Read] {
        let refusal = from_outside(&mut w, ANN, level, create.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::RoleForbidden);
    }
    from_outside(&mut w, ANN, Level::Triage, create).unwrap();
}

#[test]
fn rule_github_finished_work_is_reopened_with_write_rights_only() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    from_outside(&mut w, ANN, Level::Write, moved(TaskVerb::Abandon)).unwrap();
    let refusal = from_outside(&mut w, ANN, Level::Triage, moved(TaskVerb::Reopen)).unwrap_err();
    assert_eq!(refusal.code, Code::RoleForbidden);
    from_outside(&mut w, ANN, Level::Maintain, moved(TaskVerb::Reopen)).unwrap();
}

#[test]
fn rule_github_nothing_from_outside_waives_a_gate() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::Review);
    let waive = Command::GateWaive {
        id: "T1".to_owned(),
        gate: "tests".to_owned(),
        reason: "trust me".to_owned(),
    };
    let refusal = from_outside(&mut w, ANN, Level::Admin, waive).unwrap_err();
    assert_eq!(refusal.code, Code::RoleForbidden);
}

#[test]
fn rule_github_a_check_is_observed_only_where_the_work_left_its_definition_alone() {
    for (trusted, tier) in [(true, Tier::Observed), (false, Tier::Claimed)] {
        let mut w = World::new();
        w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::Review);
        let record = Command::GateRecord {
            id: "T1".to_owned(),
            gate: "tests".to_owned(),
            pass: true,
            report: None,
            commit: w.task("T1").commit.clone(),
            new: false,
        };
        let mut request = w.request("github", None, record);
        request.observed = Observed { check: Some(CheckSeen { trusted }), ..Observed::default() };
        w.run(&request).unwrap();
        let evidence = w.task("T1").gate("tests").unwrap().evidence.clone().unwrap();
        assert_eq!(evidence.tier, tier);
    }
}

#[test]
fn rule_github_the_name_is_reserved_and_pauses_are_kept_in_the_log() {
    assert!(crate::world::id("github").not_reserved().is_err());
    let mut w = World::new();
    w.have_one(Status::Queued);
    let note = OutsideNote::Paused { issue: "acme/app#7".to_owned(), cause: "a loop".to_owned() };
    let command = Command::Outside { task: Some("T1".to_owned()), note };
    let request = w.request("github", None, command.clone());
    // What stops by itself asks somebody.
    assert_eq!(w.run(&request).unwrap().names(), ["issue_paused", "decision_asked"]);
    let request = w.request(crate::world::IMPL, None, command.clone());
    assert_eq!(w.run(&request).unwrap_err().code, Code::RoleForbidden);
    let request = w.request(ANN, None, command);
    assert_eq!(w.run(&request).unwrap().names(), ["issue_paused"]);
}
