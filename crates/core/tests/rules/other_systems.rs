//! What other systems bring along: tasks with a state, leases of an owner that is named, agents with more fields.

use crate::verbs::{task, texts};
use crate::world::{ANN, Expect, IMPL, OTHER, PLANNER, World, id};
use comity_core::command::{Adoption, Command, ImportedTask, NewDirective, NewTask, Question};
use comity_core::decision::{Addressee, DecisionState, DecisionType};
use comity_core::directive::Trigger;
use comity_core::lasting::End;
use comity_core::origin::Origin;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::Millis;
use serde_json::{Map, json};

fn imported(name: &str, status: Status, assignee: Option<&str>) -> Command {
    let new = NewTask { id: Some(name.to_owned()), assignee: assignee.map(id), ..task("old work") };
    Command::ImportTask(Box::new(ImportedTask {
        task: new,
        status: Some(status),
        needs: (status == Status::Blocked).then(|| "a key".to_owned()),
        branch: None,
        source: "elsewhere".to_owned(),
    }))
}

fn lease(path: &str) -> Command {
    let patterns = texts(&[path]);
    Command::LeaseAcquire { patterns, task: None, purpose: None, ttl: None, shared: false }
}

fn named(owner: &str, command: Command) -> Command {
    Command::LeaseFor { owner: id(owner), command: Box::new(command) }
}

fn ids(list: &[&str]) -> Vec<String> {
    texts(list)
}

#[test]
fn an_imported_task_goes_through_the_table_to_the_state_it_has_elsewhere() {
    for status in Status::ALL {
        let mut w = World::new();
        w.by(IMPL).does(imported("task-007", status, Some("codex-cli"))).accepted();
        assert_eq!(w.status("task-007"), status);
        assert_eq!(w.task("task-007").assignee, Some(id("codex-cli")), "{status}");
        assert!(w.state.agents.contains_key(&id("codex-cli")), "who is named is registered");
    }
}

#[test]
fn an_imported_task_is_new_says_what_it_needs_and_is_held_by_somebody() {
    let mut w = World::new();
    w.by(IMPL).does(imported("task-007", Status::Claimed, None)).refused(Code::InvalidInput);
    w.by(IMPL).does(imported("task-007", Status::Done, None)).accepted();
    w.by(IMPL).does(imported("task-007", Status::Done, None)).refused(Code::DuplicateId);
    let Command::ImportTask(mut silent) = imported("task-008", Status::Blocked, None) else {
        unreachable!()
    };
    silent.needs = None;
    w.by(IMPL).does(Command::ImportTask(silent)).refused(Code::NeedsMissing);
}

#[test]
fn who_holds_an_imported_task_and_shows_no_life_loses_it_as_any_holder_does() {
    let mut w = World::new();
    w.by(IMPL).does(imported("task-007", Status::InProgress, Some("codex-cli"))).accepted();
    w.pass(901);
    w.sweep();
    assert_eq!(w.status("task-007"), Status::Queued);
}

#[test]
fn ids_with_a_prefix_count_on_from_the_highest_number_and_pass_over_those_taken() {
    let mut w = World::new();
    let prefixed = || {
        Command::CreateTask(Box::new(NewTask {
            id_prefix: Some("task-".to_owned()),
            ..task("work")
        }))
    };
    assert_eq!(w.by(IMPL).does(prefixed()).accepted().task_id(), "task-001");
    w.by(IMPL).does(imported("task-003", Status::Queued, None)).accepted();
    assert_eq!(w.by(IMPL).does(prefixed()).accepted().task_id(), "task-004");
    assert_eq!(w.task("task-004").number, 4);
}

#[test]
fn a_lease_for_an_owner_that_is_named_is_the_owners_and_its_event_names_who_acted() {
    let mut w = World::new();
    let done = w.by(IMPL).does(named("codex-cli", lease("a.rs"))).accepted();
    assert_eq!(w.paths_of("codex-cli"), ["a.rs"]);
    assert_eq!(done.events[0].draft.agent, id(IMPL));
    assert!(w.state.agents.contains_key(&id("codex-cli")));
    w.by(OTHER).leases(&["a.rs"]).refused(Code::LeaseHeld);
    w.by(IMPL).does(named(OTHER, lease("a.rs"))).refused(Code::LeaseHeld);
    w.by(IMPL).leases(&["a.rs"]).refused(Code::LeaseHeld);
}

#[test]
fn only_who_names_the_right_owner_renews_and_releases_also_a_person() {
    let mut w = World::new();
    w.by(IMPL).does(named("codex-cli", lease("a.rs"))).accepted();
    let renew = || Command::LeaseRenew { ids: ids(&["L1"]), ttl: None };
    let release = || Command::LeaseRelease { ids: ids(&["L1"]), all: false };
    w.by(IMPL).does(named(OTHER, renew())).refused(Code::NotHolder);
    w.by(ANN).does(named(OTHER, release())).refused(Code::NotHolder);
    w.pass(600);
    w.by(OTHER).does(named("codex-cli", renew())).accepted();
    w.pass(600);
    w.by(OTHER).does(named("codex-cli", release())).accepted();
    assert!(w.lease("L1").is_none());
}

#[test]
fn no_agent_acts_for_a_person_and_nothing_but_leases_is_done_for_another() {
    let mut w = World::new();
    w.by(IMPL).does(named(ANN, lease("a.rs"))).refused(Code::HumanOnly);
    w.by(ANN).does(named("human:bob", lease("a.rs"))).accepted();
    let claim = Command::Heartbeat;
    w.by(IMPL).does(named(OTHER, claim)).refused(Code::InvalidInput);
    let twice = named(OTHER, named("codex-cli", lease("b.rs")));
    w.by(IMPL).does(twice).refused(Code::InvalidInput);
    w.policy.registration_required = true;
    w.by(IMPL).does(named("stranger", lease("c.rs"))).refused(Code::RoleForbidden);
}

fn describe(
    who: &str,
    roles: &[Role],
    skills: Option<&[&str]>,
    about: &serde_json::Value,
) -> Command {
    let about: Map<_, _> = about.as_object().cloned().unwrap();
    Command::AgentDescribe { id: id(who), roles: roles.to_vec(), skills: skills.map(texts), about }
}

#[test]
fn anybody_tells_skills_and_more_of_an_agent_but_only_a_planner_or_a_person_gives_roles() {
    let mut w = World::new();
    w.by(IMPL).does(describe("codex-cli", &[], Some(&["rust"]), &json!({"model": "m"}))).accepted();
    let agent = &w.state.agents[&id("codex-cli")];
    assert_eq!(
        (agent.skills.as_slice(), agent.roles.as_slice()),
        (&texts(&["rust"])[..], &[Role::Implementer][..])
    );
    assert_eq!(agent.about["model"], "m");
    w.by(IMPL)
        .does(describe("codex-cli", &[Role::Critic], None, &json!({})))
        .refused(Code::RoleForbidden);
    w.by(PLANNER)
        .does(describe("codex-cli", &[Role::Critic], None, &json!({"model": null})))
        .accepted();
    let agent = &w.state.agents[&id("codex-cli")];
    assert_eq!(agent.roles, [Role::Critic]);
    assert_eq!(agent.skills, ["rust"], "what is not said stays");
    assert!(agent.about.is_empty());
    w.by(ANN)
        .does(Command::AgentRegister { id: id("codex-cli"), roles: vec![], skills: vec![] })
        .accepted();
}

#[test]
fn a_hand_off_is_an_event_that_changes_nothing() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let version = w.task("T1").version;
    let subtask = Some("the next step".to_owned());
    let done = w.by(IMPL).does(Command::Handoff { id: "T1".to_owned(), subtask }).accepted();
    assert_eq!(done.names(), ["context_reset"]);
    assert_eq!(w.task("T1").version, version);
    w.pass(Millis::from_secs(1).ms() / 1000);
    let none = Command::Handoff { id: "T9".to_owned(), subtask: None };
    w.by(IMPL).does(none).refused(Code::NotFound);
}

fn taken(made: Command, answer: Option<&str>, disabled: bool) -> Command {
    let mut other = Map::new();
    other.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00.000Z"));
    let origin = Origin { source: "neo".to_owned(), item: "dec_1".to_owned(), other };
    let answer = answer.map(str::to_owned);
    Command::TakeOver(Box::new(Adoption { origin, made: Box::new(made), answer, disabled }))
}

fn question() -> Command {
    Command::DecisionAsk(Box::new(Question {
        question: "Which?".to_owned(),
        task: None,
        options: Vec::new(),
        kind: Some(DecisionType::Free),
        context: Some("neo: {\"id\":\"dec_2\"}".to_owned()),
        default: None,
        to: Some(Addressee::Planner),
        expires: None,
    }))
}

#[test]
fn what_is_taken_over_has_its_origin_beside_it_and_no_text_says_another() {
    let mut w = World::new();
    w.by(IMPL).does(question()).accepted();
    assert_eq!(w.decision("D1").origin, None, "a text is a text");
    w.by(ANN).does(taken(question(), Some("this"), false)).accepted();
    let decision = w.decision("D2");
    assert_eq!(decision.origin.as_ref().unwrap().item, "dec_1");
    assert_eq!(decision.state, DecisionState::Answered);
}

#[test]
fn what_is_taken_over_obeys_the_rules_of_what_is_made_here_and_comes_whole_or_not_at_all() {
    let mut w = World::new();
    w.by(IMPL).does(taken(question(), Some("this"), false)).refused(Code::RoleForbidden);
    assert!(w.state.decisions.is_empty(), "who may not answer has asked nothing either");
    let directive = |text: &str| {
        Command::DirectiveCreate(Box::new(NewDirective {
            text: text.to_owned(),
            trigger: Trigger::Idle,
            priority: 0,
            description: None,
            duration: None,
            end: End::Never,
        }))
    };
    w.by(IMPL).does(taken(directive("scout"), None, true)).accepted();
    let made = w.state.directives.values().next().unwrap();
    assert!(!made.enabled && made.origin.is_some());
    w.by(IMPL).does(taken(directive(" "), None, false)).refused(Code::InvalidInput);
    w.by(IMPL).does(taken(Command::Heartbeat, None, false)).refused(Code::InvalidInput);
    let inner = taken(question(), None, false);
    w.by(IMPL).does(taken(inner, None, false)).refused(Code::InvalidInput);
}
